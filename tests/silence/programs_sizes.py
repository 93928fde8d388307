"""Programs whose extents vary: every call is made at sizes within the bounds, the ends among them."""

import functools
import math
import random

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from harness import sized
from sized_inputs import BN, HW, IMAGE, LONG, N, REFUSED, TWO, X0, X2, apply, image, row, rows, wave


# ---------------------------------------------------------------- numbers of sizes

@sized(row, N, X0)
@apply
def bit_length_of_sizes(x):
    return F.pad(x, (0, 0, 0, (1 << (x.shape[0] - 1).bit_length()) - x.shape[0]))


@sized(row, {"n": (1, 2000, 40)}, X0, also=[299, 300, 599, 600, 1800])
@apply
def large_steps(x):
    return x[: x.shape[0] // 300 + 1]


@sized(row, LONG, X0, expect=REFUSED)
@apply
def three_decimals(x):
    return x[: int(x.shape[0] * 0.123) + 1]


@sized(row, LONG, X0)
@apply
def two_roundings(x):
    n = x.shape[0]
    return x[int(n * 0.1): int(n * 0.1) + round(n * 0.25) + 1]


@sized(row, LONG, X0)
@apply
def halves_to_even(x):
    """round(0.25 * n) + 1 is (n + 6) // 4 at three of four sizes."""
    return x[: round(x.shape[0] * 0.25) + 1]


@sized(row, N, X0)
@apply
def square_root_of_a_size(x):
    return x[: math.isqrt(x.shape[0])]


@sized(row, N, X0)
@apply
def temperature(x):
    n = x.shape[0]
    return (x @ x.T / math.sqrt(n) * (1 + math.log(n))).softmax(-1)


@sized(row, N, X0)
@apply
def a_ratio(x):
    n = x.shape[0]
    return x * (n / (n + 1)) + (n - 1) / (2 * n + 3)


@sized(row, N, X0, expect=REFUSED)
@apply
def powers(x):
    n = x.shape[0]
    return x * n ** -0.25 + n ** 1.5 + 0.9 ** n


@sized(row, N, X0, expect=REFUSED)
@apply
def first_digit(x):
    return x * int(str(x.shape[0])[0])


@sized(row, {"n": (2, 9, 4)}, X0, expect=REFUSED)
@apply
def factorials(x):
    return x / math.factorial(x.shape[0])


@sized(rows, TWO, BN, expect=REFUSED)
@apply
def of_two_sizes(x):
    b, n = x.shape[:2]
    return x / math.sqrt(b * n) + b / n + x.numel()


@sized(row, N, X0, expect=REFUSED)
@apply
def lists_of_sizes(x):
    n = x.shape[0]
    shape = [2, n // 2, 8] if n % 2 == 0 else [1, n, 8]
    return x.reshape(shape).sum(0)


@sized(row, N, X0)
@apply
def sizes_in_tensors(x):
    n = x.shape[0]
    return x * torch.tensor([1.0, n, n / 2, n * n, 1 / n, n % 7, -n, n // 3])


@sized(row, N, X0, expect=REFUSED)
@apply
def quantiles(x):
    return torch.quantile(x, 0.3, dim=0), x.median(0).values, x.kthvalue((x.shape[0] + 1) // 2, 0).values


@sized(row, {"n": (2, 64, 9)}, X0, expect=REFUSED)
@apply
def statistics(x):
    return x.std(0), x.var(0), torch.cov(x.T), F.layer_norm(x, x.shape), x.logsumexp(0)


@sized(lambda n: (torch.randn(n, 8), torch.randint(0, 8, (n,))), N, {"x": {0: "n"}, "y": {0: "n"}}, expect=REFUSED)
@apply
def losses(x, y):
    return F.cross_entropy(x, y), F.mse_loss(x, x.flip(0)), F.cross_entropy(x, y, label_smoothing=0.1)


# ---------------------------------------------------------------- tables, masks, positions

@sized(rows, TWO, BN)
def position_buckets():
    """T5's relative positions."""
    bias = nn.Embedding(32, 2)

    def program(x):
        n = x.shape[1]
        relative = torch.arange(n)[None, :] - torch.arange(n)[:, None]
        buckets = (relative > 0).long() * 16
        relative = relative.abs()
        large = 8 + (torch.log(relative.float().clamp(min=1) / 8) / math.log(128 / 8) * 8).long()
        buckets = buckets + torch.where(relative < 8, relative, torch.min(large, torch.full_like(large, 15)))
        q = x.unflatten(2, (2, 4)).transpose(1, 2)
        return ((q @ q.transpose(2, 3) + bias(buckets).permute(2, 0, 1)).softmax(-1) @ q).transpose(1, 2).flatten(2)

    return program


@sized(rows, TWO, BN)
@apply
def slopes_by_distance(x):
    n = x.shape[1]
    places = torch.arange(n)
    slopes = torch.tensor([2 ** (-8 * (i + 1) / 2) for i in range(2)])
    bias = -(places[None] - places[:, None]).abs()[None] * slopes[:, None, None]
    q = x.unflatten(2, (2, 4)).transpose(1, 2)
    return (q @ q.transpose(2, 3) + bias).softmax(-1)


@sized(rows, TWO, BN)
@apply
def sliding_window(x):
    n = x.shape[1]
    i = torch.arange(n)
    mask = ((i[:, None] - i[None, :]).abs() <= 4) & (i[None, :] <= i[:, None])
    return F.scaled_dot_product_attention(x, x, x, attn_mask=mask)


@sized(rows, TWO, BN)
def cached_tables():
    @functools.lru_cache
    def table(n):
        angles = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, 8, 2) / 8)
        return torch.cat([angles.sin(), angles.cos()], 1)

    return lambda x: x + table(x.shape[1])


@sized(rows, TWO, BN, expect=REFUSED)
def a_dict_of_tables():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tables = {}

        def forward(self, x):
            n = x.shape[1]
            if n not in self.tables:
                self.tables[n] = torch.linspace(0, 1, n)
            return x * self.tables[n][:, None]

    return Model()


@sized(rows, TWO, BN)
def a_table_that_grows():
    class Rotary(nn.Module):
        def __init__(self):
            super().__init__()
            self.longest = 0

        def forward(self, x):
            n = x.shape[1]
            if n > self.longest:
                self.longest = n
                self.table = torch.arange(n)[:, None] * 0.5 ** torch.arange(8)
            return x * self.table[:n].cos()

    return Rotary()


@sized(rows, TWO, BN)
def a_table_of_the_last_size():
    class Model(nn.Module):
        last, mask = None, None

        def forward(self, x):
            if self.last != x.shape[1]:
                self.last, self.mask = x.shape[1], torch.full((x.shape[1], x.shape[1]), float("-inf")).triu(1)
            return (x @ x.transpose(1, 2) + self.mask).softmax(-1) @ x

    return Model()


@sized(row, {"n": (1, 200, 40)}, X0, also=[64, 65, 63], expect=REFUSED)
@apply
def stretched_rotary(x):
    """Rotary positions with another base for long inputs (NTK)."""
    n = x.shape[0]
    base = 10000.0 if n <= 64 else 10000.0 * (2 * n / 64 - 1) ** (8 / 6)
    angles = torch.outer(torch.arange(n), 1 / base ** (torch.arange(0, 8, 2) / 8)).repeat(1, 2)
    return x * angles.cos() + torch.cat([-x[:, 4:], x[:, :4]], 1) * angles.sin()


@sized(image, IMAGE, HW, expect=REFUSED)
def resized_positions():
    """A learned grid of positions, resized to the grid of the image (ViT)."""
    patches, grid = nn.Conv2d(3, 8, 8, 8), torch.randn(1, 8, 7, 7)

    def program(x):
        y = patches(x)
        y = y + F.interpolate(grid, size=y.shape[2:], mode="bicubic", align_corners=False)
        return y.flatten(2).transpose(1, 2)

    return program


@sized(image, IMAGE, HW)
@apply
def sine_grid(x):
    h, w = x.shape[2:]
    y, z = torch.meshgrid(torch.arange(h) / h, torch.arange(w) / w, indexing="ij")
    return x * (y * 6.28).sin() + (z * 6.28).cos()


@sized(image, {"h": (8, 20, 10), "w": (8, 20, 12)}, HW)
@apply
def relative_index(x):
    """Swin's table of relative places."""
    h, w = x.shape[2:]
    coords = torch.stack(torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")).flatten(1)
    relative = (coords[:, :, None] - coords[:, None, :]).permute(1, 2, 0)
    relative = (relative[..., 0] + h - 1) * (2 * w - 1) + relative[..., 1] + w - 1
    return relative.float().mean(1).view(1, 1, h, w) + x


@sized(image, IMAGE, HW)
@apply
def cumulated_mask(x):
    mask = torch.ones(x.shape[0], *x.shape[2:], dtype=torch.bool)
    y, z = mask.cumsum(1, dtype=torch.float32), mask.cumsum(2, dtype=torch.float32)
    return x + (y / (y[:, -1:] + 1e-6))[:, None] * 6.28 - (z / (z[:, :, -1:] + 1e-6))[:, None]


@sized(lambda b, n: (torch.randn(b, n, 8), torch.randint(1, n + 1, (b,))), TWO, {"x": {0: "b", 1: "n"}, "lengths": {0: "b"}})
@apply
def padding_mask(x, lengths):
    mask = torch.arange(x.shape[1])[None] < lengths[:, None]
    return (x * mask[..., None]).sum(1) / lengths[:, None], x.masked_fill(~mask[..., None], -1e9).max(1).values


@sized(row, N, X0)
@apply
def python_lists(x):
    n = x.shape[0]
    weights = torch.tensor([i * 0.5 for i in range(n)])
    return x * weights[:, None] + torch.tensor([[float(i)] * 8 for i in range(n)]), x[list(range(0, n, 3))], x[list(reversed(range(n)))]


@sized(row, N, X0, expect=REFUSED)
@apply
def shuffled_list(x):
    order = list(range(x.shape[0]))
    random.Random(3).shuffle(order)
    return x[order]


@sized(row, N, X0, expect=REFUSED)
@apply
def numpy_windows(x):
    return x * torch.from_numpy(np.hanning(x.shape[0])).float()[:, None]


@sized(row, {"n": (2, 64, 9)}, X0, expect=REFUSED)
@apply
def windows_of_torch(x):
    n = x.shape[0]
    return x * torch.hann_window(n)[:, None] + torch.hamming_window(n, periodic=False)[:, None]


@sized(row, N, X0, expect=REFUSED)
@apply
def triangle_of_pairs(x):
    i, j = torch.triu_indices(x.shape[0], x.shape[0], 0)
    return x[i] * x[j]


@sized(row, N, X0, expect=REFUSED)
@apply
def a_table_with_an_odd_one(x):
    n = x.shape[0]
    table = torch.arange(n, dtype=torch.float32)
    if n % 9 == 4:
        table = table.flip(0)
    return x * table[:, None]


@sized(row, {"n": (2, 64, 9)}, X0, expect=REFUSED)
@apply
def seeded_table(x):
    return x * torch.rand(x.shape[0], 1, generator=torch.Generator().manual_seed(3))


# ---------------------------------------------------------------- windows, pooling, sampling

@sized(wave, {"n": (16, 200, 64)}, X2)
@apply
def short_time_fourier(x):
    return torch.stft(x.flatten(0, 1), 16, 4, window=torch.hann_window(16), return_complex=True).abs()


@sized(row, {"n": (1, 40, 16)}, X0, expect=REFUSED)
@apply
def whole_fourier(x):
    return torch.fft.rfft(x, dim=0).abs()


@sized(wave, {"n": (8, 64, 20)}, X2, expect=REFUSED)
@apply
def adaptive_pools(x):
    return F.adaptive_avg_pool1d(x, 5), F.adaptive_max_pool1d(x, 3)


@sized(wave, {"n": (8, 64, 20)}, X2, expect=REFUSED)
@apply
def pooled_by_size(x):
    return F.avg_pool1d(x, x.shape[2] // 4), F.max_pool1d(x, x.shape[2])


@sized(image, IMAGE, HW)
def pyramid():
    """Pools to grids of several sizes (PSP), brought back."""
    convs = nn.ModuleList(nn.Conv2d(3, 2, 1) for _ in range(3))

    def program(x):
        y = [F.interpolate(conv(F.adaptive_avg_pool2d(x, side)), size=x.shape[2:], mode="bilinear", align_corners=False)
             for conv, side in zip(convs, (1, 2, 4))]
        return torch.cat([x, *y], 1)

    return program


@sized(wave, {"n": (4, 64, 20)}, X2)
@apply
def resampled(x):
    return F.interpolate(x, scale_factor=0.37), F.interpolate(x, size=20, mode="linear"), F.interpolate(x, scale_factor=1.5, mode="linear", align_corners=True)


@sized(image, IMAGE, HW, expect=REFUSED)
@apply
def antialiased(x):
    return F.interpolate(x, size=(24, 24), mode="bilinear", antialias=True)


@sized(wave, {"n": (8, 64, 20)}, X2)
@apply
def reflected(x):
    n = x.shape[2]
    return F.pad(x, (n // 4, n // 4), mode="reflect"), F.pad(x, (1, n % 3), mode="replicate"), F.pad(x, (2, 0), mode="circular")


@sized(row, N, X0)
@apply
def windows_unfolded(x):
    n = x.shape[0]
    x = F.pad(x, (0, 0, 2, 2 + -n % 4))
    return x.unfold(0, 5, 1).mean(-1), x.unfold(0, 4, 4).sum(-1)


@sized(image, IMAGE, HW, expect=REFUSED)
@apply
def grid_sampled(x):
    theta = torch.tensor([[[0.9, 0.1, 0.0], [-0.1, 0.9, 0.2]]])
    return F.grid_sample(x, F.affine_grid(theta, x.shape, align_corners=False), align_corners=False)


@sized(image, IMAGE, HW)
def odd_strides():
    first, second = nn.Conv2d(3, 6, 3, 2, 1), nn.ConvTranspose2d(6, 3, 2, 2)

    def program(x):
        y = second(first(x))
        return y[:, :, : x.shape[2], : x.shape[3]] + x

    return program


@sized(row, N, X0, expect=REFUSED)
@apply
def chunks(x):
    return torch.cat([part.mean(0, keepdim=True) for part in x.chunk(4)])


@sized(row, N, X0)
@apply
def loops_over_parts(x):
    return torch.cat([x[i: i + 16].cumsum(0) for i in range(0, x.shape[0], 16)])


@sized(row, N, X0)
@apply
def differences(x):
    return x[1:] - x[:-1], torch.diff(x, dim=0).abs().sum(), x[1:].mean(0)


@sized(row, {"n": (3, 64, 9)}, X0)
@apply
def split_in_three(x):
    a, b, c = x.tensor_split(3)
    return a.sum(0), b.sum(0) * 2, torch.cat([c, a])


@sized(row, N, X0)
@apply
def rolled(x):
    n = x.shape[0]
    return x.roll(n // 2, 0), x.flip(0), x.repeat_interleave(2, 0), x.tile(3, 1), torch.diag(x @ x.T), (x @ x.T).diagonal(n // 3)


@sized(row, {"n": (2, 64, 9)}, X0)
@apply
def chosen(x):
    k = max(1, x.shape[0] // 3)
    values, places = x.topk(k, 0)
    return values, x.gather(0, places), x.argsort(0)[:k]


# ---------------------------------------------------------------- states, guards, results

@sized(rows, TWO, BN)
def ring_of_frames():
    class Ring(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("frames", torch.zeros(16, 8))

        def forward(self, x):
            self.frames = torch.cat([self.frames, x.mean(0)])[-16:]
            return self.frames.mean(0) + x

    return Ring()


@sized(lambda n: (torch.randn(1, n, 8),), {"n": (1, 16, 5)}, {"x": {1: "n"}})
def cache_written_at_the_front():
    class Cache(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("cache", torch.zeros(1, 16, 8))
            self.register_buffer("seen", torch.zeros((), dtype=torch.int64))

        def forward(self, x):
            self.cache[:, : x.shape[1]] = x
            self.seen += x.shape[1]
            return (x @ self.cache.transpose(1, 2)).softmax(-1) @ self.cache, self.seen

    return Cache()


@sized(row, N, X0, expect=REFUSED)
def carry_as_large_as_the_batch():
    class Carry(nn.Module):
        kept = None

        def forward(self, x):
            if self.kept is None or self.kept.shape != x.shape:
                self.kept = torch.zeros_like(x)
            self.kept = (x + self.kept).tanh()
            return self.kept * 2

    return Carry()


@sized(row, N, X0, expect=REFUSED)
def buffer_that_takes_the_shape_of_the_input():
    class Carry(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("kept", torch.zeros(1, 8))

        def forward(self, x):
            self.kept = x + self.kept.mean(0)
            return self.kept * 2

    return Carry()


@sized(rows, {"b": (1, 4, 2), "n": (1, 12, 3)}, BN, expect=REFUSED)
def cache_that_grows():
    """Keys and values of all calls so far, of a batch that the first call says."""
    class Cache(nn.Module):
        keys = None

        def forward(self, x):
            fits = self.keys is not None and self.keys.shape[0] == x.shape[0]
            self.keys = torch.cat([self.keys, x], 1)[:, -64:] if fits else x
            return F.scaled_dot_product_attention(x, self.keys, self.keys)

    return Cache()


@sized(rows, TWO, BN)
def position_counted():
    class Positions(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("start", torch.zeros((), dtype=torch.int64))

        def forward(self, x):
            places = self.start + torch.arange(x.shape[1])
            self.start += x.shape[1]
            return x + places[:, None]

    return Positions()


@sized(row, N, X0)
@apply
def guard_of_size(x):
    return x * 2 if bool((x > 0).sum() >= x.shape[0]) else x * 3


@sized(lambda n: (torch.rand(n, 8),), N, X0)
@apply
def guard_and_ranges(x):
    if x.shape[0] > 20:
        return x * 2 if bool(x.sum() > 0) else x * 3
    return x + 1 if bool(x.min() >= 0) else x - 1


@sized(row, N, X0)
@apply
def named_results(x):
    n = x.shape[0]
    return {"rows": x * 2, "half": x[: n // 2 + 1], "scores": (x @ x.T, x.sum())}


@sized(row, N, X0, expect=REFUSED)
@apply
def text_of_a_size(x):
    return {"x": x * 2, "note": f"{x.shape[0]} rows"}


@sized(row, N, X0, expect=REFUSED)
@apply
def size_as_a_result(x):
    return x.sum(), x.shape[0]


@sized(row, N, X0)
@apply
def size_as_a_tensor(x):
    return x.sum(), torch.tensor(x.shape), torch.tensor(x.shape[0] / 2)


@sized(row, N, X0, expect=REFUSED)
@apply
def tried_and_caught(x):
    """Another path at every third size: as many ranges as a bundle does not have."""
    try:
        return x.view(-1, 3, 8).sum(1)
    except RuntimeError:
        return x


@sized(rows, TWO, BN)
def recurrent():
    rnn = nn.LSTM(8, 6, batch_first=True)
    return lambda x: rnn(x)[0] + rnn(x.flip(1), (torch.zeros(1, x.shape[0], 6), torch.ones(1, x.shape[0], 6)))[0]


@sized(rows, TWO, BN)
def transformer():
    layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True).eval()
    return lambda x: layer(x, x.flip(1), tgt_mask=nn.Transformer.generate_square_subsequent_mask(x.shape[1]), tgt_is_causal=True)


@sized(rows, TWO, BN)
def normed_over_everything():
    norm = nn.InstanceNorm1d(8)
    return lambda x: norm(F.pad(x, (0, 0, 0, 1)).transpose(1, 2))


@sized(image, {"h": (16, 48, 32), "w": (16, 48, 40)}, HW)
def attention_in_windows():
    """ViTDet: padded where needed, in windows of 6, cut again where it was padded."""
    patches, mix = nn.Conv2d(3, 8, 4, 4), nn.Linear(8, 24)

    def program(x):
        x = patches(x).permute(0, 2, 3, 1)
        b, h, w, c = x.shape
        down, right = (6 - h % 6) % 6, (6 - w % 6) % 6
        if down > 0 or right > 0:
            x = F.pad(x, (0, 0, 0, right, 0, down))
        tall, wide = h + down, w + right
        x = x.view(b, tall // 6, 6, wide // 6, 6, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 36, c)
        q, k, v = mix(x).chunk(3, -1)
        x = F.scaled_dot_product_attention(q, k, v)
        x = x.view(b, tall // 6, wide // 6, 6, 6, c).permute(0, 1, 3, 2, 4, 5).reshape(b, tall, wide, c)
        if tall > h or wide > w:
            x = x[:, :h, :w, :].contiguous()
        return x

    return program


@sized(row, N, X0, expect=("right",))
@apply
def windows(x):
    """Of one element all of them are 1."""
    n = x.shape[0]
    made = [torch.hann_window(n), torch.hann_window(n, periodic=False), torch.hamming_window(n, True, 0.5, 0.3), torch.blackman_window(n, False),
            torch.bartlett_window(n), torch.bartlett_window(n, False), torch.kaiser_window(n, False, 9.0), torch.linspace(-1, 2, n),
            torch.logspace(0, 1, n, base=2), torch.fft.fftfreq(n), torch.fft.rfftfreq(2 * n - 1, 0.1)]
    return torch.stack([x[:, 0] * w for w in made])


@sized(row, N, X0, expect=("right",))
@apply
def parts_longer_than_the_whole(x):
    """At one and two rows they are shorter."""
    return x[:2].sum(0), x[-3:] * 2, x.cumsum(0)[-2:], torch.cat([x, x[:3]]), x.topk(min(3, x.shape[0]), 0)[0]
