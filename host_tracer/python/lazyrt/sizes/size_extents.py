"""What the extents that runs at several sizes read are, as functions of a point."""

import itertools
import math


class Steps:
    """An extent: a * ((product of symbols + b) // d) + c."""

    def __init__(self, symbols, a, b, c, d):
        self.symbols, self.numbers = symbols, (a, b, c, d)
        self.key = (symbols, self.numbers)

    def __call__(self, point):
        a, b, c, d = self.numbers
        return a * ((math.prod(point[s] for s in self.symbols) + b) // d) + c


def formula_of(points, values):
    """A function of a point that gives the values at these points; None where none is known."""
    if len(set(values)) == 1:
        return Steps((), 0, 0, values[0], 1)
    places = range(len(points[0]))
    for symbols in itertools.chain(((s,) for s in places), itertools.combinations(places, 2)):
        sizes = [math.prod(point[s] for s in symbols) for point in points]
        if len(set(zip(sizes, values))) == len(set(sizes)):
            found = _steps_of(sizes, values)
            if found:
                return Steps(symbols, *found)
    return None


def _steps_of(sizes, values):
    """a, b, c, d of Steps with the smallest d."""
    pairs = sorted(set(zip(sizes, values)))
    (first, low), (last, high) = pairs[0], pairs[-1]
    for d in range(1, 65):
        for b in range(d):
            count = (last + b) // d - (first + b) // d
            if count == 0 or (high - low) % count:
                continue
            a = (high - low) // count
            c = low - a * ((first + b) // d)
            if all(a * ((s + b) // d) + c == value for s, value in pairs):
                return a, b, c, d
    return None


def extents_of(runs):
    """By point: a formula for each extent that its run reads. `runs`: {point: log}. Extents that runs read at the same places in the same order are the
    same function, until they part."""
    found, known = {point: [] for point in runs}, {}
    groups = [(list(runs), 0)]
    while groups:
        points, i = groups.pop()
        while True:
            by_place = {}
            for point in points:
                leaves = runs[point].leaves
                by_place.setdefault(leaves[i][0] if i < len(leaves) else None, []).append(point)
            if len(by_place) > 1 or None in by_place:
                groups += [(same, i) for place, same in by_place.items() if place is not None]
                break
            values = tuple(runs[point].leaves[i][1] for point in points)
            key = (tuple(points), values)
            if key not in known:
                known[key] = formula_of(points, values)
            for point in points:
                found[point].append(known[key])
            i += 1
    return found
