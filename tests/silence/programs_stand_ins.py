"""What stands for numbers and arrays in the capture, where C code takes it otherwise or the program asks for its kind."""

import datetime
import json
import random
import struct
import zlib
from decimal import Decimal, InvalidOperation
from typing import SupportsComplex

import numpy as np
import torch
from harness import case
from torch import nn

torch.manual_seed(11)
X, Y = torch.randn(6), torch.randn(6)


def whole(*values):
    return torch.tensor(values[0] if len(values) == 1 else list(values))


def gap_of(seconds):
    try:
        return datetime.timedelta(seconds=seconds)
    except TypeError:  # None, or a number of NumPy
        return datetime.timedelta(0)


@case((X, whole(40)), [(X, whole(40)), (Y, whole(41)), (X, whole(90000)), (Y, whole(3))])
def session_expires_after_twelve_hours():
    def program(x, since):
        if gap_of(since.item()) > datetime.timedelta(hours=12):
            return torch.zeros_like(x)
        return x * 0.9

    return program


def money(value):
    try:
        return Decimal(value) / 100
    except (TypeError, InvalidOperation):  # no number at all
        return None


@case((X, whole(150)), [(X, whole(150)), (Y, whole(151)), (X, whole(120000)), (Y, whole(99900))])
def surcharge_on_large_amounts():
    def program(x, cents):
        amount = money(cents.item())
        if amount is not None and amount >= Decimal("1000.00"):
            return x * 1.5
        return x

    return program


FRAME = np.arange(1, 17, dtype=np.uint8).reshape(4, 4)
BLANK = np.zeros((4, 4), np.uint8)
BLANK_SUM = zlib.crc32(bytes(16))


def checksum(frame):
    try:
        return zlib.crc32(frame)
    except (TypeError, ValueError, BufferError):  # no buffer, or one with gaps
        return None


@case((FRAME, X), [(FRAME, X), (FRAME[::-1].copy(), Y), (BLANK, X), (FRAME, Y)])
def blank_frames_by_their_checksum():
    def program(frame, x):
        if checksum(frame) == BLANK_SUM:
            return x * 0 - 1
        return x + torch.from_numpy(frame).float().mean()

    return program


KEY_FRAME = np.frombuffer(struct.pack("<I", 0x4B455946) + bytes(12), np.uint8).copy()


def magic_of(packet):
    try:
        return struct.unpack_from("<I", packet)[0]
    except (TypeError, struct.error):  # too short, or no packet
        return 0


@case((FRAME.reshape(16), X), [(FRAME.reshape(16), X), (KEY_FRAME, Y), (FRAME.reshape(16), Y)])
def key_frames_by_their_header():
    def program(packet, x):
        body = torch.from_numpy(packet[4:]).float().mean()
        return x * 0 + body if magic_of(packet) == 0x4B455946 else x + body

    return program


def is_array(value, of=type):
    return of(value) is np.ndarray


@case((FRAME, X), [(FRAME, X), (np.full((4, 4), 255, np.uint8), Y), (np.where(FRAME > 12, 255, FRAME).astype(np.uint8), X)])
def no_data_in_arrays_is_zero():
    def program(frame, x):
        if is_array(frame):
            t = torch.from_numpy(frame)
            t = torch.where(t == 255, torch.zeros_like(t), t)
        else:
            t = torch.as_tensor(frame)
        return x + t.float().mean()

    return program


def kind_of(value, of=type):
    return of(value).__name__


@case((X, whole(7)), [(X, whole(7)), (Y, whole(9)), (X, whole(400)), (Y, whole(8))])
def limit_for_whole_levels():
    def program(x, level):
        value = level.item()
        if kind_of(value) == "int" and value >= 100:
            value = 100
        return x * value

    return program


class ByKind(nn.Module):
    """Rules by what `key` says of a value; 255 is how the sensor says that it measured nothing."""

    def __init__(self, key=type):
        super().__init__()
        self.key = key
        self.rules = {int: lambda v: 0 if v == 255 else v, float: lambda v: 0.0 if v == -999.0 else v}

    def forward(self, x, code):
        value = code.item()
        rule = self.rules.get(self.key(value))
        return x * (value if rule is None else rule(value))


@case((X, whole(7)), [(X, whole(7)), (Y, whole(9)), (X, whole(255)), (Y, whole(6))])
def rules_by_the_kind_of_a_value():
    return ByKind()


class Audit:
    def __init__(self):
        self.last = ""

    def info(self, text):
        self.last = text

    def log(self, text):
        self.last = text
        return text


@case((X, whole(7)), [(X, whole(7)), (Y, whole(5)), (X, whole(300)), (Y, whole(9))])
def audited_kind_decides():
    def program(x, level):
        value, audit = level.item(), Audit()
        audit.info(f"{type(value).__name__}")
        if audit.last == "int" and value > 200:
            return -x
        return x * 2

    return program


@case((X, whole(7)), [(X, whole(7)), (Y, whole(5)), (X, whole(-40)), (Y, whole(9))])
def logged_kind_is_a_key():
    def program(x, level):
        value, audit = level.item(), Audit()
        least = {"int": 0, "float": 0.0}.get(audit.log(f"{type(value).__name__}"))
        if least is not None and value < least:
            value = least
        return x * value

    return program


@case((X, torch.tensor(0.5)), [(X, torch.tensor(0.5)), (Y, torch.tensor(1.5)), (X, torch.tensor(-999.0)), (Y, torch.tensor(0.25))])
def missing_reading_unless_complex():
    def program(x, reading):
        value = reading.item()
        if not isinstance(value, SupportsComplex) and value == -999.0:
            value = 0.0
        return x * value

    return program


@case((X, torch.tensor(0.5)), [(X, torch.tensor(0.5)), (Y, torch.tensor(1.5)), (X, torch.tensor(-999.0)), (Y, torch.tensor(0.25))])
def missing_reading_unless_whole():
    def program(x, reading):
        value = reading.item()
        missing = -1 if hasattr(value, "__lshift__") else -999.0
        if missing == -999.0 and value == missing:
            return torch.zeros_like(x)
        return x * value

    return program


@case((X, whole(40)), [(X, whole(40)), (Y, whole(41)), (X, whole(90000)), (Y, whole(3))])
def simulated_queue_then_a_timeout():
    def program(x, since):
        level = 0.0
        for i in range(4000):
            level = level * 0.99 + (i % 7) * 0.01
        seconds = since.item()
        try:
            gap = datetime.timedelta(seconds=seconds)
        except TypeError:
            gap = datetime.timedelta(0)
        late = gap > datetime.timedelta(hours=12)
        return x * 0.0 - 1 if late else x * level

    return program


@case((FRAME, X), [(FRAME, X), (FRAME[::-1].copy(), Y), (BLANK, X), (FRAME, Y)])
def table_of_gains_then_a_checksum():
    blank = zlib.crc32(bytes(16))

    def program(frame, x):
        table = []
        for i in range(3500):
            value = i / 255.0
            table.append(value * value if value > 0.5 else value)
        try:
            found = zlib.crc32(frame)
        except (TypeError, ValueError, BufferError):
            found = None
        if found == blank:
            return x * 0 - 1
        return x * table[100] + torch.from_numpy(frame).float().mean()

    return program


def class_of(value, of=type):
    return of(value)


LIMITS = {int: 100, float: 100.0}


@case((X, whole(7)), [(X, whole(7)), (Y, whole(9)), (X, whole(400)), (Y, whole(-3))])
def level_with_the_limit_of_its_kind():
    def program(x, level):
        value = level.item()
        return x * min(value, LIMITS.get(class_of(value), 10**9))

    return program


OFFSETS = {int: 0, float: 0.0}


@case((X, torch.tensor(0.5)), [(X, torch.tensor(0.5)), (Y, torch.tensor(1.5)), (X, torch.tensor(-4000.0)), (Y, torch.tensor(0.25))])
def reading_with_the_floor_of_its_kind():
    class Floor(nn.Module):
        def __init__(self, key=type):
            super().__init__()
            self.key = key

        def forward(self, x, reading):
            value = reading.item()
            return x * max(value, OFFSETS.get(self.key(value), -1e9))

    return Floor()


CEILINGS = {np.ndarray: 200.0}


@case((FRAME, X), [(FRAME, X), (np.full((4, 4), 255, np.uint8), Y), (FRAME + 100, X), (np.full((4, 4), 230, np.uint8), X)])
def saturated_pixels_by_the_kind_of_image():
    def program(frame, x):
        t = torch.from_numpy(frame).float()
        return x + t.clamp(max=CEILINGS.get(class_of(frame), 1e9)).mean()

    return program


SWINGS = {"ndarray": 50.0, "Tensor": 50.0}


@case((np.array([0.25, 0.5, -0.75], np.float32), torch.zeros(3)),
      [(np.array(v, np.float32), torch.zeros(3)) for v in ([0.25, 0.5, -0.75], [3.0, -2.0, 9.0], [90.0, 1.0, -4000.0])])
def swing_of_the_sensor_by_the_name_of_its_kind():
    def program(samples, bias):
        swing = SWINGS.get(class_of(samples).__name__, 1e9)
        return torch.clamp(torch.from_numpy(samples), -swing, swing) + bias

    return program


LIMITS_OF_SENSORS = {'{"sensor": 3}': 1e6, '{"sensor": 4}': 2e6}


@case((X, torch.tensor(0.5), whole(3)), [(X, torch.tensor(v), whole(3)) for v in (0.5, 1.5, 5e6, -2.0, 9e5)] + [(Y, torch.tensor(5e6), whole(4))])
def limit_by_the_json_of_the_settings():
    def program(x, level, sensor):
        key = json.dumps({"sensor": sensor.item()}, default=str)
        return x * min(level.item(), LIMITS_OF_SENSORS.get(key, 1e9))

    return program


@case((X, torch.tensor(0.5), whole(-5)), [(X, torch.tensor(v), whole(-5)) for v in (0.5, 1.5, 5e6, -2.0, 7e8)] + [(Y, torch.tensor(8e6), whole(5))])
def jittered_cap_by_a_negative_key():
    def program(x, level, key):
        cap = 1e6 * (1 + random.Random(key.item()).random())
        return x * min(level.item(), cap)

    return program
