"""Random numbers that the program draws while it is captured, and what becomes of them.

What a drawn tensor does in the graph is the capture's to tell. Here is what leaves it: a truth value or number of a drawn tensor, and
what Python's and NumPy's generators give. Single numbers are carriers that report their first use, so that a draw which nobody looks
at costs nothing; all else counts as used. A generator that the program seeds during the call draws the same in every call."""

import contextlib
import os
import random
import sys

import numpy
import torch

from lazyrt import _tracer
from lazyrt.carriers import Carrier, LazyFloat, LazyInt
from lazyrt.code_names import of_a_library
from lazyrt.tensors import is_lazy, is_write, tensors_in

_Tensor = torch.Tensor
_NUMPY = numpy.random.mtrand._rand
_DRAWERS = ("random", "secrets", "uuid", "lazyrt.draws", "numpy.random")  # who calls them draws
_SEEDS = ("seed", "setstate", "set_state")
_QUIET = ("getstate", "get_state")
_ALIASES = ("ranf", "sample")  # of NumPy, functions of their own
_WITHIN = 2**62  # whole numbers that carriers hold
_HINT = "numbers that the bundle should draw anew have to be inputs; draw none where they do not matter, or call model.eval()"

# What gives the program something else than tensors, or tensors of other sizes, by a tensor's values.
_LEAVING = {_Tensor.__bool__, _Tensor.__int__, _Tensor.__float__, _Tensor.__index__, _Tensor.__complex__, _Tensor.__contains__, _Tensor.item,
            _Tensor.tolist, _Tensor.numpy, _Tensor.__array__, torch.is_nonzero, _Tensor.is_nonzero, torch.equal, _Tensor.equal, torch.allclose,
            _Tensor.allclose, torch.nonzero, _Tensor.nonzero, torch.argwhere, _Tensor.argwhere, torch.masked_select, _Tensor.masked_select,
            torch.unique, _Tensor.unique, torch.unique_consecutive, _Tensor.unique_consecutive, torch.bincount, _Tensor.bincount}


class Draws:
    """What one export has seen of draws. `place()` tells the program's line."""

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
    def watched(self, numbers):
        """While one run of the program goes on. `numbers` are those of its capture; gives what CaptureMode asks."""
        run = _Run(self, numbers)
        self._seeds_of_runs.append(run.seeds)
        with contextlib.ExitStack() as stack:
            for owner, name, function in run.replacements():
                stack.callback(setattr, owner, name, vars(owner)[name])
                setattr(owner, name, function)
            try:
                yield run
            finally:
                run.end()

    def place(self):
        """(file, line) of the program."""
        place = self._place()
        return place["file"], place["line"]


def _lies_in(path, places):
    return any(path == place or path.startswith((f"{place}.", f"{place}[")) for place in places)


class _Run:
    """One run of the program."""

    def __init__(self, draws, numbers):
        self._draws, self._numbers = draws, numbers
        self.seeds = []
        self._known = {}  # id of a generator -> generator
        self._drawn = {}  # id of a tensor that was drawn, or computed from such -> (tensor, what drew it, whether of a generator, its place)
        self._seeded = set()  # "torch", "random", "numpy.random"
        self._active, self._given_seed = True, False
        self._torch = _state_of_torch()
        self._python, self._numpy = random.getstate(), _state_of_numpy()

    def end(self):
        """The program is done: who looks at numbers now is not the program."""
        self._check_unseen()
        self._see_unseen_of_torch()
        self._active = False

    def look_at_kept(self, kept):
        """(path, tensor) of what the program keeps for later calls: they would go on with what this one drew."""
        for path, tensor in kept:
            known = self._drawn.get(id(tensor))
            if known is not None and not (is_lazy(tensor) and _tracer.is_dynamic(tensor)):
                _, what, of_generator, place = known
                self._note(f"{what} draws random numbers, and '{path}' keeps them, or what is computed from them, for later calls", of_generator, place, path)

    # ---------------------------------------------------------------- torch

    def call(self, handler, func, args, kwargs):
        """handler(func, args, kwargs); what it draws, or computes from what was drawn, is known afterwards."""
        self._see_unseen_of_torch()
        origin = self._origin(args, kwargs) if self._drawn else None
        if origin is not None and (func in _LEAVING or func is _Tensor.__getitem__ and self._selects(args[1])):
            return self._leave(origin, handler, func, args, kwargs)
        result = handler(func, args, kwargs)
        generator = next((value for value in (*args, *kwargs.values()) if isinstance(value, torch.Generator)), None)
        if generator is not None:
            origin = (f"torch.{_name_of(func)}", True, self._draws.place()) if self._meet(generator) else origin
        if self._moved_on() and "torch" not in self._seeded:
            origin = (f"torch.{_name_of(func)}", False, self._draws.place())
        if origin is not None:
            self._mark(origin, func, args, kwargs, result)
        return result

    def is_seeded(self, kwargs):
        """Whether a call of torch draws the same each time, as far as is known by now: from a generator of the program's, or from torch's own behind a seed."""
        generator = kwargs.get("generator")
        return "torch" in self._seeded if generator is None or generator is torch.default_generator else True

    def _meet(self, generator):
        if generator is torch.default_generator:
            return False
        if id(generator) not in self._known:
            self._known[id(generator)] = generator
            self.seeds.append(generator.initial_seed())
        return True

    def _moved_on(self):
        """Whether torch's own generator has drawn since it was looked at."""
        now = _state_of_torch()
        moved, self._torch = now != self._torch, now
        return moved

    def _see_unseen_of_torch(self):
        if self._moved_on() and "torch" not in self._seeded:
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
        if any(is_lazy(value) and _tracer.is_dynamic(value) for value in tensors_in((*args, *kwargs.values()))):
            return handler(func, args, kwargs)
        tensor = args[0]
        if func is _Tensor.item and tensor.numel() == 1 and tensor.dtype is not torch.bool and not tensor.is_complex():
            return self._number(handler(func, args, kwargs), lambda: self._report(*origin))
        self._report(*origin)
        return handler(func, args, kwargs)

    def _number(self, value, report):
        """A number that reports its first use; what is none is reported at once."""
        if isinstance(value, Carrier):
            made = value._tensor
        elif type(value) in (int, float) and (type(value) is float or abs(value) < _WITHIN):
            made = torch.tensor(value, dtype=torch.float64 if type(value) is float else torch.int64)
        else:
            report()
            return value

        def make():
            if self._active:
                report()
            return made if is_lazy(made) else _tracer.lift(made)

        self._numbers.used = True
        return LazyFloat(make) if isinstance(value, float) else LazyInt(make)

    def _report(self, what, of_generator, place):
        self._note(f"{what} draws random numbers that decide what the program does; those of this capture did", of_generator, place)

    def _note(self, message, of_generator, place, path=None):
        found = self._draws._of_generators if of_generator else self._draws.found
        found[(message, *place)] = path

    # ---------------------------------------------------------------- Python and NumPy

    def replacements(self):
        """(module or class, name, what stands there meanwhile)"""
        yield from self._of_generator(random, random._inst, "random")
        yield from self._of_generator(numpy.random, _NUMPY, "numpy.random")
        yield random.Random, "seed", self._seeding(random.Random.seed)
        yield numpy.random, "RandomState", self._legacy_generator()
        for owner, name in ((os, "urandom"), (os, "getrandom"), (random, "_urandom")):
            if hasattr(owner, name):
                yield owner, name, self._from_system(getattr(owner, name))
        for owner in (torch, torch.random):
            yield owner, "manual_seed", self._setting(owner.manual_seed, "torch")
            yield owner, "set_rng_state", self._setting(owner.set_rng_state, "torch")
            yield owner, "seed", self._from_system(owner.seed)

    def _of_generator(self, module, generator, name):
        for each, function in list(vars(module).items()):
            if each in _SEEDS:
                yield module, each, self._setting(function, name)
            elif each in _ALIASES or getattr(function, "__self__", None) is generator and not each.startswith("_"):
                yield module, each, self._drawing(function, name)

    def _drawing(self, function, name):
        """A function of a module's generator."""
        if function.__name__ in _QUIET:
            return function

        def draw(*args, **kwargs):
            self._check_unseen()
            result = function(*args, **kwargs)
            self._python, self._numpy = random.getstate(), _state_of_numpy()
            place = _place_of_caller()
            if name in self._seeded or place is None:
                return result
            return self._number(result, lambda: self._report(f"{name}.{function.__name__}", False, place))

        return _like(draw, function)

    def _setting(self, function, name):
        """One that gives a generator a state. After a seed what it draws is the same in every call; without one it is the system's."""
        def put(*args, **kwargs):
            self._check_unseen()
            self._see_unseen_of_torch()
            result = function(*args, **kwargs)
            if next(iter((*args, *kwargs.values())), None) is None:
                self._report_system(f"{name}.{function.__name__}()")
            elif function.__name__ in ("seed", "manual_seed"):
                self._seeded.add(name)
            else:
                self._seeded.discard(name)
            self._moved_on()
            self._python, self._numpy = random.getstate(), _state_of_numpy()
            return result

        return _like(put, function)

    def _seeding(self, function):
        """random.Random.seed"""
        def seed(generator, a=None, *args, **kwargs):
            if a is None:
                self._report_system("random.Random()")
            return function(generator, a, *args, **kwargs)

        return _like(seed, function)

    def _legacy_generator(self):
        """Passes for numpy.random.RandomState, which asks the system for chance even where it is given a seed."""
        made = numpy.random.RandomState

        class Maker(type(made)):
            def __call__(cls, seed=None):
                outer, self._given_seed = self._given_seed, seed is not None
                try:
                    return made(seed)
                finally:
                    self._given_seed = outer

            def __instancecheck__(cls, instance):
                return isinstance(instance, made)

        return Maker("RandomState", (), {"__doc__": made.__doc__})

    def _from_system(self, function):
        """What gives chance itself."""
        def draw(*args, **kwargs):
            self._report_system(function.__name__)
            result = function(*args, **kwargs)
            self._moved_on()
            return result

        return _like(draw, function)

    def _report_system(self, what):
        place = _place_of_caller()
        if self._active and not self._given_seed and place is not None:
            self._draws.found[(f"the program draws random numbers that begin with the system's chance ({what}): others in each call",
                               *place)] = None

    def _check_unseen(self):
        """Draws by functions that the program has from these modules since before the export (from random import choice)."""
        python, of_numpy = random.getstate(), _state_of_numpy()
        for name, before, now in (("random", self._python, python), ("numpy.random", self._numpy, of_numpy)):
            if now != before and name not in self._seeded:
                self._draws.found[(f"a function imported from {name} draws random numbers, and the capture does not see what becomes of them",
                                   *self._draws.place())] = None
        self._python, self._numpy = python, of_numpy


def _place_of_caller():
    """(file, line) of the code that draws; None where that is a library's own, or a module that is being imported."""
    frame = sys._getframe(2)
    while frame is not None and _belongs(_module_of(frame), _DRAWERS):
        frame = frame.f_back
    if frame is None or of_a_library(_module_of(frame)):
        return None
    place = frame.f_code.co_filename, frame.f_lineno
    while frame is not None and not _belongs(_module_of(frame), ("lazyrt",)):
        if _module_of(frame).startswith("importlib."):
            return None
        frame = frame.f_back
    return place


def _module_of(frame):
    return frame.f_globals.get("__name__") or ""


def _belongs(module, packages):
    return any(module == package or module.startswith(package + ".") for package in packages)


def _state_of_torch():
    with torch._C.DisableTorchFunction(), torch._C._DisableFuncTorch():
        return torch.default_generator.get_state().numpy().tobytes()


def _state_of_numpy():
    state = _NUMPY.get_state(legacy=False)
    return (state["state"]["key"].tobytes(), state["state"]["pos"], state["has_gauss"]) if "key" in state["state"] else repr(state)


def _name_of(func):
    return getattr(func, "__name__", str(func))


def _like(function, original):
    function.__name__ = getattr(original, "__name__", "draw")
    return function
