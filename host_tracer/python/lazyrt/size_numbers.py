"""The whole numbers with which a program may compare sizes, for the bundle beside the program at other sizes (host_tracer/check/size_sweep.h)."""

import itertools
import re
import types
from typing import NamedTuple

import torch

_EXTENTS = range(2**31)  # that there may be
_FEW = 64  # items of a container whose numbers are rather sizes than indices
_MOST_TEXTS = 1024
_LONGEST_TEXT = 64
_DIGITS = re.compile(r"(?<![\d.])\d{1,9}(?![\d.])")


class Held(NamedTuple):
    """What is found."""

    groups: tuple  # sets of numbers, the likeliest first
    together: set  # tuples of numbers that stand in one text, tuple or list


def numbers_held(holdings):
    """Whole numbers in the program's functions, then those that it holds in objects and small containers, sums and products of two of one object, and all
    others. `holdings`: as of Reach.holdings."""
    found = _Finder()
    for value, items in holdings:
        if isinstance(value, types.FunctionType):
            found.read(value.__code__)
        found.look_at(value, items)
    return found.held()


class _Finder:
    def __init__(self):
        self._written, self._few, self._joined, self._many = set(), set(), set(), set()
        self._texts, self._tuples = set(), set()
        self._seen = set()

    def read(self, code):
        """Constants and names of a function, and of those in it."""
        if code in self._seen:
            return
        self._seen.add(code)
        numbers = set()
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self.read(constant)
                continue
            items = constant if isinstance(constant, (tuple, frozenset)) else (constant,)
            numbers.update(self._numbers_in(items))
            self._take_tuple(items)
        for name in code.co_names:
            self._take_text(name)
        self._written |= numbers
        self._join(numbers)

    def look_at(self, value, items):
        """An object with what it holds."""
        numbers = self._numbers_in(items)
        if len(items) > _FEW:
            self._many.update(numbers)
            return
        self._few.update(numbers)
        self._join(numbers)
        if type(value) in (tuple, list, torch.Size):
            self._take_tuple(items)

    def held(self):
        """The Held."""
        texts = self._texts if len(self._texts) <= _MOST_TEXTS else set()
        few = self._few.union(*texts)
        groups, known = [], set()
        for group in (self._written, few, self._joined, self._many):
            group = {number for number in group if number in _EXTENTS} - known
            groups.append(group)
            known |= group
        return Held(tuple(groups), {numbers for numbers in texts | self._tuples if len(numbers) > 1})

    def _numbers_in(self, items):
        found = []
        for item in items:
            if isinstance(item, int) and type(item) is not bool:
                found.append(int.__int__(item))
            elif type(item) is float and item.is_integer():
                found.append(int(item))
            elif type(item) is str:
                self._take_text(item)
        return found

    def _take_text(self, text):
        if len(text) <= _LONGEST_TEXT:
            numbers = tuple(int(digits) for digits in _DIGITS.findall(text))
            if 0 < len(numbers) <= 4:
                self._texts.add(numbers)

    def _take_tuple(self, items):
        if 2 <= len(items) <= 4 and all(type(item) is int and item in _EXTENTS for item in items):
            self._tuples.add(tuple(items))

    def _join(self, numbers):
        numbers = sorted({number for number in numbers if number in _EXTENTS})
        if len(numbers) <= _FEW:
            for a, b in itertools.permutations(numbers, 2):
                self._joined.update((a * b, a + b, a - b, *((a // b,) if b else ())))
