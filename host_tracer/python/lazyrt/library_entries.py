"""Objects of Python's own library that keep their state in C: entries as those of entries.py."""

import decimal
import io
import pickle
import threading

from lazyrt.code_names import is_python_class
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
