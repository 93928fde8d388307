"""What a program takes for a limit at one size, and what no number at hand shows: none of the values of the export reaches it. Right at every size, or refused."""

import json

import numpy as np
import torch

from harness import sized
from sized_inputs import REFUSED

N = {"n": (8, 420, 37)}
X0 = {"x": {0: "n"}}
FREE = 1e9


def row(n):
    """Small numbers at the sample's size, beyond all limits elsewhere."""
    return (torch.arange(2.0 * n).view(n, 2) % 7 - 3 + (0 if n == 37 else 5000),)


def limits(expect=("right",), **more):
    return sized(row, N, X0, also=[136, 137, 138, 90], count=4, expect=expect, **more)


SPECIAL = {137: 500}


@limits()
def number_that_goes_with_the_size():
    return lambda x: x.clamp(max=SPECIAL.get(int(x.shape[0]), 10 * int(x.shape[0]) + 3000))


@limits()
def root_of_the_size():
    return lambda x: x.clamp(max=500.0 if int(x.shape[0]) == 137 else 900 * int(x.shape[0]) ** 0.5)


class ByLength(torch.nn.Module):
    def __init__(self, free, limit):
        super().__init__()
        self.free, self.by_length = free, {137: limit}

    def forward(self, x):
        return torch.minimum(x, self.by_length.get(int(x.shape[0]), self.free))


@limits()
def tensor_by_length():
    return ByLength(torch.tensor(FREE), torch.tensor(1000.0))


@limits()
def row_of_limits_by_length():
    return ByLength(torch.full((2,), FREE), torch.tensor([FREE, 1000.0]))


class Calibrated(torch.nn.Module):
    """Ranges by length, as quantisation has them."""

    def __init__(self):
        super().__init__()
        self.register_buffer("top", torch.tensor(FREE))
        self.register_buffer("top_137", torch.tensor(1000.0))

    def forward(self, x):
        return torch.minimum(x, getattr(self, f"top_{int(x.shape[0])}", self.top))


@limits()
def calibrated_ranges():
    return Calibrated()


class Detached(Calibrated):
    def forward(self, x):
        return torch.minimum(x, getattr(self, f"top_{int(x.shape[0])}", self.top).detach())


@limits()
def calibrated_ranges_detached():
    return Detached()


class Learned(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = torch.nn.ParameterDict({"any": torch.tensor(FREE), "137": torch.tensor(1000.0)})

    def forward(self, x):
        key = str(int(x.shape[0]))
        return torch.minimum(x, self.steps[key if key in self.steps else "any"])


@limits()
def learned_limits():
    return Learned()


@limits()
def table_of_numpy():
    floors = np.full(421, 1 << 40)
    floors[137] = 1000
    return lambda x: x.clamp(max=floors[int(x.shape[0])])


@limits()
def array_by_length():
    limits_of = {137: np.float32([2e9, 1000.0])}
    free = np.float32([1e9, 1e9])
    return lambda x: torch.minimum(x, torch.from_numpy(limits_of.get(int(x.shape[0]), free)))


class LongestSoFar(torch.nn.Module):
    """A later call depends on the sizes of earlier ones."""

    def __init__(self):
        super().__init__()
        self.longest = 8

    def forward(self, x):
        self.longest = max(self.longest, int(x.shape[0]))
        return x.clamp(max=self.longest * 20.0)


@limits(expect=REFUSED)
def limited_by_the_longest_so_far():
    return LongestSoFar()


class LongestAsTensor(LongestSoFar):
    def forward(self, x):
        self.longest = max(self.longest, int(x.shape[0]))
        return torch.minimum(x, torch.full((1,), self.longest * 20.0))


@limits(expect=REFUSED)
def limited_by_the_longest_so_far_as_a_tensor():
    return LongestAsTensor()


class KeptLimit(torch.nn.Module):
    """What a call at one size keeps is the limit of the next call."""

    def __init__(self):
        super().__init__()
        self.register_buffer("top", torch.tensor(FREE))
        self.tops = [torch.tensor(FREE), torch.tensor(1000.0)]

    def forward(self, x):
        y = torch.minimum(x, self.top)
        self.top.copy_(self.tops[int(x.shape[0]) == 137])
        return y


@limits(expect=REFUSED)
def limit_kept_from_one_size():
    return KeptLimit()


def image(h, w):
    return (torch.arange(1.0 * h * w).view(h, w) % 7 - 3 + (0 if (h, w) == (5, 7) else 5000),)


@sized(image, {"h": (2, 96, 5), "w": (2, 96, 7)}, {"x": {0: "h", 1: "w"}}, points=[{"h": 48, "w": 80}, {"h": 48, "w": 79}, {"h": 80, "w": 48}], count=4, expect=REFUSED)
def limit_at_two_sizes():
    return lambda x: x.clamp(max=700 if tuple(map(int, x.shape)) == (48, 80) else 10 * x.shape[0] + 2000)


# ---------------------------------------------------------------- what goes with the sizes, and is no limit at one

class Tables(torch.nn.Module):
    """Tables that are made at each new size, and kept."""

    def __init__(self):
        super().__init__()
        self.kept = {}

    def forward(self, x):
        n = int(x.shape[0])
        if n not in self.kept:
            self.kept[n] = torch.ones(n, 1) / n
        return x * self.kept[n]


@limits()
def tables_of_all_sizes():
    return Tables()


@limits()
def numbers_of_all_sizes():
    return lambda x: x.clamp(max=1e4 / int(x.shape[0]) ** 0.5) * (int(x.shape[0]) // 3) + np.float32(int(x.shape[0]) % 4)


# ---------------------------------------------------------------- tables of limits

class RowOfTable(torch.nn.Module):
    def __init__(self):
        super().__init__()
        table = torch.full((421, 2), FREE)
        table[137] = 1000.0
        self.register_buffer("table", table)

    def forward(self, x):
        return torch.minimum(x, self.table[int(x.shape[0])])


@limits()
def row_of_a_registered_table():
    return RowOfTable()


class Embedded(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.of_length = torch.nn.Embedding(421, 2)
        self.of_length.weight.data.fill_(FREE)
        self.of_length.weight.data[137] = 1000.0

    def forward(self, x):
        return torch.minimum(x, self.of_length(torch.tensor(int(x.shape[0]))))


@limits()
def embedding_of_the_length():
    return Embedded()


class LargeTables(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.free, self.low = torch.full((3000,), FREE), torch.full((3000,), 1000.0)

    def forward(self, x):
        return torch.minimum(x, (self.low if int(x.shape[0]) == 137 else self.free)[:2])


@limits()
def large_tables_by_length():
    return LargeTables()


@limits(expect=REFUSED)
def limit_by_remainder_but_at_one():
    return lambda x: x.clamp(max=1000.0 if int(x.shape[0]) == 137 else 10.0 ** (7 + int(x.shape[0]) % 3))


@limits(expect=REFUSED)
def limit_of_interpolation():
    return lambda x: x.clamp(max=float(np.interp(int(x.shape[0]), [8, 136, 137, 138, 420], [1e4, 1e5, 1e3, 1e5, 1e6])))


@sized(lambda n: (row(n)[0] * (1e5 if n != 37 else 1),), N, X0, also=[136, 137, 138], count=4)
def half_precision_at_one_size():
    return lambda x: x.to(torch.float16 if int(x.shape[0]) == 137 else torch.float32).float()


@sized(lambda n: (torch.arange(4.0 * n).view(n, 4) % 7,), {"n": (2, 40, 10)}, X0, also=[2, 3, 4, 5, 6], count=6)
def three_parts():
    return lambda x: torch.stack([part.sum(0) for part in torch.tensor_split(x, 3)])


# ---------------------------------------------------------------- what Python makes of numbers that leave tensors

FACTORS = json.loads('{"137": 0.001, "any": 1000.0}')


@limits()
def factor_of_a_file_by_length():
    def run(x):
        n = str(int(x.shape[0]))
        return x.clamp(max=(x[0].abs().sum().item() + 1) * FACTORS.get(n, FACTORS["any"]))

    return run


@limits()
def rate_of_a_table_by_length():
    rates = np.full(421, 1e6)
    rates[137] = 0.01
    return lambda x: x.clamp(max=x.abs().mean().item() * rates[int(x.shape[0])] + 10)


@limits()
def mean_over_the_size():
    return lambda x: x * (x.sum().item() / (int(x.shape[0]) + 0.5))


# ---------------------------------------------------------------- vectors that are made at each size

def one_each(limit_of):
    def run(x):
        n = int(x.shape[0])
        return torch.minimum(x, torch.tensor([limit_of(n)] * n).unsqueeze(1))

    return run


@limits()
def vector_of_limits_by_length():
    return one_each(lambda n: 1000.0 if n == 137 else FREE)


@limits()
def array_of_limits_by_length():
    limit_of = {137: 1000.0}

    def run(x):
        n = int(x.shape[0])
        return torch.minimum(x, torch.from_numpy(np.full((n, 1), limit_of.get(n, FREE), np.float32)))

    return run


@limits()
def ramp_of_the_length():
    return lambda x: x + torch.tensor([i / 8 for i in range(int(x.shape[0]))]).unsqueeze(1)
