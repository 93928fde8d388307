"""What eager code does beside calling operators: devices, writes into plain tensors, numpy, printing."""

import logging
import math

import numpy as np
import pytest
import torch
from torch import nn

import lazyrt

TABLE = torch.arange(12.0).reshape(3, 4)


def check(roundtrip, close, model, *args, verdict="SOUND", **options):
    report, program, eager = roundtrip(model, args, **options)
    assert report.verdict == verdict, report
    close(program(*args), eager)
    others = [torch.randn_like(a) if a.is_floating_point() else a for a in args]
    with torch.no_grad():
        close(program(*others), model(*others))
    return report


def test_cache_writes(roundtrip, close):
    def model(x):
        cache = torch.zeros(4, 3)
        for i in range(4):
            cache[i] = x * i + cache[max(i - 1, 0)]
        return cache

    check(roundtrip, close, model, torch.randn(3))


def test_writes_into_a_tensor_that_is_kept_twice_are_refused(roundtrip):
    class Cached(nn.Module):
        def __init__(self):
            super().__init__()
            self.cache = torch.ones(2, 6)
            self.window = self.cache[:, 2:4]

        def forward(self, x):
            self.cache[:, 2:] = x
            self.window.mul_(2)
            first = self.cache[1:]
            return first + self.window.sum()

    model = Cached()
    with pytest.raises(lazyrt.ExportError, match="'model.cache', which it keeps between calls and which shares memory"):
        roundtrip(lambda x: model(x), (torch.randn(2, 4),))
    assert model.cache.device.type == "cpu"


def test_module_level_tensors(roundtrip, close):
    check(roundtrip, close, lambda x: (x @ TABLE)[:, 1:] + TABLE[0, 1:], torch.randn(2, 3))


def test_device_cpu_is_the_capture_device(roundtrip, close):
    def model(x):
        steps = torch.arange(4, device="cpu") + torch.zeros(4, device=x.device)
        with torch.device("cpu"):
            ones = torch.ones(4)
        assert x.device == torch.device("cpu") and x.is_cpu and not x.is_cuda
        return (x.to("cpu") + steps.cpu() + ones.to(x.device)).to(device="cpu", dtype=torch.float64).to(x)

    report = check(roundtrip, close, model, torch.randn(4))
    assert any("CPU was left out" in note for note in report.notes)


def test_tensor_of_lazy_numbers_is_a_stack(roundtrip, close):
    check(roundtrip, close, lambda x: torch.tensor([x.sum(), x.max(), 2.0]) * torch.tensor([[x[0]], [x[1]]]), torch.randn(5))


def test_numpy_on_constants(roundtrip, close):
    def model(x):
        window = torch.from_numpy(np.hanning(8).astype(np.float32))
        scale = torch.ones(3).numpy().sum()
        return x * window * float(scale) * math.sqrt(float(torch.tensor(16.0)))

    check(roundtrip, close, model, torch.randn(2, 8))


def test_printing_is_free(roundtrip, close, caplog, capsys):
    def model(x):
        y = x * 2
        print(y, y.shape)
        logging.getLogger("model").warning("mean %s, largest %.3f", y.mean(), y.max())
        print(f"{y.sum():.2f}")
        return y + 1

    report = check(roundtrip, close, model, torch.randn(3))
    assert "tensor(" in capsys.readouterr().out and "largest" in caplog.text
    assert not report.guards


def test_recurrent_and_attention_modules(roundtrip, close):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(8, 16, batch_first=True)
            self.attention = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)

        def forward(self, x):
            y, (h, c) = self.lstm(x)
            return self.attention(y) + h[-1][:, None]

    model = Both().eval()
    check(roundtrip, close, model, torch.randn(2, 5, 8))
    assert torch.backends.mha.get_fastpath_enabled()


def test_weight_norm_of_both_kinds(roundtrip, close):
    model = nn.Sequential(torch.nn.utils.parametrizations.weight_norm(nn.Linear(4, 5)), nn.Tanh(), nn.Linear(5, 3)).eval()
    with torch.no_grad():
        check(roundtrip, close, model, torch.randn(2, 4))


def test_unsupported_operators_are_listed_at_once(bundle):
    def model(x):
        a = torch.linalg.qr(x)[0]
        return a, torch.linalg.eigvalsh(x @ x.T)

    with pytest.raises(lazyrt.ExportError) as raised:
        lazyrt.export(model, (torch.randn(4, 4),), bundle)
    text = str(raised.value)
    assert "qr" in text and "eigh" in text and text.count("test_modes.py") >= 2, text
    assert raised.value.report.nodes > 0


@pytest.mark.parametrize("bad, text", [
    (torch.ones(2, dtype=torch.complex64), "dtype"),
    (torch.ones(2, device="meta"), "meta"),
    (torch.ones(2, 2).to_sparse(), "dense"),
])
def test_tensors_that_cannot_be_inputs(bundle, bad, text):
    with pytest.raises(lazyrt.ExportError, match=text):
        lazyrt.export(lambda x: x + 1, (bad,), bundle)


def test_bad_calls(bundle, tmp_path):
    with pytest.raises(TypeError, match="path"):
        lazyrt.export(nn.ReLU(), (torch.ones(1),))
    with pytest.raises(TypeError, match="module or a function"):
        lazyrt.export(3, (torch.ones(1),), bundle)
    with pytest.raises(FileNotFoundError, match="no folder"):
        lazyrt.export(nn.ReLU(), (torch.ones(1),), str(tmp_path / "none" / "m.lzb"))
    with pytest.raises(IsADirectoryError):
        lazyrt.export(nn.ReLU(), (torch.ones(1),), str(tmp_path))


def test_empty_and_double(roundtrip):
    report, program, eager = roundtrip(lambda x, y: (x + 1, y * 2), (torch.zeros(0, 3), torch.randn(3).double()))
    first, second = program(torch.zeros(0, 3), torch.ones(3).double())
    assert first.shape == (0, 3) and second.dtype == torch.float64 and second[0] == 2


_MATRIX, _ROWS = torch.rand(4, 4), torch.ones(16, 4)


@pytest.mark.parametrize("call", [
    lambda x: torch.cdist(x, _MATRIX),
    lambda x: torch.cdist(_MATRIX, x),
    lambda x: torch.nn.functional.cosine_similarity(x, _MATRIX, dim=-1),
    lambda x: torch.linalg.multi_dot([_MATRIX, x, _MATRIX]),
    lambda x: torch.lstm_cell(x, (_MATRIX, _MATRIX), _ROWS, _ROWS),
    lambda x: torch.gru_cell(x, _MATRIX, _ROWS[:12], _ROWS[:12]),
    lambda x: torch.rnn_tanh_cell(x, _MATRIX, _ROWS[:4], _ROWS[:4]),
    lambda x: torch.gradient(x, spacing=(torch.tensor([0.0, 1.0, 3.0, 4.5]),), dim=0)[0],
], ids=["cdist", "cdist of a constant", "cosine_similarity", "multi_dot", "lstm_cell", "gru_cell", "rnn_cell", "gradient"])
def test_constants_beside_inputs_where_torch_compares_devices(tmp_path, call):
    class Calls(torch.nn.Module):
        def forward(self, x):
            return call(x)

    path, x = str(tmp_path / "m.lzb"), torch.rand(4, 4)
    assert lazyrt.export(Calls(), (torch.rand(4, 4),), path).verdict == "SOUND"
    ours, eager = lazyrt.load(path)(x), call(x)
    for a, b in zip(ours if isinstance(ours, tuple) else [ours], eager if isinstance(eager, tuple) else [eager]):
        assert torch.allclose(a, b, atol=1e-5)
