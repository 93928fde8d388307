"""The whole numbers with which a program may compare sizes, for the bundle beside the program at other sizes (host_tracer/check/size_sweep.h)."""

import types

_EXTENTS = range(2**31)  # that there may be


def numbers_held(nodes):
    """Whole numbers in the user's functions and all that the user's heap holds: (those in functions, the others). `nodes`: see heap.Heap."""
    written, held, seen = set(), set(), set()

    def read(code):
        if code not in seen:
            seen.add(code)
            for constant in code.co_consts:
                if isinstance(constant, types.CodeType):
                    read(constant)
                else:
                    written.update(item for item in (constant if isinstance(constant, (tuple, frozenset)) else (constant,)) if type(item) is int)

    for value, _, items in list(nodes.values()):
        if isinstance(value, types.FunctionType):
            read(value.__code__)
        held.update(int.__int__(item) for item in items if isinstance(item, int) and type(item) is not bool)
    return {number for number in written if number in _EXTENTS}, {number for number in held - written if number in _EXTENTS}
