"""What a program makes of the form of its call: an argument by position or by keyword, keywords in another order, a default that is given.

Python hides that from a plain function. Hooks, decorators and a __call__ of one's own may see it, so eager is run in the other forms;
where one makes a difference, the bundle takes the example's form alone."""

import inspect
import itertools
import time
import types

import torch

from lazyrt.arguments import bind

_Parameter = inspect.Parameter
_FEW = 6  # forms that are always tried
_MOST_SECONDS = 1.0  # for the others: where that is not enough, there is the example's form alone


def examine(target, example, run):
    """{"form", "left_out"} for the interface (see contract.py), nothing of what makes no difference. `run(arrange)` calls eager with what
    arrange(args, kwargs) makes of the example's, or with those, and gives what was Seen; it leaves no trace."""
    if _is_plain(target):
        return {}
    expected = run(None)

    def matters(form):
        try:
            return not run(lambda args, kwargs: form.arrange(bind(target, args, kwargs))).same(expected)
        except Exception:  # eager does not take it so
            return True

    bound = bind(target, example.args, example.kwargs)
    found = {}
    if _any_matters(matters, _other_forms(bound, example)):
        found["form"] = {"positional": len(example.args), "keywords": list(example.kwargs)}
    left_out = [p.name for p, _, is_given in bound if not is_given]
    if left_out and "form" not in found and _any_matters(matters, _given_defaults(left_out)):
        found["left_out"] = left_out
    return found


def _any_matters(matters, forms):
    """True also where it would take too long to try them all."""
    start = time.perf_counter()
    for i, form in enumerate(forms):
        if i >= _FEW and time.perf_counter() - start > _MOST_SECONDS or matters(form):
            return True
    return False


class _Form:
    """A way to give arguments: `count` of those that may come by position do, the others by keyword."""

    def __init__(self, count, reverse=False, defaults=()):
        """`defaults`: the names of those that are given, too."""
        self._count, self._reverse, self._defaults = count, reverse, defaults

    def arrange(self, bound):
        """(args, kwargs) of what arguments.bind gives."""
        args, named, free = [], {}, 0
        has_more = any(p.kind is _Parameter.VAR_POSITIONAL and value for p, value, _ in bound)
        for parameter, value, is_given in bound:
            if parameter.kind is _Parameter.VAR_POSITIONAL:
                args += value
            elif parameter.kind is _Parameter.VAR_KEYWORD:
                named.update(value)
            elif not is_given and parameter.name not in self._defaults:
                free = self._count  # those behind it have to be named
            elif parameter.kind is _Parameter.POSITIONAL_ONLY:
                args.append(value)
            elif parameter.kind is _Parameter.POSITIONAL_OR_KEYWORD and (has_more or free < self._count):
                args.append(value)
                free += 1
            else:
                named[parameter.name] = value
        return tuple(args), dict(reversed(named.items())) if self._reverse else named


def _given_defaults(left_out):
    """Forms that give all of them, then fewer."""
    for count in range(len(left_out), 0, -1):
        yield from (_Form(0, defaults=names) for names in itertools.combinations(left_out, count))


def _other_forms(bound, example):
    most = sum(1 for p, _, is_given in bound if is_given and p.kind is _Parameter.POSITIONAL_OR_KEYWORD)
    known = [(len(example.args), list(example.kwargs))]
    for form in [*(_Form(count) for count in range(most + 1)), _Form(0, reverse=True)]:
        args, kwargs = form.arrange(bound)
        shape = (len(args), list(kwargs))
        if shape not in known:
            known.append(shape)
            yield form


def _is_plain(target):
    """Whether Python itself matches all arguments with the parameters of the program's own function."""
    if isinstance(target, torch.nn.Module):
        kind = type(target)
        known = torch.nn.Module
        hooked = target._forward_hooks or target._forward_pre_hooks or _has_global_hooks()
        called = kind.__call__ is known.__call__ and kind._call_impl is known._call_impl and target._compiled_call_impl is None
        return called and not hooked and _is_plain_function(target.forward)
    if isinstance(target, (types.FunctionType, types.MethodType)):
        return _is_plain_function(target)
    described = {"__wrapped__", "__signature__"} & set(getattr(target, "__dict__", ()))  # by another's signature
    return not described and _is_plain_function(getattr(type(target), "__call__", None))


def _has_global_hooks():
    module = torch.nn.modules.module
    return bool(module._global_forward_hooks or module._global_forward_pre_hooks)


def _is_plain_function(function):
    function = getattr(function, "__func__", function)
    return type(function) is types.FunctionType and not {"__wrapped__", "__signature__"} & set(vars(function))
