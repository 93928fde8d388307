"""Numbers that were read on the host by .item() or .tolist() and are still followed.

A carrier holds a 0-dim lazy tensor, int64 or float64 as Python computes. Arithmetic gives carriers; a comparison is a truth value of the graph, guarded as
such; CaptureMode hands the tensor to torch functions, whose parsers accept carriers since torch accepts SymInt and SymFloat. Whatever needs the plain
number (an index, a hash, a library in C) gets it, which is a sync of exactly this number; a text for people gets it without one."""

import functools
import math
import numbers
import operator
import weakref
from typing import Any

import numpy
import torch

from lazyrt import _tracer
from lazyrt.record import statements

_LARGE = 2**62
_INT64 = range(-2**63, 2**63)
_MOST_QUESTIONS = 256  # that a whole number answers one by one; more come from `n in range(30000)`


def carrier_of(tensor):
    """The number of a lazy tensor of one element that is not bool."""
    one = tensor.detach() if tensor.dim() == 0 else tensor.detach().reshape(())
    dtype = torch.float64 if tensor.is_floating_point() else torch.int64
    one = one.clone() if one.dtype is dtype else one.to(dtype)
    return LazyFloat(one) if tensor.is_floating_point() else LazyInt(one)


def nested_carriers(tensor):
    """Tensor.tolist(): each number stays in the graph until it is used."""
    kept = tensor.detach().clone()
    flat = kept.reshape(-1)

    def one(place):
        if kept.is_floating_point():
            return LazyFloat(lambda: flat[place].to(torch.float64))
        return LazyInt(lambda: flat[place].to(torch.int64))

    def level(dim, first):
        if dim == kept.dim():
            return one(first)
        step = math.prod(kept.shape[dim + 1:])
        return [level(dim + 1, first + i * step) for i in range(kept.shape[dim])]

    return level(0, 0)


def _outside(method):
    """Runs a method without torch function modes: what carriers compute is not a call of the program."""
    @functools.wraps(method)
    def run(*args):
        with torch._C.DisableTorchFunction():
            return method(*args)

    return run


class Carrier:
    """The common part of LazyInt and LazyFloat. `_audience` is set while a capture runs: it knows which texts are for people."""

    _audience = None
    made: list = []  # weak references to all, for leaks.py
    _beside_array: Any = None  # computes with arrays of NumPy
    __array_priority__ = 1000

    def __init__(self, tensor):
        self._made, self._known, self._asked = tensor, None, 0
        Carrier.made.append(weakref.ref(self))

    @property
    def _tensor(self):
        if not isinstance(self._made, torch.Tensor):
            with torch._C.DisableTorchFunction():
                self._made = self._made()
        return self._made

    @_outside
    def _plain(self):
        """The number itself: a sync."""
        if self._known is None:
            self._known = self._tensor.item()
        return self._known

    def _text_value(self):
        """The number for a text: a sync, unless the text is for people."""
        if Carrier._audience is not None and Carrier._audience.listens():
            with torch._C.DisableTorchFunction():
                return _tracer.peek(self._tensor).item()
        return self._plain()

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        from lazyrt.numbers.carrier_calls import call_with_carriers
        return call_with_carriers(func, args, kwargs or {}, lambda func, args, kwargs: func(*args, **kwargs))

    def __bool__(self):
        return self.__ne__(0)

    def __str__(self):
        return str(self._text_value())

    def __repr__(self):
        return repr(self._text_value())

    def __format__(self, spec):
        return format(self._plain() if spec.endswith("c") else self._text_value(), spec)

    def __hash__(self):
        return hash(self._plain())

    def __float__(self):
        return float(self._text_value())

    def __complex__(self):
        return complex(self._plain())

    def __array__(self, dtype=None, copy=None):
        return numpy.asarray(self._plain(), dtype)

    def __reduce__(self):
        return (type(self._plain()), (self._plain(),))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __pos__(self):
        return self

    @_outside
    def __neg__(self):
        return type(self)(-self._tensor)

    @_outside
    def __abs__(self):
        return type(self)(self._tensor.abs())

    def __divmod__(self, other):
        return _pair(operator.floordiv(self, other), operator.mod(self, other))

    def __rdivmod__(self, other):
        return _pair(operator.floordiv(other, self), operator.mod(other, self))


def _pair(quotient, rest):
    return NotImplemented if NotImplemented in (type(quotient), type(rest)) else (quotient, rest)


class LazyInt(Carrier, torch.SymInt):
    """An int of the graph."""

    @property  # type: ignore[misc]
    def __class__(self):
        return int

    def __index__(self):
        return self._plain()

    def __int__(self):
        return self._text_value()

    def __trunc__(self):
        return self

    __floor__ = __ceil__ = __trunc__

    def __round__(self, digits=None):
        return self if digits is None or digits >= 0 else round(self._plain(), digits)

    def __invert__(self):
        return ~self._plain()

    def _real(self):
        return self._tensor.to(torch.float64)


class LazyFloat(Carrier, torch.SymFloat):
    """A float of the graph."""

    @property  # type: ignore[misc]
    def __class__(self):
        return float

    @_outside
    def __int__(self):
        return self._whole(torch.trunc)._text_value()

    def __trunc__(self):
        return self._whole(torch.trunc)

    def __floor__(self):
        return self._whole(torch.floor)

    def __ceil__(self):
        return self._whole(torch.ceil)

    def __round__(self, digits=None):
        return self._whole(torch.round) if digits is None else round(self._plain(), digits)

    @_outside
    def _whole(self, rounding):
        with statements.expecting("a number that becomes whole is finite"):
            if not self._tensor.isfinite():
                return int(self._plain())  # raises what Python raises
        _tracer.require(self._tensor.abs() < _LARGE, "a number that becomes whole is finite and less than 2**62")
        return LazyInt(rounding(self._tensor).to(torch.int64))

    def _real(self):
        return self._tensor


def _of_plain(name):
    return property(lambda self: getattr(self._plain(), name))


for _kind, _plain_kind in ((LazyInt, int), (LazyFloat, float)):  # bit_length, is_integer, hex and the like
    for _name in dir(_plain_kind):
        if not _name.startswith("_"):
            setattr(_kind, _name, _of_plain(_name))


# -------------------------------------------------------------------- operands


def _is_number(value):
    return isinstance(value, (Carrier, bool, int, float)) and not isinstance(value, numpy.generic)


def _is_whole(value):
    return isinstance(value, int)  # LazyInt says that it is one


def _real(value):
    """A number as a float64 tensor or a float."""
    return value._real() if isinstance(value, Carrier) else float(value)


def _integer(value):
    return value._tensor if isinstance(value, Carrier) else int(value)


def _fits(value):
    return isinstance(value, Carrier) or not _is_whole(value) or int(value) in _INT64  # of a subclass a range asks item by item


def _known(value):
    """The plain number if it is guarded anyway, or if it is no carrier; else None."""
    return value._known if isinstance(value, Carrier) else value


def plain(value):
    return value._plain() if isinstance(value, Carrier) else value


def _whole_tensor(a, b):
    """An integer as a tensor, for functions that require a tensor first."""
    return a._tensor if isinstance(a, Carrier) else torch.full_like(b._tensor, int(a))


def _real_tensor(a, b):
    return a._real() if isinstance(a, Carrier) else torch.full_like(b._real(), float(a))


# -------------------------------------------------------------------- comparisons


def _truth(tensor):
    """Reads the truth of a lazy tensor on the host, unless it only decides whether something is shown to people."""
    if Carrier._audience is not None and Carrier._audience.is_asked():
        return bool(_tracer.peek(tensor).item())
    return bool(tensor)


@_outside
def _compare(compare, a, b):
    """Python's result of a comparison, as a truth value that is read on the host. `a` is a carrier."""
    a._asked += 1
    if _is_whole(a) and a._asked > _MOST_QUESTIONS:
        a._plain()
    if _known(a) is not None and _known(b) is not None:
        return compare(_known(a), _known(b))
    if _is_whole(a) and _is_whole(b):
        return _truth(compare(_integer(a), _integer(b))) if _fits(b) else compare(0, b)
    return _truth(compare(_real(a), _real(b)))


def _comparison(compare):
    def method(self, other):
        if type(other) is numpy.ndarray:
            return Carrier._beside_array(compare.__name__, self, other, False)
        if _is_number(other):
            return _compare(compare, self, other)
        return compare(self._plain(), other) if isinstance(other, numbers.Number) else NotImplemented

    return method


def best_of(given, compare):
    """The first of the numbers than which no later one is better; None unless all are ints or all are floats."""
    whole = _is_whole(given[0])
    if not all(_is_number(n) and type(n) is not bool and _is_whole(n) == whole and _fits(n) for n in given):
        return None
    with torch._C.DisableTorchFunction():
        carrier = next(number for number in given if isinstance(number, Carrier))
        tensors = [(_whole_tensor if whole else _real_tensor)(n, carrier) for n in given]
        best = functools.reduce(lambda best, tensor: torch.where(compare(tensor, best), tensor, best), tensors)
    return (LazyInt if whole else LazyFloat)(best)


# -------------------------------------------------------------------- arithmetic


def _not_zero(value):
    """Checks that a divisor is not zero, because Python raises otherwise."""
    if _known(value) is not None:
        return _known(value) != 0
    with statements.expecting("a divisor is not zero"):
        return bool(value._tensor != 0)


def _checked(function):
    """Makes products and powers of integers check that they are small enough."""
    def compute(a, b):
        _tracer.require(torch.as_tensor(function(_real_tensor(a, b), _real(b))).abs() < _LARGE, "a whole number is less than 2**62")
        return function(_integer(a), _integer(b))

    return compute


_whole_power = _checked(operator.pow)


def _real_power(a, b):
    base, exponent = _real_tensor(a, b), torch.as_tensor(_real(b), dtype=torch.float64)
    result = torch.pow(base, exponent)
    _tracer.require(result.isfinite() | ~base.isfinite() | ~exponent.isfinite(), "a power is a float")
    return result


_WHOLE = {
    "add": lambda a, b: _integer(a) + _integer(b),
    "sub": lambda a, b: _integer(a) - _integer(b),
    "mul": _checked(operator.mul),
    "floordiv": lambda a, b: torch.div(_whole_tensor(a, b), _integer(b), rounding_mode="floor"),
    "mod": lambda a, b: torch.remainder(_whole_tensor(a, b), _integer(b)),
    "pow": lambda a, b: None if isinstance(b, Carrier) or b < 1 else _whole_power(a, b),
}
_REAL = {
    "add": lambda a, b: _real(a) + _real(b),
    "sub": lambda a, b: _real(a) - _real(b),
    "mul": lambda a, b: _real(a) * _real(b),
    "truediv": lambda a, b: _real_tensor(a, b) / _real(b),
    "floordiv": lambda a, b: torch.div(_real_tensor(a, b), _real(b), rounding_mode="floor"),
    "mod": lambda a, b: torch.remainder(_real_tensor(a, b), _real(b)),
    "pow": _real_power,
}
_DIVISIONS = ("truediv", "floordiv", "mod")
_OF_BITS = ("and", "or", "xor", "lshift", "rshift")  # of plain numbers


def operator_of(name):
    return {"and": operator.and_, "or": operator.or_}.get(name) or getattr(operator, name)


@_outside
def _compute(name, a, b):
    """The result of a Python operator: a carrier; a plain number if only numbers are possible; NotImplemented."""
    function = operator_of(name)
    if name in _DIVISIONS and not _not_zero(b):
        return function(plain(a), plain(b))  # raises what Python raises
    whole = _is_whole(a) and _is_whole(b)
    made = None
    if _fits(a) and _fits(b):
        if whole and name in _WHOLE:
            made = _WHOLE[name](a, b)
            made = None if made is None else LazyInt(made)
        elif name in _REAL and not (whole and name == "pow"):
            made = LazyFloat(_REAL[name](a, b))
    return function(plain(a), plain(b)) if made is None else made


def _operator(name, reflected):
    def method(self, other, modulus=None):
        if type(other) is numpy.ndarray:
            return Carrier._beside_array(name, self, other, reflected)
        if modulus is not None:
            return pow(self._plain(), plain(other), plain(modulus))
        pair = (other, self) if reflected else (self, other)
        if _is_number(other):
            return _compute(name, *pair)
        return operator_of(name)(*map(plain, pair)) if isinstance(other, numbers.Number) else NotImplemented

    return method


for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    for _kind in (LazyInt, LazyFloat):
        setattr(_kind, f"__{_name}__", _comparison(getattr(operator, _name)))
for _name in (*_REAL, *_OF_BITS):
    for _kind in (LazyInt, LazyFloat) if _name in _REAL else (LazyInt,):  # a float has no operators of bits
        setattr(_kind, f"__{_name}__", _operator(_name, False))
        setattr(_kind, f"__r{_name}__", _operator(_name, True))
