"""Switches, counters and the like of the process and of libraries, which a program may set and leave so: entries as those of entries.py."""

import csv
import decimal
import gc
import itertools
import logging
import os
import re
import sys
import threading
import warnings

import numpy
import torch
from torch.distributions import Distribution
from torch.nn.utils import parametrize
from torch.utils.hooks import RemovableHandle

from lazyrt._tracer import TableWatch
from lazyrt.entries import MISSING
from lazyrt.registries import RegistriesEntry


def _autocast_of_cpu():
    return torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")


def _set_autocast_of_cpu(state):
    torch.set_autocast_enabled("cpu", state[0])
    torch.set_autocast_dtype("cpu", state[1])


def decimals_of(context):
    """How a context rounds and what it traps; what it has signalled is apart."""
    return context.prec, context.rounding, context.Emin, context.Emax, context.capitals, context.clamp, dict(context.traps)


def set_decimals_of(context, state):
    context.prec, context.rounding, context.Emin, context.Emax, context.capitals, context.clamp, context.traps = state


def _set_filters(state):
    warnings.filters[:] = state
    warnings._filters_mutated()


def _set_environment(state):
    os.environ.clear()
    os.environ.update(state)


class _Loggers:
    """All loggers of the process, which are looked at anew when one has changed."""

    _OWN = frozenset(vars(logging.Logger("")))

    def __init__(self):
        self._watch = None
        self.changed()

    def changed(self):
        """Whether one has, since this was asked last."""
        if self._watch is not None and not self._watch.changed():
            return False
        found = logging.root.manager.loggerDict
        self.all = [logging.root, *(logger for _, logger in sorted(found.items()) if isinstance(logger, logging.Logger))]
        self._watch = TableWatch([found, *map(vars, self.all), *(part for logger in self.all for part in (logger.filters, logger.handlers))])
        self.given = [(logger, name) for logger in self.all if len(vars(logger)) > len(self._OWN) for name in vars(logger) if name not in self._OWN]
        self.states = {each.name: (each.level, each.disabled, each.propagate, list(each.filters), list(each.handlers)) for each in self.all}
        return True


_loggers = _Loggers()


def _states_of_loggers():
    """{name of a logger: its level and so on}: the same dict until one changes."""
    _loggers.changed()
    return _loggers.states


def _set_loggers(state):
    for logger in _loggers.all:
        level, disabled, propagate, filters, handlers = state.get(logger.name, (logging.NOTSET, False, True, [], []))
        logger.setLevel(level)
        logger.disabled, logger.propagate, logger.filters, logger.handlers = disabled, propagate, list(filters), list(handlers)


_GLOBALS = ((sys, "excepthook"), (sys, "unraisablehook"), (sys, "displayhook"), (threading, "excepthook"), (logging, "_loggerClass"), (logging, "_logRecordFactory"),
            (warnings, "formatwarning"), (parametrize, "_cache_enabled"))
_EXCHANGED = {"_jit_set_profiling_executor": True, "_jit_set_profiling_mode": True, "_jit_set_fusion_strategy": []}


def _global(module, name):
    return lambda: getattr(module, name), lambda value: setattr(module, name, value)


def _of_libtorch():
    """Those of torch.backends and the like: pairs of functions that get and set a plain value."""
    found = {}
    for setter in sorted(name for name in dir(torch._C) if "nvfuser" not in name):  # it is gone, and warns
        parts = re.fullmatch("(_|_jit_|_jit_texpr_|_debug_)(?:set|override)_(.*)", setter)
        getters = [f"{parts[1]}{verb}{parts[2]}" for verb in ("get_", "", "is_")] if parts else ()
        name = next((getter for getter in getters if hasattr(torch._C, getter)), None)
        if name is None or name == "_get_thread_name":
            continue
        put, get = getattr(torch._C, setter), getattr(torch._C, name)
        try:
            value = get()
        except (TypeError, RuntimeError):  # it wants arguments, or what this build has not
            continue
        if isinstance(value, (bool, int, str)):
            found[f"torch._C.{name}()"] = get, put
    return found


def _by_exchange(put, other):
    """A pair for what tells its state only when it gets another."""
    def get():
        state = put(other)
        put(state)
        return state

    return get, put


def _set_anomaly_mode(state):
    torch.set_anomaly_enabled(*state)


_SWITCHES = {
    **_of_libtorch(),
    **{f"{module.__name__}.{name}": _global(module, name) for module, name in _GLOBALS},
    **{f"torch._C.{name}()": _by_exchange(getattr(torch._C, name), other) for name, other in _EXCHANGED.items() if hasattr(torch._C, name)},
    "csv.field_size_limit()": (csv.field_size_limit, csv.field_size_limit),
    "torch.is_anomaly_enabled()": (lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()), _set_anomaly_mode),
    "torch.is_autocast_cache_enabled()": (torch.is_autocast_cache_enabled, torch.set_autocast_cache_enabled),
    "torch.distributions.Distribution's validation": (lambda: Distribution._validate_args, Distribution.set_default_validate_args),
    "logging.disable()": (lambda: logging.root.manager.disable, logging.disable),
    "torch.get_default_dtype()": (torch.get_default_dtype, torch.set_default_dtype),
    "torch.are_deterministic_algorithms_enabled()": (torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
    "torch.get_num_threads()": (torch.get_num_threads, torch.set_num_threads),
    "torch.is_autocast_enabled()": (_autocast_of_cpu, _set_autocast_of_cpu),
    "torch's printoptions": (lambda: dict(vars(torch._tensor_str.PRINT_OPTS)), lambda state: vars(torch._tensor_str.PRINT_OPTS).update(state)),
    "numpy.geterr()": (numpy.geterr, lambda state: numpy.seterr(**state)),
    "numpy.getbufsize()": (numpy.getbufsize, numpy.setbufsize),
    "numpy.geterrcall()": (numpy.geterrcall, numpy.seterrcall),
    "numpy.get_printoptions()": (numpy.get_printoptions, lambda state: numpy.set_printoptions(**state)),
    "decimal.getcontext()": (lambda: decimals_of(decimal.getcontext()), lambda state: set_decimals_of(decimal.getcontext(), state)),
    "os.environ": (lambda: dict(os.environ), _set_environment),
    "gc.get_threshold()": (gc.get_threshold, lambda state: gc.set_threshold(*state)),
    "gc.isenabled()": (gc.isenabled, lambda state: gc.enable() if state else gc.disable()),
    "sys.getrecursionlimit()": (sys.getrecursionlimit, sys.setrecursionlimit),
    "sys.get_int_max_str_digits()": (sys.get_int_max_str_digits, sys.set_int_max_str_digits),
    "sys.get_coroutine_origin_tracking_depth()": (sys.get_coroutine_origin_tracking_depth, sys.set_coroutine_origin_tracking_depth),
    "sys.getswitchinterval()": (sys.getswitchinterval, sys.setswitchinterval),
    "warnings.filters": (lambda: list(warnings.filters), _set_filters),
    "the levels, filters and handlers of loggers": (_states_of_loggers, _set_loggers),
}


class LoggersEntry:
    """Attributes that somebody has given to loggers: `kept` are [(logger, name)]."""

    def __init__(self):
        _loggers.changed()
        self.value, self.kept = None, _loggers.given
        self.items = [vars(logger)[name] for logger, name in self.kept]

    def restore(self, given):
        _loggers.changed()
        if _loggers.given is self.kept and all(given(item) is item for item in self.items):
            return
        for logger, name in _loggers.given:
            if (logger, name) not in self.kept:
                delattr(logger, name)
        for (logger, name), item in zip(self.kept, self.items):
            then = given(item)
            if vars(logger).get(name, MISSING) is not then:
                setattr(logger, name, then)
        _loggers.changed()  # of what was put back no copy is kept


class SeedEntry:
    """What torch.initial_seed() gives; how far the generator is, is another's to put back."""

    def __init__(self):
        self.value, self.items, self.seed = None, [], torch.initial_seed()

    def restore(self, given):
        if torch.initial_seed() != self.seed:
            torch.default_generator.manual_seed(self.seed)


class FlagsOfDecimalsEntry:
    """What decimals have signalled so far."""

    def __init__(self):
        self.value, self.items = None, []
        self.flags = dict(decimal.getcontext().flags)

    def restore(self, given):
        decimal.getcontext().flags = self.flags


def _set_threads(count):
    setattr(threading, "_counter", itertools.count(count).__next__)


# name -> (words of code of which it takes one of each set to see it, what it is, how it is set)
_COUNTERS = {
    "torch.utils.hooks.RemovableHandle.next_id": (
        ({"id", "next_id", "__getstate__", "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"},),
        lambda: RemovableHandle.next_id, lambda count: setattr(RemovableHandle, "next_id", count)),
    "threading._counter": (({"Thread", "Timer"}, {"name", "getName", "current_thread", "currentThread"}),
                           lambda: vars(threading)["_counter"].__self__.__reduce__()[1][0], _set_threads),
}


class CountersEntry:
    """Of libraries, which number what the program has them make: where its code can see the numbers."""

    def __init__(self, words):
        self.value, self.items = None, []
        self.counts = {name: get() for name, (ways, get, _) in _COUNTERS.items() if not any(way.isdisjoint(words) for way in ways)}

    def restore(self, given):
        for name, count in self.counts.items():
            _, get, put = _COUNTERS[name]
            if get() != count:
                put(count)


class SwitchesEntry:
    """Switches of the process that a program may set, and leave so."""

    def __init__(self):
        self.value, self.items = None, []
        self.states = {name: get() for name, (get, _) in _SWITCHES.items()}

    def restore(self, given):
        for name, (get, put) in _SWITCHES.items():
            if get() != self.states[name]:
                put(self.states[name])


def of_process(words):
    """[(entry, what it tells, by name)] for code with these words, which sees some of it."""
    switches, counters, flags, seed = SwitchesEntry(), CountersEntry(words), FlagsOfDecimalsEntry(), SeedEntry()
    found = [(switches, switches.states), (counters, counters.counts)]
    found.append((flags, {"decimal.getcontext().flags": tuple(flags.flags.items())} if "flags" in words else {}))
    registries = RegistriesEntry()
    found.append((registries, registries.told()))
    if "initial_seed" in words:
        found.append((seed, {"torch.initial_seed()": seed.seed}))
    return found
