"""The results of the module itself, by name, and how they are nested: for the check after an export."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from lazyrt.bundles import fixed, trees
from lazyrt.sizes.size_numbers import numbers_held

_NUMBERS = (bool, int, float)


def level_name(check):
    """Returns "none", "sample" or "full" for a caller's `check`."""
    level = {True: "full", False: "none"}.get(check, check) if isinstance(check, (bool, str)) else check
    if level not in ("none", "sample", "full"):
        raise ValueError(f"check has to be 'none', 'sample' or 'full', not {check!r}")
    return level


class Reference:
    """Calls the module on its own tensors and on clones of the inputs. A call without `reset` begins in the state after the last one; the exporter
    restores it at the end. `names` are those of the results in the bundle's order; `descriptions` of the results are several if samples have other constants."""

    def __init__(self, capture, sample, names, descriptions):
        self.sources = capture.sources
        self._eager, self._phases = capture.eager, capture.phases
        self._sample, self._names, self._descriptions = sample, names, descriptions

    def __call__(self, inputs, reset):
        """Returns (results in the bundle's order, what differs in their structure or "")."""
        if reset or not self._eager.is_begun:
            self._eager.begin()
        return self._values(self._eager.next_call(self._sample, inputs))

    def numbers(self):
        """Whole numbers with which the program may compare sizes: [those in its code, those that it holds]."""
        return list(map(sorted, numbers_held(self._phases.first.snapshot.holdings())))

    def _values(self, result):
        difference = ""
        for index, description in enumerate(self._descriptions):
            found = {}
            try:
                trees.match(_with_numbers_open(description), result, found)
            except trees.Mismatch as other:
                difference = difference or mismatch_text(other)
                continue
            values = [_output(found[name]) for name in self._names]
            return values + ([index] if len(self._descriptions) > 1 else []), ""
        return [], difference

    def explain(self, calls):
        """Returns a sentence about the first operator at which the last of these calls differs from a first call on the example, or ""."""
        first = self._record([[tensor for _, tensor in self._sample.inputs]])
        last = self._record(calls)
        for seen, now in zip(first, last):
            if seen[:2] != now[:2]:
                return f"Eager differs from its first call on the example at {_call_text(seen)}, now {_call_text(now)}"
        if len(first) != len(last):
            longer, when = (first, "no longer") if len(first) > len(last) else (last, "not")
            return f"Eager differs from its first call on the example at {_call_text(longer[min(len(first), len(last))])}, {when} made there"
        return ""

    def _record(self, calls):
        """[(operator, arguments, place)] of the last of these calls."""
        with self._eager.in_a_row():
            for inputs in calls[:-1]:
                self._eager.next_call(self._sample, inputs)
            recorder = _Recorder(self.sources, self._eager.program.registered().values())
            self._eager.next_call(self._sample, calls[-1], recorder)
        return recorder.calls


class _Recorder(TorchDispatchMode):
    """Records each operator with its numbers, constants and place."""

    def __init__(self, sources, known):
        super().__init__()
        self.calls = []
        self._sources = sources
        self._known = {id(tensor): tensor for tensor in known}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        arguments = [self._describe(item) for item in (*args, *kwargs.values())]
        result = func(*args, **kwargs)
        for tensor in result if isinstance(result, (tuple, list)) else [result]:
            self._known[id(tensor)] = tensor  # kept, so that its id stays unique
        place = self._sources.current()
        self.calls.append((str(func), arguments, f"{place['file']}:{place['line']}" if place["file"] else ""))
        return result

    def _describe(self, item):
        if isinstance(item, (tuple, list)):
            return [self._describe(child) for child in item]
        if not isinstance(item, torch.Tensor):
            return repr(item)
        kind = f"{item.dtype}{list(item.shape)}"
        if id(item) in self._known:
            return kind
        return f"{kind} of sum {item.double().sum().item():.9g}"


def _call_text(call):
    name, arguments, place = call
    return f"{name}({', '.join(map(str, arguments))})" + (f" at {place}" if place else "")


def _with_numbers_open(description):
    """The description with its numbers, which each variant has as results, turned into tensors, so that match() collects them."""
    if description["kind"] == "value" and "name" in description:
        return {"kind": "tensor", "name": description["name"]}
    if "items" not in description:
        return description
    return {**description, "items": [_with_numbers_open(item) for item in description["items"]]}


def _output(value):
    """A tensor of its own, since a later call may write into what this one returned; a number stays one."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    return value if value is None or type(value) in _NUMBERS else torch.as_tensor(value).clone()


def mismatch_text(other):
    """The text of a Mismatch of a result."""
    return other.text or f"'{other.path or 'result'}' is {other.was} in the capture and {fixed.short_repr(other.value)} in eager"
