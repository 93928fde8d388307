"""What calls of one size leave behind for calls of others: notes that nothing reads, tables of sizes, counters, and what makes a difference."""

import collections
import functools

import torch
from torch import nn

from harness import sized
from sized_inputs import REFUSED, X0, row

N = {"n": (2, 40, 9)}


def kept(expect=("right",)):
    return sized(row, N, X0, also=[5, 5, 9, 7, 5], count=3, expect=expect)


class Activations(nn.Module):
    """Hooks note what each layer gives, in a dict that each call fills anew."""

    def __init__(self):
        super().__init__()
        self.body, self.seen = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 4)), collections.OrderedDict()
        for name, module in self.body.named_children():
            module.register_forward_hook(functools.partial(self._keep, name))

    def _keep(self, name, module, args, output):
        self.seen[name] = output

    def forward(self, x):
        self.seen.clear()
        y = self.body(x)
        return y, {name: output.abs().mean(0) for name, output in self.seen.items()}


@kept()
def activations_by_hooks():
    return Activations().eval()


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.maps = []

    def forward(self, x):
        self.maps.clear()
        self.maps.append((x @ x.T).softmax(-1))
        return self.maps[0] @ x


@kept()
def attention_maps():
    return Attention()


class Counted(nn.Module):
    """A table of each size, and a counter."""

    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.zeros(()))
        self.tables = {}

    def table(self, n):
        if n not in self.tables:
            self.tables[n] = torch.ones(n, 1) / n
        return self.tables[n]

    def forward(self, x):
        self.steps = self.steps + 1
        return x * self.table(x.shape[0]) * self.steps


@kept()
def table_and_counter():
    return Counted()


class CountedInPlace(Counted):
    def forward(self, x):
        self.steps += 1
        return x * self.table(x.shape[0]) * self.steps


@kept()
def table_and_counter_in_place():
    return CountedInPlace()


class OtherThanTheLast(nn.Module):
    """What is kept is asked for its shape alone."""

    def __init__(self):
        super().__init__()
        self.last = None

    def forward(self, x):
        y = x * 2 if self.last is not None and self.last.shape != x.shape else x
        self.last = x
        return y


@kept(expect=REFUSED)
def other_than_the_last():
    return OtherThanTheLast()


class LimitOfTheLast(nn.Module):
    """The size of the last call is a limit that no value reaches before the next."""

    def __init__(self):
        super().__init__()
        self.last = 9

    def forward(self, x):
        y = x.clamp(max=self.last * 1e-3)
        self.last = x.shape[0]
        return y


@kept(expect=REFUSED)
def limit_of_the_last():
    return LimitOfTheLast()
