"""What the module itself gives, for the check after an export: its results by name, and how they are nested."""

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
    """Calls the module on its own tensors and on clones of the inputs. Between calls without `reset` it keeps what it has become; whoever exports puts it back.
    `names` are those of the results in the bundle's order, `descriptions` theirs; several where samples gave other constants."""

    def __init__(self, capture, sample, names, descriptions):
        self.sources = capture.sources
        self._eager, self._phases = capture.eager, capture.phases
        self._sample, self._names, self._descriptions = sample, names, descriptions
        self._numbers, self._has_begun = None, False

    def __call__(self, inputs, reset):
        """(results in the order of the bundle's, what differs in their structure or "")"""
        if reset or not self._has_begun:
            self._eager.begin()
            self._has_begun = True
        return self._values(self._eager.next_call(self._sample, inputs))

    def numbers(self):
        """Whole numbers with which the program may compare sizes, in groups, the likeliest first."""
        return [sorted(group) for group in self._held().groups]

    def together(self):
        """Tuples of such numbers that stand in one place."""
        return sorted(map(list, self._held().together))

    def _held(self):
        if self._numbers is None:
            self._numbers = numbers_held(self._phases.first.snapshot.holdings())
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
            values = [_output(found[name]) for name in self._names]
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
        self._has_begun = False
        with self._eager.in_a_row():
            for inputs in calls[:-1]:
                self._eager.next_call(self._sample, inputs)
            recorder = _Recorder(self.sources, self._eager.program.registered().values())
            self._eager.next_call(self._sample, calls[-1], recorder)
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


def _output(value):
    """A tensor of its own, since a later call may write into what this one returned; a number stays one."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    return value if value is None or type(value) in _NUMBERS else torch.as_tensor(value).clone()


def structure_difference(ours, eager, path=""):
    """How the loaded bundle's result is nested or typed otherwise than the module's; "" where it is not."""
    where = f"the result's '{path}'" if path else "the result"
    (kind, mine), (wanted, items) = _opened(ours), _opened(eager)
    if kind != wanted or list(mine) != list(items):
        return f"{where} is {_text(ours)}, the module's {_text(eager)}"
    differences = (structure_difference(mine[key], items[key], f"{path}.{key}" if path else str(key)) for key in items)
    return next((text for text in differences if text), "")


def _opened(value):
    """(what it is, {key: item} of what it holds)"""
    if isinstance(value, trees.Record):
        return "object", value._fields
    node = None if isinstance(value, (torch.Tensor, numpy.ndarray, numpy.generic)) else trees.open_node(value, "", False)
    if node is not None:
        return node.kind, dict(zip(node.keys, node.items))
    if isinstance(value, float) and type(value) is float:
        return "float", {}
    return _text(value) if value is None or isinstance(value, (torch.Tensor, numpy.ndarray, numpy.generic)) or type(value) in (*_NUMBERS, str) else "", {}


def _text(value):
    if isinstance(value, numpy.generic):
        return f"a number of NumPy, {value.dtype}"
    if isinstance(value, (torch.Tensor, numpy.ndarray)):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if value is None or type(value) in (*_NUMBERS, str):
        return repr(value)
    kind, items = _opened(value)
    return f"a {type(value).__name__} of {list(items)}" if kind else f"a {type(value).__name__}"
