"""Iterators: copies of them, and what they will give."""

import collections.abc
import copy
import gc
import itertools


def is_of_c(value):
    """Whether a value is an iterator that is none of a Python class."""
    return isinstance(value, collections.abc.Iterator) and type(value).__module__ in ("array", "builtins", "itertools", "collections", "_csv", "_struct", "numpy")


def copy_of(iterator):
    """Another iterator that will give the same; its items are not copied."""
    if isinstance(iterator, itertools.cycle):
        cls, (inner,), state = iterator.__reduce__()
        made = cls(copy.copy(inner))
        made.__setstate__((list(state[0]), *state[1:]))
        return made
    return copy.copy(iterator)


def text_of(iterator):
    """What an iterator will give, as text; reading it does not move it on."""
    try:
        parts = iterator.__reduce__()[1:]
        inner = [text_of(part) if isinstance(part, collections.abc.Iterator) else part for part in parts[0]]
        return repr((inner, parts[1:]))
    except TypeError:
        return str(id(iterator))


def items_of(iterator):
    """What it goes through: of a copy of a list inside of it the items, since the list is its own."""
    found = []
    for held in gc.get_referents(iterator):
        if isinstance(held, (list, tuple)) and isinstance(iterator, itertools.cycle):
            found += held
        elif isinstance(held, collections.abc.Iterator):
            found += items_of(held)
        else:
            found.append(held)
    return found
