"""What a program can change, piece by piece: containers, attributes, tensors, arrays.

An entry is made of one such thing at one moment. `items` is what lies in it, token() is equal for equal contents (of the
items only how many they are), restore(given) puts it back, with given(item) in place of each item."""

import collections
import copy
import ctypes
import enum
import hashlib
import itertools
import re
import struct

import numpy
import torch

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
    """The order of a set's items depends on its past, and is not put back."""

    def __init__(self, value):
        self.value, self.items = value, list(set.__iter__(value))

    def in_order(self):
        return sorted(self.items, key=lambda item: (type(item).__name__, repr(item), id(item)))

    def token(self):
        return (type(self.value), len(self.items), order_of(self.in_order()))

    def restore(self, given):
        then = [given(item) for item in self.items]
        if {id(item) for item in set.__iter__(self.value)} != {id(item) for item in then}:
            set.clear(self.value)
            set.update(self.value, then)


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


class ClassAttributesEntry(AttributesEntry):
    """Those of a class, by name, with what was added since."""

    def restore(self, given):
        for name in [name for name in vars(self.value) if is_data_name(name) and not name.startswith("__") and name not in self.names]:
            type.__delattr__(self.value, name)
        super().restore(given)


def from_class(cls, name, default):
    return vars(cls).get(name, default)


def from_globals(names, name, default):
    return names.get(name, default)


def is_data_name(name):
    """Whether an attribute of a class is the user's, not Python's own."""
    return name not in _OF_CLASSES


class CachedEntry:
    """A function with functools.lru_cache, which is taken for pure: it is emptied."""

    def __init__(self, value):
        self.value, self.items = value, []

    def token(self):
        return ("cached",)

    def restore(self, given):
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


def overlap(a, b):
    """Whether tensors or arrays may have memory in common."""
    (begin, end), (first, last) = extent_of(a), extent_of(b)
    return first < end and begin < last


class ArrayEntry:
    """An array of NumPy: its content."""

    def __init__(self, value):
        self.value, self.content, self.items = value, copy.copy(value), []

    def token(self):
        return (type(self.value), str(self.content.dtype), self.content.shape, self.value.strides, hashlib.blake2b(self.content.tobytes()).hexdigest())

    def restore(self, given):
        if self.value.flags.writeable:
            if self.value.shape != self.content.shape:
                self.value.resize(self.content.shape, refcheck=False)
            self.value[...] = self.content


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
        self.saved = contents.save(value)

    def restore(self, given):
        if self._place is not None and is_plain_tensor(self.value) and not _lie_alike(self.value, self._place):
            self.value.data = self._place.detach()
        if self._was_leaf and not self.value.is_leaf and not self.value._is_view():
            self.value.detach_()  # of what autograd has recorded in a call
        self._contents.restore(self.value, self.saved)
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
