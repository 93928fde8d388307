"""The way that the program's own code takes in the capture, beside the one that it takes in eager."""

import sys

import numpy
import pytest
import torch

import lazyrt
from lazyrt import steps


def of_its_class(x):
    if isinstance(x, torch.FloatTensor) and x.max() > 3:
        return x * 0
    return x * 2


LINE = of_its_class.__code__.co_firstlineno + 1


def test_another_way_fails_by_line(bundle):
    with pytest.raises(lazyrt.ExportError) as caught:
        lazyrt.export(of_its_class, (torch.rand(4),), bundle)
    assert f"test_paths.py:{LINE}: error: the program goes on otherwise from here" in str(caught.value)
    assert "[other-path]" in str(caught.value)


def test_it_may_be_allowed(bundle):
    report = lazyrt.export(of_its_class, (torch.rand(4),), bundle, allow=[f"other-path@test_paths.py:{LINE}"])
    assert any(finding["id"] == "other-path" for finding in report.to_json()["findings"])


def test_nothing_is_compared_where_somebody_else_traces_the_thread(bundle):
    sys.settrace(lambda *event: None)
    try:
        lazyrt.export(of_its_class, (torch.rand(4),), bundle, check="none")
    finally:
        sys.settrace(None)


def counted(x, n):
    total = 0
    for i in range(200):
        total += i
    return x * n.item() + total


@pytest.mark.parametrize("most, is_followed", [(steps._MOST, True), (100, False)])
def test_numbers_are_followed_as_far_as_the_way_is_known(bundle, monkeypatch, most, is_followed):
    monkeypatch.setattr(steps, "_MOST", most)
    lazyrt.export(counted, (torch.rand(3), torch.tensor(2)), bundle)
    program, x = lazyrt.load(bundle), torch.rand(3)
    if is_followed:
        torch.testing.assert_close(program(x, torch.tensor(5)), counted(x, torch.tensor(5)))
    else:
        with pytest.raises(lazyrt.Error, match="was 2 when exported, now 5"):
            program(x, torch.tensor(5))


def test_the_first_call_may_fill_a_cache(bundle):
    made = {}

    def ramp(n):
        if n not in made:
            made[n] = torch.arange(float(n))
        return made[n]

    report = lazyrt.export(lambda x: x + ramp(x.shape[0]), (torch.rand(4),), bundle)
    assert report.verdict == "SOUND"


def cleaned(x):
    try:
        return torch.from_numpy(numpy.frombuffer(x, numpy.float32).copy())
    except (TypeError, ValueError, BufferError):
        return torch.from_numpy(x)


def test_code_that_refuses_the_stand_in_of_an_array(bundle):
    with pytest.raises(lazyrt.ExportError, match=r"\[(other-path|changing-attribute)\]"):
        lazyrt.export(cleaned, (numpy.ones(3, numpy.float32),), bundle)


class TestSteps:
    def run(self, value):
        with steps.Steps() as taken:
            self.take(value)
        return taken

    def take(self, value):
        if value:
            return 1
        return 2

    def test_one_way_is_one(self):
        assert self.run(True).parting(self.run(True)) is None

    def test_the_place_is_where_they_part(self):
        file, line = self.run(True).parting(self.run(False))
        assert (file, line) == (__file__, self.take.__code__.co_firstlineno + 1)

    def test_a_run_that_ends_early_parts_at_its_end(self):
        none, some = steps.Steps(), self.run(True)
        with none:
            pass
        assert none.parting(some) is not None and some.parting(none) is not None
