"""Extents that vary: a bundle gives what eager gives at every size that it takes, or says why it cannot."""

import functools
import math
import random

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import lazyrt

BATCH = ("batch", 1, 6)
SEQ = ("seq", 1, 64)


def tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else []
    return [tensor for item in items for tensor in tensors(item)]


def check_sizes(model, make, ranges, dynamic, path, backends=("cpu", "reference"), count=10, allow_guards=False):
    """Exports at the sizes of `start`, then compares both backends with eager at both ends and at sizes drawn; make(**sizes) gives the arguments."""
    torch.manual_seed(0)
    start = {name: bounds[2] for name, bounds in ranges.items()}
    report = lazyrt.export(model, make(**start), path, dynamic=dynamic)
    draw = random.Random(1)
    points = [{name: bounds[0] for name, bounds in ranges.items()}, {name: bounds[1] for name, bounds in ranges.items()}]
    step = {name: bounds[3] if len(bounds) > 3 else 1 for name, bounds in ranges.items()}
    points += [{name: draw.randrange(b[0], b[1] + 1, step[name]) for name, b in ranges.items()} for _ in range(count)]
    for backend in backends:
        program = lazyrt.load(path, backend=backend)
        assert program.variants == 1, report
        for point in points:
            args = make(**point)
            with torch.no_grad():
                wanted = tensors(model(*args))
            got = tensors(program(*args))
            assert len(got) == len(wanted)
            for a, b in zip(got, wanted):
                assert a.shape == b.shape and a.dtype == b.dtype, point
                torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5 * max(1.0, b.abs().max().item() if b.numel() else 1.0), msg=lambda m: f"{point}: {m}")
    return report


def check_rows(model, path, **more):
    """A model of x [batch, seq, 8]."""
    return check_sizes(model, lambda batch, seq: (torch.randn(batch, seq, 8),), {"batch": (1, 6, 2), "seq": (1, 64, 9)},
                       {"x": {0: BATCH, 1: SEQ}}, path, **more)


class Encoder(nn.Module):
    """Ids to an encoding with a causal mask, a table of positions, a mean."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(50, 16), nn.Embedding(64, 16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)

    def forward(self, ids):
        length = ids.shape[1]
        x = self.words(ids) + self.places(torch.arange(length))
        mask = torch.triu(torch.full((length, length), float("-inf")), 1)
        x = self.layer(x, src_mask=mask)
        return {"pooled": x.mean(1), "states": x}


class Images(nn.Module):
    """Convolutions with odd strides, pooling, flattening, upsampling back to the input's size."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 5, stride=3, padding=1), nn.Conv2d(8, 8, 3, stride=2)
        self.norm, self.head = nn.BatchNorm2d(8), nn.Linear(8, 5)

    def forward(self, x):
        y = F.relu(self.norm(self.first(x)))
        z = self.second(y)
        back = F.interpolate(z, size=x.shape[2:], mode="bilinear")
        return self.head(F.adaptive_avg_pool2d(z, 1).flatten(1)), back, z.flatten(2).transpose(1, 2)


def test_encoder(tmp_path):
    report = check_sizes(Encoder().eval(), lambda batch, seq: (torch.randint(0, 50, (batch, seq)),), {"batch": (1, 6, 1), "seq": (1, 64, 9)},
                         {"ids": {0: BATCH, 1: SEQ}}, tmp_path / "m.lzb")
    assert report.verdict == "SPECIALIZED" and {finding.id for finding in report.findings if finding.severity == "warning"} == {"untried-sizes"}
    assert "ids: i64[batch,seq]" in str(report) and "seq: 1 to 64" in str(report)


def test_images(tmp_path):
    check_sizes(Images().eval(), lambda batch, h, w: (torch.randn(batch, 3, h, w),), {"batch": (1, 3, 1), "h": (20, 61, 32), "w": (20, 50, 33)},
                {"x": {0: ("batch", 1, 3), 2: ("h", 20, 61), 3: ("w", 20, 50)}}, tmp_path / "m.lzb")


def test_recurrent(tmp_path):
    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.out = nn.GRU(8, 6, 2, batch_first=True, bidirectional=True), nn.Linear(12, 3)

        def forward(self, x):
            return self.out(self.rnn(x)[0])

    check_rows(Tagger().eval(), tmp_path / "m.lzb")


@pytest.mark.parametrize("body", [
    pytest.param(lambda x: x / x.shape[1], id="divided by a size"),
    pytest.param(lambda x: x * x.shape[1] ** -0.5 + math.log(x.shape[1] + 1.0), id="root and logarithm"),
    pytest.param(lambda x: (x - x.mean(1, keepdim=True)) / (x.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt(), id="normalised"),
    pytest.param(lambda x: x[:, : (x.shape[1] + 1) // 2], id="the first half"),
    pytest.param(lambda x: x[:, -1], id="the last step"),
    pytest.param(lambda x: x[:, ::2] * 2, id="every other step"),
    pytest.param(lambda x: x.reshape(-1, 8) @ torch.ones(8, 3), id="flattened"),
    pytest.param(lambda x: F.pad(x, (0, 0, 2, 3)), id="padded"),
    pytest.param(lambda x: torch.cat([x, x.flip(1)], 1), id="joined with itself"),
    pytest.param(lambda x: x + torch.arange(x.shape[1])[:, None], id="positions"),
    pytest.param(lambda x: x + torch.zeros(x.shape[0], 1, 8), id="made of sizes"),
    pytest.param(lambda x: torch.tril(torch.ones(x.shape[1], x.shape[1])) @ x, id="running sum"),
    pytest.param(lambda x: x.cumsum(1), id="cumsum"),
    pytest.param(lambda x: torch.cat([x, x], 1)[:, : -(-x.shape[1] // 8) + 1], id="an eighth, rounded up"),
    pytest.param(lambda x: x.sort(1).values[:, : x.shape[1] // 10 + 1], id="a tenth"),
    pytest.param(lambda x: torch.einsum("bsc,btc->bst", x, x).softmax(-1), id="scores"),
    pytest.param(lambda x: F.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None], is_causal=True)[:, 0], id="causal attention"),
    pytest.param(lambda x: x.unflatten(2, (2, 4)).transpose(1, 2).contiguous().view(x.shape[0] * 2, x.shape[1], 4), id="heads into the batch"),
    pytest.param(lambda x: x.max(1).values + x.argmax(1).sum(), id="maximum"),
    pytest.param(lambda x: x[:, :40] @ torch.ones(8, 3), id="the first forty at most"),
    pytest.param(lambda x: x[:, -20:].mean(1), id="the last twenty at most"),
    pytest.param(lambda x: F.pad(x, (0, 0, 0, -x.shape[1] % 8)).view(x.shape[0], -1, 8, 8).mean(2), id="padded to eights"),
    pytest.param(lambda x: x[:, : int(x.shape[1] * 0.7) + 1].sum(1), id="seven tenths"),
    pytest.param(lambda x: x[:, x.shape[1] // 4 : x.shape[1] - x.shape[1] // 4].sum(1), id="the middle"),
    pytest.param(lambda x: x.topk(max(1, x.shape[1] // 10), 1).values, id="a tenth, one at least"),
    pytest.param(lambda x: x + F.interpolate(torch.arange(24.0).view(1, 8, 3) * x.mean(), x.shape[1], mode="linear").transpose(1, 2), id="interpolated"),
    pytest.param(lambda x: x + torch.ones(x.shape[0], x.shape[1]).cumsum(1).div(x.shape[1]).mul(6.28).sin()[..., None], id="sine positions"),
    pytest.param(lambda x: x * max(1.0, math.log(x.shape[1]) / math.log(16)) + x.shape[1] ** 0.25, id="bounded logarithm"),
])
def test_bodies(body, tmp_path):
    class Body(nn.Module):
        def forward(self, x):
            return body(x)

    check_rows(Body(), tmp_path / "m.lzb")


class Windows(nn.Module):
    """Attention in shifted windows of 4x4 (Swin): padded, rolled, masked by a table of regions, put back."""

    def __init__(self):
        super().__init__()
        self.patches, self.mix = nn.Conv2d(3, 8, 4, 4), nn.Linear(8, 24)

    def forward(self, x):
        x = self.patches(x).permute(0, 2, 3, 1)
        batch, height, width, _ = x.shape
        x = torch.roll(F.pad(x, (0, 0, 0, -width % 4, 0, -height % 4)), (-2, -2), (1, 2))
        regions = torch.zeros(1, *x.shape[1:3], 1)
        for i, rows in enumerate((slice(0, -4), slice(-4, -2), slice(-2, None))):
            for j, columns in enumerate((slice(0, -4), slice(-4, -2), slice(-2, None))):
                regions[:, rows, columns] = 3 * i + j

        def windows(t):
            return t.view(t.shape[0], t.shape[1] // 4, 4, t.shape[2] // 4, 4, -1).permute(0, 1, 3, 2, 4, 5).reshape(t.shape[0], -1, 16, t.shape[3])

        region = windows(regions)[..., 0]
        mask = (region[:, :, None] != region[..., None]).float() * -100
        q, k, v = self.mix(windows(x)).chunk(3, -1)
        y = ((q @ k.transpose(-1, -2) + mask).softmax(-1) @ v).view(batch, x.shape[1] // 4, x.shape[2] // 4, 4, 4, 8)
        y = y.permute(0, 1, 3, 2, 4, 5).reshape(x.shape)
        return torch.roll(y, (2, 2), (1, 2))[:, :height, :width]


def test_shifted_windows(tmp_path):
    check_sizes(Windows().eval(), lambda h, w: (torch.randn(1, 3, h, w),), {"h": (32, 96, 40, 8), "w": (32, 96, 72, 8)},
                {"x": {2: ("h", 32, 96, 8), 3: ("w", 32, 96, 8)}}, tmp_path / "m.lzb", count=6)


def test_two_inputs_share_a_size(tmp_path):
    class Masked(nn.Module):
        def forward(self, x, mask):
            weights = mask.float()
            return (x * weights[..., None]).sum(1) / weights.sum(1, keepdim=True)

    def make(batch, seq):
        return torch.randn(batch, seq, 8), torch.ones(batch, seq, dtype=torch.bool)

    dynamic = {"x": {0: BATCH, 1: SEQ}, "mask": {0: "batch", 1: "seq"}}
    check_sizes(Masked(), make, {"batch": (1, 6, 2), "seq": (1, 64, 9)}, dynamic, tmp_path / "m.lzb")
    program = lazyrt.load(tmp_path / "m.lzb")
    with pytest.raises(lazyrt.InputError, match="seq"):
        program(torch.randn(2, 5, 8), torch.ones(2, 6, dtype=torch.bool))
    assert program(torch.randn(2, 5, 8), torch.ones(2, 5, dtype=torch.bool)).shape == (2, 8)


def test_state_stays_over_sizes(tmp_path):
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(8))

        def forward(self, x):
            self.seen += x.sum((0, 1))
            return x + self.seen

    model = Counting()
    lazyrt.export(model, (torch.randn(2, 9, 8),), tmp_path / "m.lzb", dynamic={"x": {0: BATCH, 1: SEQ}})
    program = lazyrt.load(tmp_path / "m.lzb")
    for batch, seq in [(2, 9), (1, 1), (6, 64), (3, 5), (3, 5), (2, 9)]:
        x = torch.randn(batch, seq, 8)
        torch.testing.assert_close(program(x), model(x), rtol=1e-4, atol=1e-4)
        with pytest.raises(lazyrt.InputError):
            program(torch.randn(7, 9, 8))


def test_forms_of_dynamic(tmp_path):
    class Pair(nn.Module):
        def forward(self, x, past):
            return x.sum(1) + past["keys"][0].sum(1)

    args = (torch.randn(2, 6, 4), {"keys": [torch.randn(2, 12, 4)]})
    batch, pages = torch.export.Dim("batch", min=1, max=4), torch.export.Dim("pages", min=1, max=5)
    dynamic = ({0: batch, 1: 3 * pages}, {"keys": [(batch, ("n", 2, 20), None)]})
    report = lazyrt.export(Pair(), args, tmp_path / "m.lzb", dynamic=dynamic)
    program = lazyrt.load(tmp_path / "m.lzb")
    assert program.symbols == {"batch": (1, 4, 1), "pages": (1, 5, 1), "n": (2, 20, 1)}, report
    x, key = torch.randn(4, 9, 4), torch.randn(4, 20, 4)
    torch.testing.assert_close(program(x, {"keys": [key]}), x.sum(1) + key.sum(1))
    with pytest.raises(lazyrt.InputError, match="3\\*pages"):
        program(torch.randn(4, 10, 4), {"keys": [key]})


N = torch.export.Dim("n", min=1, max=40)


@pytest.mark.parametrize("dynamic", [
    pytest.param({"x": {0: N}, "y": {0: 2 * N + 1}}, id="Dim"),
    pytest.param(({0: N}, (2 * N + 1, None)), id="by position"),
    pytest.param({"x": {0: "n"}, "y": {0: ("2*n + 1", 1, 40)}}, id="text"),
    pytest.param({"y": {0: "2*n+1"}, "x": {0: ("n", 1, 40)}}, id="the other one first"),
])
def test_a_size_that_follows_from_another(dynamic, tmp_path):
    class Middles(nn.Module):
        def forward(self, x, y):
            return y.unfold(0, 3, 2).mean(-1) + x, y.shape[0] * y

    model = Middles()
    report = lazyrt.export(model, (torch.randn(7, 4), torch.randn(15, 4)), tmp_path / "m.lzb", dynamic=dynamic)
    for backend in ("cpu", "reference"):
        program = lazyrt.load(tmp_path / "m.lzb", backend=backend)
        assert program.symbols == {"n": (1, 40, 1)}, report
        assert [info.symbols for info in program.inputs] == [("n", None), ("2*n + 1", None)]
        for n in (1, 2, 40, 13, 7):
            x, y = torch.randn(n, 4), torch.randn(2 * n + 1, 4)
            for ours, eager in zip(program(x, y), model(x, y)):
                torch.testing.assert_close(ours, eager)
        with pytest.raises(lazyrt.InputError, match="'y' dim 0.* 8, which is 2\\*n \\+ 1 of no 'n'"):
            program(torch.randn(3, 4), torch.randn(8, 4))
        with pytest.raises(lazyrt.InputError, match="'y' dim 0 is 9 = 2\\*n \\+ 1, 'n' is 3 by input 'x'"):
            program(torch.randn(3, 4), torch.randn(9, 4))
        with pytest.raises(lazyrt.InputError, match="83 = 2\\*n \\+ 1: 'n' is 41, allowed are 1 to 40"):
            program(torch.randn(40, 4), torch.randn(83, 4))


def test_sizes_that_follow_from_none_that_is_there(tmp_path):
    lazyrt.export(lambda x, y: (x.sum(0) + y.sum(0)) * x.shape[0], (torch.randn(8, 4), torch.randn(22, 4)), tmp_path / "m.lzb",
                  dynamic={"x": {0: ("n - 2", 1, 40)}, "y": {0: "2*n + 2"}})
    program = lazyrt.load(tmp_path / "m.lzb")
    assert program.symbols == {"n": (3, 40, 1)}
    x, y = torch.randn(1, 4), torch.randn(8, 4)
    torch.testing.assert_close(program(x, y), x.sum(0) + y.sum(0))


def test_names_are_bounded_by_samples(tmp_path):
    lazyrt.export(lambda x: x * x.shape[0], [(torch.ones(2),), (torch.ones(7),)], tmp_path / "m.lzb", dynamic={"x": {0: "n"}})
    program = lazyrt.load(tmp_path / "m.lzb")
    assert program.symbols == {"n": (2, 7, 1)}
    assert program(np.ones(5, "float32")).tolist() == [5.0] * 5


class Turned(nn.Module):
    def forward(self, x):
        if x.shape[0] > x.shape[1]:
            x = x.t()
        return x.mean(0)


def test_two_sizes_that_are_compared_are_refused_with_the_reason(tmp_path):
    with pytest.raises(lazyrt.ExportError) as found:
        lazyrt.export(Turned(), (torch.randn(16, 24),), tmp_path / "m.lzb", dynamic={"x": {0: ("h", 8, 64), 1: ("w", 8, 64)}})
    text = str(found.value)
    assert "test_sizes.py:" in text and "depends on several sizes together" in text and "a bundle for each path" in text, text


class Heads(nn.Module):
    def forward(self, x):
        b, n = x.shape[:2]
        parts = x.reshape(b * n, 2, 4).view(b, n, 2, 4).transpose(1, 2)
        return (parts @ parts.transpose(-1, -2)).softmax(-1).sum(1).reshape(b * n, n)


@pytest.mark.parametrize("batch, rows", [((1, 2, 2), (1, 40, 9)), ((1, 2, 1), (1, 2, 2)), ((1, 40, 9), (1, 2, 2)), ((1, 1, 1), (2, 3, 2))])
def test_ranges_of_few_sizes(batch, rows, tmp_path):
    dims = {"x": {0: ("batch", *batch[:2]), 1: ("rows", *rows[:2])}}
    check_sizes(Heads(), lambda batch, rows: (torch.randn(batch, rows, 8),), {"batch": batch, "rows": rows}, dims, tmp_path / "m.lzb")


class ByValue(nn.Module):
    """Another path for other values."""

    def forward(self, x):
        return x * 2 if x.sum() < 1000 else x * 3


def test_samples_are_compared_beside_other_sizes(tmp_path):
    def calls_of(*samples):
        report = lazyrt.export(lambda x: x * 2, [(x,) for x in samples], tmp_path / "m.lzb", dynamic={"x": {0: ("n", 1, 99)}}, check="sample")
        return report.to_json()["checked"]["calls"]

    assert calls_of(torch.ones(4, 2), torch.rand(61, 2), torch.rand(4, 2)) == calls_of(torch.ones(4, 2)) + 3  # at 61 one is stretched, the other given


def test_a_sample_that_the_bundle_refuses_fails(tmp_path):
    with pytest.raises(lazyrt.ExportError, match="the bundle refuses sample 1"):
        lazyrt.export(ByValue(), [(torch.ones(4),), (torch.ones(5) * 1000,)], tmp_path / "m.lzb", dynamic={"x": {0: "n"}})
    assert not list(tmp_path.iterdir())
    lazyrt.export(ByValue(), [(torch.ones(4),), (torch.ones(5) * 7,)], tmp_path / "m.lzb", dynamic={"x": {0: "n"}})


@pytest.mark.parametrize("samples, text", [
    ([(torch.ones(2, 3),), (torch.ones(4, 5),)], "dim 1 is 3 in sample 0 and 5 in sample 1"),
    ([(torch.ones(2, 3),), (torch.ones(4, 3).double(),)], "of sample 1 is torch.float64"),
    ([(torch.ones(2, 3),), (torch.ones(4),)], "has 2 dims in sample 0, and 1 in sample 1"),
    ([(torch.ones(2, 3), 1), (torch.ones(4, 3), 2)], "'k' is fixed, and sample 1 has another value"),
])
def test_samples_that_differ_otherwise_are_refused(samples, text, tmp_path):
    with pytest.raises(lazyrt.Error, match=text):
        lazyrt.export(lambda x, k=1: x * k, samples, tmp_path / "m.lzb", dynamic={"x": {0: "n"}})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("dynamic, text", [
    ({"y": {0: ("n", 1, 4)}}, "which is not an input"),
    ({"x": {3: ("n", 1, 4)}}, "has no dim 3"),
    ({"x": {0: "n"}}, "no upper bound"),
    ({"x": {0: ("n", 3, 9)}}, "is 2 in the sample"),
    ({"x": {0: ("n", 1, 9), 1: "n"}}, "'n' is 2 in dim 0"),
    ({"x": {0: 2.5}}, "is neither a name"),
    ({"x": {0: ("n", 1, 9), 1: "2*n"}}, "dim 1 is 3, which is 2\\*n of no 'n'"),
    ({"x": {0: ("0*n", 1, 9)}}, "factor has to be 1"),
    ({"x": {0: ("n", 1, 9), 1: "2*n + 1"}}, "'n' is 2 in dim 0 of 'x' and 1 in dim 1"),
    ({"x": {}}, "names no dim"),
    ({"x": ("n",)}, "2 dims"),
    ("x", "has to be a dict"),
    ({"x": {0: ("n", 1, 4), -2: ("m", 1, 4)}}, "names dim 0 of input 'x' twice"),
    ({"x": {0: ("n", 1, 4, 0)}}, "has to be 1 or more"),
    ({"x": {0: ("n", 1, 2**40)}}, "larger than 4 GiB"),
    ({"x": {0: ("", 1, 4)}}, "is empty"),
])
def test_what_dynamic_refuses(dynamic, text, tmp_path):
    with pytest.raises(lazyrt.InputError, match=text):
        lazyrt.export(lambda x: x * 2, (torch.ones(2, 3),), tmp_path / "m.lzb", dynamic=dynamic)
    assert not list(tmp_path.iterdir())


def test_multiples_are_found(tmp_path):
    class Halving(nn.Module):
        def forward(self, x):
            y = F.max_pool1d(x, 4)
            return x + F.interpolate(y, scale_factor=4)

    report = check_sizes(Halving(), lambda n: (torch.randn(1, 2, n),), {"n": (8, 60, 16, 4)}, {"x": {2: ("n", 5, 62)}}, tmp_path / "m.lzb")
    assert "'n' has to be a multiple of 4, from 8 to 60" in str(report)
    with pytest.raises(lazyrt.InputError, match="'n' is 10, allowed are 8 to 60 in multiples of 4"):
        lazyrt.load(tmp_path / "m.lzb")(torch.randn(1, 2, 10))


def test_hints_of_torch_export(tmp_path):
    """Dim.DYNAMIC and Dim.AUTO have no name, and those that have to be the same become one."""
    Dim = torch.export.Dim
    dynamic = {"x": {0: Dim.DYNAMIC(min=2, max=9), 1: Dim.STATIC}, "y": (Dim.AUTO(max=8), None)}
    report = lazyrt.export(lambda x, y: x + y, (torch.ones(4, 3), torch.ones(4, 3)), tmp_path / "m.lzb", dynamic=dynamic)
    program = lazyrt.load(tmp_path / "m.lzb")
    assert program.symbols == {"x.0": (2, 8, 1)} and "'y.0' and 'x.0' have to be the same size" in str(report), report
    assert program(torch.ones(8, 3), torch.ones(8, 3)).tolist() == [[2.0] * 3] * 8
    with pytest.raises(lazyrt.InputError, match="x.0"):
        program(torch.ones(8, 3), torch.ones(7, 3))
    with pytest.raises(lazyrt.InputError, match="no upper bound"):
        lazyrt.export(lambda x: x * 2, (torch.ones(4, 3),), tmp_path / "n.lzb", dynamic={"x": {0: Dim.AUTO}})


class Tables(nn.Module):
    """Keeps a table for each size that it has seen, and the longest of another kind."""

    def __init__(self):
        super().__init__()
        self.tables, self.longest = {}, torch.arange(1.0)

    def forward(self, x):
        n = len(x)
        if n not in self.tables:
            self.tables[n] = torch.ones(n, n).tril()
        if n > len(self.longest):
            self.longest = torch.arange(float(n))
        return self.tables[n] @ x + self.longest[:n, None]


def test_tables_that_the_program_keeps_of_sizes(tmp_path):
    check_sizes(Tables(), lambda n: (torch.randn(n, 2),), {"n": (1, 30, 5)}, {"x": {0: ("n", 1, 30)}}, tmp_path / "m.lzb", backends=("cpu",))


def test_a_size_that_the_program_asks_for(tmp_path):
    def body(x):
        return x * 2 if x.shape[0] == 53 else x

    lazyrt.export(body, (torch.rand(4, 4),), tmp_path / "m.lzb", dynamic={"x": {0: ("n", 1, 120)}})
    program = lazyrt.load(tmp_path / "m.lzb")
    for n in (1, 51, 52, 53, 54, 120):
        x = torch.rand(n, 4)
        torch.testing.assert_close(program(x), body(x), msg=lambda m: f"n={n}: {m}")


def test_sizes_beyond_what_the_program_takes(tmp_path):
    with pytest.raises(lazyrt.ExportError, match="does not take all sizes.*at seq=100: IndexError"):
        lazyrt.export(Encoder().eval(), (torch.randint(0, 50, (1, 9)),), tmp_path / "m.lzb", dynamic={"ids": {1: ("seq", 1, 100)}})


@pytest.mark.parametrize("body, text", [
    pytest.param(lambda x: functools.reduce(lambda y, i: y + y.roll(i), range(x.shape[0]), x), "not the same at n=", id="as many steps as elements"),
    pytest.param(lambda x: [x * i for i in range(x.shape[0])], "nested differently", id="as many results as steps"),
    pytest.param(lambda x: x * torch.from_numpy(np.sin(np.arange(x.shape[0]) * x.shape[0])), "not a part of the largest one", id="a table of each size"),
    pytest.param(lambda x: x * math.sin(x.shape[0]), "no simple formula", id="a number that no formula gives"),
])
def test_what_cannot_vary(body, text, tmp_path):
    with pytest.raises(lazyrt.ExportError, match=text):
        lazyrt.export(body, (torch.ones(4),), tmp_path / "m.lzb", dynamic={"x": {0: ("n", 1, 40)}})
    assert not list(tmp_path.iterdir())


class Written(nn.Module):
    """A buffer that only long inputs change."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        if x.shape[0] > 10:
            self.mean = self.mean * 0.5 + x.mean(0)
        return x - self.mean


def two_symbols(x):
    y = x * 2 if x.shape[0] > 20 else x
    return F.pad(y, (0, 32 - x.shape[1])) if x.shape[1] < 32 else y[:, :32]


@pytest.mark.parametrize("body, variants", [
    pytest.param(lambda x: x * 2 if x.shape[0] < 10 else x.sin(), 2, id="another path"),
    pytest.param(lambda x: x * 2 if x.shape[0] > 1 else x * 3, 2, id="another number at 1"),
    pytest.param(lambda x: x.mean(0, keepdim=True) if x.shape[0] == 1 else x - x.mean(0), 2, id="another path at 1"),
    pytest.param(lambda x: x * (0.25 if x.shape[0] > 17 else 0.75), 2, id="another number"),
    pytest.param(lambda x: x * 2 if 5 <= x.shape[0] < 30 else x.sum(0, keepdim=True) + x, 3, id="a path in the middle"),
    pytest.param(lambda x: functools.reduce(lambda y, i: y + y.roll(2**i, 0), range(x.shape[0].bit_length() - 1), x), 6, id="powers of two"),
    pytest.param(lambda x: (x * 2 if bool(x.sum() > 0) else x * 3) if x.shape[0] > 10 else x + 1, 2, id="with a guard"),
    pytest.param(Written(), 2, id="with a state"),
    pytest.param(two_symbols, 4, id="of two symbols"),
])
def test_paths_become_ranges(body, variants, tmp_path):
    state = {name: buffer.clone() for name, buffer in body.named_buffers()} if isinstance(body, nn.Module) else {}
    sizes = {"n": (1, 40, 4), "m": (1, 40, 4)}
    report = lazyrt.export(body, (torch.rand(4, 4),), tmp_path / "m.lzb", dynamic=({0: ("n", 1, 40), **({1: ("m", 1, 40)} if body is two_symbols else {})},))
    draw = random.Random(2)
    for backend in ("cpu", "reference"):
        program = lazyrt.load(tmp_path / "m.lzb", backend=backend)
        assert program.variants == variants, report
        if state:
            body.load_state_dict(state)
        for n in [*range(1, 41), *(draw.randint(1, 40) for _ in range(10))]:
            x = torch.rand(n, draw.randint(*sizes["m"][:2]) if body is two_symbols else 4)
            torch.testing.assert_close(program(x), body(x), rtol=1e-4, atol=1e-4, msg=lambda m: f"n={n}: {m}")


class Base(nn.Module):
    """Keeps the size of its first call."""

    base = None

    def forward(self, x):
        if self.base is None:
            self.base = len(x)
        return x * (len(x) / self.base)


class Longest(nn.Module):
    longest = 1

    def forward(self, x):
        self.longest = max(self.longest, len(x))
        return x / self.longest


class Seen(nn.Module):
    seen = False

    def forward(self, x):
        self.seen = self.seen or len(x) > 6
        return x * 2 if self.seen else x


class Weights(nn.Module):
    weights = None

    def forward(self, x):
        if self.weights is None:
            self.weights = torch.full((2,), 1 / len(x))
        return x * self.weights


class Memoised(nn.Module):
    """What its first call keeps is the same at all sizes."""

    table = None

    def forward(self, x):
        if self.table is None:
            self.table = torch.arange(2.0)
        return x + self.table


@pytest.mark.parametrize("model", [Base, Longest, Seen, Weights])
def test_what_the_program_keeps_of_sizes_is_refused(model, tmp_path):
    with pytest.raises(lazyrt.ExportError, match="at n=.*changes what its later calls do"):
        lazyrt.export(model(), (torch.ones(4, 2),), tmp_path / "m.lzb", dynamic={"x": {0: ("n", 2, 8)}})


def test_what_the_first_call_keeps_may_be_the_same_at_all_sizes(tmp_path):
    report = check_sizes(Memoised(), lambda n: (torch.randn(n, 2),), {"n": (2, 8, 4)}, {"x": {0: ("n", 2, 8)}}, tmp_path / "m.lzb")
    assert report.verdict == "SOUND"


def test_errors_of_a_call_name_symbol_and_bound(tmp_path):
    lazyrt.export(lambda x: x * 2, (torch.ones(2, 3),), tmp_path / "m.lzb", dynamic={"x": {0: ("rows", 1, 4)}})
    program = lazyrt.load(tmp_path / "m.lzb")
    assert repr(program.inputs[0]) == "x: f32[rows, 3]"
    with pytest.raises(lazyrt.InputError, match="'rows' is 5.*1 to 4"):
        program(torch.ones(5, 3))
    for wrong in (torch.ones(2, 4), torch.ones(3), torch.ones(2, 3, 1)):
        with pytest.raises(lazyrt.InputError, match="rows, 3"):
            program(wrong)
    assert program(torch.ones(4, 3)).shape == (4, 3)


def test_numbers_of_sizes_among_the_results(tmp_path):
    class Lengths(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 4)

        def forward(self, x):
            n = x.shape[0]
            y = self.layer(x)
            return {"y": y, "n": n, "half": n / 2, "three": 3, "flag": True, "blocks": (n + 6) // 7, "shape": y.shape, "bounds": [0, n - 1, (n, 1.5)]}

    model, bundle = Lengths().eval(), tmp_path / "lengths.lzb"
    lazyrt.export(model, (torch.randn(5, 8),), bundle, dynamic={"x": {0: ("n", 1, 64)}})
    program = lazyrt.load(bundle)
    for n in (1, 2, 5, 37, 64):
        with torch.no_grad():
            x = torch.randn(n, 8)
            ours, eager = program(x), model(x)
        assert torch.allclose(ours.pop("y"), eager.pop("y"), 1e-5, 1e-6)
        assert repr(ours) == repr(eager)
