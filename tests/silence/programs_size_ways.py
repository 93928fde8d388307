"""Sizes that no question shows: read by C, by the text of a shape, behind tables that lie elsewhere, in scripts. Right at every size, or refused."""

import dataclasses
import enum
import json
import math
import operator

import torch
from harness import sized

REFUSED = ("right", "refused", "failed")
N = {"n": (8, 420, 37)}
X0 = {"x": {0: "n"}}


def row(n):
    return (torch.arange(2.0 * n).view(n, 2) % 7 - 3,)


def ways(**more):
    return sized(row, N, X0, also=[136, 137, 138], count=6, expect=REFUSED, **more)


@ways()
def size_by_int():
    return lambda x: x * 3 if int(x.shape[0]) == 137 else x


@ways()
def half_by_int():
    return lambda x: x * 3 if int(x.shape[0] / 2) == 68 else x


class OldNames:
    bias, bias_137 = 0.0, 3.0


@ways()
def attribute_by_percent():
    return lambda x: x + getattr(OldNames, "bias_%d" % x.shape[0], OldNames.bias)


@ways()
def factor_by_json():
    return lambda x: x * {"[137]": 2.0}.get(json.dumps([x.shape[0]]), 1.0)


@ways()
def factor_by_the_text_of_a_shape():
    return lambda x: x * {"torch.Size([137, 2])": 2.0}.get(str(x.shape), 1.0)


MANY = {n: 1.0 for n in range(1000, 1400)} | {137: 2.0}


@ways()
def table_of_many_keys():
    return lambda x: x * MANY.get(x.shape[0], 1.0)


class Scaled(torch.nn.Module):
    scales = {61: 2.0, 137: 0.5}

    def forward(self, x):
        return x * self.scales.get(x.shape[0], 1.5)


@ways()
def table_of_the_class():
    return Scaled()


@dataclasses.dataclass
class Config:
    known: frozenset = frozenset({61, 137})


class Configured(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.config = {"sizes": Config()}

    def forward(self, x):
        return x * 2 if x.shape[0] in self.config["sizes"].known else x


@ways()
def set_of_a_config():
    return Configured()


class Length(enum.IntEnum):
    SHORT = 61
    LONG = 137


@ways()
def size_of_an_enum():
    return lambda x: x * 2 if x.shape[0] in list(Length) else x


@ways()
def length_of_a_range():
    return lambda x: x * 2 if len(range(0, x.shape[0], 16)) == 9 else x


@ways()
def index_of_the_operator_module():
    return lambda x: x * 2 if operator.index(x.shape[0]) == 137 else x


@ways()
def remainder_of_reals():
    return lambda x: x * 2 if math.fmod(x.shape[0], 1000) == 137 else x


@torch.jit.script
def doubled_at_one_size(x):
    if x.size(0) == 137:
        return x * 2
    return x + 0


@ways()
def scripted_helper():
    return lambda x: doubled_at_one_size(x) + 1


@sized(lambda n: (torch.arange(2.0 * n).view(1, -1),), {"n": (500, 24000, 4000)}, {"x": {1: "n"}}, also=[8000], count=4, expect=REFUSED)
def clip_of_a_known_length():
    return lambda x: x * 2 if int(x.shape[1]) == 16000 else x


@sized(lambda h, w: (torch.ones(h, w),), {"h": (8, 400, 32), "w": (8, 400, 48)}, {"x": {0: "h", 1: "w"}}, points=[{"h": 209, "w": 221}], count=4,
       expect=REFUSED)
def one_area():
    return lambda x: x * 2 if x.shape[0] * x.shape[1] == 46189 else x
