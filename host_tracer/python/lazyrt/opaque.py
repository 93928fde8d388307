"""What objects that do not lie open tell of themselves."""

import collections
import copy
import gc
import pickle
import random

import torch

_MOST_HELD = 1000


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


def pickled(value):
    """All that a small object holds, as pickle says it; None where it does not."""
    try:
        return pickle.dumps(value, 4)
    except Exception:  # locks and the like
        return None


def inner_state(value):
    """What a generator or iterator is up to, in a form that can be compared; None for what is none. It cannot be put back."""
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, torch.Generator):
        return value.get_state().numpy().tobytes()
    if type(value).__module__.startswith("numpy.random") and hasattr(value, "bit_generator"):
        return copy.deepcopy(value.bit_generator.state)
    return None
