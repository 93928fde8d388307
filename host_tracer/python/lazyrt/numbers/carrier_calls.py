"""Calls torch functions with carriers: as tensors if the function accepts them, else as plain numbers."""

import torch

from lazyrt.numbers.carriers import Carrier, LazyFloat

_FILLS = {"fill", "fill_diagonal", "index_fill", "masked_fill", "scatter", "threshold", "index_add", "setitem", "addcmul", "addcdiv", "addmm", "addmv", "addr",
          "addbmm", "baddbmm"}  # numbers of the tensor's own type
_OPERATIONS = {f"{kind}{name}" for kind in ("", "r", "i") for name in (
    "add", "sub", "mul", "div", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")} | {
    "subtract", "multiply", "divide", "true_divide", "floor_divide", "remainder", "fmod", "eq", "ne", "lt", "le", "gt", "ge", "not_equal", "less", "less_equal",
    "greater", "greater_equal", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "logical_and", "logical_or",
    "logical_xor", "isin", "bucketize", "searchsorted", "where", "xlogy", "copysign", "float_power", "ldexp"}
_PRODUCTS = {f"{kind}{name}" for kind in ("", "r", "i") for name in ("mul", "div", "truediv", "floordiv")} | {
    "multiply", "divide", "true_divide", "floor_divide"}  # eager has the number in f32 beside a half
_HALVES = (torch.float16, torch.bfloat16)


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
    if type(value) in (list, tuple, torch.Size) and _inside(value):
        return type(value)(with_plain(item) for item in value)
    return value


def _as_operand(number, tensors, name):
    """A tensor that computes with others in the function as the plain number would: it does not affect the type of the result."""
    floating = [t.dtype.to_real() for t in tensors if t.is_floating_point() or t.is_complex()]
    if isinstance(number, LazyFloat):
        if name in _PRODUCTS and floating and floating[0] in _HALVES and all(t.dim() for t in tensors):
            return number._tensor.to(torch.float32)
        return number._tensor.to(floating[0] if floating else torch.get_default_dtype())
    whole = [t.dtype for t in tensors if t.dtype is not torch.bool]
    if floating or not whole or name not in _OPERATIONS and any(t.dim() for t in tensors):  # a place, say, and no operand
        return number._tensor
    return number._tensor.to(whole[0])


def _floating_type_of_its_own(result, tensors):
    """The type of a function's result if it is floating and none of the tensors has it, as in a division of integers: the function computes in that
    type."""
    if not isinstance(result, torch.Tensor) or result.dtype in {t.dtype for t in tensors}:
        return None
    return result.dtype.to_real() if result.is_floating_point() or result.is_complex() else None


def _type_with(tensor, number):
    """The type in which a Python number computes with the tensor."""
    return torch.result_type(tensor, 0.5 if isinstance(number, float) else 1)


def call_with_carriers(func, args, kwargs, call):
    """Calls a torch function with carriers as tensors, or as plain numbers if it accepts only those; call(func, args, kwargs) makes the calls."""
    name = getattr(func, "__name__", "").strip("_")
    if name in _SPECIAL:
        return _SPECIAL[name](func, args, dict(kwargs), call)
    if name in ("getitem", "setitem"):  # an index is a plain number
        args = [args[0], with_plain(args[1]), *args[2:]]
    tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]

    def give(make):
        with torch._C.DisableTorchFunction():
            one = lambda value: make(value) if isinstance(value, Carrier) else with_plain(value)  # noqa: E731
            return [one(value) for value in args], {key: one(value) for key, value in kwargs.items()}

    if tensors:
        try:
            result = call(func, *give(lambda number: number._tensor.to(tensors[0].dtype) if name in _FILLS else _as_operand(number, tensors, name)))
        except TypeError:
            pass
        else:
            own = _floating_type_of_its_own(result, tensors)
            return result if own is None else call(func, *give(lambda number: number._tensor.to(own)))
    return call(func, *give(lambda number: number._plain()))


# -------------------------------------------------------------------- functions that take a number and no tensor


def _named(names, args, kwargs):
    """The arguments by name; `self` is called input."""
    given = dict(zip(names, args), **kwargs)
    if "self" in given:
        given["input"] = given.pop("self")
    return given


def _filled(names):
    """full, full_like and new_full: the number as a tensor, expanded."""
    def fill(func, args, kwargs, call):
        given = _named(names, args, kwargs)
        value = given["fill_value"]
        if not isinstance(value, Carrier) or given.get("out") is not None:
            return call(func, with_plain(tuple(args)), {key: with_plain(item) for key, item in kwargs.items()})
        like = given.get("input")
        dtype = given.get("dtype") or (like.dtype if like is not None else torch.get_default_dtype() if isinstance(value, float) else torch.int64)
        with torch._C.DisableTorchFunction():
            return value._tensor.to(dtype).expand(with_plain(given["size"]) if "size" in given else like.shape).clone()

    return fill


def _new_tensor(func, args, kwargs, call):
    given = _named(("self", "data"), args, kwargs)
    owner = given.pop("input")
    return call(torch.tensor, (given.pop("data"),), {"dtype": owner.dtype, **given})


def _clamped(func, args, kwargs, call):
    """Both limits are tensors, or none is."""
    given = _named(("input", "min", "max"), args, kwargs)
    tensor = given.pop("input")

    def limit(value):
        if isinstance(value, Carrier):
            return value._tensor.to(_type_with(tensor, value))
        return value if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=_type_with(tensor, value))

    with torch._C.DisableTorchFunction():
        limits = {name: limit(given.pop(name)) for name in ("min", "max") if given.get(name) is not None}
    return call(func, (tensor,), {**limits, **given})


def _scaled(func, args, kwargs, call):
    """a + alpha * b, where the product has the type of the sum."""
    alpha = kwargs.pop("alpha", None)
    if isinstance(alpha, Carrier):
        tensor, other = args
        dtype = torch.result_type(tensor, other)
        with torch._C.DisableTorchFunction():
            args = (tensor, alpha._tensor.to(dtype) * (other.to(dtype) if isinstance(other, torch.Tensor) else other))
    tensors = [value for value in args if isinstance(value, torch.Tensor)]
    with torch._C.DisableTorchFunction():
        args = [_as_operand(value, tensors, "add") if isinstance(value, Carrier) else value for value in args]
    return call(func, args, kwargs)


_SPECIAL = {"full": _filled(("size", "fill_value")), "full_like": _filled(("input", "fill_value")), "new_full": _filled(("self", "size", "fill_value")),
            "new_tensor": _new_tensor, **dict.fromkeys(("clamp", "clip"), _clamped), **dict.fromkeys(("add", "sub"), _scaled)}
