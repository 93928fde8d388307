"""Calls of torch functions with carriers: as tensors where the function takes them, else as plain numbers."""

import functools

import torch

from lazyrt import statements
from lazyrt.carriers import Carrier, LazyFloat, LazyInt, require
from lazyrt.tensors import is_write

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
_OF_RECIPROCALS = {"rdiv", "rtruediv", "rfloordiv"}  # rounded in the middle
HALVES = (torch.float16, torch.bfloat16)
FLOATS = (*HALVES, torch.float32)
_POWERS_OF_TENSORS = {"pow", "ipow"}


def has_carriers(values):
    return any(isinstance(value, Carrier) or isinstance(value, (list, tuple, slice)) and _inside(value) for value in values)


def _inside(value):
    if type(value) is slice:
        value = (value.start, value.stop, value.step)
    return isinstance(value, (list, tuple)) and has_carriers(value)


def with_plain(value):
    if isinstance(value, Carrier):
        return value._plain()
    if type(value) is slice and _inside(value):
        return slice(with_plain(value.start), with_plain(value.stop), with_plain(value.step))
    if type(value) in (list, tuple) and _inside(value):
        return type(value)(with_plain(item) for item in value)
    return value


def _as_operand(number, tensors, name, result_type=None):
    """The tensor that computes with others in the function as the plain number would: it has no say in the type of the result. `result_type`:
    a floating one that the function has of itself, as a division of whole numbers: it computes in that."""
    if result_type is not None:
        return number._tensor.to(result_type)
    floating = [t.dtype.to_real() for t in tensors if t.is_floating_point() or t.is_complex()]
    if isinstance(number, LazyFloat):
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
        require(condition, text)
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


def _half_in_f32(name, values, tensors):
    """The 16-bit type of a call in which eager has the number in f32, and which would take it for one of the tensors' own: beside single ones, and
    in lerp. None of any other."""
    if not tensors or not any(isinstance(value, LazyFloat) for value in values):
        return None
    dtype = functools.reduce(torch.promote_types, [t.dtype for t in tensors])
    return dtype if dtype in HALVES and (name == "lerp" or name in _PRODUCTS and not all(t.dim() for t in tensors)) else None


def _rounded_from_f32(call, half, args, kwargs):
    """The result, in `half`, of a call in which tensors and numbers are f32."""
    def wide(value):
        if isinstance(value, Carrier):
            return value._tensor.to(torch.float32)
        return value.to(torch.float32) if isinstance(value, torch.Tensor) else with_plain(value)

    with torch._C.DisableTorchFunction():
        given = [wide(value) for value in args], {name: wide(value) for name, value in kwargs.items()}
    return call(*given).to(half)


def call_with_carriers(func, args, kwargs, call=None):
    """Calls a torch function with carriers as tensors, or as plain numbers where only those will do."""
    call = call or (lambda args, kwargs: func(*args, **kwargs))
    if getattr(func, "__name__", "") in ("__getitem__", "__setitem__"):  # an index is a plain number
        args = [args[0], with_plain(args[1]), *args[2:]]
    tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
    name = getattr(func, "__name__", "").strip("_")
    _check_numbers(name, args, kwargs)
    fills = name in _FILLS or name in _FILLS_OR_INFINITE

    def give(make):
        one = lambda value: make(value) if isinstance(value, Carrier) else with_plain(value)  # noqa: E731
        return [one(value) for value in args], {name: one(value) for name, value in kwargs.items()}

    half = _half_in_f32(name, (*args, *kwargs.values()), tensors)
    if half and not is_write(func, kwargs) and name not in _OF_RECIPROCALS:
        return _rounded_from_f32(call, half, args, kwargs)
    if tensors and not half:
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
    return call(*give(with_plain))
