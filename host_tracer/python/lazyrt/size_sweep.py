"""The bundle beside the program at every size, as far as seconds go. It finds what no question about sizes shows: a size that C reads (int(n), "%d" % n,
range(n)), a table by the text of a shape. Where results are far apart the program is captured there, too, and compared as elsewhere."""

import itertools
import random
import time
import types

import torch

from lazyrt.errors import Error, ExportError
from lazyrt.session import load

_SECONDS = 5.0
_MOST_AT_ONCE = 1024  # points for one reason
_MOST_DRAWN = 256  # points at sizes of several symbols
_MOST_PARTING = 8  # points that are told at once
_FAR = 1e-3  # of a tensor's largest value: what rounding alone does not do to most programs


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
        held.update(int(item) for item in items if isinstance(item, int) and type(item) is not bool)
    return written, held - written


def points_to_try(sizes, numbers):
    """Those of all sizes of each symbol, the others being the sample's, and of drawn sizes of all symbols: at first what the program names, then the others
    in an order that says nothing."""
    draw, sample, found = random.Random(1), tuple(sizes.sample), []
    every = [range(symbol.least, symbol.most + 1, symbol.multiple) for symbol in sizes.symbols]

    def add(points):
        points = list(points)
        draw.shuffle(points)
        found.extend(points[:_MOST_AT_ONCE])

    for group in numbers:
        near = sorted({number + more for number in group for more in (-1, 0, 1)})
        add((*sample[:i], size, *sample[i + 1:]) for i, along in enumerate(every) for size in near if size in along)
        for (i, along), (j, others) in itertools.combinations(enumerate(every), 2):
            add(tuple({i: size, j: area // size}.get(k, other) for k, other in enumerate(sample))
                for area in _some(group, 64, draw) for size in along if area % size == 0 and area // size in others)
    add((*sample[:i], size, *sample[i + 1:]) for i, along in enumerate(every) for size in _some(along, _MOST_AT_ONCE, draw))
    if len(every) > 1:
        add(tuple(map(draw.choice, every)) for _ in range(_MOST_DRAWN))
    return list(dict.fromkeys(found))


def _some(items, most, draw):
    return items if len(items) <= most else draw.sample(sorted(items) if isinstance(items, set) else items, most)


def _moved(sizes, target, sample, point):
    """The example at a point, of which floating inputs differ in the last places."""
    example = sizes.resized(target, sample, list(point))
    for _, tensor in example.inputs:
        if tensor.is_floating_point() and tensor.numel():
            signs = torch.arange(tensor.numel(), dtype=tensor.dtype).remainder(2).mul(2).sub(1).view(tensor.shape)
            tensor.detach().mul_(1 + signs * 8 * torch.finfo(tensor.dtype).eps)
    return example


def _leaves(value):
    return [leaf if isinstance(leaf, (str, type(None))) else torch.as_tensor(leaf).detach() for leaf in torch.utils._pytree.tree_leaves(value)]


def _are_far(ours, theirs, nearly):
    """Whether two results differ by more than what rounding does. `nearly()`: theirs of inputs that differ in the last places. It is a suspicion: the check
    compares them as it should."""
    ours, theirs = _leaves(ours), _leaves(theirs)
    if len(ours) != len(theirs):
        return True
    far = [_far(a, b) for a, b in zip(ours, theirs)]
    if not any(map(_is_any, far)):
        return False
    moved = [_far(a, b, _FAR / 30) for a, b in zip(_leaves(nearly()), theirs)]
    return len(moved) != len(far) or any(b is not True and _is_any(a if b is False else a & ~b) for a, b in zip(far, moved))


def _is_any(far):
    return far if isinstance(far, bool) else bool(far.any())


def _far(a, b, share=_FAR):
    """Where two results differ by more than a share of the largest value; True or False where they are no tensors of one shape."""
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return type(a) is not type(b) or a != b
    if a.shape != b.shape:
        return True
    if not a.is_floating_point() or not b.is_floating_point():
        return a.to(b.dtype) != b
    a, b = a.double(), b.double()
    known = a.isfinite() & b.isfinite()
    largest = b[known].abs().max().item() if known.any() else 0.0
    return torch.where(known, (a - b).abs() > share * largest + 1e-9, (a != b) & ~(a.isnan() & b.isnan()))


def sweep(sizes, bundle, target, sample, eager, numbers, tried):
    """Raises SizesPart where the bundle's results are far from eager(example)'s. `numbers`: of numbers_held. `tried`: points at which they are compared
    anyway. Sizes that one of both refuses are left out. Gives how many there were."""
    program, end, compared, parting = load(bundle), time.perf_counter() + _SECONDS, 0, []
    for point in points_to_try(sizes, numbers):
        if point in tried:
            continue
        if time.perf_counter() > end or len(parting) >= _MOST_PARTING:
            break
        try:
            example = sizes.resized(target, sample, list(point))
            args, kwargs = example.call([tensor.detach().clone() for _, tensor in example.inputs])
            program.reset()
            ours = program(*args, **kwargs)
        except Error:
            continue
        try:
            theirs = eager(example)
        except Exception:  # of the program, which does not take this size
            continue
        compared += 1
        if _are_far(ours, theirs, lambda: eager(_moved(sizes, target, sample, point))):
            parting.append(point)
    if parting:
        raise SizesPart(parting, f"at {sizes.text(list(parting[0]))} the bundle gives something else than the program, which finds out its sizes in a way "
                        "that cannot be followed: compare sizes as they are (not their int(), float() or text), or give samples of such sizes")
    return compared
