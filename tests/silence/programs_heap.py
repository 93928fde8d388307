"""Programs that keep their state where no list of places would look: objects of libraries, weak references, code that was put into libraries."""

import asyncio
import collections
import configparser
import contextlib
import contextvars
import copy
import csv
import dataclasses
import fractions
import functools
import hashlib
import importlib
import itertools
import logging.handlers
import mmap
import multiprocessing
import sys
import threading
import types
import weakref
from concurrent.futures import Future

import numpy as np
import torch
from harness import case
from torch import nn

X = [(torch.arange(6.0).reshape(2, 3) + i,) for i in range(3)]
LONG = X * 20  # the limit lies past what an export runs
LIMIT = 45
OWNERS = []


class Net(nn.Module):
    """x * 2 for the first LIMIT calls, zeros after; count() says how many there were."""

    def __init__(self, count):
        super().__init__()
        self.count = count

    def __deepcopy__(self, memo):
        return self

    def forward(self, x):
        return x * 2 if self.count() <= LIMIT else x * 0


class Counter:
    """Something that count() changes, in an attribute."""

    def __init__(self, kept, count):
        self.kept, self._count = kept, count

    def __call__(self):
        return self._count(self.kept)


def late(make):
    """A case of a program whose results change late."""
    return case(X[0], LONG, expect=("refused", "failed"))(make)


@late
def parser_of_configurations():
    kept = configparser.ConfigParser()
    kept.read_string("[run]\nstep = 0")

    def count(kept):
        kept["run"]["step"] = str(kept.getint("run", "step") + 1)
        return kept.getint("run", "step")

    return Net(Counter(kept, count))


@late
def shared_value():
    def count(kept):
        kept.value += 1
        return kept.value

    return Net(Counter(multiprocessing.Value("i", 0), count))


@late
def view_of_memory():
    def count(kept):
        kept[0] += 1
        return kept[0]

    return Net(Counter(memoryview(bytearray(8)).cast("q"), count))


@late
def mapped_memory():
    def count(kept):
        kept[0] += 1
        return kept[0]

    return Net(Counter(mmap.mmap(-1, 16), count))


@late
def running_hash():
    def count(kept):
        kept.update(b"step")
        seen = hashlib.sha256(b"seed")
        return next(n for n in range(1, 200) if seen.update(b"step") or seen.digest() == kept.digest())

    return Net(Counter(hashlib.sha256(b"seed"), count))


@late
def context_of_variables():
    step = contextvars.ContextVar("step", default=0)

    def more():
        step.set(step.get() + 1)
        return step.get()

    return Net(Counter(contextvars.Context(), lambda kept: kept.run(more)))


@late
def result_of_a_future():
    kept = Future()
    kept.set_result([])

    def count(kept):
        kept.result().append(1)
        return len(kept.result())

    return Net(Counter(kept, count))


@late
def last_in_first_out():
    def count(kept):
        kept.put_nowait(1)
        return kept.qsize()

    return Net(Counter(asyncio.LifoQueue(), count))


@late
def handler_with_records():
    def count(kept):
        kept.emit(logging.makeLogRecord({"msg": "step", "levelno": 20}))
        return len(kept.buffer)

    return Net(Counter(logging.handlers.MemoryHandler(10**6, flushLevel=100), count))


@late
def stack_of_exits():
    def count(kept):
        kept.callback(int)
        return len(kept._exit_callbacks)

    return Net(Counter(contextlib.ExitStack(), count))


@late
def lock_taken_again():
    def count(kept):
        kept.acquire()
        return int(repr(kept).partition("count=")[2].split()[0])

    return Net(Counter(threading.RLock(), count))


@late
def polynomial_in_place():
    def count(kept):
        kept.coef[0] += 1
        return kept.coef[0]

    return Net(Counter(np.polynomial.Polynomial([0.0, 1.0]), count))


@late
def function_in_a_ufunc():
    log = []

    def step(value):
        log.append(1)
        return len(log)

    return Net(Counter(np.frompyfunc(step, 1, 1), lambda kept: int(kept(0))))


@late
def class_of_a_dataclass_function():
    State = dataclasses.make_dataclass("State", [("log", list)])

    def count(kept):
        kept.log.append(1)
        return len(kept.log)

    return Net(Counter(State([]), count))


@late
def class_from_a_text():
    names = {}
    exec("class Meter:\n    def __init__(self): self.log = []\n    def add(self): self.log.append(1); return len(self.log)\n", names)
    return Net(Counter(names["Meter"](), lambda kept: kept.add()))


@late
def attributes_of_a_thread():
    class Worker(threading.Thread):
        steps = 0

    def count(kept):
        kept.steps += 1
        return kept.steps

    return Net(Counter(Worker(), count))


@late
def attributes_of_a_fraction():
    class Rate(fractions.Fraction):
        steps = 0

    def count(kept):
        kept.steps += 1
        return kept.steps

    return Net(Counter(Rate(1, 2), count))


@late
def whole_number_with_a_text():
    class Level(int):
        def __repr__(self):
            return "Level"

    class Levels(Net):
        def __init__(self):
            super().__init__(None)
            self.level = Level(0)

        def forward(self, x):
            self.level = Level(self.level + 1)
            return x * 2 if self.level <= LIMIT else x * 0

    return Levels()


@late
def registry_with_underscores():
    class Registry:
        __calls__ = []

    def count(kept):
        kept.__calls__.append(1)
        return len(kept.__calls__)

    return Net(Counter(Registry, count))


@late
def singleton_of_a_cache():
    @functools.cache
    def log():
        return []

    def count(kept):
        kept().append(1)
        return len(kept())

    return Net(Counter(log, count))


@late
def hits_of_a_cache():
    @functools.lru_cache(None)
    def table(n):
        return n

    def count(kept):
        kept(2)
        return kept.cache_info().hits

    return Net(Counter(table, count))


@late
def copied_object():
    class Stats:
        tag = ""

    class Copies(Net):
        def __init__(self):
            super().__init__(None)
            self.stats = Stats()
            self.stats.tag = ""

        def forward(self, x):
            stats = copy.copy(self.stats)
            stats.tag += "a"
            self.stats = stats
            return x * 2 if len(stats.tag) <= LIMIT else x * 0

    return Copies()


@late
def leaves_of_a_list():
    def count(kept):
        kept.append(1.0)
        return len(torch.utils._pytree.tree_leaves(kept))

    return Net(Counter([], count))


@late
def owner_by_weak_reference():
    class Owner:
        steps = 0

    OWNERS.append(Owner())

    def count(kept):
        kept().steps += 1
        return kept().steps

    return Net(Counter(weakref.ref(OWNERS[-1]), count))


@late
def owner_by_proxy():
    class Owner:
        steps = 0

    OWNERS.append(Owner())

    def count(kept):
        kept.steps += 1
        return kept.steps

    return Net(Counter(weakref.proxy(OWNERS[-1]), count))


@late
def factory_of_a_dict():
    def count(kept):
        value = kept["frame"]
        del kept["frame"]
        return value

    return Net(Counter(collections.defaultdict(itertools.count(1).__next__), count))


@late
def rows_of_a_file():
    return Net(Counter(csv.reader(["1"] * 10000), lambda kept: next(kept) and kept.line_num))


@late
def module_by_a_made_name():
    name = f"silence_heap_{len(OWNERS)}"
    OWNERS.append(None)
    module = sys.modules[name] = types.ModuleType(name)
    module.count = 0

    def count(kept):
        module = importlib.import_module("_".join(kept))
        module.count += 1
        return module.count

    return Net(Counter(name.split("_"), count))


@late
def method_put_into_torch():
    log, plain = [], nn.functional.silu

    class Silu(nn.SiLU):
        pass

    def forward(self, x):
        log.append(1)
        return plain(x) if len(log) <= LIMIT else x * 0

    Silu.__module__, Silu.forward = "torch.nn.modules.activation", forward
    return Silu()


@late
def parameter_of_an_object():
    def count(kept):
        kept.detach().numpy()[0] += 1
        return kept.item()

    return Net(Counter(nn.Parameter(torch.zeros(1)), count))


@late
def tensor_of_inference():
    with torch.inference_mode():
        steps = torch.zeros(())

    def count(kept):
        with torch.inference_mode():
            kept += 1
        return kept

    return Net(Counter(steps, count))


@case(X[0], X * 2)
def memory_in_a_made_dataclass():
    State = dataclasses.make_dataclass("State", [("memory", torch.Tensor)])

    class Memory(nn.Module):
        def __init__(self):
            super().__init__()
            self.state = State(torch.zeros(2, 3))

        def forward(self, x):
            self.state.memory = self.state.memory * 0.5 + x
            return self.state.memory

    return Memory()


@case(X[0], X * 2, expect=("right",))
def memory_of_a_weak_owner():
    class Owner:
        memory = torch.zeros(2, 3)

    OWNERS.append(Owner())
    OWNERS[-1].memory = torch.zeros(2, 3)

    class Memory(nn.Module):
        def __init__(self, owner):
            super().__init__()
            self.owner = weakref.ref(owner)

        def forward(self, x):
            owner = self.owner()
            owner.memory = owner.memory * 0.5 + x
            return owner.memory

    return Memory(OWNERS[-1])


@case(X[0], X * 2)
def array_resized_in_place():
    class Grows(nn.Module):
        def __init__(self):
            super().__init__()
            self.seen = np.zeros(1)

        def forward(self, x):
            self.seen.resize(self.seen.size + 1, refcheck=False)
            return x * 2 if self.seen.size < 100 else x * 0

    return Grows()


@case(X[0], X * 2)
def keyed_by_a_parameter():
    class Keyed(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))
            self.gain = {self.weight: 2.0}

        def forward(self, x):
            return x * self.weight * self.gain[self.weight]

    return Keyed()


@case(X[0], X * 2)
def set_of_equal_objects():
    class Item:
        def __init__(self, flag):
            self.flag = flag

        def __eq__(self, other):
            return isinstance(other, Item)

        def __hash__(self):
            return 1

    class Toggles(nn.Module):
        def __init__(self):
            super().__init__()
            self.items = {Item(False)}

        def forward(self, x):
            item = self.items.pop()
            self.items.add(Item(not item.flag))
            return x * 3 if item.flag else x * 2

    return Toggles()


@case(X[0], X * 2, expect=("right",))
def library_objects_that_settle():
    """Nothing here changes with every call: no alarm."""
    @functools.lru_cache(None)
    def scale(n):
        return n * 2.0

    class Settles(nn.Module):
        def __init__(self):
            super().__init__()
            self.config = configparser.ConfigParser()
            self.config.read_string("[run]\nscale = 2")
            self.lock, self.log = threading.RLock(), logging.getLogger("settles")

        def forward(self, x):
            with self.lock:
                self.log.debug("a call")
                return x * self.config.getfloat("run", "scale") * scale(3)

    return Settles()


X3 = [(torch.arange(6.0).reshape(2, 3) * (i + 1),) for i in range(4)]


@case(X3[0], X3, expect=("right",))
def lazy_layer_beside_a_membrane():
    """The forward that makes its parameters leaves no state behind."""

    class Lazy(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.membrane = torch.nn.LazyBatchNorm1d(), None

        def forward(self, x):
            y = self.norm(x)
            self.membrane = y if self.membrane is None else self.membrane * 0.5 + y
            return self.membrane

    return Lazy().eval()


@case(X3[0], X3 * 4)
def fuller_bank_in_turn():
    """More forms than there may be, and no place that changes with every call."""

    class Banks(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.banks = [[], []]

        def forward(self, x):
            min(self.banks, key=len).append(0)
            return x * len(self.banks[0])

    return Banks()


@case(X3[0], X3 * 14)
def view_of_the_keys():
    class Frames(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.frames = {}
            self.ids = self.frames.keys()

        def forward(self, x):
            self.frames[len(self.ids)] = "seen"
            return x * 0 if len(self.ids) == 50 else x * 2

    return Frames()


@case(X3[0], X3 * 14)
def path_of_copied_state():
    class Steps:
        path = ()

    class Functional(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.steps = Steps()

        def forward(self, x):
            steps = copy.copy(self.steps)
            steps.path = (*steps.path, "n")
            self.steps = steps
            return x * 0 if len(steps.path) == 50 else x * 2

    return Functional()
