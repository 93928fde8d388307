"""The bundle beside the program at every size: which points are tried, and what counts as far apart."""

import dataclasses
import types

import numpy as np
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


def test_each_symbol_has_all_its_sizes_tried():
    points = points_to_try(sizes_of([8, 8], (1, 800, 1), (1, 900, 1)), (set(), set()))
    assert {(n, 8) for n in range(1, 801)} | {(8, n) for n in range(1, 901)} <= set(points)


def test_long_ranges_and_many_numbers_take_no_time():
    points = points_to_try(sizes_of([8, 8], (1, 10**8, 1), (1, 10**8, 1)), (set(range(3000)), set(range(10**9, 10**9 + 3000))))
    assert len(points) < 12 * 1024


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


@dataclasses.dataclass
class Result:
    array: np.ndarray
    text: str
    more: list


class Nested(torch.nn.Module):
    def forward(self, x):
        scale = 3.0 if int(x.shape[0]) == 137 else 1.0
        return Result((x * scale).numpy(), "rows", [None, (x.sum(), 7)])


def test_results_of_all_kinds_are_compared(tmp_path):
    path = tmp_path / "m.lzb"
    lazyrt.export(Nested(), (torch.ones(37, 2),), path, dynamic={"x": {0: ("n", 8, 420)}})
    program = lazyrt.load(path)
    for size in (136, 137, 138):
        x = torch.ones(size, 2)
        ours, theirs = program(x), Nested()(x)
        assert np.array_equal(ours.array, theirs.array) and ours.text == theirs.text and ours.more == theirs.more


def swept(monkeypatch, ours, eager):
    """Points that part, of one symbol of 1 to 9: `ours` and `eager` take the input."""
    monkeypatch.setattr(size_sweep, "load", lambda path: type("Program", (), {"reset": lambda self: None, "__call__": lambda self, x: ours(x)})())
    sizes = sizes_of([4], (1, 9, 1))
    sizes.resized = lambda target, sample, point: types.SimpleNamespace(inputs=[("x", torch.ones(point))], call=lambda tensors: (tensors, {}))
    sizes.text = str
    try:
        size_sweep.sweep(sizes, "", None, None, lambda example: eager(example.inputs[0][1]), (set(), set()), {(4,)})
    except size_sweep.SizesPart as found:
        return sorted(found.points)
    return []


def test_what_eager_does_at_one_size_is_found(monkeypatch):
    assert swept(monkeypatch, lambda x: x, lambda x: x * (2 if len(x) == 7 else 1)) == [(7,)]


def test_what_the_last_places_of_inputs_decide_is_no_suspicion(monkeypatch):
    assert swept(monkeypatch, lambda x: torch.tensor(0), lambda x: (x == 1).all().to(torch.int64)) == []


def test_sizes_that_one_of_both_refuses_are_left_out(monkeypatch):
    def refuses(x):
        raise ValueError("no")

    assert swept(monkeypatch, refuses, lambda x: x) == swept(monkeypatch, lambda x: x, refuses) == []
