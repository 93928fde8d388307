"""Which way the program's own Python code takes: instruction by instruction, so that two runs of one call can be compared.

What the capture puts in the place of tensors, numbers and arrays behaves as they do wherever it is asked, but C code may refuse it, and a program may catch that; it may ask hasattr()
or isinstance() in ways that nobody thought of. Any such question shows as another way."""

import array
import math
import sys

from lazyrt.carriers import Carrier
from lazyrt.code_names import is_file_of_library

_LONGEST_TEXT = 1000
_MOST = 4_000_000  # instructions of a call: each costs as much as some ten others
_MOST_CALLS = 200_000
_OFFSETS = 1 << 32


class Steps:
    """While entered, writes down the instructions that the user's functions run in this thread. Of none where somebody else traces it (a debugger, a measurement of
    coverage), which `is_watched` tells; `is_whole` is False where there were too many."""

    def __init__(self):
        self._taken = array.array("Q")  # number of the code * _OFFSETS + offset
        self._codes = {}  # code -> its number, as they were met
        self._left = []  # of each call that returned: (code, plain values that it left in its variables and gave back)
        self.is_watched, self.is_whole = False, True

    def __enter__(self):
        self.begin()
        self.is_watched = sys.gettrace() is None
        if self.is_watched:
            sys.settrace(self._begin)
        return self

    def begin(self):
        """The call begins: what ran before is not a part of it."""
        del self._taken[:]
        self._codes.clear()
        self._left.clear()
        self.is_whole = True

    def __exit__(self, *error):
        if self.is_watched:
            sys.settrace(None)

    def is_empty(self):
        """Whether none of the user's functions ran, as far as it was watched."""
        return not self._taken

    def parting(self, other):
        """(file, line) where another run of the same call goes another way; None where it goes the same one, as far as both are known."""
        if not self.is_watched or not other.is_watched:
            return None
        mine, others = list(self._codes), list(other._codes)
        if self._taken == other._taken and mine == others:
            return self._other_value(other)
        at = self._first_difference(other, mine, others)
        if at is None:
            return None
        taken, codes = (self._taken, mine) if at <= len(self._taken) and self._taken else (other._taken, others)
        code, offset = self._at(taken, codes, max(at - 1, 0))
        return code.co_filename, next((line for begin, end, line in code.co_lines() if begin <= offset < end and line), code.co_firstlineno)

    def leave_out_differences(self, other):
        """Values that another run of eager has not made: of a clock, addresses."""
        for (_, values), (_, others) in zip(self._left, other._left):
            values[:] = [value if _same(value, others[i]) else None for i, value in enumerate(values)]

    def _other_value(self, other):
        for (code, values), (_, others) in zip(self._left, other._left):
            if not all(map(_same, values, others)):
                return code.co_filename, code.co_firstlineno
        return None

    @staticmethod
    def _at(taken, codes, at):
        number, offset = divmod(taken[at], _OFFSETS)
        return codes[number], offset

    def _first_difference(self, other, mine, others):
        for at, (a, b) in enumerate(zip(self._taken, other._taken)):
            if a != b or mine[a // _OFFSETS] != others[b // _OFFSETS]:
                return at
        return min(len(self._taken), len(other._taken)) if len(self._taken) != len(other._taken) else None

    def _begin(self, frame, event, value):
        code = frame.f_code
        if code.co_name == "__del__" or _is_made(code) or is_file_of_library(code.co_filename) or not self.is_whole:
            return None
        number = self._codes.setdefault(code, len(self._codes)) * _OFFSETS
        add = self._taken.append
        frame.f_trace_lines, frame.f_trace_opcodes = False, True

        def look(frame, event, value):
            if event == "opcode":
                if len(self._taken) >= _MOST:
                    self.is_whole = frame.f_trace_opcodes = False
                    return None
                add(number + frame.f_lasti)
            elif event == "return" and len(self._left) < _MOST_CALLS:
                self._left.append((code, [_plain(item) for item in (value, *frame.f_locals.values())]))
            return look

        return look


def _is_made(code):
    """Whether Python makes it for dataclasses and named tuples, be they those of libraries."""
    return code.co_filename == "<string>" or code.co_filename.startswith("namedtuple_")


def _plain(value):
    kind = type(value)
    if kind in (bool, int, float) or kind is str and len(value) <= _LONGEST_TEXT:
        return value
    return Carrier if isinstance(value, Carrier) else None


def _same(a, b):
    """Whether two plain values are one, as far as they are known: what is followed is compared elsewhere, and rounded otherwise."""
    if a is None or b is None or a is Carrier or b is Carrier:
        return True
    if type(a) is float and type(b) is float:
        return a == b or math.isnan(a) and math.isnan(b) or math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-6)
    return type(a) is type(b) and a == b
