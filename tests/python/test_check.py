"""The differential check after an export: what it finds, what it leaves alone, what it says."""

import collections
import os
import pathlib

import pytest
import torch
from torch import nn

import lazyrt


def checked(report):
    return report.to_json()["checked"]


def test_a_right_module_is_compared_on_many_inputs(bundle):
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    report = lazyrt.export(model, (torch.randn(2, 8),), bundle)
    result = checked(report)
    assert result["level"] == "full" and not result["sample_only"]
    assert result["altered_compared"] >= 6 and result["in_a_row"] >= 4 and result["refused"] == 0
    assert 0 < result["worst"] <= 1 and result["seconds"] < 3
    assert "altered inputs (seed 1)" in report.summary and "of what is allowed" in report.summary


@pytest.mark.parametrize("check, level, altered", [("none", "none", 0), (False, "none", 0), ("sample", "sample", 0),
                                                  (True, "full", 6), ("full", "full", 6)])
def test_levels_and_their_synonyms(bundle, check, level, altered):
    result = checked(lazyrt.export(torch.sin, (torch.randn(8),), bundle, check=check))
    assert result["level"] == level and result["altered"] >= altered


def test_an_unknown_level_is_refused(bundle):
    with pytest.raises(ValueError, match="'none', 'sample' or 'full'"):
        lazyrt.export(torch.sin, (torch.randn(8),), bundle, check="more")


class FileCounter(nn.Module):
    """Counts its calls where nobody looks."""

    def __init__(self, path):
        super().__init__()
        self.path = str(path)

    def forward(self, x):
        with open(self.path, "a+") as file:
            file.write(".")
            calls = file.tell()
        return x * 2 if calls < 20 else x * 3


def test_a_counter_in_a_file_is_caught(bundle, tmp_path):
    (tmp_path / "calls").write_text("." * 12)
    with pytest.raises(lazyrt.ExportError, match="the capture did not see|gives another result when it is run again"):
        lazyrt.export(FileCounter(tmp_path / "calls"), (torch.randn(4),), bundle)
    assert not os.path.exists(bundle)


def test_a_module_that_differs_in_its_second_call(bundle):
    """It counts in a file, which nothing but the check sees."""
    counter = pathlib.Path(bundle).with_suffix(".calls")
    counter.write_text("1")

    def second_differs(x):
        eager = type(x) is torch.Tensor and not torch.overrides._get_current_function_mode_stack()
        calls = int(counter.read_text()) + eager
        counter.write_text(str(calls))
        return x + 1 if calls % 2 == 1 or not eager else x + 2

    with pytest.raises(lazyrt.ExportError) as caught:
        lazyrt.export(second_differs, (torch.randn(4),), bundle, keep_samples=False)
    assert "in a row" in str(caught.value) or "on the sample" in str(caught.value)


def test_a_decision_on_the_type_of_a_number(bundle):
    def program(x):
        n = x.sum().item()
        return x * 2 if type(n) is float else x * 3

    try:
        lazyrt.export(program, (torch.ones(4),), bundle)
    except lazyrt.ExportError:
        return
    torch.testing.assert_close(lazyrt.load(bundle)(torch.ones(4)), torch.ones(4) * 2)


class Ties(nn.Module):
    def forward(self, x):
        top = torch.topk(torch.cat([x, x], -1), 3, dim=-1)
        return top.values, top.indices


def test_ties_are_undecided_and_no_difference(bundle):
    report = lazyrt.export(Ties(), (torch.rand(4, 8),), bundle)
    assert checked(report)["difference"] == ""


def test_inputs_on_which_the_module_raises_are_dropped(bundle):
    def program(x):
        torch._assert(bool((x.abs() < 5).all()), "out of range")
        return x.sqrt() + 1

    result = checked(lazyrt.export(program, (torch.rand(16) + 0.1,), bundle))
    assert result["raised"] > 0 and result["not_finite"] > 0 and result["altered_compared"] > 0


def test_narrow_guards_are_told(bundle):
    def program(x):
        return x * 2 if x.sum() > 3.99 and x.sum() < 4.01 else x * 3

    report = lazyrt.export(program, (torch.ones(4) + torch.tensor([0.1, -0.1, 0.2, -0.2]),), bundle)
    result = checked(report)
    assert result["refused"] >= 5
    assert f"refused {result['refused']} of {result['altered']} altered inputs" in report.summary


def test_values_below_the_normal_numbers(bundle):
    """timm's mobilevit without weights gives values of 1e-39 only."""

    class Tiny(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(32, 32)

        def forward(self, x):
            return torch.softmax(self.body(x), -1) * 1e-38 * 0.1

    report = lazyrt.export(Tiny(), (torch.randn(3, 32),), bundle)
    assert checked(report)["difference"] == ""
    ours, eager = lazyrt.load(bundle), Tiny()
    assert ours(torch.randn(3, 32)).max() < 1e-38


def test_results_are_of_the_modules_structure(bundle):
    Pair = collections.namedtuple("Pair", "left right")

    def program(x, flag=None):
        return {"pair": Pair(x + 1, [x - 1, 3, None]), "number": 2.5, "text": "label"}

    report = lazyrt.export(program, (torch.randn(4),), bundle)
    assert checked(report)["difference"] == ""


def test_each_sample_is_checked(bundle):
    def program(x):
        return x * 2 if x.sum() > 0 else x * 3

    report = lazyrt.export(program, [(torch.ones(4),), (-torch.ones(4),)], bundle)
    assert checked(report)["refused"] == 0
    assert [line["output"] for line in report.to_json()["check"]] == ["sample 0: output", "sample 1: output"]


def test_state_goes_on_through_the_calls(bundle):
    class Running(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("sum", torch.zeros(4))

        def forward(self, x):
            self.sum += x
            return self.sum * 2

    model = Running()
    report = lazyrt.export(model, (torch.ones(4),), bundle)
    assert checked(report)["in_a_row"] >= 4 and checked(report)["difference"] == ""
    assert torch.equal(model.sum, torch.zeros(4))


def test_the_module_is_as_before(bundle):
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls, self.kept = 0, []
            self.norm = nn.BatchNorm1d(4)

        def forward(self, x):
            self.calls += 1
            self.kept.append(x.shape[0])
            return self.norm(x)

    model = Counting().eval()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    x, seed = torch.randn(3, 4), torch.get_rng_state()
    lazyrt.export(model, (x,), bundle)
    assert model.calls == 0 and model.kept == []
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), seed)


class Cached(nn.Module):
    """Two phases: without a cache and with one."""

    def __init__(self):
        super().__init__()
        self.cache = None

    def forward(self, x):
        self.cache = x if self.cache is None else self.cache * 0.9 + x
        return self.cache * 2


@pytest.mark.parametrize("model, check, most", [(torch.sin, "none", 1), (torch.sin, "sample", 3), (torch.sin, "full", 20),
                                                (nn.Linear(4, 4), "full", 20), (Cached(), "full", 8 * 2 + 20)])
def test_an_export_calls_eager_a_few_times(bundle, tmp_path, model, check, most):
    report = lazyrt.export(model, (torch.randn(4),), bundle, check=check, report=tmp_path / "report.html")
    phases = 2 if isinstance(model, Cached) else 1
    found = report.to_json()
    assert checked(report)["eager_calls"] <= found["eager_calls"] <= most
    assert 2 <= found["captures"] <= 2 * phases + (phases > 1) * 2
    said = f"{found['captures']} captures, {found['eager_calls']} call"
    assert said in report.summary and said in (tmp_path / "report.html").read_text()


def test_each_report_says_what_is_out_of_scope(bundle, tmp_path):
    report = lazyrt.export(torch.sin, (torch.randn(4),), bundle, report=tmp_path / "report.html")
    for text in (" ".join(report.summary.split()), report.to_json()["out_of_scope"], (tmp_path / "report.html").read_text()):
        assert "not checked: switches and tables of the process" in text and "clocks, files, threads" in text


def test_an_interrupt_ends_the_check(bundle):
    def progress(stage, done, total):
        if stage == "check against eager" and done > 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lazyrt.export(torch.sin, (torch.randn(4),), bundle, progress=progress)
    assert os.listdir(os.path.dirname(bundle)) == []


class Latch(nn.Module):
    """Calls that the bundle refuses change what later ones compute."""

    def __init__(self):
        super().__init__()
        self.hot = False

    def forward(self, x):
        if bool(x.mean() > 0.8):
            self.hot = True
        return x * 10 if self.hot else x


def test_after_a_refused_call_a_row_begins_again(bundle):
    report = lazyrt.export(Latch(), (torch.full((8,), 0.1),), bundle)
    assert report.verdict == "SPECIALIZED" and checked(report)["refused"] > 0
    program, quiet = lazyrt.load(bundle), torch.full((8,), 0.3)
    assert torch.equal(program(quiet), quiet)
    with pytest.raises(lazyrt.GuardError):
        program(torch.ones(8))
