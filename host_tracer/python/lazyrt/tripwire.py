"""State that Reach does not know is found by what it does: the program is called several times in a row, and whatever of the user's objects
differs after each call, and is in no picture, cannot be followed."""

import collections
import gc
import time
import types
import weakref

import torch

from lazyrt.errors import ExportError
from lazyrt.heap import Heap, Roots, changes, members_of, put_in
from lazyrt.tensors import is_lazy

_SLOW = 0.5  # seconds of a call from which on no more than two are made
_FAST = 0.05
ADVICE = "keep it as a number, list, dict or tensor in an attribute of the model, or make it an input"
_AT_MOST = 4


class Tripwire:
    """The user's objects as they were before the export, and what its calls do to them."""

    def __init__(self, job):
        self._job = job
        self._roots = Roots(job.program)
        self.first = self._look()
        self._texts = None
        with torch._C.DisableTorchFunction():
            self._lazy = {here for here, node in self.first.nodes.items() if is_lazy(node[0])}  # what is left of other exports

    def _look(self):
        state = getattr(self._job, "state", None)
        if state is None:
            return Heap(self._roots)
        return Heap(self._roots, state.first.picture.well_kept(), state.first.picture.names_attribute("cache_info"))

    def hidden(self, sample):
        """[text] of what the program changes with every call where nobody would see it; it is put back as far as it lies open."""
        if self._texts is None:
            self._texts = self._find(sample)
        return self._texts

    def _find(self, sample):
        try:
            found, heap = self._changing(sample)
            texts = list(dict.fromkeys(_text(heap, change, self._known) for change in found))[:_AT_MOST]
        except ExportError:
            raise
        except Exception:  # the program's own: told elsewhere
            return []
        finally:
            self._job.restore()
        for change in found:
            for value in heap.chain(change.holder)[1][::-1]:
                if self.first.put_back(value):
                    break
        return texts

    def refuse_lazy(self):
        """Raises ExportError where the program, restored, still holds tensors of a capture: in places that no picture knows."""
        with torch._C.DisableTorchFunction():
            if not any(map(is_lazy, gc.get_objects())):
                return
        heap = Heap(self._roots)
        with torch._C.DisableTorchFunction():
            lazy = [value for here, (value, *_) in heap.nodes.items() if here not in self._lazy and is_lazy(value)]
        if not lazy:
            return
        self._known = _Known([self._job.state.look(), self._job.arguments])
        name, chain = heap.chain(lazy[0])
        where, kind = _path(name, chain), _culprit(chain, self._known)
        for value in lazy:
            self._replace(heap, value)
        raise ExportError(f"the program keeps a tensor that is computed from its inputs in {kind}, where LazyRT cannot follow it: '{where}'; {ADVICE}",
                          "unsupported")

    def _replace(self, heap, lazy):
        """Puts back what was where a lazy tensor is now."""
        for holder, _, items in list(heap.nodes.values()):
            if not any(item is lazy for item in items):
                continue
            for value in heap.chain(holder)[1][::-1]:
                if self.first.put_back(value) or put_in(value, lazy, torch.zeros(lazy.shape, dtype=lazy.dtype)):
                    break

    def _changing(self, sample):
        job = self._job
        buffers = job.fresh_buffers()
        pause = job.eager_seconds
        heaps = []
        if pause < _FAST:
            job.call_again(sample, buffers)
        if pause < _SLOW:
            job.call_again(sample, buffers)
        heaps.append(self._look())
        for _ in range(2):
            job.call_again(sample, buffers)
            heaps.append(self._look())
            found = changes(*heaps[-2:])
            if len(heaps) == 3:
                found = {key: change for key, change in found.items() if key in before}
            before = found
            if not found:
                return [], heaps[-1]
        self._known = _Known([*(phase.picture for phase in job.state.known), job.state.look(), job.arguments], job.state.first.picture.cold_caches())
        found = {key: change for key, change in found.items() if not self._known.has(change, heaps[-1], heaps[0])}
        if found:  # other threads change things, too
            time.sleep(min(pause, 1.0))
            idle = changes(heaps[-1], self._look())
            found = {key: change for key, change in found.items() if key not in idle}
        return list(found.values()), heaps[-1]


class _Known:
    """What pictures keep: whole objects, and items of others by name."""

    def __init__(self, pictures, cold=frozenset()):
        self.whole, self.items, self.told, self._cold = set(), set(), set(), cold
        for picture in pictures:
            picture.add_known(self.whole, self.items, self.told)

    def has(self, change, heap, before):
        holder = vars(change.holder) if isinstance(change.holder, types.ModuleType) else change.holder
        chain = heap.chain(change.holder)[1]
        if any(id(value) in self._cold for value in chain[:-1]):
            return False
        if id(holder) in self.whole or (id(holder), change.name) in self.items:
            return True
        return any(id(value) in self.told and id(value) not in before.nodes for value in chain)


def _text(heap, change, known):
    name, chain = heap.chain(change.holder)
    where = _path(name, chain)
    if change.name is not None:
        where += _step(change.holder, chain[-2] if len(chain) > 1 else None, change.name)
    kind = _culprit(chain, known)
    return (f"the program changes {kind}, which it reaches as '{where}', with every call: LazyRT cannot follow this, nor put it back; its state "
            "has moved by the calls that the export made")


def _culprit(chain, known):
    """The first object on the way that no picture knows, in words."""
    for value in chain:
        inner = getattr(value, "__dict__", None) if not isinstance(value, weakref.ProxyTypes) else None
        if id(value) in known.whole or id(inner) in known.whole or isinstance(value, (types.ModuleType, types.CellType)):
            continue
        if isinstance(value, types.FunctionType):
            continue
        if isinstance(value, type):
            return f"class {value.__name__}"
        if type(value) in (dict, list, set, tuple, collections.deque) and value is not chain[-1]:
            continue
        kind = type(value).__name__
        return f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"
    kind = type(chain[-1]).__name__
    return "a module of Python" if kind == "module" or isinstance(chain[-1], dict) else f"a {kind}"


def _path(name, chain):
    """In the words of Python, where they suffice."""
    first = chain[0]
    text = name or (first.__qualname__ if isinstance(first, types.FunctionType) else type(first).__qualname__)
    for i in range(1, len(chain)):
        text += _way(chain, i)
    return text.replace("..", ".")


def _way(chain, i):
    """From one object to the next."""
    holder, item = chain[i - 1], chain[i]
    before = chain[i - 2] if i > 1 else None
    if item is getattr(type(holder), "__dict__", None) or isinstance(item, dict) and _inner(holder) is item:
        return ""
    if isinstance(holder, dict):
        keys = [key for key, other in dict.items(holder) if other is item]
        return _step(holder, before, keys[0]) if keys else ".default_factory" if hasattr(holder, "default_factory") else f".<{type(item).__name__}>"
    if isinstance(holder, (list, tuple, collections.deque)):
        if isinstance(before, types.FunctionType) and holder is before.__closure__:
            index = next((i for i, other in enumerate(holder) if other is item), 0)
            return f".{before.__code__.co_freevars[index]}"
        return next((f"[{i}]" for i, other in enumerate(holder) if other is item), "[...]")
    if isinstance(holder, types.CellType) or isinstance(holder, types.FunctionType) and isinstance(item, tuple):
        return ""
    if isinstance(holder, (weakref.ref, *weakref.ProxyTypes)):
        return "()"
    if isinstance(holder, (type, types.ModuleType)):
        return next((f".{name}" for name, other in list(vars(holder).items()) if other is item), ".?")
    if isinstance(item, type) and type(holder) is item:
        return f".{item.__name__}"
    for member in members_of(type(holder)):
        try:
            if member.__get__(holder, type(holder)) is item:
                return f".{member.__name__}"
        except AttributeError:
            pass
    return f".<{type(item).__name__}>"


def _step(holder, before, key):
    if isinstance(holder, type) or before is not None and _inner(before) is holder:
        return f".{key}"
    if isinstance(holder, dict):
        return f"[{key!r}]" if isinstance(key, (str, int, float, bool, bytes, tuple, type(None))) else f"[{type(key).__name__}]"
    return f".{key}"


def _inner(value):
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
