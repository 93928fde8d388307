"""The whole numbers with which a program may compare sizes, for the bundle beside the program at other sizes (host_tracer/check/size_sweep.h)."""

import re
import types
from typing import NamedTuple

import torch

_EXTENTS = range(2**31)  # that there may be
_FEW = 64  # items of a container whose numbers are rather sizes than indices
_LONGEST_TEXT = 64
_DIGITS = re.compile(r"(?<![\d.])\d{1,9}(?![\d.])")


class Held(NamedTuple):
    """What is found: numbers in the program's code, those that it holds, tuples of numbers that stand in one text ("96x37"), tuple or list."""

    written: set
    held: set
    together: set


def numbers_held(holdings):
    """The Held of a program. `holdings`: as of Reach.holdings."""
    found, seen = Held(set(), set(), set()), set()
    for value, items in holdings:
        if isinstance(value, types.FunctionType):
            _read(value.__code__, found, seen)
        elif len(items) <= _FEW:
            found.held.update(_numbers_in(items, found))
            if type(value) in (tuple, list, torch.Size):
                _take_together(items, found)
    return found._replace(held=found.held - found.written)


def _read(code, found, seen):
    """Constants and names of a function, and of those in it."""
    if code in seen:
        return
    seen.add(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _read(constant, found, seen)
            continue
        items = constant if isinstance(constant, (tuple, frozenset)) else (constant,)
        found.written.update(_numbers_in(items, found))
        _take_together(items, found)
    _numbers_in(code.co_names, found)


def _numbers_in(items, found):
    for item in items:
        if isinstance(item, int) and type(item) is not bool or type(item) is float and item.is_integer():
            if int(item) in _EXTENTS:
                yield int(item)
        elif type(item) is str and len(item) <= _LONGEST_TEXT:
            numbers = [int(digits) for digits in _DIGITS.findall(item)][:4]
            found.held.update(numbers)
            _take_together(numbers, found)


def _take_together(items, found):
    if 2 <= len(items) <= 4 and all(type(item) is int and item in _EXTENTS for item in items):
        found.together.add(tuple(items))
