"""What the code of a program mentions, and whose code it is."""

import functools
import os
import pathlib
import sys
import sysconfig
import types

_FOLDERS = {os.path.realpath(folder) for folder in (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), os.path.dirname(os.path.dirname(__file__)),
                                                    os.path.dirname(os.path.dirname(os.path.realpath(__file__))))}
_LIBRARIES = {"torch", "numpy", "lazyrt", "torchgen", "functorch", *sys.stdlib_module_names} - {"__main__"}


def is_python_class(cls):
    """Whether a class statement made it: the flag Py_TPFLAGS_HEAPTYPE is set and Py_TPFLAGS_IMMUTABLETYPE is not, which heap types of C have."""
    return bool(cls.__flags__ & 1 << 9) and not cls.__flags__ & 1 << 8


def of_a_library(name):
    """Whether a Python module is one in which programs do not keep their state: torch, numpy, Python's own."""
    return (name or "").partition(".")[0] in _LIBRARIES


@functools.lru_cache(maxsize=None)
def is_file_of_library(file):
    """Whether a file belongs to Python, to an installed package or to lazyrt."""
    path = pathlib.Path(os.path.realpath(file))
    if file.startswith("<frozen") or not {"site-packages", "dist-packages"}.isdisjoint(path.parts):
        return True
    return any(path.is_relative_to(folder) for folder in _FOLDERS)


@functools.lru_cache(maxsize=None)
def global_names(code):
    """Names of globals and attributes in the code and in what it defines, in order. Those that begin with "@" are not the program's: pytest writes
    them into asserts."""
    names = dict.fromkeys(name for name in code.co_names if not name.startswith("@"))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.update(dict.fromkeys(global_names(constant)))
    return list(names)


def attributes_of(value):
    """Its __dict__; None if it has none, or if reading it raises, as for pydantic's placeholders."""
    try:
        found = getattr(value, "__dict__", None)
    except Exception:
        return None
    return found if isinstance(found, dict) else None
