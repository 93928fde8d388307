"""State in objects of Python's own library, of NumPy and torch: in their attributes, slots and arguments, in what they view or go through."""

import re
from harness import case
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_avg_fn
import contextlib
import csv
import functools
import graphlib
import inspect
import io
import itertools
import numpy as np
import torch
import xml.etree.ElementTree as ET

X = torch.randn(6)
Y = torch.randn(6)
GAP = torch.tensor([0.5, -999.0, 1.5, -0.25, 2.0, 0.75])
MISSING = -999.0
MIXED = [(X,), (Y,), (GAP,), (X,), (GAP,), (Y,), (GAP,), (GAP,)]


def whole(*values):
    return torch.tensor(values[0] if len(values) == 1 else list(values))


def filled(x, instead):
    """What a sensor did not measure is replaced."""
    return torch.where(x == MISSING, instead, x)


@case((X,), MIXED)
def smoothing_that_slows_down_after_the_first_frame():
    class Smoothed(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(6))
            self.average = get_ema_avg_fn(0.0)

        def forward(self, x):
            self.mean = self.average(self.mean, torch.where(x == MISSING, self.mean, x), 1)
            self.average = get_ema_avg_fn(0.9)
            return filled(x, self.mean)

    return Smoothed()


@case((X,), MIXED)
def decay_by_the_level_of_the_frame_before():
    class Adaptive(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.ones(6))
            self.average = get_ema_avg_fn(0.5)

        def forward(self, x):
            y = filled(x, self.average(self.mean, x.clamp(min=-4.0), 1))
            self.average = get_ema_avg_fn(1.0 / (1.0 + x.abs().max().item()))
            return y

    return Adaptive()


@case((X,), MIXED)
def factory_calibration_then_the_field_one():
    class Calibrated(nn.Module):
        def __init__(self):
            super().__init__()
            record = np.concatenate([np.full(6, 0.5), np.full(6, 3.0)]).astype(np.float32).tobytes()
            self.record = memoryview(record)
            self.offsets = self.record[:24]

        def forward(self, x):
            offsets = torch.from_numpy(np.frombuffer(self.offsets, np.float32).copy())
            self.offsets = self.record[24:]
            return filled(x, offsets)

    return Calibrated()


@case((X,), MIXED)
def drift_curve_after_warm_up():
    class Drift(nn.Module):
        def __init__(self):
            super().__init__()
            self.curve = np.poly1d([0.0, 1.0])

        def forward(self, x):
            slope, level = (float(c) for c in self.curve.coeffs[-2:]) if self.curve.order else (0.0, float(self.curve.coeffs[-1]))
            self.curve = np.poly1d([2.0, 5.0])
            return filled(x, torch.arange(6.0) * slope + level)

    return Drift()


@case((X,), MIXED)
def view_of_the_limits_in_force():
    class Limits(nn.Module):
        def __init__(self):
            super().__init__()
            self.start, self.steady = {"low": 1.0, "high": 4.0}, {"low": 0.5, "high": 2.0}
            self.active = self.start.values()

        def forward(self, x):
            low, high = self.active
            self.active = self.steady.values()
            return filled(x, torch.full((6,), low + high))

    return Limits()


@case((X,), MIXED)
def last_call_is_replayed():
    def blend(frame, gain=0.5):
        return frame.clamp(min=-4.0) * gain

    class Replay(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = inspect.signature(blend).bind(torch.zeros(6))

        def forward(self, x):
            before = blend(*self.last.args, **self.last.kwargs)
            self.last = inspect.signature(blend).bind(x, gain=2.0)
            return filled(x, before)

    return Replay()


@case((X,), MIXED)
def changes_undone_by_the_next_call():
    class Undone(nn.Module):
        def __init__(self):
            super().__init__()
            self.undo = contextlib.ExitStack()
            self.gain = torch.ones(6)

        def forward(self, x):
            self.undo.close()
            y = filled(x, self.gain)
            self.undo.callback(setattr, self, "gain", self.gain * 0.5 + x.clamp(min=-4.0).abs())
            self.gain = self.gain * 10
            return y

    return Undone()


class StopForward(Exception):
    """Raised by a hook that has seen enough; its argument is what it has seen."""


@case((X,), MIXED)
def features_in_the_exception_that_stopped_the_forward():
    class Early(nn.Module):
        def __init__(self):
            super().__init__()
            self.stopped = StopForward(torch.zeros(6))

        def features(self, x):
            raise StopForward(x.clamp(min=-4.0) * 2)

        def forward(self, x):
            y = filled(x, self.stopped.args[0])
            try:
                self.features(x)
            except StopForward as stop:
                self.stopped = stop.with_traceback(None)
            return y

    return Early()


@case((X,), MIXED)
def limit_named_by_the_last_error():
    class OutOfRange(Exception):
        pass

    class Checked(nn.Module):
        def __init__(self):
            super().__init__()
            self.error = OutOfRange("no frame yet", 1.0)

        def forward(self, x):
            y = filled(x, torch.full((6,), self.error.args[1]))
            self.error = OutOfRange("largest value so far", max(self.error.args[1], 7.0))
            return y

    return Checked()


@case((X,), MIXED)
def streams_served_round_robin():
    class RoundRobin(nn.Module):
        def __init__(self):
            super().__init__()
            self.streams = itertools.cycle([{"last": torch.zeros(6)} for _ in range(2)])

        def forward(self, x):
            stream = next(self.streams)
            y = filled(x, stream["last"] * 2)
            stream["last"] = x.clamp(min=-4.0)
            return y

    return RoundRobin()


@case((X,), MIXED)
def gains_row_by_row():
    class Scheduled(nn.Module):
        def __init__(self):
            super().__init__()
            text = "step,gain\n" + "".join(f"{i},{1 + i / 8}\n" for i in range(400))
            self.rows = csv.DictReader(io.StringIO(text))

        def forward(self, x):
            row = next(self.rows, None)
            return x * (1.0 if row is None else float(row["gain"]))

    return Scheduled()


@case((X,), MIXED)
def stages_in_topological_order():
    class Pipeline(nn.Module):
        def __init__(self):
            super().__init__()
            self.gains = {"load": 1.0, "scale": 2.0, "shift": 3.0, "write": 4.0}
            self.order = graphlib.TopologicalSorter({"scale": {"load"}, "shift": {"scale"}, "write": {"shift"}})
            self.order.prepare()

        def forward(self, x):
            if not self.order.is_active():
                return x
            ready = self.order.get_ready()
            self.order.done(*ready)
            return x + sum(self.gains[name] for name in ready)

    return Pipeline()


@case((X,), MIXED)
def runs_noted_in_the_tree_of_settings():
    class Configured(nn.Module):
        def __init__(self):
            super().__init__()
            self.tree = ET.ElementTree(ET.fromstring('<model><run seen="0"/><gain warm="3.0" cold="1.0"/></model>'))

        def forward(self, x):
            run, gain = self.tree.getroot()
            seen = int(run.get("seen"))
            run.set("seen", str(min(seen + 1, 3)))
            return x * float(gain.get("warm" if seen >= 3 else "cold"))

    return Configured()


@case((X,), MIXED)
def raw_words_become_levels_in_place():
    class Levels(nn.Module):
        def __init__(self):
            super().__init__()
            self.levels = np.frombuffer(np.linspace(0.5, 3.0, 6).astype(np.float32).tobytes(), np.uint8).copy()

        def forward(self, x):
            if self.levels.dtype == np.uint8:
                self.levels.dtype = np.float32
            return x + torch.from_numpy(self.levels.copy())

    return Levels()


@case((X,), MIXED)
def adjacency_normalised_by_the_first_call():
    class Graph(nn.Module):
        def __init__(self):
            super().__init__()
            edges = torch.tensor([[0, 1, 2, 3, 4, 5, 0], [1, 2, 3, 4, 5, 0, 3]])
            self.adjacency = torch.sparse_coo_tensor(edges, torch.full((7,), 4.0), (6, 6)).coalesce()
            self.normalised = False

        def forward(self, x):
            if not self.normalised:
                self.adjacency.values().mul_(0.5)
                self.normalised = True
            return filled(x, self.adjacency.to_dense() @ torch.ones(6))

    return Graph()


@case((X, whole(1)), [(X, whole(1)), (GAP, whole(2)), (GAP, whole(0)), (Y, whole(3)), (GAP, whole(1)), (GAP, whole(2))])
def row_of_a_decaying_table_as_an_array():
    class Table(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.arange(24.0).reshape(4, 6)
            self.shown = np.zeros(6, np.float32)

        def forward(self, x, n):
            self.table.mul_(0.5)
            y = filled(x, torch.from_numpy(self.shown))
            self.shown = self.table[n.item()].numpy()
            return y

    return Table()


@case((X, whole(1)), [(X, whole(1)), (GAP, whole(2)), (GAP, whole(0)), (Y, whole(3)), (GAP, whole(-1)), (GAP, whole(2))])
def last_written_slot_as_an_array():
    class Slots(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("slots", torch.ones(4, 6))
            self.last = np.zeros(6, np.float32)

        def forward(self, x, slot):
            self.slots.add_(1.0)
            y = filled(x, torch.from_numpy(self.last) * 2)
            self.last = self.slots[slot].numpy()
            return y

    return Slots()


def scaled(gain, x):
    return x * gain


@case((X,), MIXED)
def gain_in_the_arguments_of_a_partial():
    class Levelled(nn.Module):
        def __init__(self):
            super().__init__()
            self.rescale = functools.partial(scaled, 1.0)

        def forward(self, x):
            y = self.rescale(x)
            self.rescale = functools.partial(scaled, 1.0 / (1.0 + x.abs().max().item()))
            return y

    return Levelled()


@case((X,), MIXED)
def gain_in_the_default_of_a_function():
    def gained(x, gain=1.0):
        return x * gain

    class Levelled(nn.Module):
        def __init__(self):
            super().__init__()
            self.gained = gained

        def forward(self, x):
            y = self.gained(x)
            self.gained.__defaults__ = (1.0 / (1.0 + x.abs().max().item()),)
            return y

    return Levelled()


@case((X,), MIXED)
def gains_read_token_by_token():
    class Scheduled(nn.Module):
        def __init__(self):
            super().__init__()
            text = " ".join(f"{1 + i / 8:.3f}" for i in range(400))
            self.lexer = re.compile(r"\s*([\d.]+)").scanner(text)

        def forward(self, x):
            token = self.lexer.match()
            return x * (1.0 if token is None else float(token.group(1)))

    return Scheduled()


@case((X,), MIXED)
def limits_parsed_from_one_line():
    class Limits(nn.Module):
        def __init__(self):
            super().__init__()
            self.now, self.then = re.finditer(r"(\w+)=([\d.]+)", "low=0.5 high=4.0")

        def forward(self, x):
            limit = float(self.now.group(2))
            self.now, self.then = self.then, self.now
            return filled(x, torch.full((6,), limit))

    return Limits()


@case((X,), MIXED)
def formula_of_the_configuration():
    class Formula(nn.Module):
        def __init__(self):
            super().__init__()
            self.rule = compile("0.5 + 0.0 * t", "<cold>", "eval")

        def forward(self, x):
            value = eval(self.rule, {"__builtins__": {}}, {"t": 3.0})
            self.rule = compile("1.5 + 2.0 * t", "<warm>", "eval")
            return filled(x, torch.full((6,), value))

    return Formula()


@case((X,), MIXED)
def floor_of_the_type_in_use():
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.limits = torch.finfo(torch.float16)

        def forward(self, x):
            scores = x.masked_fill(x == MISSING, self.limits.min)
            self.limits = torch.finfo(torch.bfloat16)  # the first block is in halves
            return scores

    return Masked()


@case((X,), MIXED)
def full_scale_of_two_converters():
    class Converters(nn.Module):
        def __init__(self):
            super().__init__()
            self.left, self.right = torch.iinfo(torch.int8), torch.iinfo(torch.int16)

        def forward(self, x):
            y = filled(x, torch.full((6,), float(self.left.max)))
            self.left, self.right = self.right, self.left
            return y

    return Converters()


@case((X,), [(X,), (Y,), (X * 3,), (Y,), (X,)])
def warm_up_by_the_state_pattern():
    class Steady(nn.Module):
        def forward(self, x):
            return x * 0.5 + self.level

    class WarmUp(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("level", torch.zeros(6))

        def forward(self, x):
            self.level.copy_(x)
            self.__class__ = Steady
            return x

    return WarmUp()


@case((X,), MIXED)
def scaler_that_becomes_a_fitted_one():
    class Fitted:
        def apply(self, x):
            return (x - self.mean) / self.scale

    class Scaler:
        cls_to_become = Fitted
        mean, scale = 0.0, 1.0

        def apply(self, x):
            self.mean, self.scale = x.mean(), x.std() + 1e-3
            self.__class__ = self.cls_to_become
            return x

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.scaler = Scaler()

        def forward(self, x):
            return self.scaler.apply(x).tanh()

    return Model()
