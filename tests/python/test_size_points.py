"""A program is captured at a size of every way that it takes, by what it asks about sizes (lazyrt/sizes/size_points.py): shown by asking it at all sizes."""

import contextlib
import itertools

import pytest
import torch

from lazyrt.sizes.size_points import points_that_differ
from lazyrt.sizes.sizes import Symbol


class Given:
    """What points_that_differ reads of Sizes."""

    def __init__(self, ranges, sample):
        self.symbols = [Symbol(f"s{i}", *bounds) for i, bounds in enumerate(ranges)]
        self.sample = list(sample)


def ways_found(body, ranges, sample):
    """({way: sizes}, {way} at the points that are captured). body(x) gives the way as a number; x has the symbols as its extents."""
    def run(point, mode):
        with mode or contextlib.nullcontext():
            return body(torch.empty(point))

    captured = [list(sample), [least for least, *_ in ranges], [most for _, most, *_ in ranges]]
    points = [*captured, *points_that_differ(Given(ranges, sample), run, captured, [globals()])]
    all_ways = {}
    for point in itertools.product(*(range(least, most + 1) for least, most, *_ in ranges)):
        all_ways.setdefault(run(list(point), None), []).append(point)
    return all_ways, {run(point, None) for point in points}, points


def first_of(x):
    return x.shape[0]


def deep(x):
    n = x.shape[0]
    if n > 100:
        if n < 110:
            if n % 4 == 1:
                return 3 if n == 105 else 2
            return 1
    return 0


def of_a_part(x):
    """The band shows only behind a slice that is made where n is large."""
    n = x.shape[0]
    if n > 64:
        rest = x[64:]
        if 20 <= len(rest) < 22:
            return 2
        return 1
    return 0


def of_halves(x):
    n = x.shape[0] // 2
    return int(n > 60) + int(61 <= n <= 62 and x.shape[0] % 2 == 0)


@pytest.mark.parametrize("body", [
    lambda x: int(256 <= first_of(x) < 258),
    lambda x: int(first_of(x) in (33, 34, 300)),
    lambda x: int(300 < first_of(x) and first_of(x) != 350 and first_of(x) < 352),
    lambda x: int(not (first_of(x) < 256 or first_of(x) > 256)),
    lambda x: int(first_of(x) > 200) + int(first_of(x) > 201) + int(first_of(x) > 202),
    lambda x: int(first_of(x) % 7 == 3 and first_of(x) > 380 and first_of(x) < 390),
    lambda x: int(200 < 2 * first_of(x) + 1 < 204),
    deep, of_a_part, of_halves])
def test_narrow_bands_of_one_symbol(body):
    ways, found, _ = ways_found(body, [(1, 400)], [9])
    assert len(ways) > 1 and found == set(ways)


@pytest.mark.parametrize("body", [
    lambda x: int(x.shape[0] == 1 and x.shape[1] > 30),
    lambda x: int(x.shape[0] == 3 and 20 <= x.shape[1] < 22),
    lambda x: int(x.shape[0] == x.shape[1] + 1),
    lambda x: int(x.shape[1] == 2 * x.shape[0]),
    lambda x: int(x.shape[0] * x.shape[1] == 36),
    lambda x: (2 if x.shape[1] == 31 else 1) if x.shape[0] > x.shape[1] else 0,
    lambda x: int(x.numel() > 1000) + int(x.numel() > 1100)])
def test_ways_of_two_symbols(body):
    ways, found, _ = ways_found(body, [(1, 40), (1, 40)], [2, 9])
    assert len(ways) > 1 and found == set(ways)


def test_what_is_not_asked_costs_nothing():
    assert len(ways_found(lambda x: int(x.sum() is None), [(1, 400)], [9])[2]) == 3


def test_many_stretches_are_tried_at_some():
    """Two answers that alternate are no reason to capture at every size."""
    _, found, points = ways_found(lambda x: first_of(x) % 2, [(1, 400)], [9])
    assert found == {0, 1} and len(points) < 12
