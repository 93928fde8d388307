"""Torch's meta kernels in Python, without torch.compile.

After `import torch` the shapes of many operators come from kernels in Python. Some are wrapped so that their first call imports
all of torch._dynamo (seconds), only to hide them from a compiler that does not run here."""

import contextlib
import functools
import sys
import types

from lazyrt.record.private_names import DYNAMO_CACHE, decompositions, disabled_for_dynamo

_WRAPPER = disabled_for_dynamo(lambda: None).__code__


def _functions_in(function):
    """Functions that a decorated one calls: those in its closure."""
    for cell in function.__closure__ or ():
        try:
            if isinstance(cell.cell_contents, types.FunctionType):
                yield cell.cell_contents
        except ValueError:  # not set
            pass


def _hidden():
    """The functions behind such wrappers that were not called yet."""
    return [function for function in _wrapped(sum(map(len, decompositions.values()))) if not hasattr(function, DYNAMO_CACHE)]


@functools.lru_cache(maxsize=1)
def _wrapped(_):
    """The functions behind such wrappers, where so many have been registered."""
    seen, found = set(), {}
    todo = [f for table in decompositions.values() for f in table.values()]
    while todo:
        function = todo.pop()
        if id(function) in seen or not isinstance(function, types.FunctionType):
            continue
        seen.add(id(function))
        inner = list(_functions_in(function))
        if function.__code__ is _WRAPPER:
            found.update((id(f), f) for f in inner)
        todo += inner
    return list(found.values())


def load():
    """Imports what the kernels import on their first call. The program is not blamed for what that changes (warning filters, loggers)."""
    import torch.fx.experimental.symbolic_shapes  # noqa: F401  and with it sympy


@contextlib.contextmanager
def without_dynamo():
    """While active, such kernels are called directly, unless torch._dynamo is loaded already."""
    if "torch._dynamo" in sys.modules:
        yield
        return
    changed = _hidden()
    for function in changed:
        setattr(function, DYNAMO_CACHE, function)
    try:
        yield
    finally:
        for function in changed:
            if getattr(function, DYNAMO_CACHE, None) is function:
                delattr(function, DYNAMO_CACHE)
