"""What a loaded program may take: memory, work, time; and how another thread ends a call."""

import contextlib
import resource
import threading

import numpy as np
import pytest
import torch
from torch import nn

import lazyrt
from lazyrt.bundles import fixed


class Deep(nn.Module):
    """Many nodes, each of some work."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(256, 256)

    def forward(self, x):
        for _ in range(400):
            x = torch.tanh(self.layer(x))
        return x


@pytest.fixture(scope="module")
def deep(tmp_path_factory):
    path = tmp_path_factory.mktemp("limits") / "deep.lzb"
    lazyrt.export(Deep().eval(), (torch.randn(256, 256),), path, check="none", second_trace=False, keep_samples=False)
    return path


X = np.zeros((256, 256), np.float32)


def test_memory_limit_holds_for_all_that_a_program_takes(deep):
    with pytest.raises(lazyrt.LimitError, match="memory_limit"):
        lazyrt.load(deep, memory_limit=300_000)
    total = lazyrt.load(deep).stats["total_bytes"]
    assert total > 512 * 1024
    with pytest.raises(lazyrt.LimitError, match=r"in use exceed SessionOptions::memory_limit of|exceed"):
        lazyrt.load(deep, memory_limit=total - 1)
    assert lazyrt.load(deep, memory_limit=total + 65536)(X).shape == (256, 256)


@pytest.mark.parametrize("option, name", [("work_limit", "(work_limit)"), ("node_work_limit", "(node_work_limit)")])
def test_work_limits_are_the_callers(deep, option, name):
    with pytest.raises(lazyrt.LimitError) as refused:
        lazyrt.load(deep, **{option: 1000})
    assert name in str(refused.value) and refused.value.kind == "limit exceeded"
    with pytest.raises(lazyrt.LimitError):
        lazyrt.load(deep.read_bytes(), **{option: 1000})
    lazyrt.load(deep.read_bytes(), **{option: 2**40})


def test_a_deadline_ends_a_run_and_the_next_may_succeed(deep):
    program = lazyrt.load(deep, deadline=1e-9)
    with pytest.raises(lazyrt.LimitError) as ended:
        program(X)
    assert ended.value.kind == "deadline exceeded"
    assert lazyrt.load(deep, deadline=600)(X).shape == (256, 256)
    for seconds in (-1, float("nan"), float("inf")):
        with pytest.raises(lazyrt.InputError, match="deadline"):
            lazyrt.load(deep, deadline=seconds)


def test_cancel_ends_the_call_of_another_thread(deep):
    program = lazyrt.load(deep, backend="reference")
    raised = []

    def call():
        try:
            program(X)
        except lazyrt.CancelledError as error:
            raised.append(error.kind)

    program.cancel()  # of no call
    thread = threading.Thread(target=call)
    thread.start()
    while thread.is_alive():  # the call may not have begun yet
        program.cancel()
        thread.join(0.01)
    assert raised == ["cancelled"]


def test_constants_of_a_bundle_are_values_and_nothing_else():
    """What a file says of its interface is made again without looking up what it names, and at once."""
    def made(kind, text):
        return fixed.rebuild({"kind": "fixed", "type": kind, "text": text})

    assert made("torch.dtype", "torch.float32") is torch.float32
    for name in ("torch.load", "torch.hub", "torch.Tensor", "torch.nothing"):
        assert made("torch.dtype", name) == name
    assert made("fractions.Fraction", "1e999999999") == "1e999999999"


@contextlib.contextmanager
def full_disk(most):
    """No file grows beyond `most` bytes; Python ignores the signal, so that writing fails as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("existing", [None, b"what was there before"])
@pytest.mark.parametrize("size, full", [(256, "m.lzb"), (4, "m.html")])
def test_a_full_disk_leaves_nothing_half_written(tmp_path, existing, size, full):
    """What does not fit is a large bundle, or the report beside a small one."""
    bundle, report = tmp_path / "m.lzb", tmp_path / "m.html"
    before = {} if existing is None else {"m.lzb": existing, "m.html": existing}
    for name, data in before.items():
        (tmp_path / name).write_bytes(data)
    with full_disk(8 << 10), pytest.raises(lazyrt.ExportError, match=f"cannot write {tmp_path / full}: File too large"):
        lazyrt.export(nn.Linear(size, size).eval(), (torch.randn(1, size),), bundle, report=report)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


class Compared(nn.Module):
    """A guard in each line, and sizes that vary."""

    def forward(self, x):
        if x.sum() > 0:
            x = x + 1
        if x.max() > 0:
            x = torch.tanh(x)
        return x


def test_nodes_are_asked_for_beside_runs_of_other_sizes(tmp_path):
    path = tmp_path / "compared.lzb"
    lazyrt.export(Compared(), (torch.ones(4, 3),), path, dynamic={"x": {0: ("n", 1, 8)}}, check="none", second_trace=False)
    program = lazyrt.load(path)
    expected = [(node["op"], node["file"]) for node in program.nodes()]
    seen, stop = [], threading.Event()

    def look():
        while not stop.is_set():
            seen.append([(node["op"], node["file"]) for node in program.nodes()])
            assert program.stats["total_bytes"] > 0

    looker = threading.Thread(target=look)
    looker.start()
    for i in range(300):
        program(np.ones((1 + i % 8, 3), np.float32))
    stop.set()
    looker.join()
    assert seen and all(nodes == expected for nodes in seen)


def test_texts_of_guards_are_fetched_when_asked_for_and_once(tmp_path):
    path = tmp_path / "compared.lzb"
    lazyrt.export(Compared(), (torch.ones(4, 3),), path, check="none", second_trace=False)
    program = lazyrt.load(path)
    assert not any("guard" in name for name in vars(program))
    first, again = program.guards[0], program.guards[0]
    assert len(first) == 2 and all(guard["file"].endswith("test_limits.py") for guard in first)
    assert all(a["text"] is b["text"] and a["file"] is b["file"] for a, b in zip(first, again))


def test_tapped_values_count_against_the_memory_limit(deep):
    limit = lazyrt.load(deep).stats["total_bytes"] + (1 << 20)
    few, all_of_them = (lazyrt.load(deep, memory_limit=limit, taps=taps) for taps in ("0", "*"))
    few(X)
    assert len(few.taps()) == 1
    all_of_them(X)
    with pytest.raises(lazyrt.LimitError, match="memory_limit for the tapped values"):
        all_of_them.taps()
    assert len(lazyrt.load(deep, taps="*").nodes()) > 400
