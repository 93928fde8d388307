"""Floats that left the graph by .item() and still know their way back.

A LazyFloat is the float that eager would have, and carries the lazy 0-dim tensor. Arithmetic gives LazyFloats, a comparison
becomes a sync of its truth (so that the guard is `delta > 0.01`, not delta's value), and CaptureMode hands the tensor to torch
functions, so that the number is not baked in. What takes it as a plain float (math, numpy) gets the value, as without it."""

import operator


class LazyFloat(float):
    """A float and the lazy tensor that it is the value of."""

    __slots__ = ("tensor",)

    def __new__(cls, tensor, value):
        made = super().__new__(cls, value)
        made.tensor = tensor
        return made

    def __bool__(self):
        return bool(self.tensor != 0)

    def __int__(self):
        return int(self.tensor.trunc())

    __trunc__ = __int__

    def __floor__(self):
        return int(self.tensor.floor())

    def __ceil__(self):
        return int(self.tensor.ceil())

    def __round__(self, digits=None):
        if digits is None:
            return int(self.tensor.round())
        return LazyFloat(self.tensor.round(decimals=digits), round(float(self), digits))

    def __float__(self):
        return float.__add__(self, 0.0)

    __hash__ = float.__hash__

    def __getnewargs__(self):
        return (self.tensor, float(self))

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return (float, (float.__add__(self, 0.0),))


def _operand(value):
    """The other side of an operation as the tensor operation takes it; None for what is no number."""
    if isinstance(value, LazyFloat):
        return value.tensor
    return value if isinstance(value, (bool, int, float)) else None


def _compares(compare):
    def method(self, other):
        operand = _operand(other)
        return NotImplemented if operand is None else bool(compare(self.tensor, operand))

    return method


def _computes(compute, reflected):
    def method(self, other):
        operand = _operand(other)
        if operand is None:
            return NotImplemented
        left, right = (operand, self.tensor) if reflected else (self.tensor, operand)
        numbers = (float.__add__(self, 0.0), float(other))
        return LazyFloat(compute(left, right), compute(*(reversed(numbers) if reflected else numbers)))

    return method


def _computes_alone(compute):
    return lambda self: LazyFloat(compute(self.tensor), compute(float.__add__(self, 0.0)))


for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(LazyFloat, f"__{_name}__", _compares(getattr(operator, _name)))
for _name in ("add", "sub", "mul", "truediv", "pow", "mod"):
    setattr(LazyFloat, f"__{_name}__", _computes(getattr(operator, _name), False))
    setattr(LazyFloat, f"__r{_name}__", _computes(getattr(operator, _name), True))
for _name in ("neg", "pos", "abs"):
    setattr(LazyFloat, f"__{_name}__", _computes_alone(getattr(operator, _name)))
