"""What a program can reach and change: modules' attributes, other objects, containers, closures, globals, classes.

A Reach is a picture of all that, taken at one moment. It names every place by a path ("block.mem", "queue[2]",
"model.CACHE['k']"), tells what is there, and puts everything back as it was."""

import argparse
import array
import asyncio
import collections
import concurrent.futures
import contextlib
import contextvars
import ctypes
import datetime
import decimal
import enum
import fractions
import functools
import gc
import io
import itertools
import logging
import mmap
import pathlib
import queue
import threading
import types
import uuid
import weakref

import numpy
import torch
from torch.nn.parameter import UninitializedTensorMixin  # type: ignore[attr-defined]

from lazyrt.code_names import attributes_of, is_installed, is_python_class, of_a_library
from lazyrt.entries import (HOOKS, MISSING, NUMBERS, TEXTS, ArrayEntry, AttributesEntry, CachedEntry, Contents, DequeEntry, DictEntry, KindEntry, LibrariesEntry,
                            ListEntry, MapEntry, MemoryEntry, ObjectsEntry, PlainEntry, RecordEntry, ScriptEntry, ScriptItemsEntry, SetEntry, StorageEntry,
                            TensorEntry, TextEntry, begin_of, extent_of, is_open_map, key_text, parts_of, place_of, plain_token)
from lazyrt.errors import ExportError
from lazyrt.iterators import copy_of, is_of_c, items_of, text_of
from lazyrt.library_entries import ContextEntry, PickledEntry, VariableEntry, entry_of, hides_state
from lazyrt.opaque import held_by, inner_state, is_awaited, may_move, pickled, put_back, told_by
from lazyrt.reach_code import IMPLIED, CodeOfReach, is_made
from lazyrt.registries import RegistriesEntry
from lazyrt.switches import CountersEntry, FlagsOfDecimalsEntry, LoggersEntry, SeedEntry, SwitchesEntry, of_process
from lazyrt.watch import unseen_ways, unwatched

__all__ = ["CARRIERS", "Contents", "Held", "Reach", "copy_of", "module_of", "of_a_library"]

TupleAt = collections.namedtuple("TupleAt", "path")  # owner of a tuple's items: it is replaced itself

MOST_PLACES = 1_000_000
_BY_IDENTITY = (type(None), type(Ellipsis), type(NotImplemented), types.MethodDescriptorType, types.WrapperDescriptorType,
                types.GetSetDescriptorType, types.MemberDescriptorType, torch.dtype, torch.device, torch.layout, torch.memory_format,
                threading.Thread)
_BY_TEXT = (range, torch.Size, decimal.Decimal, fractions.Fraction, datetime.date, datetime.time, datetime.timedelta, uuid.UUID,
            pathlib.PurePath)
_BUILTINS = (types.BuiltinFunctionType, types.MethodWrapperType)
_ITERATORS: tuple = (itertools.count, itertools.cycle, itertools.repeat, type(iter([])), type(iter(())), type(iter(range(0))), type(iter("")))
_ONE_WAY = (types.GeneratorType, types.CoroutineType, queue.SimpleQueue)  # beside the iterators of Python that are none of those
_HOLDERS = (collections.UserDict, collections.UserList, collections.ChainMap, types.SimpleNamespace, argparse.Namespace,
            functools.partialmethod, functools.cached_property, queue.Queue, concurrent.futures.Future, asyncio.Queue, threading.local, weakref.WeakKeyDictionary,
            weakref.WeakValueDictionary, weakref.WeakSet)
_OF_THE_SYSTEM = {"asyncio", "concurrent", "ctypes", "importlib", "lazyrt", "logging", "multiprocessing", "selectors", "socket", "subprocess", "unittest",
                  "weakref", "zipfile"}  # modules whose objects stand for threads, files and what else is not the program's own
Held = collections.namedtuple("Held", "tensor content place")  # a tensor, a token that is equal for equal contents, and how it lies in memory
_OF_OTHERS = (KindEntry, RegistriesEntry, TensorEntry, LibrariesEntry, CountersEntry, FlagsOfDecimalsEntry, SeedEntry, SwitchesEntry)  # whose value is told elsewhere, or is none
CARRIERS: set = set()  # types of numbers that know the lazy tensor that they are the value of


class Reach(CodeOfReach):
    """`roots` are [(path, object)]. Afterwards `places` tells by path what is where: Held, or a token that is equal
    for equal things; `tensors` are [(path, tensor)], each once; `owners` of a path: (object, name) of an attribute. `switches`: those of
    the process are places, too."""

    def __init__(self, roots, contents, ignored=(), switches=False):
        self.places, self.tensors, self.owners, self.numbers, self.carriers = {}, [], {}, [], []
        self.iterators = []  # that can be copied, but not put back
        self.arrays, self.lazy_arrays = [], []  # (path, array of NumPy); the same of those that are computed from inputs
        self.buffers = []  # (path, begin, end) of memory that tensors may lie in, too
        self.mortal = {}  # id -> (path, object) of what somebody is told the end of
        self.hidden = {}  # id -> (path, object) of what is written in C and tells nobody what it holds
        self.one_way = []  # (path, class) of what can be neither copied nor put back
        self._pickled = set()  # ids of objects that are compared as pickle says them
        self._random = []  # (generator of random numbers, its state)
        self.containers = {}  # path -> the list, dict, deque or set there
        self.aside, self.aside_tensors = {}, []  # the same of what is at the paths `ignored` and nowhere else
        self._contents = contents
        self._into, self._found = self.places, self.tensors
        self._entries, self._seen, self._keep = [], {}, []
        self._near = set()  # modules of Python that define the classes of what is reached
        self._words = set()  # names in the code that was looked into
        self.holds_type = False  # the program has `type` under a name of its own
        self._modules = {}  # id -> module of Python that is reached: of its globals those are looked at that the code names
        self._libraries = {}  # id -> (path, module, class, function or object of a library): of its attributes, too
        self.bound = set()  # ids of containers that something refers to past all that could be put in their place
        self._todo = [(path, value, None) for path, value in reversed(roots)]
        if switches:
            self._push_loggers()
        self._walk(ignored)
        if switches:
            for entry, told in of_process(self._words):
                self._entries.append(entry)
                self.places.update(told)

    def reads_unseen(self, container=None):
        """Whether the code has ways to read attributes, or the container, that no one sees."""
        return not self._words.isdisjoint(unseen_ways(container))

    def _walk(self, ignored):
        later = []
        while (self._todo or self._open_modules() or self._open_libraries() or later) and len(self.places) < MOST_PLACES:
            if not self._todo:
                self._todo, later, ignored = later, [], ()
                self._into, self._found = self.aside, self.aside_tensors
            path, value, owner = self._todo.pop()
            if owner is IMPLIED and id(value) in self._seen:
                continue
            path = self._free(path)
            if owner is not None and owner is not IMPLIED:
                self.owners[path] = owner
            if path in ignored:
                later.append((path, value, owner))
            else:
                self._into[path] = self._visit(path, value)
        self.complete = not self._todo

    def _open_modules(self):
        """Goes on with globals of modules; whether there are any."""
        for module in list(self._modules.values()):
            for name in sorted(self._words.intersection(vars(module))):
                self._visit_global(module.__name__, vars(module), name)
        return bool(self._todo)

    def _open_libraries(self):
        """Goes on with what the code names of libraries; whether there is anything."""
        if not self._libraries:
            return False
        words = frozenset(self._words)
        entry = LibrariesEntry(words)
        while self._libraries:
            _, (path, value) = self._libraries.popitem()
            attributes = value.__dict__
            kept = entry.add(value)
            if kept:
                self.places[f"{path}.__dict__"] = tuple(name for name, _ in kept)
            for name, item in kept:
                if path != "sys" or name != "modules":
                    self._push(f"{path}.{name}", item, (value, name))
            for name in [name for name in attributes if name in words]:
                if not isinstance(value, type) or type(attributes[name]) is not types.FunctionType:
                    self._note_library(f"{path}.{name}", attributes[name])
        self._entries.append(entry)
        return bool(self._todo)

    def _note_library(self, path, value):
        """Remembers what belongs to a library and has attributes."""
        kind = value if isinstance(value, (type, types.FunctionType)) else type(value)
        name = value.__name__ if isinstance(value, types.ModuleType) else getattr(kind, "__module__", None)
        if ("library", id(value)) in self._seen or not of_a_library(name) or isinstance(value, (torch.Tensor, torch.nn.Module)):
            return
        self._visit_registry(path, value)
        if isinstance(value, type) or type(attributes_of(value)) is dict:
            self._seen[("library", id(value))] = path
            self._keep.append(value)
            self._libraries[id(value)] = (path, value)

    def _push_loggers(self):
        """Attributes that somebody has given to loggers."""
        entry = LoggersEntry()
        self._entries.append(entry)
        for (logger, name), item in zip(entry.kept, entry.items):
            self._push(f"logging.getLogger({logger.name!r}).{name}", item, (logger, name))

    def _visit_logger(self, path, value):
        """Its switches and attributes are looked at with those of all others; its handlers where they are the program's own."""
        while value is not None:
            for i, handler in enumerate(value.handlers):
                if not of_a_library(type(handler).__module__) and not is_installed(type(handler).__module__):
                    self._push(f"{path}.handlers[{i}]", handler, IMPLIED)
            value = value.parent if value.propagate else None
        return ("logger",)

    def _free(self, path):
        """The path, with a number where another place has it."""
        name, i = path, 1
        while name in self.places or name in self.aside:
            i += 1
            name = f"{path}~{i}"
        return name

    def restore(self, given=None):
        """Puts everything back; `given(value)` says what to put where `value` was. Raises ExportError where something cannot be, when all else is."""
        given, failed = given or (lambda value: value), None
        for entry in self._entries:
            try:
                entry.restore(given)
            except ExportError as error:
                failed = failed or error
        if failed is not None:
            raise failed

    def restore_random(self):
        """Puts back generators of random numbers, which restore() leaves alone: what is drawn has to be seen to differ."""
        for value, state in self._random:
            put_back(value, state)

    def keep_contents(self, tensors):
        """Puts back from now on what these tensors hold now, too."""
        self._entries += [TensorEntry(tensor, self._contents) for tensor in tensors]

    def replace(self, given, unknown):
        """Makes this a picture of given(value) where `value` is. Tensors whose ids are in `unknown` are not looked at."""
        self.containers = {path: given(container) for path, container in self.containers.items()}
        self._entries = [entry for entry in self._entries if type(entry) is not TensorEntry or given(entry.value) is entry.value]
        for entry in self._entries:
            entry.value = given(entry.value)
            if type(entry) is DictEntry:
                entry.items = [(key, given(item)) for key, item in entry.items]
            else:
                entry.items = [given(item) for item in entry.items]
        self.aside_tensors = [(path, given(tensor)) for path, tensor in self.aside_tensors]
        self.arrays = [(path, given(array)) for path, array in self.arrays]
        seen = {id(entry.value) for entry in self._entries if type(entry) is TensorEntry}
        self.tensors, firsts = [(path, given(tensor)) for path, tensor in self.tensors], {}
        for path, tensor in self.tensors:
            if firsts.setdefault(id(tensor), path) != path:  # what was lazy here was there already
                self.places[path] = ("same as", firsts[id(tensor)])
            elif id(tensor) in unknown:
                self.places[path] = Held(tensor, None, ())
            elif id(tensor) not in seen:
                self._entries.append(TensorEntry(tensor, self._contents))
                self.places[path] = Held(tensor, self._entries[-1].saved[0], place_of(tensor))
        self.tensors = [(path, tensor) for path, tensor in self.tensors if firsts[id(tensor)] == path]

    def paths_by_tensor(self):
        """{id of a tensor: all places where it is}"""
        found, firsts = collections.defaultdict(set), {}
        for path, tensor in self.tensors:
            found[id(tensor)].add(path)
            firsts[path] = firsts[self._seen.get(id(tensor), path)] = id(tensor)
        for path, token in self.places.items():
            if type(token) is tuple and token[:1] == ("same as",) and token[1] in firsts:
                found[firsts[token[1]]].add(path)
        return found

    def names_attribute(self, name):
        """Whether the code mentions it."""
        return name in self._words

    def kept_sets(self):
        return [value for path, value in self.containers.items() if isinstance(value, set) and not path.endswith("._non_persistent_buffers_set")]

    def cold_caches(self):
        """Ids of functions with functools.lru_cache that have kept nothing yet: what they keep later cannot be put back."""
        return {id(entry.value) for entry in self._entries if type(entry) is CachedEntry and not entry.size}

    def well_kept(self):
        """Ids of the tensors whose content is put back."""
        return {id(entry.value) for entry in self._entries if type(entry) is TensorEntry and entry.saved[1] is not None}

    def add_known(self, whole, items, told):
        """Adds what this picture tells and puts back: ids of whole objects; (id, name) of items of others; ids of those that it compares
        as a whole, and does not put back."""
        for entry in self._entries:
            if isinstance(entry, PlainEntry):
                items.update((id(holder), name) for holder in (entry.value, getattr(entry.value, "__dict__", None)) for name in entry.kept)
            elif isinstance(entry, AttributesEntry) and isinstance(entry.value, (dict, type)):
                items.update((id(entry.value), name) for name in entry.names)
            elif isinstance(entry, LoggersEntry):
                items.update((id(vars(logger)), name) for logger, name in entry.kept)
            elif not isinstance(entry, _OF_OTHERS) and not (type(entry) is CachedEntry and self.names_attribute("cache_info")):
                whole.add(id(entry.value))
        whole |= self.well_kept()
        whole.update(id(value) for value in self._keep if isinstance(value, (tuple, frozenset)))
        whole.update(map(id, (*self.iterators, *(value for value, _ in self._random))))
        told |= self._pickled

    # ---------------------------------------------------------------- one value

    def _visit(self, path, value):
        self.holds_type |= value is type
        if type(value := unwatched(value)) in weakref.ProxyTypes:
            return self._visit_reference(path, value, value.__init__.__self__)
        if type(value) in CARRIERS:
            self.carriers.append((path, value))
            return ("carrier", value)
        if isinstance(value, (*NUMBERS, *TEXTS)) and not isinstance(value, enum.Enum):
            return self._visit_plain(path, value)
        if isinstance(value, _BY_IDENTITY):
            self._visit_more(path, value)
            return ("is", type(value).__name__, id(value)) if value is not None else None
        if isinstance(value, _BUILTINS):
            return self._visit_builtin(path, value)
        if isinstance(value, _BY_TEXT):
            self._visit_more(path, value)
            first = self._seen.setdefault(("text", id(value)), path)
            self._keep.append(value)
            return (type(value).__name__, repr(value), first if first != path else None)
        if isinstance(value, numpy.generic) and not (isinstance(value, numpy.void) and value.dtype.names):
            return (type(value).__name__, value.dtype.str, value.tobytes())
        if isinstance(value, enum.Enum):
            return self._visit_enum(value)
        known = self._seen.get(id(value))
        if known is not None:
            return ("same as", known)
        self._seen[id(value)] = path
        self._keep.append(value)
        return self._visit_object(path, value)

    def _visit_plain(self, path, value):
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            self.numbers.append((path, value))
        self._visit_more(path, value)
        return plain_token(value)

    def _visit_more(self, path, value):
        """Attributes of an object whose class derives from one that has none."""
        if is_python_class(type(value)) and not of_a_library(type(value).__module__) and ("more", id(value)) not in self._seen:
            self._seen[("more", id(value))] = path
            self._keep.append(value)
            if attributes_of(value) is not None:
                self._push_attributes(path, value, value.__dict__, False)
            self._visit_slots(path, value)

    def _visit_reference(self, path, value, target):
        """Of a weak reference what it refers to, unless nothing else holds it."""
        self._keep.append(value)
        if target is not None:
            self.bound.add(id(target))
            self._push(f"{path}()", target)
        return ("reference", type(value).__name__, target is None)

    def _visit_enum(self, value):
        """A member of an enum: which one it is, and the attributes that it has beside that."""
        kind = type(value)
        if id(value) not in self._seen and not of_a_library(kind.__module__):
            path = self._seen[id(value)] = f"{kind.__module__}.{kind.__qualname__}.{value.name}"
            entry = DictEntry(value.__dict__)
            self._entries.append(entry)
            for name, item in entry.items:
                if name not in _OF_MEMBERS:
                    self._push(f"{path}.{name}", item, (value, name))
            self._near.add(kind.__module__)
            self._push(f"{kind.__module__}.{kind.__qualname__}", kind, IMPLIED)
        return ("enum", id(value))

    def _visit_builtin(self, path, value):
        """Functions in C; of one that belongs to an object the object as well."""
        self._words.add(value.__name__)
        owner = getattr(value, "__self__", None)
        if owner is None or isinstance(owner, (type, types.ModuleType)):
            return ("is", type(value).__name__, id(value))
        self.bound.add(id(owner))
        self._push(f"{path}.__self__", owner)
        return ("builtin", value.__qualname__)

    def _visit_object(self, path, value):
        if issubclass(type(value), torch.Tensor):
            return self._visit_tensor(path, value)
        if isinstance(value, type):
            return self._visit_class(path, value)
        if isinstance(value, types.ModuleType):
            if self._is_near(value.__name__):
                self._modules[id(value)] = value
            self._note_library(value.__name__, value)
            return ("module", value.__name__)
        special = next((self._SPECIAL[base] for base in type(value).__mro__ if base in self._SPECIAL), None)
        if special is not None:
            self._visit_more(path, value)
            return special(self, path, value)
        if issubclass(type(value), weakref.ref):
            return self._visit_reference(path, value, weakref.ref.__call__(value))
        if isinstance(value, (tuple, frozenset)):
            for i, item in enumerate(value):
                self._push(f"{path}[{i}]", item, (TupleAt(path), i) if isinstance(value, tuple) else None)
            if not of_a_library(type(value).__module__) and hasattr(value, "__dict__"):
                self._push_attributes(path, value, value.__dict__, False)
            return (type(value), len(value))
        if isinstance(value, slice):
            for name in ("start", "stop", "step"):
                self._push(f"{path}.{name}", getattr(value, name))
            return ("slice",)
        if isinstance(value, (torch._C.Future, asyncio.Future)):
            return self._visit_future(path, value)
        if isinstance(value, memoryview):
            return self._visit_view(path, value)
        if isinstance(value, types.MappingProxyType):
            inside = gc.get_referents(value)[0]
            if "__module__" not in inside:  # not that of a class
                self.bound.add(id(inside))
                self._push(f"{path}()", inside)
            return ("proxy",)
        if isinstance(value, _ITERATORS):
            self.iterators.append(value)
            self.bound.update(id(held) for held in gc.get_referents(value))
            for i, item in enumerate(items_of(value)):
                self._push(f"{path}.<{type(item).__name__}>[{i}]", item)
            return (type(value).__name__, text_of(value))
        if isinstance(value, _ONE_WAY) or is_of_c(value):
            self.one_way.append((path, type(value).__name__))
            return ("one way", id(value))
        state = inner_state(value)
        if state is not None:
            self._visit_more(path, value)
            self._random.append((value, state))
            return self._contents.token_of_state(value, state)
        return self._visit_instance(path, value)

    def _visit_manager(self, path, value):
        """One of contextlib.contextmanager: as a decorator it makes itself anew for each call."""
        for name in ("func", "args", "kwds"):
            self._push(f"{path}.{name}", getattr(value, name, None))
        frame = getattr(value.gen, "gi_frame", None) or getattr(value.gen, "ag_frame", None)
        if frame is not None and not hasattr(value, "func"):  # it was entered
            self.one_way.append((path, type(value).__name__))
        return ("manager",)

    def _visit_view(self, path, value):
        try:
            self._push(f"{path}.obj", value.obj)
            return ("view", value.format, value.shape, value.strides, begin_of(value))
        except ValueError:
            return ("view", "released")

    def _visit_future(self, path, value):
        """One of torch or asyncio: its value cannot be taken back."""
        if hasattr(value, "__dict__"):
            self._push_attributes(path, value, value.__dict__, False)
        if not value.done():
            self.one_way.append((path, type(value).__name__))
            return ("future",)
        try:
            self._push(f"{path}.value()", value.value() if isinstance(value, torch._C.Future) else value.result())
        except Exception:  # one that has failed
            return ("future", id(value))
        return ("future",)

    def leave_out(self, modules):
        """Their own attributes are not put back."""
        own = {id(item) for module in modules for item in (vars(module), *vars(module).values())}
        self._entries = [entry for entry in self._entries if id(entry.value) not in own]

    def _visit_tensor(self, path, value):
        if isinstance(value, UninitializedTensorMixin):
            return ("uninitialized", id(value))
        self._found.append((path, value))
        self._push_attributes(path, value, value.__dict__, False)
        self._visit_slots(path, value)
        if value.device.type != "cpu":
            return Held(value, None, ())
        self.buffers += [(path, *extent_of(part)) for part in parts_of(value)]
        entry = TensorEntry(value, self._contents)
        self._entries.append(entry)
        if value.is_leaf and value.grad is not None:
            self._push(f"{path}.grad", value.grad, (value, "grad"))
        if value.requires_grad:
            self._into[f"{path}.requires_grad"] = True
        for name in HOOKS:
            self._visit_hooks(f"{path}.{name}", getattr(value, name))
        if value.grad_fn is not None:
            self.bound.add(id(value.grad_fn.metadata))
            self._push(f"{path}.grad_fn.metadata", value.grad_fn.metadata)
        return Held(value, entry.saved[0], place_of(value))

    def _visit_hooks(self, path, hooks):
        """Those of a tensor, in their order: their keys are numbers that are never the same."""
        if hooks:
            self._into[path] = len(hooks)
            self._entries.append(DictEntry(hooks))
            self._push_numbered(path, list(hooks.values()))

    def _visit_instance(self, path, value):
        if is_awaited(value):
            self.mortal[id(value)] = (path, value)
        token = self._visit_items(path, value)
        module = isinstance(value, torch.nn.Module)
        kind = type(value)
        if kind.__module__ == "lazyrt.arrays":
            self.lazy_arrays.append((path, value))
        if token is None and not module and of_a_library(kind.__module__) and not kind.__module__.startswith("torch.") and not _lies_open(kind):
            return self._visit_opaque(path, value)
        inner = attributes_of(value)
        if inner is not None:
            self._push_attributes(path, value, inner, module)
        if isinstance(value, torch.jit.RecursiveScriptModule):
            self._visit_script(path, value)
        self._visit_slots(path, value)
        for base in kind.__mro__:
            name, is_of_library = f"{base.__module__}.{base.__qualname__}", of_a_library(base.__module__)
            if not is_of_library:
                self._near.add(base.__module__)
            if not is_of_library or is_made(base):
                self._push(name, base, IMPLIED)
            else:
                self._note_library(name, base)
        if is_python_class(kind):
            self._entries.append(KindEntry(value))
        return token or ("object", kind, None if is_python_class(kind) else id(value))

    def _visit_opaque(self, path, value):
        """An object of Python's own library or NumPy: what it says of itself."""
        kind = type(value)
        self.bound |= held_by(value)
        told = told_by(value)
        if told is not None or kind.__module__.startswith("lazyrt"):
            return ("object", kind.__module__, kind.__name__, told)
        entry = PlainEntry(value)
        if entry.kept:
            self._entries.append(entry)
            return ("object", kind.__module__, kind.__name__, entry.token())
        text = pickled(value)
        if text is not None:
            self._pickled.add(id(value))
            self._entries.append(PickledEntry(value, text))
        elif not is_python_class(kind):
            self._push_held(path, value)
            if may_move(value):
                self.hidden[id(value)] = (path, value)
            return ("object", kind.__module__, kind.__name__, id(value))
        return ("object", kind.__module__, kind.__name__, text, id(value) if kind is object else None)

    def _push_held(self, path, value):
        """What an object that is written in C holds, as the garbage collector sees it. Nothing can be put in its place."""
        for i, held in enumerate(gc.get_referents(value)):
            if not isinstance(held, (type, types.ModuleType, types.FrameType, types.TracebackType, types.CodeType)):
                self.bound.add(id(held))
                self._push(f"{path}.<{type(held).__name__}>[{i}]", held)

    def _visit_script(self, path, value):
        """What a TorchScript module keeps out of Python's sight."""
        if getattr(value, "_concrete_type", self) is None:  # it is being made
            return
        _refuse_hidden_objects(path, value)
        self._seen[("script", hash(value._c))] = path
        entry = ScriptEntry(value)
        for name, item in zip(entry.names, entry.items):
            self._visit_copy(f"{path}.{name}" if path else name, item)
        self._entries.append(entry)  # what it puts back is copied from its items: they have to be whole

    def _visit_script_items(self, path, value):
        entry = ScriptItemsEntry(value)
        for key, item in zip(entry.keys, entry.items):
            self._visit_copy(f"{path}[{key!r}]", item)
        self._entries.append(entry)
        return entry.token()

    def _visit_copy(self, path, value):
        """What TorchScript hands out: of containers and objects copies. Nobody reads them, and what is put in them is put back as a whole:
        they own nothing."""
        if type(value) is list:
            entry, names = ListEntry(value), [f"[{i}]" for i in range(len(value))]
            items = entry.items
        elif type(value) is dict or torch.jit._state._get_script_class(type(value)) is not None:
            inner = value if type(value) is dict else value.__dict__
            entry, names = DictEntry(inner), [f"[{key_text(key)}]" if inner is value else f".{key}" for key in inner]
            items = [item for _, item in entry.items]
        elif isinstance(value, tuple) and not isinstance(value, torch.Size):
            entry, names, items = None, [f"[{i}]" for i in range(len(value))], value
        else:
            self._push(path, value)
            return
        self._keep.append(value)
        self._into[self._free(path)] = (type(value), len(value)) if entry is None else entry.token()
        if entry is not None:
            self._entries.append(entry)
        for name, item in zip(names, items):
            self._visit_copy(f"{path}{name}", item)

    def _visit_script_method(self, path, value):
        if ("script", hash(value.owner)) not in self._seen:
            self._push(f"{path}.owner", module_of(value))
        return ("method",)

    def _visit_items(self, path, value):
        """A container's items; None for what is none, whatever its __class__ says."""
        kind = type(value)
        if issubclass(kind, dict):
            entry = DictEntry(value)
            for key, item in reversed(entry.items):
                self._push(f"{path}[{key_text(key)}]", item, (value, key))
            self._push_keys(path, entry)
            if entry.factory is not None:
                self._push(f"{path}.default_factory", entry.factory)
                if isinstance(getattr(entry.factory, "__self__", None), collections.abc.Iterator):
                    self.one_way.append((f"{path}.default_factory", type(entry.factory.__self__).__name__))
        elif issubclass(kind, list):
            entry = ListEntry(value)
            self._push_numbered(path, entry.items, value)
        elif issubclass(kind, collections.deque):
            entry = DequeEntry(value)
            self._push_numbered(path, entry.items, value)
        elif issubclass(kind, set):
            entry = SetEntry(value)
            self._push_numbered(path, entry.in_order())
        elif issubclass(kind, (bytearray, array.array, numpy.ndarray)):
            objects = getattr(value, "dtype", None) == object
            self.buffers.append((path, *extent_of(value)))
            entry = ObjectsEntry(value) if objects else ArrayEntry(value)
            if type(value) is numpy.ndarray and not objects:
                self.arrays.append((path, value))
            self._push_numbered(path, entry.items)
        elif issubclass(kind, (ctypes._SimpleCData, ctypes.Array, ctypes.Structure, ctypes.Union)):
            self.buffers.append((path, *extent_of(value)))
            entry = MemoryEntry(value)
        elif issubclass(kind, mmap.mmap) and is_open_map(value):
            self.buffers.append((path, *extent_of(value)))
            entry = MapEntry(value)
        elif issubclass(kind, torch.UntypedStorage) and value.device.type == "cpu":
            self.buffers.append((path, value.data_ptr(), value.data_ptr() + value.nbytes()))
            entry = StorageEntry(value)
        elif issubclass(kind, (io.StringIO, io.BytesIO)):
            if issubclass(kind, io.BytesIO):
                self.buffers.append((path, *extent_of(value.getbuffer())))
            entry = TextEntry(value)
        elif issubclass(kind, numpy.void):
            entry = RecordEntry(value)
        elif issubclass(kind, BaseException):
            entry = AttributesEntry(value, _OF_ERRORS)
            for name, item in zip(entry.names, entry.items):
                self._push(f"{path}.{name}", item, (value, name))
        elif issubclass(kind, contextvars.ContextVar):
            entry = VariableEntry(value)
            self._push(f"{path}.get()", entry.items[0])
        elif issubclass(kind, contextvars.Context):
            entry = ContextEntry(value)
            for variable, item in zip(entry.variables, entry.items):
                self._push(f"{path}[{variable.name}]", item)
        elif hides_state(value):
            self.one_way.append((path, kind.__name__))
            return ("one way", id(value))
        elif (entry := entry_of(value)) is None:
            return None
        self._entries.append(entry)
        if isinstance(entry, (DictEntry, ListEntry, DequeEntry, SetEntry)):
            self.containers[path] = value
        return entry.token()

    def _push_keys(self, path, entry):
        for i, (key, _) in enumerate(entry.items):
            if not isinstance(key, (*NUMBERS, *TEXTS)):
                self._push(f"{path}.keys()[{i}]", key)

    def _push_numbered(self, path, items, owner=None):
        for i in range(len(items) - 1, -1, -1):
            self._push(f"{path}[{i}]", items[i], None if owner is None else (owner, i))

    def _push(self, path, value, owner=None):
        self._todo.append((path, value, owner))

    def _push_attributes(self, path, value, inner, module):
        """Attributes by name; those that a module keeps in tables of its own are named as in its state_dict."""
        entry = DictEntry(inner)
        self._entries.append(entry)
        self._keep.append(inner)
        prefix = f"{path}." if path else ""
        tables = ("_parameters", "_buffers", "_modules") if module else ()
        for name, item in reversed(entry.items):
            if name in tables and isinstance(item, dict):
                table = DictEntry(item)
                self._entries.append(table)
                self._keep.append(item)
                for key, held in reversed(table.items):
                    self._push(f"{prefix}{key}", held, (value, key))
                self._into[f"{prefix}{name}"] = tuple(key for key, _ in table.items)
            else:
                self._push(f"{prefix}{name}", item, (value, name))
        self._into[f"{prefix}__dict__"] = tuple(sorted(name for name, _ in entry.items))

    def _visit_slots(self, path, value):
        names = []
        for cls in type(value).__mro__:
            slots = vars(cls).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                hidden = name.startswith("__") and not name.endswith("__")
                names.append(f"_{cls.__name__.lstrip('_')}{name}" if hidden else name)
        names = [name for name in names if name not in ("__dict__", "__weakref__")]
        if names:
            entry = AttributesEntry(value, names, object.__setattr__, object.__delattr__)
            self._entries.append(entry)
            for name, item in zip(names, entry.items):
                if item is not MISSING:
                    self._push(f"{path}.{name}" if path else name, item, (value, name))

    _SPECIAL = {
        types.FunctionType: CodeOfReach._visit_function, types.CellType: CodeOfReach._visit_cell, types.MethodType: CodeOfReach._visit_method,
        functools.partial: CodeOfReach._visit_partial, staticmethod: CodeOfReach._visit_descriptor, classmethod: CodeOfReach._visit_descriptor,
        property: CodeOfReach._visit_descriptor, functools.cached_property: CodeOfReach._visit_descriptor,
        type(functools.lru_cache(lambda: None)): CodeOfReach._visit_cached,
        logging.Logger: _visit_logger, contextlib._GeneratorContextManagerBase: _visit_manager,
        torch._C.ScriptDict: _visit_script_items, torch._C.ScriptList: _visit_script_items, torch._C.ScriptMethod: _visit_script_method,
    }


def _lies_open(kind):
    """Whether objects of a class of a library are what their attributes are."""
    if issubclass(kind, _HOLDERS):
        return True
    return is_python_class(kind) and kind.__module__.partition(".")[0] not in _OF_THE_SYSTEM


_OF_ERRORS = ("args", "__cause__", "__context__")
_OF_MEMBERS = ("_value_", "_name_", "__objclass__", "_sort_order_")


def module_of(method):
    """The TorchScript module that a method belongs to."""
    return torch.jit._recursive.wrap_cpp_module(method.owner)


def _refuse_hidden_objects(path, module):
    """torch.jit.freeze makes constants of objects, which the code goes on to change out of everyone's sight."""
    for name in module._c._method_names():
        for node in module._c._get_method(name).graph.findAllNodes("prim::Constant"):
            kind = node.output().type()
            if kind.kind() == "ClassType":
                raise ExportError(f"the frozen module '{path or 'self'}' keeps an object of {kind.annotation_str} in its code, whose changes cannot be followed: "
                                  "export it unfrozen", "unsupported")
