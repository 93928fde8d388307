"""Tables that libraries keep for the process, and into which programs register things: hooks of all modules, divergences, nodes of trees, names of levels.
No code of the program names them, so all are compared that lie open as globals of libraries, or in the attributes of such objects."""

import builtins
import collections
import functools
import itertools
import sys
import types

from torch.distributions import kl
from torch.nn.utils import parametrize

from lazyrt._tracer import TableWatch
from lazyrt.code_names import attributes_of, is_python_class, of_a_library
from lazyrt.entries import is_plain_value, plain_token

_TABLES = (dict, list, set, collections.OrderedDict, collections.defaultdict)
_NOT_LOOKED_INTO = {"asyncio", "concurrent", "ctypes", "encodings", "gc", "importlib", "lazyrt", "linecache", "multiprocessing", "os", "pkgutil", "re", "signal", "sre_compile",
                    "sys", "threading", "tracemalloc", "unittest", "warnings", "weakref", "zipimport"}
_CHANGE_BY_THEMSELVES = ("cache", "memo", "_handler", "_impls", "warning", "_in_flight", "_active")  # parts of names
_TABLES_TOO = {"builtins.__dict__": vars(builtins), "torch.nn.utils.parametrize._cache": parametrize._cache}
_MEMORIES = {"torch.distributions.kl._KL_REGISTRY": kl._KL_MEMOIZE}  # what was looked up in a table


class RegistriesEntry:
    """All of these tables as they are. Where modules of Python are imported meanwhile, what they register stays."""

    def __init__(self):
        self.value, self.items = None, []
        self._modules = len(sys.modules)
        self._tables = _tables(self._modules)
        self._saved = self._tables.copies()

    def told(self):
        """{name: token} of those that are not as they were when they were seen first."""
        differing = self._tables.differing(self._saved, self._tables.first)
        return {name: _token(table) for name, table, _ in differing}

    def restore(self, given):
        if len(sys.modules) != self._modules:
            return
        for name, table, saved in self._tables.differing(self._tables.copies(), self._saved):
            _put_back(table, saved)
            if name in _MEMORIES:
                _MEMORIES[name].clear()
        self._tables.copies()  # of what was put back none is kept


class _Tables:
    """All tables by name, and how they were `first`."""

    def __init__(self, found):
        self._names, self._all = [name for name, _ in found], [table for _, table in found]
        self._watch = TableWatch(self._all)
        self.first = self._copies = self._watch.copies.copy()

    def copies(self):
        """How they are now: the same list until one changes."""
        if self._watch.changed():
            self._copies = self._watch.copies.copy()
        return self._copies

    def differing(self, now, then):
        """(name, table, how it was then) of those that were not then as they are `now`, both from copies()."""
        if now is then:
            return
        for name, table, copy, saved in zip(self._names, self._all, now, then):
            if copy is not saved and not _is_as(copy, saved):
                yield name, table, saved


@functools.lru_cache(maxsize=1)
def _tables(modules):
    """`modules` is how many modules of Python there are."""
    found = {id(table): (name, table) for name, table in _TABLES_TOO.items()}
    for name, module in list(sys.modules.items()):
        if type(module) is types.ModuleType and of_a_library(name) and name.partition(".")[0] not in _NOT_LOOKED_INTO:
            _collect(name, vars(module), found, 2)
    return _Tables(list(found.values()))


def _collect(path, names, found, depth):
    for key, value in list(names.items()):
        if not isinstance(key, str) or key.startswith("__") or any(part in key.lower() for part in _CHANGE_BY_THEMSELVES):
            continue
        if type(value) in _TABLES:
            found.setdefault(id(value), (f"{path}.{key}", value))
        elif depth and _is_object_of_library(value):
            inner = vars(value)
            if id(inner) not in found:
                found[id(inner)] = (f"{path}.{key}.__dict__", inner)
                _collect(f"{path}.{key}", inner, found, depth - 1)


def _is_object_of_library(value):
    kind = type(value)
    if not is_python_class(kind) or isinstance(value, (type, types.ModuleType)) or not of_a_library(kind.__module__):
        return False
    known_otherwise = kind.__module__.partition(".")[0] in _NOT_LOOKED_INTO or kind.__module__.startswith(("logging", "random", "torch._", "typing"))
    return not known_otherwise and type(attributes_of(value)) is dict


def _is_as(table, saved):
    """Objects that are the same are not asked."""
    return _equal(table, saved) or isinstance(table, dict) and _equal(_of_others(table), _of_others(saved))


def _equal(table, saved):
    try:
        return bool(table == saved)
    except Exception:  # tensors and arrays that took another one's place
        return False


def _of_others(table):
    """What stands for containers in the capture is registered, too, beside the containers' own classes: see watch.py."""
    return {key: value for key, value in table.items() if not _is_ours(key)}


def _is_ours(key):
    return isinstance(key, type) and str(key.__module__).startswith("lazyrt.")


def _token(table):
    items = itertools.chain.from_iterable(_of_others(table).items()) if isinstance(table, dict) else table
    found = [plain_token(item) if item is not None and is_plain_value(item) else id(item) for item in items]
    return ("table", tuple(found) if not isinstance(table, set) else frozenset(found))


def _put_back(table, saved):
    if isinstance(table, list):
        table[:] = saved
        return
    ours = {key: value for key, value in table.items() if _is_ours(key)} if isinstance(table, dict) else ()
    table.clear()
    table.update(saved)
    table.update(ours)
