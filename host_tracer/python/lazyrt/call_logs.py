"""What a program did in eager: its results, and the calls of torch functions by which it came to them.

Two runs on values that show no difference (a clamp that nothing reaches) differ in their calls all the same."""

import os
import sys

import torch
from torch.overrides import TorchFunctionMode

from lazyrt import layouts

_Tensor = torch.Tensor
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
# They take other calls for one tensor given twice and where gradients are recorded, and compute the same.
_LAYERS = tuple(os.path.join(_TORCH, "nn", "modules", name) for name in ("activation.py", "transformer.py"))
_MOST_FRAMES = 4  # between a call and the layer that makes it
# They give the tensor that they are called on, or say what a program has to act upon in another call.
_SAYS_NOTHING = {"contiguous", "clone", "detach", "detach_", "requires_grad_", "is_contiguous", "stride", "storage_offset", "data_ptr", "size", "dim", "numel",
                 "ndimension", "element_size", "untyped_storage", "storage", "is_floating_point", "__get__", "__len__", "is_set_to", "__repr__", "__format__", "retain_grad",
                 "dim_order", "is_inference", "is_complex", "_set_grad_enabled", "set_grad_enabled", "is_grad_enabled"}
_GRADIENTS = {"grad", "backward"}  # torch keeps their graphs where gradients are recorded
_ONE_NAME = {"view": "reshape", "view_as": "reshape", "reshape_as": "reshape", "flatten": "reshape"}


class Shape(tuple):
    """Stands for a tensor: its type and extents, and the name of a parameter."""


class CallLog(TorchFunctionMode):
    """Writes down the calls that eager makes. `parameters`: {id: name} of tensors that stand for themselves."""

    def __init__(self, parameters=None):
        super().__init__()
        self.calls = []
        self._parameters = parameters or {}

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if name not in _SAYS_NOTHING and not _is_of_layers(sys._getframe(1)):
            given = () if name in _GRADIENTS else tuple(self._form(value) for value in (*args, *kwargs.values()))
            self.calls.append((_ONE_NAME.get(name, name), tuple(kwargs), given, self._form(result)))
        return result

    def _form(self, value):
        if isinstance(value, _Tensor):
            return Shape((value.dtype, *value.shape, self._parameters.get(id(value))))
        if isinstance(value, (list, tuple)):
            return tuple(map(self._form, value))
        if isinstance(value, slice):
            return "slice", self._form(value.start), self._form(value.stop), self._form(value.step)
        if isinstance(value, float) and value != value:
            return "nan"
        return value if isinstance(value, (bool, int, float, complex, str, torch.dtype)) else None


def _is_of_layers(frame):
    for _ in range(_MOST_FRAMES):
        if frame is None or not frame.f_code.co_filename.startswith(_TORCH):
            return False
        if frame.f_code.co_filename in _LAYERS:
            return True
        frame = frame.f_back
    return False


class Seen:
    """One run of the program in eager."""

    def __init__(self, result, calls):
        self.result, self.calls = result, calls

    def same(self, other):
        """Whether the other run did the same, and gave it but for rounding."""
        return self.calls == other.calls and layouts.same_results(self.result, other.result)


# -------------------------------------------------------------------- at other sizes


class Paths:
    """The paths that a program takes at some sizes: the names of its calls, and the numbers in them that are the same at all of these."""

    def __init__(self):
        self._known = {}  # path -> {place among its numbers: the number; None where they differ}

    def learn(self, calls):
        """Takes them in."""
        numbers = _numbers_of(calls)
        known = self._known.setdefault(_path_of(calls), dict(enumerate(numbers)))
        for place, number in enumerate(numbers):
            if known.get(place) != number:
                known[place] = None

    def know(self, calls):
        """Whether it is one of them, with these numbers."""
        known = self._known.get(_path_of(calls))
        return known is not None and all(known.get(place) in (None, number) for place, number in enumerate(_numbers_of(calls)))


def _path_of(calls):
    return tuple(name for name, *_ in calls)


def _numbers_of(calls):
    """The numbers among the arguments of the calls, in order."""
    found = []

    def look(value):
        if isinstance(value, tuple) and not isinstance(value, Shape):
            for item in value:
                look(item)
        elif isinstance(value, (int, float, complex)):
            found.append(value)

    for _, _, given, _ in calls:
        look(given)
    return found
