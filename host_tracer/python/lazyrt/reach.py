"""A snapshot of what a program can reach and change: attributes of modules and plain objects, lists, tuples, dicts, deques and sets, closure cells, the globals that its
code names, attributes of its classes.

A Reach is taken at one moment. It names every place by a path ("block.mem", "queue[2]", "model.CACHE['k']"), says what is there, and puts everything back."""

import argparse
import asyncio
import collections
import collections.abc
import contextlib
import datetime
import decimal
import enum
import fractions
import functools
import logging
import pathlib
import queue
import threading
import types
import uuid

import numpy
import torch
from torch.nn.parameter import UninitializedTensorMixin  # type: ignore[attr-defined]

from lazyrt.code_names import attributes_of, is_python_class, of_a_library
from lazyrt.entries import (MISSING, NUMBERS, TEXTS, ArrayEntry, AttributesEntry, Contents, DequeEntry, DictEntry, ListEntry, ScriptEntry, ScriptItemsEntry, SetEntry,
                            TensorEntry, extent_of, key_text, parts_of, place_of, plain_token)
from lazyrt.errors import ExportError
from lazyrt.opaque import inner_state, pickled, put_back, told_by
from lazyrt.reach_code import IMPLIED, CodeOfReach, is_made

__all__ = ["CARRIERS", "Contents", "Held", "Reach", "can_replace", "module_of", "of_a_library"]

TupleAt = collections.namedtuple("TupleAt", "path")  # owner of a tuple's items: it is replaced itself

MOST_PLACES = 1_000_000
_BY_IDENTITY = (type(None), type(Ellipsis), type(NotImplemented), types.MethodDescriptorType, types.WrapperDescriptorType, types.BuiltinFunctionType,
                types.MethodWrapperType, types.GetSetDescriptorType, types.MemberDescriptorType, torch.dtype, torch.device, torch.layout, torch.memory_format,
                threading.Thread, logging.Logger, enum.Enum)
_BY_TEXT = (range, torch.Size, decimal.Decimal, fractions.Fraction, datetime.date, datetime.time, datetime.timedelta, uuid.UUID,
            pathlib.PurePath)
_ONE_WAY = (types.GeneratorType, types.CoroutineType, queue.SimpleQueue)
_HOLDERS = (collections.UserDict, collections.UserList, collections.ChainMap, types.SimpleNamespace, argparse.Namespace,
            functools.partialmethod, functools.cached_property, queue.Queue, asyncio.Queue)
_OF_THE_SYSTEM = {"asyncio", "concurrent", "contextlib", "ctypes", "importlib", "lazyrt", "logging", "multiprocessing", "selectors", "socket", "subprocess", "threading",
                  "unittest", "weakref", "zipfile"}  # modules whose objects stand for threads, files and what else is not the program's own
Held = collections.namedtuple("Held", "tensor content place")  # a tensor, a token that is equal for equal contents, and how it lies in memory
CARRIERS: set = set()  # types of numbers that know the lazy tensor that they are the value of


class Reach(CodeOfReach):
    """`roots` are [(path, object)]. Afterwards `places` tells by path what is where: Held, or a token that is equal
    for equal things; `tensors` are [(path, tensor)], each once; `owners` of a path: (object, name) of an attribute."""

    def __init__(self, roots, contents, ignored=()):
        self.places, self.tensors, self.owners, self.numbers, self.carriers = {}, [], {}, [], []
        self.arrays, self.lazy_arrays = [], []  # (path, array of NumPy); the same of those that are computed from inputs
        self.buffers = []  # (path, begin, end) of memory that tensors may lie in, too
        self.one_way = []  # (path, class) of what can be neither copied nor put back
        self._random = []  # (generator of random numbers, its state)
        self.containers = {}  # path -> the list, dict, deque or set there
        self.aside, self.aside_tensors = {}, []  # the same of what is at the paths `ignored` and nowhere else
        self._contents = contents
        self._into, self._found = self.places, self.tensors
        self._entries, self._seen, self._keep = [], {}, []
        self._near = set()  # modules of Python that define the classes of what is reached
        self._words = set()  # names in the code that was looked into
        self.namespaces = []  # globals of the functions that are reached
        self._modules = {}  # id -> module of Python that is reached: of its globals those are looked at that the code names
        self._todo = [(path, value, None) for path, value in reversed(roots)]
        self._walk(ignored)

    def _walk(self, ignored):
        later = []
        while (self._todo or self._open_modules() or later) and len(self.places) < MOST_PLACES:
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

    def _free(self, path):
        """The path, with a number where another place has it."""
        name, i = path, 1
        while name in self.places or name in self.aside:
            i += 1
            name = f"{path}~{i}"
        return name

    def restore(self, given=None):
        """Puts everything back; `given(value)` says what to put where `value` was."""
        given = given or (lambda value: value)
        for entry in self._entries:
            entry.restore(given)

    def restore_random(self):
        """Puts back generators of random numbers, which restore() leaves alone: what is drawn has to be seen to differ."""
        for value, state in self._random:
            put_back(value, state)

    def keep_contents(self, tensors):
        """Puts back from now on what these tensors hold now, too."""
        self._entries += [TensorEntry(tensor, self._contents) for tensor in tensors]

    def replace(self, given, unknown):
        """Makes this a snapshot of given(value) where `value` is. Tensors whose ids are in `unknown` are not looked at."""
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

    def leave_out(self, modules):
        """Their own attributes are not put back."""
        own = {id(item) for module in modules for item in (vars(module), *vars(module).values())}
        self._entries = [entry for entry in self._entries if id(entry.value) not in own]

    def holdings(self):
        """(object, [what it holds]) of all that is reached; functions hold nothing here."""
        for value in self._keep:
            if isinstance(value, types.FunctionType):
                yield value, ()
        for entry in self._entries:
            yield entry.value, [part for pair in entry.items for part in pair] if type(entry) is DictEntry else entry.items

    # ---------------------------------------------------------------- one value

    def _visit(self, path, value):
        if type(value) in CARRIERS:
            self.carriers.append((path, value))
            return ("carrier", value)
        if isinstance(value, _BY_IDENTITY):
            return ("is", type(value).__name__, id(value)) if value is not None else None
        if isinstance(value, (*NUMBERS, *TEXTS)):
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                self.numbers.append((path, value))
            return plain_token(value)
        if isinstance(value, _BY_TEXT):
            return (type(value).__name__, repr(value))
        if isinstance(value, numpy.generic) and not isinstance(value, numpy.void):
            return (type(value).__name__, value.dtype.str, value.tobytes())
        known = self._seen.get(id(value))
        if known is not None:
            return ("same as", known)
        self._seen[id(value)] = path
        self._keep.append(value)
        return self._visit_object(path, value)

    def _visit_object(self, path, value):
        if issubclass(type(value), torch.Tensor):
            return self._visit_tensor(path, value)
        if isinstance(value, type):
            return self._visit_class(path, value)
        if isinstance(value, types.ModuleType):
            if self._is_near(value.__name__):
                self._modules[id(value)] = value
            return ("module", value.__name__)
        special = next((self._SPECIAL[base] for base in type(value).__mro__ if base in self._SPECIAL), None)
        if special is not None:
            return special(self, path, value)
        if isinstance(value, (tuple, frozenset)):
            for i, item in enumerate(value):
                self._push(f"{path}[{i}]", item, (TupleAt(path), i) if isinstance(value, tuple) else None)
            return (type(value), len(value))
        if isinstance(value, slice):
            return ("slice", repr(value))
        if isinstance(value, _ONE_WAY) or isinstance(value, collections.abc.Iterator) and type(value).__module__ in ("builtins", "itertools"):
            self.one_way.append((path, type(value).__name__))
            return ("one way", id(value))
        state = inner_state(value)
        if state is not None:
            self._random.append((value, state))
            return self._contents.token_of_state(value, state)
        return self._visit_instance(path, value)

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
        return Held(value, entry.saved[0], place_of(value))

    def _visit_instance(self, path, value):
        token = self._visit_items(path, value)
        module = isinstance(value, torch.nn.Module)
        kind = type(value)
        if kind.__module__ == "lazyrt.arrays":
            self.lazy_arrays.append((path, value))
            return ("object", kind.__module__, kind.__name__)
        if token is None and not module and of_a_library(kind.__module__) and not kind.__module__.startswith("torch.") and not _lies_open(kind):
            told = told_by(value)
            return ("object", kind.__module__, kind.__name__, pickled(value) if told is None else told)
        inner = attributes_of(value)
        if inner is not None:
            self._push_attributes(path, value, inner, module)
        if isinstance(value, torch.jit.RecursiveScriptModule):
            self._visit_script(path, value)
        self._visit_slots(path, value)
        for base in kind.__mro__:
            is_of_library = of_a_library(base.__module__)
            if not is_of_library:
                self._near.add(base.__module__)
            if not is_of_library or is_made(base):
                self._push(f"{base.__module__}.{base.__qualname__}", base, IMPLIED)
        return token or ("object", kind, None if is_python_class(kind) else id(value))

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
            for i, (key, _) in enumerate(entry.items):
                if not isinstance(key, (*NUMBERS, *TEXTS)):
                    self._push(f"{path}.keys()[{i}]", key)
            if entry.factory is not None:
                self._push(f"{path}.default_factory", entry.factory)
        elif issubclass(kind, (list, collections.deque)):
            entry = ListEntry(value) if issubclass(kind, list) else DequeEntry(value)
            for i in range(len(entry.items) - 1, -1, -1):
                self._push(f"{path}[{i}]", entry.items[i], (value, i))
        elif issubclass(kind, set):
            entry = SetEntry(value)
            for i, item in enumerate(entry.in_order()):
                self._push(f"{path}[{i}]", item)
        elif issubclass(kind, numpy.ndarray) and not value.dtype.hasobject:
            self.buffers.append((path, *extent_of(value)))
            entry = ArrayEntry(value)
            if type(value) is numpy.ndarray:
                self.arrays.append((path, value))
        else:
            return None
        self._entries.append(entry)
        if not isinstance(entry, ArrayEntry):
            self.containers[path] = value
        return entry.token()

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
        if entry.items or not isinstance(value, torch.Tensor):
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
        contextlib._GeneratorContextManagerBase: lambda self, path, value: ("manager",),
        torch._C.ScriptDict: _visit_script_items, torch._C.ScriptList: _visit_script_items, torch._C.ScriptMethod: _visit_script_method,
    }


def _lies_open(kind):
    """Whether objects of a class of a library are what their attributes are."""
    return issubclass(kind, _HOLDERS) or is_python_class(kind) and kind.__module__.partition(".")[0] not in _OF_THE_SYSTEM


def can_replace(owner, name):
    """Whether something else can be put into an attribute: those of instances that lie in their __dict__, and that no descriptor hides."""
    if isinstance(owner, (type, dict, list, collections.deque)) or name not in getattr(owner, "__dict__", ()):
        return False
    return is_python_class(type(owner)) and not any(hasattr(vars(base).get(name), "__get__") for base in type(owner).__mro__)


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
