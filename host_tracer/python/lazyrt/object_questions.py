"""What a program asks about its caller's objects beside their values: which object it is given (`x is self.last`, id(x), `x in seen`), whether
gradients are recorded. A trace shows the answer, never the question, so eager's own bytecode is watched as it runs."""

import builtins
import collections
import contextlib
import dis
import functools
import gc
import operator
import os
import sys
import types
import weakref

import numpy
import torch
from torch.overrides import TorchFunctionMode

from lazyrt import trees
from lazyrt.arguments import bind, is_input
from lazyrt.code_names import is_file_of_library

_Tensor = torch.Tensor
_LOADS_LOCAL = {"LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_DEREF", "LOAD_CLASSDEREF"}
_LOADS_GLOBAL = {"LOAD_GLOBAL", "LOAD_NAME"}
_LOADS_ATTRIBUTE = {"LOAD_ATTR", "LOAD_METHOD"}
# Which object it is, and who else holds it.
_OF_IDENTITY = {builtins.id, builtins.hash, operator.is_, operator.is_not, sys.getrefcount, weakref.getweakrefcount, weakref.getweakrefs, gc.get_referrers}
_OF_GRADIENTS = {torch.is_grad_enabled: "gradients", torch.is_inference_mode_enabled: "inference"}
_CONTAINERS = (list, tuple, dict, set, frozenset, collections.deque)
_PLAIN = {"__class__", "dtype", "device", "layout", "shape"}
_MOST_STEPS = 100_000  # instructions of one function that are looked at: a hundred times slower than eager
_UNKNOWN = object()  # it may be anything
_THING = object()  # no object that a caller gives


class Answers:
    """What was asked, and where: places are (file, line)."""

    def __init__(self):
        self.distinct = set()  # names of inputs that were compared with one another
        self.copied = set()  # of those whose copy may be the input itself
        self.held = {}  # place: name of the argument that was compared there with what the program has, None where it is not known
        self.modes = {}  # "gradients" or "inference": place
        self.chance = {}  # (the function that gives the system's random numbers, *place): None
        self.of_autograd = False  # tensors were asked what autograd knows of them
        self.types = {}  # place of type(x), where x may be an array of NumPy: None
        self.hidden = {}  # (path of an object that does not show what it holds, *place of a call of one of its methods): None
        self.own = {}  # place of a comparison of a registered tensor that other places of the program hold, too: None

    def kinds(self):
        """What it is that was asked, wherever."""
        inputs = frozenset(self.distinct), frozenset(self.copied), frozenset(self.held.values())
        return *inputs, frozenset(self.modes), self.of_autograd, bool(self.types), bool(self.own)


class Watch(TorchFunctionMode):
    """While active, notes in `answers` what the user's functions ask in this thread. arrange() tells it the given objects. elsewhere(): registered tensors that the program
    has in other places, too, where a capture has others. `hidden`: {id: (path, object)} of those that do not show what they hold."""

    def __init__(self, target, answers, elsewhere=list, hidden=()):
        super().__init__()
        self._target, self._answers, self._find_elsewhere, self._hidden = target, answers, elsewhere, hidden
        self._elsewhere = {}  # by id
        self._given = {}  # id -> (name, object)
        self._made = set()  # ids of tensors that the call has made
        self._steps = collections.Counter()  # of each code
        self._stack = contextlib.ExitStack()

    def arrange(self, args, kwargs):
        """Takes in the arguments of the call, and gives them back."""
        self._elsewhere = {id(tensor): tensor for tensor in self._find_elsewhere()}
        for parameter, value, is_given in bind(self._target, args, kwargs):
            if is_given:
                described, leaves = trees.flatten(value, parameter.name, is_input, arguments=True)
                for name, each in (*leaves, *trees.objects_of(described, value, parameter.name)):
                    self._given.setdefault(id(each), (name, each))
                for each in _tuples_in(value):
                    self._given.setdefault(id(each), (parameter.name, each))
        return args, kwargs

    def __enter__(self):
        self._stack.callback(sys.settrace, sys.gettrace())
        self._stack.callback(sys.setprofile, sys.getprofile())
        hash_of = _Tensor.__hash__
        self._stack.callback(setattr, _Tensor, "__hash__", hash_of)

        def hashed(tensor):
            frame = sys._getframe(1)
            if self._name_of(tensor) and not is_file_of_library(frame.f_code.co_filename):
                self._compare(frame, [tensor, _UNKNOWN])
            return hash_of(tensor)

        _Tensor.__hash__ = hashed
        super().__enter__()
        sys.setprofile(self._look_at_call)
        sys.settrace(self._begin)
        return self

    def __exit__(self, *error):
        self._stack.close()
        self._given, self._made, self._elsewhere = {}, set(), {}  # nobody shall take these for objects that the program keeps
        return super().__exit__(*error)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        frame = sys._getframe(1)
        if func is _Tensor.is_set_to and not is_file_of_library(frame.f_code.co_filename):
            self._compare(frame, [*args, *(kwargs or {}).values()])
        given = {id(each) for each in (*args, *(kwargs or {}).values())}
        self._made.update(id(each) for each in (result if isinstance(result, (tuple, list)) else (result,)) if isinstance(each, _Tensor) and id(each) not in given)
        return result

    # ---------------------------------------------------------------- what runs

    def _look_at_call(self, frame, event, function):
        if event != "c_call" or not _is_function(function) or is_file_of_library(frame.f_code.co_filename):
            return
        owner = getattr(function, "__self__", None)
        if id(owner) in self._hidden:
            self._answers.hidden.setdefault((self._hidden[id(owner)][0], *_place(frame)), None)
        if _is_of_chance(function):
            self._answers.chance.setdefault((function.__name__, *_place(frame)), None)
        elif function in _OF_GRADIENTS:
            self._answers.modes.setdefault(_OF_GRADIENTS[function], _place(frame))
        elif function in _OF_IDENTITY:
            values = [_value_of(each, frame) for each in _arguments_at(frame.f_code, frame.f_lasti)]
            if any(map(self._name_of, values)):
                self._compare(frame, [*values, _UNKNOWN][:2])

    def _begin(self, frame, event, value):
        code = frame.f_code
        if is_file_of_library(code.co_filename) or self._steps[code] > _MOST_STEPS or not _questions_of(code):
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        return self._look

    def _look(self, frame, event, value):
        if event == "opcode":
            self._steps[frame.f_code] += 1
            question = _questions_of(frame.f_code).get(frame.f_lasti)
            if question is not None:
                self._ask(frame, *question)
            if self._steps[frame.f_code] > _MOST_STEPS:
                frame.f_trace_opcodes = False
                return None
        return self._look

    def _ask(self, frame, kind, operands):
        values = [_value_of(operand, frame) for operand in operands]
        if kind == "is":
            self._compare(frame, values)
        elif kind == "equal" and any(self._name_of(value) and type(value).__eq__ is object.__eq__ for value in values):
            self._compare(frame, values)
        elif kind == "in":
            self._look_up(frame, *values)
        elif kind == "type" and (values[0] is _UNKNOWN or isinstance(values[0], numpy.ndarray)):
            self._answers.types.setdefault(_place(frame), None)

    def _look_up(self, frame, value, container):
        name = self._name_of(value)
        if self._is_elsewhere(value) and (container is _UNKNOWN or isinstance(container, _CONTAINERS) and _holds_tensors(container)):
            self._answers.own.setdefault(_place(frame), None)
        if name and (container is _UNKNOWN or isinstance(container, _CONTAINERS) and (not isinstance(value, _Tensor) or _holds_tensors(container))):
            self._compare(frame, [value, _UNKNOWN])
        elif value is _UNKNOWN and isinstance(container, _CONTAINERS) and _holds_tensors(container):
            self._answers.held.setdefault(_place(frame), None)

    def _compare(self, frame, values):
        """Asked whether these two are one object."""
        if any(map(self._is_elsewhere, values)) and all(value is _UNKNOWN or isinstance(value, _Tensor) for value in values):
            self._answers.own.setdefault(_place(frame), None)
        names = [self._name_of(value) for value in values]
        if None not in names and all(isinstance(value, (_Tensor, numpy.ndarray)) for value in values):
            (self._answers.distinct if names[0] != names[1] else self._answers.copied).update(names)
            return
        given = next((value for value, name in zip(values, names) if name is not None), None)
        others = [value for value, name in zip(values, names) if name is None]
        if given is None:  # what is not known may be what was given, beside a tensor that the program holds
            given = next((value for value in others if isinstance(value, (_Tensor, numpy.ndarray)) and id(value) not in self._made), None)
            others = [value for value in others if value is _UNKNOWN] or [None]
        if given is not None and all(self._may_be(value, given) for value in others):
            self._answers.held.setdefault(_place(frame), self._name_of(given))

    def _may_be(self, value, given):
        """Whether what the program has may be the given object, in this call or another."""
        return value is _UNKNOWN or type(value) is type(given) and id(value) not in self._made

    def _is_elsewhere(self, value):
        return self._elsewhere.get(id(value)) is value

    def _name_of(self, value):
        """Of the argument that it is; None where it is none."""
        name, given = self._given.get(id(value), (None, None))
        return name if given is value else None


def _tuples_in(value):
    """That are no constants of the language: () is one object everywhere."""
    if isinstance(value, tuple) and value:
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ():
        yield from _tuples_in(item)


def _holds_tensors(container):
    return any(isinstance(each, (_Tensor, numpy.ndarray)) for each in container)


def _is_function(function):
    return isinstance(function, (types.BuiltinFunctionType, types.FunctionType))


def _is_of_chance(function):
    """Whether it gives random numbers of the system's."""
    if isinstance(getattr(function, "__self__", None), torch.Generator):
        return function.__name__ == "seed"
    return function in (os.urandom, getattr(os, "getrandom", None), getattr(sys.modules.get("ssl"), "RAND_bytes", None))


def _place(frame):
    return frame.f_code.co_filename, frame.f_lineno


# -------------------------------------------------------------------- bytecode


@functools.lru_cache(maxsize=4096)
def _questions_of(code):
    """{offset of an instruction: (kind, its operands)}. An operand is (kind of load, name or value, operand that it is taken of)."""
    steps, found = _steps_of(code), {}
    asserted = {step.line for step in steps if step.opname == "LOAD_ASSERTION_ERROR"}  # where the other answer raises, it is none
    for at, step in enumerate(steps):
        name, argument = step.opname, step.argval
        if name == "IS_OP" and step.line not in asserted:
            found[step.offset] = "is", _last_operands(steps[:at], 2)
        elif name == "COMPARE_OP" and argument in ("==", "!=", "bool(==)", "bool(!=)"):
            found[step.offset] = "equal", _last_operands(steps[:at], 2)
        elif name == "CONTAINS_OP":
            found[step.offset] = "in", _last_operands(steps[:at], 2)
        elif name == "CALL" and argument == 1 and _is_type_at(steps, at):
            found[step.offset] = "type", _last_operands(steps[:at - 1 if steps[at - 1].opname == "PRECALL" else at], 1)
    return {offset: question for offset, question in found.items() if not _is_of_constant(*question)}


def _is_of_constant(kind, operands):
    return kind in ("is", "equal", "in") and any(operand[0] == "const" for operand in operands)


Step = collections.namedtuple("Step", "offset opname argval effect line")


def _steps_of(code):
    """Instructions, those that load two values as two."""
    steps = []
    for each in dis.get_instructions(code):
        line = each.positions and each.positions.lineno
        effect = dis.stack_effect(each.opcode, each.arg if each.opcode >= dis.HAVE_ARGUMENT else None, jump=False)
        if each.opname in ("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"):
            steps += [Step(each.offset, "LOAD_FAST", name, 1, line) for name in each.argval]
        else:
            steps.append(Step(each.offset, each.opname, each.argval, effect, line))
    return steps


def _last_operands(steps, count):
    """The `count` values on top of the stack behind these steps, the last one last."""
    found, end = [], len(steps)
    for _ in range(count):
        operand, end = _operand_before(steps, end)
        found.insert(0, operand)
    return found


def _operand_before(steps, end):
    """(the operand that the steps before `end` leave on top of the stack, where they begin)"""
    if end <= 0:
        return ("unknown", None, None), 0
    step = steps[end - 1]
    if step.opname in _LOADS_LOCAL:
        return ("local", step.argval, None), end - 1
    if step.opname in _LOADS_GLOBAL:
        return ("global", step.argval, None), end - 1
    if step.opname in ("LOAD_CONST", "LOAD_SMALL_INT"):
        return ("const", step.argval, None), end - 1
    if step.opname in _LOADS_ATTRIBUTE:
        base, start = _operand_before(steps, end - 1)
        return ("attribute", step.argval, base), start
    if step.opname == "BINARY_SUBSCR" and steps[end - 2].opname == "LOAD_CONST":
        base, start = _operand_before(steps, end - 2)
        return ("item", steps[end - 2].argval, base), start
    start = _start_of_value(steps, end)
    return ("thing" if _is_type_at(steps, end - 1) else "unknown", None, None), start


def _is_type_at(steps, at):
    """Whether this is a call of what is named type."""
    start = steps[_start_of_value(steps, at + 1)]
    return steps[at].opname == "CALL" and start.opname in _LOADS_GLOBAL and start.argval == "type"


def _start_of_value(steps, end):
    """Where the steps begin that make the value on top of the stack, as far as they stand in one line."""
    total = 0
    for at in range(end - 1, -1, -1):
        total += steps[at].effect
        if total >= 1:
            return at
    return 0


@functools.lru_cache(maxsize=4096)
def _arguments_at(code, offset):
    """Those of the call of a function there, which takes them by position."""
    steps = _steps_of(code)
    at = next((i for i, step in enumerate(steps) if step.offset == offset), None)
    if at is None or steps[at].opname != "CALL":
        return []
    before = at - 1 if at and steps[at - 1].opname == "PRECALL" else at
    return _last_operands(steps[:before], steps[at].argval)


def _value_of(operand, frame):
    """Its value, as far as that can be had without running anything."""
    kind, name, base = operand
    if kind == "const":
        return name
    if kind == "local":
        return frame.f_locals.get(name, _UNKNOWN)
    if kind == "global":
        here = frame.f_locals if name in frame.f_locals and frame.f_code.co_flags & 2 == 0 else frame.f_globals
        return here.get(name, frame.f_builtins.get(name, _UNKNOWN))
    if base is None:
        return _THING if kind == "thing" else _UNKNOWN
    owner = _value_of(base, frame)
    if owner is _UNKNOWN:
        return _UNKNOWN
    if kind == "item":
        return _item_of(owner, name)
    return _attribute_of(owner, name)


def _item_of(owner, key):
    if type(owner) in (torch.nn.ModuleList, torch.nn.Sequential):
        owner, key = owner._modules, str(key)
    if type(owner) not in (list, tuple, dict):
        return _UNKNOWN
    try:
        return owner[key]
    except (LookupError, TypeError):
        return _UNKNOWN


def _attribute_of(owner, name):
    if name in _PLAIN:
        return _THING
    if isinstance(owner, (_Tensor, numpy.ndarray)):
        return _THING if name not in ("data", "base", "_base", "real", "T") else _UNKNOWN
    tables = [getattr(owner, "__dict__", {})]
    if isinstance(owner, torch.nn.Module):
        tables += [owner._parameters, owner._buffers, owner._modules]
    for table in tables:
        if name in table:
            return table[name]
    found = _UNKNOWN
    for cls in getattr(type(owner), "__mro__", ()):
        if name in vars(cls):
            found = vars(cls)[name]
            break
    return _UNKNOWN if found is _UNKNOWN or hasattr(type(found), "__get__") and not isinstance(found, types.FunctionType) else found
