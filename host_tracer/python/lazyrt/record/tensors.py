"""What kind of tensor a capture sees, and whether a call writes into its first argument."""

import functools

import torch

LAZY = torch.device("lazy", 0)
CPU = torch.device("cpu")

_REFLECTED_WRITES = {
    f"__i{name}__" for name in
    ("add", "sub", "mul", "truediv", "floordiv", "div", "mod", "pow", "and", "or", "xor", "lshift", "rshift")
}


def is_ours(frame):
    """Whether a frame runs lazyrt's own code."""
    return str(frame.f_globals.get("__name__", "")).startswith("lazyrt.")


def is_lazy(value):
    """Asks the type, because objects may claim any __class__."""
    return issubclass(type(value), torch.Tensor) and value.device.type == "lazy"


def is_write(func, kwargs):
    """Whether a call of a torch function writes into its first argument, or into out=."""
    return kwargs.get("out") is not None or _writes_in_place(getattr(func, "__name__", "").partition(".")[0])  # of an overload "copy_.default"


def tensors_in(values):
    """All of nested lists and tuples, in order."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)


@functools.lru_cache(maxsize=4096)
def _writes_in_place(name):
    return name in _REFLECTED_WRITES or name == "__setitem__" or (name.endswith("_") and not name.endswith("__"))
