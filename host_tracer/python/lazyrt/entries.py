"""What a program can change, piece by piece: containers, attributes, tensors, arrays, switches of the process.

An entry is made of one such thing at one moment. `items` is what lies in it, token() is equal for equal contents (of the
items only how many they are), restore(given) puts it back, with given(item) in place of each item."""

import _abc  # type: ignore[import-not-found]
import array
import collections
import copy
import ctypes
import enum
import gc
import hashlib
import itertools
import re
import struct

import numpy
import torch

from lazyrt import kept_sets
from lazyrt.errors import ExportError
from lazyrt.tensors import is_lazy

try:
    from numpy.lib.array_utils import byte_bounds
except ImportError:  # NumPy 1
    from numpy import byte_bounds  # type: ignore[attr-defined,no-redef]

MISSING = type("Missing", (), {"__repr__": lambda self: "nothing"})()
NUMBERS = (bool, int, float, complex)
TEXTS = (str, bytes)
_MANY = 1 << 26  # elements: of larger tensors only pictures compare what they hold, until one is seen to be written by others than torch
_MOST_OF_A_MAP = 1 << 26  # bytes
HOOKS = ("_backward_hooks", "_post_accumulate_grad_hooks")  # of tensors
NAMES_OF_CLASSES = ("__name__", "__qualname__", "__doc__", "__bases__")
_OF_CLASSES = {*dir(type), *dir(object), "_abc_impl", "__weakref__", "__slots__", "__annotations__", "__orig_bases__", "__parameters__", "__hash__",
               "__match_args__", "__getattr__", "__path__", "__file__", "__spec__", "__loader__", "__package__", "__builtins__", "__cached__",
               "__all__", "__warningregistry__", "__wrapped__"}


def is_plain_value(value):
    """Numbers and texts, and what derives from them."""
    return value is None or isinstance(value, (*NUMBERS, *TEXTS))


def plain_token(value):
    """What tells a number or text from others."""
    kind = type(value)
    if isinstance(value, float):
        return (kind.__name__, struct.pack("d", float.__mul__(value, 1.0)))
    if kind in (bool, int, str, bytes):
        return (kind.__name__, value)
    base = next(base for base in (*NUMBERS, *TEXTS) if isinstance(value, base))
    return (kind.__name__, base.__repr__(value), repr(value))


def key_text(key):
    """A dict's key as a part of a path."""
    if isinstance(key, enum.Enum):
        return f"{type(key).__name__}.{key.name}"
    if is_plain_value(key) or isinstance(key, tuple) and all(map(is_plain_value, key)):
        return repr(key)
    return type(key).__name__


class DictEntry:
    def __init__(self, value):
        self.base = collections.OrderedDict if isinstance(value, collections.OrderedDict) else dict
        self.value, self.items = value, list(self.base.items(value))
        self.factory = getattr(value, "default_factory", None) if isinstance(value, collections.defaultdict) else None

    def token(self):
        keys = tuple(key if isinstance(key, (*NUMBERS, *TEXTS)) else type(key) for key, _ in self.items)
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


class ListEntry:
    def __init__(self, value):
        self.value, self.items = value, list.__getitem__(value, slice(None))

    def token(self):
        return (type(self.value), len(self.items))

    def restore(self, given):
        then = [given(item) for item in self.items]
        if list.__len__(self.value) != len(then) or any(a is not b for a, b in zip(list.__iter__(self.value), then)):
            list.__setitem__(self.value, slice(None), then)


class DequeEntry:
    def __init__(self, value):
        self.value, self.items = value, list(collections.deque.__iter__(value))

    def token(self):
        return (type(self.value), len(self.items), self.value.maxlen)

    def restore(self, given):
        then = [given(item) for item in self.items]
        if len(self.value) != len(then) or any(a is not b for a, b in zip(self.value, then)):
            collections.deque.clear(self.value)
            collections.deque.extend(self.value, then)


def order_of(items):
    """What comes when of a set whose items are told elsewhere: equal sets may give them in another order."""
    return tuple((type(item).__name__, repr(item) if _is_of_plain_values(item) else "") for item in items)


def _is_of_plain_values(item):
    return is_plain_value(item) or isinstance(item, (tuple, frozenset)) and all(map(_is_of_plain_values, item))


class SetEntry:
    """The order of a set's items depends on its past: on what was in it once, and has left holes."""

    def __init__(self, value):
        self.value, self.items, self.room = value, list(set.__iter__(value)), kept_sets.room_in(value)

    def in_order(self):
        return sorted(self.items, key=lambda item: (type(item).__name__, repr(item), id(item)))

    def token(self):
        places = {id(item): i for i, item in enumerate(self.in_order())}
        return (type(self.value), order_of(self.items), tuple(places[id(item)] for item in self.items), self.room)

    def restore(self, given):
        then = [given(item) for item in self.items]
        if not kept_sets.is_as(self.value, then, self.room) and not kept_sets.remake(self.value, then, self.room):
            raise ExportError("a call changes a set that the program keeps, and the order of its items, which depends on the set's past, cannot be restored. "
                              "Build the set anew, set(list(items)), or keep a dict", "changing-attribute")


class CellEntry:
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
        elif CellEntry(self.value).items:
            del self.value.cell_contents


class AttributesEntry:
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


class KindEntry:
    """The class of an object, which a program can change: `self.__class__ = Settled`."""

    def __init__(self, value):
        self.value, self.kind, self.items = value, type(value), []

    def restore(self, given):
        if type(self.value) is not self.kind:
            object.__setattr__(self.value, "__class__", self.kind)


class ClassAttributesEntry(AttributesEntry):
    """Those of a class, by name, with what was added since."""

    def restore(self, given):
        for name in [name for name in vars(self.value) if is_data_name(name) and not name.startswith("__") and name not in self.names]:
            type.__delattr__(self.value, name)
        super().restore(given)


def from_class(cls, name, default):
    return vars(cls).get(name, default)


def name_of_class(cls, name, default=None):
    """One of NAMES_OF_CLASSES, of which most are in no __dict__."""
    return vars(cls).get(name, default) if name == "__doc__" else vars(type)[name].__get__(cls)


def from_globals(names, name, default):
    return names.get(name, default)


def is_data_name(name):
    """Whether an attribute of a class is the user's, not Python's own."""
    return name not in _OF_CLASSES


class RegistryEntry:
    """What was registered with an abstract base class: that lies in no attribute."""

    def __init__(self, value):
        self.value, self.items = value, []
        self._registered = self._now()

    def _now(self):
        found = [reference() for reference in _abc._get_dump(self.value)[0]]
        return {id(cls): cls for cls in found if cls is not None}

    def token(self):
        return frozenset(self._registered)

    def restore(self, given):
        if self._now().keys() != self._registered.keys():
            _abc._reset_registry(self.value)
            for cls in self._registered.values():
                self.value.register(cls)
            _abc._reset_caches(self.value)


class LibrariesEntry:
    """Attributes of modules, classes, functions and objects of libraries that the program's code names: numbers, texts, tensors, containers.
    One entry for all of them, since there are thousands."""

    def __init__(self, words):
        self.value, self.items, self._words = None, [], words
        self._owners = []  # (object, its __dict__, how many attributes it has, names of those that are kept)

    def add(self, owner):
        """[(name, item)] of what is kept of it."""
        attributes = owner.__dict__
        names = self._names(attributes)
        self._owners.append((owner, attributes, len(attributes), names))
        found = [(name, attributes[name]) for name in names]
        self.items += [item for _, item in found]
        return found

    def _names(self, attributes):
        return sorted(name for name in attributes if name in self._words and is_data_name(name) and _is_data(attributes[name]))

    def restore(self, given):
        items = iter(self.items)
        for owner, attributes, count, names in self._owners:
            if len(attributes) != count:
                for name in set(self._names(attributes)).difference(names):
                    delattr(owner, name)
            for name in names:
                then = given(next(items))
                if attributes.get(name, MISSING) is not then:
                    setattr(owner, name, then)


def _is_data(value):
    return is_plain_value(value) or isinstance(value, (torch.Tensor, numpy.ndarray, dict, list, set, tuple, collections.deque))


class CachedEntry:
    """A function with functools.lru_cache. It is emptied where it was empty, or where lazy tensors lie in it: it only repeats
    what the function gives."""

    def __init__(self, value):
        self.value, self.size, self.items = value, value.cache_info().currsize, []

    def kept(self):
        """The arguments and results that lie in it; nothing where they are made of a run's lazy tensors."""
        found, own = [], self.value.__dict__
        for held in gc.get_referents(self.value):
            if type(held) is dict and held is not own:
                found += [item for item in held.values() if type(item).__name__ != "_lru_list_elem"]
            elif held is not own and held is not self.value.__wrapped__ and not isinstance(held, type):
                found.append(held)
        return [] if self._holds_lazy() else found

    def _holds_lazy(self):
        todo = [held for held in gc.get_referents(self.value) if held is not self.value.__dict__]
        for held in todo:
            if is_lazy(held):
                return True
            if isinstance(held, dict):
                todo += [*held, *held.values()]
            elif isinstance(held, (tuple, list)):
                todo += held
        return False

    def token(self):
        return ("cached", self.size)

    def restore(self, given):
        if self._holds_lazy() or self.size == 0 and self.value.cache_info().currsize:
            self.value.cache_clear()


def remake_partial(value, func, args, keywords):
    """Makes a functools.partial one of these."""
    value.__setstate__((func, args, keywords, value.__dict__ or None))


class PartialEntry:
    """A functools.partial."""

    def __init__(self, value):
        self.value, self.items = value, [value.func, value.args, value.keywords]

    def restore(self, given):
        then = [given(item) for item in self.items]
        if any(a is not b for a, b in zip(then, (self.value.func, self.value.args, self.value.keywords))):
            remake_partial(self.value, *then)


class TextEntry:
    """A file in memory."""

    def __init__(self, value):
        self.value, self.content, self.items = value, (value.getvalue(), value.tell()), []

    def token(self):
        return (type(self.value).__name__, *self.content)

    def restore(self, given):
        if self.value.closed:
            raise ExportError(f"a call closes a {type(self.value).__name__} that the program keeps, which cannot be opened again: read it before the export", "changing-attribute")
        now, then = self.value.getvalue(), self.content[0]
        if now != then and isinstance(then, bytes) and len(now) == len(then):  # tensors may lie in it
            self.value.getbuffer()[:] = then
        elif now != then:
            self.value.seek(0)
            self.value.truncate()
            self.value.write(then)
        self.value.seek(self.content[1])


def extent_of(value):
    """Where the memory of a tensor, an array or of what has a buffer begins and ends; (0, 0) where nothing is known of it."""
    if isinstance(value, torch.Tensor):
        if is_lazy(value) or not is_plain_tensor(value, inference=True) or value.device.type != "cpu" or not value.numel():
            return 0, 0
        last = sum((size - 1) * step for size, step in zip(value.shape, value.stride()))
        return value.data_ptr(), value.data_ptr() + (last + 1) * value.element_size()
    if not isinstance(value, numpy.ndarray):
        if not memoryview(value).nbytes:
            return 0, 0
        value = numpy.frombuffer(value, numpy.uint8)
    return byte_bounds(value) if value.nbytes else (0, 0)


def begin_of(view):
    """The address where a memoryview begins; None where NumPy does not know its format."""
    try:
        return extent_of(numpy.asarray(view))[0]
    except (ValueError, TypeError, NotImplementedError):
        return None


def overlap(a, b):
    """Whether tensors or arrays may have memory in common."""
    (begin, end), (first, last) = extent_of(a), extent_of(b)
    return first < end and begin < last


class ArrayEntry:
    """A numpy array, array.array or bytearray: its content."""

    def __init__(self, value):
        self.value, self.content, self.items = value, copy.copy(value), []

    def token(self):
        content = self.content if isinstance(self.content, bytearray) else numpy.asarray(self.content).tobytes()
        more = [str(getattr(self.content, name, "")) for name in ("dtype", "shape", "mask")]
        more.append(getattr(self.value, "strides", None))
        return (type(self.value), *more, hashlib.blake2b(content).hexdigest())

    def restore(self, given):
        if isinstance(self.value, (bytearray, array.array)):
            self.value[:] = self.content
        elif self.value.flags.writeable:
            if isinstance(self.value, numpy.ndarray) and self.value.dtype != self.content.dtype and self.value.nbytes == self.content.nbytes:
                self.value.dtype = self.content.dtype
            if self.value.shape != self.content.shape:
                self.value.resize(self.content.shape, refcheck=False)
            self.value[...] = self.content


class RecordEntry:
    """A record of NumPy by itself, which can be written."""

    def __init__(self, value):
        self.value, self.content, self.items = value, value.copy(), []

    def token(self):
        return (type(self.value), str(self.content.dtype), self.content.tobytes())

    def restore(self, given):
        if self.value.tobytes() != self.content.tobytes():
            for name in self.content.dtype.names:
                self.value[name] = self.content[name]


class ObjectsEntry:
    """A numpy array of objects."""

    def __init__(self, value):
        self.value, self.items = value, [value[place] for place in numpy.ndindex(value.shape)]

    def token(self):
        return (type(self.value), self.value.shape)

    def restore(self, given):
        for place, item in zip(numpy.ndindex(self.value.shape), self.items):
            then = given(item)
            if self.value[place] is not then:
                self.value[place] = then


class MemoryEntry:
    """A value of ctypes."""

    def __init__(self, value):
        self.value, self.content, self.items = value, bytes(value), []

    def token(self):
        return (type(self.value).__name__, self.content)

    def restore(self, given):
        ctypes.memmove(ctypes.addressof(self.value), self.content, len(self.content))


def is_open_map(value):
    """Whether a map of memory can be written, and is small enough to be copied."""
    if value.closed or len(value) > _MOST_OF_A_MAP:
        return False
    with memoryview(value) as seen:
        return not seen.readonly


class MapEntry:
    """A map of memory that can be written: its content, and how far it was read."""

    def __init__(self, value):
        self.value, self.items = value, []
        self._content, self._position = value[:], value.tell()

    def token(self):
        return (type(self.value), self._position, hashlib.blake2b(self._content).hexdigest())

    def restore(self, given):
        if self.value[:] != self._content:
            self.value[:] = self._content
        self.value.seek(self._position)


class StorageEntry:
    """The memory of tensors, held by itself: how much there is, and its content."""

    def __init__(self, value):
        self.value, self.items = value, []
        self._content = tensor_over(value).clone()

    def token(self):
        return ("storage", self._content.numel(), hashlib.blake2b(buffer_of(self._content)).hexdigest())

    def restore(self, given):
        if self.value.nbytes() != self._content.numel():
            self.value.resize_(self._content.numel())
        tensor_over(self.value).copy_(self._content)


class PlainEntry:
    """An object of Python's own library or NumPy: the numbers and texts among its attributes."""

    def __init__(self, value):
        self.value, self.items = value, []
        self.kept = {name: item for name, item in self._attributes().items() if is_plain_value(item)}

    def _attributes(self):
        found = dict(getattr(self.value, "__dict__", ()))
        for cls in type(self.value).__mro__:
            slots = vars(cls).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if name not in ("__dict__", "__weakref__") and hasattr(self.value, name):
                    found[name] = getattr(self.value, name)
        return found

    def token(self):
        return tuple((name, item if item is None else plain_token(item)) for name, item in sorted(self.kept.items()))

    def restore(self, given):
        now = self._attributes()
        for name, item in self.kept.items():
            if now.get(name, MISSING) is not item:
                object.__setattr__(self.value, name, item)


class ScriptEntry:
    """The attributes of a TorchScript module that are no parameters, buffers or modules. Containers and objects among them are copies."""

    def __init__(self, value):
        known = {*dict(value.named_parameters(recurse=False)), *dict(value.named_buffers(recurse=False)), *dict(value.named_children())}
        self.value, self._inside = value, value._c
        # A frozen module does not have it.
        concrete = getattr(value, "_concrete_type", None) or torch._C.ConcreteModuleType.from_jit_type(value._c._type())
        self.names = sorted(name for name in concrete.get_attributes() if name not in known and self._inside.hasattr(name))
        self.items = [self._attribute(name) for name in self.names]

    def _attribute(self, name):
        try:
            return self._inside.getattr(name)
        except RuntimeError as error:  # an object of a scripted class that this process has not made
            missing = re.search(r"(\S+) is not found", str(error))
            why = f"nothing has defined its scripted class {missing[1]} in this process" if missing else str(error).strip().splitlines()[0]
            raise ExportError(f"the scripted module's attribute '{name}' cannot be read in Python: {why}. Import what defines it, or "
                              "save the module and give its file to lazy-export", "unsupported") from error

    def restore(self, given):
        failed = None
        for name, item in zip(self.names, self.items):
            try:
                self._inside.setattr(name, given(item))
            except RuntimeError as error:  # the others are put back all the same
                failed = failed or error
        if failed is not None:
            raise failed


class ScriptItemsEntry:
    """A torch.ScriptList or torch.ScriptDict: its items are copies."""

    def __init__(self, value):
        self.value, self._keyed = value, isinstance(value, torch._C.ScriptDict)
        self.keys = list(value.keys()) if self._keyed else list(range(len(value)))
        self.items = [value[key] for key in self.keys]

    def token(self):
        return (type(self.value).__name__, tuple(self.keys))

    def restore(self, given):
        if self._keyed:
            for key in [key for key in self.value.keys() if key not in self.keys]:
                del self.value[key]
            for key, item in zip(self.keys, self.items):
                self.value[key] = given(item)
        else:
            self.value.clear()
            self.value.extend([given(item) for item in self.items])


class TensorEntry:
    """A CPU tensor: its content, where that lies in memory (set_ and t_ change it), flags and gradient."""

    def __init__(self, value, contents):
        self.value, self._contents, self.items = value, contents, []
        self._place = value.detach() if is_plain_tensor(value) else None
        self._was_leaf = value.is_leaf
        self.flags = (value.requires_grad, value.grad if value.is_leaf else None)
        self._hooks = [getattr(value, name) for name in HOOKS]
        self.saved = contents.save(value)

    def restore(self, given):
        if self._place is not None and is_plain_tensor(self.value) and not _lie_alike(self.value, self._place):
            self.value.data = self._place.detach()
        if self._was_leaf and not self.value.is_leaf and not self.value._is_view():
            self.value.detach_()  # of what autograd has recorded in a call
        self._contents.restore(self.value, self.saved)
        for name, hooks in zip(HOOKS, self._hooks):
            if getattr(self.value, name) is not hooks:
                setattr(self.value, name, hooks)
        requires_grad, grad = self.flags
        if self.value.is_leaf and not self.value.is_inference():
            if self.value.requires_grad != requires_grad:
                self.value.requires_grad_(requires_grad)
            if self.value.grad is not grad:
                self.value.grad = grad


class Contents:
    """What CPU tensors hold, across several pictures: a tensor that was not written is not copied again."""

    def __init__(self, parameters=None):
        self._parameters = None if parameters is None else {id(tensor) for tensor in parameters}
        self._known = {}  # id -> (tensor, version, copy or None, token)
        self._count = itertools.count()
        self._states = {}  # id -> (generator or iterator, its state)
        self._sly = set()  # ids of tensors that were written without a new version
        self.first = True  # what is seen for the first time is only counted, not read

    def token_of_state(self, value, state):
        """Equal only while it is as it was when it was seen first."""
        _, first = self._states.setdefault(id(value), (value, state))
        return (type(value).__name__, id(value)) if repr(state) == repr(first) else (type(value).__name__, next(self._count))

    def save(self, tensor):
        """(token, copy): equal tokens mean equal contents. The program's own parameters are not copied."""
        known = self._known.get(id(tensor))
        if known and known[0] is tensor and known[1] == self._version(tensor):
            if self._holds(tensor, known[2]):
                return known[3], known[2]
            self._sly.add(id(tensor))
        kept = self._is_own(tensor) or not (_has_content(tensor) or parts_of(tensor))
        token = ("tensor", next(self._count)) if known is None and (kept or self.first) else self._digest(tensor)
        copy = None if kept else tensor.detach().clone()
        self._known[id(tensor)] = (tensor, self._version(tensor), copy, token)
        return token, copy

    def restore(self, tensor, saved):
        token, copy = saved
        if copy is None or self._is(tensor, token, copy):
            return
        with torch.inference_mode() if tensor.is_inference() else torch.no_grad():
            if not _has_content(tensor):
                tensor.copy_(copy)
            elif tensor.shape != copy.shape:
                tensor.data = copy.clone()
            else:
                once = _places_once(tensor)
                tensor[once].copy_(copy[once])
        self._known[id(tensor)] = (tensor, self._version(tensor), copy, token)

    def _is(self, tensor, token, copy):
        known = self._known.get(id(tensor))
        if known is None or known[3] != token or known[1] != self._version(tensor):
            return False
        return tensor.numel() > _MANY and id(tensor) not in self._sly or self._holds(tensor, copy)

    def put_back_unseen(self):
        """Large tensors that were written without a new version, put back."""
        found = [(tensor, token, copy) for tensor, version, copy, token in self._known.values()
                 if tensor.numel() > _MANY and id(tensor) not in self._sly and version == self._version(tensor) and not self._holds(tensor, copy)]
        for tensor, token, copy in found:
            self._sly.add(id(tensor))
            self.restore(tensor, (token, copy))
        return [tensor for tensor, *_ in found]

    def _is_own(self, tensor):
        return isinstance(tensor, torch.nn.Parameter) and (self._parameters is None or id(tensor) in self._parameters)

    @staticmethod
    def _holds(tensor, copy):
        """Writes through t.data and t.numpy() leave no version."""
        if copy is None:
            return True
        if not _has_content(tensor):
            return all(a.shape == b.shape and torch.equal(bytes_of(a), bytes_of(b)) for a, b in zip(parts_of(tensor), parts_of(copy)))
        return tensor.shape == copy.shape and torch.equal(_words_of(tensor), _words_of(copy))

    @staticmethod
    def _version(tensor):
        return -1 if tensor.is_inference() else tensor._version

    @staticmethod
    def _digest(tensor):
        if not _has_content(tensor):
            parts = [hashlib.blake2b(buffer_of(bytes_of(part))).hexdigest() for part in parts_of(tensor)]
            return ("content", *parts, tensor.dtype, tensor.shape) if parts else ("tensor", id(tensor))
        return ("content", hashlib.blake2b(buffer_of(bytes_of(tensor))).hexdigest(), tensor.dtype, tensor.shape)


def _places_once(tensor):
    """Index of the part of it that has each element of an expanded tensor once."""
    return tuple(slice(1 if step == 0 and extent > 1 else None) for step, extent in zip(tensor.stride(), tensor.shape))


def _lie_alike(a, b):
    same = a.shape == b.shape and a.stride() == b.stride() and a.storage_offset() == b.storage_offset() and a.dtype == b.dtype
    return same and a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def place_of(tensor):
    """How it lies in its memory, as far as it says so."""
    return (tensor.stride(), tensor.storage_offset()) if is_plain_tensor(tensor, inference=True) else ()


def tensor_over(storage):
    """A storage as bytes."""
    with torch.inference_mode(False):
        return torch.empty(0, dtype=torch.uint8).set_(storage)


def bytes_of(tensor):
    flat = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
    return flat.as_strided(flat.shape, (1,)).view(torch.uint8)  # one element may have any stride


def buffer_of(found):
    """The memory of contiguous bytes, for Python to read. After tensor.numpy() PyTorch would refuse to resize the storage for ever."""
    if not found.numel():
        return b""
    buffer = (ctypes.c_char * found.numel()).from_address(found.data_ptr())
    buffer.owner = found  # it may be a copy that nobody else holds
    return buffer


def _words_of(tensor):
    """The same, eight bytes in one where that can be: they are compared five times as fast."""
    found = bytes_of(tensor)
    return found.view(torch.int64) if found.numel() % 8 == 0 and found.storage_offset() % 8 == 0 else found


def is_plain_tensor(tensor, inference=False):
    """Whether a tensor's content lies open in its memory; of inference tensors where they are asked for."""
    return _has_content(tensor) and (inference or not tensor.is_inference()) and not tensor.is_conj() and not tensor.is_neg()


def _has_content(tensor):
    uninitialized = isinstance(tensor, torch.nn.parameter.UninitializedTensorMixin)
    return not uninitialized and tensor.device.type == "cpu" and tensor.layout == torch.strided and not tensor.is_quantized


def parts_of(tensor):
    """The plain tensors that a sparse or quantized one is made of; none of others."""
    if isinstance(tensor, torch.nn.parameter.UninitializedTensorMixin) or tensor.device.type != "cpu":
        return []
    tensor = tensor.detach()
    if tensor.layout == torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    return [tensor.int_repr()] if tensor.is_quantized else []
