"""Numbers that leave the graph: guarded where they leave, followed where every use is seen, errors where no guard helps."""

import inspect
import re

import numpy as np
import pytest
import torch
from torch import nn

import lazyrt
import number_models as models


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def judge(program, model, args):
    """Runs the bundle: what eager gives, or a refusal. Returns whether it was refused."""
    with torch.no_grad():
        want = model(*args)
    try:
        got = program(*args)
    except lazyrt.GuardError:
        return True
    want, got = (list(v) if isinstance(v, tuple) else [v] for v in (want, got))
    assert len(want) == len(got)
    for ours, eager in zip(got, want):
        if not isinstance(eager, torch.Tensor):
            assert type(ours) is type(eager), (ours, eager)
        np.testing.assert_allclose(np.asarray(ours, dtype=np.float64), np.asarray(eager, dtype=np.float64), rtol=1e-5, atol=1e-6)
        if isinstance(eager, torch.Tensor):
            assert str(ours.dtype).removeprefix("torch.") == str(eager.dtype).removeprefix("torch.")
    return False


X = torch.tensor([0.5, -1.25, 2.0])


def number(value):
    return torch.tensor(value)


# model, sample, inputs that the bundle has to take, inputs that it has to refuse
COMPARED = [
    (models.third_step, (X, number(2)), [(X, number(n)) for n in (0, 4, 17, -1, 10**12)], [(X, number(3))]),
    (models.third_step, (X, number(3)), [(X, number(3))], [(X, number(2)), (X, number(4))]),
    (models.middle_steps, (X, number(300)), [(X, number(n)) for n in (200, 399)], [(X, number(n)) for n in (199, 400, 5000)]),
    (models.middle_steps, (X, number(500)), [(X, number(n)) for n in (400, 900)], [(X, number(n)) for n in (100, 300)]),
    (models.has_token, (X, torch.tensor([1, 2, 3])), [(X, torch.tensor([7, 8, 9]))], [(X, torch.tensor([1, 50, 3]))]),
    (models.has_token, (X, torch.tensor([1, 50, 3])), [(X, torch.tensor([2, 50, 4]))], [(X, torch.tensor([1, 2, 3]))]),
    (models.above_a_tenth, (torch.tensor([0.1, 1.0]),), [(torch.tensor([0.3, 1.0]),)], [(torch.tensor([0.05, 1.0]),)]),
    (models.first_of_sorted, (X, torch.tensor([3, 1, 2])), [(X, torch.tensor([30, 7, 8]))], [(X, torch.tensor([1, 2, 3]))]),
]


def test_the_largest_number_stays_in_the_graph(bundle):
    report = lazyrt.export(models.largest, (X, torch.tensor([3, 1, 2])), bundle)
    assert report.verdict == "SOUND" and not report.guards
    program = lazyrt.load(bundle)
    for ids in ([30, 7, 8], [1, 2, 9], [5, 5, 5]):
        np.testing.assert_allclose(program(X, torch.tensor(ids)), models.largest(X, torch.tensor(ids)))


@pytest.mark.parametrize("model, sample, taken, refused", COMPARED)
def test_a_comparison_guards_what_is_compared(bundle, model, sample, taken, refused):
    report = lazyrt.export(model, sample, bundle)
    assert report.verdict == "SPECIALIZED" and not report.findings, report
    program = lazyrt.load(bundle)
    for args in [sample, *taken]:
        assert not judge(program, model, args), args
    for args in refused:
        assert judge(program, model, args), args


FOLLOWED = [
    (models.sum_of_list, (X,), [(X * 3,)]),
    (models.python_arithmetic, (X, number(11)), [(X, number(n)) for n in (0, 5, -7, 1000, -1)]),
    (models.float_arithmetic, (X,), [(X * 3 + 1,), (X / 10,)]),
    (models.whole_results, (X,), [(X * 2,), (X + 5,)]),
    (models.math_functions, (X,), [(X * 2,), (X + 5,)]),
    (models.scalar_arguments, (X.abs(), number(2)), [(X.abs() + 1, number(3)), (X.abs() + 1, number(1))]),
    (models.overflowing, (X, number(7)), [(X, number(10**6))]),
]


@pytest.mark.parametrize("model, sample, others", FOLLOWED)
def test_arithmetic_stays_in_the_graph(bundle, model, sample, others):
    report = lazyrt.export(model, sample, bundle)
    assert all(guard.check or guard.seen in (True, False) for guard in report.guards), report
    program = lazyrt.load(bundle)
    for args in [sample, *others]:
        assert not judge(program, model, args), (args, report)


def test_numbers_beyond_int64_are_refused(bundle):
    report = lazyrt.export(models.overflowing, (X, number(7)), bundle)
    assert report.verdict == "SOUND", report
    with pytest.raises(lazyrt.GuardError, match="less than 2"):
        lazyrt.load(bundle)(X, number(2**40))


def test_a_count_is_exact(bundle):
    report = lazyrt.export(models.counted_loop, (X, number(3)), bundle)
    assert [guard.seen for guard in report.guards] == [3] and not report.guards[0].check
    program = lazyrt.load(bundle)
    assert not judge(program, models.counted_loop, (X * 2, number(3)))
    for n in (2, 4, 0):
        assert judge(program, models.counted_loop, (X, number(n)))


@pytest.mark.parametrize("model, text", [
    (models.float_through_math, ".item()"),
    (models.float_of_a_tensor, "float("),
    (models.text_result, ".item()"),
    (models.key_of_a_float, ".item()"),
    (models.text_that_steers, "str("),
    (models.print_of_its_own, 'print(f"'),
    (models.logger_of_its_own, ".item()"),
    (models.prints_into_a_file, 'print(f"'),
    (models.prints_to_a_replaced_stdout, 'print(f"'),
])
def test_floats_that_leave_fail_the_export(bundle, model, text):
    with pytest.raises(lazyrt.ExportError) as raised:
        lazyrt.export(model, (X,), bundle)
    finding, = [finding for finding in raised.value.findings if finding.severity == "error"]
    assert finding.id == "baked-value" and finding.suggestion
    assert (finding.file.endswith("number_models.py"), finding.line) == (True, line_of(model, text)), finding
    report = lazyrt.export(model, (X,), bundle, allow=("baked-value",), check=False)
    assert report.verdict == "ALLOWED" and not report.guards, report


def test_numbers_that_c_reads_are_fixed_by_guards(bundle):
    model = models.json_of_a_number
    report = lazyrt.export(model, (X, number(3)), bundle)
    assert report.verdict == "SPECIALIZED"
    program = lazyrt.load(bundle)
    assert not judge(program, model, (X, number(3)))
    assert judge(program, model, (X, number(1234)))
    assert any("fixed by guards" in note for note in report.notes), report.notes


def test_texts_for_people_cost_a_note(bundle, capsys, caplog):
    with pytest.warns(UserWarning, match="largest"):
        report = lazyrt.export(models.prints, (X,), bundle)
    assert report.verdict == "SOUND" and not report.guards, report
    assert {sync.use for sync in report.syncs} == {"note"}
    assert "mean 0.83" in capsys.readouterr().out and "mean 0.833" in caplog.text
    assert not judge(lazyrt.load(bundle), models.prints, (X * 3,))


# ---------------------------------------------------------------- checks


def test_asserts_leave_it_sound(bundle):
    report = lazyrt.export(models.asserts, (X, number(3)), bundle)
    assert report.verdict == "SOUND", report
    assert report.guards and all(guard.check for guard in report.guards)
    program = lazyrt.load(bundle)
    for n in (0, 9, 5):
        assert not judge(program, models.asserts, (X, number(n)))
    line = line_of(models.asserts, "assert n.item() < 10")
    with pytest.raises(lazyrt.GuardError, match=rf"fails a check of the model: assert .*n.item\(\) < 10.*number_models.py:{line}"):
        program(X, number(10))
    for bad in ((X, number(7)), (X * 1000, number(3)), (X * float("nan"), number(3)), (X, number(-1))):
        with pytest.raises(lazyrt.GuardError, match="fails a check"):
            program(*bad)


def test_a_domain_error_is_a_check(bundle):
    report = lazyrt.export(models.math_domain, (X,), bundle)
    assert report.verdict == "SOUND", report
    with pytest.raises(lazyrt.GuardError, match="fails a check of the model: math.sqrt"):
        lazyrt.load(bundle)(-X)


def test_one_hot_is_sound(bundle):
    report = lazyrt.export(models.one_hot, (torch.tensor([0, 2, 1]),), bundle)
    assert report.verdict == "SOUND", report
    program = lazyrt.load(bundle)
    assert not judge(program, models.one_hot, (torch.tensor([5, 5, 0]),))
    with pytest.raises(lazyrt.GuardError, match="smaller than num_classes"):
        program(torch.tensor([6, 0, 0]))


@pytest.mark.parametrize("model, sample, other", [
    (models.caught, (X,), (-X,)),
    (models.caught_outside, (-X,), (X,)),
    (models.either, (-X,), (torch.tensor([0.5, 0.1, 0.2]),)),
    (models.stops, (torch.tensor([0.0, -1.0, -1.0, 2.0]),), (torch.tensor([0.0, -1.0, 2.0, 2.0]),)),
    (models.caught_division, (X, number(4)), (X, number(0))),
    (models.caught_domain, (X,), (-X,)),
])
def test_what_only_looks_like_a_check_is_a_guard(bundle, model, sample, other):
    report = lazyrt.export(model, sample, bundle)
    assert report.verdict == "SPECIALIZED" and not all(guard.check for guard in report.guards), report
    program = lazyrt.load(bundle)
    assert not judge(program, model, sample)
    assert judge(program, model, other)


# ---------------------------------------------------------------- constants


def test_caches_hold_ordinary_tensors(bundle):
    models.causal_mask.cache_clear()
    models._CACHE.clear()
    x = torch.randn(4, 4)
    report = lazyrt.export(models.cached_mask, (x,), bundle)
    assert report.verdict == "SOUND", report
    assert models.causal_mask(4).device.type == "cpu"
    want = models.cached_mask(x)
    models._CACHE["scale"].fill_(100)  # the bundle's constants are its own
    np.testing.assert_allclose(lazyrt.load(bundle)(x), want)


def test_memo_of_a_module(bundle):
    model, x = models.Window(), torch.randn(8)
    lazyrt.export(model, (x,), bundle)
    np.testing.assert_allclose(lazyrt.load(bundle)(x), model(x))


@pytest.mark.parametrize("model", [models.numpy_table, models.filled_table, models.idle_draw])
def test_tensors_that_the_program_makes(bundle, model):
    report = lazyrt.export(model, (X,), bundle)
    assert report.verdict == "SOUND", report
    assert not judge(lazyrt.load(bundle), model, (X * 3,))


def test_whole_numbers_beside_real_ones_under_another_default(tmp_path):
    def model(n):
        return n > 256.5, n == 16777217.0, torch.isin(n, 16777217.0), n * 0.5

    path = str(tmp_path / "m.lzb")
    torch.set_default_dtype(torch.float64)
    try:
        assert lazyrt.export(model, (torch.tensor([255, 257, 16777217]),), path).verdict == "SOUND"
        for n in (torch.tensor([255, 257, 16777217]), torch.tensor([256, 258, 16777216])):
            for ours, eager in zip(lazyrt.load(path)(n), model(n)):
                assert ours.dtype == eager.dtype and torch.equal(ours, eager)
    finally:
        torch.set_default_dtype(torch.float32)


class Recurrent(nn.Module):
    def __init__(self, kind, ask):
        super().__init__()
        self.cells, self.ask = kind(4, 5, batch_first=True), ask

    def forward(self, x):
        return self.ask(self.cells(x)[0])


@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM, nn.RNN])
@pytest.mark.parametrize("ask", [lambda y: y.argmax().item(), lambda y: y * y.abs().mean().item(), lambda y: y[:, -1] / max(y.amax().item(), 0.5)])
def test_numbers_behind_a_recurrent_layer(bundle, kind, ask):
    """A recurrent layer keeps its parameters in a list of its own, which is no state."""
    torch.manual_seed(0)
    model = Recurrent(kind, ask).eval()
    report = lazyrt.export(model, (torch.randn(2, 6, 4),), bundle)
    assert report.verdict in ("SOUND", "SPECIALIZED") and not report.states, report
    refused = [judge(lazyrt.load(bundle), model, (torch.randn(2, 6, 4),)) for _ in range(3)]
    assert report.verdict == "SPECIALIZED" or not any(refused)
