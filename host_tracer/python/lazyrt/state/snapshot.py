"""A snapshot of the state of a program: what it reaches by attributes, lists, tuples, dicts, deques and sets, closure cells, the globals and class attributes that
its code names.

Every place has a path ("block.mem", "queue[2]", "model.CACHE['k']"). A Snapshot says what was there, and puts everything back."""

import argparse
import collections
import collections.abc
import copy
import datetime
import decimal
import enum
import fractions
import functools
import logging
import pathlib
import queue
import random
import struct
import threading
import types
import uuid

import numpy
import torch

from lazyrt.state.code_names import attributes_of, global_names, is_python_class, of_a_library
from lazyrt.state.memory import ArrayEntry, TensorEntry, place_of
from lazyrt.state.script_state import ScriptEntry, module_of

TupleAt = collections.namedtuple("TupleAt", "path")  # owner of a tuple's items: it is replaced itself
Held = collections.namedtuple("Held", "tensor content place")  # a tensor, a token that is equal for equal contents, and how it lies in memory
CARRIERS: set = set()  # types of numbers that know the lazy tensor that they are the value of

_MOST_PLACES = 1_000_000
_NUMBERS, _TEXTS = (bool, int, float, complex), (str, bytes)
_BY_IDENTITY = (type(Ellipsis), type(NotImplemented), types.MethodDescriptorType, types.WrapperDescriptorType, types.BuiltinFunctionType, types.MethodWrapperType,
                types.GetSetDescriptorType, types.MemberDescriptorType, torch.dtype, torch.device, torch.layout, torch.memory_format, threading.Thread,
                logging.Logger, enum.Enum)
_BY_TEXT = (range, slice, torch.Size, decimal.Decimal, fractions.Fraction, datetime.date, datetime.time, datetime.timedelta, uuid.UUID, pathlib.PurePath)
_ONE_WAY = (types.GeneratorType, types.CoroutineType, queue.SimpleQueue)
_HOLDERS = (collections.UserDict, collections.UserList, collections.ChainMap, types.SimpleNamespace, argparse.Namespace, functools.partialmethod, queue.Queue)
_CODE = (types.FunctionType, staticmethod, classmethod, property, functools.cached_property, functools.partialmethod)
_CACHED = type(functools.lru_cache(lambda: None))
_MAKING = ("__init__", "__new__", "__init_subclass__", "__class_getitem__")
_MISSING = type("Missing", (), {"__repr__": lambda self: "nothing"})()


class Snapshot:
    """`roots` are [(path, object)]. Afterwards `places` maps each path to what is there: Held, or a token that is equal for equal things; `tensors`
    are [(path, tensor)], each once; `owners` maps a path to (object, name) of what holds it. What is only at `ignored` paths is in `aside`
    instead."""

    def __init__(self, roots, contents, ignored=()):
        self.places, self.tensors, self.owners, self.numbers, self.carriers = {}, [], {}, [], []
        self.arrays, self.lazy_arrays = [], []  # (path, array of NumPy); the same of those that are computed from inputs
        self.one_way = []  # (path, class) of what can be neither copied nor put back
        self.containers = {}  # path -> the list, dict, deque or set there
        self.aside, self.aside_tensors = {}, []
        self.namespaces = []  # globals of the functions that are reached
        self._random = []  # (generator of random numbers, its state)
        self._contents = contents
        self._into, self._found = self.places, self.tensors
        self._entries, self._seen, self._keep = [], {}, []
        self._words = {"forward": None}  # names in the code that was looked into, in order
        self._named = []  # [path, class or module, how many words were looked up]: of these those places are looked at that code names
        self._todo = [(path, value, None) for path, value in reversed(roots)]
        self._walk(ignored)

    def _walk(self, ignored):
        later = []
        while (self._todo or self._open_named() or later) and len(self.places) < _MOST_PLACES:
            if not self._todo:
                self._todo, later, ignored = later, [], ()
                self._into, self._found = self.aside, self.aside_tensors
            path, value, owner = self._todo.pop()
            path = self._free(path)
            if owner is not None:
                self.owners[path] = owner
            if path in ignored:
                later.append((path, value, owner))
            else:
                self._into[path] = self._visit(path, value)
        self.complete = not self._todo

    def _open_named(self):
        """Continues with attributes of classes and modules that code names only now; returns whether there are any."""
        words = list(self._words)
        for named in self._named:
            path, owner, known = named
            named[2] = len(words)
            for name in words[known:]:
                if name in vars(owner) and name not in _MAKING:
                    self._visit_named(path, owner, name)
        return bool(self._todo)

    def _free(self, path):
        """The path, with a number appended if another place has it."""
        name, i = path, 1
        while name in self.places or name in self.aside:
            i += 1
            name = f"{path}~{i}"
        return name

    # ---------------------------------------------------------------- and back

    def restore(self, given=None):
        """Restores everything; `given(value)` says what to put where `value` was."""
        given = given or (lambda value: value)
        for entry in self._entries:
            entry.restore(given)

    def restore_random(self):
        """Restores random number generators, which restore() leaves alone, because draws have to be seen to differ."""
        for value, state in self._random:
            if isinstance(value, random.Random):
                value.setstate(state)
            elif isinstance(value, torch.Generator):
                value.set_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))
            else:
                value.bit_generator.state = state

    def keep_contents(self, tensors):
        """From now on, also restores the current contents of these tensors."""
        self._entries += [TensorEntry(tensor, self._contents) for tensor in tensors]

    def replace(self, given, unknown):
        """Turns this into a snapshot in which given(value) takes the place of each `value`. Tensors whose ids are in `unknown` are not looked at."""
        self.containers = {path: given(container) for path, container in self.containers.items()}
        self._entries = [entry for entry in self._entries if type(entry) is not TensorEntry or given(entry.value) is entry.value]
        for entry in self._entries:
            entry.value, entry.items = given(entry.value), [given(item) for item in entry.items]
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

    def holdings(self):
        """(object, [what it holds]) for everything that is reached; functions hold nothing here."""
        for value in self._keep:
            if isinstance(value, types.FunctionType):
                yield value, ()
        for entry in self._entries:
            yield entry.value, [*(getattr(entry, "keys", None) or ()), *(entry.items or ())]

    # ---------------------------------------------------------------- one value

    def _visit(self, path, value):
        if type(value) in CARRIERS:
            self.carriers.append((path, value))
            return ("carrier", value)
        if value is None:
            return None
        if isinstance(value, _BY_IDENTITY):
            return ("is", type(value).__name__, id(value))
        if isinstance(value, (*_NUMBERS, *_TEXTS)):
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
        if isinstance(value, (type, types.ModuleType)):
            self._look_into(value)
            return (type(value).__name__, id(value))
        visit = next((self._SPECIAL[base] for base in type(value).__mro__ if base in self._SPECIAL), None)
        if visit is not None:
            return visit(self, path, value)
        if isinstance(value, (tuple, frozenset)):
            for i, item in enumerate(value):
                self._push(f"{path}[{i}]", item, (TupleAt(path), i) if isinstance(value, tuple) else None)
            return (type(value), len(value))
        if isinstance(value, _ONE_WAY) or isinstance(value, collections.abc.Iterator) and type(value).__module__ in ("builtins", "itertools"):
            self.one_way.append((path, type(value).__name__))
            return ("one way", id(value))
        state = _state_of_generator(value)
        if state is not None:
            self._random.append((value, state))
            return (type(value).__name__, repr(state))
        return self._visit_instance(path, value)

    def _visit_tensor(self, path, value):
        self._found.append((path, value))
        self._push_attributes(path, value, value.__dict__)
        self._visit_slots(path, value)
        if value.device.type != "cpu":
            return Held(value, None, ())
        entry = TensorEntry(value, self._contents)
        self._entries.append(entry)
        if value.is_leaf and value.grad is not None:
            self._push(f"{path}.grad", value.grad, (value, "grad"))
        if value.requires_grad:
            self._into[f"{path}.requires_grad"] = True
        return Held(value, entry.saved[0], place_of(value))

    def _visit_instance(self, path, value):
        kind = type(value)
        if kind.__module__ == "lazyrt.numbers.arrays":
            self.lazy_arrays.append((path, value))
            return ("object", kind)
        token = self._visit_items(path, value)
        if token is None and of_a_library(kind.__module__) and not kind.__module__.startswith("torch.") and not issubclass(kind, _HOLDERS):
            return ("object", kind)
        inner = attributes_of(value)
        if inner is not None:
            self._push_attributes(path, value, inner)
        if isinstance(value, torch.jit.RecursiveScriptModule):
            self._visit_script(path, value)
        self._visit_slots(path, value)
        for base in kind.__mro__:
            self._look_into(base)
        return token or ("object", kind, None if is_python_class(kind) else id(value))

    def _visit_script(self, path, value):
        """Visits what a TorchScript module keeps where Python does not see it. The module returns copies of containers and objects: nobody else reads
        them, and what is put into them is put back as a whole. They own nothing."""
        if getattr(value, "_concrete_type", self) is None:  # it is being made
            return
        self._seen[("script", hash(value._c))] = path
        entry = ScriptEntry(value)
        for name, item in zip(entry.names, entry.items):
            self._visit_copy(f"{path}.{name}" if path else name, item)
        self._entries.append(entry)  # what it puts back is copied from its items: they have to be whole

    def _visit_copy(self, path, value):
        is_object = torch.jit._state._get_script_class(type(value)) is not None
        if type(value) not in (list, dict) and not is_object and (not isinstance(value, tuple) or isinstance(value, torch.Size)):
            self._push(path, value)
            return
        self._keep.append(value)
        entry = None if isinstance(value, tuple) else _ItemsEntry(value.__dict__ if is_object else value)
        items = value if entry is None else entry.items
        names = [f".{key}" for key in entry.keys] if is_object else [f"[{_key_text(key)}]" for key in getattr(entry, "keys", None) or range(len(items))]
        self._into[self._free(path)] = (type(value), len(items)) if entry is None else entry.token()
        self._entries += [] if entry is None else [entry]
        for name, item in zip(names, items):
            self._visit_copy(f"{path}{name}", item)

    def _visit_script_method(self, path, value):
        if ("script", hash(value.owner)) not in self._seen:
            self._push(f"{path}.owner", module_of(value))
        return ("method",)

    def _visit_items(self, path, value):
        """A container's items; None for what is none."""
        kind = type(value)
        if issubclass(kind, numpy.ndarray) and not value.dtype.hasobject:
            self._entries.append(ArrayEntry(value))
            if kind is numpy.ndarray:
                self.arrays.append((path, value))
            return self._entries[-1].token()
        if not issubclass(kind, (dict, list, set, collections.deque)):
            return None
        entry = _ItemsEntry(value)
        self._entries.append(entry)
        self.containers[path] = value
        if entry.keys is not None:
            for key, item in zip(reversed(entry.keys), reversed(entry.items)):
                self._push(f"{path}[{_key_text(key)}]", item, (value, key))
            for i, key in enumerate(entry.keys):
                if not isinstance(key, (*_NUMBERS, *_TEXTS)):
                    self._push(f"{path}.keys()[{i}]", key)
            if isinstance(value, collections.defaultdict) and value.default_factory is not None:
                self._push(f"{path}.default_factory", value.default_factory)
        elif issubclass(kind, set):  # which comes first is another question in each process
            for i, item in enumerate(sorted(entry.items, key=lambda item: (type(item).__name__, repr(item)))):
                self._push(f"{path}[{i}]", item)
        else:
            for i in range(len(entry.items) - 1, -1, -1):
                self._push(f"{path}[{i}]", entry.items[i], (value, i))
        return entry.token()

    def _push(self, path, value, owner=None):
        self._todo.append((path, value, owner))

    def _push_attributes(self, path, value, inner):
        """Attributes by name; those that a module keeps in tables of its own are named as in its state_dict."""
        entry, prefix = self._keep_items(inner), f"{path}." if path else ""
        tables = ("_parameters", "_buffers", "_modules") if isinstance(value, torch.nn.Module) else ()
        for name, item in zip(reversed(entry.keys), reversed(entry.items)):
            if name in tables and isinstance(item, dict):
                table = self._keep_items(item)
                for key, held in zip(reversed(table.keys), reversed(table.items)):
                    self._push(f"{prefix}{key}", held, (value, key))
                self._into[f"{prefix}{name}"] = tuple(table.keys)
            else:
                self._push(f"{prefix}{name}", item, (value, name))
        if entry.keys or not isinstance(value, (torch.Tensor, types.FunctionType)):
            self._into[f"{prefix}__dict__"] = tuple(sorted(entry.keys))

    def _keep_items(self, table):
        entry = _ItemsEntry(table)
        self._entries.append(entry)
        self._keep.append(table)
        return entry

    def _visit_slots(self, path, value):
        for cls in type(value).__mro__:
            slots = vars(cls).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                hidden = name.startswith("__") and not name.endswith("__")
                name = f"_{cls.__name__.lstrip('_')}{name}" if hidden else name
                if name not in ("__dict__", "__weakref__"):
                    self._visit_place(f"{path}.{name}" if path else name, _SlotEntry(value, name))

    def _visit_place(self, path, entry):
        self._entries.append(entry)
        if entry.items[0] is not _MISSING:
            self._push(path, entry.items[0], (entry.value, entry.name))

    # ---------------------------------------------------------------- code

    def _look_into(self, owner):
        """Looks into a class of the program, or a Python module: attributes that code names are state. Methods that Python calls by itself are code,
        too."""
        is_class = isinstance(owner, type)
        if ("named", id(owner)) in self._seen or of_a_library(owner.__module__ if is_class else owner.__name__) and not (is_class and _is_made(owner)):
            return
        self._seen[("named", id(owner))] = ""
        path = f"{owner.__module__}.{owner.__qualname__}" if is_class else owner.__name__
        self._named.append([path, owner, 0])
        if not is_class or not is_python_class(owner):
            return
        self._entries.append(_AddedEntry(owner))
        for name, item in list(vars(owner).items()):
            if name.startswith("__") and name not in _MAKING and isinstance(item, _CODE):
                self._visit_named(path, owner, name)

    def _visit_named(self, path, owner, name):
        is_class, names = isinstance(owner, type), vars(owner)
        if (id(owner if is_class else names), name) not in self._seen:
            self._seen[(id(owner if is_class else names), name)] = ""
            self._visit_place(f"{path}.{name}", _ClassEntry(owner, name) if is_class else _GlobalEntry(names, name))

    def _visit_function(self, path, function):
        for name in ("__defaults__", "__kwdefaults__"):
            if getattr(function, name):
                self._push(f"{path}.{name}", getattr(function, name), (function, name))
        self._push_attributes(path, function, function.__dict__)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            self._push(f"{path}.{name}", cell)
        self._visit_globals(function)
        return ("function", id(function.__code__))

    def _visit_globals(self, function):
        code, names = function.__code__, function.__globals__
        prefix = names.get("__name__", "globals")
        if of_a_library(prefix) or (code, id(names)) in self._seen:  # of a decorator; what it decorates is in its closure
            return
        self._seen[(code, id(names))] = ""
        if ("namespace", id(names)) not in self._seen:
            self._seen[("namespace", id(names))] = ""
            self.namespaces.append(names)
        found = global_names(code)
        self._words.update(dict.fromkeys(found))
        builtins = names.get("__builtins__", {})
        for name in found:
            if (id(names), name) in self._seen or name not in names and name in (builtins if isinstance(builtins, dict) else vars(builtins)):
                continue
            self._seen[(id(names), name)] = ""
            self._visit_place(f"{prefix}.{name}", _GlobalEntry(names, name))

    def _visit_cell(self, path, cell):
        entry = _SlotEntry(cell, "cell_contents")
        self._visit_place(f"{path}.cell", entry)
        return ("cell", entry.items[0] is not _MISSING)

    def _visit_parts(self, path, value):
        """Visits what a method, a partial or a descriptor calls, and its arguments."""
        for name in ("__self__", "__func__", "fget", "fset", "fdel", "func", "args", "keywords"):
            inner = getattr(value, name, None)
            if inner is not None:
                self._push(path + "()" if name in ("fget", "__func__") and not isinstance(value, types.MethodType) else f"{path}.{name}", inner)
        return (type(value).__name__,)

    def _visit_cached(self, path, value):
        """Visits a functools.lru_cache, which is assumed to be pure: it is emptied."""
        self._push(f"{path}()", value.__wrapped__)
        self._entries.append(_CacheEntry(value))
        return ("cached",)

    _SPECIAL = {types.FunctionType: _visit_function, types.CellType: _visit_cell, types.MethodType: _visit_parts, functools.partial: _visit_parts,
                staticmethod: _visit_parts, classmethod: _visit_parts, property: _visit_parts, functools.cached_property: _visit_parts, _CACHED: _visit_cached,
                torch._C.ScriptMethod: _visit_script_method}


def can_replace(owner, name):
    """Whether something else can be put into an attribute: into those in an instance's __dict__ that no descriptor hides."""
    if isinstance(owner, (type, dict, list, collections.deque)) or name not in getattr(owner, "__dict__", ()):
        return False
    return is_python_class(type(owner)) and not any(hasattr(vars(base).get(name), "__get__") for base in type(owner).__mro__)


def _is_made(cls):
    """Whether a function made the class, as torch.fx does for one object: the library that it claims to belong to does not have it."""
    return is_python_class(cls) and "<locals>" in cls.__qualname__


def _is_plain_value(value):
    return value is None or isinstance(value, (*_NUMBERS, *_TEXTS))


def plain_token(value):
    """What tells a number or text from others."""
    kind = type(value)
    if isinstance(value, float):
        return (kind.__name__, struct.pack("d", float.__mul__(value, 1.0)))
    if kind in (bool, int, str, bytes):
        return (kind.__name__, value)
    base = next(base for base in (*_NUMBERS, *_TEXTS) if isinstance(value, base))
    return (kind.__name__, base.__repr__(value), repr(value))


def _key_text(key):
    """A dict's key as a part of a path."""
    if isinstance(key, enum.Enum):
        return f"{type(key).__name__}.{key.name}"
    if _is_plain_value(key) or isinstance(key, tuple) and all(map(_is_plain_value, key)):
        return repr(key)
    return type(key).__name__


def _state_of_generator(value):
    """The state of a random number generator, in a form that can be compared; None for anything else."""
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, torch.Generator):
        return value.get_state().numpy().tobytes()
    if type(value).__module__.startswith("numpy.random") and hasattr(value, "bit_generator"):
        return copy.deepcopy(value.bit_generator.state)
    return None


# -------------------------------------------------------------------- entries: what lies somewhere (`items`), and how it is put back

class _ItemsEntry:
    """A list, deque, set or dict; of a dict the `keys`, too."""

    def __init__(self, value):
        self.base = next(base for base in (collections.OrderedDict, dict, list, collections.deque, set) if isinstance(value, base))
        self.value, (self.keys, self.items) = value, self._now(value)

    def _now(self, value):
        if issubclass(self.base, dict):
            pairs = list(self.base.items(value))
            return [key for key, _ in pairs], [item for _, item in pairs]
        return None, list(self.base.__iter__(value))

    def token(self):
        if self.keys is None:
            return (type(self.value), len(self.items), getattr(self.value, "maxlen", None))
        return (type(self.value), tuple(key if isinstance(key, (*_NUMBERS, *_TEXTS)) else type(key) for key in self.keys))

    def restore(self, given):
        (keys, items), then = self._now(self.value), [given(item) for item in self.items]
        if self.base is set:
            items, then = (sorted(found, key=id) for found in (items, then))
        if _are_same(keys or (), self.keys or ()) and _are_same(items, then):
            return
        self.base.clear(self.value)
        if self.keys is None:
            (set.update if self.base is set else self.base.extend)(self.value, then)
        else:
            for key, item in zip(self.keys, then):
                self.base.__setitem__(self.value, key, item)


def _are_same(a, b):
    return len(a) == len(b) and all(map(lambda x, y: x is y, a, b))


class _PlaceEntry:
    """One place with a name of its own."""

    def __init__(self, value, name):
        self.value, self.name = value, name
        self.items = [self._get()]

    def restore(self, given):
        then = given(self.items[0])
        if self._get() is not then:
            self._put(then)


class _SlotEntry(_PlaceEntry):
    """A slot of an object, or what is in a closure's cell."""

    def _get(self):
        try:
            return getattr(self.value, self.name)
        except (AttributeError, ValueError):  # nothing is in it
            return _MISSING

    def _put(self, then):
        object.__delattr__(self.value, self.name) if then is _MISSING else object.__setattr__(self.value, self.name, then)


class _ClassEntry(_PlaceEntry):
    def _get(self):
        return vars(self.value).get(self.name, _MISSING)

    def _put(self, then):
        type.__delattr__(self.value, self.name) if then is _MISSING else type.__setattr__(self.value, self.name, then)


class _GlobalEntry(_PlaceEntry):
    def _get(self):
        return self.value.get(self.name, _MISSING)

    def _put(self, then):
        if then is _MISSING:
            del self.value[self.name]
        else:
            self.value[self.name] = then


class _AddedEntry:
    """Attributes that a call adds to a class."""

    def __init__(self, value):
        self.value, self.items, self._known = value, [], set(vars(value))

    def restore(self, given):
        for name in [name for name in vars(self.value) if name not in self._known and not name.startswith("__")]:
            type.__delattr__(self.value, name)


class _CacheEntry:
    def __init__(self, value):
        self.value, self.items = value, []

    def restore(self, given):
        self.value.cache_clear()
