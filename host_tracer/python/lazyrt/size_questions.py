"""What a program asks about sizes: comparisons of extents and of what it computes from them.

A program is captured at some of the sizes that it may get, and a branch on another one (`if n == 137`) would not be seen. So eager runs it with extents that
write down what they are compared with; size_points.py finds where within the bounds the answers change."""

import builtins
import functools
import math
import operator
import re
import sys

import torch
from torch.overrides import TorchFunctionMode

from lazyrt.code_names import attributes_of

_MOST_LEAVES = 20000
_MOST_COMPUTED = 4000
_COMPARISONS = {"__eq__": operator.eq, "__ne__": operator.ne, "__lt__": operator.lt, "__le__": operator.le, "__gt__": operator.gt, "__ge__": operator.ge}
_ARITHMETIC = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv, "mod": operator.mod, "truediv": operator.truediv,
               "pow": operator.pow, "lshift": operator.lshift, "rshift": operator.rshift, "and": operator.and_, "or": operator.or_, "xor": operator.xor}
_UNARY = {"__neg__": operator.neg, "__pos__": operator.pos, "__abs__": abs, "__floor__": math.floor, "__ceil__": math.ceil, "__trunc__": math.trunc,
          "__round__": round}
_MATH = ("sqrt", "isqrt", "log", "log2", "log10", "exp", "gcd", "lcm")
_STEPS = {operator.floordiv, operator.mod, math.floor, math.ceil, math.trunc, round}  # what makes whole numbers of others, in steps
_NUMBER = re.compile(r"\d+")
_Tensor = torch.Tensor
_LEN = len


class Log:
    """What one run reads and asks."""

    def __init__(self):
        self.leaves = []  # (place, value) of each extent that is read
        self.asked = {}  # (function, left, right), in order
        self.stepped = {}  # forms of whole numbers that go in steps, in order
        self.computed = {}  # by identity, forms of all numbers that are computed

    def leaf(self, value, place):
        if len(self.leaves) >= _MOST_LEAVES:
            return value
        self.leaves.append((place, value))
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

    def __reduce__(self):
        return int, (_plain(self),)

    def __hash__(self):
        for key in _keys_near(sys._getframe(1)):
            self.log.ask(operator.eq, self, key)
        return int.__hash__(self)

    def __repr__(self):
        for key in _numbers_of_names_near(sys._getframe(1)):
            self.log.ask(operator.eq, self, key)
        return int.__repr__(self)

    __str__ = __repr__

    def __format__(self, form):
        for key in _numbers_of_names_near(sys._getframe(1)):
            self.log.ask(operator.eq, self, key)
        return int.__format__(self, form)

    def bit_length(self):
        return _result(int.bit_length, self.log, self)

    def bit_count(self):
        return _result(int.bit_count, self.log, self)


class Real(float):
    """The same of a real number."""

    def __new__(cls, value, log, form):
        made = float.__new__(cls, value)
        made.log, made.form = log, form
        return made

    def __reduce__(self):
        return float, (_plain(self),)

    __hash__ = float.__hash__

    def __int__(self):
        return _plain(_result(math.trunc, self.log, self))


def _near(frame):
    """What the statement of a look-up may look in: (what the frame and its owners hold, the owners)."""
    owners = [value for value in frame.f_locals.values() if attributes_of(value) is not None]
    near = [*frame.f_locals.values(), *(frame.f_globals.get(name) for name in frame.f_code.co_names), *frame.f_code.co_consts]
    near += [value for owner in owners for value in owner.__dict__.values()]
    return [value for value in near if type(value) in (dict, set, frozenset, tuple, list) and len(value) <= 256], owners


def _keys_near(frame):
    """Whole numbers among the keys of dicts and sets that the statement of a look-up may mean, in tuples as well, and those written there."""
    near, _ = _near(frame)
    for value in [*near, frame.f_code.co_consts]:
        for key in list(value):
            yield from (part for part in (key if isinstance(key, tuple) else (key,)) if type(part) is int)


def _numbers_of_names_near(frame):
    """The same of keys that are texts, and of names of attributes: a text is made of the size (f"bias_{n}")."""
    near, owners = _near(frame)
    named = [*near, frame.f_code.co_consts, *(name for owner in owners for name in (owner.__dict__, vars(type(owner)), getattr(owner, "_modules", None) or (),
                                                                                   getattr(owner, "_buffers", None) or (),
                                                                                   getattr(owner, "_parameters", None) or ()))]
    for value in named:
        for key in list(value):
            if isinstance(key, str) and len(key) <= 256:
                yield from (int(number) for number in _NUMBER.findall(key) if len(number) < 10)


def _result(function, log, *operands):
    value = function(*map(_plain, operands))
    kind = Size if type(value) is int else Real if type(value) is float else None
    if kind is None:
        return value
    form = (function, *map(_form, operands))
    if function in _STEPS:
        log.stepped[form] = None
    if len(log.computed) < _MOST_COMPUTED:
        log.computed[id(form)] = form
    return kind(value, log, form)


def _known(other):
    return isinstance(other, (int, float))


def _give_methods(kind):
    """Arithmetic and comparisons of a class."""
    def compare(function):
        def method(self, other):
            if not _known(other):
                return NotImplemented
            self.log.ask(function, self, other)
            return function(_plain(self), _plain(other))

        return method

    def forward(function):
        return lambda self, other, *rest: _result(function, self.log, self, other) if _known(other) and not rest else NotImplemented

    def backward(function):
        return lambda self, other, *rest: _result(function, self.log, other, self) if _known(other) and not rest else NotImplemented

    def unary(function):
        return lambda self, *more: _result(function, self.log, self, *more)

    def truth(self):
        self.log.ask(operator.ne, self, 0)
        return _plain(self) != 0

    for name, function in _COMPARISONS.items():
        setattr(kind, name, compare(function))
    for name, function in _ARITHMETIC.items():
        setattr(kind, f"__{name}__", forward(function))
        setattr(kind, f"__r{name}__", backward(function))
    for name, function in _UNARY.items():
        setattr(kind, name, unary(function))
    kind.__bool__ = truth
    kind.__divmod__ = lambda self, other: (self // other, self % other) if _known(other) else NotImplemented


_give_methods(Size)
_give_methods(Real)


class Observed(TorchFunctionMode):
    """Extents that the program reads are Sizes."""

    def __init__(self, log):
        super().__init__()
        self.log = log

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func in _READS:
            frame = sys._getframe(1)
            place = (frame.f_code.co_filename, frame.f_lineno)
            if isinstance(result, torch.Size):
                return torch.Size([self.log.leaf(size, place) for size in result])
            if type(result) is int:
                return self.log.leaf(result, place)
        return result

    def __enter__(self):
        self.originals = {name: getattr(math, name) for name in _MATH}
        for name, original in self.originals.items():
            setattr(math, name, _of_sizes(original))
        builtins.len = self._len
        return super().__enter__()

    def _len(self, value):
        """The function makes a plain number of what __len__ gives."""
        if not isinstance(value, _Tensor) or value.dim() == 0:
            return _LEN(value)
        frame = sys._getframe(1)
        return self.log.leaf(_LEN(value), (frame.f_code.co_filename, frame.f_lineno))

    def __exit__(self, *exception):
        for name, original in self.originals.items():
            setattr(math, name, original)
        builtins.len = _LEN
        return super().__exit__(*exception)


_READS = {_Tensor.shape.__get__, _Tensor.size, _Tensor.numel, _Tensor.nelement, torch.numel}


def _of_sizes(function):
    @functools.wraps(function)
    def call(value, *more):
        mine = next((operand for operand in (value, *more) if isinstance(operand, (Size, Real))), None)
        return function(value, *more) if mine is None else _result(function, mine.log, value, *more)

    return call
