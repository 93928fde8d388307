"""Calls that copy or return a view, depending on their operand's layout: contiguous, reshape, to and the like. Lazy tensors are always contiguous, so
such calls return views where eager's may copy. If the shared memory is written afterwards, eager is asked which of these calls copy, and the program
is captured again with copies there."""

import collections
import sys

import torch
from torch.overrides import TorchFunctionMode

from lazyrt import _tracer
from lazyrt.record.private_names import unwrapped
from lazyrt.record.tensors import is_lazy, is_ours

_Tensor = torch.Tensor
_MAY_COPY = {getattr(owner, name) for name in ("contiguous", "reshape", "reshape_as", "flatten", "ravel", "to") for owner in (_Tensor, torch) if hasattr(owner, name)}
# Calls that functionalization treats as copies, although eager returns views.
VIEWS_FOR = {torch.unsafe_chunk: torch.chunk, _Tensor.unsafe_chunk: torch.chunk, torch.unsafe_split: torch.split, _Tensor.unsafe_split: torch.split,
             torch.unsafe_split_with_sizes: torch.split_with_sizes, _Tensor.unsafe_split_with_sizes: torch.split_with_sizes}


class _Keys:
    """Names the calls of one run: by function and line, and by how often that line was reached before."""

    def __init__(self):
        self._counts = collections.Counter()

    def next(self, func, frame):
        while frame.f_back is not None and is_ours(frame):
            frame = frame.f_back
        place = (func, frame.f_code.co_filename, frame.f_lineno)
        self._counts[place] += 1
        return (*place, self._counts[place])


def may_copy(func, kwargs):
    return func in _MAY_COPY or "memory_format" in kwargs


class _CopiesOfEager(TorchFunctionMode):
    """Records which calls of a run in eager copy."""

    def __init__(self):
        super().__init__()
        self._keys, self.copied = _Keys(), {}

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if may_copy(func, kwargs or {}) and isinstance(result, _Tensor):
            with torch._C.DisableTorchFunction():
                self.copied[self._keys.next(func, sys._getframe(1))] = _memory_of(result) != _memory_of(args[0])
        return result


class Copies:
    """The copies in the runs of one capture. `copied`: keys of calls whose results are copies, as in eager."""

    def __init__(self, copied=frozenset()):
        self._copied = copied
        self.shared, self.written = set(), set()  # keys of calls whose result shares memory with the operand; of those, where that was written later
        self.begin()

    def begin(self):
        """A run of the program begins."""
        self._keys, self._pairs = _Keys(), []

    def end(self):
        for key, *pair in self._pairs:
            self.shared.add(key)
            if any(_writes_into(tensor) != count for tensor, count in pair):
                self.written.add(key)
        self._pairs = []

    def take(self, func, operand, result, frame):
        """The result of a call that may copy."""
        key = self._keys.next(func, frame)
        if not is_lazy(result) or not is_lazy(operand) or _memory_of(operand) != _memory_of(result):
            return result
        if key in self._copied:
            return result.clone()
        self._pairs.append((key, (operand, _writes_into(operand)), (result, _writes_into(result))))
        return result


def _memory_of(tensor):
    """None for a tensor without memory of its own, such as a sparse one."""
    tensor = unwrapped(tensor)
    try:
        return (_tracer.memory_of(tensor) if is_lazy(tensor) else tensor.untyped_storage().data_ptr()) or None
    except (RuntimeError, NotImplementedError):
        return None


def _writes_into(tensor):
    return _tracer.writes_into(unwrapped(tensor))


def capture_with_copies(run, capture, eager):
    """Returns what capture() returns for `run`, the program as capture calls it; eager(mode) runs it in eager under a mode and may raise."""
    run.copies = Copies()
    trace = capture()
    done = run.copies
    keys = done.shared if trace.states else done.written  # later calls may write what they keep
    if not keys:
        return trace
    log = _CopiesOfEager()
    try:
        eager(log)
    except Exception:
        return trace
    copied = frozenset(key for key in keys if log.copied.get(key))
    if not copied:
        return trace
    run.copies = Copies(copied)
    run.forget()
    return capture()
