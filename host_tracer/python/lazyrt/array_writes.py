"""What NumPy makes of values that are written into an array of another type."""

import math

import numpy
import torch

from lazyrt import statements
from lazyrt.carrier_calls import with_plain
from lazyrt.carriers import Carrier, LazyInt


def cast(tensor, dtype):
    """The values as `astype` has them on x86-64. NumPy leaves casts of floating values beyond a whole type to the processor, and that converts
    to 32 bits, or to 64 for int64: what does not fit becomes the least of those, of which narrow types keep the low bits."""
    if tensor.dtype is torch.float64 and dtype is torch.float16:
        return _half(tensor)
    if not tensor.is_floating_point() or dtype.is_floating_point or dtype is torch.bool:
        return tensor.to(dtype, copy=True)
    values = tensor.to(torch.float64)
    least = -(2.0**63) if dtype is torch.int64 else -(2.0**31)
    fits = (values >= least if dtype is torch.int64 else values > least - 1) & (values < -least)
    whole = torch.where(fits, values, torch.zeros_like(values)).to(torch.int64)
    return torch.where(fits, whole, torch.full_like(whole, int(least))).to(dtype)


def _half(tensor):
    """Rounds float64 to float16 once; torch goes by way of float32, which may make a tie of what is none."""
    single = tensor.to(torch.float32)
    nearest = single.to(torch.float16).to(torch.float32)
    other = 2 * single - nearest  # where `single` is a tie: the number on its other side
    is_tie = (other != nearest) & (other.to(torch.float16).to(torch.float32) == other)
    is_nearer = (tensor - other.to(torch.float64)).abs() < (tensor - nearest.to(torch.float64)).abs()
    made = torch.where(is_tie & is_nearer, other, nearest).to(torch.float16)
    least_infinite = torch.finfo(torch.float16).max + 16.0
    return torch.where((tensor.abs() < least_infinite) & made.isinf(), made.sign() * torch.finfo(torch.float16).max, made)


def as_written(value, dtype, shape, is_element, others):
    """What `array[key] = value` writes there, as a tensor of the array's dtype: `shape` is that of array[key], `is_element` whether the key names a
    single one. `others(value)`: the tensor of a captured array, or None. Raises what NumPy raises."""
    if isinstance(value, Carrier):
        return _number(value, dtype)
    captured = others(value)
    if captured is not None:
        _try(shape, is_element, numpy.zeros(captured.shape, value.dtype), dtype)
        return _scalar(value, captured, dtype) if value.is_number else cast(captured, dtype)
    if isinstance(value, torch.Tensor) and value.device.type != "cpu":
        if is_element and value.numel() == 1:
            return _number_in(value.detach().reshape(()), dtype, value.item)
        _try(shape, is_element, numpy.zeros(tuple(value.shape), bool), dtype)
        return cast(value.detach(), dtype)
    held = _try(shape, is_element, with_plain(value), dtype)
    return torch.from_numpy(held)


def _try(shape, is_element, value, dtype):
    """What NumPy itself makes of it, or raises."""
    held = numpy.zeros((1, *shape), numpy_type(dtype))
    held[(0,) if is_element else (0, Ellipsis)] = value
    return held[0, ...]


def numpy_type(dtype):
    return numpy.dtype(str(dtype).removeprefix("torch."))


def _scalar(value, tensor, dtype):
    """A number of NumPy: it has to fit into whole types, but for uint8."""
    if dtype is torch.uint8 or value.dtype.kind == "b":
        return cast(tensor, dtype)
    return _number_in(tensor, dtype, lambda: value.values()[()])


def _number(number, dtype):
    if type(number) is LazyInt and not dtype.is_floating_point and dtype is not torch.bool:
        limits = torch.iinfo(dtype)
        if limits.min <= number._bounds[0] and number._bounds[1] <= limits.max:
            return number._tensor.to(dtype)
    return _number_in(number._tensor, dtype, number._plain)


def _number_in(number, dtype, plain):
    """One of Python, by the rules of its int() and float(); `plain()` gives it, where NumPy raises."""
    if dtype is torch.bool:
        return number != 0
    if dtype.is_floating_point:
        return cast(number.to(torch.float64), dtype)
    limits = torch.iinfo(dtype)
    if number.is_floating_point():
        whole = number.to(torch.float64).trunc()
        fits = (whole >= float(limits.min)) & (whole < math.ldexp(1.0, limits.bits - (limits.min < 0)))
    else:
        whole = number.to(torch.int64)
        fits = (whole >= limits.min) & (whole <= limits.max)
    with statements.expecting(f"a number fits into an array of {numpy_type(dtype)}"):
        if not fits:
            numpy.zeros(1, numpy_type(dtype))[0] = plain()
    return whole.to(dtype)
