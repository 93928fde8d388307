"""Calls that copy or give a view, as their operand lies in memory: contiguous, reshape, flatten, ravel.

Lazy tensors lie in rows whatever was done to them, so that these calls give views of them. Where a program goes on to write into the
result or into the operand, eager is asked which of the calls copied, and the program is captured anew with those copies."""

import torch
from torch.overrides import TorchFunctionMode

from lazyrt import _tracer
from lazyrt.errors import Error
from lazyrt.tensors import is_lazy

_Tensor = torch.Tensor
MAY_COPY = (_Tensor.contiguous, _Tensor.reshape, _Tensor.reshape_as, _Tensor.flatten, _Tensor.ravel, torch.reshape, torch.flatten, torch.ravel)


class Copies:
    """Of the runs of one capture. `answers`: (shape of the result, whether it is a copy) of each call in eager; None where nobody has
    asked."""

    def __init__(self, answers=None):
        self._answers = answers
        self.matter = False  # a run wrote where a copy makes a difference
        self.begin()

    def begin(self):
        """A run of the program begins."""
        self._calls, self._views = 0, []

    def end(self):
        written = [a for a in self._views if a[0]._version != a[1] or a[2]._version != a[3]]
        self.matter |= bool(written)

    def take(self, operand, result):
        """The result of such a call, a copy where it was one in eager."""
        self._calls += 1
        if not is_lazy(operand) or not is_lazy(result) or _tracer.memory_of(operand) != _tracer.memory_of(result):
            return result
        if self._answers is None:
            self._views.append((operand, operand._version, result, result._version))
            return result
        shape, copied = self._answers[self._calls - 1] if self._calls <= len(self._answers) else (None, False)
        if shape != result.shape:
            raise Error("the program writes into what contiguous, reshape or flatten give, and makes other such calls in eager than in the capture: "
                        "clone() what it writes into", "unsupported")
        return result.clone() if copied else result


def capture_with_copies(run, capture, eager):
    """What capture() gives of `run`, the program as capture calls it; eager(mode) runs it in eager under a mode."""
    run.copies, run.copies_matter = Copies(), False
    try:
        trace = capture()
    except Exception:
        if not run.copies.matter:
            raise
        trace = None
    if not run.copies.matter:
        return trace
    run.copies_matter = True
    log = EagerCopies()
    eager(log)
    if trace is not None and not any(copied for _, copied in log.answers):
        return trace
    run.copies = Copies(log.answers)
    run.forget()
    return capture()


class EagerCopies(TorchFunctionMode):
    """Writes down which of the calls copy in eager."""

    def __init__(self):
        super().__init__()
        self.answers = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func in MAY_COPY:
            operand = args[0] if args else kwargs["input"]
            self.answers.append((result.shape, operand.untyped_storage().data_ptr() != result.untyped_storage().data_ptr()))
        return result
