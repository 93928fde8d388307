"""Numbers that left the graph by .item() or .tolist() and still know their way back.

A carrier holds a 0-dim lazy tensor, int64 or float64 as Python computes. Arithmetic gives carriers; a comparison is a truth value
of the graph, guarded as such; CaptureMode hands the tensor to torch functions. Whatever needs the plain number (an index, a hash,
math) gets it, and that is a sync of exactly this number; a text for people gets it without one. Carriers are no numbers to
Python, so that nothing reads them unseen; isinstance is told otherwise."""

import functools
import math
import operator

import torch

from lazyrt import _tracer, statements

_LARGE = 2**62  # within this, sums of two do not wrap
_INT64 = (-2**63, 2**63 - 1)
_EXACT = 2**53  # whole numbers that a float64 holds
_FILLS = {"fill", "fill_diagonal", "index_fill", "masked_fill", "scatter", "threshold", "index_add"}  # numbers of the tensor's own type
_FILLS_OR_INFINITE = {"setitem", "addcmul", "addcdiv", "addmm", "addmv", "addr", "addbmm", "baddbmm"}  # beyond a half's range they are infinite
_LIMITS = {"clamp", "clip", "clamp_max", "clamp_min", "hardtanh"}
_OPERATIONS = {f"{kind}{name}" for kind in ("", "r", "i") for name in (
    "add", "sub", "mul", "div", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")} | {
    "subtract", "multiply", "divide", "true_divide", "floor_divide", "remainder", "fmod", "eq", "ne", "lt", "le", "gt", "ge", "not_equal", "less", "less_equal",
    "greater", "greater_equal", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "logical_and", "logical_or",
    "logical_xor", "isin", "bucketize", "searchsorted", "where", "xlogy", "copysign", "float_power", "ldexp"}
_PRODUCTS = {f"{kind}{name}" for kind in ("", "r", "i") for name in ("mul", "div", "truediv", "floordiv")} | {
    "multiply", "divide", "true_divide", "floor_divide"}  # eager has the number in f32 beside a half
HALVES = (torch.float16, torch.bfloat16)
FLOATS = (*HALVES, torch.float32)
_POWERS_OF_TENSORS = {"pow", "ipow"}
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
        return call_with_carriers(func, args, kwargs or {})

    def __bool__(self):
        return self.__ne__(0)

    def __str__(self):
        return str(self._text_value())

    def __repr__(self):
        return repr(self._text_value())

    def __format__(self, spec):
        return format(self._text_value(), spec)

    def __hash__(self):
        return hash(self._plain())

    def __complex__(self):
        return complex(self._plain())

    def __array__(self, dtype=None, copy=None):
        import numpy
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


def _require(condition, text):
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

    @_outside
    def __invert__(self):
        least, largest = self._bounds
        return LazyInt(torch.bitwise_not(self._tensor), (-largest - 1, -least - 1))

    def _keep_within(self, limit):
        """From here on the number is within +-limit: a check, where the bounds do not say so."""
        if -limit <= self._bounds[0] and self._bounds[1] <= limit:
            return
        _require(self._tensor.to(torch.float64).abs() < limit, f"a whole number is less than 2**{limit.bit_length() - 1}")
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
        _require(stays | (product.abs() < 2**52), f"a number that is rounded to {digits} digits is not between 2**52 and 2**53 of them")
        below = product.floor()
        lost = _lost_by(self._tensor, scale, product)
        up = torch.where(lost > 0, below + 1, below)
        whole = torch.where((product - below == 0.5) & (lost != 0), up, product.round())
        return LazyFloat(torch.where(stays, self._tensor, whole / scale))

    @_outside
    def __neg__(self):
        return LazyFloat(-self._tensor)

    @_outside
    def __abs__(self):
        return LazyFloat(self._tensor.abs())

    @_outside
    def _whole(self, rounding):
        with statements.expecting("a number that becomes whole is finite"):
            if not self._tensor.isfinite():
                return int(self._plain())  # raises what Python raises
        _require(self._tensor.abs() < _LARGE, "a number that becomes whole is finite and less than 2**62")
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
        return bool(compare(_integer(a), _integer(b)))
    if isinstance(b, Carrier):
        for value in (a, b):
            if _is_whole(value):
                value._keep_within(_EXACT)
    elif _is_whole(a):
        return _compare_whole(compare, a, float(b))
    elif _is_whole(b) and _as_float(b) != b:
        return _compare_between(compare, a, b)
    return bool(compare(_real(a), _real(b)))


def _compare_whole(compare, a, b):
    """A whole number with a float, as exactly as Python does it."""
    if not math.isfinite(b) or not -2**63 <= b < 2**63:
        return compare(0.0, b)
    if compare in (operator.lt, operator.ge):
        return bool(compare(a._tensor, math.ceil(b)))
    if compare in (operator.le, operator.gt) or b == math.floor(b):
        return bool(compare(a._tensor, math.floor(b)))
    return compare is operator.ne


def _as_float(whole):
    try:
        return float(whole)
    except OverflowError:
        return math.copysign(math.inf, whole)


def _compare_between(compare, a, b):
    """A float with a whole number that lies between two floats."""
    near = _as_float(b)
    below = near if near < b else math.nextafter(near, -math.inf)
    if compare in (operator.lt, operator.le):
        return bool(a._tensor <= below)
    if compare in (operator.gt, operator.ge):
        return bool(a._tensor > below)
    return compare is operator.ne


def _comparison(compare):
    @_outside
    def method(self, other):
        return _compare(compare, self, other) if _is_number(other) else NotImplemented

    return method


for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Carrier, f"__{_name}__", _comparison(getattr(operator, _name)))


def best_of(numbers, compare):
    """The first of the numbers than which no later one is better; None where they are not all ints or all floats."""
    whole = _is_whole(numbers[0])
    if not all(_is_number(n) and type(n) is not bool and _is_whole(n) == whole and _fits(n) for n in numbers):
        return None
    with torch._C.DisableTorchFunction():
        carrier = next(number for number in numbers if isinstance(number, Carrier))
        tensors = [_tensor_like(n, carrier) if whole else torch.full_like(carrier._tensor, n) if not isinstance(n, Carrier) else n._tensor
                   for n in numbers]
        best = tensors[0]
        for tensor in tensors[1:]:
            best = torch.where(compare(tensor, best), tensor, best)
    choose = max if compare is operator.gt else min
    return LazyInt(best, tuple(choose(bounds) for bounds in zip(*map(_bounds, numbers)))) if whole else LazyFloat(best)


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
        _require(function(_real(a), _real(b)).abs() < _LARGE, "a whole number is less than 2**62")
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


def _bits(function):
    def compute(a, b):
        return LazyInt(function(_tensor_like(a, b), _integer(b)), _INT64)

    return compute


def _shifted_left(a, b):
    if isinstance(b, Carrier) or not 0 <= b < 62:
        return None
    return _checked(lambda x, y: x * y, a, 2 ** int(b), _corners(operator.mul, a, 2 ** int(b)))


def _shifted_right(a, b):
    if isinstance(b, Carrier) or b < 0:
        return None
    return LazyInt(torch.bitwise_right_shift(a._tensor, min(int(b), 63)), a._bounds)


_WHOLE = {
    "add": lambda a, b: _added(operator.add, a, b),
    "sub": lambda a, b: _added(operator.sub, a, b),
    "mul": lambda a, b: _checked(operator.mul, a, b, _corners(operator.mul, a, b)),
    "floordiv": _floor_divided,
    "mod": _rest,
    "pow": _power,
    "and": _bits(torch.bitwise_and),
    "or": _bits(torch.bitwise_or),
    "xor": _bits(torch.bitwise_xor),
    "lshift": _shifted_left,
    "rshift": _shifted_right,
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
        _require(~(finite & (base < 0) & (exponent != exponent.trunc())), "the base of a power with a fraction is not negative")
    if known is None or known < 0:
        _require(~(finite & (base == 0) & (exponent < 0)), "the base of a negative power is not zero")
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


def _compute(name, a, b):
    """The result of a Python operator: a carrier; a plain number where only numbers will do; NotImplemented."""
    plain = {"and": operator.and_, "or": operator.or_}.get(name) or getattr(operator, name)
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
    def method(self, other, modulus=None):
        if not _is_number(other):
            return NotImplemented
        if modulus is not None:
            return pow(self._plain(), _plain(other), _plain(modulus))
        return _compute(name, other, self) if reflected else _compute(name, self, other)

    return method


for _name in {*_WHOLE, *_REAL}:
    setattr(Carrier, f"__{_name}__", _operator(_name, False))
    setattr(Carrier, f"__r{_name}__", _operator(_name, True))


# -------------------------------------------------------------------- calls of torch functions


def has_carriers(values):
    return any(isinstance(value, Carrier) or isinstance(value, (list, tuple, slice)) and _inside(value) for value in values)


def _inside(value):
    if type(value) is slice:
        value = (value.start, value.stop, value.step)
    return isinstance(value, (list, tuple)) and has_carriers(value)


def _with_plain(value):
    if isinstance(value, Carrier):
        return value._plain()
    if type(value) is slice and _inside(value):
        return slice(_with_plain(value.start), _with_plain(value.stop), _with_plain(value.step))
    if type(value) in (list, tuple) and _inside(value):
        return type(value)(_with_plain(item) for item in value)
    return value


def _as_operand(number, tensors, name, result_type=None):
    """The tensor that computes with others in the function as the plain number would: it has no say in the type of the result. `result_type`:
    a floating one that the function has of itself, as a division of whole numbers: it computes in that."""
    if result_type is not None:
        return number._tensor.to(result_type)
    floating = [t.dtype.to_real() for t in tensors if t.is_floating_point() or t.is_complex()]
    if type(number) is LazyFloat:
        if name in _PRODUCTS and floating and floating[0] in HALVES and all(t.dim() for t in tensors):
            return number._tensor.to(torch.float32)
        return number._tensor.to(floating[0] if floating else torch.get_default_dtype())
    whole = [t.dtype for t in tensors if t.dtype is not torch.bool]
    if floating or not whole or name not in _OPERATIONS and any(t.dim() for t in tensors):  # a place, say, and no operand
        return number._tensor
    return number._tensor.to(whole[0])


def _floating_type_of_its_own(result, tensors):
    """The type of a function's result, where it is floating and none of the tensors'."""
    if not isinstance(result, torch.Tensor) or result.dtype in {t.dtype for t in tensors}:
        return None
    return result.dtype.to_real() if result.is_floating_point() or result.is_complex() else None


def _raise_unless(condition, text):
    """What eager raises for: a check, or a guard where the program catches it and goes on."""
    if not statements.is_caught():
        _require(condition, text)
    elif not condition:
        raise RuntimeError(text)


def type_with(tensors, number):
    """The type in which a Python number computes with these."""
    return functools.reduce(torch.promote_types, [torch.result_type(tensor, 0.5 if isinstance(number, float) else 1) for tensor in tensors])


def check_fits(number, dtype, infinite=()):
    """torch does not fill a tensor with a number beyond the range of its type; an infinity or NaN goes into floating ones. `infinite`: the types
    in which what is beyond them becomes infinite."""
    if isinstance(number, Carrier):
        check_all_fit(number._tensor, dtype, infinite)


def check_all_fit(values, dtype, infinite=()):
    """check_fits of lazy numbers in a tensor."""
    if dtype in (torch.bool, torch.float64, *infinite) or dtype.is_complex:
        return
    if not values.is_floating_point() and dtype in (torch.int64, torch.float32, torch.bfloat16):
        return
    with torch._C.DisableTorchFunction():
        value = values.to(torch.float64)
        if dtype.is_floating_point:
            fits = ~(value.abs() > torch.finfo(dtype).max) | value.isinf()
        else:
            limits = torch.iinfo(dtype)
            fits = (value >= (limits.min or -limits.max)) & (value <= limits.max)  # unsigned ones wrap what is negative
        _raise_unless(fits if fits.dim() == 0 else fits.all(), f"a number fits into {dtype}")


def _check_numbers(name, args, kwargs):
    """What torch asks of a number, and not of a tensor in its place."""
    target = args[0] if args else None
    if not isinstance(target, torch.Tensor):
        return
    values = (*args[1:], *kwargs.values())
    for number in (value for value in values if isinstance(value, Carrier)):
        if name in _FILLS or name in _FILLS_OR_INFINITE:
            check_fits(number, target.dtype, HALVES if name in _FILLS_OR_INFINITE else ())
        elif name == "where":
            check_fits(number, type_with([value for value in values if isinstance(value, torch.Tensor)] or [target], number), HALVES)
        elif name in _LIMITS:
            check_fits(number, type_with([target], number))
        elif name in _POWERS_OF_TENSORS:
            check_fits(number, type_with([target], number), (torch.float32,))
            _check_power(target, number)


def _check_power(target, exponent):
    if type(exponent) is LazyInt and not (target.is_floating_point() or target.is_complex()):
        with torch._C.DisableTorchFunction():
            _raise_unless(exponent._tensor >= 0, "the power of whole numbers is not negative")


def call_with_carriers(func, args, kwargs, call=None):
    """Calls a torch function with carriers as tensors, or as plain numbers where only those will do."""
    call = call or (lambda args, kwargs: func(*args, **kwargs))
    if getattr(func, "__name__", "") in ("__getitem__", "__setitem__"):  # an index is a plain number
        args = [args[0], _with_plain(args[1]), *args[2:]]
    tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
    name = getattr(func, "__name__", "").strip("_")
    _check_numbers(name, args, kwargs)
    fills = name in _FILLS or name in _FILLS_OR_INFINITE

    def give(make):
        one = lambda value: make(value) if isinstance(value, Carrier) else _with_plain(value)  # noqa: E731
        return [one(value) for value in args], {name: one(value) for name, value in kwargs.items()}

    if tensors:
        with torch._C.DisableTorchFunction():
            given = give(lambda number: number._tensor.to(tensors[0].dtype) if fills else _as_operand(number, tensors, name))
        try:
            result = call(*given)
        except TypeError:
            pass
        else:
            result_type = _floating_type_of_its_own(result, tensors)
            if result_type is None:
                return result
            with torch._C.DisableTorchFunction():
                given = give(lambda number: _as_operand(number, tensors, name, result_type))
            return call(*given)
    return call(*give(_with_plain))
