"""What a program can reach and change: modules' attributes, other objects, containers, closures, globals, classes.

A Reach is a picture of all that, taken at one moment. It names every place by a path ("block.mem", "queue[2]",
"model.CACHE['k']"), tells what is there, and puts everything back as it was."""

import argparse
import array
import collections
import collections.abc
import contextvars
import copy
import dis
import enum
import functools
import gc
import hashlib
import io
import itertools
import operator
import queue
import random
import struct
import sys
import threading
import types
import weakref

import torch

MOST_PLACES = 1_000_000
_MANY = 65_536
_STORE_GLOBAL = dis.opmap["STORE_GLOBAL"]
_NUMBERS = (bool, int, float, complex)
_TEXTS = (str, bytes)
_BY_IDENTITY = (type(None), type(Ellipsis), type(NotImplemented), types.BuiltinFunctionType, types.MethodDescriptorType,
                types.WrapperDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType, types.MappingProxyType,
                torch.dtype, torch.device, torch.layout, torch.memory_format, enum.Enum)
_BY_TEXT = (range, slice, torch.Size)
_ITERATORS: tuple = (itertools.count, itertools.cycle, itertools.repeat, type(iter([])), type(iter(())), type(iter(range(0))), type(iter("")))
_LIBRARIES = {"torch", "numpy", "lazyrt", "torchgen", "functorch", *sys.stdlib_module_names} - {"__main__"}
_HOLDERS = (collections.UserDict, collections.UserList, collections.ChainMap, types.SimpleNamespace, argparse.Namespace,
            functools.partialmethod, functools.cached_property, queue.Queue, threading.local, weakref.WeakKeyDictionary,
            weakref.WeakValueDictionary)
Held = collections.namedtuple("Held", "tensor content")  # a tensor, and a token that is equal for equal contents
CARRIERS: set = set()  # types of numbers that know the lazy tensor that they are the value of
MISSING = type("Missing", (), {"__repr__": lambda self: "nothing"})()


def of_a_library(name):
    """Whether a module of Python is one that programs do not keep their state in: torch, numpy, Python's own."""
    return (name or "").partition(".")[0] in _LIBRARIES


# -------------------------------------------------------------------- containers, and how they are put back


class _Dict:
    def __init__(self, value):
        self.base = collections.OrderedDict if isinstance(value, collections.OrderedDict) else dict
        self.value, self.items = value, list(self.base.items(value))
        self.factory = getattr(value, "default_factory", None) if isinstance(value, collections.defaultdict) else None

    def token(self):
        keys = tuple(key if isinstance(key, (*_NUMBERS, *_TEXTS)) else type(key) for key, _ in self.items)
        return (type(self.value), keys)

    def restore(self, given):
        now = list(self.base.items(self.value))
        then = [(key, given(item)) for key, item in self.items]
        if self.factory is not None:
            self.value.default_factory = self.factory
        if len(now) == len(then) and all(a[0] is b[0] for a, b in zip(now, then)):
            for (key, before), (_, item) in zip(now, then):
                if before is not item:
                    self.base.__setitem__(self.value, key, item)
            return
        self.base.clear(self.value)
        for key, item in then:
            self.base.__setitem__(self.value, key, item)


class _List:
    def __init__(self, value):
        self.value, self.items = value, list.__getitem__(value, slice(None))

    def token(self):
        return (type(self.value), len(self.items))

    def restore(self, given):
        then = [given(item) for item in self.items]
        if list.__len__(self.value) != len(then) or any(a is not b for a, b in zip(list.__iter__(self.value), then)):
            list.__setitem__(self.value, slice(None), then)


class _Deque:
    def __init__(self, value):
        self.value, self.items = value, list(collections.deque.__iter__(value))

    def token(self):
        return (type(self.value), len(self.items), self.value.maxlen)

    def restore(self, given):
        then = [given(item) for item in self.items]
        if len(self.value) != len(then) or any(a is not b for a, b in zip(self.value, then)):
            collections.deque.clear(self.value)
            collections.deque.extend(self.value, then)


class _Set:
    def __init__(self, value):
        self.value, self.items = value, list(set.__iter__(value))

    def token(self):
        return (type(self.value), len(self.items))

    def restore(self, given):
        then = {given(item) for item in self.items}
        if set(self.value) != then:
            set.clear(self.value)
            set.update(self.value, then)


class _Cell:
    def __init__(self, value):
        self.value = value
        try:
            self.items = [value.cell_contents]
        except ValueError:  # not set yet
            self.items = []

    def token(self):
        return ("cell", len(self.items))

    def restore(self, given):
        if self.items:
            self.value.cell_contents = given(self.items[0])
        elif _Cell(self.value).items:
            del self.value.cell_contents


class _Attributes:
    """Attributes that are in no __dict__: slots, those of classes, a function's defaults."""

    def __init__(self, value, names, set_one=setattr, delete_one=delattr, get=getattr):
        self.value, self.names, self._set, self._delete, self._get = value, names, set_one, delete_one, get
        self.items = [get(value, name, MISSING) for name in names]

    def token(self):
        return (type(self.value).__name__, tuple(name for name, item in zip(self.names, self.items) if item is not MISSING))

    def restore(self, given):
        for name, item in zip(self.names, self.items):
            now, then = self._get(self.value, name, MISSING), given(item)
            if now is then:
                continue
            if then is MISSING:
                self._delete(self.value, name)
            else:
                self._set(self.value, name, then)


class _ClassAttributes(_Attributes):
    """Those of a class, by name, with what was added since."""

    def restore(self, given):
        for name in [name for name in vars(self.value) if _is_data_name(name) and name not in self.names]:
            type.__delattr__(self.value, name)
        super().restore(given)


def _from_class(cls, name, default):
    return vars(cls).get(name, default)


def _from_globals(names, name, default):
    return names.get(name, default)


def _is_data_name(name):
    return not (name.startswith("__") and name.endswith("__")) and name != "_abc_impl"


class _Variable:
    """A context variable. One that had no value cannot lose it again: it gets None."""

    def __init__(self, value):
        self.value, self.items = value, [value.get(MISSING)]

    def token(self):
        return ("variable", self.items[0] is MISSING)

    def restore(self, given):
        then = given(self.items[0])
        if self.value.get(MISSING) is not then:
            self.value.set(None if then is MISSING else then)


class _Cached:
    """A function with functools.lru_cache. It is emptied where it was empty, or where lazy tensors lie in it: it only repeats
    what the function gives."""

    def __init__(self, value):
        self.value, self.size, self.items = value, value.cache_info().currsize, []

    def kept(self):
        found, own = [], self.value.__dict__
        for held in gc.get_referents(self.value):
            if type(held) is dict and held is not own:
                found += [item for item in held.values() if type(item).__name__ != "_lru_list_elem"]
            elif held is not own and held is not self.value.__wrapped__ and not isinstance(held, type):
                found.append(held)
        return found

    def token(self):
        return ("cached", self.size)

    def restore(self, given):
        if self.value.cache_info().currsize == self.size:
            return
        if self.size == 0 or any(isinstance(item, torch.Tensor) and item.device.type == "lazy" for item in self.kept()):
            self.value.cache_clear()


class _Text:
    """A file in memory."""

    def __init__(self, value):
        self.value, self.content, self.items = value, (value.getvalue(), value.tell()), []

    def token(self):
        return (type(self.value).__name__, *self.content)

    def restore(self, given):
        if (self.value.getvalue(), self.value.tell()) != self.content:
            self.value.seek(0)
            self.value.truncate()
            self.value.write(self.content[0])
            self.value.seek(self.content[1])


class _Array:
    """A numpy array, array.array or bytearray: its content."""

    def __init__(self, value):
        self.value, self.content, self.items = value, copy.copy(value), []

    def token(self):
        content = self.content if isinstance(self.content, bytearray) else self.content.tobytes()
        shape = getattr(self.content, "shape", ())
        return (type(self.value), str(getattr(self.content, "dtype", "")), shape, hashlib.blake2b(content).hexdigest())

    def restore(self, given):
        if isinstance(self.value, (bytearray, array.array)):
            self.value[:] = self.content
        elif self.value.flags.writeable:
            self.value[...] = self.content


class _Tensor:
    """A CPU tensor: its content, flags, gradient and the attributes that a user gave it."""

    def __init__(self, value, contents):
        self.value, self._contents, self.items = value, contents, []
        self.flags = (value.requires_grad, value.grad if value.is_leaf else None)
        self.saved = contents.save(value)

    def restore(self, given):
        self._contents.restore(self.value, self.saved)
        requires_grad, grad = self.flags
        if self.value.is_leaf and not self.value.is_inference():
            if self.value.requires_grad != requires_grad:
                self.value.requires_grad_(requires_grad)
            if self.value.grad is not grad:
                self.value.grad = grad


class Contents:
    """What CPU tensors hold, across several pictures: a tensor that was not written is not copied again."""

    def __init__(self):
        self._known = {}  # id -> (tensor, version, copy or None, token)
        self._count = itertools.count()
        self._states = {}  # id -> (generator or iterator, its state)
        self.first = True  # what is seen for the first time is only counted, not read

    def token_of_state(self, value, state):
        """Equal only while it is as it was when it was seen first."""
        _, first = self._states.setdefault(id(value), (value, state))
        return (type(value).__name__, id(value)) if repr(state) == repr(first) else (type(value).__name__, next(self._count))

    def save(self, tensor):
        """(token, copy): equal tokens mean equal contents. Parameters are not copied."""
        known = self._known.get(id(tensor))
        if known and known[1] == self._version(tensor) and known[0] is tensor:
            return known[3], known[2]
        kept = isinstance(tensor, torch.nn.Parameter) or not _is_plain(tensor)
        token = ("tensor", next(self._count)) if known is None and (kept or self.first) else self._digest(tensor)
        copy = None if kept else tensor.detach().clone()
        self._known[id(tensor)] = (tensor, self._version(tensor), copy, token)
        return token, copy

    def restore(self, tensor, saved):
        token, copy = saved
        if copy is None or self._is(tensor, token, copy):
            return
        with torch.no_grad():
            tensor.copy_(copy)
        self._known[id(tensor)] = (tensor, self._version(tensor), copy, token)

    def _is(self, tensor, token, copy):
        known = self._known.get(id(tensor))
        same = known is not None and known[3] == token and known[1] == self._version(tensor)
        return same and (tensor.numel() > _MANY or torch.equal(tensor.detach(), copy))  # t.data, t.numpy() leave no version

    @staticmethod
    def _version(tensor):
        return -1 if tensor.is_inference() else tensor._version

    @staticmethod
    def _digest(tensor):
        if not _is_plain(tensor):
            return ("tensor", id(tensor))
        raw = tensor.detach().contiguous().reshape(-1).view(torch.uint8) if tensor.numel() else tensor
        return ("content", hashlib.blake2b(raw.numpy()).hexdigest(), tensor.dtype, tensor.shape)


def _is_plain(tensor):
    uninitialized = isinstance(tensor, torch.nn.parameter.UninitializedTensorMixin)
    plain = not uninitialized and tensor.device.type == "cpu" and tensor.layout == torch.strided and not tensor.is_quantized
    return plain and not tensor.is_inference() and not tensor.is_conj() and not tensor.is_neg()


# -------------------------------------------------------------------- the picture


class Reach:
    """`roots` are [(path, object)]. Afterwards `places` tells by path what is where: Held, or a token that is equal
    for equal things; `tensors` are [(path, tensor)], each once; `owners` of a path: (object, name) of an attribute."""

    def __init__(self, roots, contents, ignored=()):
        self.places, self.tensors, self.owners, self.numbers, self.carriers = {}, [], {}, [], []
        self.iterators = []  # that can be copied, but not put back
        self.lazy_arrays = []  # paths of NumPy arrays that are computed from inputs
        self.generators = []  # paths of those that cannot be copied either
        self._random = []  # (generator of random numbers, its state)
        self.containers = {}  # path -> the list, dict, deque or set there
        self.aside, self.aside_tensors = {}, []  # the same of what is at the paths `ignored` and nowhere else
        self._contents = contents
        self._into, self._found = self.places, self.tensors
        self._entries, self._seen, self._keep = [], {}, []
        self._near = set()  # modules of Python that define the classes of what is reached
        self._todo = [(path, value, None) for path, value in reversed(roots)]
        self._walk(ignored)

    def _walk(self, ignored):
        later = []
        while (self._todo or later) and len(self.places) < MOST_PLACES:
            if not self._todo:
                self._todo, later, ignored = later, [], ()
                self._into, self._found = self.aside, self.aside_tensors
            path, value, owner = self._todo.pop()
            if owner is not None:
                self.owners[path] = owner
            if path in ignored:
                later.append((path, value, owner))
            else:
                self._into[path] = self._visit(path, value)
        self.complete = not self._todo

    def restore(self, given=None):
        """Puts everything back; `given(value)` says what to put where `value` was."""
        given = given or (lambda value: value)
        for entry in self._entries:
            entry.restore(given)

    def restore_random(self):
        """Puts back generators of random numbers, which restore() leaves alone: what is drawn has to be seen to differ."""
        for value, state in self._random:
            if isinstance(value, random.Random):
                value.setstate(state)
            elif isinstance(value, torch.Generator):
                value.set_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))
            elif hasattr(value, "bit_generator"):
                value.bit_generator.state = state

    def keep_contents(self, tensors):
        """Puts back from now on what these tensors hold now, too."""
        self._entries += [_Tensor(tensor, self._contents) for tensor in tensors]

    def replace(self, given, unknown):
        """Makes this a picture of given(value) where `value` is. Tensors whose ids are in `unknown` are not looked at."""
        self.containers = {path: given(container) for path, container in self.containers.items()}
        self._entries = [entry for entry in self._entries if type(entry) is not _Tensor or given(entry.value) is entry.value]
        for entry in self._entries:
            entry.value = given(entry.value)
            if type(entry) is _Dict:
                entry.items = [(key, given(item)) for key, item in entry.items]
            else:
                entry.items = [given(item) for item in entry.items]
        self.aside_tensors = [(path, given(tensor)) for path, tensor in self.aside_tensors]
        seen = {id(entry.value) for entry in self._entries if type(entry) is _Tensor}
        self.tensors = [(path, given(tensor)) for path, tensor in self.tensors]
        for path, tensor in self.tensors:
            if id(tensor) in unknown:
                self.places[path] = Held(tensor, None)
            elif id(tensor) not in seen:
                self._entries.append(_Tensor(tensor, self._contents))
                self.places[path] = Held(tensor, self._entries[-1].saved[0])

    # ---------------------------------------------------------------- one value

    def _visit(self, path, value):
        if type(value) in CARRIERS:
            self.carriers.append((path, value))
            return ("carrier", value)
        if isinstance(value, _NUMBERS) or isinstance(value, _TEXTS):
            return self._visit_plain(path, value)
        if isinstance(value, _BY_IDENTITY):
            return ("is", type(value).__name__, id(value)) if value is not None else None
        if isinstance(value, _BY_TEXT):
            return (type(value).__name__, repr(value))
        known = self._seen.get(id(value))
        if known is not None:
            return ("same as", known)
        self._seen[id(value)] = path
        self._keep.append(value)
        return self._visit_object(path, value)

    def _visit_plain(self, path, value):
        kind = type(value)
        if isinstance(value, (int, float)) and kind is not bool:
            self.numbers.append((path, value))
        if isinstance(value, float):
            return (kind.__name__, struct.pack("d", float.__add__(value, 0.0)))
        return (kind.__name__, value) if kind in (bool, int, str, bytes) else (kind.__name__, repr(value))

    def _visit_object(self, path, value):
        if isinstance(value, torch.Tensor):
            return self._visit_tensor(path, value)
        if isinstance(value, type):
            return self._visit_class(path, value)
        if isinstance(value, types.ModuleType):
            return ("module", value.__name__)
        special = self._SPECIAL.get(type(value))
        if special is not None:
            return special(self, path, value)
        if isinstance(value, (tuple, frozenset)):
            for i, item in enumerate(value):
                self._push(f"{path}[{i}]", item)
            return (type(value), len(value))
        if isinstance(value, _ITERATORS):
            self.iterators.append(value)
            return (type(value).__name__, _text_of(value))
        state = _inner_state(value)
        if state is not None:
            self._random.append((value, state))
            if isinstance(value, types.GeneratorType):
                self.generators.append(path)
            return self._contents.token_of_state(value, state)
        return self._visit_instance(path, value)

    def _visit_tensor(self, path, value):
        self._found.append((path, value))
        if value.device.type == "cpu":
            self._entries.append(_Tensor(value, self._contents))
            return Held(value, self._entries[-1].saved[0])
        return Held(value, None)

    def _visit_instance(self, path, value):
        token = self._visit_items(path, value)
        module = isinstance(value, torch.nn.Module)
        kind = type(value)
        if kind.__module__ == "lazyrt.arrays":
            self.lazy_arrays.append(path)
        if token is None and not module and of_a_library(kind.__module__) and not isinstance(value, _HOLDERS):
            if not kind.__module__.startswith("torch."):
                return ("object", kind.__module__, kind.__name__)
        inner = getattr(value, "__dict__", None)
        if type(inner) is dict or isinstance(inner, collections.OrderedDict):
            self._push_attributes(path, value, inner, module)
        self._visit_slots(path, value)
        for base in kind.__mro__:
            if not of_a_library(base.__module__):
                self._near.add(base.__module__)
                self._push(f"{base.__module__}.{base.__qualname__}", base)
        return token or ("object", kind)

    def _visit_items(self, path, value):
        """A container's items; None for what is none."""
        if isinstance(value, dict):
            entry = _Dict(value)
            for key, item in reversed(entry.items):
                plain = isinstance(key, (*_NUMBERS, *_TEXTS))
                self._push(f"{path}[{key!r}]" if plain else f"{path}[{type(key).__name__}]", item, (value, key))
            self._push_keys(path, entry)
        elif isinstance(value, list):
            entry = _List(value)
            self._push_numbered(path, entry.items, value)
        elif isinstance(value, collections.deque):
            entry = _Deque(value)
            self._push_numbered(path, entry.items, value)
        elif isinstance(value, set):
            entry = _Set(value)
            self._push_numbered(path, sorted(entry.items, key=lambda item: (type(item).__name__, repr(item))))
        elif isinstance(value, (bytearray, array.array)) or type(value).__name__ == "ndarray":
            entry = _Array(value)
        elif isinstance(value, (io.StringIO, io.BytesIO)):
            entry = _Text(value)
        elif isinstance(value, contextvars.ContextVar):
            entry = _Variable(value)
            self._push(f"{path}.get()", entry.items[0])
        else:
            return None
        self._entries.append(entry)
        if isinstance(entry, (_Dict, _List, _Deque, _Set)):
            self.containers[path] = value
        return entry.token()

    def _push_keys(self, path, entry):
        for i, (key, _) in enumerate(entry.items):
            if not isinstance(key, (*_NUMBERS, *_TEXTS)):
                self._push(f"{path}.keys()[{i}]", key)

    def _push_numbered(self, path, items, owner=None):
        for i in range(len(items) - 1, -1, -1):
            self._push(f"{path}[{i}]", items[i], None if owner is None else (owner, i))

    def _push(self, path, value, owner=None):
        self._todo.append((path, value, owner))

    def _push_attributes(self, path, value, inner, module):
        """Attributes by name; those that a module keeps in tables of its own are named as in its state_dict."""
        entry = _Dict(inner)
        self._entries.append(entry)
        self._keep.append(inner)
        prefix = f"{path}." if path else ""
        tables = ("_parameters", "_buffers", "_modules") if module else ()
        for name, item in reversed(entry.items):
            if name in tables and isinstance(item, dict):
                table = _Dict(item)
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
        if names and not of_a_library(type(value).__module__):
            entry = _Attributes(value, names, object.__setattr__, object.__delattr__)
            self._entries.append(entry)
            for name, item in zip(names, entry.items):
                if item is not MISSING:
                    self._push(f"{path}.{name}" if path else name, item, (value, name))

    # ---------------------------------------------------------------- code

    def _is_near(self, module):
        """Whether code of this module of Python is looked into: the user's own is, and what defines the classes that are
        reached, not all that an installed package draws in."""
        if of_a_library(module):
            return False
        return module in self._near or not _is_installed(module)

    def _visit_class(self, path, cls):
        if not self._is_near(cls.__module__) or issubclass(cls, enum.Enum):
            return ("class", id(cls))
        entry = _ClassAttributes(cls, [name for name in vars(cls) if _is_data_name(name) or name in _CODE_NAMES],
                                 type.__setattr__, type.__delattr__, _from_class)
        self._entries.append(entry)
        for name, item in zip(entry.names, entry.items):
            self._push(f"{path}.{name}", item, (cls, name))
        return ("class", id(cls), tuple(entry.names))

    def _visit_function(self, path, function):
        if of_a_library(function.__module__) and not function.__dict__:
            if not (function.__closure__ and function.__module__ == "functools"):
                return ("function", id(function.__code__))
        if not self._is_near(function.__module__) and not function.__closure__:
            return ("function", id(function.__code__))
        entry = _Attributes(function, ["__defaults__", "__kwdefaults__"])
        self._entries.append(entry)
        self._push(f"{path}.__defaults__", function.__defaults__)
        self._push(f"{path}.__kwdefaults__", function.__kwdefaults__)
        self._push(f"{path}.__wrapped__", getattr(function, "__wrapped__", None))
        self._push_attributes(path, function, function.__dict__, False)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            self._push(f"{path}.{name}", cell)
        self._visit_globals(function)
        return ("function", id(function.__code__))

    def _visit_globals(self, function):
        code, names = function.__code__, function.__globals__
        if not self._is_near(names.get("__name__")):  # of a decorator; what it decorates is in its closure
            return
        if (code, id(names)) in self._seen:
            return
        self._seen[(code, id(names))] = ""
        found, stored = _global_names(code)
        prefix = names.get("__name__", "globals")
        for name in found:
            if name in names or name in stored:
                self._visit_global(prefix, names, name)
            value = names.get(name)
            if isinstance(value, types.ModuleType) and not of_a_library(value.__name__):
                for attribute in found:
                    if self._is_near(value.__name__) and attribute in vars(value):
                        self._visit_global(value.__name__, vars(value), attribute)

    def _visit_global(self, prefix, names, name):
        path = f"{prefix}.{name}"
        if path in self.places or (id(names), name) in self._seen:
            return
        self._seen[(id(names), name)] = path
        entry = _Attributes(names, [name], operator.setitem, operator.delitem, _from_globals)
        self._entries.append(entry)
        self._push(path, entry.items[0], (names, name))

    def _visit_cell(self, path, cell):
        entry = _Cell(cell)
        self._entries.append(entry)
        for item in entry.items:
            self._push(f"{path}.cell", item, (cell, "cell_contents"))
        return entry.token()

    def _visit_method(self, path, method):
        self._push(f"{path}.__self__", method.__self__)
        self._push(f"{path}.__func__", method.__func__)
        return ("method",)

    def _visit_partial(self, path, value):
        self._push(f"{path}.func", value.func)
        self._push(f"{path}.args", value.args)
        self._push(f"{path}.keywords", value.keywords)
        return ("partial",)

    def _visit_descriptor(self, path, value):
        for name in ("__func__", "fget", "fset", "func"):
            inner = getattr(value, name, None)
            if inner is not None:
                self._push(f"{path}.{name}" if name == "fset" else path + "()", inner)
        return (type(value).__name__,)

    def _visit_cached(self, path, value):
        """A function with functools.lru_cache: what it has kept, in no order of ours."""
        self._push(f"{path}()", value.__wrapped__)
        entry = _Cached(value)
        self._entries.append(entry)
        for i, item in enumerate(entry.kept()):
            self._push(f"{path}.cache[{i}]", item)
        return entry.token()

    _SPECIAL = {
        types.FunctionType: _visit_function, types.CellType: _visit_cell, types.MethodType: _visit_method,
        functools.partial: _visit_partial, staticmethod: _visit_descriptor, classmethod: _visit_descriptor,
        property: _visit_descriptor, functools.cached_property: _visit_descriptor,
        type(functools.lru_cache(lambda: None)): _visit_cached,
    }


_CODE_NAMES = ("__call__", "__init__", "__getitem__", "__setitem__", "__enter__", "__exit__", "__len__", "__iter__", "__next__",
               "__getattr__", "__setattr__", "__contains__", "__add__", "__iadd__", "__radd__", "__mul__", "__rmul__",
               "__bool__", "__eq__", "__get__", "__set__", "__new__", "__post_init__", "__torch_function__")


@functools.lru_cache(maxsize=None)
def _is_installed(module):
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file


def _inner_state(value):
    """What a generator or iterator is up to, in a form that can be compared; None for what is none. It cannot be put back."""
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, torch.Generator):
        return value.get_state().numpy().tobytes()
    if isinstance(value, types.GeneratorType):
        frame = value.gi_frame
        return (frame.f_lasti, repr(frame.f_locals)) if frame is not None else ()
    if type(value).__module__.startswith("numpy.random") and hasattr(value, "bit_generator"):
        return copy.deepcopy(value.bit_generator.state)
    if isinstance(value, collections.abc.Iterator) and of_a_library(type(value).__module__) and hasattr(value, "__reduce__"):
        return _text_of(value)
    return None


def copy_of(iterator):
    """Another iterator that will give the same; its items are not copied."""
    if isinstance(iterator, itertools.cycle):
        cls, (inner,), state = iterator.__reduce__()
        made = cls(copy.copy(inner))
        made.__setstate__((list(state[0]), *state[1:]))
        return made
    return copy.copy(iterator)


def _text_of(iterator):
    """What an iterator will give, as text; reading it does not move it on."""
    try:
        parts = iterator.__reduce__()[1:]
        inner = [_text_of(part) if isinstance(part, collections.abc.Iterator) else part for part in parts[0]]
        return repr((inner, parts[1:]))
    except TypeError:
        return str(id(iterator))


@functools.lru_cache(maxsize=None)
def _global_names(code):
    """Names of globals and attributes in the code and in what it defines; those of them that it assigns to as globals."""
    names, stored = dict.fromkeys(code.co_names), set()
    if _STORE_GLOBAL in code.co_code[::2]:
        stored = {step.argval for step in dis.get_instructions(code) if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL")}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner, more = _global_names(constant)
            names.update(dict.fromkeys(inner))
            stored |= more
    return list(names), stored
