"""How constants came about: the calls of torch that made a tensor without any input, in words for the report.

A call without a lazy operand runs as it is, and its result is an ordinary tensor (see modes.py). Where such a tensor meets lazy ones it becomes a constant
of the trace; with it goes the text of the calls, "tril(ones(5, 5))"."""

import json

import torch
from torch.utils.weak import WeakIdKeyDictionary

from lazyrt.record.tensors import tensors_in

_PLAIN = (int, float, bool, str, type(None), slice, type(Ellipsis), torch.dtype, torch.device, torch.layout, torch.memory_format)
_RANDOM = ("rand", "normal", "uniform", "bernoulli", "multinomial", "exponential", "dropout", "seed", "empty")
_MOST_DEPTH = 4  # of calls in a text


class _Unknown(Exception):
    """There is no recipe."""


class Recipes:
    """The recipes of the tensors of one run. `place()` returns the user's line."""

    def __init__(self, place):
        self._place = place
        self._made = WeakIdKeyDictionary()  # tensor -> ([text with calls down to a depth of 0, 1, ...], place)

    def note(self, func, args, kwargs, result, writes):
        """Remembers a call without lazy operands. One that writes has its target in front, or by name (`nn.init`)."""
        made = list(tensors_in((args or tuple(kwargs.values()))[:1] if writes else (result,)))
        try:
            recipe = self._texts(getattr(func, "__name__", ""), args, kwargs), self._place()
            for tensor in made:
                self._made[tensor] = recipe
        except _Unknown:
            for tensor in made:
                self._made.pop(tensor, None)

    def _texts(self, name, args, kwargs):
        if not name or any(word in name for word in _RANDOM):
            raise _Unknown
        texts = ["…"]
        for depth in range(_MOST_DEPTH):
            parts = [self._text(value, depth) for value in args] + [f"{key}={self._text(value, depth)}" for key, value in kwargs.items()]
            texts.append(f"{name}({', '.join(parts)})")
        return texts

    def _text(self, value, depth):
        if isinstance(value, torch.Tensor):
            known = self._made.get(value)
            if known is None:
                raise _Unknown
            return known[0][depth]
        if isinstance(value, (list, tuple)):
            return "(" + ", ".join(self._text(item, depth) for item in value) + ")"
        if not isinstance(value, _PLAIN):
            raise _Unknown
        return str(value).replace("torch.", "")

    def of(self, tensor):
        """JSON of the recipe, {"text", "file", "line"}, or ""."""
        known = self._made.get(tensor)
        if known is None:
            return ""
        texts, place = known
        return json.dumps({"text": texts[-1], "file": place["file"], "line": place["line"]})
