"""What is decided by numbers of sizes: which frame `linspace(0, n - 1, 64).long()` takes, which place of a window lies on the edge. The sample is a dummy (zeros, one
token again and again), which shows no difference."""

import numpy as np
import torch
import torch.nn.functional as F
from harness import sized
from sized_inputs import REFUSED
from torch import nn

X1 = {"x": {1: "n"}}
N = {"n": (8, 420, 40)}


def signal(n):
    return (torch.zeros(2, n) if n == 40 else torch.randn(2, n),)


def clip(n):
    return (torch.zeros(1, n, 8) if n == 40 else torch.randn(1, n, 8),)


def tokens(n):
    return (torch.ones(1, n, dtype=torch.int64) if n == 40 else torch.randint(0, 32, (1, n)),)


def at(arguments, *also, ranges=None, front="python"):
    return sized(arguments, ranges or N, X1, also=also, count=4, expect=("right",), front=front)


class Subsample(nn.Module):
    def __init__(self, count: int):
        super().__init__()
        self.count = count

    def forward(self, x):
        return torch.index_select(x, 1, torch.linspace(0, x.shape[1] - 1, self.count).long()) * 2


FRAMES = (148, 172, 184, 280, 288, 343, 100, 200)


@at(clip, *FRAMES)
def subsample_of_64_frames():
    return Subsample(64)


@at(clip, *FRAMES, front="torchscript")
def script_subsample_of_64_frames():
    return torch.jit.script(Subsample(64))


@at(clip, *FRAMES, front="pt2")
def pt2_subsample_of_64_frames():
    return Subsample(64)


@sized(lambda h, w: (torch.zeros(1, 3, h, w) if (h, w) == (64, 80) else torch.rand(1, 3, h, w),), {"h": (40, 300, 64), "w": (40, 300, 80)}, {"x": {2: "h", 3: "w"}},
       points=[{"h": 111, "w": 90}, {"h": 80, "w": 221}, {"h": 232, "w": 118}, {"h": 100, "w": 100}], also=[56, 235, 276], count=3)
def thumbnail_by_rows_and_columns():
    def program(x):
        h, w = x.shape[2:]
        return x[:, :, torch.linspace(0, h - 1, 100).long()][:, :, :, torch.linspace(0, w - 1, 100).long()] * 2 - 1

    return program


@sized(lambda n: (torch.zeros(1, n, 8) if n == 150 else torch.randn(1, n, 8),), {"n": (100, 420, 150)}, X1, also=[128, 140, 252, 256, 280, 200], count=4, expect=("right",))
def means_of_sixty_segments():
    def program(x):
        ends = torch.linspace(0, x.shape[1], 61).long()
        sums = F.pad(x.cumsum(1), (0, 0, 1, 0))
        return (sums[:, ends[1:]] - sums[:, ends[:-1]]) / (ends[1:] - ends[:-1])[:, None]

    return program


class PhaseAttention(nn.Module):
    def __init__(self, phases: int):
        super().__init__()
        self.phases = phases
        self.embed, self.bias, self.mix = nn.Embedding(32, 16), nn.Embedding(phases + 1, 1), nn.Linear(16, 48)

    def forward(self, x):
        phase = torch.linspace(0, self.phases, x.shape[1]).long()
        bias = self.bias((phase[None] - phase[:, None]).abs())[..., 0]
        q, k, v = self.mix(self.embed(x)).chunk(3, -1)
        return (q @ k.transpose(1, 2) / 4 + 3 * bias).softmax(-1) @ v


@at(tokens, 15, 27, 29, 31, 53, 57, 103, 127, 100)
def attention_by_phases():
    return PhaseAttention(8).eval()


@at(tokens, 43, 85, 87, 91, 124, 142, 166, 100, front="torchscript")
def script_attention_by_phases():
    return torch.jit.script(PhaseAttention(6).eval())


def share(inside):
    """The mean of what is inside by what is made of the length."""
    def program(x):
        mask = inside(x.shape[1]).float()
        return (x * mask).sum(1) / mask.sum()

    return program


@at(signal, 201, 249, 329, 377, 393, 401, 202)
def mean_of_the_middle():
    return share(lambda n: torch.linspace(-1, 1, n).abs() <= 0.25)


@at(signal, 26, 51, 56, 101, 111, 116, 166, 201, 100)
def mean_of_the_first_two_fifths():
    return share(lambda n: torch.linspace(0, 1, n) < 0.4)


@at(signal, 11, 21, 31, 41, 51, 61, 81, 101, 100)
def mean_under_the_triangle():
    return share(lambda n: torch.bartlett_window(n, periodic=False) >= 0.2)


@at(signal, 15, 30, 60, 120, 240, 255, 100)
def mean_of_low_bins():
    return share(lambda n: torch.fft.fftfreq(n).abs() <= 0.2)


class LowBins(nn.Module):
    def forward(self, x):
        n = x.shape[1]
        low = (torch.fft.fftfreq(n).abs() <= 0.1).float()
        window = (torch.hann_window(n) >= 0.5).float()
        return (x * low).sum(1) / low.sum(), (x * window).sum(1) / window.sum()


@at(signal, 30, 60, 120, 240, 36, 44, 52, 72, 104, 100, front="torchscript")
def script_mean_of_low_bins():
    return torch.jit.script(LowBins())


class FramesByRate(nn.Module):
    def forward(self, x):
        return x.index_select(1, (torch.arange(20) * (x.shape[1] / 20)).long())


RATES = {"ranges": {"n": (20, 4000, 40)}}


@at(clip, 84, 168, 336, 652, 672, 1284, 1344, 100, **RATES)
def frames_by_rate():
    return lambda x: x[:, (torch.arange(20) * (float(x.shape[1]) / 20)).long()]


@at(clip, 84, 168, 336, 652, 672, 1284, 1344, 100, front="torchscript", **RATES)
def script_frames_by_rate():
    return torch.jit.script(FramesByRate())


@at(tokens, 16, 64, 100, 36, 50, ranges={"n": (10, 240, 40)})
def band_as_wide_as_a_root():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(32, 16)

        def forward(self, x):
            n = x.shape[1]
            near = (torch.arange(n)[:, None] - torch.arange(n)[None]).abs() <= 1.5 * float(np.sqrt(n))
            h = self.embed(x)
            return (h @ h.transpose(1, 2) / 4).masked_fill(~near, -1e9).softmax(-1) @ h

    return Net().eval()


@sized(lambda n: (torch.randn(8 * n, 4),), {"n": (2, 8, 3)}, {"x": {0: "8*n"}}, also=[5, 6, 5, 4, 6], count=4, expect=REFUSED)
def norm_kept_by_bucket():
    """Two sizes of one bucket, which are seldom tried after each other."""
    class Net(nn.Module):
        buckets = (16, 24, 32, 48, 56, 64)

        def __init__(self):
            super().__init__()
            self.norms = {}

        def forward(self, x):
            n = x.shape[0]
            bucket = next(size for size in self.buckets if n <= size)
            if bucket not in self.norms:
                self.norms[bucket] = torch.tensor(1 / n)
            return x.sum(0) * self.norms[bucket]

    return Net()
