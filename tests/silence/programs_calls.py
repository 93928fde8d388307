"""The form of a call, its objects, what an input is beside its values, errors that are caught, and state in libraries."""

import functools
import gc
import inspect
import json
import logging
import math
import os
import random
import sys
import time
import warnings
import weakref

import numpy as np
import torch
import torch.nn.functional as F
from drawn_inputs import ids
from harness import Call, case
from torch import nn

X, Y = torch.tensor([1.0, 2.0, -3.0]), torch.tensor([4.0, 0.5, 6.0])
WRONG = ("refused", "failed")  # there is no right way

# -------------------------------------------------------------------- by position or by keyword


class Twice(nn.Module):
    def forward(self, x):
        return x + 1


@case(Call((X,)), [Call((Y,)), Call((), {"x": Y})])
def hook_before_forward_sees_positions():
    module = Twice()
    module.register_forward_pre_hook(lambda module, args: tuple(value * 2 for value in args))
    return module


@case(Call((X,)), [Call((Y,)), Call((), {"x": Y})])
def hook_before_forward_with_kwargs():
    module = Twice()
    module.register_forward_pre_hook(lambda module, args, kwargs: ((args[0] * 2,), kwargs) if args else (args, kwargs), with_kwargs=True)
    return module


@case(Call((X,)), [Call((Y,)), Call((), {"x": Y})])
def hook_after_forward_counts_arguments():
    module = Twice()
    module.register_forward_hook(lambda module, args, result: result * len(args))
    return module


def scaled(function):
    @functools.wraps(function)
    def wrapper(self, *args, **kwargs):
        return function(self, *[value * 10 for value in args], **kwargs)

    return wrapper


class Scaled(nn.Module):
    @scaled
    def forward(self, a, b):
        return a - b


@case(Call((X, Y)), [Call((Y, X)), Call((Y,), {"b": X}), Call((), {"a": Y, "b": X})])
def decorator_scales_positions():
    return Scaled()


@case(Call((X,), {"b": Y}), [Call((Y,), {"b": X}), Call((Y, X)), Call((), {"b": Y, "a": X})])
def decorator_scales_positions_given_by_keyword():
    return Scaled()


@case(Call((X, Y)), [Call((X, Y)), Call((), {"b": Y, "a": X}), Call((), {"a": Y, "b": X})])
def call_of_its_own_swaps():
    class Swapping(nn.Module):
        def forward(self, a, b):
            return a - 2 * b

        def __call__(self, b, a):
            return super().__call__(a, b)

    return Swapping()


@case(Call((X, Y)), [Call((Y, X)), Call((), {"b": X, "a": Y})])
def signature_that_lies():
    class Lying(nn.Module):
        def forward(self, *args, **kwargs):
            return args[0] - 2 * args[1] if args else kwargs["a"] * 7 - kwargs["b"]

    names = ("self", "a", "b")
    Lying.forward.__signature__ = inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names])
    return Lying()


def first_keyword(function):
    @functools.wraps(function)
    def wrapper(**kwargs):
        return function(**kwargs) * next(iter(kwargs.values()))

    return wrapper


@case(Call((), {"a": X, "b": Y}), [Call((), {"a": Y, "b": X}), Call((), {"b": Y, "a": X})])
def order_of_keywords():
    @first_keyword
    def program(a, b):
        return a - 3 * b

    return program


def notes_defaults(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) + ("scale" in kwargs)

    return wrapper


@case(Call((X,)), [Call((Y,)), Call((Y,), {"scale": 2.0})])
def default_that_is_given():
    @notes_defaults
    def program(x, scale=2.0):
        return x * scale

    return program


class WithScale(nn.Module):
    def forward(self, x, y, scale: float = 1.0, shift: float = 0.0):
        return x * scale + y + shift


BY_POSITION = [Call((Y, X)), Call((Y, X), {"scale": 1.0}), Call((Y, X, 1.0)), Call((Y, X, 1.0, 0.0))]


@case(Call((X, Y)), BY_POSITION, expect=("refused",))
def hook_before_forward_sees_a_default_by_position():
    module = WithScale()
    module.register_forward_pre_hook(lambda module, args: (args[0] * 2, *args[1:]) if len(args) == 3 else None)
    return module


@case(Call((X, Y)), BY_POSITION, expect=("refused",))
def hook_with_a_limit_far_away():
    module = WithScale()
    module.register_forward_hook(lambda module, args, result: result.clamp(max=100.0 if len(args) == 3 else 1e9))
    return module


@case(Call((X,)), [Call((X,)), Call((), {"x": Y})], expect=("refused",))
def hook_that_the_first_call_adds():
    class Adds(nn.Module):
        def forward(self, x):
            if not self._forward_hooks:
                self.register_forward_hook(lambda module, args, result: result * (1 + len(args)))
            return x + 1

    return Adds()


class Counts(nn.Module):
    def __call__(self, *args, **kwargs):
        return super().__call__(*args, **kwargs) * (2.0 if "y" in kwargs else 1.0)

    def forward(self, x, y):
        return x - y


@case(Call((X, Y)), [Call((Y, X)), Call((Y,), {"y": X})], expect=("refused",))
def call_of_its_own_counts():
    return Counts()


def reads_a_frame(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) * len(locals()["args"])

    return wrapper


@case(Call((X, Y)), [Call((Y, X)), Call((Y,), {"b": X})], expect=("refused",))
def decorator_that_asks_for_its_variables():
    return reads_a_frame(lambda a, b: a - b)


def hooked(hook, **options):
    module = WithScale()
    module.register_forward_hook(hook, **options)
    return module


OTHER_FORMS = [Call((X, Y)), Call((X,), {"y": Y}), Call((), {"y": Y, "x": X})]


@case(Call((X, Y)), OTHER_FORMS, expect=("refused",))
def hook_with_a_closure_over_its_arguments():
    def hook(module, args, result):
        count = lambda: len(args)  # noqa: E731
        return result * count()

    return hooked(hook)


@case(Call((X, Y)), OTHER_FORMS, expect=("refused",))
def hook_that_looks_into_its_caller():
    return hooked(lambda module, args, result: result * (1 + len(sys._getframe(1).f_locals.get("kwargs", {}))))


@case(Call((X, Y)), OTHER_FORMS, expect=("refused",))
def hook_of_any_arguments():
    return hooked(lambda *given: given[-1] * len(given[1]))


@case(Call((X, Y)), OTHER_FORMS, expect=("refused",))
def hook_that_is_a_partial():
    return hooked(functools.partial(lambda n, module, args, result: result * (n + len(args)), 1))


@case(Call((X, Y)), OTHER_FORMS, expect=("refused",))
def decorator_without_source():
    names = {"function": lambda x, y: x - y}
    exec("def wrapper(*args, **kwargs):\n    return function(*args, **kwargs) * (1 + len(kwargs))", names)
    return functools.wraps(names["function"])(names["wrapper"])


@case(Call((X, Y)), OTHER_FORMS, expect=("refused",))
def decorator_of_a_decorator_that_counts():
    def program(x, y):
        return x - y

    def counts(*args, **kwargs):
        return program(*args, **kwargs) * (1 + len(kwargs))

    @functools.wraps(program)
    def wrapper(*args, **kwargs):
        return counts(*args, **kwargs)

    return wrapper


@case(Call((X, Y)), OTHER_FORMS, expect=("refused",))
def attributes_of_its_own_making():
    class Counting(WithScale):
        def __getattribute__(self, name):
            if name != "_call_impl":
                return super().__getattribute__(name)
            return lambda *args, **kwargs: self.forward(*args, **kwargs) * (1 + len(kwargs))

    return Counting()


def swapped(function):
    """As another function says, which is not called."""
    def wrapper(*args, **kwargs):
        return (lambda b, a: b - 2 * a)(*args, **kwargs) if args is None else other(*args, **kwargs)

    def other(a, b):
        return a - 2 * b

    return functools.wraps(function)(wrapper)


@case(Call((X, Y)), [Call((Y, X)), Call((), {"a": X, "b": Y})], expect=("refused",))
def decorator_of_another_function():
    return swapped(lambda b, a: b + a)


ALL_FORMS = [Call((X, Y)), Call((Y,), {"y": X}), Call((), {"y": X, "x": Y}), Call((Y, X, 1.0)), Call((Y, X), {"shift": 0.0, "scale": 1.0})]


@case(Call((X, Y)), ALL_FORMS, expect=("right",))
def hooks_that_do_not_look_at_arguments():
    module, seen = WithScale(), {}

    def keep(name, module, args, result):
        seen[name] = torch.stack([result.detach()])

    class Watches:
        def __call__(self, module, args):
            seen["calls"] = module

    module.register_forward_hook(functools.partial(keep, "all"))
    module.register_forward_hook(lambda module, args, kwargs, result: result * 2, with_kwargs=True)
    module.register_forward_pre_hook(Watches())
    return module


def timed(function):
    @functools.wraps(function)
    def wrapper(self, *args, **kwargs):
        start = time.perf_counter()
        try:
            return function(self, *args, **kwargs)
        finally:
            logging.debug("%s: %g s", self, time.perf_counter() - start)

    return wrapper


class Wrapped(WithScale):
    @timed
    @torch.no_grad()
    def forward(self, x, y, scale: float = 1.0, shift: float = 0.0):
        return super().forward(x, y, scale, shift) * 3

    def __call__(self, *args, **kwargs):
        return super().__call__(*args, **kwargs) + 1


@case(Call((X, Y)), ALL_FORMS, expect=("right",))
def decorators_and_a_call_that_pass_on():
    return Wrapped()


@case(Call((X, Y)), ALL_FORMS, expect=("right",))
def partial_of_a_method():
    return functools.partial(WithScale().forward)


@case(Call((X, Y)), [Call((X, Y)), Call((Y,), {"y": X}), Call((), {"y": X, "x": Y})], expect=("right",))
def scripted_by_any_form():
    return torch.jit.script(WithScale())


@case(Call((X, Y)), [Call((Y, X)), Call((Y,), {"b": X}), Call((), {"b": X, "a": Y})], expect=("right",))
def decorator_that_only_passes_on():
    @torch.no_grad()
    def program(a, b, scale=2.0):
        return a - scale * b

    return program


# -------------------------------------------------------------------- one object again: eager differs, bundles cannot tell


class Last(nn.Module):
    last = None

    def forward(self, x):
        again, self.last = x is self.last, x
        return x * 5 if again else x + 1


@case(Call((X,)), [Call((Y,))], expect=("failed",))
def compares_with_the_last_object():
    return Last()


@case(Call((X,)), [Call((Y,))], expect=("failed",))
def refers_weakly_to_the_last_object():
    class Weak(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = None

        def __deepcopy__(self, memo):
            return Weak()

        def forward(self, x):
            again = self.last is not None and self.last() is x
            self.last = weakref.ref(x)
            return x * 5 if again else x + 1

    return Weak()


@case(Call((X,)), [Call((Y,))], expect=("failed",))
def marks_its_input():
    def program(x):
        if hasattr(x, "seen"):
            return x * 5
        x.seen = True
        return x + 1

    return program


@case(Call((np.ones(3, "f4"),)), [Call((np.full(3, 2, "f4"),))], expect=("failed",))
def compares_with_the_last_array():
    return Last()


@case(Call((X,)), [Call((Y,)), Call((X,))], expect=("right",))
def keeps_the_last_values():
    class Difference(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = torch.zeros(3)

        def forward(self, x):
            last, self.last = self.last, x
            return x - last

    return Difference()


# -------------------------------------------------------------------- beside the values


def in_inference_mode():
    with torch.inference_mode():
        return X.clone()


def with_gradient():
    made = X.clone()
    made.grad = Y
    return made


INPUTS = {
    "gradient": (with_gradient, lambda x: x if x.grad is None else x + x.grad * 10),
    "inference_mode": (in_inference_mode, lambda x: x * 5 if x.is_inference() else x + 1),
    "shared_memory": (lambda: X.clone().share_memory_(), lambda x: x * 5 if x.is_shared() else x + 1),
    "negative_view": (lambda: torch._neg_view(X.clone()), lambda x: x * 5 if x.is_neg() else x + 1),
    "view": (lambda: torch.stack([X, Y])[0], lambda x: x * 5 if x._base is not None else x + 1),
}


class Copied:
    """An input that keeps what it is in a copy."""

    def __init__(self, make):
        self.make = make

    def __deepcopy__(self, memo):
        return self.make()


for _name, (_make, _program) in INPUTS.items():
    def _asks(program=_program):
        return program

    _asks.__name__ = f"asks_for_{_name}"
    case(Call((X,)), [Call((Y,)), Call((Copied(_make),))])(_asks)


@case(Call((X,)), [Call((Copied(lambda: torch._neg_view(X.clone())),)), Call((Copied(lambda: torch._efficientzerotensor(3)),)), Call((X.to_sparse(),))])
def inputs_of_other_kinds():
    return lambda x: x.to_dense() * 2 + 1 if x.is_sparse else x * 2 + 1


@case(Call((X,)), [Call((Y,))], expect=("failed",))
def count_of_writes():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = torch.zeros(2)

        def forward(self, x):
            self.kept.add_(0)
            return x * (2 if self.kept._version > 40 else 3)

    return Counting()


@case(Call((X,)), [Call((Y,))] * 3)
def tensor_that_grows_in_place():
    class Growing(nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = torch.zeros(4)

        def forward(self, x):
            self.kept.resize_(self.kept.numel() + 1)
            return x * (2 if self.kept.numel() > 40 else 3)

    return Growing()


# -------------------------------------------------------------------- errors that the program catches


def caught(function):
    def program(*args):
        try:
            return function(*args)
        except (RuntimeError, IndexError):
            return args[0] * 0 - 7

    return program


@case(Call((X, ids(0, 1))), [Call((Y, ids(0, 2))), Call((Y, ids(-1, 0)))])
def index_select_below_zero():
    return caught(lambda x, index: x.index_select(0, index).sum() + x)


@case(Call((ids(0, 1),)), [Call((ids(2, 2),)), Call((ids(-1, 1),))])
def embedding_below_zero():
    return caught(lambda index: F.embedding(index, torch.tensor([[1.0], [2.0], [3.0]]), padding_idx=0)[:, 0])


@case(Call((ids(1, 2),)), [Call((ids(2, 1),)), Call((ids(-1, 4),)), Call((ids(4, -1),))])
def repeats_below_zero():
    return caught(lambda repeats: torch.repeat_interleave(torch.tensor([1.0, 2.0]), repeats))


@case(Call((X, torch.tensor(0.5))), [Call((Y, torch.tensor(0.25))), *(Call((X, torch.tensor(q))) for q in (-0.1, 1.1, math.nan))])
def quantile_outside():
    return caught(lambda x, q: x + torch.quantile(x, q))


@case(Call((X, torch.tensor(0.5))), [Call((Y, torch.tensor(0.25)))], expect=("right",))
def quantile_of_an_input():
    return lambda x, q: x + torch.quantile(x, q)


# -------------------------------------------------------------------- state that libraries hold: no call but the fiftieth tells


def count_on(owner):
    owner.lazyrt_test = getattr(owner, "lazyrt_test", 0) + 1
    return owner.lazyrt_test


def count_in(values):
    values.append("lazyrt")
    return values.count("lazyrt")


def count_in_encoder():
    json._default_encoder.indent = (json._default_encoder.indent or 0) + 1
    return json._default_encoder.indent


def count_by_level():
    logger = logging.getLogger("lazyrt_test")
    logger.setLevel(logger.level + 1)
    return logger.level


def count_by_limit():
    sys.setrecursionlimit(sys.getrecursionlimit() + 1)
    return sys.getrecursionlimit() - 1000


def count_by_threshold():
    gc.set_threshold(gc.get_threshold()[0] + 1, *gc.get_threshold()[1:])
    return gc.get_threshold()[0] - 700


def count_by_precision():
    torch.set_printoptions(precision=torch._tensor_str.PRINT_OPTS.precision + 1)
    return torch._tensor_str.PRINT_OPTS.precision


def count_in_environment():
    os.environ["LAZYRT_TEST"] = os.environ.get("LAZYRT_TEST", "") + "a"
    return len(os.environ["LAZYRT_TEST"])


def count_by_filters():
    warnings.filters.append(("ignore", None, UserWarning, None, 0))
    return len(warnings.filters)


LIBRARIES = {
    "math": lambda: count_on(math), "torch": lambda: count_on(torch), "numpy": lambda: count_on(np), "class": lambda: count_on(nn.Linear),
    "tensor": lambda: count_on(torch.Tensor), "function": lambda: count_on(F.relu), "path": lambda: count_in(sys.path),
    "encoder": count_in_encoder, "logger": count_by_level, "recursion": count_by_limit, "collector": count_by_threshold,
    "printoptions": count_by_precision, "environment": count_in_environment, "filters": count_by_filters,
}

for _name, _count in LIBRARIES.items():
    def _counts(count=_count):
        return lambda x: x * (2 if count() > 50 else 3)

    _counts.__name__ = f"counts_in_{_name}"
    case(Call((X,)), [Call((X * (i + 1),)) for i in range(60)])(_counts)


@case(Call((X,)), [Call((Y,))] * 100, expect=WRONG)
def seldom_number_of_python():
    return lambda x: x * (2 if random.random() > 0.98 else 3)


@case(Call((X,)), [Call((Y,))] * 3, expect=("right",))
def number_of_python_that_reaches_nothing():
    def program(x):
        random.random()
        return x * 2

    return program


class Compiled(nn.Module):
    """torch.compile keeps variants of its own; the bundle is of the program that it was given."""

    def __init__(self):
        super().__init__()
        self.register_buffer("level", torch.zeros(3))
        self.warm = 0
        self.step = torch.compile(self.plain_step, backend="eager")

    def plain_step(self, x, rate):
        self.level.lerp_(x, rate)
        return x - self.level

    def forward(self, x):
        self.warm = min(self.warm + 1, 3)
        return self.step(x, 1.0 / self.warm)


@case(X, [X, Y, X, Y, X * 3, Y], expect=("right",))
def compiled_in_part():
    return Compiled()


@case(X, [X, Y, X], expect=("right",))
def compiled_module():
    return torch.compile(nn.Sequential(nn.Linear(3, 3), nn.ReLU()).eval(), backend="eager")
