"""Models of quantization aware training: torch.ao.quantization.prepare_qat."""

import warnings

import pytest
import torch
from torch import nn

import lazyrt


def prepared(backend):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.ao import quantization

        torch.manual_seed(5)
        model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)).train()
        model.qconfig = quantization.get_default_qat_qconfig(backend)
        model = quantization.prepare_qat(quantization.fuse_modules_qat(model, [["0", "1", "2"]]))
        for _ in range(3):
            model(torch.randn(2, 3, 8, 8))
        return model.eval(), quantization


@pytest.mark.parametrize("backend", ["fbgemm", "qnnpack"])
def test_as_eager_where_observers_are_off(backend, tmp_path):
    model, quantization = prepared(backend)
    model.apply(quantization.disable_observer)
    lazyrt.export(model, (torch.randn(2, 3, 8, 8),), tmp_path / "m.lzb")
    program = lazyrt.load(tmp_path / "m.lzb")
    for scale in (1, 30, 1e4):
        x = torch.randn(2, 3, 8, 8) * scale
        with torch.no_grad():
            eager = model(x)
        # The last place of a sum may make an activation another of the 255 numbers.
        assert (program(x) - eager).abs().max() <= 0.03 * eager.abs().max()


def test_without_quantization(tmp_path):
    model, quantization = prepared("fbgemm")
    model.apply(quantization.disable_observer)
    model.apply(quantization.disable_fake_quant)
    x = torch.randn(2, 3, 8, 8)
    lazyrt.export(model, (x,), tmp_path / "m.lzb")
    with torch.no_grad():
        torch.testing.assert_close(lazyrt.load(tmp_path / "m.lzb")(x), model(x), rtol=1e-5, atol=1e-6)


def test_observers_that_are_on_have_a_message(tmp_path):
    model, _ = prepared("fbgemm")
    with pytest.raises(lazyrt.ExportError, match="disable_observer"):
        lazyrt.export(model, (torch.randn(2, 3, 8, 8),), tmp_path / "m.lzb")
