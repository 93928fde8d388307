"""All that the user's code holds, whether Reach knows it or not: objects, one by one, as the garbage collector sees them.

A Heap is a picture of it at one moment, made to be compared: changes() tells what differs between two. It begins at the program, the globals
of the user's modules, and at the user's functions and objects that only libraries hold; it does not enter libraries' modules, classes and
functions, but their objects."""

import array
import collections
import collections.abc
import contextvars
import copy
import ctypes
import datetime
import decimal
import fractions
import functools
import gc
import hashlib
import io
import itertools
import logging
import mmap
import multiprocessing
import operator
import pathlib
import random
import sys
import threading
import types
import uuid
import weakref
import zlib

import numpy
import torch

from lazyrt import _tracer
from lazyrt.code_names import is_file_of_library, is_python_class
from lazyrt.entries import NAMES_OF_CLASSES, CachedEntry, buffer_of, bytes_of, is_plain_tensor, name_of_class, tensor_over
from lazyrt.library_entries import values_in
from lazyrt.opaque import inner_state
from lazyrt.tensors import is_lazy

MOST_OBJECTS = 400_000
_WITHOUT_SLOTS = (torch.Tensor, torch.nn.Parameter)  # nearly all tensors; to ask takes longer than the rest
_MOST_BYTES = 1 << 26  # of which all are looked at; of more a sample
_SMALL = 1 << 16  # bytes that need no digest
_MOST_KEPT = 1 << 26  # bytes of memory that are put back, in all
_MOST_ITEMS = 200_000  # the same
_TOOLS = {"IPython", "ipykernel", "traitlets", "_pytest", "pluggy", "coverage", "debugpy", "lazyrt"}  # what watches programs
_UNNAMED = {"__builtins__", "__warningregistry__", "__spec__", "__loader__", "__cached__", "__file__"}
_TEXTS = (range, decimal.Decimal, fractions.Fraction, datetime.date, datetime.datetime, datetime.time, datetime.timedelta, uuid.UUID,
          pathlib.PosixPath, pathlib.WindowsPath, pathlib.PurePosixPath, torch.Size)
_ATOMS = {type(None), type(...), type(NotImplemented), bool, int, float, complex, str, bytes, torch.dtype, torch.device, torch.layout,
          torch.memory_format, *_TEXTS}
_CLOSED = (types.FrameType, types.TracebackType, types.CodeType, types.GetSetDescriptorType, types.MemberDescriptorType,
           types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType, logging.Manager)
_OF_ALL = (random._inst, numpy.random.mtrand._rand, torch.default_generator)  # see draws.py and state.py
_Cached = type(functools.lru_cache(lambda: None))
_Lock, _ReentrantLock = type(threading.Lock()), type(threading.RLock())
Change = collections.namedtuple("Change", "holder name")  # what differs: the item of that name of an object; None: itself


class Roots:
    """Where the user's heap begins, as [(name, object)]; `loose`: what has no name; `handed`: objects that libraries have given it."""

    def __init__(self, program):
        self.handed = []
        self.named = [(path or "model", value) for path, value in program.roots.items()]
        self.named.append((program.name, program.target))
        self.of_program = {name for name, _ in self.named}
        self.named.append(("threading.current_thread()", threading.current_thread()))
        self.named.append(("multiprocessing.current_process()", multiprocessing.current_process()))
        for name, module in sorted(sys.modules.items()):
            if isinstance(module, types.ModuleType) and not is_of_library(module):
                self.named.append((name, module))
        self.loose, is_own, functions = [], {}, {}
        for value in gc.get_objects():
            kind = type(value)
            if kind is types.FunctionType:
                names = value.__globals__
                own = functions.get(id(names))
                if own is None:
                    own = functions[id(names)] = not _are_of_library(names)
            else:
                own = is_own.get(kind)
                if own is None:
                    own = is_own[kind] = not is_class_of_library(kind)
            if own:
                self.loose.append(("", value))


class Heap:
    """A picture from these roots. `quiet`: ids of tensors whose content is known otherwise. `counts_hits`: of functools.lru_cache. `keeps`: what
    memory holds, as far as that is not much."""

    def __init__(self, roots, quiet=(), counts_hits=False, keeps=False):
        self._contents = {} if keeps else None  # id -> copy
        opening = _Opening(quiet, counts_hits, self._contents)
        with torch._C.DisableTorchFunction():  # of classes that derive from Tensor
            # nodes: id -> (object, what it is beside what it refers to, what it refers to); came: id -> id of the object through which it was
            # reached first, or the name of a root
            self.nodes, self.came, self.complete = _tracer.walk_heap(
                [roots.named, roots.loose, [("", value) for value in roots.handed]], _ATOMS, _OF_ALL, opening.opener_of, MOST_OBJECTS, _MOST_ITEMS)

    def chain(self, value):
        """(name of a root, [objects from it to this one])"""
        found, here = [value], self.came.get(id(value), "")
        while not isinstance(here, str):
            found.append(self.nodes[here][0])
            here = self.came[here]
        return here, found[::-1]

    def put_back(self, value):
        """Makes a container or class of Python, or memory, what it was. False where it was not there, or is none."""
        node = self.nodes.get(id(value))
        if node is None or node[0] is not value:
            return False
        items = node[2]
        half = len(items) // 2
        if isinstance(value, dict):
            dict.clear(value)
            for key, item in zip(items[:half], items[half:]):
                dict.__setitem__(value, key, item)
        elif isinstance(value, list):
            list.__setitem__(value, slice(None), items)
        elif isinstance(value, (set, collections.deque)):
            value.clear()
            (value.update if isinstance(value, set) else value.extend)(items)
        elif isinstance(value, (type, types.ModuleType)):
            for name, item in zip(items[:half], items[half:]):
                if vars(value).get(name) is not item:
                    (type if isinstance(value, type) else object).__setattr__(value, name, item)
        elif type(value) is types.CellType and items:
            value.cell_contents = items[0]
        else:
            return id(value) in self._contents and _fill(value, self._contents[id(value)])
        return True


def _fill(value, content):
    """Memory with what it held, a file with how far it was read. False where it is of another size now."""
    if isinstance(value, (bytearray, array.array)):
        value[:] = content
    elif isinstance(value, io.IOBase):
        value.seek(content)
    elif value.shape != content.shape:
        return False
    elif isinstance(value, torch.Tensor):
        value.data.copy_(content)
    else:
        value[...] = content
    return True


def members_of(kind):
    """Descriptors of slots, and of what a type of C shows."""
    return tuple(item for base in kind.__mro__[:-1] for item in vars(base).values() if type(item) is types.MemberDescriptorType)


def put_in(holder, item, other):
    """Puts another object where an item is, in an object with slots, a dict or a list. False where it is not found."""
    if isinstance(holder, (dict, list)):
        base = dict if isinstance(holder, dict) else list
        for key, value in dict.items(holder) if base is dict else enumerate(list.__iter__(holder)):
            if value is item:
                base.__setitem__(holder, key, other)
                return True
    for member in members_of(type(holder)):
        if _has(member, holder) and member.__get__(holder, type(holder)) is item:
            member.__set__(holder, other)
            return True
    return False


def changes(before, after):
    """{where: Change} of what both reach and what differs, with what lies in objects that took another's place."""
    found = {}
    for here in _tracer.differing_nodes(before.nodes, after.nodes):
        _Comparison(before, after, found, here).compare(before.nodes[here], after.nodes[here], ())
    return found


class _Comparison:
    """Of what one object has become."""

    def __init__(self, before, after, found, here):
        self.before, self.after, self._found, self._here, self._seen = before, after, found, here, set()

    def compare(self, a, b, where):
        """Of two nodes; `where`: by which items they were reached."""
        if a[1] != b[1]:
            return self._differs(b[0], None, where)
        if isinstance(b[0], (dict, type, types.ModuleType)):
            return self._compare_named(a, b, where)
        then, now = a[2], b[2]
        if isinstance(b[0], (set, frozenset)):
            then, now = _without_common(then, now)
        if len(then) != len(now):
            return self._differs(b[0], None, where)
        for i, (x, y) in enumerate(zip(then, now)):
            if x is not y and not self._compare_items(x, y, (*where, i)):
                self._differs(b[0], None, where)

    def _compare_named(self, a, b, where):
        then, now = _by_name(a[2]), _by_name(b[2])
        for i, key in enumerate([*(now.keys() - then.keys()), *(then.keys() - now.keys())]):
            self._differs(b[0], (now.get(key) or then[key])[0], (*where, "added", i))
        for key in then.keys() & now.keys():
            x, y = then[key][1], now[key][1]
            if x is not y and not self._compare_items(x, y, (*where, key)):
                self._differs(b[0], now[key][0], (*where, key))

    def _compare_items(self, x, y, where):
        """False where they differ in what their holder knows of them."""
        if type(x) is not type(y):
            return False
        if type(x) in _ATOMS:
            return _same_atoms(x, y)
        if (id(x), id(y)) in self._seen or len(where) > 50 or len(self._seen) > 20_000:
            return True
        self._seen.add((id(x), id(y)))
        a, b = self.before.nodes.get(id(x)), self.after.nodes.get(id(y))
        if a is None or b is None:  # of libraries, or past the end of the picture
            return isinstance(x, _CLOSED) or not (self.before.complete and self.after.complete)
        if a[1] != b[1] and isinstance(y, (int, float, complex, str, bytes)):
            return False
        if id(y) in self.before.nodes and self.before.nodes[id(y)][0] is y and id(x) in self.after.nodes:
            # Both are still there: which of them lies here differs, what has become of them is told elsewhere.
            return False
        self.compare(a, b, where)
        return True

    def _differs(self, holder, name, where):
        self._found[self._here, where] = Change(holder, name)


def _by_name(items):
    """A dict's or class's items by what tells keys of two moments from each other: (key, item)."""
    half = len(items) // 2
    return {key if type(key) in _ATOMS and type(key) not in _TEXTS else id(key): (key, item) for key, item in zip(items[:half], items[half:])}


def _without_common(then, now):
    """What only one of two sets has, in an order that goes by value."""
    a, b = {id(item) for item in then}, {id(item) for item in now}

    def ordered(items, others):
        return sorted((item for item in items if id(item) not in others), key=lambda item: (type(item).__name__, _text(item)))

    return ordered(then, b), ordered(now, a)


def _text(item):
    return repr(item) if type(item) in _ATOMS else ""


def _same_atoms(x, y):
    try:
        return bool(x == y) or repr(x) == repr(y)
    except Exception:  # signalling NaNs
        return repr(x) == repr(y)


# ---------------------------------------------------------------- whose it is


def is_of_library(module):
    """Whether a module of Python is the user's or of a library: by its file, not by its name."""
    kind = type(module)
    if kind is not types.ModuleType and is_class_of_library(kind):
        return True
    return _are_of_library(vars(module))


def _are_of_library(names):
    """The same of a module's globals."""
    name, file = names.get("__name__"), names.get("__file__")
    if isinstance(file, str):
        return is_file_of_library(file)
    if not isinstance(name, str):
        return False
    origin = getattr(names.get("__spec__"), "origin", None)
    top = name.partition(".")[0]
    if origin in ("built-in", "frozen") or top in sys.builtin_module_names or name.startswith("namedtuple_"):
        return True
    known = sys.modules.get(top)
    return known is not None and vars(known) is not names and not isinstance(vars(known).get("__file__", 0), int) and _are_of_library(vars(known))


def is_class_of_library(cls):
    """Classes that say they are of a library, but cannot be found there, are the user's: made by exec or make_dataclass."""
    name = type.__getattribute__(cls, "__module__")
    module = sys.modules.get(name) if isinstance(name, str) else None
    if not isinstance(module, types.ModuleType):
        return isinstance(name, str) and name.partition(".")[0] in ("torch", "numpy", "lazyrt")
    if not _are_of_library(vars(module)):
        return False
    made = name in ("builtins", "types") and not {"__dict__", "__weakref__", "__slots__"}.isdisjoint(vars(cls))
    return not (made and getattr(module, cls.__qualname__, None) is not cls)


# ---------------------------------------------------------------- one object


class _Opening:
    """What an object is, by its type."""

    def __init__(self, quiet, counts_hits, contents):
        self._quiet, self._counts_hits, self._contents = frozenset(quiet), counts_hits, contents
        self._left = _MOST_KEPT

    def opener_of(self, kind):
        """A function of an object of this type: (what it is beside what it refers to, [what it refers to]), or None where it is not entered. None
        where none of them is; True where they are their attributes and what they refer to."""
        for base, opener in self._OPENERS:
            if issubclass(kind, base):
                return opener and opener.__get__(self)
        module = getattr(kind, "__module__", None)
        if module == "lazyrt.carriers":
            return lambda value: (None, [])
        if isinstance(module, str) and (module.partition(".")[0] in _TOOLS or module.startswith(("torch._C", "torch._ops"))):
            return None
        if issubclass(kind, collections.abc.Iterator) and is_class_of_library(kind):
            return self._iterator
        if hasattr(kind, "hexdigest") and is_class_of_library(kind):
            return self._digest
        members = self.numbers_of(kind)
        return functools.partial(self._instance, members) if members else True

    @staticmethod
    def numbers_of(kind):
        """Descriptors of numbers that a type of C shows."""
        return members_of(kind) if is_class_of_library(kind) else ()

    def _instance(self, members, value, own=None):
        items = _attributes(value)
        if members:
            found = [member.__get__(value, type(value)) for member in members if _has(member, value)]
            own = (own, tuple(item for item in found if type(item) in (int, float, str, bytes, bool)))
        inner = items[0] if items else None
        items += [item for item in gc.get_referents(value) if item is not inner or inner is None]
        return (own, items)

    def _function(self, function):
        names = function.__globals__
        if _are_of_library(names) and _is_found(names, function):
            return None
        own = (function.__name__, function.__qualname__, function.__module__)
        return (own, [function.__closure__, function.__defaults__, function.__kwdefaults__, function.__dict__, function.__annotations__,
                      function.__doc__])

    def _module(self, module):
        return None if is_of_library(module) else (None, _named(vars(module)))

    def _class(self, cls):
        if is_class_of_library(cls):
            return None
        found = {name: item for name, item in vars(cls).items() if name not in _OF_CLASSES}
        found.update((name, name_of_class(cls, name)) for name in NAMES_OF_CLASSES)
        return (None, [*found, *found.values()])

    def _dict(self, value):
        if dict.__len__(value) > _MOST_ITEMS:
            return (dict.__len__(value), [])
        items, more = _named(value), _more(value)
        if more:
            half = len(items) // 2
            items = [*items[:half], *(f"({i})" for i in range(len(more))), *items[half:], *more]
        return (None, items)

    def _list(self, value):
        if list.__len__(value) > _MOST_ITEMS:
            return (list.__len__(value), [*list.__getitem__(value, slice(0, 100)), *list.__getitem__(value, slice(-100, None))])
        return (None, [*list.__iter__(value), *_more(value)])

    def _tuple(self, value):
        return (None, [*itertools.islice(tuple.__iter__(value), _MOST_ITEMS), *_more(value)])

    def _others(self, value):
        base = next(base for base in (set, frozenset, collections.deque) if isinstance(value, base))
        return (base.__len__(value), [*itertools.islice(base.__iter__(value), _MOST_ITEMS), *_more(value)])

    def _tensor(self, value):
        own = (value.dtype, tuple(value.shape))
        if id(value) not in self._quiet:
            if is_lazy(value):
                own = ("lazy",)
            else:
                own = (*own, *_content_of(value))
                if is_plain_tensor(value):
                    self._keep(value, value.numel() * value.element_size(), lambda: value.detach().clone())
        inner = [value.__dict__] if value.__dict__ else []
        return (own, inner if type(value) in _WITHOUT_SLOTS else [*inner, *_slots_of(value)])

    def _keep(self, value, count, copied):
        """What so many bytes of memory hold, to be put back."""
        if self._contents is not None and count <= self._left:
            self._left -= count
            self._contents[id(value)] = copied()

    def _storage(self, value):
        return ((value.nbytes(), _content_of(tensor_over(value))) if value.device.type == "cpu" else None, [])

    def _bytes(self, value):
        seen = memoryview(value)
        if isinstance(value, (bytearray, array.array)):
            self._keep(value, seen.nbytes, lambda: copy.copy(value))
        if seen.nbytes > _SMALL and seen.nbytes <= _MOST_BYTES and seen.c_contiguous:
            return (_hash(seen), _more(value))
        if seen.nbytes <= _SMALL or not seen.c_contiguous or seen.format == "O":
            return (hash(bytes(value)), _more(value))
        seen = seen.cast("B")
        return ((seen.nbytes, hash(bytes(seen[:4096])), hash(bytes(seen[-4096:]))), _more(value))

    def _array(self, value):
        if value.dtype == object:
            return (value.shape, value.ravel().tolist())
        if type(value) is numpy.ndarray and not value.dtype.hasobject and value.flags.writeable:
            self._keep(value, value.nbytes, value.copy)
        seen = value if value.nbytes <= _MOST_BYTES else value.flat[::value.size // 4096]
        own = _hash(numpy.frombuffer(seen.tobytes(), numpy.uint8) if seen.dtype.hasobject else numpy.ascontiguousarray(seen).reshape(-1).view(numpy.uint8))
        held = [item for record in value.ravel().tolist() for item in record] if value.dtype.hasobject else []
        held += [*(value.dtype.metadata or {}).values(), getattr(value, "mask", None) if isinstance(value, numpy.ma.MaskedArray) else None]
        return ((value.shape, str(value.dtype), own), [*_more(value), *held])

    def _map(self, value):
        if value.closed:
            return (None, [])
        with memoryview(value) as seen:
            return ((len(value), value.tell(), _hash(seen[:_MOST_BYTES]), _hash(seen[-4096:])), [])

    def _file(self, value):
        """How far it was read: of what lies in memory, since the others are out of scope."""
        try:
            inner = value.buffer if isinstance(value, io.TextIOWrapper) else value
            inner = inner.raw if isinstance(inner, io.BufferedReader) else inner
            position = value.tell() if isinstance(inner, io.BytesIO) else None
        except (OSError, ValueError, AttributeError):  # closed, detached, or in the midst of an iteration
            inner, position = None, None
        if position is not None:
            self._keep(value, 0, lambda: position)
        return (position, [inner, *_attributes(value)])

    def _file_in_memory(self, value):
        return (None if value.closed else (value.tell(), hash(value.getvalue())), _attributes(value))

    def _writer(self, value):
        """How far it was written, where that lies in memory."""
        try:
            return (value.tell() if isinstance(value.raw, io.BytesIO) else None, [value.raw, *_attributes(value)])
        except (OSError, ValueError, AttributeError):  # closed or detached
            return (None, [])

    def _drawing(self, value):
        return (None if value is torch.default_generator else hash(repr(inner_state(value))), [])

    def _plain(self, value):
        base = next(base for base in (int, float, complex, str, bytes) if isinstance(value, base))
        return (base.__repr__(value), [*_attributes(value), *gc.get_referents(value)])

    def _random(self, value):
        return (hash(repr(value.getstate())), _more(value))

    def _generator(self, value):
        frame = value.gi_frame
        return (frame.f_lasti, list(frame.f_locals.values())) if frame is not None else (None, [])

    def _iterator(self, value):
        """What it will give, as far as it says so."""
        kind = type(value)
        if kind is numpy.nditer:
            return (value.iterindex, [])
        if kind is numpy.flatiter:
            return (value.index, [value.base])
        if kind.__module__ in ("builtins", "itertools", "collections"):
            try:
                _, *parts = value.__reduce__()
                return (None, [item for part in parts for item in (part if isinstance(part, tuple) else (part,))])
            except TypeError:
                pass
        own, items = self._instance(self.numbers_of(kind), value)
        return ((own, operator.length_hint(value, -1) if hasattr(kind, "__length_hint__") else 0), items)

    def _reference(self, value):
        return (None, [weakref.ref.__call__(value), *_more(value)])

    def _proxy(self, value):
        return (None, [value.__init__.__self__])

    def _context(self, value):
        variables, values = values_in(value)
        return (None, [*variables, *values])

    def _variable(self, value):
        return (None, [value.get(None)])

    def _cell(self, value):
        try:
            return (None, [value.cell_contents])
        except ValueError:  # not set yet
            return (None, [])

    def _method(self, value):
        return (None, [value.__func__, value.__self__])

    def _builtin(self, value):
        owner = getattr(value, "__self__", None)
        return None if owner is None or isinstance(owner, types.ModuleType) else (None, [owner])

    def _cached(self, value):
        own = value.cache_info().hits if self._counts_hits else None
        return (own, [value.__wrapped__, value.__dict__, *sorted(CachedEntry(value).kept(), key=id)])

    def _lock(self, value):
        return (repr(value).partition(" at ")[0], [])

    def _digest(self, value):
        return (value.hexdigest() if value.digest_size else value.hexdigest(16), [])  # SHAKE gives as much as one likes

    def _compression(self, value):
        return (hash(value.copy().flush()), [])

    def _error(self, value):
        return (None, [value.args, value.__dict__, value.__cause__])

    _OPENERS: tuple = (
        (_CLOSED, None), (types.FunctionType, _function), (types.ModuleType, _module), (type, _class), (torch.Tensor, _tensor),
        ((torch.Generator, numpy.random.Generator), _drawing), (torch.UntypedStorage, _storage), (dict, _dict), (list, _list), (tuple, _tuple),
        ((set, frozenset, collections.deque), _others), (numpy.ndarray, _array), ((numpy.generic, int, float, complex, str, bytes), _plain),
        ((bytearray, memoryview, array.array, ctypes._SimpleCData, ctypes.Array, ctypes.Structure, ctypes.Union), _bytes), (mmap.mmap, _map),
        ((io.StringIO, io.BytesIO), _file_in_memory), ((io.BufferedWriter, io.BufferedRandom), _writer), ((io.TextIOWrapper, io.BufferedReader), _file),
        (random.Random, _random), (types.GeneratorType, _generator), (weakref.ProxyTypes, _proxy), (weakref.ref, _reference),
        (contextvars.Context, _context), (contextvars.ContextVar, _variable), (types.CellType, _cell), (types.MethodType, _method),
        (types.BuiltinFunctionType, _builtin), (types.MethodWrapperType, _builtin), (_Cached, _cached), ((_Lock, _ReentrantLock), _lock),
        (type(zlib.compressobj()), _compression), (BaseException, _error),
    )


_OF_CLASSES = {"__dict__", "__weakref__", "__module__", "__qualname__", "_abc_impl", "__subclasshook__", "__abstractmethods__"}


def _content_of(tensor):
    """What tells its content from another."""
    found = () if tensor.is_inference() else (tensor._version,)
    if not is_plain_tensor(tensor, inference=True):
        return found
    if tensor.numel() * tensor.element_size() <= _MOST_BYTES:
        return (_hash(buffer_of(bytes_of(tensor))),)
    tensor = tensor.detach()
    for axis in range(tensor.dim()):
        step = max(1, tensor.numel() // 4096)
        tensor = tensor[(slice(None),) * axis + (slice(None, None, min(step, tensor.shape[axis])),)]
    return (*found, _hash(buffer_of(bytes_of(tensor))))


def _hash(seen):
    """Of memory, as fast as that goes."""
    return hashlib.sha1(seen, usedforsecurity=False).digest()


def _attributes(value):
    """[__dict__] of what has one."""
    if type(value).__dictoffset__ == 0:
        return []
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:  # some types of C do not show it
        return []
    return [found] if isinstance(found, dict) else []


def _more(value):
    """What an object of a subclass of a container has beside its items."""
    kind = type(value)
    if not is_python_class(kind) or kind in (collections.OrderedDict, collections.Counter):
        return [value.default_factory] if kind is collections.defaultdict else []
    return [kind, *_attributes(value), *_slots_of(value)]


def _slots_of(value):
    kind = type(value)
    return [member.__get__(value, kind) for member in members_of(kind) if _has(member, value)] if is_python_class(kind) else []


def _has(member, value):
    try:
        member.__get__(value, type(value))
    except Exception:
        return False
    return True


def _named(names):
    """Keys, and then items."""
    found = dict.copy(names) if type(names) is dict else dict(dict.items(names))
    for name in _UNNAMED.intersection(name for name in found if type(name) is str) if "__name__" in found else ():
        del found[name]
    return [*found, *found.values()]


def _is_found(names, function):
    """Whether a function is what its module has under its name: not one that it has made for somebody."""
    found = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None) if not isinstance(found, type) else vars(found).get(part)
    found = getattr(found, "__func__", found)
    return found is function or isinstance(found, property) or not function.__closure__ and not function.__dict__
