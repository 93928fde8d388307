"""State outside of buffers, caches, and what a call leaves behind."""

import collections
import functools
import types

import torch
from harness import case
from torch import nn

X = [(torch.randn(2, 3),) for _ in range(5)]


def fresh(source):
    """A Python module made of this text: its globals are this program's alone."""
    module = types.ModuleType("user_module")
    exec(compile(source, "user_module.py", "exec"), module.__dict__)
    return module


@case(X[0], X)
def counter():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return x * self.calls

    return Net()


@case(X[0], X)
def counter_steers():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return x * 2 if self.calls % 3 else x * 5

    return Net()


@case(X[0], X)
def warm_up():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.step = 0

        def forward(self, x):
            self.step += 1
            return x * min(self.step / 3, 1.0)

    return Net()


@case(X[0], X)
def spiking_membrane():
    class Neuron(nn.Module):
        def __init__(self):
            super().__init__()
            self.mem = None

        def forward(self, x):
            if self.mem is None:
                self.mem = torch.zeros_like(x)
            self.mem = 0.9 * self.mem + x
            spike = (self.mem > 1).float()
            self.mem = self.mem - spike
            return spike + self.mem

    return Neuron()


@case(X[0], X)
def membrane_as_number():
    class Neuron(nn.Module):
        def __init__(self):
            super().__init__()
            self.mem = 0.0

        def forward(self, x):
            self.mem = 0.5 * self.mem + x
            return self.mem.clone()

    return Neuron()


@case(X[0], X)
def cache_list():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.past = []

        def forward(self, x):
            self.past.append(x)
            return torch.stack(self.past).mean(0)

    return Net()


@case(X[0], X)
def window_deque():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.past = collections.deque(maxlen=3)

        def forward(self, x):
            self.past.append(x)
            return sum(self.past) / len(self.past)

    return Net()


@case(X[0], X, expect=("right",))
def saved_attention():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention, self.log = None, []

        def forward(self, x):
            self.attention = x.softmax(-1)
            self.log.append(self.attention.detach())
            return self.attention * 2

    return Net()


@case(X[0], X)
def log_that_is_read():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.log = []

        def forward(self, x):
            self.log.append("call")
            return x * len(self.log)

    return Net()


@case(X[0], X)
def act_norm():
    class ActNorm(nn.Module):
        def __init__(self):
            super().__init__()
            self.bias = nn.Parameter(torch.zeros(3))
            self.is_initialized = False

        def forward(self, x):
            if not self.is_initialized:
                with torch.no_grad():
                    self.bias.copy_(-x.mean(0))
                self.is_initialized = True
            return x + self.bias

    return ActNorm()


@case(X[0], X, expect=("right",))
def memo_table():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = {}

        def forward(self, x):
            n = x.shape[-1]
            if n not in self.table:
                self.table[n] = torch.arange(n).float() / n
            return x + self.table[n]

    return Net()


@case(X[0], X, expect=("right",))
def lru_cached_mask():
    @functools.lru_cache(None)
    def mask(n):
        return torch.ones(n, n).tril()

    def program(x):
        return x @ mask(x.shape[-1])

    return program


@case(X[0], X, expect=("right",))
def module_level_cache():
    return fresh(
        "import torch\nCACHE = {}\n"
        "def program(x):\n"
        "    if x.shape not in CACHE:\n        CACHE[x.shape] = torch.linspace(0, 1, x.shape[-1])\n"
        "    return x * CACHE[x.shape]\n").program


@case(X[0], X)
def global_counter():
    return fresh("import torch\nN = 0\ndef program(x):\n    global N\n    N += 1\n    return x * N\n").program


@case(X[0], X)
def global_last_input():
    return fresh("import torch\nLAST = {}\ndef program(x):\n    y = x - LAST.get('x', 0)\n    LAST['x'] = x\n    return y\n").program


@case(X[0], X)
def closure_counter():
    n = 0

    def program(x):
        nonlocal n
        n += 1
        return x * n

    return program


@case(X[0], X)
def function_attribute():
    def program(x):
        program.calls = getattr(program, "calls", 0) + 1
        return x * program.calls

    return program


@case(X[0], X)
def mutable_default():
    def program(x, past=[]):
        past.append(x)
        return sum(past)

    return program


@case(X[0], X)
def class_attribute():
    class Net(nn.Module):
        calls = 0

        def forward(self, x):
            type(self).calls += 1
            return x * type(self).calls

    return Net()


@case(X[0], X)
def nested_object():
    class State:
        def __init__(self):
            self.inner = {"steps": [0]}

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.state = State()

        def forward(self, x):
            self.state.inner["steps"][0] += 1
            return x * self.state.inner["steps"][0]

    return Net()


@case(X[0], X)
def slots_object():
    class State:
        __slots__ = ("last",)

        def __init__(self):
            self.last = 0

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.state = State()

        def forward(self, x):
            y = x + self.state.last
            self.state.last = x
            return y

    return Net()


@case(X[0], X)
def generator_state():
    def numbers():
        n = 0
        while True:
            n += 1
            yield n

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.numbers = numbers()

        def forward(self, x):
            return x * next(self.numbers)

    return Net()


@case(X[0], X)
def iterator_state():
    import itertools

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scales = itertools.cycle([1.0, 2.0, 3.0])

        def forward(self, x):
            return x * next(self.scales)

    return Net()


@case(X[0], X)
def flag_flips():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.even = False

        def forward(self, x):
            self.even = not self.even
            return x * 2 if self.even else x * 3

    return Net()


@case(X[0], X)
def mode_text():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.mode = "a"

        def forward(self, x):
            y = x * 2 if self.mode == "a" else x * 3
            self.mode = {"a": "b", "b": "c", "c": "a"}[self.mode]
            return y

    return Net()


@case(X[0], X)
def ping_pong_modules():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.now, self.then = nn.Linear(3, 3), nn.Linear(3, 3)

        def forward(self, x):
            self.now, self.then = self.then, self.now
            return self.now(x)

    return Net().eval()


@case(X[0], X)
def fifth_call():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 0

        def forward(self, x):
            self.n += 1
            if self.n == 4:
                return x * 100
            return x

    return Net()


@case(X[0], X)
def ema_attribute():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean = torch.zeros(3)

        def forward(self, x):
            self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
            return x - self.mean

    return Net()


@case(X[0], X)
def ema_in_place():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean = torch.zeros(3)

        def forward(self, x):
            self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
            return x - self.mean

    return Net()


@case(X[0], X, expect=("right", "refused"))
def buffer_of_other_shape():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("table", torch.zeros(0))

        def forward(self, x):
            if self.table.shape[0] != x.shape[-1]:
                self.table = torch.arange(x.shape[-1]).float()
            return x + self.table

    return Net()


@case(X[0], X)
def rescaled_parameters():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.rescaled = nn.Linear(3, 3), False

        def forward(self, x):
            if not self.rescaled:
                with torch.no_grad():
                    self.layer.weight.div_(2)
                self.rescaled = True
            return self.layer(x)

    return Net().eval()


@case(X[0], X)
def hook_counts():
    net = nn.Linear(3, 3).eval()
    seen = []

    def hook(module, args, output):
        seen.append(1)
        return output * len(seen)

    net.register_forward_hook(hook)
    return net


@case(X[0], X)
def ordered_cache():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.cache = collections.OrderedDict()

        def forward(self, x):
            self.cache[len(self.cache)] = x
            if len(self.cache) > 2:
                self.cache.popitem(last=False)
            return sum(self.cache.values())

    return Net()


@case((torch.randn(1, 1, 4),), [(torch.randn(1, 1, 4),) for _ in range(4)])
def growing_kv_cache():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.k = None

        def forward(self, x):
            self.k = x if self.k is None else torch.cat([self.k, x], 1)
            return (x @ self.k.transpose(1, 2)).softmax(-1) @ self.k

    return Net()


@case(X[0], X)
def counted_by_buffer_and_attribute():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
            self.scale = 1.0

        def forward(self, x):
            self.steps += 1
            self.scale = self.scale * 0.5
            return x * self.scale + self.steps

    return Net()


@case(X[0], X)
def weak_key_cache():
    import weakref

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.seen = weakref.WeakValueDictionary()
            self.held = None

        def forward(self, x):
            last = self.seen.get("x")
            self.held = x.clone()
            self.seen["x"] = self.held
            return x if last is None else x - last

    return Net()


@case(X[0], X)
def array_state():
    import numpy as np

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.count = np.zeros(1)

        def forward(self, x):
            self.count += 1
            return x * float(self.count[0])

    return Net()


@case(X[0], X)
def python_random():
    import random

    return lambda x: x * random.random()


@case(X[0], X)
def numpy_random():
    import numpy as np

    return lambda x: x * float(np.random.rand())


@case(X[0], X)
def own_generator():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.generator = torch.Generator().manual_seed(3)

        def forward(self, x):
            return x + torch.rand(3, generator=self.generator)

    return Net()


@case(X[0], X)
def own_numpy_generator():
    import numpy as np

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rng = np.random.default_rng(3)

        def forward(self, x):
            return x * self.rng.random()

    return Net()


@case(X[0], X, expect=("right", "failed"))
def random_unused():
    def program(x):
        torch.rand(3)
        return x * 2

    return program
