"""Follows numbers of the program by carriers for as long as the program works with them. If that fails, the program is captured again with plain
numbers, each under its exact guard."""

import collections
import contextlib
import functools
import math
import operator

import torch

from lazyrt import _tracer
from lazyrt.numbers.arrays import from_numpy
from lazyrt.numbers.carriers import Carrier, LazyFloat, best_of
from lazyrt.numbers.indexing import Selections, SelectionsMatter
from lazyrt.record.program_globals import with_functions
from lazyrt.record.statements import Audience, expecting

_MATH = {math.sqrt: torch.sqrt, math.exp: torch.exp, math.expm1: torch.expm1, math.log: torch.log, math.log2: torch.log2, math.log10: torch.log10,
         math.log1p: torch.log1p, math.sin: torch.sin, math.cos: torch.cos, math.tan: torch.tan, math.atan: torch.atan, math.sinh: torch.sinh,
         math.cosh: torch.cosh, math.tanh: torch.tanh, math.fabs: torch.abs, math.isnan: torch.isnan, math.isinf: torch.isinf, math.isfinite: torch.isfinite}
_GROWING = (math.exp, math.expm1, math.sinh, math.cosh)


class Numbers:
    """How one capture treats numbers: whether they are `followed`, whether they select in indices, whether any was `used`."""

    def __init__(self, followed=True, selects=True):
        self.followed, self.selects = followed, selects
        self.selections = Selections()
        self.used = False
        self.audience = Audience()

    def begin(self):
        """A run of the program begins."""
        self.selections = Selections()

    @contextlib.contextmanager
    def active(self, namespaces):
        """While active, carriers know who reads texts, and functions of math, max and min take carriers in the program's own modules, whose globals these
        `namespaces` are."""
        Carrier._audience = self.audience
        try:
            functions, builtins = (_OF_CARRIERS, _BEST) if self.followed else ({}, {})
            with with_functions(namespaces, {torch.from_numpy: from_numpy, **functions}, builtins):
                yield
        finally:
            Carrier._audience = None


def _best_of(function, compare):
    """max or min: for numbers of one kind the result stays in the graph; ties are resolved as in Python."""
    @functools.wraps(function)
    def call(*args, **kwargs):
        if kwargs or len(args) == 1 and type(args[0]) not in (list, tuple, collections.deque):
            return function(*args, **kwargs)
        numbers = list(args[0]) if len(args) == 1 else args
        best = best_of(numbers, compare) if any(isinstance(number, Carrier) for number in numbers) else None
        return function(*args) if best is None else best

    return call


def _of_carriers(function, compute):
    """A function of math that accepts carriers. Whether it raises is checked at run time."""
    @functools.wraps(function)
    def call(*args):
        if len(args) != 1 or not isinstance(args[0], Carrier):
            return function(*args)
        with torch._C.DisableTorchFunction():
            number = args[0]._real()
            result = compute(number)
            if result.dtype is torch.bool:
                return bool(result)
            with expecting(f"math.{function.__name__} does not raise"):
                if (result.isnan() & ~number.isnan()) | (result.isinf() & number.isfinite()):
                    raise OverflowError("math range error") if function in _GROWING else ValueError("math domain error")
            return LazyFloat(result)

    return call


_BEST = {"max": _best_of(max, operator.gt), "min": _best_of(min, operator.lt)}
_OF_CARRIERS = {function: _of_carriers(function, compute) for function, compute in _MATH.items()}


def capture_following_numbers(request, run, note):
    """Returns the trace of `run` (the program as capture calls it), with its numbers followed if that works; note(text) adds to the report."""
    try:
        return _following(request, run, note, Numbers())
    except SelectionsMatter:
        run.forget()
        return _following(request, run, note, Numbers(selects=False))


def _following(request, run, note, numbers):
    run.numbers = numbers
    try:
        return _tracer.capture(request)
    except SelectionsMatter:
        raise
    except Exception as raised:
        if run.interrupt is not None or not run.numbers.used:
            raise
        error = raised
    run.numbers = Numbers(followed=False, selects=False)
    run.forget()
    try:
        trace = _tracer.capture(request)
    except Exception as raised:
        raise raised from error
    note(f"numbers that are read on the host are fixed by guards: followed, the program fails ({error})")
    return trace
