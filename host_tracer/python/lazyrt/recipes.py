"""How constants came about: the calls of torch that made a tensor without any input.

A call without a lazy operand runs as it is, and its result is an ordinary tensor (see modes.py). Where such a tensor meets lazy
ones it becomes a constant of the trace; with it goes its recipe, if the calls, done again, give the same bytes."""

import functools
import json
import math

import torch
from torch.overrides import resolve_name
from torch.utils.weak import WeakIdKeyDictionary

from lazyrt.memory import bytes_of

_MAX_CALLS = 64
_MAX_ELEMENTS = 1 << 24
_PLAIN = (int, float, bool, str, type(None), slice, type(Ellipsis), torch.dtype, torch.device, torch.layout, torch.memory_format)
_RANDOM = ("rand", "normal", "uniform", "bernoulli", "multinomial", "exponential", "dropout", "seed", "empty")


class Unknown(Exception):
    """There is no recipe."""


class _Call:
    """One call. `result`: the place of the tensor in what the function returns; -1: the first argument, which it writes."""

    def __init__(self, func, name, args, kwargs, result, place):
        self.func, self.name, self.args, self.kwargs, self.result, self.place = func, name, args, kwargs, result, place
        self.size = 1 + sum(call.size for call in _calls_in((args, kwargs)))


class Recipes:
    """The recipes of the tensors of one run. `place()` tells the user's line."""

    def __init__(self, place):
        self._place = place
        self._made = WeakIdKeyDictionary()

    def note(self, func, args, kwargs, result, writes):
        """Remembers a call without lazy operands. One that writes has its target in front, or by name (`nn.init`)."""
        made = _tensors_in((args or tuple(kwargs.values()))[:1] if writes else result)
        try:
            for i, tensor in enumerate(made):
                self._made[tensor] = self._call(func, args, kwargs, -1 if writes else i)
        except Unknown:
            for tensor in made:
                self._made.pop(tensor, None)

    def _call(self, func, args, kwargs, result):
        name = _name_of(func)
        if name is None or any(word in name for word in _RANDOM) or result < 0 and not args:
            raise Unknown
        call = _Call(func, name, _map(args, self._known), _map(kwargs, self._known), result, self._place())
        if call.size > _MAX_CALLS:
            raise Unknown
        return call

    def _known(self, tensor):
        call = self._made.get(tensor)
        if call is None:
            raise Unknown
        return call

    def of(self, tensor):
        """JSON of the recipe, or "": {"text", "file", "line", "calls": [{"call", "args", "kwargs", "result"}]}. A tensor among the
        arguments is {"call": its place in the list}."""
        call = self._made.get(tensor)
        if call is None or tensor.numel() > _MAX_ELEMENTS:
            return ""
        try:
            again = _again(call, {})
        except Exception:  # whatever a call raises that went well before: it depends on something else
            return ""
        same = again.dtype == tensor.dtype and again.shape == tensor.shape and torch.equal(bytes_of(again), bytes_of(tensor))
        return json.dumps(_described(call)) if same else ""


def _name_of(func):
    """As a path from torch: "torch.Tensor.triu"; None for what has none."""
    name = getattr(func, "__name__", "")
    for path, owner in (("torch.Tensor", torch.Tensor), ("torch", torch)):  # also what following.py stands in for, and factories
        known = getattr(owner, name, None)
        if getattr(known, "takes_carriers", known) is func:
            return f"{path}.{name}"
    return resolve_name(func)


def _again(call, done):
    if id(call) not in done:
        args, kwargs = (_map(part, lambda inner: _again(inner, done), _Call) for part in (call.args, call.kwargs))
        if call.result < 0:
            args = (args[0].clone(), *args[1:])
        result = call.func(*args, **kwargs)
        done[id(call)] = args[0] if call.result < 0 else _tensors_in(result)[call.result]
    return done[id(call)]


def _flat(value):
    return [inner for item in value for inner in _flat(item)] if isinstance(value, (list, tuple)) else [value]


def _tensors_in(value):
    return [item for item in _flat(value) if isinstance(item, torch.Tensor)]


def _calls_in(value):
    if isinstance(value, _Call):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _calls_in(item)
    elif isinstance(value, dict):
        yield from _calls_in(list(value.values()))


def _map(value, fn, kind=torch.Tensor):
    if isinstance(value, kind):
        return fn(value)
    if isinstance(value, (list, tuple)):
        return tuple(_map(item, fn, kind) for item in value)
    if isinstance(value, dict):
        return {key: _map(item, fn, kind) for key, item in value.items()}
    if isinstance(value, _PLAIN):
        return value
    raise Unknown


# -------------------------------------------------------------------- in words


def _described(call):
    order = {}
    _number(call, order)
    calls = [{"call": one.name, "args": _as_json(one.args, order), "kwargs": _as_json(one.kwargs, order), "result": one.result}
             for one in order]
    return {"text": _text(call), "file": call.place["file"], "line": call.place["line"], "calls": calls}


def _number(call, order):
    for inner in _calls_in((call.args, call.kwargs)):
        _number(inner, order)
    order.setdefault(call, len(order))


def _as_json(value, order):
    if isinstance(value, _Call):
        return {"call": list(order).index(value)}
    if isinstance(value, dict):
        return {key: _as_json(item, order) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_as_json(item, order) for item in value]
    if isinstance(value, slice):
        return {"slice": [value.start, value.stop, value.step]}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    return value if isinstance(value, (int, float, str, type(None))) else {"value": str(value)}


def _text(call, depth=4):
    if depth == 0:
        return "…"
    item = functools.partial(_item_text, depth=depth)
    parts = [item(value) for value in call.args] + [f"{key}={item(value)}" for key, value in call.kwargs.items()]
    return f"{call.name.rpartition('.')[2]}({', '.join(parts)})"


def _item_text(value, depth):
    if isinstance(value, _Call):
        return _text(value, depth - 1)
    if isinstance(value, tuple):
        return "(" + ", ".join(_item_text(item, depth) for item in value) + ")"
    return str(value).replace("torch.", "")
