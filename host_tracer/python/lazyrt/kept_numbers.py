"""Numbers that a program keeps and that change with every call: carriers over hidden states of the bundle."""

import collections
import functools

import torch

from lazyrt import reach
from lazyrt.carriers import LazyFloat, LazyInt
from lazyrt.entries import remake_partial

reach.CARRIERS.update([LazyInt, LazyFloat])


def carrier(lazy):
    """The number of a 0-dim lazy tensor, int64 or float64."""
    return LazyFloat(lazy) if lazy.dtype == torch.float64 else LazyInt(lazy)


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


def kept(number):
    """A number that is an object of its own: it stands in a later phase where a carrier will."""
    return _KeptFloat(number) if isinstance(number, float) else _KeptInt(number)


def is_kept(number):
    return isinstance(number, (_KeptInt, _KeptFloat))


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
