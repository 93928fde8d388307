"""The paths that a program takes at the sizes at which it was captured, and whether what it does at another size is one of them.

Two calls are on one path where they call the same functions. What these are given may go with the sizes: numbers by a formula, or somehow between those of the
sizes nearby; which of the registered tensors it is, what a constant holds, and all else as at one of these. Of constants and lists of another size nothing is
expected, unless all that are known begin alike. Anything else is a suspicion."""

import itertools
import math

from lazyrt.call_logs import Content, Shape
from lazyrt.size_points import formula_of

_MOST_TERMS = 128  # that are tried as a formula
_MOST_POINTS = 40  # of which a formula is sought for most, or for those on one side
_MOST = 0.7
_FUNCTIONS = (lambda s: s, lambda s: 1 / s, math.sqrt, lambda s: 1 / math.sqrt(s), math.log, lambda s: s * s, lambda s: 1 / (s * s))
_CLOSE = 1e-6


class Paths:
    """`terms`: what the program computes from sizes, as functions of a point. `fewest`: of each symbol, at how many sizes calls have to be known before others are
    suspected. `suspects_new`: whether calls of other functions than any known are."""

    def __init__(self, terms=(), fewest=(), suspects_new=True):
        self._known, self._suspects_new = {}, suspects_new
        self._fewest, self._sizes = fewest, [set() for _ in fewest]
        self._formulas = _Formulas(terms)

    def learn(self, point, calls):
        """Takes in what a call at these sizes did."""
        self._known.setdefault(_path_of(calls), _Path()).learn(tuple(point), _leaves_of(calls))
        for size, sizes in zip(point, self._sizes):
            sizes.add(size)

    def know(self, point, calls):
        """Whether a call at these sizes did what those taken in let expect."""
        if any(len(sizes) < fewest for sizes, fewest in zip(self._sizes, self._fewest)):
            return True
        path = self._known.get(_path_of(calls))
        if path is None:
            return not self._suspects_new
        return path.knows(tuple(point), _leaves_of(calls), self._formulas)


def _path_of(calls):
    return tuple((name, keywords, len(given)) for name, keywords, given, _ in calls)


def _leaves_of(calls):
    """Of each call what it was given: (kind, value)."""
    return [_leaves(given) for _, _, given, _ in calls]


def _leaves(value):
    if isinstance(value, Shape):
        return [_leaf_of_tensor(value)]
    if isinstance(value, tuple):
        return [leaf for item in value for leaf in _leaves(item)]
    if isinstance(value, Content):
        return [("content", value)]
    is_number = isinstance(value, (int, float, complex)) and not isinstance(value, bool)
    return [("number" if is_number else "thing", value)]


def _leaf_of_tensor(shape):
    dtype, *extents, what = shape
    if not isinstance(what, Content):
        return "thing", (dtype, len(extents), what)
    if what.tensor.numel() == 1 and not what.tensor.is_complex():
        return "number", float(what.tensor)
    return "content", what


class _Path:
    """One sequence of calls."""

    def __init__(self):
        self._points = []  # of the calls learned
        self._first = None  # leaves of the first of these
        self._places = {}  # (call, leaf): _Place where these are not always the same
        self._lists = {}  # call: _List where it is given more or less at other sizes

    def learn(self, point, leaves):
        if self._first is None:
            self._first = leaves
        for i, (first, now) in enumerate(zip(self._first, leaves)):
            if i in self._lists or len(first) != len(now):
                self._lists.setdefault(i, _List(first)).learn(now)
            for j, (before, leaf) in enumerate(zip(first, now)):
                if (i, j) not in self._places and before != leaf:
                    self._places[i, j] = _Place([(known, before) for known in self._points])
                if (i, j) in self._places:
                    self._places[i, j].learn(point, leaf)
        self._points.append(point)

    def knows(self, point, leaves, formulas):
        for i, (first, now) in enumerate(zip(self._first, leaves)):
            if i in self._lists or len(first) != len(now):  # others stand in its places
                if i in self._lists and not self._lists[i].explains(now):
                    return False
                continue
            for j, leaf in enumerate(now):
                place = self._places.get((i, j))
                if first[j] != leaf if place is None else not place.explains(point, leaf, formulas):
                    return False
        return True


class _List:
    """What a call is given at sizes at which that is more or less."""

    def __init__(self, leaves):
        self._longest, self._begin_alike = leaves, True

    def learn(self, leaves):
        self._begin_alike = self._begin_alike and self._begins_alike(leaves)
        self._longest = max(self._longest, leaves, key=len)

    def explains(self, leaves):
        return not self._begin_alike or self._begins_alike(leaves)

    def _begins_alike(self, leaves):
        return all(known == leaf for known, leaf in zip(self._longest, leaves))


class _Place:
    """What stands in one place, by point."""

    def __init__(self, seen):
        self._seen = dict(seen)
        self._depends_on_values = False
        self._pieces = None  # formulas, and (the smallest, the largest) of the points of each

    def learn(self, point, leaf):
        self._depends_on_values |= point in self._seen and self._seen[point] != leaf
        self._seen[point] = leaf
        self._pieces = None

    def explains(self, point, leaf, formulas):
        if self._depends_on_values or point in self._seen and self._seen[point] == leaf:
            return True
        kinds = {kind for kind, _ in self._seen.values()}
        if kinds == {leaf[0]} == {"content"}:
            return self._explains_content(leaf[1])
        if kinds == {leaf[0]} == {"number"}:
            return self._explains_number(point, leaf[1], formulas)
        return any(self._seen[other] == leaf and not any(_is_between(known, point, other) and self._seen[known] != leaf for known in self._seen)
                   for other in self._seen)

    def _explains_content(self, content):
        """One that goes with the sizes at one size holds anything, and so does a table of another size where those known are no parts of one."""
        known = [content for _, content in self._seen.values()]
        same = [other for other in known if other.tensor.shape == content.tensor.shape]
        if same:
            return content in same or any(other != same[0] for other in same)
        if len({other.tensor.shape for other in known}) == 1:
            return True
        largest = max(known, key=lambda other: other.tensor.numel())
        return not all(_begin_alike(other, largest) for other in known) or _begin_alike(content, largest)

    def _explains_number(self, point, number, formulas):
        if self._pieces is None:
            self._pieces = formulas.pieces_of({known: value for known, (_, value) in self._seen.items()})
        if self._pieces:
            return any(_is_close(formula(point), number) for formula, least, most in self._pieces
                       if all(low <= size <= high for low, size, high in zip(least, point, most)))
        near = [value for known, (_, value) in self._seen.items() if not any(_is_between(other, point, known) for other in self._seen if other != known)]
        if any(isinstance(value, complex) for value in (number, *near)):
            return True
        return min(near) - _CLOSE * abs(min(near)) <= number <= max(near) + _CLOSE * abs(max(near))


def _begin_alike(one, other):
    """Whether two contents hold the same as far as both reach."""
    a, b = one.tensor, other.tensor
    if a.dim() != b.dim():
        return False
    common = tuple(slice(min(extents)) for extents in zip(a.shape, b.shape))
    return Content(a[common]) == Content(b[common])


def _is_between(point, one, other):
    return point != other and all(min(a, b) <= size <= max(a, b) for size, a, b in zip(point, one, other))


def _is_close(a, b):
    if isinstance(a, complex) or isinstance(b, complex):
        return abs(a - b) <= _CLOSE * abs(b)
    return a is not None and (a == b or math.isclose(a, b, rel_tol=_CLOSE, abs_tol=1e-12))


# -------------------------------------------------------------------- formulas

class _Formulas:
    """Functions of a point for the numbers at some points."""

    def __init__(self, terms):
        self._terms, self._known = terms[:_MOST_TERMS], {}

    def pieces_of(self, values):
        """[(function, the smallest sizes, the largest)] that together give the values at these points, but for a few; [] where there is nothing of the kind."""
        key = tuple(values.items())
        if key not in self._known:
            self._known[key] = self._sought(values)
        return self._known[key]

    def _sought(self, values):
        points = sorted(values)
        whole = self._fit(points, values)
        if whole is not None or len(points) < 4 or len(points) > _MOST_POINTS:
            return [] if whole is None else [self._piece(whole, points)]
        most = self._fit_of_most(list(values), values)
        if most is not None:
            return [self._piece(most, points)]
        for cut in range(2, len(points) - 1):  # in two ranges
            parts = points[:cut], points[cut:]
            fits = [self._fit(part, values) for part in parts]
            if None not in fits:
                return list(map(self._piece, fits, parts))
        return []

    def _fit_of_most(self, points, values):
        """Of those known first, or of all but one, and most of the others."""
        groups = [points[:count] for count in range(len(points) - 1, 2, -1)] + [[other for other in points if other != point] for point in points]
        for group in groups:
            fit = self._fit(group, values)
            if fit is not None and sum(_is_close(fit(point), values[point]) for point in points) >= max(4, _MOST * len(points)):
                return fit
        return None

    @staticmethod
    def _piece(formula, points):
        return formula, tuple(map(min, zip(*points))), tuple(map(max, zip(*points)))

    def _fit(self, points, values):
        wanted = [values[point] for point in points]
        if all(_is_close(value, wanted[0]) for value in wanted):
            return lambda point: wanted[0]
        if any(isinstance(value, complex) or not math.isfinite(value) for value in wanted):
            return None
        if all(isinstance(value, int) for value in wanted):
            found = formula_of(points, wanted)
            if found is not None:
                return found
        return next((line for function in self._functions(points) if (line := _line_through(function, points, wanted)) is not None), None)

    def _functions(self, points):
        places = range(len(points[0]))
        for symbols in itertools.chain(((s,) for s in places), itertools.combinations(places, 2)):
            for function in _FUNCTIONS:
                yield lambda point, function=function, symbols=symbols: function(math.prod(point[s] for s in symbols))
        for a, b in itertools.permutations(places, 2):
            yield lambda point, a=a, b=b: point[a] / point[b]
            yield lambda point, a=a, b=b: point[a] + point[b]
        yield from self._terms


def _line_through(function, points, wanted):
    """a * function + b that gives the wanted numbers; None where there is none."""
    sizes = [function(point) for point in points]
    if None in sizes:
        return None
    first = 0
    last = next((i for i in range(len(sizes)) if sizes[i] != sizes[first]), None)
    if last is None:
        return None
    a = (wanted[last] - wanted[first]) / (sizes[last] - sizes[first])
    b = wanted[first] - a * sizes[first]
    if not all(_is_close(a * size + b, value) for size, value in zip(sizes, wanted)):
        return None

    def line(point):
        size = function(point)
        return None if size is None else a * size + b

    return line
