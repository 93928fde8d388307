"""Random numbers that the program draws while it is captured, and what becomes of them.

What a drawn tensor does in the graph is seen by the capture. Here is what leaves it: a truth value or number of a drawn tensor, and what the generators of
Python and NumPy give. A generator that the program seeds during the call draws the same in every call."""

import contextlib
import functools
import random

import numpy
import torch

from lazyrt import _tracer
from lazyrt.results import same_results
from lazyrt.eager import SEED
from lazyrt.tensors import is_lazy, is_write, tensors_in

_Tensor = torch.Tensor
_HINT = "numbers that the bundle should draw anew have to be inputs; draw none where they do not matter, or call model.eval()"

# What gives the program something else than tensors, or tensors of other sizes, by a tensor's values.
_LEAVING = {_Tensor.__bool__, _Tensor.__int__, _Tensor.__float__, _Tensor.__index__, _Tensor.__complex__, _Tensor.__contains__, _Tensor.item,
            _Tensor.tolist, _Tensor.numpy, _Tensor.__array__, torch.is_nonzero, _Tensor.is_nonzero, torch.equal, _Tensor.equal, torch.allclose,
            _Tensor.allclose, torch.nonzero, _Tensor.nonzero, torch.argwhere, _Tensor.argwhere, torch.masked_select, _Tensor.masked_select,
            torch.unique, _Tensor.unique, torch.unique_consecutive, _Tensor.unique_consecutive, torch.bincount, _Tensor.bincount}


class Draws:
    """What one export has seen of draws. `place()` gives the program's line."""

    def __init__(self, place):
        self._place = place
        self.found = {}  # (message, file, line) of draws that matter -> the path of the place that keeps what was drawn, or None
        self._seeds_of_runs = []  # of one capture, for each run: the seeds of the generators that the program has used
        self._of_generators = {}  # what matters where those differ

    def begin(self):
        """A capture begins, of one run or several."""
        if any(seeds != self._seeds_of_runs[0] for seeds in self._seeds_of_runs):
            self.found.update(self._of_generators)
        self._seeds_of_runs, self._of_generators = [], {}

    def findings(self, unread=()):
        """(message, suggestion, file, line) of each draw whose numbers the program uses. `unread`: paths of places that it only writes."""
        self.begin()
        return [(message, _HINT, file, line) for (message, file, line), path in self.found.items() if path is None or not _lies_in(path, unread)]

    @contextlib.contextmanager
    def watched(self):
        """While one run of the program goes on; gives what CaptureMode asks."""
        run = _Run(self)
        self._seeds_of_runs.append(run.seeds)
        yield run
        run.see_unseen()

    def place(self):
        """(file, line) of the program."""
        place = self._place()
        return place["file"], place["line"]


def _lies_in(path, places):
    return any(path == place or path.startswith((f"{place}.", f"{place}[")) for place in places)


class _Run:
    """One run of the program."""

    def __init__(self, draws):
        self._draws = draws
        self.seeds = []
        self._known = {}  # id of a generator -> generator
        self._drawn = {}  # id of a tensor that was drawn, or computed from such -> (tensor, what drew it, whether of a generator, its place)
        self._torch = self._unseeded = _state_of_torch()  # the second: as it was last where the program had given no seed

    def look_at_kept(self, kept):
        """(path, tensor) of what the program keeps for later calls: they would go on with what this one drew."""
        for path, tensor in kept:
            known = self._drawn.get(id(tensor))
            if known is not None and not (is_lazy(tensor) and _tracer.is_dynamic(tensor)):
                _, what, of_generator, place = known
                self._note(f"{what} draws random numbers, and '{path}' keeps them, or what is computed from them, for later calls", of_generator, place, path)

    def call(self, handler, func, args, kwargs):
        """handler(func, args, kwargs); what it draws, or computes from what was drawn, is known afterwards."""
        self.see_unseen()
        origin = self._origin(args, kwargs) if self._drawn else None
        if origin is not None and (func in _LEAVING or func is _Tensor.__getitem__ and self._selects(args[1])):
            return self._leave(origin, handler, func, args, kwargs)
        result = handler(func, args, kwargs)
        generator = next((value for value in (*args, *kwargs.values()) if isinstance(value, torch.Generator)), None)
        if generator is not None:
            origin = (f"torch.{_name_of(func)}", True, self._draws.place()) if self._meet(generator) else origin
        if self._moves():
            if self._is_seeded_now():
                self.seeds.append(torch.initial_seed())
            origin = (f"torch.{_name_of(func)}", self._is_seeded_now(), self._draws.place())
        if origin is not None:
            self._mark(origin, func, args, kwargs, result)
        return result

    @staticmethod
    def _is_seeded_now():
        """Whether the program has given torch's generator a seed."""
        return torch.initial_seed() != SEED

    def is_seeded(self, kwargs):
        """Whether a call of torch draws the same each time: from a generator of the program's, or from torch's own behind a seed."""
        generator = kwargs.get("generator")
        return self._is_seeded_now() if generator is None or generator is torch.default_generator else True

    def _meet(self, generator):
        if generator is torch.default_generator:
            return False
        if id(generator) not in self._known:
            self._known[id(generator)] = generator
            self.seeds.append(generator.initial_seed())
        return True

    def _moves(self):
        """Whether torch's own generator has drawn since this was asked."""
        before, self._torch = self._torch, _state_of_torch()
        if not self._is_seeded_now():
            self._unseeded = self._torch
        return self._torch != before

    def see_unseen(self):
        """Finds draws that no call of torch from Python made."""
        before = self._unseeded
        self._moves()
        if self._unseeded != before:
            self._draws.found[("random numbers of torch are drawn where the capture does not see what becomes of them (in TorchScript or an "
                               "extension)", *self._draws.place())] = None

    def _origin(self, args, kwargs):
        for value in tensors_in((*args, *kwargs.values())):
            known = self._drawn.get(id(value))
            if known is not None:
                return known[1:]
        return None

    def _selects(self, index):
        """Whether a drawn mask says how many elements there are."""
        return any(tensor.dtype is torch.bool and id(tensor) in self._drawn for tensor in tensors_in((index,)))

    def _mark(self, origin, func, args, kwargs, result):
        made = list(tensors_in((result,)))
        if is_write(func, kwargs):
            made += tensors_in((*args[:1], kwargs.get("out")))
        for tensor in made:
            self._drawn[id(tensor)] = (tensor, *origin)

    def _leave(self, origin, handler, func, args, kwargs):
        """What a drawn tensor gives the program. What depends on inputs, too, is a guard of the graph's."""
        if not any(is_lazy(value) and _tracer.is_dynamic(value) for value in tensors_in((*args, *kwargs.values()))):
            what, of_generator, place = origin
            self._note(f"{what} draws random numbers that decide what the program does; those of this capture did", of_generator, place)
        return handler(func, args, kwargs)

    def _note(self, message, of_generator, place, path=None):
        found = self._draws._of_generators if of_generator else self._draws.found
        found[(message, *place)] = path


def _name_of(func):
    return getattr(func, "__name__", "a function")


def _state_of_torch():
    with torch._C.DisableTorchFunction(), torch._C._DisableFuncTorch():
        return torch.default_generator.get_state().numpy().tobytes()


def draws_matter(job, sample):
    """Whether results differ for other seeds of Python's and NumPy's generators, first draws near 0 and 1 among them."""
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
