"""Registered places that a call empties, that several modules share, that get a constant which something else holds, or a new module; numbers of NumPy that are kept."""

import io

import numpy as np
import torch
from harness import case, people
from torch import nn

RIGHT, LOUD, TOLD = ("right",), ("failed",), ("right", "failed")
CALLS = [torch.randn(4) * scale for scale in [1, 1, 0.1, 3, 1, -2] * 10]


class Episodes(nn.Module):
    """begin(self) stands at the end of every sixteenth call."""

    def __init__(self, begin, step, length=16):
        super().__init__()
        self.register_buffer("h", torch.zeros(4))
        self.start = torch.tensor([1.0, 0.0, -1.0, 2.0])
        self.array = np.array([1.0, 0.0, -1.0, 2.0], np.float32)
        self.begin, self.step, self.length, self.t = begin, step, length, 0

    def forward(self, x):
        y = self.step(self, x)
        self.t += 1
        if self.t == self.length:
            self.t = 0
            self.begin(self)
        return y


def in_place(self, x):
    self.h.mul_(0.9).add_(torch.tanh(x))
    return self.h * 2


def assigned(self, x):
    if self.h is None:
        self.h = torch.zeros(4)
    self.h = self.h * 0.9 + torch.tanh(x)
    return self.h * 2


def registered_anew(self, x):
    if not hasattr(self, "h"):
        self.register_buffer("h", torch.zeros(4))
    return assigned(self, x)


def episodes(name, begin, step, expect, length=16):
    def make():
        return Episodes(begin, step, length)

    make.__name__ = name
    case(CALLS[0], CALLS, expect=expect)(make)


def with_data(self):
    self.h.data = self.start


episodes("episode_that_begins_with_a_constant", lambda self: setattr(self, "h", self.start), in_place, LOUD)
episodes("episode_that_begins_with_a_row_of_a_constant", lambda self: setattr(self, "h", self.start[:]), in_place, LOUD)
episodes("episode_that_begins_with_memory_of_an_array", lambda self: setattr(self, "h", torch.from_numpy(self.array)), in_place, LOUD)
episodes("episode_that_begins_with_data_of_a_constant", with_data, in_place, LOUD)
episodes("episode_that_begins_with_a_copy", lambda self: setattr(self, "h", self.start.clone()), in_place, RIGHT)
episodes("episode_that_begins_with_a_constant_and_never_writes", lambda self: setattr(self, "h", self.start), assigned, RIGHT)
episodes("state_emptied_each_fifth_call", lambda self: setattr(self, "h", None), assigned, RIGHT, length=5)
episodes("buffer_deleted_each_fifth_call", lambda self: delattr(self, "h"), registered_anew, RIGHT, length=5)


class Total(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))


class Reports(nn.Module):
    """A new module after each report."""

    def __init__(self):
        super().__init__()
        self.stats, self.t = Total(), 0

    def forward(self, x):
        self.stats.total = self.stats.total + torch.tanh(x)
        self.t += 1
        if self.t < 15:
            return torch.zeros(4)
        y = self.stats.total / 15
        self.stats, self.t = Total(), 0
        return y


@case(CALLS[0], CALLS, expect=RIGHT)
def module_made_anew_after_each_report():
    return Reports()


class FirstAgain(nn.Module):
    """The first tensor of the buffer is where each episode begins."""

    def __init__(self):
        super().__init__()
        self.register_buffer("h", torch.tensor([1.0, 0.0, -1.0, 2.0]))
        self.start, self.t = self.h, 0

    def forward(self, x):
        self.h = self.h * 0.9 + torch.tanh(x)
        self.t += 1
        y = self.h * 2
        if self.t == 15:
            self.t, self.h = 0, self.start
        return y


@case(CALLS[0], CALLS, expect=LOUD)
def first_buffer_is_where_episodes_begin():
    return FirstAgain()


class Head(nn.Module):
    def __init__(self, center):
        super().__init__()
        self.register_buffer("center", center)

    def forward(self, x):
        return torch.softmax(x - self.center, -1)


class Two(nn.Module):
    def __init__(self, update):
        super().__init__()
        center = torch.zeros(4)
        self.student, self.teacher, self.update = Head(center), Head(center), update

    def forward(self, x):
        out = self.student(x), self.teacher(x * 0.5)
        self.update(self.teacher, x)
        return out


def replaces(head, x):
    head.center = head.center * 0.9 + x * 0.1


def writes(head, x):
    head.center.mul_(0.9).add_(x, alpha=0.1)


@case(CALLS[0], CALLS, expect=LOUD)
def two_modules_share_a_buffer_that_one_replaces():
    return Two(replaces)


@case(CALLS[0], CALLS, expect=RIGHT)
def two_modules_share_a_buffer_that_one_writes():
    return Two(writes)


class Ends(nn.Module):
    """Two names of one tensor; a short call parts them."""

    def __init__(self, update):
        super().__init__()
        state = torch.zeros(4)
        self.register_buffer("a", state)
        self.register_buffer("b", state)
        self.update = update

    def forward(self, x):
        if x.shape[0] == 1:
            self.update(self, x)
            return x + self.b
        self.a.mul_(0.5).add_(x.mean(0))
        return x + self.b


def two_lengths():
    return [(torch.randn(2, 4),), (torch.randn(1, 4),)]


def by_turns():
    return [[(torch.randn(n, 4),) for n in (2, 1, 2, 2, 1, 2, 1, 1, 2)]]


@people("parts two names in a short call", two_lengths, by_turns, expect=LOUD)
def one_sample_parts_two_names():
    return Ends(lambda self, x: setattr(self, "b", self.b + x[0]))


# -------------------------------------------------------------------- numbers of NumPy

TENTHS = [(torch.randint(0, 11, (6,)).float() / 10).numpy() for _ in range(40)]
TICKS = [torch.tensor([float(v)]) for v in [1, 2, 84, 3, 7, -5, 86, 1, 20, 7, 13]]


class Share(nn.Module):
    def __init__(self):
        super().__init__()
        self.share, self.threshold = np.float64(3) / np.float64(10), np.float64(0.5)

    def forward(self, samples):
        fired = samples > self.threshold
        self.threshold = self.share * torch.from_numpy(samples).max().item()
        return torch.from_numpy(fired * np.float32(1))


@case(TENTHS[0], TENTHS, expect=TOLD)
def threshold_is_a_number_of_numpy():
    return Share()


class Level(nn.Module):
    def __init__(self):
        super().__init__()
        self.keep, self.level = np.exp(-1 / 4.0), np.float64(0.0)

    def forward(self, samples):
        rest = (samples - self.level).astype(np.float32)
        self.level = self.keep * self.level + (1 - self.keep) * torch.from_numpy(samples)[-1].item()
        return torch.from_numpy(rest)


@case(TENTHS[0], [row + np.float32(101325) for row in TENTHS], expect=TOLD)
def array_beside_a_kept_number_of_numpy():
    return Level()


class Ticks(nn.Module):
    def __init__(self):
        super().__init__()
        self.tick, self.price = np.float64(0.05), np.float64(0.0)

    def forward(self, ticks):
        shown = round(self.price, 1)
        self.price = self.tick * ticks.item()
        return ticks * 0 + torch.tensor(shown, dtype=torch.float32)


@case(TICKS[0], TICKS, expect=TOLD)
def price_rounded_as_numpy_rounds():
    return Ticks()


# -------------------------------------------------------------------- constants of a traced graph


class WarmUp(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = torch.zeros(())

    def forward(self, x):
        self.calls.add_(1)
        return x * torch.clamp(self.calls / 50, min=1.0)


@case(CALLS[0], CALLS, expect=LOUD)
def traced_counter_that_nobody_registered():
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.trace(WarmUp(), CALLS[0], check_trace=False), buffer)
    buffer.seek(0)
    return torch.jit.load(buffer)


# -------------------------------------------------------------------- one number or tuple in several places

WHOLE = [torch.randint(0, 1000, (4,)) for _ in range(40)]


class Since(nn.Module):
    """One number is the first and the last at first."""

    def __init__(self):
        super().__init__()
        self.first = self.seen = None

    def forward(self, ids):
        n = ids.sum().item()
        if self.seen is None:
            self.first = self.seen = n
        else:
            self.seen += n
        return ids * ((self.seen - self.first) // 1000)


@case(WHOLE[0], WHOLE, expect=RIGHT)
def one_number_in_two_places():
    return Since()


class Pose(nn.Module):
    """Every other call the snapshot is the tuple of the state."""

    def __init__(self):
        super().__init__()
        self.pose = self.kept = (0.0, 0.0)
        self.odd = False

    def forward(self, x):
        v = x.abs().mean().item()
        y = x * (self.pose[0] - self.kept[0])
        self.pose = (0.5 * self.pose[0] + 0.5 * v, v)
        self.odd = not self.odd
        if not self.odd:
            self.kept = self.pose
        return y


@case(CALLS[0], CALLS, expect=LOUD)
def one_tuple_in_two_places():
    return Pose()


def from_bytes(self):
    self.h = torch.frombuffer(self.bytes, dtype=torch.float32)


class OfBytes(Episodes):
    def __init__(self):
        super().__init__(from_bytes, in_place, 4)
        self.bytes = bytearray(np.ones(4, np.float32).tobytes())


@case(CALLS[0], CALLS, expect=LOUD)
def episode_that_begins_with_memory_of_a_bytearray():
    return OfBytes()


FULL = [(torch.randn(3, 4),) for _ in range(12)]


@case(FULL[0], FULL, expect=LOUD)
def holds_the_buffer_a_call_later():
    """What is exchanged becomes, a call later, the buffer itself."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.zeros(3, 4))
            self.old, self.last = torch.zeros(3, 4), torch.zeros(3, 4)

        def forward(self, x):
            self.b[0:] += 1.0
            self.old, self.last = self.last, self.old
            self.last = self.b
            return x + self.old

    return Net()


@case(FULL[0], FULL, expect=RIGHT)
def one_item_in_two_places():
    """The last one is written as it lies in one place, and twice from then on."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("step", torch.ones(3, 4))
            self.kept = [torch.zeros(3, 4), torch.zeros(3, 4), torch.zeros(3, 4)]

        def forward(self, x):
            for item in self.kept:
                item.add_(self.step)
            self.kept[0] = self.kept[-1]
            return x + self.kept[-1]

    return Net()


@case(FULL[0], FULL, expect=LOUD)
def scripted_view_of_a_buffer():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.full((3, 4), -1.0))
            self.shown = self.b.detach()

        def forward(self, x):
            self.b.view(3, 4).mul_(-0.5)
            return torch.maximum(x, self.shown.view(12).view(3, 4)) - self.shown.reshape(3, 4).flip(0)

    return torch.jit.script(Net())
