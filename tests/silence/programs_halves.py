"""16-bit floats beside numbers that eager keeps in float32: scales beyond a half's range, small terms against division by zero, averages."""

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
