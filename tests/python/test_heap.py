"""State in places that no picture knows: what the export says of it, and what it leaves behind."""

import configparser
import dataclasses
import gc
import logging
import sys
import threading
import types

import pytest
import torch
from torch import nn

import lazyrt
from lazyrt import _tracer, tripwire
from lazyrt.heap import is_class_of_library, is_of_library
from lazyrt.tensors import is_lazy

X = torch.arange(3.0)


class Configured(nn.Module):
    def __init__(self):
        super().__init__()
        self.cfg = configparser.ConfigParser()
        self.cfg.read_string("[run]\nstep = 0\nscale = 2")

    def forward(self, x):
        run = self.cfg["run"]
        run["step"] = str(run.getint("step") + 1)
        return x * run.getfloat("scale") if run.getint("step") <= 300 else x * 0


class Hidden(nn.Module):
    """Keeps a list in an object of a library that stands for what is not the program's own."""

    def __init__(self):
        super().__init__()
        self.format = logging.Formatter("%(message)s")
        self.format.steps = [0]

    def forward(self, x):
        self.format.steps[0] += 1
        return x * 2 if self.format.steps[0] <= 300 else x * 0


def findings_of(program, path):
    with pytest.raises(lazyrt.ExportError) as raised:
        lazyrt.export(program, (X,), path)
    return [finding for finding in raised.value.report.findings if finding.severity == "error"]


def test_names_the_object_and_its_path(tmp_path):
    (finding,) = findings_of(Hidden(), tmp_path / "m.lzb")
    assert finding.id == "changing-attribute"
    assert "changes a Formatter" in finding.message and "model.format.steps" in finding.message
    assert "an attribute" in finding.suggestion


def test_puts_back_what_it_has_found(tmp_path):
    program = Hidden()
    findings_of(program, tmp_path / "m.lzb")
    assert program.format.steps == [0]


def test_can_be_allowed(tmp_path):
    lazyrt.export(Hidden(), (X,), tmp_path / "m.lzb", allow=["changing-attribute"])


def test_objects_of_the_library_are_state_as_others_are(tmp_path):
    program = Configured()
    (finding,) = findings_of(program, tmp_path / "m.lzb")
    assert "'cfg._sections['run']['step']' changes with every call" in finding.message
    assert program.cfg["run"]["step"] == "0"


def test_what_changes_once_and_cannot_be_put_back_is_an_error(tmp_path):
    class Warm(Hidden):
        def forward(self, x):
            first = self.format.steps == [0]
            self.format.steps = self.format.steps if len(self.format.steps) > 1 else [0, 1]
            return torch.where(x == -999.0, 1.0 if first else 2.0, x)

    found = findings_of(Warm(), tmp_path / "m.lzb")
    assert any("changes a Formatter" in finding.message for finding in found)


def test_what_settles_is_no_change(tmp_path):
    class Settles(Configured):
        def forward(self, x):
            self.cfg["run"]["step"] = "1"
            return x * self.cfg["run"].getfloat("scale")

    lazyrt.export(Settles(), (X,), tmp_path / "m.lzb")


def test_other_threads_are_not_the_program(tmp_path):
    class Meter:
        def __init__(self):
            self.counts, self.goes_on = [0], True

        def run(self):
            while self.goes_on:
                self.counts[0] += 1

    meter = Meter()
    thread = threading.Thread(target=meter.run)
    thread.start()
    try:
        lazyrt.export(nn.Linear(3, 3), (X,), tmp_path / "m.lzb")
    finally:
        meter.goes_on = False
        thread.join()


def test_what_was_only_written_is_tried_out(tmp_path):
    class Reads(nn.Module):
        def __init__(self):
            super().__init__()
            self.log = []

        def forward(self, x):
            self.log.append(1.0)
            return x * 2 if len(torch.utils._pytree.tree_leaves(self.log)) <= 300 else x * 0

    (finding,) = findings_of(Reads(), tmp_path / "m.lzb")
    assert "'log' changes with every call" in finding.message


def test_what_is_only_written_stays_a_note(tmp_path):
    class Writes(nn.Module):
        def __init__(self):
            super().__init__()
            self.log, self.last, self.names = [], None, {}

        def forward(self, x):
            self.log.append(x * 2)
            self.last = x + 1
            self.names["last"] = x
            return x * 2

    report = lazyrt.export(Writes(), (X,), tmp_path / "m.lzb")
    assert str(report.verdict) == "SOUND"
    assert "only-written" in {finding.id for finding in report.findings}


def test_lazy_tensors_in_hidden_places_are_named_and_put_back(tmp_path):
    class Memory(nn.Module):
        def __init__(self):
            super().__init__()
            self.state = logging.Formatter()
            self.state.memory = torch.zeros(3)

        def forward(self, x):
            self.state.memory = self.state.memory * 0.5 + x
            return self.state.memory

    program = Memory()
    with pytest.raises(lazyrt.ExportError, match=r"in a Formatter, .*'model\.state\.memory'"):
        lazyrt.export(program, (X,), tmp_path / "m.lzb")
    assert torch.equal(program(X), X)


def test_tensors_as_keys_have_a_message(tmp_path):
    class Keyed(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))
            self.gain = {self.weight: 2.0}

        def forward(self, x):
            return x * self.gain[self.weight]

    with pytest.raises(lazyrt.ExportError, match="names as keys"):
        lazyrt.export(Keyed(), (X,), tmp_path / "m.lzb")


def test_whose_a_module_is():
    assert is_of_library(sys) and is_of_library(torch) and is_of_library(lazyrt) and is_of_library(torch.ops)
    assert not is_of_library(sys.modules[__name__]) and not is_of_library(types.ModuleType("state"))
    assert is_class_of_library(nn.Linear) and is_class_of_library(configparser.ConfigParser) and not is_class_of_library(Configured)
    assert not is_class_of_library(dataclasses.make_dataclass("State", ["a"]))


def test_nothing_of_the_heap_is_kept(tmp_path):
    lazyrt.export(nn.Linear(3, 3), (X,), tmp_path / "m.lzb")
    gc.collect()
    gc.collect()  # what the first round finalizes goes with the second
    assert not [value for value in gc.get_objects() if type(value).__name__ == "Heap"]


def test_captures_leave_no_lazy_tensors_to_the_garbage_collector(tmp_path, monkeypatch):
    """Else the whole heap is searched after each capture for who holds them."""
    left, refuse_lazy = [], tripwire.Tripwire.refuse_lazy

    def refuse(self):
        with torch._C.DisableTorchFunction():
            left.append(sum(map(is_lazy, gc.get_objects())))
        refuse_lazy(self)

    monkeypatch.setattr(tripwire.Tripwire, "refuse_lazy", refuse)
    model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU()).eval()
    lazyrt.export(lambda x: {"y": model(x), "rows": [x.sum(0)]}, (torch.randn(3, 8),), tmp_path / "m.lzb", dynamic={"x": {0: ("n", 1, 4)}})
    assert left and not any(left)


class Plain:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class Unwilling:
    pass


def walked(*groups, most_objects=100, most_items=3):
    """Of a walk in which a list too long is asked for, and an Unwilling raises: (nodes, came, complete, types asked for)"""
    asked = []

    def opener_of(kind):
        asked.append(kind)
        if kind is Unwilling:
            return lambda value: 1 / 0
        return {list: lambda value: (len(value), value[:1]), Plain: True}.get(kind)

    return (*_tracer.walk_heap(list(groups), {int, str}, (CLOSED,), opener_of, most_objects, most_items), asked)


CLOSED = []


def test_walk_goes_through_cycles_by_levels():
    ring = {"a": []}
    ring["a"].append((ring, CLOSED, 3))
    nodes, came, complete, _ = walked([("ring", ring)])
    assert complete and nodes.keys() == {id(ring), id(ring["a"]), id(ring["a"][0])}
    assert nodes[id(ring)] == (ring, None, ["a", ring["a"]])
    assert came[id(ring)] == "ring" and came[id(ring["a"][0])] == id(ring["a"])


def test_walk_reads_instances_and_asks_of_others():
    long, plain = [[1], [2], [3], [4]], Plain(x=[1])
    plain.ring = plain
    nodes, _, _, asked = walked([("long", long)], [("plain", plain)])
    assert asked == [list, Plain, type]
    assert nodes[id(long)] == (long, 4, [[1]]) and id(long[1]) not in nodes
    assert nodes[id(plain)][2][0] is plain.__dict__ and plain.__dict__ not in nodes[id(plain)][2][1:]


def test_walk_looks_at_what_an_unwilling_object_refers_to():
    value = Unwilling()
    value.kept = [7]
    nodes, *_ = walked([("value", value)])
    assert id(value.kept) in nodes


def test_walk_ends_at_its_limit():
    chain = []
    for _ in range(9):
        chain = [chain]
    nodes, _, complete, _ = walked([("chain", chain)], most_objects=5)
    assert len(nodes) == 5 and not complete


def test_nodes_that_differ():
    kept, changed, gone = [1], [2], [3]
    before, *_ = walked([("", kept), ("", changed), ("", gone)])
    changed.append(3)
    after, *_ = walked([("", kept), ("", changed), ("", [4])])
    assert _tracer.differing_nodes(before, after) == [id(changed)]


class Mocked:
    """As pydantic's stand-ins do, it raises when it is asked for what it does not have."""

    __slots__ = ()

    def __getattr__(self, name):
        raise RuntimeError(name)


class HoldsMocked(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.held = Mocked()

    def forward(self, x):
        return x * 2


def test_what_raises_when_asked_for_attributes_is_no_matter(tmp_path):
    lazyrt.export(HoldsMocked(), (X,), tmp_path / "m.lzb")
    assert lazyrt.load(tmp_path / "m.lzb")(X).tolist() == [0, 2, 4]
