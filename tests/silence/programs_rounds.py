"""Programs that change what nobody sees in some of their calls only, or in objects that they get hold of by a call."""

import asyncio
import configparser
import dataclasses
import itertools
import logging
import logging.handlers
import multiprocessing
from concurrent.futures import Future

import numpy as np
import torch
from harness import Call, case
from torch import nn

X = [(torch.arange(6.0).reshape(2, 3) + i,) for i in range(3)]
LONG = X * 20
LIMIT = 20  # past what an export runs, of changes that come in every other call
NAMES = itertools.count()


def configuration():
    found = configparser.ConfigParser()
    found.read_string("[run]\nframes = 0")
    return found


def count_in(found):
    found["run"]["frames"] = str(found.getint("run", "frames") + 1)


class InTurns(nn.Module):
    """change(kept) in one call of `turns`; x * 2 until size(kept) is LIMIT, zeros after."""

    def __init__(self, turns, kept, change, size):
        super().__init__()
        self.turns, self.turn, self.kept, self.change, self.size = turns, 0, kept, change, size

    def __deepcopy__(self, memo):
        return self

    def forward(self, x):
        self.turn = (self.turn + 1) % self.turns
        if self.turn == 0:
            self.change(self.kept)
        return x * 2 if self.size(self.kept) < LIMIT else x * 0


def late(make):
    return case(X[0], LONG, expect=("refused", "failed"))(make)


@late
def configuration_in_every_other_call():
    return InTurns(2, configuration(), count_in, lambda kept: kept.getint("run", "frames"))


@case(X[0], LONG * 2, expect=("refused", "failed"))
def configuration_in_every_third_call():
    return InTurns(3, configuration(), count_in, lambda kept: kept.getint("run", "frames"))


@late
def future_in_every_other_call():
    future = Future()
    future.set_result([])
    return InTurns(2, future, lambda kept: kept.result().append(1), lambda kept: len(kept.result()))


@late
def records_in_every_other_call():
    handler = logging.handlers.MemoryHandler(10**6, flushLevel=100)
    return InTurns(2, handler, lambda kept: kept.emit(logging.makeLogRecord({"levelno": 20})), lambda kept: len(kept.buffer))


@late
def polynomial_in_every_other_call():
    class Shifting(nn.Module):
        def __init__(self):
            super().__init__()
            self.odd, self.curve = False, np.polynomial.Polynomial([0.0, 1.0])

        def forward(self, x):
            self.odd = not self.odd
            if self.odd:
                self.curve = self.curve + 1
            return x * 2 if self.curve(0) < LIMIT else x * 0

    return Shifting()


@case(X[0], LONG * 2, expect=("refused", "failed"))
def sections_in_turn():
    class Cameras(nn.Module):
        def __init__(self):
            super().__init__()
            self.camera, self.found = 0, configparser.ConfigParser()
            self.found.read_string("[0]\nn = 0\n[1]\nn = 0\n[2]\nn = 0")

        def __deepcopy__(self, memo):
            return self

        def forward(self, x):
            section = self.found[str(self.camera)]
            self.camera = (self.camera + 1) % 3
            section["n"] = str(section.getint("n") + 1)
            return x * 2 if section.getint("n") < LIMIT else x * 0

    return Cameras()


@case(Call([(torch.ones(2, 3),), (-torch.ones(2, 3),)]), [(-torch.ones(2, 3),)] * 60, expect=("refused", "failed"))
def configuration_in_the_second_sample():
    class Losses(nn.Module):
        def __init__(self):
            super().__init__()
            self.found = configuration()

        def __deepcopy__(self, memo):
            return self

        def forward(self, x):
            if x.sum() > 0:
                return x * 2
            count_in(self.found)
            return x * 2 if self.found.getint("run", "frames") < 50 else x * 0

    return Losses()


class Table:
    """What nobody may look into."""

    __slots__ = ("_item",)

    def __init__(self, item):
        self._item = asyncio.LifoQueue()
        self._item.put_nowait(item)

    def item(self):
        return self._item._queue[-1]


@case(torch.zeros(2, 3), [(torch.full((2, 3), float(i)),) for i in range(8)], expect=("right", "refused", "failed"))
def sums_of_an_example_of_zeros():
    """Adding zeros changes nothing."""
    class Sums(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = Table(torch.zeros(2, 3))

        def forward(self, x):
            self.table.item().add_(x)
            return self.table.item() * 1

    return Sums()


@case(X[0], X * 3)
def largest_number_in_a_future():
    """The same call a second time changes nothing."""
    class Largest(nn.Module):
        def __init__(self):
            super().__init__()
            self.future = Future()
            self.future.set_result([0.0])

        def __deepcopy__(self, memo):
            return self

        def forward(self, x):
            found = self.future.result()
            found[0] = max(found[0], x.max().item())
            return x - found[0]

    return Largest()


@late
def list_shared_with_a_future():
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.log, self.future = [], Future()
            self.future.set_result(self.log)

        def __deepcopy__(self, memo):
            return self

        def forward(self, x):
            self.log.append("tick")
            return x * 0 if len(self.future.result()) > 50 else x * 2

    return Shared()


Stats = dataclasses.make_dataclass("Stats", ["log"])


@late
def list_shared_with_a_made_dataclass():
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.log = []
            self.stats = Stats(self.log)

        def forward(self, x):
            self.log.append("tick")
            return x * 0 if len(self.stats.log) > 50 else x * 2

    return Shared()


class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.name = f"net{next(NAMES)}"

    def __deepcopy__(self, memo):
        return type(self)()


@late
def attribute_of_a_logger_by_name():
    class Counting(Named):
        def forward(self, x):
            log = logging.getLogger(self.name)
            log.calls = getattr(log, "calls", 0) + 1
            return x * 2 if log.calls < 50 else x * 0

    return Counting()


@case(X[0], X * 3, expect=("right",))
def sum_on_a_logger():
    """What a logger holds is state as any other."""
    class Sum(Named):
        def forward(self, x):
            log = logging.getLogger(self.name)
            log.total = getattr(log, "total", 0.0) + x.sum()
            return x * log.total

    return Sum()


@late
def attribute_of_a_context_of_processes():
    class Counting(Named):
        def forward(self, x):
            context = multiprocessing.get_context("forkserver")
            frames = vars(context).setdefault("frames", {})
            frames[self.name] = frames.get(self.name, 0) + 1
            return x * 2 if frames[self.name] < 50 else x * 0

    return Counting()


@late
def seed_as_a_counter():
    class Seeds(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(100)

        def forward(self, x):
            seed = torch.initial_seed()
            torch.manual_seed(seed + 1)
            return x * 2 if seed < 150 else x * 0

    return Seeds()


@late
def large_table_by_numpy():
    class Usage(nn.Module):
        def __init__(self):
            super().__init__()
            self.usage = torch.zeros(4_200_000, dtype=torch.int64)

        def forward(self, x):
            used = self.usage.numpy()
            used[77] += 1
            return x * 2 if used[77] < 50 else x * 0

    return Usage()


@case(X[0], X * 3, expect=("right",))
def handler_that_counts():
    class Counting(logging.Handler):
        def __init__(self):
            super().__init__()
            self.count = 0

        def emit(self, record):
            self.count += 1

    class Logs(Named):
        def __init__(self):
            super().__init__()
            self.log = logging.getLogger(self.name)
            self.log.setLevel(logging.INFO)
            self.log.propagate = False
            self.log.addHandler(Counting())

        def forward(self, x):
            self.log.info("step")
            return x * 2

    return Logs()


@case(X[0], X * 3, expect=("right",))
def draws_in_a_log():
    class Logs(nn.Module):
        def __init__(self):
            super().__init__()
            self.log = []

        def forward(self, x):
            self.log.append(torch.rand(()))
            return x * 2

    return Logs()


@case(X[0], X * 3, expect=("right",))
def caches_that_settle():
    """What is made at the first call, and then stays."""
    class Caching(nn.Module):
        def __init__(self):
            super().__init__()
            self.found = configuration()

        def __deepcopy__(self, memo):
            return type(self)()

        def forward(self, x):
            if not self.found.has_section(str(x.shape[1])):
                self.found.add_section(str(x.shape[1]))
            return x * 2

    return Caching()


@case((torch.tensor(1.0),), [(torch.tensor(v),) for v in (1.0, 0.9, 0.95, 0.97, 0.99, 0.2, 0.3, 0.3, 0.3)], expect=("right",))
def tensors_that_change_in_every_third_call():
    """A rate that is halved when nothing gets better: new tensors in each call, another value in some."""
    class Plateau(nn.Module):
        def __init__(self):
            super().__init__()
            self.best, self.bad, self.rate = torch.tensor(float("inf")), torch.tensor(0), torch.tensor(0.1)

        def forward(self, loss):
            better = loss < self.best * 0.99
            self.best = torch.where(better, loss, self.best)
            self.bad = torch.where(better, 0, self.bad + 1)
            fires = self.bad > 1
            self.rate = torch.where(fires, self.rate * 0.5, self.rate)
            self.bad.masked_fill_(fires, 0)
            return self.rate, self.best, self.bad + 0

    return Plateau()
