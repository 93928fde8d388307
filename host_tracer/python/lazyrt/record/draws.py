"""Random numbers that the program draws while it is captured. The capture itself sees what a drawn tensor does in the graph. This module handles what
is read on the host: a truth value or number of a drawn tensor, and numbers from Python's and NumPy's generators. Numbers that the program draws after
setting a seed are the same in every call."""

import contextlib
import functools
import random

import numpy
import torch

from lazyrt import _tracer
from lazyrt.driver.eager import SEED
from lazyrt.driver.results import same_results
from lazyrt.record.tensors import is_lazy, is_write, tensors_in

_Tensor = torch.Tensor
_HINT = "numbers that the bundle should draw anew have to be inputs; draw none where they do not matter, or call model.eval()"
_DRAWING = {"rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "bernoulli", "bernoulli_", "multinomial", "normal", "normal_", "poisson",
            "uniform_", "random_", "exponential_", "geometric_", "cauchy_", "log_normal_", "dropout"}
# Calls that return something other than tensors, or tensors of a size that depends on a tensor's values.
_READING = {_Tensor.__bool__, _Tensor.__int__, _Tensor.__float__, _Tensor.__index__, _Tensor.__complex__, _Tensor.__contains__, _Tensor.item,
            _Tensor.tolist, _Tensor.numpy, _Tensor.__array__, torch.is_nonzero, _Tensor.is_nonzero, torch.equal, _Tensor.equal, torch.allclose,
            _Tensor.allclose, torch.nonzero, _Tensor.nonzero, torch.argwhere, _Tensor.argwhere, torch.masked_select, _Tensor.masked_select,
            torch.unique, _Tensor.unique, torch.unique_consecutive, _Tensor.unique_consecutive, torch.bincount, _Tensor.bincount}


def is_seeded(kwargs):
    """Whether a call of torch draws the same numbers each time: from a generator of the program, whose state is restored, or after a seed was set."""
    return kwargs.get("generator") not in (None, torch.default_generator) or torch.initial_seed() != SEED


class Draws:
    """What one export has seen of random draws. `place()` returns the program's line."""

    def __init__(self, place):
        self._place = place
        self.found = {}  # (message, file, line) of draws that matter -> the path of the place that keeps what was drawn, or None

    def findings(self, unread=()):
        """(message, suggestion, file, line) for each draw whose numbers the program uses. `unread`: paths of places that it only writes."""
        return [(message, _HINT, file, line) for (message, file, line), path in self.found.items() if path is None or not _lies_in(path, unread)]

    @contextlib.contextmanager
    def watched(self):
        """Active during one run of the program; yields what CaptureMode calls."""
        run, before = _Run(self), _state_of_torch()
        yield run
        if not run.drawn and not is_seeded({}) and _state_of_torch() != before:
            self.note("random numbers of torch are drawn where the capture does not see what becomes of them (in TorchScript or an extension)")

    def note(self, message, path=None, place=None):
        self.found[(message, *(place or self.place()))] = path

    def place(self):
        place = self._place()
        return place["file"], place["line"]


def _lies_in(path, places):
    return any(path == place or path.startswith((f"{place}.", f"{place}[")) for place in places)


class _Run:
    """One run of the program. `drawn`: id of a tensor that was drawn, or computed from a drawn one -> (tensor, what drew it, its place)."""

    def __init__(self, draws):
        self._draws, self.drawn = draws, {}

    def call(self, handler, func, args, kwargs):
        """Calls handler(func, args, kwargs); remembers what it draws, or computes from drawn numbers."""
        origin = self._origin(args, kwargs) if self.drawn else None
        if origin is not None and (func in _READING or func is _Tensor.__getitem__ and self._selects(args[1])):
            self._note_read(origin, args, kwargs)
            return handler(func, args, kwargs)
        result = handler(func, args, kwargs)
        if func.__name__ in _DRAWING and not is_seeded(kwargs) and kwargs.get("training", True):
            origin = (f"torch.{func.__name__}", self._draws.place())
        if origin is not None:
            made = [*tensors_in((result,)), *(tensors_in((*args[:1], kwargs.get("out"))) if is_write(func, kwargs) else ())]
            self.drawn.update((id(tensor), (tensor, *origin)) for tensor in made)
        return result

    def _origin(self, args, kwargs):
        return next((self.drawn[id(value)][1:] for value in tensors_in((*args, *kwargs.values())) if id(value) in self.drawn), None)

    def _selects(self, index):
        """Whether a drawn mask determines how many elements there are."""
        return any(tensor.dtype is torch.bool and id(tensor) in self.drawn for tensor in tensors_in((index,)))

    def _note_read(self, origin, args, kwargs):
        """Notes that a drawn tensor is read on the host. If the value depends on inputs, too, the graph guards it."""
        if not any(is_lazy(value) and _tracer.is_dynamic(value) for value in tensors_in((*args, *kwargs.values()))):
            what, place = origin
            self._draws.note(f"{what} draws random numbers that decide what the program does; those of this capture did", place=place)

    def look_at_kept(self, kept):
        """Looks at the (path, tensor) pairs that the program keeps for later calls: these would continue with numbers drawn in this call."""
        for path, tensor in kept:
            known = self.drawn.get(id(tensor))
            if known is not None and not (is_lazy(tensor) and _tracer.is_dynamic(tensor)):
                self._draws.note(f"{known[1]} draws random numbers, and '{path}' keeps them, or what is computed from them, for later calls", path, known[2])


def _state_of_torch():
    with torch._C.DisableTorchFunction():
        return torch.default_generator.get_state().numpy().tobytes()


def draws_matter(job, sample):
    """Whether results differ for other seeds of Python's and NumPy's generators, including seeds whose first draws are near 0 and 1."""
    try:
        results = [job.eager(sample, arrange=functools.partial(_seeded, seed)) for seed in _seeds()]
    except Exception:  # with some draws only
        return True
    return not all(same_results(result, results[0]) for result in results)


def _seeded(seed, args, kwargs):
    random.seed(seed)
    numpy.random.seed(seed)
    return args, kwargs


@functools.lru_cache(maxsize=1)
def _seeds():
    first = {seed: (random.Random(seed).random(), numpy.random.RandomState(seed).random_sample()) for seed in range(3000)}
    return [end(first, key=lambda seed, i=i: first[seed][i]) for i in (0, 1) for end in (min, max)]
