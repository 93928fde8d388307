"""Several samples in one bundle, and buffers that the model writes."""

import os

import pytest
import torch
from torch import nn

import lazyrt


class Gate(nn.Module):
    """One weight, two paths over it."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(64, 64))

    def forward(self, x):
        if x.mean() > 0:
            return {"y": torch.relu(x @ self.weight), "path": 1}
        return {"y": torch.tanh(x @ self.weight), "path": 2}


def test_two_paths_over_one_weight(tmp_path, close):
    model = Gate().eval()
    high, low = torch.rand(2, 64), -torch.rand(2, 64)
    one, both = str(tmp_path / "one.lzb"), str(tmp_path / "both.lzb")
    lazyrt.export(model, (high,), one, keep_samples=False)
    report = lazyrt.export(model, [(high,), (low,)], both, keep_samples=False)
    program = lazyrt.load(both)
    assert report.verdict == "SPECIALIZED" and program.variants == 2
    for x in (high, low, high * 0.5, low * 0.5):
        result, expected = program(x), model(x)
        close(result["y"], expected["y"])
        assert result["path"] == expected["path"]
    assert os.path.getsize(both) < os.path.getsize(one) + 64 * 64 * 4


def test_two_shapes(tmp_path, close):
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
    small, large = torch.randn(2, 4), torch.randn(5, 4)
    path = str(tmp_path / "m.lzb")
    lazyrt.export(model, [(small,), (large,)], path)
    program = lazyrt.load(path)
    close(program(small), model(small))
    close(program(large.numpy()), model(large))
    assert program.inputs[0].shapes == [(2, 4), (5, 4)]
    with pytest.raises(lazyrt.InputError, match=r"\[2, 4\] or \[5, 4\]"):
        program(torch.randn(3, 4))


def test_samples_that_agree_are_merged(tmp_path, close):
    model = Gate().eval()
    path = str(tmp_path / "m.lzb")
    lazyrt.export(model, [(torch.rand(2, 64),), (torch.rand(2, 64),)], path)
    assert lazyrt.load(path).variants == 1


def test_samples_of_other_structure_are_refused(tmp_path):
    with pytest.raises(lazyrt.ExportError, match="sample 1"):
        lazyrt.export(lambda x, *more: x + sum(more), [(torch.ones(2),), (torch.ones(2), torch.ones(2))], str(tmp_path / "m.lzb"))
    with pytest.raises(TypeError, match="2 samples, but 1 kwargs"):
        lazyrt.export(lambda x: x + 1, [(torch.ones(2),), (torch.ones(2),)], str(tmp_path / "m.lzb"), kwargs=[{}])


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.total += x
        self.steps = self.steps + 1
        return self.total / self.steps


def test_buffers_become_state(tmp_path, close):
    model, path = Counter().eval(), str(tmp_path / "m.lzb")
    report = lazyrt.export(model, (torch.randn(3),), path)
    assert torch.equal(model.total, torch.zeros(3)) and model.steps == 0
    assert sorted(report.states) == ["steps", "total"]
    program = lazyrt.load(path)
    for repeat in range(2):
        for i in range(3):
            x = torch.randn(3)
            close(program(x), model(x))
        close(program.state("total"), model.total)
        assert program.state("steps") == 3
        program.reset()
        model.total, model.steps = torch.zeros(3), torch.zeros((), dtype=torch.int64)
    with pytest.raises(lazyrt.InputError, match="no state 'x'"):
        program.state("x")
