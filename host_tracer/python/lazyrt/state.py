"""What the process looks like before an export, so that it can be put back. See reach.py for the program's own objects."""

import random
import sys

import torch


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


def _same(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    return bool((a == b).all()) if hasattr(a, "all") else a == b
