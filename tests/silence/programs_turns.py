"""What a program sees of how its tensors lie in memory, of hooks, counters and large memory, and only after many calls: later than the check's row."""

import abc
import functools
import io
import itertools
import mmap
import threading

import numpy as np
import torch
from harness import Call, case
from torch import nn

X = (torch.ones(4),)
MANY = [X] * 30
ORDER = (1, 2, 0, 4, 5, 6, 7, 3)  # is what it was after fifteen turns


def late(x, count):
    return -x if count >= 25 else x


@case(X, MANY)
def offset_in_memory():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.base = torch.zeros(100)
            self.place = self.base[:1]

        def forward(self, x):
            count = self.place.storage_offset()
            self.place = self.base[count + 1 : count + 2]
            return late(x, count)

    return Net().eval()


@case(X, MANY)
def stride_of_one_element():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.base = torch.zeros(1)
            self.place = self.base.as_strided((1,), (1,))

        def forward(self, x):
            count = self.place.stride(0)
            self.place = self.base.as_strided((1,), (count + 1,))
            return late(x, count)

    return Net().eval()


@case(X, MANY)
def constant_that_turns():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.zeros((2,) * 8).permute(ORDER)

        def forward(self, x):
            was = self.table.is_contiguous()
            self.table = self.table.permute(ORDER)
            return -x if was else x

    return Net().eval()


@case(X, MANY)
def state_that_turns():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.state = torch.zeros((2,) * 8).permute(ORDER)

        def forward(self, x):
            flat = self.state.reshape(256)
            flat.add_(1.0)
            result = self.state.sum() + flat
            self.state = (self.state + x.sum()).permute(ORDER)
            return result

    return Net().eval()


@case(X, MANY)
def buffer_that_turns():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("state", torch.zeros((2,) * 8).permute(ORDER))

        def forward(self, x):
            flat = self.state.reshape(256)
            flat.add_(1.0)
            result = self.state.sum() + flat
            self.state = (self.state + x.sum()).permute(ORDER)
            return result

    return Net().eval()


@case(X, MANY, expect=("right",))
def window_that_stays():
    """A view of a constant that is cut anew in each call, at one place, beside a state that is written through a view."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.part = torch.arange(12.0).reshape(3, 4), None
            self.register_buffer("memory", torch.zeros(2, 4))

        def forward(self, x):
            self.part = self.table[1:2].t()
            self.memory.view(-1)[4:].add_(x)
            return self.memory.sum(0) * self.part.flatten()

    return Net().eval()
