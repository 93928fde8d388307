"""The bundle beside the program at every size: which points are tried, and what counts as far apart."""

import types

import pytest
import torch

import lazyrt
from lazyrt import size_sweep
from lazyrt.size_sweep import numbers_held, points_to_try


def sizes_of(sample, *bounds):
    return types.SimpleNamespace(sample=list(sample), symbols=[types.SimpleNamespace(least=least, most=most, multiple=multiple) for least, most, multiple in bounds])


def test_all_sizes_of_a_short_range_are_tried():
    assert sorted(points_to_try(sizes_of([8], (4, 40, 4)), (set(), set()))) == [(n,) for n in range(4, 41, 4)]


def test_numbers_of_functions_come_first():
    points = points_to_try(sizes_of([8000], (500, 100_000, 1)), ({16000, 7}, {500}))
    assert sorted(points[:3]) == [(15999,), (16000,), (16001,)]
    assert sorted(points[3:5]) == [(500,), (501,)]
    assert len(points) <= 5 + 1024


def test_areas_are_tried_by_their_sides():
    assert (209, 221) in points_to_try(sizes_of([32, 48], (8, 400, 1), (8, 400, 1)), ({209 * 221}, set()))


def test_numbers_are_found_in_nested_code_and_containers():
    def outer():
        return (lambda x: x == 137, (61, 62))

    written, held = numbers_held({1: (outer, None, []), 2: ({}, None, ["key", 5, True, 61])})
    assert {137, 61, 62} <= written and held == {5}


@pytest.mark.parametrize("ours, theirs, is_far", [
    (torch.ones(3), torch.ones(3) * (1 + 1e-5), False),
    (torch.ones(3), torch.ones(3) * 1.01, True),
    (torch.ones(3), torch.ones(4), True),
    (torch.tensor([1, 2]), torch.tensor([1, 3]), True),
    (torch.tensor([1.0, float("nan")]), torch.tensor([1.0, float("nan")]), False),
    (torch.tensor([1.0, float("inf")]), torch.tensor([1.0, float("-inf")]), True),
    ({"a": torch.ones(2), "b": "text"}, {"a": torch.ones(2), "b": "texts"}, True),
    ([torch.ones(2)], [torch.ones(2), torch.ones(2)], True),
])
def test_far(ours, theirs, is_far):
    assert size_sweep._are_far(ours, theirs, lambda: theirs) is is_far


def test_what_the_last_places_of_inputs_change_is_not_far():
    assert not size_sweep._are_far(torch.tensor([1, 2]), torch.tensor([1, 3]), lambda: torch.tensor([1, 2]))


class AtOneSize(torch.nn.Module):
    def forward(self, x):
        return x * 3 if int(x.shape[0]) == 137 else x


def test_a_size_that_c_reads_becomes_a_range(tmp_path):
    path = tmp_path / "m.lzb"
    lazyrt.export(AtOneSize(), (torch.ones(37, 2),), path, dynamic={"x": {0: ("n", 8, 420)}})
    program = lazyrt.load(path)
    for size in (136, 137, 138):
        x = torch.ones(size, 2)
        assert torch.equal(program(x), AtOneSize()(x))


def test_the_sample_check_does_not_look(tmp_path):
    lazyrt.export(AtOneSize(), (torch.ones(37, 2),), tmp_path / "m.lzb", dynamic={"x": {0: ("n", 8, 420)}}, check="sample")
