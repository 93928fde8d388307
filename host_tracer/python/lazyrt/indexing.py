"""x[i] and x[i] = v where i is a whole number of the graph: index_select and index_copy_ in place of a number that leaves.

What eager gives there is a view. A selection is none; so a program that goes on to write into one of the two is captured anew, with
numbers that leave."""

import torch

from lazyrt.carriers import LazyInt

_PARTS = (int, slice, type(None), type(Ellipsis))


class SelectionsMatter(Exception):
    """The program writes into what it has selected by a number of the graph, or into what it has selected from."""


def _is_lazy(value):
    return isinstance(value, torch.Tensor) and value.device.type == "lazy"


def _is_number(part):
    if type(part) is LazyInt:
        return True
    return _is_lazy(part) and part.dim() == 0 and not part.is_floating_point() and part.dtype not in (torch.bool, torch.uint8)


def _is_plain(part):
    bounds = (part.start, part.stop, part.step) if isinstance(part, slice) else (part,)
    return type(part) in _PARTS and all(type(bound) in _PARTS for bound in bounds)


def parts_of(index):
    """The parts of an index in which numbers of the graph stand beside plain ones; None of any other index."""
    parts = index if type(index) is tuple else (index,)
    if not any(map(_is_number, parts)) or not all(_is_number(part) or _is_plain(part) for part in parts):
        return None
    return parts


def _open(tensor, parts):
    """(index that leaves the numbers' dimensions whole, [(dimension of the result, number)])"""
    taken = sum(part is not None and part is not Ellipsis for part in parts)
    dim, found, index = 0, [], []
    for part in parts:
        if _is_number(part):
            found.append((dim, part))
            part = slice(None)
        index.append(part)
        if part is Ellipsis:
            dim += tensor.dim() - taken
        elif type(part) is not int:
            dim += 1
    return tuple(index), found


def _place(number, size):
    """The number as an index tensor, counted from the front; what lies before it becomes `size`, which is none either."""
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


class Selections:
    """Those of one run of the program."""

    def __init__(self):
        self._made = []

    def add(self, base, result):
        """`result` was selected from `base`."""
        self._made.append((base, base._version, result, result._version))

    def put_back(self, base, value):
        """A selection is written into what it was selected from, as in x[i] += 1."""
        for made in [made for made in self._made if made[0] is base and made[2] is value]:
            self._made.remove(made)
            self.add(base, value)

    def check(self):
        """Raises SelectionsMatter."""
        for base, version, result, own in self._made:
            if base._version != version or result._version != own:
                raise SelectionsMatter
