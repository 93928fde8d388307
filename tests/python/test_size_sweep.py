"""The bundle beside the program at every size: the numbers that are tried first, and what comes of a difference."""

import dataclasses
import os

import numpy as np
import pytest
import torch

import lazyrt
from lazyrt.sizes.size_numbers import numbers_held


def test_numbers_are_found_in_nested_code_and_containers():
    def outer():
        return (lambda x: x == 137, (61, 62))

    written, held = numbers_held([(outer, []), ({}, ["key", 5, True, 61, 3.0, "at96x37"]), ([], list(range(1000, 1100)))])
    assert {137, 61, 62} <= written and {3, 5, 96, 37} == held


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


class Scattered(torch.nn.Module):
    def forward(self, x):
        return x * 2 if int(x.shape[0]) * 7919 % 31 == 5 else x


def test_sizes_without_a_pattern_fail(tmp_path):
    with pytest.raises(lazyrt.ExportError, match="n="):
        lazyrt.export(Scattered(), (torch.ones(37, 2),), tmp_path / "m.lzb", dynamic={"x": {0: ("n", 8, 1000)}})
    assert not os.listdir(tmp_path)


def test_the_report_tells_how_many_sizes_were_tried(tmp_path):
    report = lazyrt.export(lambda x: x * 2, (torch.ones(37, 2),), tmp_path / "m.lzb", dynamic={"x": {0: ("n", 8, 420)}})
    assert 20 < report.to_json()["checked"]["sizes"] <= 40 and "more sizes" in str(report)
