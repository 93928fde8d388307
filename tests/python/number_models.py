"""Programs for test_numbers.py. A file of its own, because pytest rewrites the asserts of test files."""

import logging
import math
import warnings
from functools import lru_cache

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

log = logging.getLogger("numbers")


# ---------------------------------------------------------------- comparisons


def third_step(x, t):
    return x * 2 if t.item() == 3 else x + 1


def middle_steps(x, t):
    step = t.item()
    return x * 2 if 200 <= step < 400 else x + 1


def has_token(x, ids):
    return x * 2 if 50 in ids.tolist() else x + 1


def above_a_tenth(x):
    return x * 2 if x[0].item() > 0.1 else x + 1


def first_of_sorted(x, ids):
    return x * sorted(ids.tolist())[0]


def largest(x, ids):
    return x * max(ids.tolist()) + min(ids.tolist())


def sum_of_list(x):
    return x - sum(x.tolist()) / len(x.tolist())


# ---------------------------------------------------------------- arithmetic


def python_arithmetic(x, n):
    k = n.item()
    return (x * (k // 3), x * (k % 3), x + (-k // 3), x + (-k % 3), x * k ** 2, x + abs(-k), x * (k / 4),
            x * divmod(k, 4)[1], x + round(k / 3), x * (2.5 * k), x * (7 - k))


def float_arithmetic(x):
    s = x.abs().mean().item()
    return x / (s + 1e-6), x * (s // 0.1), x * (s % 0.3), x * s ** 2, x - (1 - s), x * -s, torch.full((3,), s), x.clamp(0, s)


def whole_results(x):
    s = x.abs().sum().item()
    return round(s), math.floor(s), s, s > 1


def scalar_arguments(x, n):
    k = n.item()
    return (torch.full((2,), k), torch.full_like(x, k), x.new_full((2,), k), torch.add(x, x, alpha=k), x.clamp(max=k), torch.tensor(k),
            torch.tensor([k, 1]), torch.where(x > 0, x, k), x.masked_fill(x > 0, k), x > k, x ** k, k ** x, k - x, k / (x.abs() + 1))


def counted_loop(x, n):
    for i in range(n.item()):
        x = x * 2 + i
    return x


def overflowing(x, n):
    k = n.item()
    return x + (k * k) % 1000


# ---------------------------------------------------------------- numbers that have to be plain


def math_functions(x):
    s = x.abs().mean().item()
    return x * math.sqrt(s), x + math.exp(-s) - math.log(s) * math.tanh(s), x * (2.0 if math.isnan(s) else 3.0), x / math.log2(s + 2)


def math_domain(x):
    return x * math.sqrt(x.mean().item())


def caught_domain(x):
    try:
        return x * math.log(x.mean().item())
    except ValueError:
        return x - 1


def float_through_math(x):
    return x * math.hypot(x.mean().item(), 1.0)


def float_of_a_tensor(x):
    return x * float(x.mean())


def text_result(x):
    return x, f"{x.mean().item():.3f}"


def key_of_a_float(x):
    return x * {True: 1.0}.get(x.sum().item(), 2.0)


def json_of_a_number(x, n):
    import json
    return x * len(json.dumps({"n": n.item()}))


# ---------------------------------------------------------------- texts


def prints(x):
    y = x * 2
    print("mean", y.mean().item(), y.sum())
    print(f"{y.mean().item():.3f} {float(y.sum()):.2f}" + str(y.max().item()))
    print("%.2f of %d" % (y.mean().item(), y.numel()))
    print("{} and {:.1f}".format(y.min().item(), float(y.max())))
    log.warning("mean %.3f", y.mean().item())
    log.warning(f"mean {y.mean().item()}")
    warnings.warn(f"largest {y.max():.2f}")
    return y + 1


def text_that_steers(x):
    text = str(x.mean().item())
    return x * 2 if text.startswith("-") else x + 1


def print_of_its_own(x):
    seen = []
    print = seen.append  # noqa: A001
    print(f"{x.mean().item()}")
    return x * 2 if seen[0].startswith("-") else x + 1


class Spy(logging.Logger):
    def info(self, message, *args):
        self.last = message


def logger_of_its_own(x):
    spy = Spy("spy")
    spy.info(f"{x.mean().item()}")
    return x * len(spy.last)


def prints_into_a_file(x):
    import io
    file = io.StringIO()
    print(f"{x.mean().item()}", file=file)
    return x * 2 if file.getvalue().startswith("-") else x + 1


def prints_to_a_replaced_stdout(x):
    import contextlib
    import io
    file = io.StringIO()
    with contextlib.redirect_stdout(file):
        print(f"{x.mean().item()}")
    return x * 2 if file.getvalue().startswith("-") else x + 1


# ---------------------------------------------------------------- checks


def asserts(x, n):
    assert n.item() < 10 and (n >= 0).all(), "n is a digit"
    if x.isnan().any() or n.item() == 7:
        raise ValueError("no")
    torch._assert((x.abs() < 100).all(), "x is small")
    assert 0 <= n.item() < 10
    return x * n


def one_hot(ids):
    return F.one_hot(ids, 6).float()


def caught(x):
    try:
        if x.sum().item() > 0:
            raise ValueError
    except ValueError:
        return x * 2
    return x + 1


def caught_outside(x):
    try:
        return _raises(x)
    except AssertionError:
        return x * 2


def _raises(x):
    assert x.sum() < 0
    return x + 1


def either(x):
    if x.sum() > 0 and x.max() > 1:
        raise ValueError
    return x * 2


class Steps:
    def __init__(self, x):
        self.x, self.i = x, 0

    def __iter__(self):
        return self

    def __next__(self):
        self.i += 1
        if self.x[self.i].item() > 0:
            raise StopIteration
        return self.i


def stops(x):
    return x * sum(Steps(x))


def caught_division(x, n):
    try:
        return x * (6 // n.item())
    except ZeroDivisionError:
        return x - 1


# ---------------------------------------------------------------- constants

_CACHE = {}


@lru_cache
def causal_mask(size):
    return torch.ones(size, size).triu(1).bool()


def cached_mask(x):
    if "scale" not in _CACHE:
        _CACHE["scale"] = torch.arange(4.0)
    return x.masked_fill(causal_mask(4), 0.0) * _CACHE["scale"]


class Window(nn.Module):
    def __init__(self):
        super().__init__()
        self.memo = {}

    def forward(self, x):
        window = self.memo.setdefault(x.shape[-1], torch.hann_window(x.shape[-1]))
        return x * window


def numpy_table(x):
    table = np.zeros(3, dtype=np.float32)
    shared = torch.from_numpy(table)
    y = x + shared
    table[0] = 5
    return y * 2 + shared


def filled_table(x):
    table = torch.zeros(4)
    row = table[1:]
    row.copy_(x)
    table[0] = 7
    return table * 2, row


def idle_draw(x):
    torch.rand(3).mul_(2)
    return x + 1


def _quiet(*args):
    return None
