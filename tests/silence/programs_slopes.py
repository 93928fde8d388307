"""Gradients inside of the program: at NaN, at joints and ties, and of 16-bit floats."""

import math

import torch
import torch.nn.functional as F
from harness import case, gradient_of, sized
from torch import Tensor, nn

torch.manual_seed(11)
X, Y = torch.randn(6), torch.randn(6)
OK = ("right", "refused", "failed")
NAN, INF = math.nan, math.inf


def wave(n, scale=1.0):
    return torch.sin(torch.arange(float(n)) * 1.7 + 0.3) * scale


def with_at(x, at, value):
    x = x.clone()
    x.reshape(-1)[at] = value
    return x


GRADS = [(with_at(wave(64), 3, NAN),), (wave(64, 2.0),), (with_at(with_at(wave(64), 0, NAN), 17, NAN),)]


@case((wave(64),), GRADS)
def forces_of_elu_where_a_sensor_is_missing():
    weight = torch.linspace(0.5, 1.5, 64)
    return gradient_of(lambda x: (F.elu(x, 1.3) * weight).sum())


@case((wave(64),), GRADS)
def saliency_of_relu6_where_a_pixel_is_missing():
    weight = torch.linspace(-1.0, 1.0, 64)
    return gradient_of(lambda x: (F.relu6(x * 4 + 1) * weight).sum())


@case((wave(64),), GRADS)
def gradient_of_a_shrinkage_where_a_sample_is_missing():
    weight = torch.linspace(0.2, 2.0, 64)
    return gradient_of(lambda x: (F.softshrink(x, 0.3) * weight).sum())


@case((wave(32),), [(wave(32, 3.0),), (with_at(wave(32), 5, 95.0),), (with_at(wave(32), 7, 101.0),)])
def force_of_a_soft_wall_with_a_high_threshold():
    return gradient_of(lambda x: F.softplus(x, beta=1.0, threshold=100.0).sum())


def scripted(module):
    return torch.jit.script(module)


class Wall(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        x = x.detach().requires_grad_(True)
        energy = F.softplus(x, 2.0, 150.0).sum()
        grads = torch.autograd.grad([energy], [x])
        g = grads[0]
        assert g is not None
        return -g


@case((wave(32),), [(wave(32, 3.0),), (with_at(wave(32), 5, 60.0),), (with_at(wave(32), 9, 80.0),)], front="torchscript")
def script_force_of_a_wall():
    return scripted(Wall())


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.linspace(0.5, 1.5, 64))

    def forward(self, x: Tensor) -> Tensor:
        x = x.detach().requires_grad_(True)
        grads = torch.autograd.grad([(F.selu(x) * self.weight).sum()], [x])
        g = grads[0]
        assert g is not None
        return g


@case((wave(64),), GRADS, front="torchscript")
def script_field_where_a_sensor_is_missing():
    return scripted(Field())


ROWS = {"x": {0: "n"}}


def rows_with_a_gap(n):
    x = wave(n, 3.0)
    return (with_at(x, 1, NAN) if n in (48, 64) else x,)


@sized(rows_with_a_gap, {"n": (16, 96, 32)}, ROWS, also=(48, 64, 50), count=6, expect=OK)
def sized_gradient_of_a_clip():
    return lambda x: gradient_of(lambda z: F.hardtanh(z, -2.0, 2.0).square().sum())(x)




ZEROED = torch.tensor([0.0, 1.0, -2.0, 0.0, 0.5, 3.0])


@case((X, torch.tensor(3.0)), [(X, torch.tensor(2.0)), (ZEROED, torch.tensor(2.0)), (ZEROED, torch.tensor(3.0)), (Y, torch.tensor(2.5))])
def slope_of_a_norm_of_any_order():
    def program(x, p):
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            return torch.autograd.grad((x.abs() ** p.item()).sum(), x)[0]

    return program


@case((X, torch.tensor(3.0)), [(Y, torch.tensor(2.0)), (ZEROED, torch.tensor(4.0)), (X, torch.tensor(2.0))])
def saliency_of_generalised_pooling():
    def program(x, p):
        order = p.item()
        return torch.func.grad(lambda v: v.abs().pow(order).mean())(x)

    return program


SMALL = (torch.randn(6) * 0.3).half()
LARGE = torch.tensor([300.0, -0.5, 280.0, 0.25, -290.0, 1.0]).half()


@case((SMALL,), [(SMALL,), (LARGE,), (-SMALL,)])
def slope_of_gelu_in_halves():
    def program(h):
        with torch.enable_grad():
            h = h.detach().requires_grad_()
            return torch.autograd.grad(F.gelu(h, approximate="tanh").sum(), h)[0]

    return program


@case((SMALL, SMALL * 0.5), [(SMALL, SMALL * 0.5), (LARGE, SMALL), (SMALL, -SMALL)])
def huber_of_halves():
    return lambda a, b: F.huber_loss(a, b, reduction="none", delta=400.0)


class SmoothLoss(nn.Module):
    def forward(self, a, b):
        return F.smooth_l1_loss(a, b, reduction="none", beta=400.0)


@case((SMALL, SMALL * 0.5), [(SMALL, SMALL * 0.5), (LARGE, SMALL), (SMALL, -SMALL)], front="torchscript")
def script_smooth_loss_of_halves():
    return torch.jit.script(SmoothLoss())


IMAGE = (torch.randn(1, 4, 3) * 0.4).half()
BRIGHT = (torch.randn(1, 4, 3) * 0.4).half() + torch.tensor([300.0, -300.0, 280.0, -260.0]).half().reshape(1, 4, 1)


@case((IMAGE,), [(IMAGE,), (BRIGHT,), (-IMAGE,)])
def saliency_through_a_group_norm_of_halves():
    def program(h):
        with torch.enable_grad():
            h = h.detach().requires_grad_()
            y = F.group_norm(h, 2)
            slope = torch.autograd.grad((y.float() ** 3).sum(), h)[0]
        return y.detach(), slope.abs() < 1e4

    return program


TIES = torch.tensor([2.0, -1.0, 2.0, 0.5, 2.0, -1.0])
ZEROS = torch.tensor([0.0, 1.0, 0.0, -2.0, -0.0, 3.0])
EDGES = torch.tensor([3.0, -3.0, 0.0, 1.0, -1.0, 6.0])


@case((X,), [(X,), (TIES,), (ZEROS,), (Y,)])
def saliency_of_equal_peaks():
    return gradient_of(lambda v: v.amax() * 3 + v.max() * 5 + v.reshape(2, 3).max(1)[0].sum() * 7 + v.reshape(2, 3).amin(0).pow(2).sum())


@case((X,), [(X,), (TIES,), (EDGES,), (ZEROS,)])
def force_at_the_bounds():
    other = torch.tensor([2.0, -1.0, 0.0, 0.5, -0.0, 3.0])
    return gradient_of(lambda v: (torch.maximum(v, other) * 2 + torch.minimum(v, other) * 5 + v.clamp(-1.0, 3.0) * 11 + torch.fmax(v, other) * 0.5).sum())


@case((X,), [(X,), (EDGES,), (ZEROS,), (TIES,)])
def slopes_at_the_joints():
    def energy(v):
        parts = [F.hardswish(v), F.hardsigmoid(v) * 3, F.relu6(v) * 5, F.leaky_relu(v, 0.1) * 7, F.threshold(v, 1.0, -2.0) * 11, F.softshrink(v, 1.0) * 13, F.hardshrink(v, 1.0) * 17]
        return sum(part.sum() for part in parts)

    return gradient_of(energy)


@case((X,), [(X,), (ZEROS,), (torch.tensor([0.0, 2.0, 3.0, 1.0, -1.0, 4.0]),), (torch.tensor([1.0, 2.0, 0.0, 0.0, 0.0, 4.0]),)])
def sensitivity_of_a_chain_of_gains():
    return gradient_of(lambda v: v.prod() + v.reshape(2, 3).prod(1).sum() * 3 + v.cumprod(0).sum())


@case((X,), [(X,), (torch.zeros(6),), (TIES,), (ZEROS,)])
def direction_of_descent_of_norms():
    return gradient_of(lambda v: sum((i + 1) * torch.linalg.vector_norm(v.reshape(2, 3), p, dim=1).sum() for i, p in enumerate((1, 2, 3, INF, -INF, 0.0))))


@case((X,), [(X,), (TIES,), (torch.zeros(6),), (torch.tensor([1.0, 1.0, -2.0, 3.0, 3.0, 0.0]),)])
def attribution_of_running_maxima():
    weight = torch.arange(1.0, 7.0)
    return gradient_of(lambda v: (v.cummax(0)[0] * weight).sum() + (v.cummin(0)[0] * weight).sum() * 3 + (v.sort(stable=True, descending=True)[0] * weight).sum() * 5)


@case((X.reshape(2, 3),), [(X.reshape(2, 3),), (torch.tensor([[-INF, -INF, -INF], [0.0, -INF, 1.0]]),), (torch.tensor([[-INF, 2.0, 2.0], [50.0, -50.0, -INF]]),)])
def gradient_of_a_masked_evidence():
    return gradient_of(lambda v: torch.logsumexp(v, 1).sum() + 2 * (torch.softmax(v, 1) * torch.tensor([1.0, 2.0, 3.0])).nan_to_num(0.0).sum())


@case((X[:3],), [(X[:3],), (torch.zeros(3),), (torch.tensor([1.0, -1.0, 2.0]),), (Y[:3],)])
def curvature_of_a_robust_loss():
    target = torch.tensor([0.0, 0.0, 1.0])
    return lambda x: torch.func.hessian(lambda v: F.huber_loss(v, target, delta=1.0) + F.smooth_l1_loss(v, target, beta=1.0) * 2 + (v[0] * v[1] * v[2]).abs())(x)


class Slope(nn.Module):
    def forward(self, x):
        x = x.detach().requires_grad_(True)
        energy = x.amax() * 3 + torch.maximum(x, torch.zeros_like(x)).sum() + x.clamp(-1.0, 3.0).sum() * 2 + x.cumprod(0).sum()
        g = torch.autograd.grad([energy], [x])[0]
        assert g is not None
        return g


@case((X,), [(X,), (TIES,), (ZEROS,), (EDGES,)], front="torchscript")
def script_slope_at_ties():
    return torch.jit.script(Slope())
