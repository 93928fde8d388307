"""Objects of Python's own library that keep their state in C: entries as those of entries.py."""

import contextvars
import decimal
import io
import pickle
import threading

from lazyrt.code_names import is_python_class
from lazyrt.entries import MISSING
from lazyrt.errors import ExportError
from lazyrt.opaque import pickled
from lazyrt.switches import decimals_of, set_decimals_of

_FILES = (io.BufferedReader, io.TextIOWrapper, io.FileIO)
_HIDE_STATE = frozenset({"sqlite3", "zlib", "_bz2", "_lzma", "_hashlib", "_md5", "_sha1", "_sha2", "_sha3", "_blake2", "hmac"})  # modules
_HIDE_STATES_OF_THEIR_OWN = frozenset({"MultibyteIncrementalDecoder", "MultibyteIncrementalEncoder", "MultibyteStreamReader", "MultibyteStreamWriter", "Profiler", "SRE_Scanner",
                                       "TokenizerIter", "TreeBuilder", "XMLParser", "writer", "xmlparser"})  # types in C


def hides_state(value):
    """Whether nothing tells what an object holds, nor takes back what calls do to it: a connection, a running digest, a scanner, an iterator that reads a file ahead."""
    kind = type(value)
    if not _HIDE_STATES_OF_THEIR_OWN.isdisjoint(base.__name__ for base in kind.__mro__ if not is_python_class(base)):
        return True
    return kind.__module__ in _HIDE_STATE or _is_only_read(value) and _position_in(value) is None


def entry_of(value):
    """None for what is none of these."""
    if _is_only_read(value):
        return PositionEntry(value)
    if isinstance(value, decimal.Context):
        return DecimalsEntry(value)
    return LockEntry(value) if isinstance(value, type(threading.Lock())) else None


def _is_only_read(file):
    """Whether a file is one of which only the position changes: of those in memory that wrap others, reading is what people do."""
    if not isinstance(file, _FILES) or file.closed or not file.seekable():
        return False
    inner = getattr(file, "raw", getattr(file, "buffer", None))
    return not file.writable() or isinstance(getattr(inner, "raw", inner), io.BytesIO)


def _position_in(file):
    """None where it is not known: an iterator may read ahead."""
    try:
        return file.tell()
    except OSError:
        return None


class PositionEntry:
    """A file that is only read: how far."""

    def __init__(self, value):
        self.value, self.at, self.items = value, value.tell(), []

    def token(self):
        return (type(self.value).__name__, self.at)

    def restore(self, given):
        if not self.value.closed and _position_in(self.value) != self.at:
            self.value.seek(self.at)


class PickledEntry:
    """An object that only pickle knows: `text` are its bytes."""

    def __init__(self, value, text):
        self.value, self.text, self.items = value, text, []

    def restore(self, given):
        if pickled(self.value) == self.text:
            return
        reduced = pickle.loads(self.text).__reduce_ex__(2)
        if hasattr(self.value, "__setstate__") and isinstance(reduced, tuple) and reduced[2:3] not in ((), (None,)):
            self.value.__setstate__(reduced[2])
        if pickled(self.value) != self.text:
            raise ExportError(f"a call changes an object of {type(self.value).__module__}.{type(self.value).__name__} that the program keeps, which cannot be restored: keep what it "
                              "knows in attributes, or make it in each call", "changing-attribute")


class DecimalsEntry:
    """A context of decimals of the program's own."""

    def __init__(self, value):
        self.value, self.items = value, []
        self.state = self._now()

    def _now(self):
        return decimals_of(self.value), dict(self.value.flags)

    def token(self):
        return (type(self.value).__name__, repr(self.state))

    def restore(self, given):
        if self._now() != self.state:
            set_decimals_of(self.value, self.state[0])
            self.value.flags = self.state[1]


class LockEntry:
    """Whether a lock is held."""

    def __init__(self, value):
        self.value, self.held, self.items = value, value.locked(), []

    def token(self):
        return (type(self.value).__name__, self.held)

    def restore(self, given):
        if self.value.locked() and not self.held:
            self.value.release()
        elif self.held:
            self.value.acquire(blocking=False)


class VariableEntry:
    """A context variable. One that had no value cannot lose it again: it gets its default. (An export runs in a context of its own, so
    that the caller's is as it was.)"""

    def __init__(self, value):
        self.value, self.items = value, [value.get(MISSING)]

    def token(self):
        return ("variable", self.items[0] is MISSING)

    def restore(self, given):
        then = given(self.items[0])
        if self.value.get(MISSING) is not then:
            self.value.set(self._default() if then is MISSING else then)

    def _default(self):
        default = _default_of(self.value)
        if default is MISSING:
            name = self.value.name
            raise ExportError(f"the program's calls set the context variable '{name}', which has neither a value nor a default before the export, so that it "
                              f"cannot be put back: {name}.set(...) first, or give it a default", "unsupported")
        return default


def _default_of(variable):
    try:
        return contextvars.Context().run(variable.get)
    except LookupError:
        return MISSING


def values_in(context):
    """The variables of a context that have another value there than by default, and these."""
    found = [variable for variable in context if context[variable] is not _default_of(variable)]
    return found, [context[variable] for variable in found]


class ContextEntry:
    """A context, as contextvars.copy_context() gives, in which a program runs code. What a variable has by default counts as no value: it cannot lose one."""

    def __init__(self, value):
        self.value = value
        self.variables, self.items = values_in(value)

    def token(self):
        return ("context", tuple(sorted(id(variable) for variable in self.variables)))

    def restore(self, given):
        for variable, item in zip(self.variables, self.items):
            self._set(variable, given(item))
        for variable in list(self.value):
            if variable not in self.variables:
                self._set(variable, _default_of(variable))

    def _set(self, variable, item):
        if self.value[variable] is item:
            return
        if item is MISSING:
            raise ExportError(f"the program's calls set the context variable '{variable.name}' in a context that it keeps, where it had no value before the export, "
                              "so that it cannot be put back: give the variable a default", "unsupported")
        try:
            self.value.run(variable.set, item)
        except RuntimeError as error:
            raise ExportError(f"the context variable '{variable.name}' cannot be put back: {error}. Call lazyrt.export() outside of context.run()", "unsupported") from None
