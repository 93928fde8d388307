"""The bundle beside the program at every size, as far as seconds go. It finds what no question about sizes shows: a size that C reads (int(n), "%d" % n,
range(n)), a table by the text of a shape. Where results are far apart the program is captured there, too, and compared as elsewhere."""

import random
import time
import types

import torch

from lazyrt.code_names import is_file_of_library
from lazyrt.errors import Error, ExportError
from lazyrt.session import load

_SECONDS = 5.0
_MOST_ALONG = 1024  # sizes of a symbol
_MOST_DRAWN = 256  # of several symbols together
_MOST_PARTING = 8  # points that are told at once
_MOST_KEYS = 4096  # of a table
_FAR = 1e-3  # of a tensor's largest value: what rounding alone does not do to most programs


class SizesPart(ExportError):
    """The bundle gives something else than the program, at these points."""

    def __init__(self, points, text):
        super().__init__(text, "mismatch")
        self.points = points


def numbers_written(program):
    """Whole numbers in the functions of the program's classes, and among the attributes and keys that its modules hold."""
    found, seen = set(), set()

    def code(item):
        if item not in seen:
            seen.add(item)
            for constant in item.co_consts:
                if type(constant) is types.CodeType:
                    code(constant)
                else:
                    number(constant)

    def number(item):
        if type(item) in (tuple, frozenset):
            for part in item:
                number(part)
        elif type(item) is int:
            found.add(item)

    def of_names(names):
        for item in list(names.values()):
            if isinstance(item, types.FunctionType) and not is_file_of_library(item.__code__.co_filename):
                code(item.__code__)
            elif isinstance(item, dict) and len(item) <= _MOST_KEYS:
                for key in list(item):
                    number(key)
            else:
                number(item)

    holders = [*program.shell.modules(), program.target]
    for holder in holders:
        of_names(getattr(holder, "__dict__", {}))
        for kind in type(holder).__mro__:
            of_names(vars(kind))
    function = getattr(program.target, "__func__", program.target)
    if isinstance(function, types.FunctionType):
        code(function.__code__)
        of_names(function.__globals__)
    return found


def points_to_try(sizes, written):
    """Those of all sizes of each symbol, the others being the sample's, and of drawn sizes of all symbols: at first what the program names, then the others
    in an order that says nothing."""
    draw, sample = random.Random(1), tuple(sizes.sample)
    named, others = [], []
    for index, symbol in enumerate(sizes.symbols):
        every = range(symbol.least, symbol.most + 1, symbol.multiple)
        some = every if len(every) <= _MOST_ALONG else sorted(draw.sample(every, _MOST_ALONG))
        near = {number + more for number in written for more in (-1, 0, 1)}
        for into, along in ((named, sorted(near.intersection(every))), (others, some)):
            into += [(*sample[:index], size, *sample[index + 1:]) for size in along]
    if len(sizes.symbols) > 1:
        others += [tuple(draw.randrange(s.least, s.most + 1, s.multiple) for s in sizes.symbols) for _ in range(_MOST_DRAWN)]
    draw.shuffle(named)
    draw.shuffle(others)
    return list(dict.fromkeys([*named, *others]))


def _leaves(value):
    return [leaf if isinstance(leaf, (str, type(None))) else torch.as_tensor(leaf).detach() for leaf in torch.utils._pytree.tree_leaves(value)]


def _moved(sizes, target, sample, point):
    """The example at a point, of which floating inputs differ in the last places."""
    example = sizes.resized(target, sample, list(point))
    for _, tensor in example.inputs:
        if tensor.is_floating_point() and tensor.numel():
            signs = torch.arange(tensor.numel(), dtype=tensor.dtype).remainder(2).mul(2).sub(1).view(tensor.shape)
            tensor.detach().mul_(1 + signs * 8 * torch.finfo(tensor.dtype).eps)
    return example


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
    return len(moved) != len(far) or any(_is_any(a if b is True or b is False else a & ~b) for a, b in zip(far, moved))


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


def sweep(sizes, bundle, target, sample, eager, written, tried):
    """Raises SizesPart where the bundle's results are far from eager(example)'s. `tried`: points at which they are compared anyway. Sizes that one of both
    refuses are left out. Gives how many there were."""
    program, end, compared, parting = load(bundle), time.perf_counter() + _SECONDS, 0, []
    for point in points_to_try(sizes, written):
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
