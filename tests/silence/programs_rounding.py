"""What the last place and the sign of a zero decide: roots and angles of complex numbers beside the cut, edges of bins, numbers beside wide tensors, rests of periods."""

import math

import torch
import torch.nn.functional as F
from harness import case
from torch import nn

RIGHT = ("right",)
NAN = float("nan")


def spread(count, *values):
    """These values in turn."""
    return torch.tensor([values[i % len(values)] for i in range(count)])


def rows(*given, front="python"):
    return case(given[0], list(given), expect=RIGHT, front=front)


MODES = [(spread(16, 0, 1, 2, 3),), (spread(16, 3, 2, 1, 0),), (torch.arange(16),), (spread(16, 5, 9, 0, 12),)]
ANGLES = [(spread(12, 0, 3, 6, 9),), (spread(12, 9, 1, 2, 4),), (torch.arange(12) * 2,), (spread(12, 20, 14, 0, 30),)]
MEDIA = [(spread(16, 1, 2, 3, 4), spread(16, 1, 2, 1)), (spread(16, 4, 3, 2, 1), spread(16, 2, 1)), (spread(16, 3, 1, 2, 4), torch.zeros(16, dtype=torch.int64))]
BLOCKS = [(spread(15, 1, 5, 2, 9, 4, 7, 3),), (spread(15, 9, 1, 1, 3),), (-spread(15, 1, 5, 2, 9, 4, 7, 3),), (-spread(15, 2, 3),)]
IQ = [(spread(8, 1, 2, 3), spread(8, 4, 5, 6)), (spread(8, 3, 1), spread(8, 6, 4, 5)), (-spread(8, 1, 2, 3), torch.zeros(8, dtype=torch.int64)),
      (spread(8, 3, 2, 1), torch.zeros(8, dtype=torch.int64))]


def complex_of(re, im):
    return torch.complex(re.float(), im.float())


class Waves(nn.Module):
    """Beyond 4 the root has to be the one by which a wave dies away."""

    def forward(self, m):
        kx = m.float() * 0.5
        halves = torch.view_as_real(torch.sqrt(4.0 - torch.complex(kx * kx, torch.zeros_like(kx))))
        return torch.exp(-halves[:, 1]) * torch.cos(halves[:, 0])


@rows(*MODES)
def evanescent_waves():
    return Waves()


@rows(*MODES, front="torchscript")
def script_evanescent_waves():
    return torch.jit.script(Waves())


@rows(*MODES, front="pt2")
def pt2_evanescent_waves():
    return Waves()


@rows(*ANGLES)
def total_internal_reflection():
    class Fresnel(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("one", torch.ones(()))

        def forward(self, steps):
            s = complex_of(steps / 10, torch.zeros_like(steps))
            cosine = torch.sqrt(self.one - s * s)
            return torch.view_as_real((1.5 - cosine) / (1.5 + cosine))

    return Fresnel()


@rows(*MEDIA)
def root_of_a_negated_permittivity():
    return lambda re, im: torch.view_as_real(torch.sqrt(-complex_of(re, im)))


@rows(*BLOCKS)
def phase_of_a_mean_spectrum():
    return lambda x: (torch.fft.rfft(x.float()).conj() / 15).angle()


@rows(*IQ)
def whitened_cross_spectrum():
    def program(i, q):
        r = complex_of(i, q).conj() * 2
        return torch.angle(r / r.abs()), torch.angle(r / -2.0)

    return program


@rows(*IQ)
def channels_of_both_polarities():
    class Gains(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("gain", torch.tensor([1.0, -1.0, 0.5, -2.0, 1.0, -1.0, -0.5, 3.0]))

        def forward(self, i, q):
            z = complex_of(i, q)
            return (z * self.gain).angle(), (z / self.gain).angle(), (z.conj() * self.gain).angle(), (z.conj() / self.gain).angle()

    return Gains()


@rows(*IQ)
def sums_with_real_numbers():
    def program(i, q):
        z = complex_of(i, q).conj()
        made = (z + 0.25, z - 0.25, 0.25 - z, z + i, z - i, i - z, z.add(i, alpha=2), z.sub(i, alpha=2), torch.rsub(z, 1.5))
        return [y.angle() for y in made]

    return program


@rows((torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[0.5, 1.0], [1.5, -1.0]])), (torch.full((2, 2), NAN), torch.ones(2, 2)),
      (torch.full((2, 2), float("inf")), torch.ones(2, 2)))
def skip_connection_that_is_off():
    def program(old, a):
        w = torch.complex(a, a * 0.5)
        return torch.view_as_real(torch.addmm(torch.complex(old, old), w, w, beta=0))

    return program


@rows((spread(10, 5, 6, 7, 8, 9),), (spread(10, 9, 5),), (spread(10, 3, 2, 4, 8),), (torch.full((10,), -3),))
def coefficients_at_the_threshold():
    return lambda n: [F.hardshrink(n.to(dtype) * 0.1, 0.3).float() for dtype in (torch.bfloat16, torch.float16)]


class Oscillator(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("omega", torch.complex(torch.zeros(3, dtype=torch.float64), torch.tensor([0.5, 0.25, 1.0], dtype=torch.float64)))

    def forward(self, position):
        return torch.view_as_real(torch.exp(self.omega * float(position)))


@rows(*[(torch.tensor(n),) for n in (3, 5, 4, 2**24 + 1, 2**30 + 65, 7)], front="torchscript")
def script_oscillator_behind_a_seek():
    return torch.jit.script(Oscillator())


class Tenths(nn.Module):
    def forward(self, n):
        edges, levels = torch.arange(0.0, 10.0, 0.1), torch.linspace(0.0, 1.0, 101)
        x, share = n.float() / 10, n.float() / 100
        return torch.bucketize(x, edges), torch.bucketize(x, edges, right=True), torch.bucketize(share, levels), torch.bucketize(share, levels, right=True)


TENTHS = [(torch.arange(1, 9),), (torch.tensor([9, 18, 26, 28, 31, 36, 51, 52]),), (torch.arange(8) * 9,), (torch.arange(8) + 90,), (torch.arange(8) * 3 + 30,)]


@rows(*TENTHS, front="torchscript")
def script_bins_of_tenths():
    return torch.jit.script(Tenths())


@rows(*TENTHS, front="pt2")
def pt2_bins_of_tenths():
    return Tenths()


class Phase(nn.Module):
    def forward(self, x, time):
        t = time.item()
        return x / (t % 2.0), x * (t % -1.5)


@rows(*[(torch.ones(3), torch.tensor(t, dtype=torch.float64)) for t in (3.5, 1.25, -3.5, -4.0, -2.0)], front="pt2")
def pt2_rate_at_the_end_of_a_period():
    return Phase()


def whole(*values):
    return torch.tensor(values[0] if len(values) == 1 else list(values))


CREDITS, DEBITS, OVERDRAWN = torch.tensor([50, 55, 60, 52]), torch.tensor([1, 5, 3, 2]), torch.tensor([70, 80, 2, 90])


@case((CREDITS, DEBITS), [(CREDITS, DEBITS), (CREDITS, OVERDRAWN), (DEBITS, DEBITS + 1)])
def half_turns_of_a_balance():
    return lambda credits, debits: torch.ceil(torch.angle((credits - debits).double()) / math.pi)


class PhaseError(nn.Module):
    def forward(self, credits, debits):
        turned = torch.angle((credits - debits).double()) - math.pi
        return torch.clamp(turned.abs() * 1e9, max=1000.0)


@case((CREDITS, DEBITS), [(CREDITS, DEBITS), (CREDITS, CREDITS + 9), (CREDITS, OVERDRAWN)], front="pt2")
def pt2_phase_error_of_a_balance():
    return PhaseError()


RE, IM = torch.tensor([1.0, -0.5, 2.0, 0.25]), torch.tensor([0.5, 1.5, -1.0, -0.25])
DARK = torch.tensor([0.0, 1.0, 0.0, -2.0])


@case((RE, IM, whole(3)), [(RE, IM, whole(3)), (RE, IM, whole(0)), (DARK, DARK, whole(0)), (DARK, DARK, whole(2))])
def spectrum_to_an_order():
    def program(re, im, order):
        y = torch.complex(re, im) ** order.item()
        return y.abs()

    return program
