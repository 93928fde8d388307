"""Numbers that a program keeps and that change with every call: carriers over hidden states of the bundle."""

import collections
import functools

import numpy
import torch

from lazyrt import reach
from lazyrt.carriers import LazyFloat, LazyInt, NumpyFloat
from lazyrt.entries import remake_partial

reach.CARRIERS.update([LazyInt, LazyFloat, NumpyFloat])


def carrier(lazy, number):
    """The number of a 0-dim lazy tensor, int64 or float64, that stands for this one: NumPy's has rules of its own."""
    if lazy.dtype != torch.float64:
        return LazyInt(lazy)
    return NumpyFloat(lazy) if isinstance(number, numpy.float64) else LazyFloat(lazy)


def tensor_of(number):
    """The 0-dim lazy tensor of a carrier."""
    with torch._C.DisableTorchFunction():
        return number._tensor


def as_tensor(number):
    """A plain int or float as a tensor of a carrier's type; None for an int that is too large."""
    if isinstance(number, float):
        return torch.tensor(float(number), dtype=torch.float64)
    return torch.tensor(int(number)) if -2**62 < number < 2**62 else None


class _KeptInt(int):
    pass


class _KeptFloat(float):
    pass


class _KeptNumpyFloat(numpy.float64):
    pass


def kept(number, carried):
    """A number that is an object of its own: it stands in a later phase where a carrier will, of the kind of the one that was `carried`."""
    if not isinstance(number, float):
        return _KeptInt(number)
    return _KeptNumpyFloat(number) if type(carried) is NumpyFloat else _KeptFloat(number)


def is_kept(number):
    return isinstance(number, (_KeptInt, _KeptFloat, _KeptNumpyFloat))


def can_put(owner):
    return owner is not None and not (isinstance(owner, type) and type(owner) is not type)


def get(owner, name):
    """What lies where put() would put something."""
    if isinstance(owner, (dict, list, collections.deque)):
        return next(kind for kind in (dict, list, collections.deque) if isinstance(owner, kind)).__getitem__(owner, name)
    inner = getattr(owner, "__dict__", {})
    return inner[name] if name in inner else getattr(owner, name)


def put(owner, name, value):
    """Puts a value into an attribute, an item, a cell or among globals, past what the owner's class says to that."""
    for kind in (dict, list, collections.deque):
        if isinstance(owner, kind):
            return kind.__setitem__(owner, name, value)
    if isinstance(owner, type):
        return type.__setattr__(owner, name, value)
    if isinstance(owner, functools.partial) and name == "args":
        return remake_partial(owner, owner.func, value, owner.keywords)
    inner = getattr(owner, "__dict__", None)
    if inner is not None and name in inner:
        inner[name] = value
        return None
    return object.__setattr__(owner, name, value)
