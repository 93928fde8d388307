"""What a program asks about sizes: comparisons of extents and of what it computes from them.

A program is captured at some of the sizes that it may get, and a branch on another one (`if n == 137`) would not be seen. So eager runs it with extents that
record what they are compared with; size_points.py finds where within the bounds the answers change."""

import functools
import math
import operator
import sys

import torch
from torch.overrides import TorchFunctionMode

from lazyrt.record.program_globals import with_functions

_MOST_LEAVES = 20000
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_ARITHMETIC = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv, "mod": operator.mod, "truediv": operator.truediv,
               "pow": operator.pow, "lshift": operator.lshift, "rshift": operator.rshift, "and": operator.and_, "or": operator.or_, "xor": operator.xor}
_UNARY = {"__neg__": operator.neg, "__pos__": operator.pos, "__abs__": abs, "__floor__": math.floor, "__ceil__": math.ceil, "__trunc__": math.trunc,
          "__round__": round}
_MATH = (math.sqrt, math.isqrt, math.log, math.log2, math.log10, math.exp, math.gcd, math.lcm)
_Tensor = torch.Tensor
_READS = {_Tensor.shape.__get__, _Tensor.size, _Tensor.numel, _Tensor.nelement, torch.numel}


class Log:
    """What one run reads and asks."""

    def __init__(self):
        self.leaves = []  # (place, value) of each extent that is read
        self.asked = {}  # (function, left, right), in order

    def leaf(self, value, frame):
        if len(self.leaves) >= _MOST_LEAVES:
            return value
        self.leaves.append(((frame.f_code.co_filename, frame.f_lineno), value))
        return Size(value, self, ("leaf", len(self.leaves) - 1))

    def ask(self, function, left, right):
        self.asked[function, _form(left), _form(right)] = None


def _form(value):
    return value.form if isinstance(value, (Size, Real)) else value


def _plain(value):
    return int.__int__(value) if isinstance(value, Size) else float.__float__(value) if isinstance(value, Real) else value


class Size(int):
    """A whole number that knows from which extents it comes."""

    def __new__(cls, value, log, form):
        made = int.__new__(cls, value)
        made.log, made.form = log, form
        return made

    __hash__, __repr__, __str__ = int.__hash__, int.__repr__, int.__repr__

    def __reduce__(self):
        return int, (_plain(self),)

    def bit_length(self):
        return _result(int.bit_length, self.log, self)


class Real(float):
    """The same of a real number."""

    def __new__(cls, value, log, form):
        made = float.__new__(cls, value)
        made.log, made.form = log, form
        return made

    __hash__ = float.__hash__

    def __reduce__(self):
        return float, (_plain(self),)

    def __int__(self):
        return _plain(_result(math.trunc, self.log, self))


def _result(function, log, *operands):
    value = function(*map(_plain, operands))
    kind = Size if type(value) is int else Real if type(value) is float else None
    if kind is None:
        return value
    return kind(value, log, (function, *map(_form, operands)))


def _compared(function):
    def method(self, other):
        if not isinstance(other, (int, float)):
            return NotImplemented
        self.log.ask(function, self, other)
        return function(_plain(self), _plain(other))

    return method


def _computed(function, reflected):
    def method(self, other, *rest):
        if rest or not isinstance(other, (int, float)):
            return NotImplemented
        return _result(function, self.log, *((other, self) if reflected else (self, other)))

    return method


def _is_not_zero(self):
    self.log.ask(operator.ne, self, 0)
    return _plain(self) != 0


def _divided(self, other):
    return (self // other, self % other) if isinstance(other, (int, float)) else NotImplemented


for _kind in (Size, Real):
    for _name in _COMPARISONS:
        setattr(_kind, f"__{_name}__", _compared(getattr(operator, _name)))
    for _name, _function in _ARITHMETIC.items():
        setattr(_kind, f"__{_name}__", _computed(_function, False))
        setattr(_kind, f"__r{_name}__", _computed(_function, True))
    for _name, _unary in _UNARY.items():
        setattr(_kind, _name, lambda self, *more, _unary=_unary: _result(_unary, self.log, self, *more))
    for _name, _method in (("__bool__", _is_not_zero), ("__divmod__", _divided)):
        setattr(_kind, _name, _method)


class Observed(TorchFunctionMode):
    """Extents that the program reads are Sizes; what it asks is recorded in `log`. `namespaces`: the globals of the program's modules."""

    def __init__(self, log, namespaces):
        super().__init__()
        self.log = log
        self._functions = with_functions(namespaces, {function: _of_sizes(function) for function in _MATH}, {"len": self._len, **_BEST})

    def __enter__(self):
        self._functions.__enter__()
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self._functions.__exit__(*error)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func in _READS and isinstance(result, torch.Size):
            return torch.Size([self.log.leaf(size, sys._getframe(1)) for size in result])
        return self.log.leaf(result, sys._getframe(1)) if func in _READS and type(result) is int else result

    def _len(self, value):
        """Python makes a plain number of what __len__ returns."""
        return self.log.leaf(len(value), sys._getframe(1)) if isinstance(value, _Tensor) and value.dim() else len(value)


def _of_sizes(function):
    @functools.wraps(function)
    def call(*values, **options):
        mine = next((value for value in values if isinstance(value, (Size, Real))), None)
        return function(*values, **options) if mine is None or options else _result(function, mine.log, *values)

    return call


_BEST = {"max": _of_sizes(max), "min": _of_sizes(min)}
