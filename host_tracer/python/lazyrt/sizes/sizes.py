"""Extents that vary: what the caller says about them, and the sizes at which a program is captured and checked."""

import math
import re
from typing import NamedTuple

import torch

from lazyrt import _tracer
from lazyrt.driver.arguments import Example
from lazyrt.errors import ExportError, InputError

_MULTIPLES = (1, 2, 4, 8, 16, 32, 64, 3, 6, 12, 24, 48, 5, 10, 20, 7, 14, 28, 56, 9, 128, 256)
_MOST_BYTES = 2**32  # of an input
_CHECKED = 2  # sizes that are drawn, beside both ends
_FOLLOWS = re.compile(r"(?:(\d+) *\* *)?([A-Za-z_]\w*) *(?:([+-]) *(\d+))?")  # "2*n + 1"


class Symbol:
    """A named extent: the multiples of `multiple` from `least` to `most`."""

    def __init__(self, name, least=None, most=None, multiple=1):
        self.name, self.least, self.most, self.multiple = name, least, most, multiple
        self.seen = set()  # sizes in the caller's samples

    def given_again(self, other):
        """The bounds of two mentions of one name."""
        for mine, theirs, keep in (("least", other.least, max), ("most", other.most, min)):
            values = [value for value in (getattr(self, mine), theirs) if value is not None]
            setattr(self, mine, keep(values) if values else None)
        self.multiple = math.lcm(self.multiple, other.multiple)

    def within(self, multiple):
        """(least, most) multiple of a number within the bounds."""
        return -(-self.least // multiple) * multiple, self.most // multiple * multiple

    def holds(self, size):
        return self.least <= size <= self.most and size % self.multiple == 0

    def text(self):
        steps = f", a multiple of {self.multiple}" if self.multiple > 1 else ""
        return f"{self.name}: {self.least} to {self.most}{steps}"


class Extent(NamedTuple):
    """factor * a symbol + offset; without a symbol (-1) the sample's."""

    symbol: int = -1
    factor: int = 1
    offset: int = 0

    def at(self, point):
        return self.factor * point[self.symbol] + self.offset

    def solve(self, size):
        """The symbol's value; None where there is none."""
        return (size - self.offset) // self.factor if (size - self.offset) % self.factor == 0 else None

    def text(self, name):
        times = f"{self.factor}*{name}" if self.factor != 1 else name
        return f"{times} {'+' if self.offset > 0 else '-'} {abs(self.offset)}" if self.offset else times


class Sizes:
    """Which dims of a sample's inputs are which symbols. `samples` are the caller's examples; their sizes are the bounds of a name without bounds."""

    def __init__(self, dynamic, samples):
        self.symbols, self.dims = [], []
        self.first = first = samples[0]
        specs = _by_input(dynamic, first)
        items = {name: _items(name, tensor, specs.get(name)) for name, tensor in first.inputs}
        for name, tensor in first.inputs:
            self.dims.append(self._dims_of(name, tensor, items[name], samples))
        if not self.symbols:
            raise InputError("dynamic names no dim that varies")
        self.sample = self.point_of(first)
        for symbol in self.symbols:
            _check_bounds(symbol)

    def _dims_of(self, name, tensor, items, samples):
        dims, given = [Extent()] * tensor.dim(), set()
        for dim, value in items:
            if dim in given:
                raise InputError(f"dynamic names dim {dim} of input '{name}' twice")
            given.add(dim)
            place = f"input '{name}', dim {dim}"
            symbol, factor, offset = _symbol_of(place, f"{name}.{dim}", value)
            if symbol is None:
                continue
            known = next((i for i, other in enumerate(self.symbols) if other.name == symbol.name), None)
            if known is None:
                known = len(self.symbols)
                self.symbols.append(Symbol(symbol.name))
            dims[dim] = Extent(known, factor, offset)
            self.symbols[known].given_again(symbol)
            if offset < 0:  # at least one element
                self.symbols[known].given_again(Symbol(symbol.name, -((offset - 1) // factor)))
            for i, sample in enumerate(samples):
                other = dict(sample.inputs)[name]
                if other.dim() != tensor.dim():
                    raise InputError(f"input '{name}' has {tensor.dim()} dims in sample 0, and {other.dim()} in sample {i}")
                size = other.shape[dim]
                self.symbols[known].seen.add(self._solved(dims[dim], size, place))
        return dims

    def _solved(self, extent, size, place):
        value = extent.solve(size)
        if value is None:
            name = self.symbols[extent.symbol].name
            raise InputError(f"{place} is {size}, which is {extent.text(name)} of no '{name}'")
        return value

    def point_of(self, example):
        """The values of the symbols in an example; InputError where two dims disagree."""
        values = {}
        for (name, tensor), dims in zip(example.inputs, self.dims):
            for dim, extent in enumerate(dims):
                if extent.symbol < 0:
                    continue
                size = self._solved(extent, tensor.shape[dim], f"input '{name}', dim {dim}")
                before = values.setdefault(extent.symbol, (size, name, dim))
                if before[0] != size:
                    raise InputError(f"'{self.symbols[extent.symbol].name}' is {before[0]} in dim {before[2]} of '{before[1]}' and {size} in dim {dim} "
                                     f"of '{name}'")
        return [values[symbol][0] for symbol in range(len(self.symbols))]

    def point_of_another(self, example, which):
        """The same for a sample other than the first, which `which` names; InputError also if its size is not allowed, or if a size differs that does
        not vary."""
        for (name, tensor), (_, first), dims in zip(example.inputs, self.first.inputs, self.dims):
            if tensor.dtype != first.dtype:
                raise InputError(f"input '{name}' of {which} is {tensor.dtype}, of sample 0 {first.dtype}")
            for dim, extent in enumerate(dims):
                if extent.symbol < 0 and tensor.shape[dim] != first.shape[dim]:
                    raise InputError(f"input '{name}', dim {dim} is {first.shape[dim]} in sample 0 and {tensor.shape[dim]} in {which}, and dynamic does not name "
                                     "it")
        point = self.point_of(example)
        for symbol, size in zip(self.symbols, point):
            if not symbol.holds(size):
                raise InputError(f"'{symbol.name}' is {size} in {which}, and the program takes {symbol.text()}")
        return point

    def text(self, point):
        return ", ".join(f"{symbol.name}={size}" for symbol, size in zip(self.symbols, point))

    def resized(self, target, example, point):
        """The example at other sizes, stretched: what is at its beginning and end stays there, so that masks and lengths stay what they are."""
        tensors = []
        for (name, tensor), dims in zip(example.inputs, self.dims):
            tensor = tensor.detach()
            shape = [extent.at(point) if extent.symbol >= 0 else size for size, extent in zip(tensor.shape, dims)]
            if math.prod(shape) * tensor.element_size() > _MOST_BYTES:
                raise InputError(f"at {self.text(point)} input '{name}' is larger than 4 GiB: the bundle could not be tried there")
            for dim, size in enumerate(shape):
                if tensor.shape[dim] != size:
                    tensor = tensor.index_select(dim, _stretched(tensor.shape[dim], size))
            tensors.append(tensor.clone(memory_format=torch.contiguous_format))
        args, kwargs = example.call(tensors)
        return Example(target, args, kwargs)

    # ---------------------------------------------------------------- what the program takes

    def find_relations(self, runs):
        """Narrows the symbols to sizes that the program accepts: runs(point) says whether it does, or why not. Symbols that have to be equal become
        one. Returns notes."""
        notes = []
        for name in [symbol.name for symbol in self.symbols]:
            index = next((i for i, symbol in enumerate(self.symbols) if symbol.name == name), None)
            if index is not None:
                notes += self._join_equal(index, runs)
        return notes + [note for index, symbol in enumerate(self.symbols) for note in self._narrow(index, symbol, runs)]

    def _join_equal(self, index, runs):
        """Joins the symbols of equal size in the sample without which this symbol cannot change."""
        here, symbol = self.sample[index], self.symbols[index]
        group = [i for i, size in enumerate(self.sample) if size == here and i >= index]
        size = next((s for s in (here + symbol.multiple, here - symbol.multiple, symbol.most, symbol.least) if s != here and all(
            self.symbols[i].holds(s) for i in group)), None)

        def taken(changed):
            return not runs([size if i in changed else other for i, other in enumerate(self.sample)])

        if size is None or len(group) < 2 or taken([index]) or not taken(group):
            return []
        for other in group[1:]:
            fewer = [i for i in group if i != other]
            if taken(fewer):
                group = fewer
        if len(group) < 2:
            return []
        others = [self.symbols[i] for i in group[1:]]
        for other in others:
            symbol.given_again(other)
        symbol.least, symbol.most = symbol.within(symbol.multiple)
        kept = [i for i in range(len(self.symbols)) if i not in group[1:]]
        now = {i: kept.index(index if i in group else i) for i in range(len(self.symbols))}
        self.symbols, self.sample = [self.symbols[i] for i in kept], [self.sample[i] for i in kept]
        self.dims = [[extent._replace(symbol=now.get(extent.symbol, -1)) for extent in dims] for dims in self.dims]
        names = ", ".join(f"'{other.name}'" for other in others)
        return [f"{names} and '{symbol.name}' have to be the same size, and are '{symbol.name}' now: the program raises where they differ"]

    def _narrow(self, index, symbol, runs):
        def tried(multiple):
            """Why a size of that multiple is refused; None if all are accepted."""
            least, most = symbol.within(multiple)
            if least > most:
                return "there is none"
            count = (most - least) // multiple
            for i in sorted({0, 1, 2, count // 3 | 1, count}):
                if 0 <= i <= count:
                    point = list(self.sample)
                    point[index] = least + i * multiple
                    why = runs(point)
                    if why:
                        return f"at {self.text(point)}: {why}"
            return None

        first = tried(symbol.multiple)
        if first is None:
            return []
        # If only sizes below the sample's are refused, they do not fit a value of the sample; that is not a multiple.
        above = range(self.sample[index] + symbol.multiple, min(self.sample[index] + 8 * symbol.multiple, symbol.most + 1), symbol.multiple)
        if above and not any(runs([*self.sample[:index], size, *self.sample[index + 1:]]) for size in above):
            raise ExportError(f"the program does not take all sizes that dynamic allows ({symbol.text()}): {first}", "invalid argument")
        for multiple in _MULTIPLES:
            if multiple <= symbol.multiple or multiple % symbol.multiple or self.sample[index] % multiple or tried(multiple):
                continue
            (symbol.least, symbol.most), symbol.multiple = symbol.within(multiple), multiple
            return [f"'{symbol.name}' has to be a multiple of {multiple}, from {symbol.least} to {symbol.most}: the program raises at others ({first})"]
        raise ExportError(f"the program does not take all sizes that dynamic allows ({symbol.text()}): {first}", "invalid argument")

    # ---------------------------------------------------------------- sizes to capture

    def native(self):
        return [_tracer.DimSymbol(symbol.name, symbol.least, symbol.most, symbol.multiple) for symbol in self.symbols]

    def fit_points(self):
        """Sizes that show how numbers depend on the symbols."""
        return _tracer.fit_points(self.native())

    def check_points(self):
        """Sizes, without the sample's, at which the bundle runs beside the program."""
        return [point for point in _tracer.check_points(self.native(), _CHECKED, 1) if list(point) != self.sample]


def _stretched(size, wanted):
    """`wanted` positions of `size`, from the first to the last."""
    if size == 0:
        raise InputError("an empty dim cannot be resized: give a sample with elements in it")
    return (torch.arange(wanted, dtype=torch.float64) * (size - 1) / max(wanted - 1, 1)).round().to(torch.int64)


def _check_bounds(symbol):
    seen = symbol.seen
    if symbol.least is None:
        symbol.least = min(seen) if symbol.most is None else 1
    if symbol.most is None:
        if len(seen) < 2:
            raise InputError(f"'{symbol.name}' has no upper bound: give (\"{symbol.name}\", least, most), torch.export.Dim(\"{symbol.name}\", min=, max=), or "
                             "samples of several sizes")
        symbol.most = max(seen)
    if symbol.multiple < 1:
        raise InputError(f"'{symbol.name}' is to be a multiple of {symbol.multiple}, which has to be 1 or more")
    symbol.least = max(symbol.least, 1)
    symbol.least, symbol.most = symbol.within(symbol.multiple)
    if symbol.least > symbol.most:
        raise InputError(f"'{symbol.name}' has no size: {symbol.text()}")
    for value in sorted(seen):
        if not symbol.holds(value):
            raise InputError(f"'{symbol.name}' is {value} in the sample, and dynamic allows {symbol.text()}")


def _by_input(dynamic, example):
    """{name of an input: what the caller says about its dims}, from a dict by argument or a tuple by position, nested as the arguments are."""
    names, found = {name for name, _ in example.inputs}, {}
    if isinstance(dynamic, (tuple, list)):
        parameters = [parameter["name"] for parameter in example.parameters]
        if len(dynamic) > len(parameters):
            raise InputError(f"dynamic has {len(dynamic)} entries, the program {len(parameters)} arguments")
        dynamic = dict(zip(parameters, dynamic))
    if not isinstance(dynamic, dict):
        raise InputError(f"dynamic has to be a dict by argument, or a tuple as the arguments, not a {type(dynamic).__name__}")

    def walk(path, spec):
        if path in names:
            found[path] = spec
        elif spec is not None:
            items = spec.items() if isinstance(spec, dict) else enumerate(spec) if isinstance(spec, (tuple, list)) else None
            inside = [name for name in names if name.startswith(path + ".")]
            if items is None or not inside:
                raise InputError(f"dynamic names '{path}', which is not an input; the inputs are {', '.join(sorted(names))}")
            for key, item in items:
                walk(f"{path}.{key}", item)

    for name, spec in dynamic.items():
        walk(str(name), spec)
    return found


def _items(name, tensor, spec):
    """[(dim, what is said of it)]"""
    if spec is None:
        return []
    if isinstance(spec, dict):
        items = list(spec.items())
    elif isinstance(spec, (tuple, list)):
        if len(spec) != tensor.dim():
            raise InputError(f"dynamic has {len(spec)} entries for input '{name}' of {tensor.dim()} dims")
        items = list(enumerate(spec))
    else:
        raise InputError(f"dynamic['{name}'] has to be a dict by dim, or a tuple as long as the shape")
    found = []
    for dim, value in items:
        if not isinstance(dim, int) or not -tensor.dim() <= dim < tensor.dim():
            raise InputError(f"dynamic: input '{name}' of {tensor.dim()} dims has no dim {dim!r}")
        found.append((dim % tensor.dim(), value))
    return found


def _symbol_of(place, name, value):
    """(a Symbol, factor, offset) of "seq", ("seq", 1, 512), ("width", 32, 256, 32), "2*seq + 1", torch.export.Dim and what is made of it, Dim.AUTO,
    Dim.DYNAMIC(max=8); without a Symbol where the extent is fixed."""
    hint = getattr(getattr(value, "type", None), "name", None)
    if value is None or isinstance(value, int) or hint == "STATIC":
        return None, 1, 0
    if hint in ("AUTO", "DYNAMIC"):  # no name: that of the place
        return Symbol(name, value.min, _bound(value.max)), 1, 0
    if value == "" or isinstance(value, (tuple, list)) and value and value[0] == "":
        raise InputError(f"{place}: the name of an extent is empty")
    if isinstance(value, str):
        symbol, factor, offset = _said(value)
        return Symbol(symbol), factor, offset
    if isinstance(value, (tuple, list)) and value and isinstance(value[0], str) and all(isinstance(v, int) for v in value[1:]) and len(value) in (3, 4):
        symbol, factor, offset = _said(value[0])
        return Symbol(symbol, *value[1:]), factor, offset
    root, named = getattr(value, "root", None), getattr(value, "__name__", None)
    if root is not None:
        return _derived(place, value)
    if named is not None and hasattr(value, "min") and hasattr(value, "max"):
        return Symbol(named, max(int(value.min), 1), _bound(value.max)), 1, 0
    raise InputError(f"{place}: {value!r} is neither a name, nor a (name, least, most[, multiple]), nor a torch.export.Dim")


def _bound(value):
    """None for torch's "no bound"."""
    try:
        number = int(value)
    except (OverflowError, TypeError, ValueError):
        return None
    return number if number < 2**31 else None


def _said(text):
    """(name, factor, offset) of "n", "2*n + 1"."""
    found = _FOLLOWS.fullmatch(text)
    if found is None:
        return text, 1, 0
    factor, name, sign, offset = found.groups()
    if factor and int(factor) < 1:
        raise InputError(f"'{text}' is not an extent: the factor has to be 1 or more")
    return name, int(factor or 1), int(offset or 0) * (-1 if sign == "-" else 1)


def _line_of(value):
    """(factor, offset) of an expression of a Dim; None if it is not a multiple plus a number."""
    zero, one, two = value.fn(0), value.fn(1), value.fn(2)
    return (int(one - zero), int(zero)) if two - one == one - zero and one - zero >= 1 else None


def _derived(place, value):
    """The Symbol "w" from 5 to 9, 2 and 1 of 2 * Dim("w", 5, 9) + 1."""
    root, line = value.root, _line_of(value)
    if line is None:
        raise InputError(f"{place}: {value.__name__}: an expression of a Dim has to be a multiple plus a number, such as 2 * Dim(...) + 1")
    return Symbol(root.__name__, max(int(root.min), 1), _bound(root.max)), *line
