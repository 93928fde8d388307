"""Tensors and numbers of a capture that are alive after it, because the program keeps them where no snapshot looks (in an object of a library, a weak
dictionary, C)."""

import collections
import gc
import logging
import sys
import types
import weakref

import torch

from lazyrt.errors import ExportError
from lazyrt.numbers.carriers import Carrier
from lazyrt.record.tensors import is_lazy

ADVICE = "keep it in an attribute of the model, a list or a dict there, or return it"
_MOST_LEVELS = 10  # each costs a look at all objects of the process
_MOST_HOLDERS = 300


class Leaks:
    """Knows the values that captures have made."""

    def __init__(self):
        self._made = []  # weak references to them
        self._ours = []  # values that only LazyRT holds: kept, so that their ids stay theirs
        Carrier.made = self._made

    def note(self, tensor):
        """A capture has made it."""
        self._made.append(weakref.ref(tensor))

    def refuse(self):
        """Raises ExportError if the restored program still holds something of a capture, and replaces that by zeros."""
        if self._find():
            gc.collect()
        found, leak = self._find(), None
        while found and leak is None:  # past what handlers of log records keep, which is for people
            chain = _holders_of(found)
            if chain is None:
                self._ours.extend(found)
                return
            value = chain[-1]
            if not any(map(_is_log_record, chain)):
                leak = f"the program keeps a {'tensor' if is_lazy(value) else 'number'} that is computed from its inputs in '{_path(chain)}'"
            _replace(value, found)
            found = [other for other in found if other is not value]
        while found and leak is not None:
            _replace(found.pop(), found)
        if leak is not None:
            raise ExportError(f"{leak}, where LazyRT cannot follow it; {ADVICE}")

    def _find(self):
        """Returns the objects that are still alive; the others are removed."""
        ours, alive = set(map(id, self._ours)), []
        for reference in list(self._made):
            value = reference()
            if value is not None and id(value) not in ours and id(value) not in map(id, alive):
                alive.append(value)
        self._made[:] = map(weakref.ref, alive)
        return alive


def _holders_of(values):
    """[what holds one of the values: a chain from a module, a class or an object without holders down to the value]; None if only LazyRT, or code
    that runs, holds them."""
    chains, ours = {id(value): [value] for value in values}, {id(values)}
    seen, frame, running = set(chains), sys._getframe(1), set()
    while frame is not None:  # the collector does not see what running code holds
        variables = frame.f_locals
        ours.add(id(variables))
        running.update(map(id, variables.values()))
        frame = frame.f_back
    for depth in range(_MOST_LEVELS):
        heads = [chain[0] for chain in chains.values()]
        ours.update((id(heads), id(chains), *map(id, chains.values())))
        found, held, further = gc.get_referrers(*heads), set(), {}
        ours.update((id(found), id(further)))
        for holder in found:
            if id(holder) in ours:
                continue
            for item in gc.get_referents(holder):
                if id(item) not in chains:
                    continue
                held.add(id(item))
                if id(holder) not in seen and not isinstance(holder, types.FrameType) and not _is_ours(holder):
                    seen.add(id(holder))
                    further[id(holder)] = [holder, *chains[id(item)]]
        for head in heads:
            if isinstance(head, (types.ModuleType, type)) or depth and id(head) not in held | running:
                return chains[id(head)]
        if not further or len(further) > _MOST_HOLDERS:
            return None
        chains = further
    return None


def _is_log_record(value):
    return isinstance(value, logging.LogRecord) or isinstance(value, dict) and "levelno" in value


def _is_ours(value):
    kind = value if isinstance(value, type) else type(value)
    name = value.__name__ if isinstance(value, types.ModuleType) else kind.__module__
    return str(name).startswith("lazyrt.") or isinstance(value, dict) and str(value.get("__name__", "")).startswith("lazyrt.")


def _path(chain):
    """The path from the first of them to the last, as text."""
    root = chain[0]
    text = getattr(root, "__name__", None) or f"<{type(root).__module__}.{type(root).__name__}>"
    for holder, held in zip(chain, chain[1:]):
        if isinstance(holder, dict):
            key = next((key for key, item in dict.items(holder) if item is held), "")
            text += f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{key!r:.40}]"
        elif isinstance(holder, (list, tuple, collections.deque)):
            text += f"[{next((i for i, item in enumerate(holder) if item is held), 0)}]"
        elif not isinstance(held, dict):
            names = [name for base in type(holder).__mro__ for name in vars(base).get("__slots__", ()) if getattr(holder, name, None) is held]
            text += f".{names[0]}" if names else f" (a {type(holder).__name__})"
    return text


def _replace(lazy, ours):
    """Puts zeros into all containers that hold it, except this one."""
    plain = torch.zeros(lazy.shape, dtype=lazy.dtype) if is_lazy(lazy) else lazy.__class__()
    for holder in gc.get_referrers(lazy):
        if isinstance(holder, dict):
            for key in [key for key, item in dict.items(holder) if item is lazy]:
                dict.__setitem__(holder, key, plain)
        elif isinstance(holder, (list, collections.deque)) and holder is not ours:
            for i in [i for i, item in enumerate(holder) if item is lazy]:
                holder[i] = plain
