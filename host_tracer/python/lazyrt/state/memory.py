"""Tensors as memory: where it begins and ends, what it holds, and how to restore it."""

import ctypes
import hashlib
import itertools

import numpy
import torch

from lazyrt.record.tensors import is_lazy

try:
    from numpy.lib.array_utils import byte_bounds
except ImportError:  # NumPy 1
    from numpy import byte_bounds  # type: ignore[attr-defined,no-redef]


def is_plain_tensor(tensor, inference=False):
    """Whether a tensor's content is its memory on the CPU; inference tensors count only if requested."""
    return _has_content(tensor) and (inference or not tensor.is_inference()) and not tensor.is_conj() and not tensor.is_neg()


def _has_content(tensor):
    return tensor.device.type == "cpu" and tensor.layout == torch.strided and not tensor.is_quantized


def extent_of(value):
    """(begin, end) of the memory of a tensor or array; (0, 0) if it is not known."""
    if isinstance(value, numpy.ndarray):
        return byte_bounds(value) if value.nbytes else (0, 0)
    if is_lazy(value) or not is_plain_tensor(value, inference=True) or not value.numel():
        return 0, 0
    last = sum((size - 1) * step for size, step in zip(value.shape, value.stride()))
    return value.data_ptr(), value.data_ptr() + (last + 1) * value.element_size()


def memory_of(tensor):
    """The whole memory that a tensor is part of, in one dimension."""
    storage = tensor.untyped_storage()
    return torch.empty(0, dtype=tensor.dtype).set_(storage, 0, (storage.nbytes() // tensor.element_size(),))


def place_of(tensor):
    """How it lies in its memory."""
    return (tensor.stride(), tensor.storage_offset()) if is_plain_tensor(tensor, inference=True) else ()


def bytes_of(tensor):
    flat = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
    return flat.as_strided(flat.shape, (1,)).view(torch.uint8)  # one element may have any stride


def _digest(tensor):
    if not _has_content(tensor):
        return ("tensor", id(tensor), _version(tensor))
    found = bytes_of(tensor)
    # After tensor.numpy() PyTorch would refuse forever to resize the storage.
    memory = (ctypes.c_char * found.numel()).from_address(found.data_ptr()) if found.numel() else b""
    return ("content", hashlib.blake2b(memory).hexdigest(), tensor.dtype, tensor.shape)


def _version(tensor):
    return -1 if tensor.is_inference() else tensor._version


def _words_of(tensor):
    """Its bytes, eight at a time if possible: these are compared five times as fast."""
    found = bytes_of(tensor)
    return found.view(torch.int64) if found.numel() % 8 == 0 and found.storage_offset() % 8 == 0 else found


class Contents:
    """The contents of CPU tensors, across several snapshots: a tensor that was not written is not copied again. `parameters`, those of the program,
    are never copied."""

    def __init__(self, parameters=()):
        self._parameters = {id(tensor) for tensor in parameters}
        self._known = {}  # id -> (tensor, version, copy or None, token)
        self._count = itertools.count()
        self.first = True  # what is seen for the first time is counted, not read

    def save(self, tensor):
        """(token, copy): equal tokens mean equal contents."""
        known = self._known.get(id(tensor))
        if known and self._is_as(tensor, known):
            return known[3], known[2]
        kept = id(tensor) in self._parameters or not _has_content(tensor)
        token = ("tensor", next(self._count)) if known is None and (kept or self.first) else _digest(tensor)
        copy = None if kept else tensor.detach().clone()
        self._known[id(tensor)] = (tensor, _version(tensor), copy, token)
        return token, copy

    def restore(self, tensor, saved):
        token, copy = saved
        known = self._known.get(id(tensor))
        if copy is None or known and known[3] == token and self._is_as(tensor, known):
            return
        with torch.inference_mode() if tensor.is_inference() else torch.no_grad():
            if tensor.shape != copy.shape:
                tensor.data = copy.clone()
            else:
                once = tuple(slice(1 if step == 0 and extent > 1 else None) for step, extent in zip(tensor.stride(), tensor.shape))  # of expanded ones
                tensor[once].copy_(copy[once])
        self._known[id(tensor)] = (tensor, _version(tensor), copy, token)

    @staticmethod
    def _is_as(tensor, known):
        """Writes through t.data and t.numpy() do not change the version, so contents are compared."""
        of, version, copy, _ = known
        if of is not tensor or version != _version(tensor):
            return False
        return copy is None or tensor.shape == copy.shape and torch.equal(_words_of(tensor), _words_of(copy))


class TensorEntry:
    """A CPU tensor in a snapshot: its content, its memory (which `t.data = other` changes), flags and gradient."""

    def __init__(self, value, contents):
        self.value, self._contents, self.items = value, contents, []
        self._place = value.detach() if is_plain_tensor(value) else None
        self._was_leaf = value.is_leaf
        self._flags = (value.requires_grad, value.grad if value.is_leaf else None)
        self.saved = contents.save(value)

    def restore(self, given):
        tensor, place = self.value, self._place
        if place is not None and is_plain_tensor(tensor) and (tensor.dtype, tensor.shape, _lies(tensor)) != (place.dtype, place.shape, _lies(place)):
            tensor.data = place.detach()
        if self._was_leaf and not tensor.is_leaf and not tensor._is_view():
            tensor.detach_()  # of what autograd has recorded in a call
        self._contents.restore(tensor, self.saved)
        if not tensor.is_leaf or tensor.is_inference():
            return
        requires_grad, grad = self._flags
        if tensor.requires_grad != requires_grad:
            tensor.requires_grad_(requires_grad)
        if tensor.grad is not grad:
            tensor.grad = grad


def _lies(tensor):
    return tensor.untyped_storage().data_ptr(), tensor.storage_offset(), tensor.stride()


class ArrayEntry:
    """An array of NumPy in a snapshot: its content."""

    def __init__(self, value):
        self.value, self._content, self.items = value, value.copy(), []

    def token(self):
        array = self._content
        return (type(self.value), str(array.dtype), array.shape, self.value.strides, hashlib.blake2b(array.tobytes()).hexdigest())

    def restore(self, given):
        if self.value.flags.writeable:
            if self.value.shape != self._content.shape:
                self.value.resize(self._content.shape, refcheck=False)
            self.value[...] = self._content
