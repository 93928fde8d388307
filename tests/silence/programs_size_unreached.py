"""Another program at one size, of which no value of the export tells and no call in Python either: a threshold that values are compared with, one of two tensors
that equal calls made, what NumPy or TorchScript computed. Captures beside the sweep show it."""

import json

import numpy as np
import torch
from harness import sized
from sized_inputs import REFUSED
from torch import nn

N = {"n": (8, 420, 37)}
X0 = {"x": {0: "n"}}
FREE = 1e9


def row(n):
    """Small numbers at the sample's size, beyond all limits elsewhere."""
    return (torch.arange(2.0 * n).view(n, 2) % 7 - 3 + (0 if n == 37 else 5000),)


def unreached(**more):
    return sized(row, N, X0, also=[136, 137, 138, 90], count=4, expect=REFUSED, **more)


def scripted(make):
    make.__name__ = f"script_{make.__name__}"
    return sized(row, N, X0, also=[136, 137, 138, 90], count=4, expect=REFUSED, front="torchscript")(make)


LIMITS = json.loads('{"137": 1000.0, "any": 1e9}')


@unreached()
def peak_beside_a_limit_by_length():
    def run(x):
        if x.max() > LIMITS.get(str(int(x.shape[0])), LIMITS["any"]):
            return x / x.max()
        return x + 0

    return run


@unreached()
def mask_by_a_limit_of_the_length():
    return lambda x: torch.where(x > LIMITS.get(str(int(x.shape[0])), LIMITS["any"]), x * 2, x)


class Picked(nn.Module):
    """One of two tensors that equal calls give."""

    def __init__(self):
        super().__init__()
        self.register_buffer("limits", torch.tensor([[FREE, FREE], [1000.0, FREE]]))

    def forward(self, x):
        free, low = self.limits.unbind(0)
        return torch.minimum(x, (free, low)[int(x.shape[0]) == 137])


@unreached()
def one_of_unbound_limits():
    return Picked()


class Computed(Picked):
    def forward(self, x):
        chosen = [self.limits[i].abs().sqrt() for i in (0, 1)]
        return torch.minimum(x, chosen[int(x.shape[0]) == 137] ** 2)


@unreached()
def one_of_computed_limits():
    return Computed()


@unreached()
def one_of_two_results():
    def run(x):
        limits = [torch.topk(-x.abs(), 2, dim=0).values[i] + FREE for i in (0, 1)]
        return torch.minimum(x, torch.stack(limits)[:, 0][0] if int(x.shape[0]) != 137 else torch.stack(limits)[:, 0][1] - FREE + 3000)

    return run


@unreached()
def limit_of_numpy_where():
    return lambda x: x.clamp(max=float(np.where(int(x.shape[0]) == 137, 1000.0, FREE)))


@unreached()
def limit_of_numpy_search():
    edges, limits = np.array([136.5, 137.5]), np.array([FREE, 1000.0, FREE])
    return lambda x: torch.minimum(x, torch.tensor(limits[np.searchsorted(edges, int(x.shape[0]))].item()))


@unreached()
def limit_of_arithmetic():
    return lambda x: x.clamp(max=FREE - (x.shape[0] // 137 == 1 and x.shape[0] % 137 == 0) * (FREE - 1000))


@unreached()
def rows_that_are_kept():
    def run(x):
        kept = x.abs().amax(1) <= LIMITS.get(str(int(x.shape[0])), FREE)
        return x * kept.unsqueeze(1)

    return run


@unreached()
def rounds_above_a_limit():
    def run(x):
        n = int(x.shape[0])
        return x.round(decimals=1) if float(np.float32(n)) != 137.0 else x.round()

    return run


class Exclusive(nn.Module):
    def forward(self, x):
        peak = float(x.max())
        limit = 1000.0 if x.shape[0] // 2 == 68 else 1e9
        return x / 2 if peak > limit else x + 0


@scripted
def peak_beside_a_limit():
    return torch.jit.script(Exclusive())


class Masked(nn.Module):
    def forward(self, x):
        n = x.shape[0]
        limit = 1e9 - float(int(n % 137 == 0 and n < 200)) * (1e9 - 1000.0)
        return torch.where(x > limit, x * 2, x)


@scripted
def mask_by_a_limit():
    return torch.jit.script(Masked())


class Chosen(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("limits", torch.tensor([1e9, 1000.0]))

    def forward(self, x):
        free, low = self.limits.unbind(0)
        chosen = free
        if str(x.shape[0]) == "137":
            chosen = low
        return torch.minimum(x, chosen)


@scripted
def one_of_limits():
    return torch.jit.script(Chosen())


@sized(lambda h, w: (torch.arange(1.0 * h * w).view(h, w) % 7 - 3 + (0 if (h, w) == (5, 7) else 5000),), {"h": (2, 40, 5), "w": (2, 40, 7)}, {"x": {0: "h", 1: "w"}},
       points=[{"h": 24, "w": 36}, {"h": 36, "w": 24}], count=6, expect=REFUSED)
def mask_at_two_sizes():
    return lambda x: torch.where(x > LIMITS["137" if f"{x.shape[0]}x{x.shape[1]}" == "24x36" else "any"], 0, x)
