"""Where a program takes items out of sets that it keeps, or changes one that cannot be restored.

The order of a set's items depends on what was in it before: on how large its table became, and on the holes that removed items left."""

import dis
import functools
import sys
import types

from lazyrt.code_names import attributes_of
from lazyrt.errors import ExportError

_REMOVING = frozenset({"pop", "remove", "discard", "difference_update", "symmetric_difference_update", "intersection_update"})
_REMOVING_OPERATORS = frozenset({"-=", "&=", "^="})
_CHANGING = _REMOVING | {"add", "update", "clear"}
_CHANGING_OPERATORS = _REMOVING_OPERATORS | {"|="}


class _Sets:
    """While entered, looks at what calls do to these sets: before it is done, by methods, and before and after, by operators."""

    methods, operators = _REMOVING, _REMOVING_OPERATORS

    def __init__(self, sets):
        self._sets = {id(each): each for each in sets}
        self.places = {}  # (file, line) -> None

    def __enter__(self):
        self._before = sys.getprofile(), sys.gettrace()
        sys.setprofile(self._look_at_call)
        sys.settrace(self._begin)
        return self

    def __exit__(self, *error):
        sys.setprofile(self._before[0])
        sys.settrace(self._before[1])

    def found(self, code, line):
        self.places[code.co_filename, line] = None

    def _look_at_call(self, frame, event, called):
        if event == "c_call" and called.__name__ in self.methods and id(getattr(called, "__self__", None)) in self._sets:
            self.found(frame.f_code, frame.f_lineno)

    def _begin(self, frame, event, value):
        if not _operators_of(frame.f_code, self.operators):
            return None
        frame.f_trace_opcodes = True
        return self._look_at_step

    def _look_at_step(self, frame, event, value):
        raise NotImplementedError


class SetRemovals(_Sets):
    """While entered, notes in `places` where something is taken out of these sets."""

    def __init__(self, sets):
        super().__init__(sets)
        self._contents = {}  # frame -> (line of its operator, what was in the sets before it)

    def _look_at_step(self, frame, event, value):
        line, contents = self._contents.pop(frame, (None, ()))
        if any(not items <= set(map(id, each)) for each, items in contents):
            self.found(frame.f_code, line)
        if event == "opcode" and frame.f_lasti in _operators_of(frame.f_code, self.operators):
            self._contents[frame] = frame.f_lineno, [(each, set(map(id, each))) for each in self._sets.values()]
        return self._look_at_step


class SetChanges(_Sets):
    """While entered, raises ExportError where one of these sets is about to be changed."""

    methods, operators = _CHANGING, _CHANGING_OPERATORS

    def found(self, code, line):
        super().found(code, line)
        self.refuse()

    def refuse(self):
        """Raises it again, for programs that go on after any error."""
        for file, line in self.places:
            raise ExportError(f"{file}:{line}: the program changes a set that it keeps, and the order of its items, which depends on what was in it before, could not be "
                              "restored after the export's own calls. Build the set anew, set(list(items)), or keep a dict", "changing-attribute")

    def _look_at_step(self, frame, event, value):
        if event == "opcode" and frame.f_lasti in _operators_of(frame.f_code, self.operators) and self._is_at_hand(frame):
            self.found(frame.f_code, frame.f_lineno)
        return self._look_at_step

    def _is_at_hand(self, frame):
        """Whether this code has one of the sets in a variable, or in an attribute of what is in a variable."""
        names = {*frame.f_code.co_names, *frame.f_code.co_varnames, *frame.f_code.co_freevars}
        variables = [value for space in (frame.f_locals, frame.f_globals) for name, value in space.items() if name in names]
        items = [attributes.get(name) for attributes in map(attributes_of, variables) if attributes for name in names]
        return any(id(value) in self._sets for value in (*variables, *items))


def is_restorable(value):
    """Whether a set with the same items in the same order, and room for as many, can be made of the items."""
    return remake(set(), list(set.__iter__(value)), room_in(value))


def remake(value, items, room):
    """Gives a set these items. Whether they are in this order now, and there is as much room."""
    for source in (list, set):  # one grows step by step, the other has room for all at once
        set.clear(value)
        set.update(value, source(items))
        if is_as(value, items, room):
            return True
    return False


def is_as(value, items, room):
    return room_in(value) == room and [id(item) for item in set.__iter__(value)] == [id(item) for item in items]


def room_in(value):
    """Bytes of its table."""
    return set.__sizeof__(value) - type(value).__basicsize__


def may_change_sets(code):
    """Whether this code, or that of a function defined in it, may change a set."""
    return not _CHANGING.isdisjoint(code.co_names) or bool(_operators_of(code, _CHANGING_OPERATORS)) or any(
        may_change_sets(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))


@functools.lru_cache(maxsize=None)
def _operators_of(code, operators):
    """Offsets of these operators."""
    return frozenset(step.offset for step in dis.get_instructions(code) if step.argrepr in operators)
