"""16-bit floats beside numbers that eager keeps in float32: scales beyond a half's range, small terms against division by zero, averages."""

import numpy as np
import torch
from harness import case
from torch import nn

torch.manual_seed(0)
SCALES = [(torch.randn(4).half() * 1e-3, torch.tensor(s)) for s in (2.5, 1e5, 1e-5, 1.0)]
SUMS = [(torch.full((4,), 1e-3).half(), torch.tensor(s)) for s in (2.5, 1e5, 1e-5)]
COUNTS = [(torch.tensor([1e-3, 0.5]).half() * k, torch.tensor(n)) for k, n in ((1, 4), (1, 100000), (1e4, 1000000), (0, 70000))]
NORMS = [(torch.randn(4).half(),), (torch.zeros(4).half(),), (torch.randn(4).half() * 1e-3,)]
BLENDS = [(torch.full((3,), a), torch.full((3,), b), torch.tensor(w)) for a, b, w in ((2.0, 1.0, 0.5), (1000.0, 1.0, 0.999), (1000.0, 1.0, 0.9999))]
HALVES = [(a.half(), b.half(), w) for a, b, w in BLENDS]
BRAINS = [(a.bfloat16(), b.bfloat16(), w) for a, b, w in BLENDS]


@case(SCALES[0], SCALES, tolerance=2e-3)
def half_times_a_large_number():
    return lambda h, s: h * s.item()


@case(COUNTS[0], COUNTS, tolerance=2e-3)
def half_over_a_count():
    return lambda h, n: (h * n.item(), h / n.item())


@case(SUMS[0], SUMS, tolerance=2e-3)
def single_half_times_and_over_a_number():
    return lambda h, s: (h.sum() * s.item(), h.sum() / s.item(), h.mean().mul(s.item()))


@case(SUMS[0], [SUMS[0]] * 20, tolerance=2e-3)
def loss_scale_of_a_single_half():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = 1.0

        def forward(self, h, s):
            self.scale = self.scale * 2.0
            return (h.mean() * 1e-3) * self.scale

    return Net()


@case(HALVES[0], HALVES, tolerance=2e-3)
def halves_blended_by_a_number():
    return lambda a, b, w: torch.lerp(a, b, w.item())


@case(HALVES[0], HALVES, tolerance=2e-3)
def halves_blended_by_a_keyword():
    return lambda a, b, w: torch.lerp(a, end=b, weight=w.item())


@case(SUMS[0], SUMS, tolerance=2e-3)
def single_half_by_a_keyword():
    return lambda h, s: torch.mul(h.sum(), other=s.item())


@case(SUMS[0], SUMS, tolerance=2e-3)
def single_half_written():
    def scaled(h, s):
        total = h.sum()
        return total.mul_(s.item()), torch.mul(h.sum(), s.item(), out=torch.empty((), dtype=torch.float16))

    return scaled


@case(BRAINS[0], BRAINS, tolerance=2e-2)
def brains_blended_by_a_number():
    return lambda a, b, w: torch.lerp(a, b, w.item())


@case((torch.ones(2).bfloat16(),), [(torch.full((2,), k).bfloat16(),) for k in (1.0, 1000.0, 1.0, 500.0, 1.0, 1.0)], tolerance=2e-2)
def average_of_brains():
    class Average(nn.Module):
        def __init__(self):
            super().__init__()
            self.shadow, self.step = None, 1000

        def forward(self, x):
            self.step += 1000
            decay = min(0.9999, (1 + self.step) / (10 + self.step))
            self.shadow = x.clone() if self.shadow is None else torch.lerp(x, self.shadow, decay)
            return self.shadow

    return Average()


class Normalized(nn.Module):
    def forward(self, h):
        return h / (float(h.float().norm()) + 1e-8)


class Scaled(nn.Module):
    def forward(self, h, s):
        return h * float(s), h / float(s), h // float(s)


class Blended(nn.Module):
    def forward(self, a, b, w):
        return torch.lerp(a, b, float(w))


class LossScale(nn.Module):
    scale: float

    def __init__(self):
        super().__init__()
        self.scale = 1.0

    def forward(self, h):
        self.scale = self.scale * 2.0
        return h * self.scale


@case(NORMS[0], NORMS, front="torchscript", tolerance=2e-3)
def script_half_normalized_with_epsilon():
    return torch.jit.script(Normalized())


@case(SCALES[0], SCALES, front="torchscript", tolerance=2e-3)
def script_half_times_a_large_number():
    return torch.jit.script(Scaled())


@case(HALVES[0], HALVES, front="torchscript", tolerance=2e-3)
def script_halves_blended():
    return torch.jit.script(Blended())


@case(NORMS[0], [(torch.randn(4).half() * 1e-3,) for _ in range(19)], front="torchscript", tolerance=2e-3)
def script_loss_scale_that_doubles():
    return torch.jit.script(LossScale())


def whole(*values):
    return torch.tensor(values[0] if len(values) == 1 else list(values))


HALF = np.array([0.25, -0.5, 0.125, 0.75], np.float16)
DEEP = np.array([6000.0, -4000.0, 2000.0, 1000.0], np.float16)


@case((HALF, whole(0)), [(HALF, whole(0)), (HALF, whole(1)), (HALF, whole(2)), (HALF * 2, whole(2))])
def pressure_in_one_of_three_units():
    def program(values, unit):
        bar = torch.from_numpy(values)
        pascal = torch.from_numpy(values * 100000.0)
        return torch.where(unit == 2, pascal, bar).float()

    return program


@case((DEEP, whole(0)), [(DEEP, whole(0)), (DEEP, whole(3)), (DEEP / 2, whole(3))])
def depth_as_a_share_of_the_range():
    def program(depth, mode):
        share = torch.from_numpy(depth / 70000.0).float()
        return torch.where(mode == 3, share * 1000, torch.from_numpy(depth).float())

    return program


TIE = 1 + 2**-11 + 2**-30


@case((np.array([0.3, -1.7, 2.9, 0.01]),), [(np.array([0.3, 1.0, -2.5, 8.0]),), (np.array([TIE, 2 * TIE, -TIE, 4 * TIE]),), (np.array([0.5, 1.5, 2.5, 3.5]),)])
def features_stored_as_halves():
    return lambda x: torch.from_numpy(x.astype(np.float16)).float()


@case((np.array([0.3, -1.7, 2.9]), torch.tensor(0.7, dtype=torch.float64)),
      [(np.array([0.25, 1.0, -2.0]), torch.tensor(v, dtype=torch.float64)) for v in (0.5, TIE, -3.25)])
def latest_value_into_a_half_table():
    def program(table, latest):
        table = table.astype(np.float16)
        table[:] = latest.item()
        return torch.from_numpy(table).float()

    return program
