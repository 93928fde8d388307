"""Values that leave the program for people, where something of its own listens; `type` by other names."""

import builtins
import functools
import itertools
import logging
import sys
import warnings

import torch
from harness import case
from torch import nn

torch.manual_seed(5)
X = [(torch.randn(3, 4),) for _ in range(4)]
ALARMS = X + [(x * 1e4,) for x, in X] + X
PEAKS = [(torch.tensor([0.5, 1.0, 2.0]) * s,) for s in (1.0, 2.0, 1e7, -1e7, 0.0)]
typeof = type


class Tee:
    """A stream that remembers what it was told."""

    def __init__(self, stream):
        self.stream, self.lines, self.last = stream, 0, ""

    def write(self, text):
        if text.strip():
            self.lines, self.last = min(self.lines + 1, 2), text[:80]
        return len(text)

    def flush(self):
        self.stream.flush()


class TeeOfAFile(Tee):
    def fileno(self):
        return self.stream.fileno()


class Clips(nn.Module):
    """Tells its logger of peaks, and goes on otherwise once anybody of its own has heard."""

    def __init__(self, *handlers):
        super().__init__()
        self.alarms, self.log = 0, logging.Logger("net")
        for handler in handlers:
            self.log.addHandler(handler)

    def count(self, *told):
        self.alarms = min(self.alarms + 1, 2)
        return False

    def heard(self):
        return self.alarms

    def forward(self, x):
        if x.abs().max().item() > 1000:
            self.log.warning("clipping")
        return x * 0.5 if self.heard() else x * 2


class ClipsThroughATee(Clips):
    def __init__(self, tee):
        super().__init__(logging.StreamHandler(tee))
        self.tee = tee

    def heard(self):
        return self.tee.lines


@case(X[0], ALARMS)
def handle_set_on_a_logger():
    net = Clips()
    net.log.handle = net.count
    return net


@case(X[0], ALARMS)
def level_of_a_logger_decides():
    net = Clips(logging.StreamHandler(sys.__stderr__))
    net.log.handlers[0].setLevel(logging.CRITICAL)
    net.log.isEnabledFor = net.count
    return net


@case(X[0], ALARMS)
def handle_set_on_a_handler():
    handler = logging.StreamHandler(sys.__stderr__)
    net = Clips(handler)
    handler.handle = net.count  # not emit
    return net


@case(X[0], ALARMS)
def alarms_counted_by_a_tee():
    if not isinstance(sys.stderr, Tee):  # one for the exported program and for the one beside it
        sys.stderr = Tee(sys.__stderr__)
    return ClipsThroughATee(sys.stderr)


@case(X[0], ALARMS)
def stream_with_a_number_of_a_file():
    return ClipsThroughATee(TeeOfAFile(sys.__stderr__))


@case(X[0], ALARMS)
def handler_of_last_resort():
    class Count(logging.Handler):
        alarms = 0

        def emit(self, record):
            self.alarms = min(self.alarms + 1, 2)

    class Net(Clips):
        def __init__(self):
            super().__init__()
            self.last = logging.lastResort = Count(logging.WARNING)

        def heard(self):
            return self.last.alarms

    return Net()


@case(X[0], ALARMS)
def text_of_a_warning_kept_by_a_tee():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.tee = sys.stderr = Tee(sys.__stderr__)

        def forward(self, x):
            warnings.simplefilter("always")
            warnings.warn(f"peak {x.abs().max().item():.0e}")
            return x * 0.5 if "e+04" in self.tee.last else x * 2

    return Net()


@case(X[0], ALARMS)
def format_set_on_a_formatter():
    class Net(Clips):
        def __init__(self):
            handler = logging.StreamHandler(sys.__stderr__)
            handler.setFormatter(logging.Formatter("%(message)s"))
            super().__init__(handler)
            handler.formatter.format = self.keep
            self.last = ""

        def keep(self, record):
            self.last = record.getMessage()[-3:]
            return ""

        def forward(self, x):
            self.log.warning(f"peak {x.abs().max().item():.0e}")
            return x * 0.5 if int(self.last) > 3 else x * 2

    return Net()


@case(X[0], ALARMS)
def text_kept_by_a_tee_with_a_number_of_a_file():
    class Net(ClipsThroughATee):
        def forward(self, x):
            self.log.info(f"{x.abs().max().item():.1f}")
            return x * 0.5 if float(self.tee.last or 0) > 1000 else x * 2

    return Net(TeeOfAFile(sys.__stderr__))


# ---------------------------------------------------------------- types

@case(PEAKS[0], PEAKS)
def type_by_an_alias():
    class Net(nn.Module):
        def forward(self, x):
            peak = x.max().item()
            if typeof(peak) in (int, float) and peak > 1e6:
                return x.clamp(max=1e6)
            return x * peak

    return Net()


@case(PEAKS[0], PEAKS)
def array_or_number():
    def to_row(value):
        return value if hasattr(value, "__array__") else min(value, 1e6)

    class Net(nn.Module):
        def forward(self, x):
            return x * to_row(x.max().item())

    return Net()


@case((torch.tensor([3, 4]), X[0][0]), [(torch.tensor(a), X[0][0]) for a in ([3, 4], [5, 1], [70000, 2], [-3, 4])])
def kind_by_a_table_of_types():
    LIMITS = {int: 1000, float: 1e6}

    class Net(nn.Module):
        def forward(self, n, x):
            n = n.max().item()
            limit = LIMITS.get(builtins.type(n))
            if limit is not None and n > limit:
                n = limit
            return x * n

    return Net()


class Limits:
    def __init__(self):
        self.of = {int: 1000, float: 1e6}

    def cut(self, n):
        limit = self.of.get(builtins.type(n))
        return n if limit is None else min(n, limit)


@case((torch.tensor([0.5, 1.0, 2.0]),), [(torch.tensor([0.5, 1.0, 2.0]) * s,) for s in (1.0, 2.0, 1e7, -1e7, 0.0)])
def limit_by_type_of_builtins():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.limits = Limits()

        def forward(self, x):
            return x * self.limits.cut(x.max().item())

    return Net()


FRAME, OTHER = torch.randn(6), torch.randn(6)
WITH_GAP = torch.tensor([0.5, -999.0, 1.5, -0.25, 2.0, 0.75])
SEEN = itertools.count()


def counted(function):
    """A helper of many projects: how often was something said?"""

    @functools.wraps(function)
    def said(*values, **options):
        said.times += 1
        return function(*values, **options)

    said.times = 0
    return said


@case((FRAME,), [(FRAME,), (OTHER,), (WITH_GAP,), (FRAME,), (OTHER,)])
def cleaner_that_counts_its_notices():
    class Cleaner(nn.Module):
        def __init__(self):
            super().__init__()
            self.say = counted(print)

        def forward(self, x):
            if (x == -999.0).any():
                self.say("missing values in this frame")
            return x / (1 + self.say.times)

    return Cleaner()


@case((FRAME,), [(FRAME * (1 + i % 3),) for i in range(103)])
def decay_with_each_progress_line():
    class Decay(nn.Module):
        def __init__(self):
            super().__init__()
            self.steps = 0
            self.report = counted(print)

        def forward(self, x):
            self.steps += 1
            if self.steps % 100 == 0:
                self.report("steps so far", self.steps)
            return x * 0.5 ** self.report.times

    return Decay()


class Tally(logging.Handler):
    """As in a file logging_tools.py of the project: counts what was logged."""

    __module__ = "logging_tools"

    def __init__(self):
        super().__init__()
        self.count = 0

    def emit(self, record):
        self.count += 1


@case((FRAME,), [(FRAME,), (WITH_GAP,), (OTHER,), (WITH_GAP,), (FRAME,)])
def gain_falls_with_logged_warnings():
    class Gain(nn.Module):
        def __init__(self):
            super().__init__()
            self.tally = Tally()
            self.log = logging.getLogger(f"gain.{next(SEEN)}")
            self.log.propagate = False
            self.log.addHandler(self.tally)

        def forward(self, x):
            if (x == -999.0).any():
                self.log.warning("a frame with missing values")
            return x * 0.5 ** self.tally.count

    return Gain()
