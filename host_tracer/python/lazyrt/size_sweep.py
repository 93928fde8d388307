"""The bundle beside the program at every size, as far as seconds go. It finds what no question about sizes shows: a size that C reads (int(n), "%d" % n,
range(n)), a table by the text of a shape. Where their results part the program is captured there, too, and compared as elsewhere."""

import functools
import itertools
import math
import random
import re
import time
import types
from typing import NamedTuple

import torch

from lazyrt import layouts
from lazyrt.call_logs import numbers_of, path_of
from lazyrt.errors import ExportError
from lazyrt.session import load

_SECONDS = 5.0
_SECONDS_TO_LEARN = 2.0
_MOST_AT_ONCE = 1024  # points for one reason
_MOST_JOINED = 64  # numbers of which sums, products and quotients are tried
_MOST_SIDES = 32  # of each symbol, of which all pairs are tried
_MOST_AREAS = 64  # numbers that are tried as the product of two sizes
_MOST_DRAWN = 20_000  # points at sizes of several symbols
_FEW_ITEMS = 64
_LONGEST_TEXT = 64
_DIGITS = re.compile(r"(?<![\d.])\d{1,9}(?![\d.])")
_MOST_PARTING = 8  # points that are told at once


class SizesPart(ExportError):
    """The bundle gives something else than the program, at these points; where it is not `is_far`, that may be rounding."""

    def __init__(self, points, text, is_far):
        super().__init__(text, "mismatch")
        self.points, self.is_far = points, is_far


class Held(NamedTuple):
    """Whole numbers that may be sizes."""

    written: set  # in functions of the user
    few: set  # in the heap, by themselves or among few
    many: set  # in containers of hundreds
    together: set  # tuples, of one text each: "96x37"


def numbers_held(nodes):
    """Held in the user's functions and all that the user's heap holds. `nodes`: see heap.Heap."""
    written, few, many, together, seen = set(), set(), set(), set(), set()

    def read(code):
        if code not in seen:
            seen.add(code)
            for constant in code.co_consts:
                if isinstance(constant, types.CodeType):
                    read(constant)
                else:
                    look(constant if isinstance(constant, (tuple, frozenset)) else (constant,), written)
            for name in code.co_names:
                look_at_text(name)

    def look_at_text(text):
        if len(text) <= _LONGEST_TEXT:
            numbers = tuple(int(digits) for digits in _DIGITS.findall(text))
            if numbers:
                together.add(numbers)

    def look(items, found):
        for item in items:
            if isinstance(item, int) and type(item) is not bool:
                found.add(int.__int__(item))
            elif type(item) is float and item.is_integer():
                found.add(int(item))
            elif type(item) is str:
                look_at_text(item)

    for value, _, items in list(nodes.values()):
        if isinstance(value, types.FunctionType):
            read(value.__code__)
        if type(value) in (tuple, list, torch.Size) and 2 <= len(value) <= 4 and all(type(item) is int for item in value):
            together.add(tuple(value))
        look(items, few if len(items) <= _FEW_ITEMS else many)
    if len(together) <= _MOST_AT_ONCE:
        few.update(*together)
    return Held(written, few - written, many - written - few, {numbers for numbers in together if len(numbers) > 1})


def points_to_try(sizes, numbers):
    """Those of all sizes of each symbol, the others being the sample's, and of drawn sizes of all symbols: at first what the program names, then the others
    in an order that says nothing. `numbers`: Held."""
    draw, sample, found = random.Random(1), tuple(sizes.sample), []
    every = [range(symbol.least, symbol.most + 1, symbol.multiple) for symbol in sizes.symbols]

    def add(points):
        points = list(points)
        draw.shuffle(points)
        found.extend(points[:_MOST_AT_ONCE])

    add(_with(sample, dict(zip(places, sizes_of))) for sizes_of in sorted(numbers.together) for places in itertools.permutations(range(len(every)), min(len(sizes_of), len(every)))
        if all(size in every[i] for i, size in zip(places, sizes_of)))
    largest = max(along[-1] for along in every)
    named = [number for number in sorted(numbers.written | numbers.few) if number <= largest]
    among = [_some([number for number in named if number in along], _MOST_SIDES, draw) for along in every]
    named = _some(named, _MOST_JOINED, draw)
    joined = {made for a, b in itertools.permutations(named, 2) for made in (a * b, a + b, a - b, a // b if b else 0)}
    for (i, ours), (j, theirs) in itertools.combinations(enumerate(among), 2):
        add(_with(sample, {i: a, j: b}) for a in ours for b in theirs)
    for group in (numbers.written, numbers.few, joined, numbers.many):
        near = sorted({number + more for number in group for more in ((0,) if group is joined else (-1, 0, 1))})
        for i, along in enumerate(every):
            add(_with(sample, {i: size}) for size in near if size in along)
        for (i, along), (j, others) in itertools.combinations(enumerate(every), 2):
            if group is joined:
                continue
            areas = _some(sorted(number for number in group if along[0] * others[0] <= number <= along[-1] * others[-1]), _MOST_AREAS, draw)
            sides = _some(along, _MOST_AT_ONCE, draw)
            add(_with(sample, {i: side, j: area // side}) for area in areas for side in sides if area % side == 0 and area // side in others)
    for i, along in enumerate(every):
        add(_with(sample, {i: size}) for size in _some(along, _MOST_AT_ONCE, draw))
    if len(every) > 1:
        found.extend(_drawn(every, _MOST_DRAWN, draw))
    return list(dict.fromkeys(found))


def _drawn(every, most, draw):
    """Points at any sizes: all where there are few."""
    if math.prod(map(len, every)) <= most:
        points = list(itertools.product(*every))
        draw.shuffle(points)
        return points
    return [tuple(map(draw.choice, every)) for _ in range(most)]


def _with(point, changed):
    return tuple(changed.get(i, size) for i, size in enumerate(point))


def _some(items, most, draw):
    return items if len(items) <= most else draw.sample(items, most)


class _Paths:
    """The paths that the program takes at sizes at which it was captured, by its calls in eager, and the numbers in them that are the same at all of these."""

    def __init__(self):
        self._known = {}  # path -> {place among its numbers: the number; None where they differ}

    def learn(self, calls):
        numbers = numbers_of(calls)
        known = self._known.setdefault(path_of(calls), dict(enumerate(numbers)))
        for place, number in enumerate(numbers):
            if known.get(place) != number:
                known[place] = None

    def know(self, calls):
        """Whether it is one of them, with these numbers."""
        known = self._known.get(path_of(calls))
        return known is not None and all(known.get(place) in (None, number) for place, number in enumerate(numbers_of(calls)))


class _Sweep:
    """One bundle beside its program. `look`: see sweep."""

    def __init__(self, sizes, bundle, target, sample, look):
        self.program = load(bundle)
        self._sizes, self._target, self._sample, self._look = sizes, target, sample, look
        self._paths = _Paths()
        self._others = self._numbers_that_eager_takes()

    def learn(self, points):
        """The paths at these points; where that takes long, all paths are taken for known."""
        end = time.perf_counter() + _SECONDS_TO_LEARN
        for point in points:
            if time.perf_counter() > end:
                self._paths = None
                return
            for seen in self._look(*self._calls_at(point)):
                self._paths.learn(seen.calls)

    def parts_at(self, point):
        """"far" where they part; "near" where they do by little, or where the program takes a path that it takes nowhere where it was captured; else ""."""
        example, calls = self._calls_at(point)
        theirs = self._look(example, calls)
        self.program.reset()
        moved, found = None, ""
        for i, (tensors, seen) in enumerate(zip(calls, theirs)):
            args, kwargs = example.call([tensor.detach().clone() for tensor in tensors])
            try:
                ours = self.program(*args, **kwargs)
            except Exception:  # a guard on these numbers
                break
            if self._paths and not self._paths.know(seen.calls):
                found = "near"
            if layouts.are_close(ours, seen.result):
                continue
            moved = moved or self._look(example, [list(map(_moved, tensors)) for tensors in calls])
            if i >= len(moved) or layouts.are_close(ours, seen.result, moved[i].result):
                continue
            found = "near"
            if not layouts.same_results(ours, seen.result) and layouts.same_results(moved[i].result, seen.result):
                return "far"
        return found

    def _calls_at(self, point):
        """The sample at these sizes, then with other numbers, then again."""
        example = self._sizes.resized(self._target, self._sample, list(point))
        given = [tensor for _, tensor in example.inputs]
        return example, [given, *([self._others(given)] if self._others else []), given]

    def _numbers_that_eager_takes(self):
        """Gives others in place of some tensors' numbers, such that eager takes them at the sample's sizes; None where there are none."""
        given = [tensor.detach() for _, tensor in self._sample.inputs]
        for others in (functools.partial(_others, 7, 5), functools.partial(_others, 3, 1), functools.partial(_others, 1, 0)):
            if len(self._look(self._sample, [given, others(given)])) == 2:
                return others
        return None


def _others(factor, step, tensors):
    """Larger numbers; `factor` and `step` are those of integers."""
    return [tensor * 30 + 7.5 if tensor.is_floating_point() or tensor.is_complex() else
            tensor * factor + (step * torch.arange(tensor.numel())).view(tensor.shape).to(tensor.dtype) if tensor.dtype is not torch.bool else tensor
            for tensor in tensors]


def _moved(tensor):
    """A tensor whose floating numbers differ in the last places."""
    if not tensor.is_floating_point():
        return tensor
    signs = torch.arange(tensor.numel(), dtype=tensor.dtype).remainder(2).mul(2).sub(1).view(tensor.shape)
    return tensor.detach() * (1 + signs * 8 * torch.finfo(tensor.dtype).eps)


def sweep(sizes, bundle, target, sample, look, numbers, tried, lenient=False):
    """Raises SizesPart where the bundle's results are not those of eager, or eager takes another path than anywhere where the program was captured. Both
    are suspicions: where the program is captured, the check compares them as it should. `look(example, calls)`: what eager does in a row of calls on these
    lists of tensors in place of the example's, until one raises; it raises where the first does. `numbers`: Held. `tried`: points at which they are compared
    anyway. `lenient`: small differences and other paths are none. Sizes that one of both refuses are left out."""
    run, parting = _Sweep(sizes, bundle, target, sample, look), {}
    run.learn(tried)
    end = time.perf_counter() + _SECONDS
    for point in points_to_try(sizes, numbers):
        if time.perf_counter() > end or len(parting) >= _MOST_PARTING:
            break
        try:
            how = "" if point in tried else run.parts_at(point)
        except Exception:  # eager does not take this size
            continue
        if how == "far" or how and not lenient:
            parting[point] = how
    if parting:
        far = [point for point, how in parting.items() if how == "far"]
        raise SizesPart(list(parting), f"at {sizes.text(list([*far, *parting][0]))} the bundle gives something else than the program, which finds out its sizes in a "
                        "way that cannot be followed: compare sizes as they are (not their int(), float() or text), or give samples of such sizes", bool(far))
