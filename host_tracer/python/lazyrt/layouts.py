"""What a program makes of how its inputs lie in memory: one tensor given twice, memory that is shared, strides, gradients.

The capture sees separate, contiguous tensors. Here eager is run on the example's own values, once so and once otherwise; what makes
a difference is an assumption that lazyrt.load's programs check, or fails the export where the example itself does not meet it."""

import itertools

import numpy
import torch

from lazyrt import trees
from lazyrt.errors import ExportError
from lazyrt.spent_time import SpentTime

_ALL_WAYS = 5  # inputs of one form of which all ways are tried to give one tensor several times
_FEW = 6  # ways that are always tried
_MOST_SECONDS = 1.0  # for the others: where that is not enough, up to so many inputs have to be distinct
_MANY = 8


def examine(example, run, asks=False):
    """({"contiguous", "whole", "detached", "distinct", "written"}: names of inputs for the interface, what eager did on separate,
    contiguous inputs). `run(tensors)` calls eager with these tensors and gives what was Seen; it leaves no trace. `asks`: the program, or torch for
    it, asks for strides or the like, so that more forms of them are tried. Raises ExportError."""
    return _Examination(example, run).examine(asks)


def distinct(example, run):
    """Names of inputs for which it matters that they are not one tensor; none where eager does not take the example."""
    examination = _Examination(example, run)
    try:
        run([tensor.detach().clone() for _, tensor in example.inputs])
    except Exception:
        return []
    return examination.distinct()


class _Examination:
    def __init__(self, example, run):
        self._run_eager = run
        self._names = [name for name, _ in example.inputs]
        self._tensors = [tensor for _, tensor in example.inputs]
        self._is_steady = None

    def examine(self, asks):
        plain = self._copies()
        before = [tensor.clone() for tensor in plain]
        seen = self._run_eager(plain)
        expected = _Outcome(seen, plain)
        self._check_example(expected)
        written = [name for name, a, b in zip(self._names, before, plain) if not _same(a, b)]
        strided = any(self._makes_difference(list(map(form, self._tensors)), expected) for form in (_strided, _transposed)) or asks and self._forms_matter(expected)
        parts = asks and self._makes_difference([_part_of_larger(t) for t in self._tensors], expected)
        grads = [_with_grad(t) for t in self._copies()]
        found = {
            "written": written,
            "contiguous": [n for n, t in zip(self._names, self._tensors) if strided and t.numel() > 1],
            "whole": [n for n in self._names if parts],
            "detached": self._floats() if self._floats() and self._makes_difference(grads, expected) else [],
            "distinct": self.distinct(),
        }
        return found, seen

    def _forms_matter(self, expected):
        """Whether images with their channels innermost, or expanded tensors, make a difference."""
        if self._makes_difference(list(map(_channels_last, self._tensors)), expected):
            return True
        repeated = [t[:1].expand_as(t) if t.dim() else t for t in self._copies()]
        try:
            dense = self._run([t.clone(memory_format=torch.contiguous_format) for t in repeated])
        except Exception:  # no such values for eager
            return False
        return self._makes_difference(repeated, dense)

    def _copies(self):
        return [t.detach().clone(memory_format=torch.contiguous_format) for t in self._tensors]

    def _floats(self):
        return [name for name, tensor in zip(self._names, self._tensors) if tensor.is_floating_point()]

    def _run(self, tensors):
        return _Outcome(self._run_eager(tensors), tensors)

    def _makes_difference(self, tensors, expected):
        try:
            return not self._run(tensors).same(expected, self._makes_same_calls)
        except Exception:  # eager refuses such inputs, so the bundle has to
            return True

    def _makes_same_calls(self):
        """Whether the program makes the same calls each time."""
        if self._is_steady is None:
            self._is_steady = self._run_eager(self._copies()).calls == self._run_eager(self._copies()).calls
        return self._is_steady

    def _check_example(self, expected):
        """The example's own strides and shared memory must not matter."""
        shared = _sharing(self._names, self._tensors)
        strided = [name for name, t in zip(self._names, self._tensors) if not t.is_contiguous()]
        if not shared and not strided:
            return
        if not self._run(_copies_that_share(self._tensors)).same(expected, self._makes_same_calls):
            what = "inputs " + " and ".join(f"'{n}'" for n in shared) + " share memory" if shared else f"input '{strided[0]}' is not contiguous"
            raise ExportError(f"{what}, and the program gives other results than with separate, contiguous ones: a bundle always has those. "
                              "Give copies (x.contiguous().clone())", "invalid argument")

    def distinct(self):
        """Inputs of one dtype and shape for which it matters that they are not one tensor."""
        groups = {}
        for index, tensor in enumerate(self._tensors):
            groups.setdefault((tensor.dtype, tensor.shape), []).append(index)
        groups = [group for group in groups.values() if len(group) > 1]
        if not groups:
            return []
        mattering = self._mattering(groups)
        if len(groups) > 1 and mattering is None:  # which of them is seen one by one
            mattering = [group for group in groups if self._mattering([group]) != []]
        return [self._names[index] for group in (groups if mattering is None else mattering) for index in group]

    def _mattering(self, groups):
        """None where it made a difference, in one of the ways tried, that inputs of a group are one tensor, in all of these groups at once. Else the groups of which
        there was no time to try all ways, which have to count as mattering."""
        separate = self._copies()
        for group in groups:
            for index in group:
                separate[index] = self._tensors[group[0]].detach().clone(memory_format=torch.contiguous_format)
        try:
            expected = self._run([t.clone() for t in separate])
        except Exception:
            return None
        spent, unsure = SpentTime(), []
        ways = {group[0]: _partitions(group) for group in groups}
        for i in itertools.count():
            parts = {first: next(way, None) for first, way in ways.items()}
            ways = {first: ways[first] for first, found in parts.items() if found is not None}
            if i >= _FEW and spent.seconds() > _MOST_SECONDS:
                unsure = [group for group in groups if group[0] in ways and len(group) <= _MANY]
                break
            if not ways:
                break
            given = [t.clone() for t in separate]
            for part in itertools.chain.from_iterable(parts[first] for first in ways):
                for index in part:
                    given[index] = given[part[0]]
            if self._makes_difference(given, expected):
                return None
        return unsure


class _Outcome:
    """What eager did, and what its inputs hold afterwards."""

    def __init__(self, seen, inputs):
        self._calls = seen.calls
        self._values = [*_leaves(seen.result), *(t.clone() for t in inputs)]

    def same(self, expected, is_steady):
        return _all_same(self._values, expected._values) and (self._calls == expected._calls or not is_steady())


def _partitions(group):
    """Ways in which some of them may be one: lists of groups. All of up to five; of more those with one group of two, or of all but one or two."""
    if len(group) <= _ALL_WAYS:
        yield from (parts for parts in _all_partitions(group) if len(parts) < len(group))
        return
    yield [group]
    for few in (1, 2):
        for out in itertools.combinations(group, few):
            rest = [index for index in group if index not in out]
            yield [rest, *([index] for index in out)]
            if few == 2:
                yield [list(out), *([index] for index in rest)]
                yield [list(out), rest]


def _all_partitions(group):
    if not group:
        yield []
        return
    first, rest = group[0], group[1:]
    for parts in _all_partitions(rest):
        yield [[first], *parts]
        for i, part in enumerate(parts):
            yield [*parts[:i], [first, *part], *parts[i + 1:]]


def same_results(a, b):
    """Whether two results of the program are one but for rounding."""
    return _all_same(_leaves(a), _leaves(b))


def _leaves(result):
    """Tensors, numbers and texts of a result, as they are now; arrays and numbers of NumPy as tensors."""
    leaves = trees.leaves_of(result, lambda value: isinstance(value, (bool, int, float, str)) or hasattr(value, "__array__"))
    return list(map(_held, leaves))


def _held(leaf):
    """A leaf as it is now; an array or number of NumPy as a tensor."""
    if isinstance(leaf, (numpy.ndarray, numpy.generic)) and leaf.dtype.kind in "biuf":
        return torch.from_numpy(numpy.array(leaf, numpy.float64 if leaf.dtype.kind == "f" else numpy.int64))
    return leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf


def _strided(tensor):
    """The same values with gaps between them."""
    if tensor.dim() == 0:
        return tensor.detach().clone()
    wide = tensor.new_empty((*tensor.shape[:-1], 2 * tensor.shape[-1]))[..., ::2]
    return wide.copy_(tensor.detach())


def _transposed(tensor):
    """The same values with the first dimension innermost in memory."""
    axes = tuple(reversed(range(tensor.dim())))
    return tensor.detach().permute(axes).clone(memory_format=torch.contiguous_format).permute(axes)


def _channels_last(tensor):
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return tensor.detach().clone(memory_format=formats.get(tensor.dim(), torch.contiguous_format))


def _part_of_larger(tensor):
    """The same values, contiguous, in the midst of a larger memory."""
    wide = tensor.new_empty((3, *tensor.shape))
    return wide[1].copy_(tensor.detach())


def _with_grad(tensor):
    return tensor.requires_grad_() if tensor.is_floating_point() else tensor


def _sharing(names, tensors):
    """The first two that lie in one memory."""
    known = {}
    for name, tensor in zip(names, tensors):
        other = known.setdefault(tensor.untyped_storage().data_ptr(), name)
        if other != name and tensor.numel():
            return [other, name]
    return []


def _copies_that_share(tensors):
    """Copies that lie to one another as the tensors do."""
    storages, made = {}, {}
    for tensor in tensors:
        if id(tensor) in made:
            continue
        storage = tensor.untyped_storage()
        copy = storages.setdefault(storage.data_ptr(), storage.clone())
        made[id(tensor)] = torch.empty(0, dtype=tensor.dtype).set_(copy, tensor.storage_offset(), tensor.shape, tensor.stride())
    return [made[id(tensor)] for tensor in tensors]


def _all_same(ours, expected):
    return len(ours) == len(expected) and all(map(_same, ours, expected))


def _same(a, b):
    if isinstance(a, torch.Tensor) != isinstance(b, torch.Tensor) or not isinstance(a, torch.Tensor):
        return type(a) is type(b) and str(a) == str(b) if not isinstance(a, float) else isinstance(b, float) and _close(a, b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if not a.is_floating_point():
        return torch.equal(a, b)
    scale = b.nan_to_num(0, 0, 0).abs().max().item() if b.numel() else 0.0
    return torch.allclose(a, b, rtol=1e-3, atol=1e-5 * scale, equal_nan=True)


def _close(a, b):
    return a == b or a != a and b != b or abs(a - b) <= 1e-3 * abs(b)
