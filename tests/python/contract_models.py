"""Classes, functions and programs for test_contract.py and test_results.py, and how both of them export and are refused."""

import collections
import dataclasses
import enum
import struct

import numpy as np
import pytest
import torch
from torch import nn

import lazyrt

Pair = collections.namedtuple("Pair", "left right")
X = torch.tensor([1.0, 2.0, 3.0])


def loaded(model, args, bundle, kwargs=None):
    lazyrt.export(model, args, bundle, kwargs=kwargs)
    return lazyrt.load(bundle)


def refused(program, text, *args, **kwargs):
    with pytest.raises(lazyrt.InputError) as raised:
        program(*args, **kwargs)
    assert text in str(raised.value), raised.value


class Mode(enum.Enum):
    ADD = 1
    SUB = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Bits(enum.Flag):
    A = 1
    B = 2


@dataclasses.dataclass
class Config:
    scale: float = 2.0
    names: tuple = ("a",)
    inner: object = None


class Plain:
    factor = 1

    def __init__(self, **fields):
        self.__dict__.update(fields)


class Slotted:
    __slots__ = ("scale",)

    def __init__(self, scale):
        self.scale = scale


class Items(list):
    pass


def act(x):
    return x * 2


def other_act(x):
    return x * 3


def with_defaults(x, mask=None, scale=2.0, *, flag=False):
    y = x * scale if mask is None else x.masked_fill(mask, 0.0)
    return -y if flag else y


class Apart(nn.Module):
    def forward(self, a, b, *, c, **more):
        return a - 2 * b + 4 * c + 8 * more["d"] - 16 * more["e"]


@dataclasses.dataclass
class Answer:
    y: torch.Tensor
    label: str = "net"
    more: object = None


def normalised(image):
    image = image.astype(np.float32) / 255.0 - 0.5
    return torch.from_numpy(image.transpose(2, 0, 1).copy())[None] * 2


def sums(a):
    b = a * 2 + np.ones(3, np.float32)
    b += 1
    b[1:] = 0
    return torch.as_tensor(b).sum(), (b > 1), b.reshape(3, 1)[::2], 3 - a


@torch.jit.script
def doubled_in_c(x):
    return x * 2


class Unpacks(struct.Struct):
    """Has attributes of its own, and a format that C holds."""


@dataclasses.dataclass
class Failure(ValueError):
    code: int = 1


def by_array(x):
    return (torch.from_numpy(x) / 255 if isinstance(x, np.ndarray) else x) * 2


def by_tensor(x):
    return x * 2 if isinstance(x, torch.Tensor) else torch.from_numpy(x) * 3


def by_is_tensor(x):
    return x * 2 if torch.is_tensor(x) else torch.from_numpy(x) * 3


def by_type(x):
    return x * 2 if type(x) is torch.Tensor else torch.from_numpy(x) * 3


def by_attribute(x):
    return x * 2 if hasattr(x, "numpy") else torch.from_numpy(x) * 3
