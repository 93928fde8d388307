"""The results of the program: tensors and numbers become outputs, everything else has to be constant."""

import numpy
import torch

from lazyrt.bundles import fixed, trees
from lazyrt.bundles.fixed import Opaque
from lazyrt.errors import ExportError
from lazyrt.numbers.arrays import LazyArray
from lazyrt.numbers.carriers import Carrier, LazyFloat, LazyInt


def describe(result, numbers_vary=False):
    """Returns (description, [(name, tensor, number or array)]) of a result. `numbers_vary`: plain numbers are outputs as well, since they may depend on sizes.
    Raises ExportError for a value that a bundle cannot return."""
    def is_leaf(value):
        return is_output(value) or numbers_vary and _is_plain_number(value)

    try:
        description, leaves = trees.flatten(result, "", is_leaf)
    except Opaque as opaque:
        raise ExportError(f"{_place(opaque.path)} cannot be returned by a bundle: {opaque.why}") from None
    for name, leaf in leaves:
        if isinstance(leaf, numpy.ndarray) and type(leaf) not in (numpy.ndarray, LazyArray):
            raise ExportError(f"'{name}' of the result is a {fixed.type_name(leaf)}, and a bundle returns plain arrays: return numpy.asarray(...)")
    numbers = {name: type(leaf) for name, leaf in leaves if isinstance(leaf, Carrier) or _is_plain_number(leaf)}
    trees.mark(description, {name for name, kind in numbers.items() if kind in (LazyFloat, float)}, number="float")
    trees.mark(description, {name for name, kind in numbers.items() if kind in (LazyInt, int)}, number="int")
    trees.mark(description, {name for name, leaf in leaves if isinstance(leaf, numpy.ndarray)}, numpy=True)
    trees.mark(description, {name for name, leaf in leaves if isinstance(leaf, numpy.generic) or type(leaf) is LazyArray and leaf.is_number},
               numpy="scalar")
    return description, leaves


def is_output(value):
    """Whether it becomes an output of the bundle."""
    if isinstance(value, (numpy.ndarray, numpy.generic)) and not isinstance(value, Carrier):
        return value.dtype.kind in "biuf"
    return isinstance(value, (torch.Tensor, Carrier))


def _is_plain_number(value):
    return type(value) is float or type(value) is int and abs(value) < 2**63


def tensor_of(leaf):
    """The tensor of an output, for the capture."""
    if isinstance(leaf, Carrier):
        return leaf._tensor
    if type(leaf) is LazyArray:
        return leaf.tensor
    return leaf if isinstance(leaf, torch.Tensor) else torch.from_numpy(numpy.array(leaf, order="C"))


def differences(first, later, path=""):
    """Returns a sentence for each constant of the result that differs between the first and a later run."""
    kinds = first["kind"], later["kind"]
    if "value" in kinds or "fixed" in kinds:
        same = fixed.canonical({**first, "name": ""}) == fixed.canonical({**later, "name": ""})
        is_number = type(first.get("value")) in (bool, int, float) and type(first.get("value")) is type(later.get("value"))
        if same or is_number:  # numbers are outputs, which the comparison of the traces covers
            return []
        return [f"{_place(path)} is made from values: it was {fixed.text_of(first)} at export, and {fixed.text_of(later)} on other inputs"]
    keys = first.get("keys"), later.get("keys")
    if kinds[0] != kinds[1] or keys[0] != keys[1] or len(first.get("items", ())) != len(later.get("items", ())):
        return [f"how {_place(path)} is nested depends on values"]
    names = keys[0] or range(len(first.get("items", ())))
    pairs = zip(names, first.get("items", ()), later.get("items", ()))
    return [text for key, a, b in pairs for text in differences(a, b, trees.join(path, key))]


def entries(description, path=""):
    """Yields (name, None) for each tensor and (name, number) for each number of a result, in order. Sets the names of the numbers."""
    value = description.get("value")
    if description["kind"] == "tensor":
        yield description["name"], None
    elif isinstance(value, (bool, int, float)) and abs(value) < 2**63 and str(value) != "-0.0":  # a literal has no sign of zero
        description["name"] = path or "output"
        yield description["name"], value
    keys = description.get("keys") or range(len(description.get("items", ())))
    for key, item in zip(keys, description.get("items", ())):
        yield from entries(item, trees.join(path, key))


def constants_of(description):
    """Returns a text that is equal for results with the same constants. Numbers are left out: each variant has its own."""
    def bare(described):
        numbered = "name" in described and described["kind"] == "value"
        kept = {key: item for key, item in described.items() if not (numbered and key == "value")}
        return {**kept, "items": [bare(item) for item in described.get("items", ())]}

    return fixed.canonical(bare(description))


def _place(path):
    return f"'{path}' of the result" if path else "the result"


# -------------------------------------------------------------------- two results


def same_results(a, b):
    """Whether two results of the program are equal up to rounding."""
    return same_leaves(leaves(a), leaves(b))


def same_leaves(ours, others):
    """Whether two lists from leaves() are equal up to rounding."""
    return len(ours) == len(others) and all(map(_same, ours, others))


def leaves(result, depth=0):
    """Tensors, numbers and texts of a result; arrays and numbers of NumPy as tensors."""
    if isinstance(result, (bool, int, float, str)) or hasattr(result, "__array__"):
        return [_held(result)]
    try:
        node = trees.open_node(result, "", False)
    except Opaque:
        return []
    return [leaf for item in (node.items if node and depth < trees.DEEPEST else ()) for leaf in leaves(item, depth + 1)]


def _held(leaf):
    if isinstance(leaf, (numpy.ndarray, numpy.generic)) and leaf.dtype.kind in "biuf":
        return torch.from_numpy(numpy.array(leaf, numpy.float64 if leaf.dtype.kind == "f" else numpy.int64))
    return leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf


def _same(a, b):
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return type(a) is type(b) and (_close(a, b) if isinstance(a, float) else str(a) == str(b))
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if not a.is_floating_point():
        return torch.equal(a, b)
    scale = b.nan_to_num(0, 0, 0).abs().max().item() if b.numel() else 0.0
    return torch.allclose(a, b, rtol=1e-3, atol=1e-5 * scale, equal_nan=True)


def _close(a, b):
    return a == b or a != a and b != b or abs(a - b) <= 1e-3 * abs(b)
