"""The random number generators of the process while an export goes on. See reach.py for the program's own objects."""

import contextlib
import random
import sys

import torch

from lazyrt.errors import Error


SEED = 0x6C617A79_52540001  # of torch's generator meanwhile: where it has another one, the program has seeded it


class GlobalState:
    """The random number generators of torch, Python and NumPy, and torch's switches that capture sets, from begin() to end()."""

    def begin(self):
        self.before = torch.get_rng_state()
        torch.default_generator.manual_seed(SEED)
        self.torch = torch.get_rng_state()
        self.python = random.getstate()
        self.numpy = self._numpy().get_state(legacy=False) if self._numpy() else None
        self.flushes = _flushes_denormals()
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

    @contextlib.contextmanager
    def keeping_denormals(self):
        """While the program runs. Raises Error where it has made this thread take denormal numbers for 0."""
        yield
        if _flushes_denormals() != self.flushes:
            raise Error("the program calls torch.set_flush_denormal, and a bundle computes with denormal numbers as they are: call it outside of the "
                        "program, or not at all", "unsupported")

    def restore(self):
        if _flushes_denormals() != self.flushes:
            torch.set_flush_denormal(self.flushes)
        torch.set_rng_state(self.torch)
        random.setstate(self.python)
        if self.numpy is not None:
            self._numpy().set_state(self.numpy)
        torch.backends.mha.set_fastpath_enabled(self.fastpath)

    def end(self):
        """Gives the process back what it had."""
        self.restore()
        torch.set_rng_state(self.before)


def _flushes_denormals():
    with torch._C.DisableTorchFunction():
        return not (torch.full((1,), 1e-40, dtype=torch.float32) * 1.0).item()


def _same(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    return bool((a == b).all()) if hasattr(a, "all") else a == b
