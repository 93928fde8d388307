"""What objects that do not lie open tell of themselves."""

import copy
import hashlib
import marshal
import pickle
import random
import re
import types

import torch


def told_by(value):
    """What an object that is written in C, and that never changes, is; None of others."""
    if isinstance(value, (torch.finfo, torch.iinfo)):
        return repr(value)
    if isinstance(value, re.Match):
        spans = tuple(value.span(group) for group in range(value.re.groups + 1))  # it would keep what `regs` gives
        return (value.re.pattern, value.re.flags, value.string, spans, value.pos, value.endpos)
    return hashlib.blake2b(marshal.dumps(value)).hexdigest() if isinstance(value, types.CodeType) else None


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
