"""TorchScript and .pt2 files whose extents vary: what they ask of sizes is not seen, so the bundle runs beside them at many."""

from typing import Dict, List

import torch
from harness import sized
from torch import nn

RIGHT = ("right",)
REFUSED = ("right", "refused", "failed")
N = {"n": (8, 420, 37)}
SECONDS = {"n": (1, 160000, 8000)}
X0, X1 = {"x": {0: "n"}}, {"x": {1: "n"}}


def row(n):
    return (torch.arange(2.0 * n).view(n, 2) % 7 - 3,)


def wave(n):
    return (torch.sin(torch.arange(float(n)) * 0.37).view(1, n),)


def near(*sizes, expect=RIGHT, arguments=row, ranges=N, dims=X0):
    return sized(arguments, ranges, dims, also=[size + more for size in sizes for more in (-1, 0, 1)], count=4, expect=expect, front="torchscript")


def in_seconds(*sizes, **more):
    return near(*sizes, arguments=wave, ranges=SECONDS, dims=X1, expect=REFUSED, **more)


class AtOneSize(nn.Module):
    def forward(self, x):
        if x.shape[0] == 137:
            return x * 3
        return x + 0


@near(137)
def script_at_one_size():
    return torch.jit.script(AtOneSize())


def doubled_at_one_size(x):
    if x.size(0) == 137:
        return x * 2
    return x + 0


class Helped(nn.Module):
    def forward(self, x):
        return doubled_at_one_size(x) + 1


@near(137)
def script_with_a_helper():
    return torch.jit.script(Helped())


class ClipOfOneSecond(nn.Module):
    def forward(self, x):
        if x.shape[1] == 16000:
            return x * 0.5
        return x * 1.5


@in_seconds(16000)
def script_clip_of_one_second():
    return torch.jit.script(ClipOfOneSecond())


class ClipOfOddLength(nn.Module):
    def forward(self, x):
        if x.shape[1] == 77773:
            return x * 0.5
        return x * 1.5


@in_seconds(77773)
def script_clip_of_odd_length():
    return torch.jit.script(ClipOfOddLength())


class Frames(nn.Module):
    def forward(self, x):
        if x.shape[1] // 163 == 211:
            return x * 0.5
        return x * 1.5


@in_seconds(163 * 211, 163 * 212)
def script_by_frames():
    return torch.jit.script(Frames())


class Halves(nn.Module):
    def forward(self, x):
        if x.shape[1] * 2 == 155546:
            return x * 0.5
        return x * 1.5


@in_seconds(77773)
def script_by_a_product():
    return torch.jit.script(Halves())


class Listed(nn.Module):
    def __init__(self):
        super().__init__()
        self.lengths: List[int] = [41011, 77773]
        self.scales: Dict[int, float] = {99991: 0.25}

    def forward(self, x):
        n = x.shape[1]
        if n in self.lengths:
            return x * 0.5
        if n in self.scales:
            return x * self.scales[n]
        return x * 1.5


@in_seconds(41011, 77773, 99991)
def script_with_lengths_in_attributes():
    return torch.jit.script(Listed())


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.linspace(0.0, 1.0, 41011))

    def forward(self, x):
        if x.shape[1] == self.window.shape[0]:
            return x * self.window
        return x * 1.5


@in_seconds(41011)
def script_by_the_length_of_a_buffer():
    return torch.jit.script(Whole())


class Band(nn.Module):
    def forward(self, x):
        if 256 <= x.shape[0] and x.shape[0] < 258:
            return x * 3
        return x + 0


@near(256, 257)
def script_in_a_band():
    return torch.jit.script(Band())


class Texts(nn.Module):
    def forward(self, x):
        if str(x.shape[0]) == "137":
            return x * 3
        return x + 0


@near(137)
def script_by_the_text_of_a_size():
    return torch.jit.script(Texts())


class Area(nn.Module):
    def forward(self, x):
        if x.shape[0] * x.shape[1] == 46189:
            return x * 2
        return x + 0


@sized(lambda h, w: (torch.ones(h, w),), {"h": (8, 400, 32), "w": (8, 400, 48)}, {"x": {0: "h", 1: "w"}}, points=[{"h": 209, "w": 221}], count=4,
       expect=REFUSED, front="torchscript")
def script_at_one_area():
    return torch.jit.script(Area())


class Scattered(nn.Module):
    def forward(self, x):
        if (x.shape[0] * 7919) % 13 == 5:
            return x * 2
        return x + 0


@near(137, expect=REFUSED)
def script_at_scattered_sizes():
    return torch.jit.script(Scattered())


class Loop(nn.Module):
    def forward(self, x):
        for _ in range(x.shape[0] // 137):
            x = x * 2
        return x + 0


@near(136, 137, 273, 274, 411)
def script_with_a_loop_over_sizes():
    return torch.jit.script(Loop())


class LaterModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = AtOneSize()
        self.register_buffer("sums", torch.zeros(2))

    def forward(self, x):
        self.sums += self.inner(x).sum(0)
        return self.sums * 1


@near(137)
def script_with_a_state():
    return torch.jit.script(LaterModule())


@sized(row, N, X0, also=[136, 137, 138], count=6, expect=RIGHT, front="pt2")
def pt2_numbers_of_sizes():
    class Net(nn.Module):
        def forward(self, x):
            n = x.shape[0]
            return x * (n // 7) + torch.arange(n).unsqueeze(1) * (n % 5) + x.view(-1).view(n, 2) / n

    return Net()


# ---------------------------------------------------------------- limits that no value of the export reaches

def reached(n):
    """Small numbers at the sample's size alone."""
    return (row(n)[0] + (0 if n == 37 else 5000),)


class LimitAtOneSize(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("free", torch.tensor(1e9))
        self.register_buffer("low", torch.tensor(1000.0))

    def forward(self, x):
        return torch.minimum(x, self.low if x.shape[0] == 137 else self.free)


@near(137, arguments=reached)
def script_limit_of_a_buffer():
    return torch.jit.script(LimitAtOneSize())


class NumberAtOneSize(nn.Module):
    def forward(self, x):
        limit = 10 * x.shape[0] + 3000
        if x.shape[0] // 2 == 68:
            limit = 500
        return x.clamp(max=limit)


@near(137, arguments=reached, expect=REFUSED)
def script_number_at_two_sizes():
    return torch.jit.script(NumberAtOneSize())


class HalfAtOneSize(nn.Module):
    def forward(self, x):
        n = x.shape[0]
        limit = 4000.0 + n ** 0.5
        if n == 137:
            limit = 1000.0
        return torch.minimum(x, torch.full([1], limit)) * (n % 5)


@near(137, arguments=reached, expect=REFUSED)
def script_root_at_one_size():
    return torch.jit.script(HalfAtOneSize())


@sized(reached, N, X0, also=[136, 137, 138], count=4, expect=REFUSED)
def scripted_limit_in_python():
    return torch.jit.script(LimitAtOneSize())


@sized(reached, N, X0, also=[136, 137, 138], count=4, expect=REFUSED)
def scripted_function_in_python():
    @torch.jit.script
    def limited(x):
        limit = 10 * x.shape[0] + 3000
        if x.shape[0] == 137:
            limit = 500
        return x.clamp(max=limit)

    return lambda x: limited(x) + 1
