"""The module and the process are left as they were found."""

import contextlib
import copy
import logging
import os
import pickle
import random
import threading

import numpy as np
import pytest
import torch
from torch import nn

import lazyrt


class Stateful(nn.Module):
    """Keeps things of all kinds between calls."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.dropout = nn.Dropout(0.5)
        self.cache = torch.zeros(2, 4)
        self.history = []
        self.last = None
        self.fail = None

    def forward(self, x):
        self.cache[:1] = self.linear(x)[:1]
        self.last = x * 2
        self.history.append(self.last)
        if self.fail is not None:
            raise self.fail
        return self.cache + self.last


def picture(module):
    """All that must not change, comparable with ==."""
    state = {name: (t.clone(), t.data_ptr(), t.requires_grad) for name, t in module.state_dict(keep_vars=True).items()}
    return {
        "parameters": {name: (t.tolist(), address, grad) for name, (t, address, grad) in state.items()},
        "training": [m.training for m in module.modules()],
        "hooks": [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in module.modules()],
        "attributes": {k: v.tolist() if isinstance(v, torch.Tensor) else v for k, v in vars(module).items() if k[0] != "_"},
        "types": {k: type(v) for k, v in vars(module).items()},
        "global hooks": len(nn.modules.module._global_forward_hooks) + len(nn.modules.module._global_forward_pre_hooks),
        "torch rng": torch.get_rng_state().tolist(),
        "python rng": random.getstate(),
        "numpy rng": np.random.get_state()[1].tolist(),
        "modes": torch._C._len_torch_function_stack(),
        "grad": torch.is_grad_enabled(),
        "fastpath": torch.backends.mha.get_fastpath_enabled(),
    }


@pytest.mark.parametrize("training", [False, True])
def test_module_is_left_as_found(bundle, training):
    model, x = Stateful().train(training), torch.randn(2, 4)
    before = picture(model)
    lazyrt.export(model, (x,), bundle)
    assert picture(model) == before


@pytest.mark.parametrize("error", [ValueError("half-way"), KeyboardInterrupt(), SystemExit(3)])
def test_exceptions_are_the_models_own(bundle, error):
    model, x = Stateful().eval(), torch.randn(2, 4)
    model.fail = error
    before = picture(model)
    with pytest.raises(type(error)) as raised:
        lazyrt.export(model, (x,), bundle)
    assert raised.value is error
    assert raised.traceback[-1].name == "forward"
    model.fail = before["attributes"]["fail"] = None
    before["types"]["fail"] = type(None)
    assert picture(model) == before
    assert os.listdir(os.path.dirname(bundle)) == []
    lazyrt.export(model, (x,), bundle)  # the next export works


def test_nothing_keeps_the_models_tensors(bundle):
    """torch.utils.swap_tensors, and with it Module.to, minds who else has them."""
    def tensors(model):
        return [*model.parameters(), *model.buffers(), model.cache]

    class Swapping(Stateful):
        def forward(self, x):
            torch.utils.swap_tensors(self.low, self.high)
            return super().forward(x) + self.low

    good, bad = Stateful().eval(), Swapping().eval()
    bad.register_buffer("low", torch.zeros(4))
    bad.register_buffer("high", torch.ones(4))
    lazyrt.export(good, (torch.randn(2, 4),), bundle)
    assert [t._use_count() for t in tensors(good)] == [1, 1, 1]
    with pytest.raises(lazyrt.ExportError) as raised:
        lazyrt.export(bad, (torch.randn(2, 4),), bundle)
    assert raised.value and [t._use_count() for t in tensors(bad)] == [1] * 5
    assert torch.equal(bad(torch.zeros(2, 4)), bad.cache + 1)


def test_autograd_leaves_nothing_in_kept_tensors(bundle):
    model = Stateful().eval()
    lazyrt.export(model, (torch.randn(2, 4),), bundle)
    assert model.cache.is_leaf and not model.cache.requires_grad
    copy.deepcopy(model)  # refuses tensors that autograd has made


@pytest.mark.parametrize("change", [lambda t, x: t.set_(x.clone()), lambda t, x: t.t_(), lambda t, x: t.unsqueeze_(0), lambda t, x: t.resize_(2, 1)])
def test_tensors_lie_where_they_lay(bundle, change):
    kept = torch.tensor([[0.0, 1], [2, 3]])
    part = kept[1]

    def program(x):
        change(kept, torch.ones(2, 2))
        return x + kept.sum()

    with contextlib.suppress(lazyrt.Error):
        lazyrt.export(program, (torch.zeros(3),), bundle)
    assert kept.tolist() == [[0, 1], [2, 3]] and kept.stride() == (2, 1)
    kept[1, 0] = 7
    assert part.tolist() == [7, 3]


def test_an_old_bundle_survives_a_failure(bundle):
    model, x = Stateful().eval(), torch.randn(2, 4)
    lazyrt.export(model, (x,), bundle)
    before = open(bundle, "rb").read()
    model.fail = ValueError("no")
    with pytest.raises(ValueError):
        lazyrt.export(model, (x,), bundle)
    assert open(bundle, "rb").read() == before


def test_inputs_are_not_written(bundle):
    def double(x):
        y = x.clone()
        y.mul_(2)
        return y

    x = torch.randn(3)
    before = x.clone()
    lazyrt.export(double, (x,), bundle)
    assert torch.equal(x, before)


def test_two_threads(tmp_path, close):
    models = [nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, i + 2)).eval() for i in range(2)]
    x = torch.randn(3, 4)
    failures = []

    def work(i):
        try:
            for repeat in range(3):
                path = str(tmp_path / f"{i}_{repeat}.lzb")
                assert lazyrt.export(models[i], (x,), path).verdict == "SOUND"
                close(lazyrt.load(path)(x), models[i](x))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_other_threads_keep_computing(bundle):
    """Eager work elsewhere is neither captured nor disturbed."""
    stop, seen = threading.Event(), []

    def compute():
        other = nn.Linear(16, 16)
        while not stop.is_set():
            seen.append(other(torch.ones(2, 16)).device.type)

    thread = threading.Thread(target=compute)
    thread.start()
    try:
        while not seen:
            pass
        report = lazyrt.export(nn.Linear(16, 3).eval(), (torch.randn(2, 16),), bundle)
    finally:
        stop.set()
        thread.join()
    assert set(seen) == {"cpu"} and report.nodes == 1


def test_export_inside_a_captured_module_is_refused(bundle, tmp_path):
    class Nested(nn.Module):
        def forward(self, x):
            if not torch.compiler.is_compiling():
                lazyrt.export(nn.Identity(), (torch.ones(1),), str(tmp_path / "inner.lzb"))
            return x + 1

    with pytest.raises(lazyrt.ExportError):
        lazyrt.export(Nested(), (torch.ones(2),), bundle)


def test_lazy_modules_have_to_be_called_before(bundle, close):
    model = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(5)).eval()
    x = torch.randn(2, 3, 6, 6)
    with pytest.raises(lazyrt.ExportError, match="'0.weight' has no shape yet: call the module once"):
        lazyrt.export(model, (x,), bundle)
    eager = model(x)
    lazyrt.export(model, (x,), bundle)
    close(lazyrt.load(bundle)(x), eager)


def test_tied_weights_stay_tied(bundle, close):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(500, 32)
            self.head = nn.Linear(32, 500, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, ids):
            return self.head(self.embedding(ids))

    model, ids = Tied().eval(), torch.randint(0, 500, (1, 7))
    report = lazyrt.export(model, (ids,), bundle)
    assert model.head.weight is model.embedding.weight
    close(lazyrt.load(bundle)(ids), model(ids))
    assert report.to_json()["parameters"]["count"] == 500 * 32


def test_function_with_modules(bundle, close):
    first, others = nn.Linear(4, 6), [nn.ReLU(), nn.Linear(6, 2)]

    def program(x, scale=1.0):
        for layer in others:
            first_out = first(x) if layer is others[0] else first_out  # noqa: F821
            first_out = layer(first_out)
        return first_out * scale

    x = torch.randn(3, 4)
    report = lazyrt.export(program, (x,), bundle, kwargs={"scale": 0.5})
    program_again = lazyrt.load(bundle)
    close(program_again(x, 0.5), program(x, 0.5))
    assert "argument 'scale' is fixed at 0.5" in report.summary
    assert report.to_json()["parameters"]["count"] == 4 * 6 + 6 + 6 * 2 + 2
    with pytest.raises(lazyrt.InputError, match="scale"):
        program_again(x, scale=2.0)
    with pytest.raises(lazyrt.InputError, match="'scale' is missing, and its default is 1.0; it was 0.5"):
        program_again(x)


class Tracked(nn.Module):
    """A norm in training mode whose running statistics are seen in the outputs."""

    def __init__(self, norm):
        super().__init__()
        self.norm = norm

    def forward(self, x):
        y = self.norm(x)
        return y, self.norm.running_mean.clone(), self.norm.running_var.clone()


@pytest.mark.parametrize(
    "norm, shape",
    [
        (nn.BatchNorm1d(4), (6, 4)),
        (nn.BatchNorm1d(4, affine=False, momentum=0.5), (3, 4, 5)),
        (nn.BatchNorm2d(4), (2, 4, 3, 5)),
        (nn.InstanceNorm1d(4, affine=True, track_running_stats=True), (3, 4, 5)),
        (nn.InstanceNorm2d(4, track_running_stats=True, momentum=0.3), (2, 4, 3, 5)),
    ],
    ids=["rows", "sequences", "images", "instances", "instance images"],
)
def test_running_statistics_are_state(bundle, close, norm, shape):
    model = Tracked(norm).train()
    batches = [torch.randn(shape) * (i + 1) + i for i in range(3)]
    report = lazyrt.export(model, (batches[0],), bundle)
    assert report.verdict == "SPECIALIZED"
    assert [f.id for f in report.findings if f.id == "training-mode"]
    assert torch.equal(norm.running_mean, torch.zeros(4))
    for backend in ("cpu", "reference"):
        program, eager = lazyrt.load(bundle, backend=backend), copy.deepcopy(model)
        for x in batches:
            for ours, expected in zip(program(x), eager(x), strict=True):
                close(ours, expected)


# -------------------------------------------------------------------- copies of a loaded program


class Steps(nn.Module):
    """A buffer that counts, and a phase: the first call is another one."""

    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.zeros(()))
        self.first = True

    def forward(self, x):
        self.steps += 1
        x = x * 100 if self.first else x
        self.first = False
        return x * self.steps


X3 = torch.tensor([1.0, 2.0, 3.0])
COPIES = {"deepcopy": copy.deepcopy, "copy": copy.copy, "pickle": lambda program: pickle.loads(pickle.dumps(program))}


@pytest.mark.parametrize("again", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("from_bytes", [False, True])
def test_a_copy_of_a_loaded_program_goes_on_by_itself(bundle, again, from_bytes):
    lazyrt.export(Steps(), (X3,), bundle)
    with open(bundle, "rb") as file:
        program = lazyrt.load(file.read() if from_bytes else bundle, profile=True)
    fresh = again(program)
    assert program(X3).equal(X3 * 100) and program(X3).equal(X3 * 2)
    later = again(program)
    assert later.phase == program.phase == 1 and fresh.phase == 0
    assert fresh(X3).equal(X3 * 100)
    assert [float(p(X3)[0]) for p in (later, later, program)] == [3.0, 4.0, 3.0]
    assert float(later.state("steps")) == 4 and later.profile()
    later.reset()
    assert later(X3).equal(X3 * 100) and program(X3).equal(X3 * 4)


def test_a_pickled_program_whose_file_is_another_one_now_is_told(bundle):
    lazyrt.export(Steps(), (X3,), bundle)
    pickled = pickle.dumps(lazyrt.load(bundle))
    lazyrt.export(nn.Linear(3, 3), (X3,), bundle)
    with pytest.raises(lazyrt.InputError, match="has changed since"):
        pickle.loads(pickled)


def test_a_model_that_holds_a_loaded_program_is_copied(bundle):
    lazyrt.export(Steps(), (X3,), bundle)

    class Holder(nn.Module):
        def __init__(self):
            super().__init__()
            self.program = lazyrt.load(bundle)

        def forward(self, x):
            return self.program(x) + 1

    holder = Holder()
    again = copy.deepcopy(holder)
    assert holder(X3).equal(X3 * 100 + 1) and again(X3).equal(X3 * 100 + 1)


SWITCHES = {
    "anomaly mode": (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    "cudnn.deterministic": (lambda: torch.backends.cudnn.deterministic, lambda state: setattr(torch.backends.cudnn, "deterministic", state)),
    "logging.disable": (lambda: logging.root.manager.disable == logging.CRITICAL, lambda state: logging.disable(logging.CRITICAL if state else logging.NOTSET)),
    "validation of distributions": (lambda: torch.distributions.Distribution._validate_args, torch.distributions.Distribution.set_default_validate_args),
}


class FlipsASwitch(nn.Module):
    def __init__(self, get, put):
        super().__init__()
        self.get, self.put = get, put

    def forward(self, x):
        on = self.get()
        self.put(not on)
        return x * (3 if on else 2)
