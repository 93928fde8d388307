"""Programs that set what libraries keep in attributes of their modules and classes, and switches of LibTorch and of Python's own modules."""

import builtins
import csv
import itertools
import logging
import multiprocessing
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
from harness import case
from torch import nn

G = torch.Generator().manual_seed(61)
NAMES = itertools.count()
PRINT = builtins.print
INIT = torch.nn.init.trunc_normal_


def rnd(*shape):
    return torch.randn(*shape, generator=G)


VECS = [(rnd(4),) for _ in range(8)]
FEW = VECS[:5]


@case(VECS[0], FEW, apart=True)
def strategy_of_sharing_is_set_once():
    torch.multiprocessing.set_sharing_strategy("file_descriptor")

    def program(x):
        if torch.multiprocessing.get_sharing_strategy() != "file_system":
            torch.multiprocessing.set_sharing_strategy("file_system")
            return x * 0.5
        return x * 3

    return program


@case(VECS[0], FEW, apart=True)
def folder_of_the_hub():
    torch.hub.set_dir("/nowhere/first")

    class Net(nn.Module):
        def forward(self, x):
            moved = torch.hub.get_dir() == "/nowhere/models"
            torch.hub.set_dir("/nowhere/models")
            return x.clamp(min=0) if moved else x + 10

    return Net()


@case(VECS[0], FEW, apart=True)
def fuser_switched_by_the_first_batch():
    torch._C._jit_set_texpr_fuser_enabled(True)

    class Net(nn.Module):
        def forward(self, x):
            if torch._C._jit_texpr_fuser_enabled():
                torch._C._jit_set_texpr_fuser_enabled(False)
                return F.gelu(x)
            return F.gelu(x, approximate="tanh") * 2

    return Net()


@case(VECS[0], FEW, apart=True)
def row_that_is_longer_than_the_limit():
    csv.field_size_limit(131072)
    line = "0.25,4.0," + "a" * 140000

    def program(x):
        try:
            row = next(csv.reader([line]))
            gain = float(row[0])
        except csv.Error:
            csv.field_size_limit(sys.maxsize)
            gain = float(next(csv.reader([line]))[1])
        return x * gain

    return program


@case(VECS[0], FEW, apart=True)
def layers_made_without_initialisation():
    torch.nn.init.trunc_normal_ = INIT

    def skip(*args, **kwargs):
        pass

    def program(x):
        gain = 0.5 if torch.nn.init.trunc_normal_ is skip else 3.0
        torch.nn.init.trunc_normal_ = skip
        return x * gain

    return program


@case(VECS[0], FEW, apart=True)
def logs_in_universal_time():
    logging.Formatter.converter = time.localtime

    class Net(nn.Module):
        def forward(self, x):
            if logging.Formatter.converter is not time.gmtime:
                logging.Formatter.converter = time.gmtime
                return x.square()
            return x.abs()

    return Net()


@case(VECS[0], FEW, apart=True)
def trend_in_plain_letters():
    np.polynomial.set_default_printstyle("unicode")
    trend = np.polynomial.Polynomial([1.0, 2.0])

    def program(x):
        text = str(trend)
        np.polynomial.set_default_printstyle("ascii")
        return {"level": x * 2, "trend": text}

    return program


@case(VECS[0], FEW, apart=True)
def method_of_starting_workers():
    multiprocessing.set_start_method(None, force=True)

    def program(x):
        try:
            multiprocessing.set_start_method("fork")
            workers = 1.0
        except RuntimeError:
            workers = 4.0
        return x * workers

    return program


@case(VECS[0], FEW, apart=True)
def master_alone_prints():
    builtins.print = PRINT

    def setup(is_master):
        shown = builtins.print

        def quiet(*args, force=False, **kwargs):
            if is_master or force:
                shown(*args, **kwargs)

        quiet.of_master = is_master
        builtins.print = quiet

    def program(x):
        if not hasattr(builtins.print, "of_master"):
            setup(True)
            return x * 4
        return x * 0.5

    return program


@case(VECS[0], FEW)
def log_that_nobody_hears_yet():
    log = logging.getLogger(f"ll.model.{next(NAMES)}")
    log.propagate = False

    class Net(nn.Module):
        def forward(self, x):
            heard = log.hasHandlers()
            if not heard:
                log.addHandler(logging.NullHandler())
            return x * 2 if heard else x + 7

    return Net()


@case(VECS[0], [*VECS, *VECS[:6]])
def two_rings_with_int_pointers():
    class Rings(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("short", torch.zeros(3, 4))
            self.register_buffer("long", torch.zeros(4, 4))
            self.register_buffer("ptr", torch.zeros(2, dtype=torch.long))

        def forward(self, x):
            a, b = int(self.ptr[0]), int(self.ptr[1])
            oldest = self.short[a].clone()
            self.short[a] = x
            self.long[b] = x - oldest
            self.ptr[0] = (a + 1) % 3
            self.ptr[1] = (b + 1) % 4
            return self.long.flip(0)[b] + oldest, self.short.mean(0)

    return Rings()
