"""State that Reach does not know is found by what it does: whatever of the user's objects differs from what it was before the export when all that
is in a picture is put back, or differs after the same call of two rounds and is in no picture, cannot be followed. A round goes through all phases and
samples."""

import collections
import collections.abc
import contextlib
import functools
import gc
import logging
import time
import types
import weakref

import torch
from torch.overrides import TorchFunctionMode

from lazyrt import layouts
from lazyrt.code_names import attributes_of
from lazyrt.errors import ExportError
from lazyrt.experiments import altered
from lazyrt.handed import Handed
from lazyrt.heap import Heap, Roots, changes, members_of, put_in
from lazyrt.reach import CARRIERS
from lazyrt.tensors import is_lazy

_SLOW = 0.5  # seconds of a call from which on the first round is compared: later ones confirm what was found
_FAST = 0.05
_IDLE = 0.05  # seconds that other threads get at least: the interpreter changes between them every 5 ms
ADVICE = "keep it as a number, list, dict or tensor in an attribute of the model, or make it an input"
_AT_MOST = 4
_MOST_SAMPLES = 4


class Tripwire:
    """The user's objects as they were before the export, and what its calls do to them."""

    def __init__(self, job):
        self._job = job
        self._roots, self._handed = Roots(job.program), Handed()
        self.first = Heap(self._roots, keeps=True)
        self._texts = None
        with torch._C.DisableTorchFunction():
            self._lazy = {here for here, node in self.first.nodes.items() if _is_of_capture(node[0])}  # what is left of other exports

    def listening(self):
        """Notes what libraries hand out to the program in a call."""
        return self._handed.watched()

    def _look(self):
        self._roots.handed = list(self._handed.found.values())
        picture = self._job.state.first.picture
        return Heap(self._roots, picture.well_kept(), picture.names_attribute("cache_info"))

    def hidden(self, samples):
        """[text] of what the program changes with its calls where nobody would see it; it is put back as far as it lies open."""
        if self._texts is None:
            self._texts = self._find(samples)
        return self._texts

    def _find(self, samples):
        try:
            found = self._not_put_back() or self._changing(samples)
            if not found and self._job.eager_seconds < _FAST:
                found = self._changing_on_others(samples)
            texts = list(dict.fromkeys(_text(heap, change, self._known) for change, heap in found))[:_AT_MOST]
        except ExportError:
            raise
        except Exception:  # the program's own: told elsewhere
            return []
        finally:
            self._job.restore()
        for change, heap in found:
            for value in heap.chain(change.holder)[1][::-1]:
                if self.first.put_back(value):
                    break
        return texts

    @staticmethod
    @contextlib.contextmanager
    def capturing():
        """While it goes on, the garbage collector tells refuse_lazy what is new, unless the process uses its freezer itself."""
        ours = gc.get_freeze_count() == 0
        if ours:
            gc.freeze()
        try:
            yield
        finally:
            if ours:
                gc.unfreeze()

    def refuse_lazy(self):
        """Raises ExportError where the program, restored, still holds tensors of a capture: in places that no picture knows."""
        with torch._C.DisableTorchFunction():
            if not any(map(is_lazy, gc.get_objects())):
                return
        heap = Heap(self._roots)
        with torch._C.DisableTorchFunction():
            lazy = [value for here, (value, *_) in heap.nodes.items() if here not in self._lazy and _is_of_capture(value)]
        if not lazy:
            return
        self._known = _Known([self._job.state.look(), self._job.arguments])
        name, chain = heap.chain(lazy[0])
        where, kind = _path(name, chain), _culprit(chain, self._known)
        for value in lazy:
            self._replace(heap, value)
        what = "tensor" if is_lazy(lazy[0]) else "number"
        raise ExportError(f"the program keeps a {what} that is computed from its inputs in {kind}, where LazyRT cannot follow it: '{where}'; {ADVICE}",
                          "unsupported")

    def _replace(self, heap, lazy):
        """Puts back what was where a lazy tensor is now."""
        for holder, _, items in list(heap.nodes.values()):
            if not any(item is lazy for item in items):
                continue
            for value in heap.chain(holder)[1][::-1]:
                if self.first.put_back(value) or put_in(value, lazy, _plain_of(lazy)):
                    break

    def _not_put_back(self):
        """[(Change, Heap)] of what the export's calls have changed in the program, be it once, and what no picture puts back."""
        self._job.restore()
        after = self._look()
        found = self._unknown({key: (change, after, self.first) for key, change in changes(self.first, after).items()})
        return [(change, heap) for change, heap, _ in found.values() if self._is_of_program(*heap.chain(change.holder))]

    def _is_of_program(self, root, chain):
        """Whether what is reached in this way is the program's, not what somebody beside it holds. Loggers have caches."""
        return root in self._roots.of_program and not any(isinstance(value, logging.Logger) for value in chain)

    def _changing(self, samples):
        """[(Change, Heap)] of what the samples' calls change."""
        job, pause = self._job, self._job.eager_seconds
        turns = max(len(job.state.known), 2 if pause < _FAST else 1)
        buffers = job.fresh_buffers()
        calls = [functools.partial(job.call_again, sample, buffers) for _ in range(turns) for sample in samples]
        if pause < _SLOW:
            for call in calls:
                call()
        return self._confirmed(calls)

    def _changing_on_others(self, samples):
        """The same of calls with altered values that compute as the samples' do."""
        for sample in samples[:_MOST_SAMPLES]:
            result = self._job.plain_result(sample)
            before = self._look()
            buffers = self._job.fresh_buffers()
            alike = _Alike(self._job, sample, buffers)
            others = [tensors for tensors in altered(sample) if alike.is_so(tensors) and alike.is_so(tensors)]
            found = self._confirmed([lambda: [self._job.call_again(sample, buffers, tensors) for tensors in others]]) if others else []
            found = found or self._left_behind(sample, result, before)
            if found:
                return found
        return []

    def _left_behind(self, sample, result, before):
        """What calls have changed for good, where the program gives something else than `result` now: largest values so far, and the like."""
        self._job.restore()
        after = self._look()
        if layouts.same_results(self._job.eager(sample), result):
            return []
        return [(change, after) for change, *_ in self._unknown({key: (change, after, before) for key, change in changes(before, after).items()}).values()]

    def _confirmed(self, calls):
        """[(Change, Heap)] of what two rounds of these calls change, and nobody knows."""
        found = self._unknown(self._round(calls))
        if not found:
            return []
        again = self._round(calls)
        found = {key: again[key] for key in found if key in again}
        idle = self._changing_alone() if found else {}
        return [(change, heap) for key, (change, heap, _) in found.items() if key not in idle]

    def _unknown(self, found):
        """Those of {where: (Change, Heap after it, Heap before it)} that are in no picture."""
        if found:
            self._known = _Known([*(phase.picture for phase in self._job.state.known), self._job.state.look(), self._job.arguments],
                                 self._job.state.first.picture.cold_caches())
        return {key: seen for key, seen in found.items() if not self._known.has(*seen)}

    def _round(self, calls):
        """{where: (Change, Heap after it, Heap before it)}"""
        found, before = {}, self._look()
        for call in calls:
            call()
            after = self._look()
            found.update({key: (change, after, before) for key, change in changes(before, after).items()})
            before = after
        return found

    def _changing_alone(self):
        """What other threads change."""
        before = self._look()
        time.sleep(min(max(self._job.eager_seconds, _IDLE), 1.0))
        return changes(before, self._look())


def _is_of_capture(value):
    return is_lazy(value) or type(value) in CARRIERS


def _plain_of(lazy):
    """One of its kind that nobody computes."""
    return torch.zeros(lazy.shape, dtype=lazy.dtype) if is_lazy(lazy) else lazy.__class__()


class _Alike:
    """Whether a program computes on other values as on the sample's: else the bundle refuses them, and what the program does there is its own."""

    def __init__(self, job, sample, buffers):
        self._job, self._sample, self._buffers = job, sample, buffers
        self._known = {self._operators(None) for _ in job.state.known[:2]}

    def is_so(self, tensors):
        try:
            return self._operators(tensors) in self._known
        except Exception:  # eager's own, on such values
            return False

    def _operators(self, tensors):
        with _Operators() as mode:
            self._job.call_again(self._sample, self._buffers, tensors)
        return tuple(mode.names)


class _Operators(TorchFunctionMode):
    """Names of the functions of torch that are called."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(getattr(func, "__name__", ""))
        return func(*args, **(kwargs or {}))


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
        if type(holder) is torch.Tensor and id(holder) not in before.nodes and self._keeps_items_of(chain[:-1]):
            return True  # a new one each time: it may be gone from the pictures, not its place
        moves = isinstance(holder, collections.abc.Iterator) or id(holder) not in before.nodes  # else it only lies in what is moved on
        if moves and any(isinstance(value, collections.abc.Iterator) and id(value) in self.whole for value in chain):
            return True
        return any(id(value) in self.told and id(value) not in before.nodes for value in chain)

    def _keeps_items_of(self, chain):
        """Whether the last one on the way is kept whole, or is the __dict__ of such a one."""
        owns = len(chain) > 1 and id(chain[-2]) in self.whole and _inner(chain[-2]) is chain[-1]
        return bool(chain) and id(chain[-1]) in self.whole or owns


def _text(heap, change, known):
    name, chain = heap.chain(change.holder)
    where = _path(name, chain)
    if change.name is not None:
        where += _step(change.holder, chain[-2] if len(chain) > 1 else None, change.name)
    kind = _culprit(chain, known)
    return (f"the program changes {kind}, which it reaches as '{where}', in its calls: LazyRT cannot follow this, nor put it back; its state "
            "has moved by the calls that the export made")


def _culprit(chain, known):
    """The first object on the way that no picture knows, in words."""
    for value in chain:
        inner = attributes_of(value) if not isinstance(value, weakref.ProxyTypes) else None
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
