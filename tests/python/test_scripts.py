"""TorchScript modules through lazyrt.export."""

import pathlib
import subprocess
import sys

import pytest
import torch

import lazyrt

SAVES = '''
import sys

import torch
from torch import Tensor, nn


@torch.jit.script
class Ramp:
    def __init__(self, slope: float):
        self.slope = slope

    def at(self, x: Tensor):
        return x * self.slope


class Sloped(nn.Module):
    def __init__(self):
        super().__init__()
        self.ramp = Ramp(0.5)

    def forward(self, x: Tensor):
        return self.ramp.at(x) + 1


torch.jit.script(Sloped()).save(sys.argv[1])
'''


def test_a_scripted_class_that_this_process_has_not_is_named(tmp_path, bundle):
    source, file = tmp_path / "saves.py", tmp_path / "sloped.pt"
    source.write_text(SAVES)
    subprocess.run([sys.executable, source, file], check=True)
    model, x = torch.jit.load(file), torch.randn(3)
    with pytest.raises(lazyrt.ExportError, match=r"attribute 'ramp'.*scripted class __torch__.Ramp in this process.*lazy-export"):
        lazyrt.export(model, (x,), bundle)
    assert not pathlib.Path(bundle).exists() and model(x).equal(x * 0.5 + 1)


class Indexed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("codes", torch.arange(5.0))

    def forward(self, x, order):
        self.codes[order] = x[:, 0] + 1
        return x[order], x[order, 1], (x + 1)[:, order - order], self.codes[order]


def test_scripts_index_by_tensors(tmp_path):
    x, order = torch.randn(5, 2), torch.tensor([3, 1, 4, 0, 2])
    exported, beside = torch.jit.script(Indexed()), Indexed()
    lazyrt.export(exported, (x, order), tmp_path / "m.lzb")
    program = lazyrt.load(tmp_path / "m.lzb")
    for _ in range(2):
        for ours, eager in zip(program(x, order.flip(0)), beside(x, order.flip(0))):
            assert torch.equal(ours, eager)
