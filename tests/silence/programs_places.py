"""State in places where one does not look first, which begins to matter only after some calls: the check makes three."""

import collections
import contextlib
import ctypes
import datetime
import decimal
import enum
import fractions
import functools
import heapq
import itertools
import queue
import sys
import threading
import types
import weakref

import numpy as np
import torch
from harness import case
from torch import nn

X = [(torch.randn(2, 3),) for _ in range(9)]


_made = itertools.count()


def fresh(source, name="user_module"):
    """A Python module made of this text, which `import name` finds."""
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(source, f"{name}.py", "exec"), module.__dict__)
    return module


def importing(source, statements):
    """A program whose statements import a module made of the source, called `user` in them, a new one for each program."""
    name = f"user_{next(_made)}"
    fresh(source, name)
    return fresh("def program(x):\n" + statements.replace("user", name), f"of_{name}").program


class Held(nn.Module):
    """Multiplies by 2 for four calls and then by 100: what counts is `self.held`, by step(held) -> held and read(held)."""

    def __init__(self, held, step, read):
        super().__init__()
        self.held, self.step, self.read = held, step, read

    def forward(self, x):
        now = self.read(self.held)
        if now < 4:
            self.held = self.step(self.held)
        return x * (2 if now < 4 else 100)


def plus_one(cls):
    return lambda n: n + cls(1)


@case(X[0], X)
def decimal_counter():
    return Held(decimal.Decimal(0), plus_one(decimal.Decimal), int)


@case(X[0], X)
def fraction_counter():
    return Held(fractions.Fraction(0), plus_one(fractions.Fraction), int)


@case(X[0], X)
def numpy_scalar_counter():
    return Held(np.int64(0), plus_one(np.int64), int)


@case(X[0], X)
def numpy_float_counter():
    return Held(np.float32(0), plus_one(np.float32), int)


@case(X[0], X)
def date_counter():
    first = datetime.date(2024, 1, 1)
    return Held(first, lambda day: day + datetime.timedelta(days=1), lambda day: (day - first).days)


@case(X[0], X)
def ctypes_counter():
    def step(n):
        n.value += 1
        return n

    return Held(ctypes.c_int(0), step, lambda n: n.value)


@case(X[0], X)
def simple_queue_counter():
    def step(q):
        q.put(1)
        return q

    return Held(queue.SimpleQueue(), step, lambda q: q.qsize())


@case(X[0], X)
def semaphore_counter():
    def step(s):
        s.release()
        return s

    return Held(threading.Semaphore(0), step, lambda s: s._value)


@case(X[0], X)
def event_is_set():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.warm, self.n = threading.Event(), 0

        def forward(self, x):
            self.n = min(self.n + 1, 6)
            if self.n == 5:
                self.warm.set()
            return x * (100 if self.warm.is_set() else 2)

    return Net()


@case(X[0], X)
def numpy_subclass_counter():
    class Table(np.ndarray):
        pass

    def step(table):
        table[0] += 1
        return table

    return Held(np.zeros(2).view(Table), step, lambda table: float(table[0]))


@case(X[0], X)
def masked_array_counter():
    def step(table):
        table[0] += 1
        return table

    return Held(np.ma.zeros(2), step, lambda table: float(table[0]))


@case(X[0], X)
def object_array_counter():
    def step(table):
        table[0] = table[0] + 1
        return table

    return Held(np.array([0, None], dtype=object), step, lambda table: table[0])


class Stage(enum.Enum):
    WARM = 1
    HOT = 2


@case(X[0], X)
def enum_member_counter():
    class Count(enum.Enum):
        CALLS = "calls"

        def __init__(self, label):
            self.number = 0

    def step(member):
        member.number += 1
        return member

    return Held(Count.CALLS, step, lambda member: member.number)


@case(X[0], X)
def enum_class_counter():
    class Count(enum.Enum):
        CALLS = "calls"

        @classmethod
        def step(cls):
            cls.number = getattr(cls, "number", 0) + 1
            return cls.number

    class Net(nn.Module):
        def forward(self, x):
            return x * (2 if Count.step() < 5 else 100)

    return Net()


@case(X[0], X)
def counts_by_pair():
    """Two keys that are no texts."""
    return Held({("a", 0): 0, ("b", 0): 0}, lambda d: d.update({("a", 0): d["a", 0] + 1}) or d, lambda d: d["a", 0])


@case(X[0], X)
def counts_by_enum():
    return Held({Stage.WARM: 0, Stage.HOT: 0}, lambda d: d.update({Stage.WARM: d[Stage.WARM] + 1}) or d, lambda d: d[Stage.WARM])


@case(X[0], X)
def last_tensor_by_shape():
    """Two tensors under keys that are shapes."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = {}

        def forward(self, x):
            y = x + self.last.get(x.shape, 0) + self.last.get(x[0].shape, 0).sum() if self.last else x
            self.last[x.shape], self.last[x[0].shape] = x, x[0] * 3
            return y

    return Net()


@case(X[0], X)
def two_classes_of_one_name():
    def make():
        class Count:
            number = 0

        return Count

    first, second = make(), make()

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = first(), second()

        def forward(self, x):
            if first.number < 6:
                first.number += 1
            return x * (2 if first.number < 5 else 100) + second.number

    return Net()


@case(X[0], X)
def two_modules_of_one_name():
    source = "N = 0\ndef step():\n    global N\n    N = min(N + 1, 6)\n    return N\n"
    one, two = fresh(source, "counting"), fresh(source, "counting")

    def program(x):
        return x * (2 if two.step() < 5 else 100) + (one.step() if x is None else 0)

    return program


@case(X[0], X)
def global_of_division():
    """A global that only the code of __truediv__ counts."""
    return fresh(
        "import torch\nN = 0\n"
        "class Scale:\n"
        "    def __truediv__(self, x):\n"
        "        global N\n"
        "        N = min(N + 1, 6)\n"
        "        return x * (2 if N < 5 else 100)\n"
        "scale = Scale()\n"
        "def program(x):\n    return scale / x\n", "user_division").program


@case(X[0], X)
def global_of_missing():
    return fresh(
        "import torch\nN = 0\n"
        "class Table(dict):\n"
        "    def __missing__(self, key):\n"
        "        global N\n"
        "        N = min(N + 1, 6)\n"
        "        return 2 if N < 5 else 100\n"
        "table = Table()\n"
        "def program(x):\n    return x * table['scale']\n", "user_missing").program


@case(X[0], X)
def imported_in_the_function():
    return importing("N = 0\n", "    import user\n    user.N = min(user.N + 1, 6)\n    return x * (2 if user.N < 5 else 100)\n")


@case(X[0], X)
def imported_name_in_the_function():
    return importing("STATE = {'n': 0}\n", "    from user import STATE\n    STATE['n'] = min(STATE['n'] + 1, 6)\n"
                     "    return x * (2 if STATE['n'] < 5 else 100)\n")


@case(X[0], X)
def module_from_sys():
    return importing("N = 0\n", "    import sys\n    m = sys.modules['user']\n    m.N = min(m.N + 1, 6)\n    return x * (2 if m.N < 5 else 100)\n")


@case(X[0], X)
def module_of_a_package():
    package = fresh("", "user_package")
    package.config = fresh("N = 0\n", "user_package.config")
    return fresh(
        "import user_package\n"
        "def program(x):\n"
        "    user_package.config.N = min(user_package.config.N + 1, 6)\n"
        "    return x * (2 if user_package.config.N < 5 else 100)\n", "user_of_package").program


@case(X[0], X)
def globals_by_text():
    return fresh(
        "N = 0\n"
        "def program(x):\n"
        "    globals()['N'] = min(globals()['N'] + 1, 6)\n"
        "    return x * (2 if globals()['N'] < 5 else 100)\n", "user_globals").program


@case(X[0], X)
def installed_package_counts():
    """A package in site-packages that counts its calls."""
    package = types.ModuleType("counting_package")
    package.__file__ = "/usr/lib/site-packages/counting_package.py"
    sys.modules["counting_package"] = package
    source = "N = 0\ndef scale():\n    global N\n    N = min(N + 1, 6)\n    return 2 if N < 5 else 100\n"
    exec(compile(source, package.__file__, "exec"), package.__dict__)
    scale = package.scale
    return lambda x: x * scale()


@case(X[0], X)
def metaclass_counts():
    class Meta(type):
        number = 0

    class Net(nn.Module, metaclass=Meta):
        def forward(self, x):
            kind = type(type(self))
            kind.number = min(kind.number + 1, 6)
            return x * (2 if kind.number < 5 else 100)

    return Net()


@case(X[0], X)
def tuple_with_attribute():
    class Pair(tuple):
        pass

    def step(pair):
        pair.number = getattr(pair, "number", 0) + 1
        return pair

    return Held(Pair((1, 2)), step, lambda pair: getattr(pair, "number", 0))


@case(X[0], X)
def set_of_seen_tensors():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.seen = set()

        def forward(self, x):
            self.seen.add(x)
            return x * (2 if len(self.seen) < 5 else 100)

    return Net()


@case(X[0], X)
def weak_set_counts():
    class Token:
        pass

    def step(held):
        held[1].append(Token())
        held[0].add(held[1][-1])
        return held

    return Held([weakref.WeakSet(), []], step, lambda held: len(held[0]))


@case(X[0], X)
def attribute_of_parameter():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))
            self.w.calls = 0

        def forward(self, x):
            self.w.calls = min(self.w.calls + 1, 6)
            return x * self.w * (2 if self.w.calls < 5 else 100)

    return Net()


@case(X[0], X)
def tensor_attribute_of_buffer():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("scale", torch.ones(3))

        def forward(self, x):
            y = x * self.scale - getattr(self.scale, "last", 0)
            self.scale.last = x * 0.5
            return y

    return Net()


@case(X[0], X)
def attribute_of_plain_tensor():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.ones(3)

        def forward(self, x):
            y = x * self.table - getattr(self.table, "last", 0)
            self.table.last = x * 0.5
            return y

    return Net()


@case(X[0], X)
def gradient_as_memory():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.v = torch.zeros(3, requires_grad=True)

        def forward(self, x):
            y = x if self.v.grad is None else x - self.v.grad
            self.v.grad = torch.ones(3) if self.v.grad is None else (self.v.grad + 1).clamp(max=5)
            return y

    return Net()


@case(X[0], X)
def table_written_through_numpy():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.n = torch.zeros(3), 0

        def forward(self, x):
            if self.n < 5:
                self.n += 1
                if self.n == 5:
                    self.table.numpy()[:] += 7
            return x + self.table

    return Net()


@case(X[0], X)
def table_written_through_data():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.zeros(3)

        def forward(self, x):
            y = x * (2 if float(self.table[0]) < 4 else 100)
            self.table.data.add_(1).clamp_(max=5)
            return y

    return Net()


@case(X[0], X)
def text_read_through_dict():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.tag = ""

        def forward(self, x):
            self.tag = vars(self)["tag"] + "a"
            return x * (2 if len(vars(self)["tag"]) < 5 else 100)

    return Net()


@case(X[0], X)
def heap_of_scores():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.heap = [0.0]

        def forward(self, x):
            last = heapq.heappop(self.heap)
            heapq.heappush(self.heap, last + 1.0)
            return x * (2 if last < 5 else 100)

    return Net()


@case(X[0], X)
def pairs_from_zip():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.pairs = zip([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0], itertools.count())

        def forward(self, x):
            scale, shift = next(self.pairs)
            return x * scale + shift

    return Net()


@case(X[0], X)
def chain_is_used_up():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scales = itertools.chain([1.0, 1.0, 1.0, 1.0], itertools.repeat(100.0))

        def forward(self, x):
            return x * next(self.scales)

    return Net()


@case(X[0], X)
def items_of_dict_one_by_one():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scales = iter({c: float(i) for i, c in enumerate("abcdefghijklmnop")}.values())

        def forward(self, x):
            return x * next(self.scales)

    return Net()


@case(X[0], X)
def generator_made_lazily():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scales = None

        def forward(self, x):
            if self.scales is None:
                self.scales = (float(min(i, 5)) for i in itertools.count())
            return x * next(self.scales)

    return Net()


@case(X[0], X)
def list_read_by_partial():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.log = []
            self.count = functools.partial(len, self.log)

        def forward(self, x):
            self.log.append("a")
            return x * (2 if self.count() < 5 else 100)

    return Net()


@case(X[0], X)
def small_cache_is_full():
    @functools.lru_cache(maxsize=1)
    def shifted(x):
        return x + 1

    shifted(torch.ones(2, 3))
    return lambda x: shifted(x) * 2


@case(X[0], X)
def single_dispatch_counts():
    @functools.singledispatch
    def scale(x):
        raise TypeError

    calls = {"n": 0}

    @scale.register
    def _(x: torch.Tensor):
        calls["n"] = min(calls["n"] + 1, 6)
        return x * (2 if calls["n"] < 5 else 100)

    return lambda x: scale(x)


@case(X[0], X)
def context_manager_counts():
    depth = []

    @contextlib.contextmanager
    def entered():
        depth.append(1)
        if len(depth) > 6:
            depth.pop()
        yield len(depth)

    def program(x):
        with entered() as n:
            return x * (2 if n < 5 else 100)

    return program


@case(X[0], X)
def proxy_of_hidden_dict():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            hidden = {"n": 0}
            self.view = types.MappingProxyType(hidden)
            self.bump = functools.partial(hidden.__setitem__, "n")

        def forward(self, x):
            self.bump(min(self.view["n"] + 1, 6))
            return x * (2 if self.view["n"] < 5 else 100)

    return Net()


@case(X[0], X)
def bound_method_of_list():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            seen = []
            self.remember, self.count = seen.append, seen.__len__

        def forward(self, x):
            if self.count() < 6:
                self.remember(1)
            return x * (2 if self.count() < 5 else 100)

    return Net()


@case(X[0], X)
def user_dict_counts():
    class State(collections.UserDict):
        pass

    return Held(State(n=0), lambda s: s.update(n=s["n"] + 1) or s, lambda s: s["n"])


@case(X[0], X)
def thread_local_counts():
    local = threading.local()

    def program(x):
        local.n = min(getattr(local, "n", 0) + 1, 6)
        return x * (2 if local.n < 5 else 100)

    return program


@case(X[0], X)
def scripted_part_counts():
    class Count(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 0

        def forward(self, x):
            self.n = min(self.n + 1, 6)
            return x * (2 if self.n < 5 else 100)

    return nn.Sequential(torch.jit.script(Count()), nn.Tanh()).eval()


@case(X[0], X)
def requires_grad_as_flag():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.n = nn.Parameter(torch.ones(3)), 0

        def forward(self, x):
            self.n = min(self.n + 1, 6)
            if self.n == 5:
                self.w.requires_grad_(False)
            return x * self.w * (2 if self.w.requires_grad else 100)

    return Net()


@case(X[0], X)
def parameter_is_a_parameter():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.full((3,), 2.0))

        def forward(self, x):
            return x * (self.w if isinstance(self.w, nn.Parameter) else 3)

    return Net()
