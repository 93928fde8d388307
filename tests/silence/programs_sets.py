"""Sets that programs keep, whose order goes by their past: what was taken out has left holes, and pop() goes on from where it was."""

import collections
import operator
from decimal import Decimal
from fractions import Fraction

import torch
from harness import case
from torch import nn

ROWS = [(torch.tensor([0.5, 1.0, 2.0]),), (torch.tensor([5500.0, 1.0, 2.0]),), (torch.tensor([0.1, 0.2, 0.3]),)] * 3


class Job:
    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return self.number

    def __eq__(self, other):
        return self.number == other.number

    def __repr__(self):
        return f"Job({self.number})"


def in_the_band(x, then, otherwise):
    top = x.max()
    return torch.where((top > 5000) & (top < 6000), then, otherwise)


class Rotates(nn.Module):
    """The first of a set goes behind the others."""

    def __init__(self, items, number):
        super().__init__()
        self.items, self.number = set(items), number

    def forward(self, x):
        first = next(iter(self.items))
        self.items.remove(first)
        self.items.add(first)
        return in_the_band(x, x * self.number(first), x)


@case(ROWS[0], ROWS)
def jobs_round_robin():
    return Rotates([Job(1), Job(2), Job(3)], lambda job: job.number)


@case(ROWS[0], ROWS)
def rates_round_robin():
    return Rotates([Fraction(1, 2), Fraction(1, 3), Fraction(2, 3)], float)


@case(ROWS[0], ROWS)
def levels_round_robin():
    return Rotates([Decimal("0.5"), Decimal("0.25"), Decimal("2")], float)


@case(ROWS[0], [ROWS[i % 6] for i in range(1500)])
def pages_of_a_cache_in_turn():
    """pop() and add() leave the same items in the same order, and the next pop() gives another one late."""
    class Cache(nn.Module):
        def __init__(self):
            super().__init__()
            self.pages = set(range(1500))

        def forward(self, x):
            page = self.pages.pop()
            self.pages.add(page)
            return x * (3 if page >= 1400 else 1)

    return Cache()


@case(ROWS[0], ROWS)
def pending_jobs_of_a_thinned_set():
    class Pending(nn.Module):
        def __init__(self):
            super().__init__()
            self.pending = set(range(64))
            for job in range(64):
                if job not in (3, 8, 16, 33):
                    self.pending.discard(job)

        def forward(self, x):
            if not self.pending:
                return x
            job = next(iter(self.pending))
            self.pending.remove(job)
            return x * job

    return Pending()


@case(ROWS[0], ROWS)
def tracks_in_the_order_of_a_set():
    class Tracks(nn.Module):
        def __init__(self):
            super().__init__()
            self.tracks = set(range(256))
            for track in range(256):
                if track not in (5, 40, 72, 136):
                    self.tracks.discard(track)

        def forward(self, x):
            first = next(iter(self.tracks))
            self.tracks.symmetric_difference_update({5})
            return x + first

    return Tracks()


@case(ROWS[0], ROWS, expect=("right",))
def kinds_that_are_only_looked_up():
    class Looks(nn.Module):
        def __init__(self):
            super().__init__()
            self.kinds, self.seen = {"a", "b"}, set()

        def forward(self, x):
            self.seen.add("a")
            return x * 2 if "a" in self.kinds and len(self.seen) < 5 else x

    return Looks()


@case(ROWS[0], ROWS)
def jobs_taken_by_an_operator():
    class Takes(nn.Module):
        def __init__(self):
            super().__init__()
            self.jobs = {1, 2, 3}

        def forward(self, x):
            first = {next(iter(self.jobs))}
            self.jobs -= first
            self.jobs |= first
            return x * len(self.jobs)

    return Takes()


def thinned():
    kinds = {f"kind {i}" for i in range(64)}
    for i in range(60):
        kinds.discard(f"kind {i}")
    return kinds


@case(ROWS[0], ROWS, expect=("right",))
def thinned_kinds_that_are_only_looked_up():
    class Looks(nn.Module):
        def __init__(self):
            super().__init__()
            self.kinds = thinned()

        def forward(self, x):
            seen = set()
            seen.add("kind 63")
            seen.discard("kind 1")
            return x * 2 if "kind 63" in self.kinds and seen else x

    return Looks()


@case(ROWS[0], ROWS)
def thinned_kinds_that_a_call_adds_to():
    class Adds(nn.Module):
        def __init__(self):
            super().__init__()
            self.kinds = thinned()

        def forward(self, x):
            self.kinds.add("another")
            return x * (2 + list(self.kinds).index("another"))

    return Adds()


GAP = (torch.tensor([0.5, -999.0, 1.5]),)


@case(ROWS[0], [ROWS[0], GAP, ROWS[2], GAP, ROWS[0], GAP])
def bursts_of_tracks_dropped_by_map():
    class Tracks(nn.Module):
        def __init__(self):
            super().__init__()
            self.active = {1, 2}

        def drop(self, ids):
            collections.deque(map(self.active.discard, ids), maxlen=0)

        def forward(self, x):
            self.active.add(8)
            first = next(iter(self.active))
            self.drop([8])
            self.active.update(range(3, 8))
            self.drop(range(3, 8))
            return torch.where(x == -999.0, float(first), x)

    return Tracks()


@case(ROWS[0], [ROWS[0], GAP, ROWS[2], GAP, ROWS[0], GAP])
def free_slots_by_the_operator_module():
    class Slots(nn.Module):
        def __init__(self):
            super().__init__()
            self.free = {1, 2}

        def forward(self, x):
            self.free = operator.ior(self.free, {8})
            best = list(self.free)[0]
            self.free = operator.ior(operator.isub(self.free, {8}), {3, 4, 5, 6, 7})
            self.free = operator.isub(self.free, {3, 4, 5, 6, 7})
            return torch.where(x == -999.0, float(best), x)

    return Slots()
