"""What a program marks in places that few look at: classes, locks, large tensors, files in memory."""

import array
import decimal
import io
import logging
import sqlite3
import threading
import xml.etree.ElementTree as ET

import numpy as np
import torch
from harness import case
from torch import Tensor, nn

torch.manual_seed(11)
X, Y = torch.randn(6), torch.randn(6)
GAP = torch.tensor([0.5, -999.0, 1.5, -0.25, 2.0, 0.75])


@case((X,), [(X * 5 + 4,), (Y,), (X * 5 + 4,), (GAP,)])
def class_that_migrates_once():
    class Codebook(nn.Module):
        __version__ = 1

        def forward(self, x):
            if Codebook.__version__ < 2:
                Codebook.__version__ = 2
                return x.clamp(max=3.0)
            return x * 1.0

    return Codebook()


@case((X,), [(X * 5 + 4,), (Y,), (X * 5 + 4,), (GAP,), (X,)])
def registry_in_annotations():
    class Schema(nn.Module):
        rate: float = 16.0

        def forward(self, x):
            if "warm" not in Schema.__annotations__:
                Schema.__annotations__["warm"] = bool
                return x.clamp(max=3.0)
            return x + 0.0

    return Schema()


@case((X,), [(X * 5 + 4,), (Y,), (X * 5 + 4,), (GAP,), (X,)])
def large_table_marked_by_data():
    class Hits(nn.Module):
        def __init__(self):
            super().__init__()
            self.hits = [torch.zeros(4_200_000, dtype=torch.int8)]

        def forward(self, x):
            seen = int(self.hits[0][7])
            if seen < 2:
                self.hits[0].data[7] += 1
            return x.clamp(max=2.0 + seen) if seen < 2 else x + 0.0

    return Hits()


@case((X,), [(X * 5 + 4,), (Y,), (X * 5 + 4,), (GAP,)])
def first_caller_takes_the_latch():
    class Latched(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = threading.Lock()

        def forward(self, x):
            if self.first.acquire(blocking=False):
                return x.clamp(max=3.0)
            return x * 1.0

    return Latched()


@case((X,), [(X * 5 + 4,), (Y,), (X * 5 + 4,), (GAP,)])
def limits_read_line_by_line():
    class Scheduled(nn.Module):
        def __init__(self):
            super().__init__()
            self.lines = io.BufferedReader(io.BytesIO(b"3.0\n"))

        def forward(self, x):
            line = self.lines.readline()
            return x.clamp(max=float(line)) if line else x * 1.0

    return Scheduled()


MIXED = [(X,), (GAP,), (Y,), (GAP,), (GAP,), (X,), (GAP,)]


@case((X,), MIXED)
def double_buffer_with_write_protection():
    class Double(nn.Module):
        def __init__(self):
            super().__init__()
            self.front = np.full(6, 4.0, np.float32)
            self.back = np.full(6, 8.0, np.float32)
            self.turn = 0

        def forward(self, x):
            shown = self.front if self.front.flags.writeable else self.back
            self.front.flags.writeable = self.turn == 0
            self.turn = (self.turn + 1) % 2
            return torch.where(x == -999.0, torch.from_numpy(shown.copy()), x)

    return Double()


@case((X, Y), [(X, Y), (Y, X), (X, Y), (X * 2, Y), (X, Y)])
def reference_of_a_matched_filter_that_fades():
    pattern = torch.view_as_complex(torch.arange(12.0).reshape(6, 2) / 12)

    class Matched(nn.Module):
        def __init__(self):
            super().__init__()
            self.reference = pattern.clone().conj()

        def forward(self, re, im):
            self.reference.mul_(0.5)
            return torch.view_as_real(torch.complex(re, im) * self.reference)

    return Matched()


@case((X,), MIXED)
def offset_from_an_imaginary_part():
    class Offset(nn.Module):
        def __init__(self):
            super().__init__()
            self.offset = torch.complex(torch.zeros(6), torch.ones(6)).conj().imag

        def forward(self, x):
            y = torch.where(x == -999.0, self.offset * 1.0, x)
            self.offset.add_(0.5)
            return y

    return Offset()


@case((X * 5,), [(X * 5 + 4,), (Y,), (X * 5 + 4,), (GAP,), (X * 9,)])
def limits_iterated_from_a_text_in_memory():
    class Scheduled(nn.Module):
        def __init__(self):
            super().__init__()
            self.lines = io.TextIOWrapper(io.BytesIO(b"3.0\n2.0\n"))

        def forward(self, x):
            line = next(self.lines, "")
            return x.clamp(max=float(line)) if line else x * 1.0

    return Scheduled()


@case((X * 5,), [(X * 5 + 4,), (Y,), (X * 5 + 4,), (GAP,), (X * 9,), (GAP,)])
def limits_from_an_array_of_numbers():
    class Annealed(nn.Module):
        def __init__(self):
            super().__init__()
            self.limits = iter(array.array("d", [3.0, 2.0, 1.0]))

        def forward(self, x):
            return x.clamp(max=next(self.limits, 0.5))

    return Annealed()


@case((X,), MIXED)
def runs_logged_in_a_database():
    class Logged(nn.Module):
        def __init__(self):
            super().__init__()
            self.db = sqlite3.connect(":memory:")
            self.db.execute("create table runs (size integer)")

        def forward(self, x):
            self.db.execute("insert into runs values (?)", (x.numel(),))
            (count,) = self.db.execute("select count(*) from runs").fetchone()
            return x if count < 6 else x * 0.5

    return Logged()


@case((X,), MIXED)
def settings_in_an_element():
    class Configured(nn.Module):
        def __init__(self):
            super().__init__()
            self.config = ET.fromstring('<model><head seen="0" gain="1.5"/></model>')

        def forward(self, x):
            head = self.config.find("head")
            seen = int(head.get("seen")) + 1
            head.set("seen", str(min(seen, 7)))
            return x * float(head.get("gain")) if seen > 5 else x

    return Configured()


@case((X,), MIXED)
def fees_rounded_up_and_down_in_turn():
    class Fees(nn.Module):
        def __init__(self):
            super().__init__()
            self.context = decimal.Context(prec=3, rounding=decimal.ROUND_UP)

        def forward(self, x):
            fee = float(self.context.create_decimal("2.345"))
            up = self.context.rounding == decimal.ROUND_UP
            self.context.rounding = decimal.ROUND_DOWN if up else decimal.ROUND_UP
            return torch.where(x == -999.0, fee * 100, x)

    return Fees()


# ------------------------------------------------------------------ switches of the whole process


@case((X,), MIXED, apart=True)
def every_other_frame_is_silent():
    log = logging.getLogger("mark.silence")
    logging.disable(logging.NOTSET)

    class Muted(nn.Module):
        def __init__(self):
            super().__init__()
            self.turn = 0

        def forward(self, x):
            loud = log.isEnabledFor(logging.WARNING)
            logging.disable(logging.NOTSET if self.turn == 0 else logging.CRITICAL)
            self.turn = (self.turn + 1) % 2
            return torch.where(x == -999.0, 2.0 if loud else 6.0, x)

    return Muted()


@case((X,), MIXED, apart=True)
def anomaly_mode_for_every_other_call():
    torch.autograd.set_detect_anomaly(False)

    class Checked(nn.Module):
        def __init__(self):
            super().__init__()
            self.turn = 0

        def forward(self, x):
            checked = torch.is_anomaly_enabled()
            torch.autograd.set_detect_anomaly(self.turn == 1, check_nan=False)
            self.turn = (self.turn + 1) % 2
            return torch.where(x == -999.0, 9.0 if checked else 4.0, x)

    return Checked()


@case((X,), MIXED, apart=True)
def exact_path_where_results_have_to_be_reproducible():
    torch.backends.cudnn.deterministic = False

    class Exact(nn.Module):
        def __init__(self):
            super().__init__()
            self.turn = 0

        def forward(self, x):
            exact = torch.backends.cudnn.deterministic
            torch.backends.cudnn.deterministic = self.turn == 1
            self.turn = (self.turn + 1) % 2
            return torch.where(x == -999.0, 9.0 if exact else 4.0, x)

    return Exact()
