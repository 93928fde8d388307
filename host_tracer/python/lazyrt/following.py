"""Numbers of the program are followed by carriers, as long as the program does not mind.

A carrier is no number to C code, and `type(n) is int` sees through it. So where carriers were used, the calls of torch that the program made
are compared with those that it makes in eager; where they are others, or the program failed, it is captured again with plain
numbers, each under its exact guard."""

import collections
import contextlib
import math
import operator
import types

import torch
from torch.overrides import TorchFunctionMode

from lazyrt import _tracer
from lazyrt.carrier_calls import call_with_carriers, check_fits, has_carriers, type_with
from lazyrt.carriers import Carrier, LazyFloat, best_of
from lazyrt.indexing import Selections, SelectionsMatter
from lazyrt.statements import Audience, expecting

_ANY_NUMBER = object()
# Functions of torch whose parser takes a number and nothing else for one of their arguments.
_NUMBERS_ONLY = ((torch, ("full", "full_like", "arange", "clamp", "clip", "add", "sub", "roll")),
                 (torch.Tensor, ("new_full", "new_tensor", "clamp", "clamp_", "clip", "add", "sub", "add_", "sub_", "roll")))
# Functions of math, with what they want of their argument. Where that and the result are not both finite or not, math raises.
_POSITIVE, _BOUNDED = (lambda x: ~(x <= 0)), (lambda x: ~x.isinf())
_MATH = {"sqrt": (torch.sqrt, lambda x: ~(x < 0)), "exp": (torch.exp, None), "expm1": (torch.expm1, None),
         "log": (torch.log, _POSITIVE), "log2": (torch.log2, _POSITIVE), "log10": (torch.log10, _POSITIVE),
         "log1p": (torch.log1p, lambda x: ~(x <= -1)), "sin": (torch.sin, _BOUNDED), "cos": (torch.cos, _BOUNDED), "tan": (torch.tan, _BOUNDED),
         "atan": (torch.atan, None), "sinh": (torch.sinh, None), "cosh": (torch.cosh, None), "tanh": (torch.tanh, None),
         "fabs": (torch.abs, None), "isnan": (torch.isnan, None), "isinf": (torch.isinf, None), "isfinite": (torch.isfinite, None)}
_GROWING = {"exp", "expm1", "sinh", "cosh"}


class Numbers:
    """What one capture does with numbers."""

    def __init__(self, followed=True, selects=True):
        self.followed, self.selects = followed, selects
        self.selections = Selections()
        self.used = False
        self.audience = Audience()
        self._calls = []
        self.quiet = False  # calls are parts of one that is written down itself

    def begin(self):
        """A run of the program begins."""
        self._calls.clear()
        self.selections = Selections()

    @contextlib.contextmanager
    def active(self, namespaces):
        """While active, carriers know who listens, and functions for numbers only take them; of math those that the program's own modules have in these `namespaces`."""
        Carrier._audience = self.audience
        replaced = []

        def replace(owner, name, function):
            replaced.append((owner, name, vars(owner).get(name), function))
            setattr(owner, name, function)

        if self.followed:
            for owner, names in _NUMBERS_ONLY:
                for name in names:
                    replace(owner, name, self._taking_carriers(getattr(owner, name)))

        try:
            with _functions_of_program(namespaces) if self.followed else contextlib.nullcontext():
                yield
        finally:
            Carrier._audience = None
            for owner, name, original, ours in replaced:
                if vars(owner).get(name) is ours:
                    delattr(owner, name) if original is None else setattr(owner, name, original)

    def log(self, func, args, kwargs, result):
        if self.followed and not self.quiet:
            self._calls.append(_signature(func, args, kwargs, result))

    def _taking_carriers(self, function):
        """The function, in whose arguments carriers may stand where its parser takes numbers only."""
        def call(*args, **kwargs):
            if not has_carriers((*args, *kwargs.values())):
                return function(*args, **kwargs)
            outer, self.quiet = self.quiet, True
            try:
                result = _NUMBER_CALLS.get(function.__name__, call_with_carriers)(function, args, dict(kwargs))
            finally:
                self.quiet = outer
            with torch._C.DisableTorchFunction():
                self.log(function, args, kwargs, result)
            return result

        call.__name__ = function.__name__
        call.takes_carriers = function
        return call

    def same_calls(self, log):
        """Whether eager made the same calls."""
        return len(self._calls) == len(log.calls) and all(_same(a, b) for a, b in zip(self._calls, log.calls))


class EagerCalls(TorchFunctionMode):
    """Writes down the calls of torch functions that eager makes."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        self.calls.append(_signature(func, args, kwargs or {}, result))
        return result


@contextlib.contextmanager
def _functions_of_program(namespaces):
    """While active, these globals of modules have functions of math, and max and min, that carriers go through."""
    ours = {name: _of_carriers(getattr(math, name), *how) for name, how in _MATH.items()}
    module = types.ModuleType("math")
    vars(module).update({**vars(math), **ours})
    instead = {id(math): module, **{id(getattr(math, name)): function for name, function in ours.items()}}
    replaced = [(names, name, value, instead[id(value)]) for names in namespaces for name, value in names.items() if id(value) in instead]
    replaced += [(names, name, None, function) for names in namespaces for name, function in _BEST.items() if name not in names]
    for names, name, _, function in replaced:
        names[name] = function
    try:
        yield
    finally:
        for names, name, value, function in replaced:
            if names.get(name) is function:
                names.update({name: value}) if value is not None else names.pop(name)


def _best_of(function, compare):
    """max or min: of numbers of one kind the result stays in the graph, in the order of Python's own comparisons."""
    def call(*args, **kwargs):
        if kwargs or len(args) == 1 and type(args[0]) not in (list, tuple, collections.deque):
            return function(*args, **kwargs)
        numbers = list(args[0]) if len(args) == 1 else args
        if not any(isinstance(number, Carrier) for number in numbers):
            return function(*args)
        best = best_of(numbers, compare)
        return function(*args) if best is None else best

    call.__name__ = function.__name__
    return call


_BEST = {"max": _best_of(max, operator.gt), "min": _best_of(min, operator.lt)}


def _of_carriers(function, compute, domain):
    """A function of math that carriers go through."""
    def call(*args):
        if len(args) != 1 or not isinstance(args[0], Carrier):
            return function(*args)
        with torch._C.DisableTorchFunction():
            number = args[0]._real()
            if domain is not None:
                with expecting(f"math.{function.__name__}: math domain error"):
                    if not domain(number):
                        raise ValueError("math domain error")
            result = compute(number)
            if function.__name__ in _GROWING:
                with expecting(f"math.{function.__name__}: math range error"):
                    if result.isinf() & number.isfinite():
                        raise OverflowError("math range error")
            return bool(result) if result.dtype is torch.bool else LazyFloat(result)

    call.__name__ = function.__name__
    return call


def _tensor_of(number):
    if not isinstance(number, Carrier):
        return number
    return torch.tensor(number, dtype=torch.float64 if isinstance(number, float) else torch.int64)


def _full(function, args, kwargs):
    """The number becomes a tensor; CaptureMode fills with it."""
    sized = function.__name__ == "full"
    names = ("size", "fill_value") if sized else ("self", "size", "fill_value")
    given = dict(zip(names, args), **kwargs)
    value = given.get("fill_value")
    if not isinstance(value, Carrier) or not sized or has_carriers((given.get("size"),)):
        return call_with_carriers(function, args, kwargs)
    if given.get("dtype") is None:
        of_number = torch.get_default_dtype() if isinstance(value, float) else torch.int64
        given["dtype"] = given["out"].dtype if given.get("out") is not None else of_number
    check_fits(value, given["dtype"])
    return function(given.pop("size"), _tensor_of(given.pop("fill_value")), **given)


def _filled(made, value):
    check_fits(value, made.dtype)
    return made.fill_(_tensor_of(value))


def _full_like(function, args, kwargs):
    given = dict(zip(("input", "fill_value"), args), **kwargs)
    value = given.pop("fill_value")
    return _filled(torch.empty_like(given.pop("input"), **given), value)


def _new_full(function, args, kwargs):
    given = dict(zip(("self", "size", "fill_value"), args), **kwargs)
    owner, value = given.pop("self"), given.pop("fill_value")
    return _filled(owner.new_empty(given.pop("size"), **given), value)


def _new_tensor(function, args, kwargs):
    given = dict(zip(("self", "data"), args), **kwargs)
    owner, data = given.pop("self"), given.pop("data")
    return torch.tensor(data, **{"dtype": owner.dtype, **given})


def _clamp(function, args, kwargs):
    """Both limits are tensors, or none is."""
    given = dict(zip(("input", "min", "max"), args), **kwargs)
    tensor = given.pop("input") if "input" in given else given.pop("self")

    def limit(value):
        if value is None or isinstance(value, torch.Tensor):
            return value
        wanted = type_with([tensor], value)
        check_fits(value, wanted)
        return torch.tensor(value, dtype=wanted)

    limits = {name: limit(given.pop(name)) for name in ("min", "max") if given.get(name) is not None}
    return function(tensor, **limits, **given)


def _scaled(function, args, kwargs):
    """a + alpha * b, where the product has the type of the sum."""
    alpha = kwargs.pop("alpha", None)
    if isinstance(alpha, Carrier):
        tensor, other = args
        check_fits(alpha, torch.result_type(tensor, other))
        other = other.to(torch.result_type(tensor, other)) if isinstance(other, torch.Tensor) else other
        args = (tensor, other * alpha)
    return call_with_carriers(function, args, kwargs)


def _roll(function, args, kwargs):
    """Shifts become indices."""
    given = dict(zip(("input", "shifts", "dims"), args), **kwargs)
    tensor, shifts, dims = given.get("input", given.get("self")), given["shifts"], given.get("dims")
    dims = () if dims is None else dims
    shifts, dims = (value if isinstance(value, (tuple, list)) else (value,) for value in (shifts, dims))
    if not dims:
        return _roll(function, (tensor.reshape(-1), shifts, (0,)), {}).reshape(tensor.shape)
    for shift, dim in zip(shifts, dims):
        size = tensor.shape[dim]
        places = (torch.arange(size) - torch.tensor(shift)).remainder(size)
        tensor = tensor.index_select(dim, places)
    return tensor


_NUMBER_CALLS = {"roll": _roll, "full": _full, "full_like": _full_like, "new_full": _new_full, "new_tensor": _new_tensor, "clamp": _clamp, "clamp_": _clamp, "clip": _clamp,
                 "add": _scaled, "add_": _scaled, "sub": _scaled, "sub_": _scaled}


# -------------------------------------------------------------------- signatures


def _signature(func, args, kwargs, result):
    given = tuple(_form(value, True) for value in (*args, *kwargs.values()))
    return func, tuple(kwargs), given, _form(result, False)


def _form(value, with_numbers):
    """What two runs of one program agree in: forms of tensors, numbers of the program."""
    if isinstance(value, torch.Tensor):
        return (value.dtype, *value.shape)
    if isinstance(value, Carrier):
        return _ANY_NUMBER
    if type(value) in (list, tuple, torch.Size):
        return tuple(_form(item, with_numbers) for item in value)
    if with_numbers and type(value) in (bool, int, float, str):
        return value
    return None


def _same(a, b):
    if a is _ANY_NUMBER or b is _ANY_NUMBER:
        return True
    if type(a) is tuple and type(b) is tuple:
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b))
    if type(a) is float and type(b) is float and math.isnan(a):
        return math.isnan(b)
    return a == b


# -------------------------------------------------------------------- the capture


def capture_following_numbers(request, run, eager, note):
    """The trace of `run` (the program as capture calls it), with its numbers followed where that makes no difference.

    `eager(mode)` runs the program in eager under a mode; `note(text)` tells the report."""
    try:
        return _following(request, run, eager, note, Numbers())
    except SelectionsMatter:
        run.forget()
        return _following(request, run, eager, note, Numbers(selects=False))


def _following(request, run, eager, note, numbers):
    error = None
    run.numbers = numbers
    try:
        trace = _tracer.capture(request)
        if not run.numbers.used:
            return trace
        log = EagerCalls()
        eager(log)
        if run.numbers.same_calls(log):
            return trace
    except SelectionsMatter:
        raise
    except Exception as raised:
        if run.interrupt is not None or not run.numbers.used:
            raise
        error = raised
    run.numbers = Numbers(followed=False, selects=False)
    run.forget()
    try:
        trace = _tracer.capture(request)
    except Exception as raised:
        raise raised from error
    note("numbers that leave the graph are fixed by guards: the program looks at their Python types"
         if error is None else f"numbers that leave the graph are fixed by guards: followed, the program fails ({error})")
    return trace
