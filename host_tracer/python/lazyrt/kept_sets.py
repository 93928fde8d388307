"""Where a program takes items out of sets that it keeps, or changes one that cannot be restored.

The order of a set's items depends on what was in it before: on how large its table became, and on the holes that removed items left."""

import dis
import functools
import sys
import types

from lazyrt.code_names import attributes_of, is_file_of_library
from lazyrt.errors import ExportError

_MAYBE_REMOVING = frozenset({"remove", "discard", "difference_update"})  # what they do not find changes nothing
_REMOVING = frozenset({"pop", "symmetric_difference_update", "intersection_update"})
_CHANGING = _REMOVING | _MAYBE_REMOVING | {"add", "update", "clear"}
_OPERATORS = frozenset({"-=", "&=", "^=", "|="})
_FUNCTIONS = frozenset({"isub", "iand", "ixor", "ior", "__isub__", "__iand__", "__ixor__", "__ior__"})  # of the module operator


class _Watch:
    """While entered, the thread's calls of C and its frames are told to the two methods that begin with _look and _begin."""

    def __enter__(self):
        self._before = sys.getprofile(), sys.gettrace()
        sys.setprofile(self._look_at_call)
        sys.settrace(self._begin)
        return self

    def __exit__(self, *error):
        sys.setprofile(self._before[0])
        sys.settrace(self._before[1])


class SetRemovals(_Watch):
    """Notes in `places` where something is taken out of these sets: by their own methods, or by anything else that leaves fewer items."""

    def __init__(self, sets):
        self._sets = {id(each): each for each in sets}
        self._sizes = {here: len(each) for here, each in self._sets.items()}
        self.places = {}  # (file, line) -> None
        self._calls = []  # sizes before the calls under way that may remove something

    def _add(self, frame):
        self.places[frame.f_code.co_filename, frame.f_lineno] = None

    def _look_at_call(self, frame, event, called):
        if not event.startswith("c_") or id(getattr(called, "__self__", None)) not in self._sets:
            return
        if event == "c_call" and called.__name__ in _REMOVING:
            self._add(frame)
        elif event == "c_call" and called.__name__ in _MAYBE_REMOVING:
            self._calls.append(len(called.__self__))
        elif called.__name__ in _MAYBE_REMOVING and len(called.__self__) < self._calls.pop():
            self._add(frame)

    def _begin(self, frame, event, value):
        if is_file_of_library(frame.f_code.co_filename):
            return None
        frame.f_trace_opcodes = True
        return self._look

    def _look(self, frame, event, value):
        for here, each in self._sets.items():
            if len(each) < self._sizes[here]:
                self._add(frame)
            self._sizes[here] = len(each)
        return self._look


class SetChanges(_Watch):
    """Raises ExportError where one of these sets is about to be changed."""

    def __init__(self, sets):
        self._sets = {id(each) for each in sets}
        self._places = {}

    def refuse(self):
        """Raises it again, for programs that go on after any error."""
        for file, line in self._places:
            raise ExportError(f"{file}:{line}: the program changes a set that it keeps, and the order of its items, which depends on what was in it before, could not be "
                              "restored after the export's own calls. Build the set anew, set(list(items)), or keep a dict", "changing-attribute")

    def _found(self, frame):
        self._places[frame.f_code.co_filename, frame.f_lineno] = None
        self.refuse()

    def _look_at_call(self, frame, event, called):
        if event == "c_call" and (called.__name__ in _CHANGING and id(getattr(called, "__self__", None)) in self._sets or called.__name__ in _FUNCTIONS):
            self._found(frame)

    def _begin(self, frame, event, value):
        if not _operators_of(frame.f_code):
            return None
        frame.f_trace_opcodes = True
        return self._look

    def _look(self, frame, event, value):
        if event == "opcode" and frame.f_lasti in _operators_of(frame.f_code) and self._is_at_hand(frame):
            self._found(frame)
        return self._look

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
    names = {*code.co_names, *code.co_consts} if "getattr" in code.co_names else {*code.co_names}
    return not names.isdisjoint(_CHANGING | _FUNCTIONS) or bool(_operators_of(code)) or any(
        may_change_sets(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))


@functools.lru_cache(maxsize=None)
def _operators_of(code):
    """Offsets of operators that may change a set."""
    return frozenset(step.offset for step in dis.get_instructions(code) if step.argrepr in _OPERATORS)
