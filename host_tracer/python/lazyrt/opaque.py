"""What objects that do not lie open tell of themselves."""

import collections
import collections.abc
import copy
import gc
import hashlib
import io
import marshal
import pickle
import random
import re
import struct
import threading
import types
import weakref

import numpy
import torch

from lazyrt.code_names import of_a_library

_MOST_HELD = 1000
_NEVER_MOVE = (re.Match, re.Pattern, types.CodeType, struct.Struct, numpy.dtype, numpy.ufunc, types.GenericAlias, types.UnionType, io.IOBase,
               type(threading.Lock()), type(threading.RLock()), types.GetSetDescriptorType, types.MemberDescriptorType, types.MappingProxyType,
               collections.abc.KeysView, collections.abc.ValuesView, collections.abc.ItemsView)


def held_by(value):
    """Ids of the containers that an object of a library holds, also through others."""
    found, todo = set(), [value]
    for held in todo:
        for item in gc.get_referents(held):
            if isinstance(item, (dict, list, collections.deque)) and id(item) not in found and len(found) < _MOST_HELD:
                found.add(id(item))
                todo.append(item)
            elif isinstance(item, tuple) and len(todo) < _MOST_HELD:
                todo.append(item)
    return found


def told_by(value):
    """What an object that is written in C, and that never changes, is; None of others."""
    if isinstance(value, (torch.finfo, torch.iinfo)):
        return repr(value)
    if isinstance(value, re.Match):
        spans = tuple(value.span(group) for group in range(value.re.groups + 1))  # it would keep what `regs` gives
        return (value.re.pattern, value.re.flags, value.string, spans, value.pos, value.endpos)
    return hashlib.blake2b(marshal.dumps(value)).hexdigest() if isinstance(value, types.CodeType) else None


def may_move(value):
    """Whether calls of its methods may change what an object in C holds, so that nobody sees it: a scanner, a decoder."""
    return not isinstance(value, _NEVER_MOVE)


def pickled(value):
    """All that a small object holds, as pickle says it; None where it does not."""
    try:
        return pickle.dumps(value, 4)
    except Exception:  # locks and the like
        return None


def inner_state(value):
    """What a generator or iterator is up to, in a form that can be compared; None for what is none."""
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, torch.Generator):
        return value.get_state().numpy().tobytes()
    if type(value).__module__.startswith("numpy.random") and hasattr(value, "bit_generator"):
        return copy.deepcopy(value.bit_generator.state), getattr(value.bit_generator.seed_seq, "n_children_spawned", 0)
    return None


def put_back(value, state):
    """Gives a generator the inner_state that it had; which of its children it makes next cannot be put back, nor can an iterator."""
    if isinstance(value, random.Random):
        value.setstate(state)
    elif isinstance(value, torch.Generator):
        value.set_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))
    elif hasattr(value, "bit_generator"):
        value.bit_generator.state = state[0]


def is_awaited(value):
    """Whether its end makes code run: its class has a __del__ that is no library's, or a weak reference to it has a callback."""
    ends = next((base for base in type(value).__mro__ if "__del__" in vars(base)), None)
    if ends is not None and not of_a_library(ends.__module__):
        return True
    try:
        found = weakref.getweakrefs(value)
    except TypeError:  # it takes none
        return False
    return any(reference.__callback__ is not None for reference in found if issubclass(type(reference), weakref.ref))
