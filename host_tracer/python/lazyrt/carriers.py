"""Numbers that left the graph by .item() or .tolist() and still know their way back.

A carrier holds a 0-dim lazy tensor, int64 or float64 as Python computes. Arithmetic gives carriers; a comparison is a truth value
of the graph, guarded as such; CaptureMode hands the tensor to torch functions. Whatever needs the plain number (an index, a hash,
math) gets it, and that is a sync of exactly this number; a text for people gets it without one. Carriers are no numbers to
Python, so that nothing reads them unseen; isinstance is told otherwise."""

import functools
import math
import numbers
import operator
from typing import Any

import numpy
import torch

from lazyrt import _tracer, statements

_LARGE = 2**62  # within this, sums of two do not wrap
_INT64 = (-2**63, 2**63 - 1)
_EXACT = 2**53  # whole numbers that a float64 holds
_RANGES = {torch.uint8: (0, 255), torch.int8: (-128, 127), torch.int16: (-2**15, 2**15 - 1), torch.int32: (-2**31, 2**31 - 1)}


def carrier_of(tensor):
    """The number of a lazy tensor of one element that is not bool."""
    one = tensor.detach() if tensor.dim() == 0 else tensor.detach().reshape(())
    dtype = torch.float64 if tensor.is_floating_point() else torch.int64
    one = one.clone() if one.dtype is dtype else one.to(dtype)
    return LazyFloat(one) if tensor.is_floating_point() else LazyInt(one, _RANGES.get(tensor.dtype, _INT64))


def nested_carriers(tensor):
    """Tensor.tolist(): the numbers are taken out of the graph's tensor when they are used."""
    kept = tensor.detach().clone()
    flat, bounds = kept.reshape(-1), _RANGES.get(kept.dtype, _INT64)

    def one(place):
        if kept.is_floating_point():
            return LazyFloat(lambda: flat[place].to(torch.float64))
        return LazyInt(lambda: flat[place].to(torch.int64), bounds)

    def level(dim, first):
        if dim == kept.dim():
            return one(first)
        step = math.prod(kept.shape[dim + 1:])
        return [level(dim + 1, first + i * step) for i in range(kept.shape[dim])]

    return level(0, 0)


def _outside(method):
    """Runs without torch functions being seen: what carriers compute is no call of the program's."""
    def run(*args):
        with torch._C.DisableTorchFunction():
            return method(*args)

    run.__name__ = method.__name__
    return run


class Carrier:
    """What LazyInt and LazyFloat share. `_audience` is set while a capture runs: it knows which texts are for people."""

    _audience = None
    _beside_array: Any = None  # computes with arrays of NumPy
    __slots__ = ("_made", "_known")
    __array_priority__ = 1000

    def __init__(self, tensor):
        self._made = tensor
        self._known = None

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
        from lazyrt.carrier_calls import call_with_carriers
        return call_with_carriers(func, args, kwargs or {})

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

    def __array__(self, dtype=None, copy=None):
        return numpy.asarray(self._plain(), dtype)

    def __reduce__(self):
        return (type(self._plain()), (self._plain(),))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __getattr__(self, name):
        """bit_length, is_integer, hex and the like."""
        if name.startswith("__") or not hasattr(self.__class__, name):
            raise AttributeError(f"'{self.__class__.__name__}' object has no attribute '{name}'")
        return getattr(self._plain(), name)

    def __pos__(self):
        return self

    def __divmod__(self, other):
        return _pair(operator.floordiv(self, other), operator.mod(self, other))

    def __rdivmod__(self, other):
        return _pair(operator.floordiv(other, self), operator.mod(other, self))


def _pair(quotient, rest):
    return NotImplemented if NotImplemented in (type(quotient), type(rest)) else (quotient, rest)


def require(condition, text):
    """What carriers need in order to compute as Python does."""
    _tracer.require(condition, text)


class LazyInt(Carrier):
    """An int of the graph; `bounds` are the least and the largest that it can be."""

    __slots__ = ("_bounds", "_asked")

    def __init__(self, tensor, bounds=_INT64):
        super().__init__(tensor)
        self._bounds = bounds
        self._asked = 0  # how often it was compared

    @property  # type: ignore[misc]
    def __class__(self):
        return int

    def __index__(self):
        return self._plain()

    def __int__(self):
        return self._text_value()

    def __float__(self):
        return float(self._text_value())

    def __trunc__(self):
        return self

    __floor__ = __ceil__ = __trunc__

    def __round__(self, digits=None):
        return self if digits is None or digits >= 0 else round(self._plain(), digits)

    @_outside
    def __neg__(self):
        self._keep_within(_LARGE)
        return LazyInt(-self._tensor, (-self._bounds[1], -self._bounds[0]))

    @_outside
    def __abs__(self):
        self._keep_within(_LARGE)
        least, largest = self._bounds
        return LazyInt(self._tensor.abs(), (0 if least <= 0 <= largest else min(abs(least), abs(largest)), max(-least, largest)))

    def __invert__(self):
        return ~self._plain()

    def _keep_within(self, limit):
        """From here on the number is within +-limit: a check, where the bounds do not say so."""
        if -limit <= self._bounds[0] and self._bounds[1] <= limit:
            return
        require(self._tensor.to(torch.float64).abs() < limit, f"a whole number is less than 2**{limit.bit_length() - 1}")
        self._bounds = (max(self._bounds[0], 1 - limit), min(self._bounds[1], limit - 1))

    def _real(self):
        return self._tensor.to(torch.float64)


class LazyFloat(Carrier):
    """A float of the graph."""

    __slots__ = ()

    @property  # type: ignore[misc]
    def __class__(self):
        return float

    def __float__(self):
        return self._text_value()

    @_outside
    def __int__(self):
        return self._whole(torch.trunc)._text_value()

    def __trunc__(self):
        return self._whole(torch.trunc)

    def __floor__(self):
        return self._whole(torch.floor)

    def __ceil__(self):
        return self._whole(torch.ceil)

    @_outside
    def __round__(self, digits=None):
        if digits is None:
            return self._whole(torch.round)
        digits = operator.index(digits)
        return self._rounded(digits) if 0 <= digits <= 22 else round(self._plain(), digits)

    def _rounded(self, digits):
        """Python rounds the number itself, not its product with a power of ten: where that product comes out as a half, what was lost in it
        decides. A number whose last place is a unit of the last digit or more stays as it is."""
        scale = 10.0**digits
        product = self._tensor * scale
        stays = ~(product.abs() < 2**53)
        require(stays | (product.abs() < 2**52), f"a number that is rounded to {digits} digits is not between 2**52 and 2**53 of them")
        below = product.floor()
        lost = _lost_by(self._tensor, scale, product)
        up = torch.where(lost > 0, below + 1, below)
        whole = torch.where((product - below == 0.5) & (lost != 0), up, product.round())
        return LazyFloat(torch.where(stays, self._tensor, whole / scale))

    @_outside
    def __neg__(self):
        return type(self)(-self._tensor)

    @_outside
    def __abs__(self):
        return type(self)(self._tensor.abs())

    @_outside
    def _whole(self, rounding):
        with statements.expecting("a number that becomes whole is finite"):
            if not self._tensor.isfinite():
                return int(self._plain())  # raises what Python raises
        require(self._tensor.abs() < _LARGE, "a number that becomes whole is finite and less than 2**62")
        return LazyInt(rounding(self._tensor).to(torch.int64), (-_LARGE, _LARGE))

    def _real(self):
        return self._tensor


def _halves(number):
    """Two numbers of half the digits whose sum it is."""
    large = number * 134217729.0
    high = large - (large - number)
    return high, number - high


def _lost_by(a, b, product):
    """a * b - product, exactly, where `product` is what they gave as floats."""
    (high, low), (over, under) = _halves(a), _halves(b)
    return ((high * over - product) + high * under + low * over) + low * under


# -------------------------------------------------------------------- operands


def _is_number(value):
    return isinstance(value, Carrier) or _computes_as_a_number(type(value))


_OPERATORS = [*(f"__{reflected}{name}__" for reflected in ("", "r")
                for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")),
              *(f"__{name}__" for name in ("lt", "le", "gt", "ge", "eq", "ne"))]


@functools.lru_cache(maxsize=None)
def _computes_as_a_number(kind):
    """Whether a class is bool, int or float, or one of theirs without operators of its own, which Python would ask first."""
    base = next((base for base in (bool, int, float) if issubclass(kind, base)), None)
    return base is not None and not any(name in vars(cls) for cls in kind.__mro__[:kind.__mro__.index(base)] for name in _OPERATORS)


def _is_whole(value):
    return isinstance(value, int)  # LazyInt says that it is one


def _real(value):
    """A number as a float64 tensor or a float."""
    return value._real() if isinstance(value, Carrier) else float(value)


def _integer(value):
    return value._tensor if isinstance(value, Carrier) else int(value)


def _bounds(value):
    return value._bounds if isinstance(value, Carrier) else (int(value), int(value))


def _fits(value):
    return isinstance(value, Carrier) or not _is_whole(value) or _INT64[0] <= value <= _INT64[1]


def _known(value):
    """What is guarded to be this number anyway, or no carrier; else None."""
    return value._known if isinstance(value, Carrier) else value


def _within(bounds):
    return _INT64[0] <= bounds[0] and bounds[1] <= _INT64[1]


# -------------------------------------------------------------------- comparisons


_MOST_QUESTIONS = 256  # that a whole number answers one by one; more come from `n in range(30000)`


def _truth(tensor):
    """The truth of a lazy tensor leaves the graph, unless it only decides whether something is told."""
    if Carrier._audience is not None and Carrier._audience.is_asked():
        return bool(_tracer.peek(tensor).item())
    return bool(tensor)


def _compare(compare, a, b):
    """Python's answer, as a truth value that leaves the graph. `a` is a carrier."""
    if isinstance(a, LazyInt):
        a._asked += 1
        if a._asked > _MOST_QUESTIONS:
            a._plain()
    if _known(a) is not None and _known(b) is not None:
        return compare(_known(a), _known(b))
    if _is_whole(a) and _is_whole(b) and not _fits(b):
        return compare(0, b)
    if _is_whole(a) and _is_whole(b):
        return _truth(compare(_integer(a), _integer(b)))
    if isinstance(b, Carrier):
        for value in (a, b):
            if _is_whole(value):
                value._keep_within(_EXACT)
    elif _is_whole(a):
        return _compare_whole(compare, a, float(b))
    elif _is_whole(b) and _as_float(b) != b:
        return _compare_between(compare, a, b)
    return _truth(compare(_real(a), _real(b)))


def _compare_whole(compare, a, b):
    """A whole number with a float or a fraction, as exactly as Python does it."""
    if not -2**63 <= b < 2**63:
        return compare(0.0, b)
    if compare in (operator.lt, operator.ge):
        return _truth(compare(a._tensor, math.ceil(b)))
    if compare in (operator.le, operator.gt) or b == math.floor(b):
        return _truth(compare(a._tensor, math.floor(b)))
    return compare is operator.ne


def _as_float(number):
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _compare_between(compare, a, b):
    """A float with a number that lies between two floats."""
    near = _as_float(b)
    below = near if near < b else math.nextafter(near, -math.inf)
    if compare in (operator.lt, operator.le):
        return _truth(a._tensor <= below)
    if compare in (operator.gt, operator.ge):
        return _truth(a._tensor > below)
    return compare is operator.ne


def _compare_with_stranger(compare, a, b):
    """With a number of another library the plain one."""
    return compare(a._plain(), b) if isinstance(b, numbers.Number) else NotImplemented


def _comparison(compare):
    compared = _outside(lambda a, b: _compare(compare, a, b) if _is_number(b) else _compare_with_stranger(compare, a, b))

    def method(self, other):
        if type(other) is numpy.ndarray:
            return Carrier._beside_array(compare.__name__, self, other, False)
        return compared(self, other)

    return method


for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Carrier, f"__{_name}__", _comparison(getattr(operator, _name)))


def best_of(given, compare):
    """The first of the numbers than which no later one is better; None where they are not all ints or all floats."""
    whole = _is_whole(given[0])
    if not all(_is_number(n) and type(n) is not bool and _is_whole(n) == whole and _fits(n) for n in given):
        return None
    with torch._C.DisableTorchFunction():
        carrier = next(number for number in given if isinstance(number, Carrier))
        tensors = [_tensor_like(n, carrier) if whole else torch.full_like(carrier._tensor, n) if not isinstance(n, Carrier) else n._tensor
                   for n in given]
        best = tensors[0]
        for tensor in tensors[1:]:
            best = torch.where(compare(tensor, best), tensor, best)
    choose = max if compare is operator.gt else min
    return LazyInt(best, tuple(choose(bounds) for bounds in zip(*map(_bounds, given)))) if whole else LazyFloat(best)


# -------------------------------------------------------------------- arithmetic


def _corners(function, a, b):
    """Bounds of a function that is monotonic in each of its two numbers."""
    values = [function(x, y) for x in _bounds(a) for y in _bounds(b)]
    return min(values), max(values)


def _added(function, a, b):
    bounds = _corners(function, a, b)
    if not _within(bounds):
        for value in (a, b):
            if isinstance(value, Carrier):
                value._keep_within(_LARGE)
        bounds = _corners(function, a, b)
    if not _within(bounds):
        return None
    return LazyInt(function(_integer(a), _integer(b)), bounds)


def _checked(function, a, b, bounds):
    """A whole number that is checked to be small enough where its bounds do not say so."""
    if not _within(bounds):
        require(function(_real(a), _real(b)).abs() < _LARGE, "a whole number is less than 2**62")
        bounds = (-_LARGE, _LARGE)
    return LazyInt(function(_integer(a), _integer(b)), bounds)


def _not_zero(value):
    """Whether a divisor is not zero: a check, for Python raises otherwise."""
    if _known(value) is not None:
        return _known(value) != 0
    with statements.expecting("a divisor is not zero"):
        return bool(value._tensor != 0)


def _floor_divided(a, b):
    if isinstance(a, Carrier):
        a._keep_within(_LARGE)
    largest = max(abs(x) for x in _bounds(a))
    return LazyInt(torch.div(_tensor_like(a, b), _integer(b), rounding_mode="floor"), (-largest - 1, largest + 1))


def _tensor_like(a, b):
    """A whole number as a tensor, for functions that want one first."""
    return a._tensor if isinstance(a, Carrier) else torch.full_like(b._tensor, int(a))


def _rest(a, b):
    largest = max(abs(x) for x in _bounds(b))
    return LazyInt(torch.remainder(_tensor_like(a, b), _integer(b)), (-largest, largest))


def _power(a, b):
    if isinstance(b, Carrier) or b < 0:
        return None
    if b == 0:
        return 1
    largest = max(abs(x) for x in _bounds(a)) ** min(int(b), 64)
    return _checked(lambda x, y: x ** y, a, int(b), (-largest, largest))


_WHOLE = {
    "add": lambda a, b: _added(operator.add, a, b),
    "sub": lambda a, b: _added(operator.sub, a, b),
    "mul": lambda a, b: _checked(operator.mul, a, b, _corners(operator.mul, a, b)),
    "floordiv": _floor_divided,
    "mod": _rest,
    "pow": _power,
}


def _real_tensor(a, b):
    return a._real() if isinstance(a, Carrier) else torch.full_like(b._real(), float(a))


def _divided(a, b):
    for value in (a, b):
        if isinstance(value, Carrier) and _is_whole(value):
            value._keep_within(_EXACT)
    return _real_tensor(a, b) / _real(b)


def _real_power(a, b):
    known = _known(b)
    base, exponent = _real_tensor(a, b), torch.as_tensor(_real(b), dtype=torch.float64)
    finite = base.isfinite() & exponent.isfinite()
    if known is None or math.isfinite(known) and known != int(known):
        require(~(finite & (base < 0) & (exponent != exponent.trunc())), "the base of a power with a fraction is not negative")
    if known is None or known < 0:
        require(~(finite & (base == 0) & (exponent < 0)), "the base of a negative power is not zero")
    result = torch.pow(base, exponent)
    with statements.expecting("a power is no larger than a float"):
        if not (result.isfinite() | ~base.isfinite() | ~exponent.isfinite()):
            raise OverflowError(34, "Numerical result out of range")
    return result


def _real_rest(a, b):
    """A rest of zero has the sign of what was divided by."""
    divisor = torch.as_tensor(_real(b), dtype=torch.float64)
    rest = torch.remainder(_real_tensor(a, b), divisor)
    return torch.where(rest == 0, torch.copysign(torch.zeros_like(rest), divisor), rest)


_REAL = {
    "add": lambda a, b: _real(a) + _real(b),
    "sub": lambda a, b: _real(a) - _real(b),
    "mul": lambda a, b: _real(a) * _real(b),
    "truediv": _divided,
    "floordiv": lambda a, b: torch.div(_real_tensor(a, b), _real(b), rounding_mode="floor"),
    "mod": _real_rest,
    "pow": _real_power,
}
_DIVISIONS = ("truediv", "floordiv", "mod")


def _compute_with_stranger(name, a, b):
    """One of the two is a carrier, the other no number of Python."""
    other = b if isinstance(a, Carrier) else a
    return operator_of(name)(_plain(a), _plain(b)) if isinstance(other, numbers.Number) else NotImplemented


def operator_of(name):
    return {"and": operator.and_, "or": operator.or_}.get(name) or getattr(operator, name)


def _compute(name, a, b):
    """The result of a Python operator: a carrier; a plain number where only numbers will do; NotImplemented."""
    plain = operator_of(name)
    if name in _DIVISIONS and not _not_zero(b):
        return plain(_plain(a), _plain(b))  # raises what Python raises
    whole = _is_whole(a) and _is_whole(b)
    if whole and name in _WHOLE and _fits(a) and _fits(b):
        made = _WHOLE[name](a, b)
        if made is not None:
            return made
    elif name in _REAL and not (whole and not (_fits(a) and _fits(b))):
        return LazyFloat(_REAL[name](a, b))
    elif not whole:
        return NotImplemented
    return plain(_plain(a), _plain(b))


def _plain(value):
    return value._plain() if isinstance(value, Carrier) else value


def _operator(name, reflected):
    @_outside
    def computed(self, other, modulus):
        if modulus is not None:
            return pow(self._plain(), _plain(other), _plain(modulus))
        compute = _compute if _is_number(other) else _compute_with_stranger
        return compute(name, other, self) if reflected else compute(name, self, other)

    def method(self, other, modulus=None):
        if type(other) is numpy.ndarray:
            return Carrier._beside_array(name, self, other, reflected)
        return computed(self, other, modulus)

    return method


_OF_BITS = ("and", "or", "xor", "lshift", "rshift")  # of plain numbers
for _name in {*_WHOLE, *_REAL, *_OF_BITS}:
    _owner = Carrier if _name in _REAL else LazyInt  # a float has no operators of bits
    setattr(_owner, f"__{_name}__", _operator(_name, False))
    setattr(_owner, f"__r{_name}__", _operator(_name, True))
