"""What tells how much a container holds, numbers of two sizes, and numbers with rules of their own."""

import enum

import numpy as np
import torch
from harness import case
from torch import nn

X = [(torch.randn(3),) for _ in range(4)]
WRONG = ("refused", "failed")


class Kept(nn.Module):
    def __init__(self, container, program):
        super().__init__()
        self.kept, self.program = container, program

    def forward(self, x):
        return self.program(self.kept, x)


# -------------------------------------------------------------------- how much is kept: the twentieth call tells


def grows_where_a_write_raises(kept, x):
    try:
        kept[20] = 1
        return x * 3
    except IndexError:
        kept.append(1)
    return x * 2


def spends(kept, x):
    try:
        del kept[0]
        return x * 2
    except (IndexError, KeyError):
        return x * 3


def counts_by_union(kept, x):
    kept.add(object())
    return x * (3 if len(set().union(kept)) > 20 else 2)


def counts_by_update(kept, x):
    kept.add(object())
    copy = set()
    copy |= kept
    return x * (3 if len(copy) > 20 else 2)


KEPT = {
    "list_that_grows_where_a_write_raises": (lambda: [], grows_where_a_write_raises),
    "list_that_is_spent": (lambda: [0] * 20, spends),
    "dict_that_is_spent": (lambda: {0: 1}, spends),
    "set_counted_by_union": (set, counts_by_union),
    "set_counted_by_update": (set, counts_by_update),
}

for _name, (_container, _program) in KEPT.items():
    def _make(container=_container, program=_program):
        return Kept(container(), program)

    _make.__name__ = _name
    case(X[0], X * 7)(_make)


@case(X[0], X * 3, expect=("right",))
def log_cut_by_a_slice():
    def program(kept, x):
        kept.append(1)
        del kept[:-30]
        return x * 2

    return Kept([], program)


# -------------------------------------------------------------------- float64 and int64 stay so

DOUBLES = [(torch.tensor([value, 1.0], dtype=torch.float64),) for value in (1.7e9 + 0.25, 1 / 3, 1e30, 16777217.0)]
LONGS = [(torch.tensor([value, 3]),) for value in (16777217, 2**53 - 1, -5)]


@case(DOUBLES[0], DOUBLES, expect=("right",))
def doubles_made_of_numbers():
    def program(x):
        first = x[0].item()
        written = torch.zeros_like(x)
        written[1] = first
        return (torch.tensor(first, dtype=torch.float64), torch.tensor([first, 2.0], dtype=torch.float64), torch.full_like(x, first),
                torch.full((2,), first), x.new_full((2,), first), written, x.clamp(max=x.max().item()), torch.as_tensor(first))

    return program


@case(LONGS[0], LONGS, expect=("right",))
def longs_made_of_numbers():
    def program(x):
        first = x[0].item()
        return (torch.tensor([first * 1.0, 3.0], dtype=torch.long), torch.tensor([first, 2.5], dtype=torch.float64), torch.full((2,), first),
                torch.full_like(x, first, dtype=torch.float64), torch.tensor([first, 0.5]))

    return program


@case(X[0], X * 3, expect=("right",))
def clock_of_its_own():
    class Clock(nn.Module):
        def __init__(self):
            super().__init__()
            self.now = 1.7e9

        def forward(self, x):
            self.now += 1 / 32
            return x, torch.tensor(self.now, dtype=torch.float64)

    return Clock()


# -------------------------------------------------------------------- numbers beyond a type, numbers of other classes

SUMS = [(torch.tensor([value]),) for value in (1e25, -1e25, float("nan"), float("inf"), 2.0**63)]


@case((torch.tensor([2.0]),), SUMS)
def divergence_beyond_whole_numbers():
    return lambda x: x * 0 if x.abs().sum().item() > 10**20 else x + 1


@case((torch.tensor([2.0]),), SUMS)
def below_a_huge_whole_number():
    return lambda x: x + 1 if x.sum().item() < 10**400 else x * 0


@case(LONGS[0], [*LONGS, (torch.tensor([-(2**63), 0]),)])
def sentinel_at_the_end_of_the_type():
    missing = float(torch.iinfo(torch.int64).min)
    return lambda x: x * 0 if x.min().item() == missing else x + 1


class Saturating(float):
    def __radd__(self, other):
        return min(float(other) + float(self), 10.0)


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


@case((torch.tensor([2.0]),), [(torch.tensor([value]),) for value in (5.0, 9.5, 100.0)], expect=WRONG)
def number_with_an_addition_of_its_own():
    limit = Saturating(1.0)
    return lambda x: x * (x.sum().item() + limit)


@case((torch.tensor([2]),), [(torch.tensor([value]),) for value in (3, 5, 7)])
def levels_of_an_enum():
    return lambda x: x * 2 if x.item() < Level.HIGH else x + Level.LOW


@case((torch.tensor([True, False]),), [(torch.tensor([False, False]),), (torch.tensor([True, True]),)])
def root_of_numpy_over_a_count():
    return lambda mask: torch.ones(2) * float(np.sqrt(8.0) / mask.sum().item())


class PassesForADict:
    scale = 2

    @property
    def __class__(self):
        return dict


@case(X[0], X)
def configuration_that_passes_for_a_dict():
    return Kept(PassesForADict(), lambda kept, x: x * kept.scale)


@case((torch.randn(2, 3),), [(torch.randn(2, 3),)] * 3, expect=("right",))
def router_cast_to_what_it_is():
    class Router(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)
            self.register_buffer("seen", torch.zeros(3))

        def forward(self, x):
            self.to(x.dtype)
            self.seen += x.mean(0)
            return self.layer(x) + self.seen

    return Router()
