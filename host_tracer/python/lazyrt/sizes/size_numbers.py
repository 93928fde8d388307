"""The integers with which a program may compare sizes, for running the bundle beside the program at other sizes (host_tracer/check/size_sweep.h)."""

import re
import types

_EXTENTS = range(2**31)  # that there may be
_FEW = 64  # items of a container whose numbers are rather sizes than indices
_LONGEST_TEXT = 64
_DIGITS = re.compile(r"(?<![\d.])\d{1,9}(?![\d.])")


def numbers_held(holdings):
    """Returns (the numbers in a program's code, those that only its containers and texts hold). `holdings`: as of Snapshot.holdings."""
    written, held, seen = set(), set(), set()
    for value, items in holdings:
        if isinstance(value, types.FunctionType):
            _read(value.__code__, written, held, seen)
        elif len(items) <= _FEW:
            _take(items, held, held)
    return written, held - written


def _read(code, written, held, seen):
    """Collects the constants and names of a function, and of functions inside it."""
    if code in seen:
        return
    seen.add(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _read(constant, written, held, seen)
        else:
            _take(constant if isinstance(constant, (tuple, frozenset)) else (constant,), written, held)
    _take(code.co_names, held, held)


def _take(items, numbers, in_texts):
    """Adds the integers among the items to `numbers`, and those inside texts to `in_texts`."""
    for item in items:
        if isinstance(item, int) and type(item) is not bool or type(item) is float and item.is_integer():
            if int(item) in _EXTENTS:
                numbers.add(int(item))
        elif type(item) is str and len(item) <= _LONGEST_TEXT:
            in_texts.update([int(digits) for digits in _DIGITS.findall(item)][:4])
