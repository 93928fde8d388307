"""What libraries keep for the process, and programs change: seen, followed and put back."""

import collections
import contextvars

import pytest
import torch
from lazyrt import _tracer
from torch import nn

import lazyrt

X = torch.arange(4.0)


def test_tables_that_have_changed_are_told_once():
    tables = [{"a": 1}, [1, 2], {3}, collections.OrderedDict(b=2)]
    watch = _tracer.TableWatch(tables)
    assert watch.changed() == []
    tables[0]["a"], tables[1][0] = 5, 6
    tables[3].move_to_end("b")
    assert watch.changed() == [0, 1]
    assert watch.copies == [{"a": 5}, [6, 2], {3}, {"b": 2}]
    tables[0]["a"] = 5  # what it was
    tables[2].add(7)
    assert watch.changed() == [2]
    assert watch.changed() == []


def test_what_cannot_be_compared_has_changed():
    table = {"x": torch.zeros(2)}
    watch = _tracer.TableWatch([table])
    assert watch.changed() == []
    table["x"] = torch.zeros(2)
    assert watch.changed() == [0]
    assert watch.copies[0]["x"] is table["x"]


@pytest.mark.parametrize("owner, name, value", [
    (torch.hub, "_hub_dir", "/nowhere"), (nn.init, "ones_", lambda tensor: tensor), (nn.Linear, "reset_parameters", lambda self: None), (nn.Linear, "made_up", 3),
], ids=["text", "function", "method", "made up"])
def test_attributes_of_libraries_are_followed_and_put_back(tmp_path, owner, name, value):
    def program(x):
        if getattr(owner, name, None) is value:
            return x * 2
        setattr(owner, name, value)
        return x * 3

    before = vars(owner).get(name)
    lazyrt.export(program, (X,), tmp_path / "m.lzb")
    assert vars(owner).get(name) is before
    bundle = lazyrt.load(tmp_path / "m.lzb")
    assert [bundle(X).tolist() for _ in range(3)] == [(X * 3).tolist(), (X * 2).tolist(), (X * 2).tolist()]


def test_contexts_that_a_program_keeps_are_phases(tmp_path):
    turn = contextvars.ContextVar("turn", default=0)
    context = contextvars.Context()

    def advance():
        turn.set((turn.get() + 1) % 3)
        return turn.get()

    lazyrt.export(lambda x: x * context.run(advance), (X,), tmp_path / "m.lzb")
    assert context.run(turn.get) == 0
    bundle = lazyrt.load(tmp_path / "m.lzb")
    assert [bundle(X)[1].item() for _ in range(5)] == [1, 2, 0, 1, 2]
