"""Writes the .pt2 files that pt2_test.cpp reads: python pt2_fixtures.py OUTPUT_DIR

Each function below makes one file of its name. Damaged and foreign files are made from good ones.
"""
import os
import sys
import zipfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.export.pt2_archive._package import package_pt2

CASES = []


def case(make):
    CASES.append(make)
    return make


def export(module, args, **kwargs):
    torch.manual_seed(1)
    return torch.export.export(module.eval(), args, **kwargs)


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.second = nn.Linear(16, 8)
        self.tied = nn.Linear(16, 8)
        self.tied.weight = self.second.weight
        self.register_buffer("scale", torch.full((8,), 0.5))

    def forward(self, x):
        h = F.gelu(self.first(x))
        return self.second(h) * self.scale + self.tied(h)


@case
def mlp():
    return export(Mlp(), (torch.randn(2, 8),))


@case
def double_by_default():
    """Exported under another default dtype: whole numbers times a real one."""
    class M(nn.Module):
        def forward(self, n):
            return n * 0.1

    torch.set_default_dtype(torch.float64)
    try:
        return export(M(), (torch.tensor([1, 2, 3]),))
    finally:
        torch.set_default_dtype(torch.float32)


@case
def mlp_with_gradients():
    """Exported with gradients on and a no_grad block inside: a wrapped sub-graph."""
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(8, 8)

        def forward(self, x):
            y = self.fc(x)
            with torch.no_grad():
                z = torch.relu(y) + 1
            return y * z

    return export(M(), (torch.randn(2, 8),))


@case
def nested_inputs():
    class M(nn.Module):
        def forward(self, pair, *, table, factor=2.0):
            return pair[0] * factor + pair[1] - table["b"] * table["a"]

    t = torch.randn
    return export(M(), ((t(3), t(3)),), kwargs={"table": {"b": t(3), "a": t(3)}, "factor": 3.0})


@case
def outputs_of_all_kinds():
    class M(nn.Module):
        def forward(self, x):
            y = x + 1
            return y, y, x, 3, None, 2.5, True, x.shape[0]

    return export(M(), (torch.randn(4, 2),))


@case
def constants():
    """Device constants, tensor constants, slice assignment, linspace, masks."""
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.arange(6.0)

        def forward(self, x):
            y = torch.zeros(4, 6)
            y[:, 0] = x[:, 1]
            y[1:3, 2:5] += x[1:3, :3]
            grid = torch.linspace(0, 1, 6) + torch.arange(6) + torch.tensor([1.0, 2, 3, 4, 5, 6])
            mask = torch.ones(6, 6, dtype=torch.bool).tril()
            return (y + grid) @ mask.float() + self.table, x.to("cpu").masked_fill(x > 0, -1.0)

    return export(M(), (torch.randn(4, 6),))


@case
def recurrent():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.gru = nn.GRU(5, 7, num_layers=2, bidirectional=True, batch_first=True)
            self.lstm = nn.LSTM(14, 6, batch_first=True)

        def forward(self, x):
            x, _ = self.gru(x)
            y, (h, c) = self.lstm(x)
            return y, h, c

    return export(M(), (torch.randn(2, 9, 5),))


@case
def vision():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 8, 3, padding="same", bias=False)
            self.norm = nn.BatchNorm2d(8)
            self.group = nn.GroupNorm(2, 8)
            self.up = nn.ConvTranspose2d(8, 4, 2, 2)

        def forward(self, x):
            x = F.max_pool2d(F.hardswish(self.norm(self.conv(x))), 2)
            x = F.interpolate(self.up(self.group(x)), scale_factor=2.0, mode="bilinear")
            return F.adaptive_avg_pool2d(F.pad(x, (1, 2, 0, 1)), 1).flatten(1), x

    return export(M(), (torch.randn(1, 3, 16, 12),))


@case
def dynamic():
    batch = torch.export.Dim("batch", min=2, max=64)

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(8, 4)

        def forward(self, x):
            return self.fc(x).reshape(x.shape[0] * 2, 2) + torch.arange(x.shape[0] * 2)[:, None]

    return export(M(), (torch.randn(3, 8),), dynamic_shapes={"x": {0: batch}})


@case
def sizes_in_relation():
    rows, w = torch.export.Dim("rows", max=8), torch.export.Dim("_w", min=1, max=9)

    class M(nn.Module):
        def forward(self, x, y):
            return x * 2, y + 1

    return export(M(), (torch.randn(3, 64), torch.randn(4)), dynamic_shapes={"x": {0: rows, 1: 32 * w}, "y": {0: rows + 1}})


@case
def guard_on_sizes():
    auto = torch.export.Dim.AUTO

    class M(nn.Module):
        def forward(self, x):
            return x.reshape(-1, 2) + 1

    return export(M(), (torch.randn(3, 4),), dynamic_shapes={"x": {0: auto, 1: auto}})


@case
def writes_buffer():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(3))

        def forward(self, x):
            self.count.add_(1)
            return x + self.count

    return export(M(), (torch.randn(3),))


@case
def writes_buffer_decomposed():
    return writes_buffer().run_decompositions()


@case
def writes_input():
    class M(nn.Module):
        def forward(self, x):
            x[0] = 1
            return x * 2

    return export(M(), (torch.randn(3),))


@case
def writes_input_decomposed():
    return writes_input().run_decompositions()


@case
def batch_norm_training():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(4)

        def forward(self, x):
            return self.norm(x)

    torch.manual_seed(1)
    return torch.export.export(M().train(), (torch.randn(3, 4),))


@case
def batch_norm_training_decomposed():
    return batch_norm_training().run_decompositions()


@case
def cond():
    class M(nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda v: v + 1, lambda v: v - 1, (x,))

    return export(M(), (torch.randn(3),))


@case
def item():
    class M(nn.Module):
        def forward(self, x):
            return x * x.sum().item()

    return export(M(), (torch.randn(3),))


@case
def checked_item():
    class M(nn.Module):
        def forward(self, x, n):
            k = n.item()
            torch._check(k < 10)
            return x * (k * 2 + 1)

    return export(M(), (torch.randn(3), torch.tensor(3)))


@case
def number_result():
    class M(nn.Module):
        def forward(self, x, n):
            return x + 1, n.item()

    return export(M(), (torch.randn(3), torch.tensor(3)))


@case
def complex_numbers():
    class M(nn.Module):
        def forward(self, x):
            return torch.fft.rfft(x).abs()

    return export(M(), (torch.randn(8),))


@case
def complex_result():
    class M(nn.Module):
        def forward(self, x):
            return torch.fft.rfft(x)

    return export(M(), (torch.randn(8),))


def rewrite(source, target, drop=(), replace=None):
    """Copies a zip, leaving entries out or giving them other bytes."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as new:
        for info in old.infolist():
            tail = info.filename.split("/", 1)[1]
            if tail in drop:
                continue
            data = old.read(info)
            new.writestr(info.filename, replace[tail](data) if replace and tail in replace else data)


def write_damaged(folder):
    good = os.path.join(folder, "mlp.pt2")
    model = "models/model.json"

    def path(name):
        return os.path.join(folder, name + ".pt2")

    rewrite(good, path("missing_weight"), drop=("data/weights/weight_0",))
    rewrite(good, path("missing_samples"), drop=("data/sample_inputs/model.pt",))
    rewrite(good, path("future_version"),
            replace={model: lambda b: b.replace(b'"major": 8', b'"major": 99')})
    rewrite(good, path("broken_json"), replace={model: lambda b: b[:len(b) // 2]})
    rewrite(good, path("wrong_json"), replace={model: lambda b: b'{"schema_version": {"major": 8}}'})
    rewrite(good, path("short_weight"), replace={"data/weights/weight_0": lambda b: b[:16]})
    rewrite(good, path("unknown_operator"),
            replace={model: lambda b: b.replace(b"torch.ops.aten.gelu.default",
                                                b"torch.ops.mylib.squash.default")})
    rewrite(good, path("odd_dtype"),
            replace={"data/weights/model_weights_config.json":
                     lambda b: b.replace(b'"dtype": 7', b'"dtype": 9')})
    torch.save({"weight": torch.zeros(3)}, path("checkpoint"))
    torch.jit.save(torch.jit.trace(nn.Linear(2, 2), torch.zeros(1, 2)), path("torchscript"))
    package_pt2(path("two_programs"), exported_programs={"encoder": mlp(), "decoder": item()})
    with open(path("text"), "w") as f:
        f.write("this is not a model\n")
    with open(good, "rb") as f, open(path("truncated"), "wb") as g:
        data = f.read()
        g.write(data[:len(data) * 2 // 3])


def main(folder):
    os.makedirs(folder, exist_ok=True)
    for make in CASES:
        torch.export.save(make(), os.path.join(folder, make.__name__ + ".pt2"))
    write_damaged(folder)


if __name__ == "__main__":
    main(sys.argv[1])
