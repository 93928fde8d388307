"""What the module itself gives, for the check after an export: its results by name, and how they are nested."""

import dataclasses

import numpy
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from lazyrt import trees
from lazyrt.size_numbers import numbers_held

_NUMBERS = (bool, int, float)


def level_name(check):
    """"none", "sample" or "full" of what a caller gives for `check`."""
    level = {True: "full", False: "none"}.get(check, check) if isinstance(check, (bool, str)) else check
    if level not in ("none", "sample", "full"):
        raise ValueError(f"check has to be 'none', 'sample' or 'full', not {check!r}")
    return level


class Reference:
    """Calls the module on its own tensors and on clones of the inputs. Between calls without `reset` it keeps what it has become; `export` puts it back."""

    def __init__(self, job, sample, run, descriptions):
        self._job, self._sample = job, sample
        self.sources = job.sources
        self._entries = run.entries
        self._descriptions = descriptions  # of the results; several where samples gave other constants
        self._numbers = None

    def __call__(self, inputs, reset):
        """(results in the order of the bundle's, what differs in their structure or "")"""
        if reset or self._job.lent is None:
            self._job.lend_buffers()
        self._job.arguments.restore()  # a cache that the last call has filled is given anew
        return self._values(self._job.call_eagerly(self._sample, _clones(inputs), self._job.lent))

    def numbers(self):
        """Whole numbers with which the program may compare sizes, in groups, the likeliest first."""
        return [sorted(self._held().written), sorted(self._held().held)]

    def together(self):
        """Tuples of such numbers that stand in one place."""
        return sorted(map(list, self._held().together))

    def _held(self):
        if self._numbers is None:
            self._numbers = numbers_held(self._job.state.first.picture.holdings())
        return self._numbers

    def _values(self, result):
        difference = ""
        for index, description in enumerate(self._descriptions):
            found = {}
            try:
                trees.collect(_with_numbers_open(description), result, found)
            except ValueError as error:
                difference = difference or str(error)
                continue
            values = [_output(found[name]) for name, _ in self._entries]
            return values + ([index] if len(self._descriptions) > 1 else []), ""
        return [], difference

    def explain(self, calls):
        """Where the last of these calls parts from a first call on the example, in words; "" where it does not."""
        first = self._record([[tensor for _, tensor in self._sample.inputs]])
        last = self._record(calls)
        for seen, now in zip(first, last):
            if seen[:2] != now[:2]:
                return f"Eager parts from its first call on the example at {_call_text(seen)}, now {_call_text(now)}"
        if len(first) != len(last):
            longer, when = (first, "no longer") if len(first) > len(last) else (last, "not")
            return f"Eager parts from its first call on the example at {_call_text(longer[min(len(first), len(last))])}, {when} made there"
        return ""

    def _record(self, calls):
        """(operator, arguments, place) of all that the last of the calls does."""
        buffers = self._job.fresh_buffers()
        for inputs in calls[:-1]:
            self._job.call_eagerly(self._sample, _clones(inputs), buffers)
            self._job.arguments.restore()
        last = _clones(calls[-1])
        known = [*last, *self._job.program.parameters().values(), *buffers.values()]
        with _Recorder(self._job.sources, known) as recorder:
            self._job.call_eagerly(self._sample, last, buffers)
        return recorder.calls


class _Recorder(TorchDispatchMode):
    """What is computed, and from which numbers and constants."""

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
            self._known[id(tensor)] = tensor  # kept, so that no other has its id
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
    """The description with its numbers, which are results of each variant, to be collected as tensors are."""
    if description["kind"] == "value" and "name" in description:
        return {"kind": "tensor", "name": description["name"]}
    if "items" not in description:
        return description
    return {**description, "items": [_with_numbers_open(item) for item in description["items"]]}


def _clones(tensors):
    return [tensor.detach().clone() for tensor in tensors]


def _output(value):
    """A tensor of its own, since a later call may write into what this one returned; a number stays one."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    return value if value is None or type(value) in _NUMBERS else torch.as_tensor(value).clone()


def _kind_of(value):
    if isinstance(value, torch.Tensor):
        return "a tensor"
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, dict):
        return f"a {type(value).__name__} of {list(value.keys())}"
    return repr(value) if value is None or isinstance(value, (*_NUMBERS, str)) else f"a {type(value).__name__}"


def structure_difference(ours, eager, path=""):
    """How the loaded bundle's result is nested or typed otherwise than the module's; "" where it is not."""
    where = f"the result's '{path}'" if path else "the result"
    if isinstance(eager, numpy.generic) != isinstance(ours, numpy.generic):
        return f"{where} is {_kind_of(ours)}, the module's {_kind_of(eager)}"
    if isinstance(eager, torch.Tensor):
        if not hasattr(ours, "shape"):
            return f"{where} is {_kind_of(ours)}, the module's a tensor"
        same = tuple(ours.shape) == tuple(eager.shape) and (not isinstance(ours, torch.Tensor) or ours.dtype == eager.dtype)
        return "" if same else f"{where} is {_tensor_text(ours)}, the module's {_tensor_text(eager)}"
    if eager is None or type(eager) in (*_NUMBERS, str):
        same = type(ours) is type(eager) and (ours == eager or isinstance(eager, float))
        return "" if same else f"{where} is {ours!r}, the module's {eager!r}"
    if isinstance(ours, trees.Record):
        return _record_difference(ours, eager, path)
    if isinstance(eager, (tuple, list)):
        if not isinstance(ours, tuple if isinstance(eager, tuple) else list) or len(ours) != len(eager):
            return f"{where} is {_kind_of(ours)}, the module's {_kind_of(eager)}"
        return _first(structure_difference(a, b, f"{path}.{i}" if path else str(i)) for i, (a, b) in enumerate(zip(ours, eager)))
    if isinstance(eager, dict) and isinstance(ours, dict):
        if list(ours) != list(eager):
            return f"{where} has the keys {list(ours)}, the module's {list(eager)}"
        return _first(structure_difference(ours[k], eager[k], f"{path}.{k}" if path else str(k)) for k in ours)
    return ""


def _record_difference(ours, eager, path):
    fields = list(ours._fields)  # .keys may be one of them
    if dataclasses.is_dataclass(eager):
        given = [f.name for f in dataclasses.fields(eager) if getattr(eager, f.name, None) is not None]
        if given != fields:
            return f"the result{path and f's {path!r}'} has the fields {fields}, the module's {given}"
    return _first(structure_difference(ours._fields[k], getattr(eager, k), f"{path}.{k}" if path else k) for k in fields if hasattr(eager, k))


def _first(differences):
    return next((text for text in differences if text), "")


def _tensor_text(tensor):
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"
