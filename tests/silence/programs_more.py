"""A second round: what the mends of the first one might have got wrong, and earlier programs of the kind."""

import collections
import contextlib
import contextvars
import dataclasses
import enum
import functools
import io
import itertools
import logging
import math
import operator
import typing
import warnings

import numpy as np
import torch
from harness import case
from torch import nn

X = [(torch.randn(3, 4),) for _ in range(8)]
N = [(torch.randn(5, 3), torch.tensor(n)) for n in (2, 0, -1, 4, 3)]
ONE = torch.ones(2)


def floats(*values):
    return [(torch.tensor([value]),) for value in values]


def whole(*values):
    return [(torch.tensor([value]),) for value in values]


class Keeping(nn.Module):
    """Calls step(self, x) with `kept` as an attribute."""

    def __init__(self, kept, step):
        super().__init__()
        self.kept, self.step = kept, step

    def forward(self, x):
        return self.step(self, x)


@case(X[0], X)
def tuple_of_count_and_last():
    def step(self, x):
        n, last = self.kept
        self.kept = (min(n + 1, 5), x)
        return (x if last is None else x - last) * (n + 1)

    return Keeping((0, None), step)


@case(X[0], X)
def count_and_last_without_end():
    def step(self, x):
        n, last = self.kept
        self.kept = (n + 1, x)
        return (x if last is None else x - last) * (n + 1)

    return Keeping((0, None), step)


class Progress(typing.NamedTuple):
    step: int
    scale: float


@case(X[0], X)
def named_tuple_of_numbers():
    def step(self, x):
        self.kept = self.kept._replace(step=self.kept.step + 1, scale=self.kept.scale * 0.9)
        return x * self.kept.scale + self.kept.step

    return Keeping(Progress(0, 1.0), step)


@case(X[0], X)
def tuple_inside_a_tuple():
    def step(self, x):
        (n, _), rest = self.kept
        self.kept = ((n + 1, 2), rest)
        return x * n

    return Keeping(((0, 1), "a"), step)


@case(X[0], X)
def tuples_in_a_list():
    def step(self, x):
        n, scale = self.kept[1]
        self.kept[1] = (n + 1, scale * 0.5)
        return x * scale + n

    return Keeping([None, (0, 1.0)], step)


@dataclasses.dataclass(frozen=True)
class Frozen:
    n: int = 0
    last: typing.Any = None


@case(X[0], X)
def frozen_dataclass_is_replaced():
    def step(self, x):
        y = x * (self.kept.n + 1) if self.kept.last is None else x * (self.kept.n + 1) - self.kept.last
        self.kept = dataclasses.replace(self.kept, n=self.kept.n + 1, last=x)
        return y

    return Keeping(Frozen(), step)


@case(X[0], X)
def array_in_a_dict():
    def step(self, x):
        y = x + torch.from_numpy(self.kept["sum"]) if "sum" in self.kept else x
        self.kept["sum"] = (x * 0.5).numpy() + self.kept.get("sum", 0)
        return y

    return Keeping({}, step)


@case(X[0], X)
def array_of_counts():
    def step(self, x):
        self.kept[(x.sum() > 0).long().item()] += 1
        return x * float(self.kept[0] + 1)

    return Keeping(np.zeros(2, dtype=np.int64), step)


@case(X[0], X)
def array_beside_its_tensor():
    array = np.zeros((3, 4), dtype=np.float32)

    def step(self, x):
        y = x + self.kept[1]
        self.kept[0][:] = np.minimum(self.kept[0] + 1, 5)
        return y

    return Keeping((array, torch.from_numpy(array)), step)


@case(X[0], X)
def array_filled_by_slice():
    def step(self, x):
        y = x + torch.from_numpy(self.kept.copy())
        self.kept[:] = x.numpy()
        return y

    return Keeping(np.zeros((3, 4), dtype=np.float32), step)


@case(N[0], N)
def rows_of_rows_by_number():
    return lambda x, n: x[n][0] + x[n.item(), 1] + x[n][None, ...].sum()


@case(N[0], N)
def windows_by_number():
    return lambda x, n: x[n.abs().item() % 3:n.abs().item() % 3 + 2] * 2


@case(N[0], N)
def table_written_by_number():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.zeros(5, 3)

        def forward(self, x, n):
            self.table[n] = x[0]
            return self.table.sum(0) + self.table[n - 1]

    return Net()


@case(N[0], N)
def last_of_a_list_by_number():
    def program(x, n):
        rows = list(x)
        return rows[n.item()] * 2

    return program


@case((torch.randn(5, 3), torch.tensor([1, 2])), [(torch.randn(5, 3), torch.tensor(v)) for v in ([1, 2], [4, 0], [-1, 3])])
def rolled_by_numbers():
    return lambda x, n: (x.roll(n[0].item()), torch.roll(x, (n[0].item(), n[1].item()), (0, 1)), x.roll(n[1].item(), -1))


@case(floats(2.0)[0], floats(2.0, -1.0, 0.0, 7.5))
def mixed_largest():
    return lambda x: (ONE * max(0, x.item()), ONE * min(3, x.item(), 4.5), max([x.item()], default=1.0), max("b", "a"))


@case(floats(2.0)[0], floats(2.0, -1.0, 4.0))
def largest_by_key():
    return lambda x: ONE * max([x.item(), -3.0], key=abs)


@case(X[0], X)
def largest_of_tensors():
    return lambda x: max(x.sum(), x.mean(), torch.tensor(0.5))


@case(floats(123.456)[0], floats(123.456, -25.0, 15.0, 1e6))
def rounded_to_tens():
    return lambda x: ONE * round(x.item(), -1)


@case(X[0], X)
def frozen_and_thawed():
    def step(self, x):
        with torch.enable_grad():
            y = (x * self.kept).sum()
            grad = torch.autograd.grad(y, self.kept)[0] if self.kept.requires_grad else torch.zeros(4)
        self.kept.requires_grad_(not self.kept.requires_grad)
        return x + grad

    return Keeping(nn.Parameter(torch.ones(4)), step)


@case(X[0], X)
def mask_on_a_kept_tensor():
    def step(self, x):
        y = x * 2 if self.kept is None else x * self.kept.mask + self.kept
        self.kept = x * 0.5
        self.kept.mask = (x > 0).float()
        return y

    return Keeping(None, step)


@case(X[0], X)
def flags_of_an_enum():
    class Seen(enum.Flag):
        NONE = 0
        ONE = 1
        TWO = 2

    def step(self, x):
        self.kept = {Seen.NONE: Seen.ONE, Seen.ONE: Seen.TWO, Seen.TWO: Seen.ONE | Seen.TWO}.get(self.kept, self.kept)
        return x * (100 if self.kept == Seen.ONE | Seen.TWO else 2)

    return Keeping(Seen.NONE, step)


@case(X[0], X)
def context_variable_counts():
    depth = contextvars.ContextVar("depth", default=0)

    def program(x):
        depth.set(min(depth.get() + 1, 6))
        return x * (2 if depth.get() < 5 else 100)

    return program


@case(X[0], X)
def cached_property_of_state():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 0

        @functools.cached_property
        def scale(self):
            return 2.0 if self.n < 5 else 100.0

        def forward(self, x):
            self.n = min(self.n + 1, 6)
            if self.n in (3, 5):
                self.__dict__.pop("scale", None)
            return x * self.scale

    return Net()


@case(X[0], X)
def property_with_setter():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self._held = {}

        @property
        def level(self):
            return self._held.get("level", 0.0)

        @level.setter
        def level(self, value):
            self._held["level"] = value

        def forward(self, x):
            self.level = self.level * 0.5 + x.mean().item()
            return x + self.level

    return Net()


@case(X[0], X)
def attribute_by_name():
    class Net(nn.Module):
        def forward(self, x):
            n = getattr(self, "k", 1)
            setattr(self, "k", n * 2 if n < 8 else 1)
            return x * n

    return Net()


@case(X[0], X)
def layer_changes_its_kind():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.ReLU()

        def forward(self, x):
            y = self.a(x)
            self.a = nn.Tanh() if isinstance(self.a, nn.ReLU) else nn.ReLU()
            return y

    return Net()


@case(X[0], X)
def largest_so_far():
    def step(self, x):
        self.kept = max(self.kept, x.abs().max().item())
        return x / (self.kept + 1)

    return Keeping(0.0, step)


@case(X[0], X)
def shift_by_step_modulo():
    def step(self, x):
        self.kept += 1
        return x.roll(self.kept % 3, 0)

    return Keeping(0, step)


@case(X[0], X)
def changes_after_twenty_calls():
    def step(self, x):
        self.kept += 1
        return x * 2 if self.kept > 20 else x

    return Keeping(0, step)


@case(X[0], X)
def dropout_is_set_to_zero():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout(0.5)

        def forward(self, x):
            self.drop.p = 0.0
            return self.drop(x)

    return Net()


@case((torch.tensor([1.0, 2.0, 3.0]),), [(torch.tensor(v),) for v in ([1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [0.0, 0.0, 0.0])])
def product_of_list():
    return lambda x: ONE * functools.reduce(operator.mul, x.tolist())


@case((torch.tensor([1, 2, 3]),), [(torch.tensor(v),) for v in ([1, 2, 3], [3, 2, 1], [5, 5, 5])])
def sum_over_zip():
    return lambda x: ONE * sum(a * b for a, b in zip(x.tolist(), range(3)))


@case((torch.tensor([1, 2, 3]),), [(torch.tensor(v),) for v in ([1, 2, 3], [3, 2, 1], [5, 5, 55])])
def length_of_joined_text():
    return lambda x: ONE * len(",".join(map(str, x.tolist())))


@case(floats(0.5)[0], floats(0.5, 0.75, 2.5))
def close_to_a_half():
    return lambda x: x * 2 if math.isclose(x.item(), 0.5) else x * 3


@case(whole(3)[0], whole(3, -3, 0))
def two_to_the_number():
    return lambda x: ONE * (2 ** x.item())


@case(whole(3)[0], whole(3, 40, 70))
def one_shifted_by_number():
    return lambda x: ONE * float(1 << x.item())


@case(whole(3)[0], whole(3, 4, 5))
def range_is_checked():
    def program(x):
        n = x.item()
        if not 2 < n < 5:
            raise ValueError(n)
        return x * n

    return program


@case(whole(3)[0], whole(3, 4, 5))
def caught_assertion():
    def program(x):
        try:
            assert x.item() == 3
        except AssertionError:
            return x * 100
        return x

    return program


@case(floats(3.0)[0], floats(3.0, 4.0, 5.0))
def counted_warnings():
    def program(x):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            if x.item() > 3.5:
                warnings.warn("big")
        return x * (len(seen) + 1)

    return program


@case(floats(3.0)[0], floats(3.0, 4.0, 5.0))
def read_from_stdout():
    def program(x):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            print(x.item())
        return x * len(text.getvalue()) if text.getvalue().startswith("3") else -x

    return program


@case(floats(3.0)[0], floats(3.0, 4.0, 5.0))
def read_from_log():
    got = []

    class Handler(logging.Handler):
        def emit(self, record):
            got.append(record.getMessage())

    logger = logging.getLogger(f"silence.{next(_loggers)}")
    logger.addHandler(Handler())
    logger.setLevel(10)

    def program(x):
        got.clear()
        logger.info("v %s", x.item())
        return x * 2 if got[0] == "v 3.0" else x * 7

    return program


_loggers = itertools.count()


@case(X[0], X)
def lru_cache_of_tensors():
    @functools.lru_cache(maxsize=2)
    def doubled(x):
        return x * 2

    return lambda x: doubled(x) + doubled(x)


@case(X[0], X)
def queue_of_pairs():
    def step(self, x):
        self.kept.append((len(self.kept), x.mean(0)))
        return x + sum(mean * (n + 1) for n, mean in self.kept)

    return Keeping(collections.deque(maxlen=3), step)


@case(floats(2.0)[0], floats(2.0, 9007199254740994.0, 3.0))
def float_against_large_int():
    return lambda x: ONE * (2.0 if x.double().item() < 2**53 + 1 else 3.0)


@case(whole(5)[0], whole(5, -5, 10**15))
def whole_against_infinities():
    return lambda x: ONE * (x.item() < float("inf")) + (x.item() > float("-inf")) + (x.item() == 5.5) + (x.item() <= 5.5)
