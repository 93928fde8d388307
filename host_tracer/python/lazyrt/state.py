"""What a module and the process look like before an export, so that it can be put back."""

import random
import sys
import types

import torch

_PLAIN = (str, bytes, int, float, complex, bool, type(None), type, types.ModuleType, types.FunctionType,
          types.BuiltinFunctionType, torch.dtype, torch.device, torch.Size)
_MOST_OBJECTS = 200_000


class GlobalState:
    """The random number generators of torch, Python and numpy, and torch's switches that capture sets."""

    def __init__(self):
        self.torch = torch.get_rng_state()
        self.python = random.getstate()
        self.numpy = self._numpy().get_state(legacy=False) if self._numpy() else None
        self.fastpath = torch.backends.mha.get_fastpath_enabled()

    @staticmethod
    def _numpy():
        numpy = sys.modules.get("numpy")
        return numpy.random.mtrand._rand if numpy else None

    def used(self):
        """Names of the generators of Python's side that have moved on."""
        moved = []
        if random.getstate() != self.python:
            moved.append("random")
        if self.numpy is not None and not _same(self._numpy().get_state(legacy=False), self.numpy):
            moved.append("numpy.random")
        return moved

    def restore(self):
        torch.set_rng_state(self.torch)
        random.setstate(self.python)
        if self.numpy is not None:
            self._numpy().set_state(self.numpy)
        torch.backends.mha.set_fastpath_enabled(self.fastpath)


class ObjectState:
    """The attributes of objects, their containers and tensors (parameters aside), as they are now.

    Reaches everything that is an attribute of a root, or an item of such an attribute, and so on; not classes, modules of
    Python, functions and their closures."""

    def __init__(self, roots):
        self._dicts, self._lists, self._sets = [], [], []
        self._tensors, self._flags = [], []
        self._seen = set()
        self._keep = []
        todo = list(roots)
        while todo and len(self._seen) < _MOST_OBJECTS:
            todo.extend(self._visit(todo.pop()))

    def _visit(self, value):
        if isinstance(value, _PLAIN) or id(value) in self._seen:
            return ()
        self._seen.add(id(value))
        self._keep.append(value)
        if isinstance(value, torch.Tensor):
            self._visit_tensor(value)
            return ()
        children = []
        if isinstance(value, dict):
            self._dicts.append((value, dict(value)))
            children += value.values()
        elif isinstance(value, list):
            self._lists.append((value, list(value)))
            children += value
        elif isinstance(value, tuple):
            children += value
        elif type(value) is set:
            self._sets.append((value, set(value)))
        inner = getattr(value, "__dict__", None)
        if type(inner) is dict:
            children.append(inner)
        return children

    def _visit_tensor(self, tensor):
        self._flags.append((tensor, tensor.requires_grad, tensor.grad if tensor.is_leaf else None))
        if isinstance(tensor, torch.nn.parameter.UninitializedTensorMixin):
            return
        if isinstance(tensor, torch.nn.Parameter) or tensor.is_inference() or tensor.device.type != "cpu":
            return
        self._tensors.append((tensor, tensor._version, tensor.detach().clone()))

    def restore(self):
        for value, saved in self._dicts:
            if len(value) != len(saved) or any(value.get(k, value) is not v for k, v in saved.items()):
                dict.clear(value)
                dict.update(value, saved)
        for value, saved in self._lists:
            if len(value) != len(saved) or any(a is not b for a, b in zip(value, saved)):
                list.__setitem__(value, slice(None), saved)
        for value, saved in self._sets:
            if value != saved:
                value.clear()
                value.update(saved)
        with torch.no_grad():
            for index, (tensor, version, saved) in enumerate(self._tensors):
                if tensor._version != version:
                    tensor.copy_(saved)
                    self._tensors[index] = (tensor, tensor._version, saved)
        for tensor, requires_grad, grad in self._flags:
            if tensor.is_leaf:
                tensor.requires_grad_(requires_grad)
                if tensor.grad is not grad:
                    tensor.grad = grad


def _same(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    return bool((a == b).all()) if hasattr(a, "all") else a == b
