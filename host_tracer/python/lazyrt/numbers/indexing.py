"""x[i] and x[i] = v where i is an integer of the graph: index_select and index_copy_ replace a number read on the host. Eager returns a view there,
but a selection is a copy; so a program that later writes into one of the two is captured again, with numbers read on the host."""

import sys
import weakref

import torch

from lazyrt import _tracer
from lazyrt.numbers.carriers import LazyInt
from lazyrt.record.tensors import is_lazy

_PARTS = (int, slice, type(None), type(Ellipsis))


class SelectionsMatter(Exception):
    """The program writes into a selection made by a number of the graph, or into the tensor that it was selected from."""


def _is_number(part):
    if type(part) is LazyInt:
        return True
    return is_lazy(part) and part.dim() == 0 and not part.is_floating_point() and part.dtype not in (torch.bool, torch.uint8)


def _is_plain(part):
    bounds = (part.start, part.stop, part.step) if isinstance(part, slice) else (part,)
    return type(part) in _PARTS and all(type(bound) in _PARTS for bound in bounds)


def parts_of(index):
    """The parts of an index that contains numbers of the graph beside plain ones; None for any other index."""
    parts = index if type(index) is tuple else (index,)
    if not any(map(_is_number, parts)) or not all(_is_number(part) or _is_plain(part) for part in parts):
        return None
    return parts


def _left_out(tensor, parts):
    """The dimensions that an ellipsis among the parts stands for."""
    return tensor.dim() - sum(part is not None and part is not Ellipsis for part in parts)


def _open(tensor, parts):
    """(index that leaves the numbers' dimensions whole, [(dimension of the result, number)])"""
    dim, found, index = 0, [], []
    for part in parts:
        if _is_number(part):
            found.append((dim, part))
            part = slice(None)
        index.append(part)
        if part is Ellipsis:
            dim += _left_out(tensor, parts)
        elif type(part) is not int:
            dim += 1
    return tuple(index), found


def _place(number, size):
    """The number as an index tensor, counted from the front; a position before the first becomes `size`, which is out of range, too."""
    number = number._tensor if type(number) is LazyInt else number.to(torch.int64)
    from_end = torch.where(number < -size, size, number + size)
    return torch.where(number < 0, from_end, number).reshape(1)


def select(tensor, parts):
    """tensor[parts]"""
    index, numbers = _open(tensor, parts)
    result = tensor[index]
    for dim, number in reversed(numbers):
        result = result.index_select(dim, _place(number, result.shape[dim])).squeeze(dim)
    return result


def can_write(parts):
    """Whether write() does it."""
    return sum(map(_is_number, parts)) == 1


def write(tensor, parts, value):
    """tensor[parts] = value, with a tensor as value."""
    index, [(dim, number)] = _open(tensor, parts)
    target = tensor[index]
    shape = [size for i, size in enumerate(target.shape) if i != dim]
    while value.dim() > len(shape) and value.shape[0] == 1:
        value = value[0]
    value = value.to(target.dtype).expand(shape).unsqueeze(dim)
    target.index_copy_(dim, _place(number, target.shape[dim]), value)


def _goes_forward(part):
    return type(part) is not slice or part.step is None or part.step > 0


def bounded_parts(index):
    """The parts of a plain index that bounds some dimension, as x[:, :n] does; None for any other."""
    parts = index if type(index) is tuple else (index,)
    bounds = any(type(part) is slice and (part.start, part.stop) != (None, None) for part in parts)
    return parts if bounds and all(_is_plain(part) and _goes_forward(part) for part in parts) else None


def sliced(tensor, parts):
    """tensor[parts] with a slice for each bounded part: torch omits slices that take everything, which depends on sizes."""
    dim, result = 0, tensor
    for part in parts:
        if part is Ellipsis:
            dim += _left_out(tensor, parts)
        elif part is None:
            result = result.unsqueeze(dim)
            dim += 1
        elif type(part) is int:
            result = result.select(dim, part)
        else:
            if part != slice(None):
                start, stop, step = 0 if part.start is None else part.start, sys.maxsize if part.stop is None else part.stop, part.step or 1
                result = torch.ops.aten.slice(result, dim, start, stop, step)
            dim += 1
    return result


class _Selection:
    """`result` was selected from `base`."""

    def __init__(self, base, parts, result):
        self.base, self.parts, self._result, self._held = base, parts, weakref.ref(result), None
        self._versions = base._version, result._version

    def hold(self):
        """Whether somebody still holds the result, which is kept alive from now on."""
        self._held = self._result()
        return self._held is not None

    def is_result(self, value, base, parts):
        return self._result() is value and self.base is base and len(self.parts) == len(parts) and all(a is b for a, b in zip(self.parts, parts))

    def was_written(self):
        return self.hold() and (self.base._version, self._held._version) != self._versions

    def memory(self):
        return _tracer.memory_of(self._held) if self.hold() else None


class Selections:
    """Those of one run of the program."""

    def __init__(self):
        self._made = []
        self._matter = False

    def add(self, base, parts, result):
        self._made.append(_Selection(base, parts, result))

    def before_write(self):
        """Drops selections that nobody holds any more: a write does not affect them."""
        self._made = [made for made in self._made if made.hold()]

    def put_back(self, base, parts, value):
        """Ends a selection that is written back to where it was selected, as in x[i] += 1."""
        self._made = [made for made in self._made if not made.is_result(value, base, parts)]
        self.before_write()

    def keep(self, tensors):
        """Checks the tensors that outlive the run: a selection among them would be a view."""
        kept = {_tracer.memory_of(tensor) for tensor in tensors if is_lazy(tensor)}
        self._matter |= any(made.memory() in kept for made in self._made)
        self.check()

    def check(self):
        """Raises SelectionsMatter."""
        if self._matter or any(made.was_written() for made in self._made):
            raise SelectionsMatter
