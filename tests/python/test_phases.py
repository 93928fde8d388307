"""What a program keeps between its calls outside of registered buffers: bundle and eager side by side, call after call."""

import collections
import copy
import random

import numpy as np
import pytest
import torch
from torch import nn

import lazyrt

MEMORY = {}
CALLS = 0


class Keeps(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)


class Membrane(Keeps):
    def __init__(self):
        super().__init__()
        self.potential = None

    def forward(self, x):
        self.potential = self.linear(x) if self.potential is None else 0.9 * self.potential + self.linear(x)
        spikes = (self.potential > 0.3).float()
        self.potential = self.potential - spikes * 0.3
        return spikes, self.potential


class Average(Keeps):
    def __init__(self):
        super().__init__()
        self.average = torch.zeros(4)

    def forward(self, x):
        self.average = 0.9 * self.average + 0.1 * x.mean(0)
        return self.linear(x) - self.average


class AverageInPlace(Average):
    def forward(self, x):
        self.average.mul_(0.9).add_(0.1 * x.mean(0))
        return self.linear(x) - self.average


class StepTensor(Keeps):
    def __init__(self):
        super().__init__()
        self.step = torch.zeros(())

    def forward(self, x):
        self.step += 1
        return self.linear(x) * self.step


class Queue(Keeps):
    def __init__(self):
        super().__init__()
        self.queue = collections.deque(maxlen=3)

    def forward(self, x):
        self.queue.append(self.linear(x))
        return torch.stack(list(self.queue)).mean(0)


class DictCache(Keeps):
    def __init__(self):
        super().__init__()
        self.cache = {}

    def forward(self, x):
        before = self.cache.get("h")
        self.cache["h"] = x if before is None else before * 0.5 + x
        return self.linear(self.cache["h"])


class DefaultDict(Keeps):
    def __init__(self):
        super().__init__()
        self.sums = collections.defaultdict(lambda: torch.zeros(4))

    def forward(self, x):
        self.sums["x"] = self.sums["x"] + x.mean(0)
        return self.linear(x) + self.sums["x"]


class SlidingCache(Keeps):
    """Grows for some calls, then stays."""

    def __init__(self):
        super().__init__()
        self.keys = None

    def forward(self, x):
        self.keys = x if self.keys is None else torch.cat([self.keys, x])[-8:]
        return self.linear(x).sum() + self.keys.sum(0)


class LayerCaches(Keeps):
    """A list with one tensor for each layer."""

    def __init__(self):
        super().__init__()
        self.caches = [torch.zeros(3, 4) for _ in range(2)]

    def forward(self, x):
        for i, cache in enumerate(self.caches):
            x = self.linear(x) + cache
            self.caches[i] = x
        return x


class Text(Keeps):
    def __init__(self):
        super().__init__()
        self.mode = "even"

    def forward(self, x):
        y = self.linear(x) * (2.0 if self.mode == "even" else 3.0)
        self.mode = "odd" if self.mode == "even" else "even"
        return y


class GlobalDict(Keeps):
    def forward(self, x):
        before = MEMORY.get("k")
        MEMORY["k"] = x
        return self.linear(x) if before is None else self.linear(x) + before


class ClassAttribute(Keeps):
    seen = None

    def forward(self, x):
        y = self.linear(x) if ClassAttribute.seen is None else self.linear(x) + ClassAttribute.seen
        ClassAttribute.seen = x
        return y


class Holder:
    __slots__ = ("inner", "h")


class Nested(Keeps):
    def __init__(self):
        super().__init__()
        self.holder = Holder()
        self.holder.inner = Holder()
        self.holder.inner.h = (torch.zeros(4), torch.ones(4))

    def forward(self, x):
        h, c = self.holder.inner.h
        h = torch.tanh(x.mean(0) + h)
        c = c * 0.5 + h
        self.holder.inner.h = (h, c)
        return self.linear(x) + h * c


class Swap(Keeps):
    """States that change places."""

    def __init__(self):
        super().__init__()
        self.a, self.b = torch.zeros(3, 4), torch.ones(3, 4)

    def forward(self, x):
        self.a, self.b = self.b, x + self.a
        return self.linear(x) + self.a * 2 + self.b


class Delay(Keeps):
    """One object under two names, then not any more."""

    def __init__(self):
        super().__init__()
        self.now = self.before = None

    def forward(self, x):
        self.before, self.now = self.now, self.linear(x)
        return self.now if self.before is None else self.now - self.before


class Ring(Keeps):
    """A place in a ring: sixteen or fewer of them are phases."""

    def __init__(self):
        super().__init__()
        self.i, self.ring = 0, torch.zeros(4, 4)

    def forward(self, x):
        self.ring[self.i] = x.mean(0)
        self.i = (self.i + 1) % 4
        return self.linear(x) + self.ring.sum(0)


class WarmUp(Keeps):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls = min(self.calls + 1, 4)
        return self.linear(x) if self.calls < 3 else -self.linear(x)


class LateBuffer(Keeps):
    def __init__(self):
        super().__init__()
        self.register_buffer("h", None)

    def forward(self, x):
        self.h = x if self.h is None else self.h * 0.5 + x
        return self.linear(self.h)


class ActNorm(Keeps):
    def __init__(self):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(4))
        self.register_buffer("initialized", torch.tensor(0, dtype=torch.uint8))

    def forward(self, x):
        if self.initialized.item() == 0:
            self.loc.data.copy_(-x.mean(0))
            self.initialized.fill_(1)
        return self.linear(x) + self.loc


class ActNormFlag(Keeps):
    def __init__(self):
        super().__init__()
        self.loc, self.initialized = nn.Parameter(torch.zeros(4)), False

    def forward(self, x):
        if not self.initialized:
            with torch.no_grad():
                self.loc.copy_(-x.mean(0))
            self.initialized = True
        return self.linear(x) + self.loc


class Window(Keeps):
    """Two tensors over one memory, before the first call."""

    def __init__(self):
        super().__init__()
        self.memory = torch.zeros(3, 4)
        self.window = self.memory[1:, ::2]

    def forward(self, x):
        self.window.mul_(0.5).add_(x[1:, ::2])
        self.memory[0] += 1
        return self.linear(x) + self.memory


class NumpyMemory(Keeps):
    def __init__(self):
        super().__init__()
        self.left = np.array([2.0])

    def forward(self, x):
        y = self.linear(x) * float(self.left[0])
        self.left[0] = max(self.left[0] - 1, 0)
        return y


class Registry(Keeps):
    """A dict that another object holds, with keys that come and go."""

    def __init__(self):
        super().__init__()
        self.seen = {"first": True}

    def forward(self, x):
        if self.seen.pop("first", False):
            self.seen["later"] = x * 0.5
            return self.linear(x)
        return self.linear(x) + self.seen["later"]


class Count(Keeps):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return self.linear(x) * self.calls


class Decay(Keeps):
    def __init__(self):
        super().__init__()
        self.rates = {"lr": 1.0, "steps": [0]}

    def forward(self, x):
        self.rates["lr"] *= 0.5
        self.rates["steps"][0] += 2
        return self.linear(x) * self.rates["lr"] + self.rates["steps"][0]


class NumberOfInputs(Keeps):
    def __init__(self):
        super().__init__()
        self.mean = 0.0

    def forward(self, x):
        self.mean = 0.9 * self.mean + 0.1 * x.mean().item()
        return self.linear(x) - self.mean


def global_count():
    linear = nn.Linear(4, 4)

    def program(x):
        global CALLS
        CALLS += 1
        return linear(x) * CALLS

    return program


def closure():
    before, linear = None, nn.Linear(4, 4)

    def program(x):
        nonlocal before
        y = linear(x) if before is None else linear(x) + before
        before = y.tanh()
        return y

    return program


def function_attribute():
    linear = nn.Linear(4, 4)

    def program(x):
        y = linear(x) + program.memory
        program.memory = y * 0.5
        return y

    program.memory = torch.zeros(3, 4)
    return program


def late_function_attribute():
    linear = nn.Linear(4, 4)

    def program(x):
        program.calls = getattr(program, "calls", 0) + 1
        return linear(x) * program.calls

    return program


def default_argument():
    linear = nn.Linear(4, 4)

    def program(x, memory={}):  # noqa: B006
        y = linear(x) + memory.get("h", 0.0)
        memory["h"] = y * 0.5
        return y

    return lambda x: program(x)


PROGRAMS = [Membrane, Average, AverageInPlace, StepTensor, Queue, DictCache, DefaultDict, SlidingCache, LayerCaches, Text, GlobalDict,
            ClassAttribute, Nested, Swap, Delay, Ring, WarmUp, LateBuffer, ActNorm, ActNormFlag, NumpyMemory,
            Registry, Count, Decay, NumberOfInputs, global_count, closure, function_attribute,
            late_function_attribute, default_argument]


@pytest.fixture(autouse=True)
def fresh():
    global CALLS
    MEMORY.clear()
    ClassAttribute.seen = None
    CALLS = 0


def made(program):
    model = program()
    return model.eval() if isinstance(model, nn.Module) else model


def inputs(count=7):
    generator = torch.Generator().manual_seed(5)
    return [torch.randn(3, 4, generator=generator) * (i + 1) for i in range(count)]


def agree(close, program, model, xs):
    with torch.no_grad():
        for x in xs:
            ours, eager = program(x), model(x)
            for a, b in zip(ours, eager) if isinstance(eager, tuple) else [(ours, eager)]:
                close(a, b)


@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__name__)
def test_call_after_call(bundle, close, make):
    model = made(make)
    report = lazyrt.export(model, (torch.randn(3, 4),), bundle)
    assert report.verdict == "SOUND"
    assert not MEMORY and ClassAttribute.seen is None
    program, xs = lazyrt.load(bundle), inputs()
    for x in xs:
        program(x)
    program.reset()
    agree(close, program, model, xs)


def test_a_count_is_one_state(bundle):
    lazyrt.export(made(Count), (torch.randn(3, 4),), bundle)
    program = lazyrt.load(bundle)
    assert program.variants == 1 and [(info.name, info.dtype) for info in program.states] == [("calls", "i64")]


def test_hidden_states_have_the_paths_of_their_places(bundle):
    expected = {Membrane: ["potential"], Nested: ["holder.inner.h[0]", "holder.inner.h[1]"], DictCache: ["cache['h']"],
                LayerCaches: ["caches[0]", "caches[1]"], Queue: ["queue[0]", "queue[1]", "queue[2]"]}
    for make, names in expected.items():
        lazyrt.export(made(make), (torch.randn(3, 4),), bundle)
        program = lazyrt.load(bundle)
        assert sorted(info.name for info in program.states) == names
    lazyrt.export(made(GlobalDict), (torch.randn(3, 4),), bundle)
    assert lazyrt.load(bundle).states[0].name.endswith("test_phases.MEMORY['k']")


def test_a_state_can_be_read(bundle, close):
    model = made(Membrane)
    lazyrt.export(model, (torch.randn(3, 4),), bundle)
    program = lazyrt.load(bundle)
    agree(close, program, model, inputs(3))
    close(program.state("potential"), model.potential)
    assert program.phase == 1
    program.reset()
    assert program.phase == 0


class Memo(Keeps):
    def __init__(self):
        super().__init__()
        self.table, self.known = None, {}

    def forward(self, x):
        if self.table is None:
            self.table = torch.arange(4.0) * 0.1
        if x.shape not in self.known:
            self.known[x.shape] = torch.ones(x.shape).tril()
        return self.linear(x) * self.known[x.shape] + self.table


class Initialised(Keeps):
    def __init__(self):
        super().__init__()
        self.is_initialized = False

    def forward(self, x):
        if not self.is_initialized:
            self.is_initialized = True
        return self.linear(x)


class Rescaled(Keeps):
    """RWKV: the first call rescales the model's own parameters."""

    def __init__(self):
        super().__init__()
        self.rescaled = False

    def forward(self, x):
        if not self.rescaled:
            with torch.no_grad():
                self.linear.weight.div_(4.0)
            self.rescaled = True
        return self.linear(x)


class OtherShape(Keeps):
    """convit: the first call replaces a registered buffer by one of another shape."""

    def __init__(self):
        super().__init__()
        self.register_buffer("index", torch.zeros(1))

    def forward(self, x):
        if self.index.shape[0] != x.shape[0]:
            self.index = torch.arange(x.shape[0]).float()
        return self.linear(x) + self.index[:, None]


@pytest.mark.parametrize("make", [Memo, Initialised, Rescaled, OtherShape], ids=lambda make: make.__name__)
def test_settled(bundle, close, make):
    model = made(make)
    before = copy.deepcopy(model.state_dict())
    report = lazyrt.export(model, (torch.randn(3, 4),), bundle)
    assert report.verdict == "SOUND" and "settled" in [finding.id for finding in report.findings]
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])
    program = lazyrt.load(bundle)
    assert program.variants == 1 and program.states == []
    agree(close, program, model, inputs(4))


class FirstCallClamps(Keeps):
    """Settles on the sample, but the first call computes something else for other inputs."""

    def __init__(self):
        super().__init__()
        self.first = True

    def forward(self, x):
        y = self.linear(x)
        if self.first:
            self.first = False
            y = torch.where(x == 7.0, y + 1, y)
        return y


def test_what_only_looks_settled(bundle, close):
    model = made(FirstCallClamps)
    report = lazyrt.export(model, (torch.randn(3, 4),), bundle)
    assert "settled" not in [finding.id for finding in report.findings]
    agree(close, lazyrt.load(bundle), model, [torch.full((3, 4), 7.0)] * 3)


def test_data_dependent_initialisation_is_named(bundle):
    for make in (ActNorm, ActNormFlag):
        report = lazyrt.export(made(make), (torch.randn(3, 4),), bundle)
        found = [finding for finding in report.findings if finding.id == "data-dependent-init"]
        assert len(found) == 1 and "'loc'" in found[0].message


class Written(Keeps):
    def __init__(self):
        super().__init__()
        self.maps, self.last = [], None

    def forward(self, x):
        attention = self.linear(x).softmax(-1)
        self.maps.append(attention)
        self.maps += [attention * 2]
        self.last = attention
        return attention @ attention.T


def test_what_is_only_written_is_a_note(bundle, close):
    model = made(Written)
    report = lazyrt.export(model, (torch.randn(3, 4),), bundle)
    written = {finding.message.split("'")[1] for finding in report.findings if finding.id == "only-written"}
    assert report.verdict == "SOUND" and written == {"maps", "last"}
    assert model.maps == [] and type(model.maps) is list and model.last is None
    program = lazyrt.load(bundle)
    assert program.states == [] and program.variants == 1
    agree(close, program, model, inputs(3))


class CountIf(Keeps):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return self.linear(x) if self.calls < 20 else -self.linear(x)


class Length(Keeps):
    def __init__(self):
        super().__init__()
        self.history = []

    def forward(self, x):
        self.history.append(None)
        return self.linear(x) + len(self.history)


class StackAll(Length):
    def forward(self, x):
        self.history.append(x)
        return torch.stack(self.history).sum(0)


class Grows(Keeps):
    def __init__(self):
        super().__init__()
        self.keys = torch.zeros(0, 4)

    def forward(self, x):
        self.keys = torch.cat([self.keys, x])
        return self.linear(x) + self.keys.mean(0)


class Name(Keeps):
    def __init__(self):
        super().__init__()
        self.name = "x"

    def forward(self, x):
        self.name = self.name + "x"
        return self.linear(x) if self.name.endswith("x") else x


@pytest.mark.parametrize("make, path", [(CountIf, "calls"), (Length, "history"), (StackAll, "history"), (Grows, "keys")],
                         ids=lambda item: getattr(item, "__name__", ""))
def test_what_never_comes_to_rest_is_an_error(bundle, make, path):
    model = made(make)
    before = copy.deepcopy(vars(model)[path])
    with pytest.raises(lazyrt.ExportError) as raised:
        lazyrt.export(model, (torch.randn(3, 4),), bundle)
    errors = [finding for finding in raised.value.findings if finding.id == "changing-attribute"]
    assert [finding for finding in errors if f"'{path}'" in finding.message and "register_buffer" in finding.suggestion]
    assert make is not CountIf or errors[0].file == __file__ and errors[0].line > 0
    now = vars(model)[path]
    assert torch.equal(now, before) if isinstance(now, torch.Tensor) else now == before
    report = lazyrt.export(model, (torch.randn(3, 4),), bundle, allow=("changing-attribute",))
    assert report.verdict != "SOUND"


def test_a_text_that_grows_and_decides_nothing_is_only_written(bundle):
    model = made(Name)
    report = lazyrt.export(model, (torch.randn(3, 4),), bundle)
    assert report.verdict == "SOUND" and "only-written" in [finding.id for finding in report.findings]
    program, x = lazyrt.load(bundle), torch.randn(3, 4)
    for _ in range(3):
        assert torch.allclose(torch.from_numpy(program(x.numpy())), model(x), atol=1e-5)


def test_shared_memory_made_by_a_call_is_an_error(bundle):
    class Late(Keeps):
        def __init__(self):
            super().__init__()
            self.h = None

        def forward(self, x):
            if self.h is None:
                self.h = x * 0
                self.row = self.h[0]
            self.row.add_(x[0])
            return self.linear(x) + self.h

    with pytest.raises(lazyrt.ExportError, match="shared-memory"):
        lazyrt.export(Late().eval(), (torch.randn(3, 4),), bundle)


def test_two_samples_in_phases(bundle, close):
    class Gate(Keeps):
        def __init__(self):
            super().__init__()
            self.before = None

        def forward(self, x):
            y = self.linear(x) if self.before is None else self.linear(x) + self.before
            self.before = torch.relu(y) if x.sum() > 0 else torch.tanh(y)
            return self.before

    model, high, low = Gate().eval(), torch.rand(3, 4), -torch.rand(3, 4)
    report = lazyrt.export(model, [(high,), (low,)], bundle)
    program = lazyrt.load(bundle)
    assert report.verdict == "SPECIALIZED" and program.variants == 4
    agree(close, program, model, [high, low, low * 2, high * 3, low])


class KeepsAll(Keeps):
    def __init__(self):
        super().__init__()
        self.ordered = collections.OrderedDict(a=1, b=2)
        self.counted = collections.Counter("aab")
        self.default = collections.defaultdict(list, a=[1])
        self.queue = collections.deque([1, 2], maxlen=2)
        self.names = {"a", "b"}
        self.fail = False

    def forward(self, x):
        global CALLS
        CALLS += 1
        self.ordered.move_to_end("a")
        self.ordered["c"] = x
        self.counted["a"] += 1
        self.default["b"].append(x)
        self.queue.append(x)
        self.names.discard("a")
        Keeps.extra = x
        MEMORY["x"] = x
        if self.fail:
            raise ValueError("half-way")
        return self.linear(x)


@pytest.mark.parametrize("fail", [False, True])
def test_containers_are_left_as_found(bundle, fail):
    model = KeepsAll().eval()
    model.fail = fail
    held = {name: vars(model)[name] for name in ("ordered", "counted", "default", "queue", "names")}
    try:
        lazyrt.export(model, (torch.randn(3, 4),), bundle)
    except (ValueError, lazyrt.ExportError):
        pass
    assert all(vars(model)[name] is value for name, value in held.items())
    assert list(model.ordered.items()) == [("a", 1), ("b", 2)] and type(model.ordered) is collections.OrderedDict
    assert model.counted == {"a": 2, "b": 1} and model.default == {"a": [1]} and model.default.default_factory is list
    assert list(model.queue) == [1, 2] and model.queue.maxlen == 2 and model.names == {"a", "b"}
    assert CALLS == 0 and not hasattr(Keeps, "extra") and MEMORY == {}


def test_a_generator_is_refused_before_it_gives_anything(bundle):
    model = Keeps().eval()
    model.numbers = (float(i) for i in range(9))
    model.forward = lambda x: x * next(model.numbers)
    with pytest.raises(lazyrt.ExportError, match="generator 'numbers'"):
        lazyrt.export(model, (torch.randn(3, 4),), bundle)
    assert next(model.numbers) == 0.0


def test_own_generators_of_random_numbers_are_left_as_found(bundle):
    class Draws(Keeps):
        def __init__(self):
            super().__init__()
            self.numpy, self.torch, self.python = np.random.default_rng(3), torch.Generator().manual_seed(3), random.Random(3)

        def forward(self, x):
            scale = self.numpy.normal() + self.python.random() + torch.rand((), generator=self.torch).item()
            return self.linear(x) * scale

    model, x = Draws().eval(), torch.randn(3, 4)
    with pytest.raises(lazyrt.ExportError):
        lazyrt.export(model, (x,), bundle)
    assert model.numpy.normal() == np.random.default_rng(3).normal() and model.python.random() == random.Random(3).random()
    assert torch.equal(torch.rand(2, generator=model.torch), torch.rand(2, generator=torch.Generator().manual_seed(3)))


class ArrayMemory(Keeps):
    def __init__(self):
        super().__init__()
        self.memory = np.zeros((3, 4), np.float32)

    def forward(self, x):
        self.memory = self.memory * 0.5 + x.numpy()
        return self.linear(x) + torch.from_numpy(self.memory)


class TupleMemory(Keeps):
    def __init__(self):
        super().__init__()
        self.pair = (0.0, 1.0)

    def forward(self, x):
        first, second = self.pair
        self.pair = (second, x.sum().item())
        return self.linear(x) * first


@pytest.mark.parametrize("make, says", [(ArrayMemory, "keeps an array of NumPy in 'memory'.*keep a tensor there"), (TupleMemory, "keep it a tensor"),
                                        (Window, "writes in place into 'memory'.*shares memory")])
def test_arrays_numbers_in_tuples_and_views_are_no_state(bundle, make, says):
    model = made(make)
    with pytest.raises(lazyrt.ExportError, match=says):
        lazyrt.export(model, (torch.randn(3, 4),), bundle)
