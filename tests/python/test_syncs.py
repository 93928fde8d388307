"""Values that leave the graph: guards where they steer, errors where they are baked in, notes where they do nothing."""

import inspect
import math
import random
import time

import numpy as np
import pytest
import torch
from torch import nn

import lazyrt


def line_of(function, text):
    """Line of the function's source that holds the text."""
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


class EarlyExit(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.short, self.long = nn.Linear(4, 8), nn.Linear(8, 3), nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))

    def forward(self, x):
        y = self.body(x)
        if x.mean() > 0:
            return self.short(y)
        return self.long(y)


class Capsules(nn.Module):
    """Routing by agreement that stops when the coefficients have settled."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6, 3, 4, 5) * 0.3)

    def forward(self, u):
        votes = torch.einsum("ijkl,bil->bijk", self.weight, u)
        logits = torch.zeros(u.shape[0], 6, 3)
        for step in range(20):
            share = logits.softmax(-1)
            total = (share[..., None] * votes).sum(1)
            norm = total.pow(2).sum(-1, keepdim=True)
            pose = total * norm / (1 + norm) / (norm + 1e-6).sqrt()
            update = (votes * pose[:, None]).sum(-1)
            logits = logits + update
            delta = update.abs().max().item()
            if delta < 0.05:
                break
        return pose


class Tacotron(nn.Module):
    """Frames until the stop token fires."""

    def __init__(self):
        super().__init__()
        self.cell, self.frame, self.stop = nn.GRUCell(4, 8), nn.Linear(8, 4), nn.Linear(8, 1)
        with torch.no_grad():
            self.stop.bias.fill_(-2.0)

    def forward(self, text):
        hidden, frame, frames = text, torch.zeros(text.shape[0], 4), []
        while len(frames) < 12:
            hidden = self.cell(frame, hidden)
            frame = self.frame(hidden)
            frames.append(frame)
            gate = self.stop(hidden) + 0.5 * len(frames)
            if (torch.sigmoid(gate) > 0.6).all():
                break
        return torch.stack(frames, 1)


def test_early_exit(roundtrip, close):
    model, x = EarlyExit().eval(), torch.rand(2, 4)
    report, program, eager = roundtrip(model, (x,))
    assert report.verdict == "SPECIALIZED"
    assert [guard.line for guard in report.guards] == [line_of(EarlyExit.forward, "if x.mean() > 0")]
    assert report.guards[0].file.endswith("test_syncs.py") and report.guards[0].seen is True
    close(program(x), eager)
    close(program(x * 0.5), model(x * 0.5))
    with pytest.raises(lazyrt.GuardError, match=rf"test_syncs.py:{report.guards[0].line}"):
        program(-x)
    close(program(x), eager)


def test_capsules(roundtrip, close):
    torch.manual_seed(1)
    model, u = Capsules().eval(), torch.randn(2, 6, 5)
    report, program, eager = roundtrip(model, (u,))
    assert report.verdict == "SPECIALIZED" and len(report.guards) >= 2
    assert {guard.line for guard in report.guards} == {line_of(Capsules.forward, "if delta < 0.05")}
    close(program(u), eager)
    close(program(u * 1.001), model(u * 1.001))


def test_tacotron(roundtrip, close):
    torch.manual_seed(2)
    model, text = Tacotron().eval(), torch.randn(2, 8)
    report, program, eager = roundtrip(model, (text,))
    assert 1 < eager.shape[1] < 12 and len(report.guards) == eager.shape[1]
    assert {guard.line for guard in report.guards} == {line_of(Tacotron.forward, "if (torch.sigmoid(gate)")}
    close(program(text), eager)
    near = text + 0.01
    close(program(near), model(near))


def test_a_number_that_goes_back_is_no_constant(roundtrip, close):
    """item() of a float keeps its tensor."""

    def model(x):
        scale = x.abs().max().item()
        y = x / (scale + 1e-6) if scale > 0.5 else x
        return y, scale, torch.full((2,), scale * 2)

    x = torch.randn(5)
    report, program, eager = roundtrip(model, (x,))
    assert [guard.seen for guard in report.guards if not guard.check] == [True]
    for given in (x, x * 3):
        result, expected = program(given), model(given)
        close(result[0], expected[0])
        assert isinstance(result[1], float) and math.isclose(result[1], expected[1], rel_tol=1e-6)
        close(result[2], expected[2])


def smuggle_through_item(x):
    scale = math.hypot(x.mean().item(), 1.0)
    return x * scale


def smuggle_through_numpy(x):
    table = np.tanh(x.numpy())
    return x + torch.from_numpy(table).sum()


def smuggle_through_random(x):
    return x * random.random()


@pytest.mark.parametrize("model, text", [
    (smuggle_through_item, ".item()"),
    (smuggle_through_numpy, ".numpy()"),
])
def test_baked_values_fail(bundle, model, text):
    with pytest.raises(lazyrt.ExportError) as raised:
        lazyrt.export(model, (torch.randn(4),), bundle)
    assert f"test_syncs.py:{line_of(model, text)}" in str(raised.value), raised.value
    assert raised.value.report.verdict == "BROKEN"
    assert any(finding.id == "baked-value" and finding.severity == "error" for finding in raised.value.findings)
    report = lazyrt.export(model, (torch.randn(4),), bundle, allow=("baked-value",))
    assert report.verdict == "ALLOWED" and report.findings[0].allowed


def test_a_list_keeps_its_elements(roundtrip, close):
    """Sorting guards the order; the numbers stay in the graph."""

    def model(x):
        return x + torch.tensor(sorted(x.tolist()))

    x = torch.tensor([3.0, 1.0, 2.0])
    report, program, eager = roundtrip(model, (x,))
    assert report.verdict == "SPECIALIZED" and all(guard.seen in (True, False) for guard in report.guards)
    close(program(x), eager)
    close(program(x * 7), model(x * 7))
    with pytest.raises(lazyrt.GuardError):
        program(-x)


def test_pythons_random_numbers_fail(bundle):
    state = random.getstate()
    with pytest.raises(lazyrt.ExportError) as raised:
        lazyrt.export(smuggle_through_random, (torch.randn(4),), bundle)
    assert f"test_syncs.py:{line_of(smuggle_through_random, 'random.random()')}" in str(raised.value)
    assert random.getstate() == state


def test_masks_and_nonzero(roundtrip, close):
    def model(x):
        kept = x[x > 0]
        return kept.sum(), kept * 2, torch.nonzero(x > 1)

    x = torch.tensor([0.5, -1.0, 2.0, 3.0])
    report, program, eager = roundtrip(model, (x,))
    assert report.verdict == "SPECIALIZED"
    for given in (x, x[[1, 2, 3, 0]]):
        for ours, expected in zip(program(given), model(given)):
            close(ours, expected)
    with pytest.raises(lazyrt.GuardError, match="test_syncs.py"):
        program(-x)


def test_integers_that_steer(roundtrip, close):
    def model(x, n):
        for _ in range(int(n)):
            x = x * 2
        return x[: n.item()]

    x, n = torch.randn(5), torch.tensor(3)
    report, program, eager = roundtrip(model, (x, n))
    close(program(x, n), eager)
    with pytest.raises(lazyrt.GuardError):
        program(x, torch.tensor(4))


def test_without_a_second_trace(bundle):
    report = lazyrt.export(lambda x: x * time.perf_counter(), (torch.randn(4),), bundle, second_trace=False, check="none")
    assert report.verdict in ("SOUND", "SPECIALIZED")
    with pytest.raises(lazyrt.ExportError, match="random"):  # draws are seen as they happen
        lazyrt.export(smuggle_through_random, (torch.randn(4),), bundle, second_trace=False, check="none")


def test_interrupt_in_the_second_trace(bundle, tmp_path):
    log = tmp_path / "calls"  # a file: what a program keeps in Python is put back after each trace

    def model(x):
        with log.open("a") as file:
            file.write("call\n")
        if len(log.read_text().split()) == 2:
            raise KeyboardInterrupt
        return x + 1

    with pytest.raises(KeyboardInterrupt):
        lazyrt.export(model, (torch.randn(4),), bundle)
    assert len(log.read_text().split()) == 2


class TakenOrZero(torch.nn.Module):
    def forward(self, table, at):
        try:
            return table[at] + 0
        except IndexError:
            return table[0] * 0


@pytest.mark.parametrize("place", [-4, -6, 3])
def test_an_index_outside_of_both_ends_is_refused_where_eager_catches_its_error(bundle, place):
    table = torch.tensor([1.0, 2.0, 3.0])
    lazyrt.export(TakenOrZero(), (table, torch.tensor(1)), bundle)
    program = lazyrt.load(bundle)
    assert program(table, torch.tensor(-3)) == 1
    with pytest.raises(lazyrt.Error):
        program(table, torch.tensor(place))


def test_a_mask_with_more_places_than_values_is_refused_where_eager_catches_its_error(bundle):
    class Fills(torch.nn.Module):
        def forward(self, x, mask):
            try:
                return x.masked_scatter(mask, torch.tensor([9.0, 8.0]))
            except RuntimeError:
                return x

    x, mask = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([True, False, True])
    lazyrt.export(Fills(), (x, mask), bundle)
    program = lazyrt.load(bundle)
    assert program(x, ~mask).tolist() == [1, 9, 3]
    with pytest.raises(lazyrt.Error):
        program(x, torch.ones(3, dtype=torch.bool))


def raises_on_two_tensors(x):
    if not [x[0], x[1]] != [0, 0]:
        raise ValueError("an empty image")
    return x * 2


def raises_on_a_pair(x):
    height, width = x.tolist()
    if (height, width) == (0, 0):
        raise ValueError("an empty image")
    return x * 2


def raises_on_a_named_list(x):
    wrong, found = [0, 0], x.tolist()
    if found == wrong:
        raise ValueError("an empty image")
    return x * 2


@pytest.mark.parametrize("program", [raises_on_a_pair, raises_on_a_named_list, raises_on_two_tensors])
def test_containers_that_are_compared_ask_for_numbers_that_raise_nothing_alone(bundle, program):
    report = lazyrt.export(program, (torch.tensor([1, 3]),), bundle)
    assert report.verdict == "SPECIALIZED" and not any(guard.check for guard in report.guards)
    with pytest.raises(lazyrt.GuardError, match="another path"):
        lazyrt.load(bundle)(torch.tensor([0, 3]))  # eager serves it


def raises_on_a_sum(x):
    height, width = x.tolist()
    if height + width == 0:
        raise ValueError("an empty image")
    return x * 2


def raises_where_it_is_high(x):
    height, width = x.tolist()
    if not height < width:
        raise ValueError("a high image")
    return x * 2


@pytest.mark.parametrize("program", [raises_on_a_sum, raises_where_it_is_high])
def test_numbers_that_are_compared_are_checked(bundle, program):
    assert lazyrt.export(program, (torch.tensor([1, 3]),), bundle).verdict == "SOUND"
    with pytest.raises(lazyrt.GuardError, match="a check of the model"):
        lazyrt.load(bundle)(torch.tensor([0, 0]))
