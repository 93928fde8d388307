"""Results that are written into tensors by out= and by overloads of operators, and orders that PyTorch leaves open."""

import torch
from harness import case
from torch import nn

G = torch.Generator().manual_seed(71)


def rnd(*shape):
    return torch.randn(*shape, generator=G)


def put(x, value, *places):
    """x with the value at flat places."""
    y = x.clone()
    y.view(-1)[list(places)] = value
    return y


GAPS = [(rnd(5, 4),), (put(rnd(5, 4), -999.0, 3, 9),), (rnd(5, 4),), (put(rnd(5, 4), -999.0, 0, 1, 2, 3),), (put(rnd(5, 4), -999.0, 17),), (rnd(5, 4),)]
HITS = [(rnd(4) * 0.3,), (put(rnd(4) * 0.3, 1.0, 0, 2),), (rnd(4) * 0.3,), (put(rnd(4) * 0.3, -1.0, 1),), (torch.ones(4),), (rnd(4) * 0.3,)]


@case(HITS[0], HITS)
def clip_light_of_a_meter():
    class Meter(nn.Module):
        def __init__(self):
            super().__init__()
            self.light = torch.zeros(4)

        def forward(self, x):
            before = self.light * 1.0
            torch.full((4,), (x.abs() == 1.0).float().mean(), out=self.light)
            return x + self.light, before

    return Meter()


BLACK = [(rnd(2, 3).abs() + 0.1,), (put(rnd(2, 3).abs() + 0.1, 0.0, 1),), (rnd(2, 3).abs() + 0.1,), (put(rnd(2, 3).abs(), 0.0, 0, 5),), (torch.zeros(2, 3),)]


@case(BLACK[0], BLACK)
def canvas_behind_black_pixels():
    def program(image):
        canvas = torch.zeros(2, 3)
        torch.full((2, 3), image.max().item() + 0.5, out=canvas)
        return torch.where(image == 0.0, canvas, image)

    return program


@case(HITS[0], HITS)
def hold_by_an_operator_of_aten():
    class Hold(nn.Module):
        def __init__(self):
            super().__init__()
            self.peak = torch.zeros(4)

        def forward(self, x):
            torch.ops.aten.copy_.default(self.peak, torch.maximum(self.peak * 0.5, (x.abs() == 1.0).float()))
            return x - self.peak

    return Hold()


@case(GAPS[0], GAPS)
def workspace_of_an_out_overload():
    work = torch.zeros(5, 4)

    def program(x):
        torch.ops.aten.mul.out(x, (x == -999.0).float(), out=work)
        torch.ops.aten.neg.out(work, out=work)
        return x + work

    return program


MODES = [(torch.tensor([[4.0, 3.0, 2.0, 1.0, 0.0, -1.0]]) + rnd(1, 6) * 0.01, torch.tensor([0, 1]))] + [(rnd(1, 6), torch.tensor(m)) for m in ([2, 0], [1, 0], [2, 2], [0, 2], [2, 1])]


@case(MODES[0], MODES)
def gate_whose_experts_are_not_sorted():
    def program(scores, mode):
        weights, experts = torch.topk(scores.sigmoid(), 4, dim=-1, sorted=False)
        routed = (mode == 2).view(2, 1)
        return torch.where(routed, weights / weights.sum(-1, keepdim=True), 0.25), torch.where(routed, experts, -1)

    return program


VOTES = [(torch.tensor([[5, 4, 3, 2, 1]]), torch.tensor([0]))] + [(torch.tensor([v]), torch.tensor([2])) for v in ([1, 2, 3, 4, 5], [3, 5, 1, 4, 2], [2, 1, 5, 3, 4], [4, 5, 2, 1, 3])]


@case(VOTES[0], VOTES, front="pt2")
def pt2_queries_in_any_order():
    class Net(nn.Module):
        def forward(self, votes, kind):
            top, place = torch.topk(votes, 3, dim=1, sorted=False)
            return torch.where(kind == 2, place, place.amin() * 0), torch.where(kind == 2, top, 0)

    return Net()
