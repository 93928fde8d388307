"""What libraries keep for the process: tables into which programs register things (hooks of all modules, divergences, nodes of trees), and attributes of modules and
classes (switches, names of folders, functions that somebody has put into their place). No code of the program names them, so all are compared that lie open."""

import collections
import functools
import gc
import itertools
import multiprocessing.context
import sys
import types

from torch.distributions import kl
from torch.nn.utils import parametrize

from lazyrt._tracer import TableWatch, alike
from lazyrt.code_names import attributes_of, is_installed, is_python_class, of_a_library
from lazyrt.entries import MISSING, is_plain_value, plain_token
from lazyrt.errors import ExportError

_TABLES = (dict, list, set, collections.OrderedDict, collections.defaultdict)
_NOT_LOOKED_INTO = {"asyncio", "concurrent", "ctypes", "encodings", "gc", "importlib", "inspect", "lazyrt", "linecache", "os", "pkgutil", "posix", "re", "signal", "sre_compile",
                    "sys", "threading", "tracemalloc", "unittest", "warnings", "weakref", "zipimport"}
_CHANGE_BY_THEMSELVES = ("cache", "memo", "_handler", "_impls", "warning", "_in_flight", "_active", "next_id", "current_id", "_count", "counter", "_step", "mangle")  # parts of names
_TABLES_TOO = {"torch.nn.utils.parametrize._cache": parametrize._cache, "multiprocessing.context._default_context": vars(multiprocessing.context._default_context)}
_MEMORIES = {"torch.distributions.kl._KL_REGISTRY": kl._KL_MEMOIZE}  # what was looked up in a table
_NEVER_TAKEN_BACK = {"torch.library._defs": "defines an operator (torch.library)"}  # LibTorch has it, too


class RegistriesEntry:
    """All of these tables as they are, and the attributes of libraries' modules and classes. Where modules of Python are imported meanwhile, what they register stays."""

    def __init__(self):
        self.value, self.items = None, []
        self._modules = len(sys.modules)
        self._tables = _tables(self._modules)
        self._saved = self._tables.copies()

    def told(self):
        """{name: token} of those that are not as they were when they were seen first."""
        found = {}
        for table, now, first in self._tables.differing(self._saved, self._tables.first):
            found.update(table.told(now, first))
        return found

    def restore(self, given):
        if len(sys.modules) != self._modules:
            return
        differing = list(self._tables.differing(self._tables.copies(), self._saved))
        for table, _, saved in differing:
            table.put_back(saved)
        if differing:
            self._tables.copies()  # of what was put back none is kept


class _Tables:
    """All of them, and how they were `first`."""

    def __init__(self, found):
        self._all = found
        self._watch = TableWatch([each.table for each in found])
        self.first = self._copies = self._watch.copies.copy()

    def copies(self):
        """How they are now: the same list until one changes."""
        if self._watch.changed():
            self._copies = self._watch.copies.copy()
        return self._copies

    def differing(self, now, then):
        """(table, how it is `now`, how it was then) of those that were not then as they are now, both from copies()."""
        if now is then:
            return
        for each, copy, saved in zip(self._all, now, then):
            if copy is not saved and not each.is_as(copy, saved):
                yield each, copy, saved


class _Registry:
    """A dict, list or set, which is told and put back as a whole."""

    def __init__(self, name, table):
        self.name, self.table = name, table

    @staticmethod
    def is_as(copy, saved):
        return alike(copy, saved) or isinstance(copy, dict) and alike(_of_others(copy), _of_others(saved))

    def told(self, now, first):
        return {self.name: _token(now)}

    def put_back(self, saved):
        if self.name in _NEVER_TAKEN_BACK:
            raise ExportError(f"the program {_NEVER_TAKEN_BACK[self.name]} in its calls, which cannot be undone after the export's own ones: do that before the export", "unsupported")
        if isinstance(self.table, list):
            self.table[:] = saved
            return
        ours = {key: value for key, value in self.table.items() if _is_ours(key)} if isinstance(self.table, dict) else ()
        self.table.clear()
        self.table.update(saved)
        self.table.update(ours)
        if self.name in _MEMORIES:
            _MEMORIES[self.name].clear()


class _Namespace:
    """The attributes of a module or class of a library or of an installed package, each of which is told and put back by itself."""

    def __init__(self, name, owner):
        self.name, self._owner = name, owner
        self.table = vars(owner) if isinstance(owner, types.ModuleType) else gc.get_referents(vars(owner))[0]

    def is_as(self, copy, saved):
        return not any(True for _ in self._changes(copy, saved))

    def told(self, now, first):
        return {f"{self.name}.{key}": _token_of_attribute(now.get(key, MISSING)) for key in self._changes(now, first)}

    def put_back(self, saved):
        put, remove = (type.__setattr__, type.__delattr__) if isinstance(self._owner, type) else (setattr, delattr)
        for key in list(self._changes(self.table, saved)):
            if key not in saved:
                remove(self._owner, key)
            else:
                put(self._owner, key, saved[key])

    def _changes(self, now, then):
        """Names of attributes that are others, but for those that lazyrt puts there, and what modules import when they are asked for it."""
        for key in {**now, **then}:
            before, after = then.get(key, MISSING), now.get(key, MISSING)
            if before is after or key.startswith("__") and not isinstance(before, (types.FunctionType, types.BuiltinFunctionType)) or _changes_by_itself(key):
                continue
            if before is MISSING and isinstance(self._owner, types.ModuleType) and _is_imported(after):
                continue
            if not (_is_made_here(before) or _is_made_here(after)) and not alike(before, after):
                yield key


@functools.lru_cache(maxsize=1)
def _tables(modules):
    """`modules` is how many modules of Python there are."""
    registries = {id(table): _Registry(name, table) for name, table in _TABLES_TOO.items()}
    namespaces = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in _NOT_LOOKED_INTO or not isinstance(module, types.ModuleType):
            continue
        if type(module) is types.ModuleType and of_a_library(name) and not name.startswith("multiprocessing"):  # which lists processes
            _collect(name, vars(module), registries, 2)
        if (of_a_library(name) or is_installed(name)) and not name.startswith("torch._"):  # those are set up as they are needed
            _collect_namespaces(name, module, namespaces)
    return _Tables([*registries.values(), *(each for here, each in namespaces.items() if here not in registries)])


def _collect_namespaces(name, module, found):
    each = _Namespace(name, module)
    found[id(each.table)] = each
    for key, value in list(vars(module).items()):
        if issubclass(type(value), type) and is_python_class(value) and value.__module__ == name:
            each = _Namespace(f"{name}.{key}", value)
            found[id(each.table)] = each


def _collect(path, names, found, depth):
    for key, value in list(names.items()):
        if not isinstance(key, str) or key.startswith("__") or _changes_by_itself(key):
            continue
        if type(value) in _TABLES:
            found.setdefault(id(value), _Registry(f"{path}.{key}", value))
        elif depth and _is_object_of_library(value):
            inner = vars(value)
            if id(inner) not in found:
                found[id(inner)] = _Registry(f"{path}.{key}.__dict__", inner)
                _collect(f"{path}.{key}", inner, found, depth - 1)


def _changes_by_itself(name):
    return any(part in name.lower() for part in _CHANGE_BY_THEMSELVES)


def _is_object_of_library(value):
    kind = type(value)
    if not is_python_class(kind) or issubclass(kind, (type, types.ModuleType)) or not of_a_library(kind.__module__):
        return False
    if kind.__getattribute__ is not object.__getattribute__:  # to ask it is an event: torch.distributed.reduce_op warns
        return False
    known_otherwise = kind.__module__.partition(".")[0] in _NOT_LOOKED_INTO or kind.__module__.startswith(("logging", "random", "torch._", "typing"))
    return not known_otherwise and type(attributes_of(value)) is dict


def _of_others(table):
    """What stands for containers in the capture is registered, too, beside the containers' own classes: see watch.py."""
    return {key: value for key, value in table.items() if not _is_ours(key)}


def _is_ours(key):
    return isinstance(key, type) and str(key.__module__).startswith("lazyrt.")


def _token(table):
    items = itertools.chain.from_iterable(_of_others(table).items()) if isinstance(table, dict) else table
    found = [plain_token(item) if item is not None and is_plain_value(item) else id(item) for item in items]
    return ("table", tuple(found) if not isinstance(table, set) else frozenset(found))


def _token_of_attribute(value):
    if value is MISSING or value is None or is_plain_value(value):
        return ("attribute", None if value is None or value is MISSING else plain_token(value))
    if isinstance(value, types.FunctionType):
        return ("function", id(value.__code__))
    return ("attribute", type(value).__name__)


def _is_imported(value):
    """Whether modules that import when they are asked for something may have got it so."""
    if isinstance(value, (type, types.FunctionType)):
        return of_a_library(value.__module__) or is_installed(value.__module__)
    return isinstance(value, types.ModuleType)


def _is_made_here(value):
    """What lazyrt itself puts in the place of functions while it looks at a program."""
    if value is MISSING:
        return False
    module = value.__globals__.get("__name__") if isinstance(value, types.FunctionType) else (value if isinstance(value, type) else type(value)).__module__
    return str(module).startswith("lazyrt.")
