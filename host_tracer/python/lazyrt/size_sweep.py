"""The bundle beside the program at every size, as far as seconds go. It finds what no question about sizes shows: a size that C reads (int(n), "%d" % n,
range(n)), a table by the text of a shape. Where results are far apart the program is captured there, too, and compared as elsewhere."""

import itertools
import random
import time
import types

import torch

from lazyrt import layouts
from lazyrt.errors import ExportError
from lazyrt.session import load

_SECONDS = 5.0
_MOST_AT_ONCE = 1024  # points for one reason
_MOST_AREAS = 64  # numbers that are tried as the product of two sizes
_MOST_DRAWN = 256  # points at sizes of several symbols
_MOST_PARTING = 8  # points that are told at once


class SizesPart(ExportError):
    """The bundle gives something else than the program, at these points."""

    def __init__(self, points, text):
        super().__init__(text, "mismatch")
        self.points = points


def numbers_held(nodes):
    """Whole numbers in the user's functions and all that the user's heap holds: (those in functions, the others). `nodes`: see heap.Heap."""
    written, held, seen = set(), set(), set()

    def read(code):
        if code not in seen:
            seen.add(code)
            for constant in code.co_consts:
                if isinstance(constant, types.CodeType):
                    read(constant)
                else:
                    written.update(item for item in (constant if isinstance(constant, (tuple, frozenset)) else (constant,)) if type(item) is int)

    for value, _, items in list(nodes.values()):
        if isinstance(value, types.FunctionType):
            read(value.__code__)
        held.update(int.__int__(item) for item in items if isinstance(item, int) and type(item) is not bool)
    return written, held - written


def points_to_try(sizes, numbers):
    """Those of all sizes of each symbol, the others being the sample's, and of drawn sizes of all symbols: at first what the program names, then the others
    in an order that says nothing. `numbers`: groups of whole numbers that may be a size, or the product of two."""
    draw, sample, found = random.Random(1), tuple(sizes.sample), []
    every = [range(symbol.least, symbol.most + 1, symbol.multiple) for symbol in sizes.symbols]

    def add(points):
        points = list(points)
        draw.shuffle(points)
        found.extend(points[:_MOST_AT_ONCE])

    for group in numbers:
        near = sorted({number + more for number in group for more in (-1, 0, 1)})
        for i, along in enumerate(every):
            add(_with(sample, {i: size}) for size in near if size in along)
        for (i, along), (j, others) in itertools.combinations(enumerate(every), 2):
            areas = _some(sorted(number for number in group if along[0] * others[0] <= number <= along[-1] * others[-1]), _MOST_AREAS, draw)
            sides = _some(along, _MOST_AT_ONCE, draw)
            add(_with(sample, {i: side, j: area // side}) for area in areas for side in sides if area % side == 0 and area // side in others)
    for i, along in enumerate(every):
        add(_with(sample, {i: size}) for size in _some(along, _MOST_AT_ONCE, draw))
    if len(every) > 1:
        add(tuple(map(draw.choice, every)) for _ in range(_MOST_DRAWN))
    return list(dict.fromkeys(found))


def _with(point, changed):
    return tuple(changed.get(i, size) for i, size in enumerate(point))


def _some(items, most, draw):
    return items if len(items) <= most else draw.sample(items, most)


def _moved(example):
    """The example, of which floating inputs differ in the last places."""
    for _, tensor in example.inputs:
        if tensor.is_floating_point():
            signs = torch.arange(tensor.numel(), dtype=tensor.dtype).remainder(2).mul(2).sub(1).view(tensor.shape)
            tensor.detach().mul_(1 + signs * 8 * torch.finfo(tensor.dtype).eps)
    return example


def sweep(sizes, bundle, target, sample, eager, numbers, tried):
    """Raises SizesPart where the bundle's results are far from eager(example)'s, which is a suspicion: where the program is captured, the check compares them
    as it should. `numbers`: of numbers_held. `tried`: points at which they are compared anyway. Sizes that one of both refuses are left out, and those at
    which eager itself gives something else where its inputs differ in the last places."""
    program, end, parting = load(bundle), time.perf_counter() + _SECONDS, []

    def parts_at(point):
        example = sizes.resized(target, sample, list(point))
        args, kwargs = example.call([tensor.detach().clone() for _, tensor in example.inputs])
        program.reset()
        ours = program(*args, **kwargs)
        theirs = eager(example)
        return not layouts.same_results(ours, theirs) and layouts.same_results(eager(_moved(example)), theirs)

    for point in points_to_try(sizes, numbers):
        if time.perf_counter() > end or len(parting) >= _MOST_PARTING:
            break
        try:
            if point not in tried and parts_at(point):
                parting.append(point)
        except Exception:  # one of both does not take this size
            continue
    if parting:
        raise SizesPart(parting, f"at {sizes.text(list(parting[0]))} the bundle gives something else than the program, which finds out its sizes in a way "
                        "that cannot be followed: compare sizes as they are (not their int(), float() or text), or give samples of such sizes")
