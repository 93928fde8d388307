"""torch._foreach_*: one call for a list of tensors, taken as one call for each."""

import torch

_PREFIX = "_foreach_"
_OTHERS = {"norm": torch.linalg.vector_norm}
_BY_VALUE = ("addcmul", "addcdiv", "addcmul_", "addcdiv_")  # a single call takes their last number by its name alone


def each_of(func, args):
    """Returns run(call, args, kwargs), which makes one call per tensor by call(function, args, kwargs) and returns what `func` returns; None if func
    is not a function on lists, or has no counterpart for one tensor."""
    name = getattr(func, "__name__", "")
    if not name.startswith(_PREFIX) or not args or not isinstance(args[0], (list, tuple)):
        return None
    name = name[len(_PREFIX):]
    single = _OTHERS.get(name) or getattr(torch.Tensor, name, None)
    return None if single is None else lambda call, args, kwargs: _each(name, lambda *given: call(single, *given), args, kwargs)


def _each(name, call, args, kwargs):
    tensors, rest = args[0], args[1:]
    if name in _BY_VALUE and len(rest) == 3:
        rest, kwargs = rest[:2], {**kwargs, "value": rest[2]}
    made = [call((tensor, *(_at(i, value) for value in rest)), {key: _at(i, value) for key, value in kwargs.items()}) for i, tensor in enumerate(tensors)]
    return tensors if name.endswith("_") else tuple(made)


def _at(i, value):
    return value[i] if isinstance(value, (list, tuple)) else value
