"""What the program's source says about a value that is read on the host: whether it only becomes a text for people, and whether the program raises
for another value. It looks at the lines that run; in doubt the answer is no."""

import ast
import builtins
import contextlib
import functools
import linecache
import logging
import sys
import warnings

import torch

from lazyrt.record.tensors import is_ours
from lazyrt.state.code_names import of_a_library

_PLUMBING = ("torch._tensor", "torch._tensor_str", "torch.overrides", "torch.utils._device")
_LOG_METHODS = {"debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log"}
# Calls without side effects that may stand in the arguments of what shows people something.
_PURE = {"item", "tolist", "mean", "sum", "max", "min", "std", "norm", "abs", "isnan", "isinf", "isfinite", "any", "all", "detach", "cpu", "numpy", "format", "join", "str",
         "repr", "float", "int", "bool", "round", "len", "size", "dim", "numel"}
_QUIET_CONTEXTS = {"no_grad", "enable_grad", "inference_mode", "set_grad_enabled", "autocast", "device", "profile", "record_function"}
_TRY = (ast.Try, *([ast.TryStar] if hasattr(ast, "TryStar") else []))
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda, ast.IfExp)
_SWALLOWED = ("StopIteration", "StopAsyncIteration", "AttributeError", "LookupError", "KeyError", "IndexError", "TypeError")  # Python takes them for answers


@functools.lru_cache(maxsize=256)
def _statements(file):
    """The statements of a file's source."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return ()
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.stmt))


@functools.lru_cache(maxsize=4096)
def _around(file, line):
    """The statements around a line, the innermost first."""
    found = [node for node in _statements(file) if node.lineno <= line <= node.end_lineno]
    return sorted(found, key=lambda node: (node.end_lineno - node.lineno, -node.lineno))


def _around_frame(frame):
    return _around(frame.f_code.co_filename, frame.f_lineno)


def _statement_of(frame):
    """The statement that runs; None if its source is not known, or if several statements share a line."""
    found = _around_frame(frame)
    alone = found and sum(node.lineno == found[0].lineno and node.end_lineno == found[0].end_lineno for node in found) == 1
    return found[0] if alone else None


def _module_of(frame):
    return str(frame.f_globals.get("__name__", ""))


def _program_frame():
    """The innermost frame of the program or a library, not of the code between it and the graph."""
    frame = sys._getframe(1)
    while frame is not None and (is_ours(frame) or _module_of(frame) in _PLUMBING):
        frame = frame.f_back
    return frame


def _value_of(frame, node):
    """The object that a name or an attribute of a module refers to; None where it is not known."""
    if isinstance(node, ast.Name):
        return next((scope[node.id] for scope in (frame.f_locals, frame.f_globals, vars(builtins)) if node.id in scope), None)
    if isinstance(node, ast.Attribute):
        owner = _value_of(frame, node.value)
        if isinstance(owner, (type(sys), logging.Logger)):
            return getattr(owner, node.attr, None)
        return vars(owner).get(node.attr) if isinstance(owner, torch.nn.Module) else None
    return None


# -------------------------------------------------------------------- texts for people


class Audience:
    """Knows whether a value that becomes a text is for people: what print, logging and warnings get in a statement of their own that calls nothing else.
    `heard` are the (file, line)s where it was so."""

    def __init__(self):
        self._streams = (sys.stdout, sys.stderr)
        self.heard = {}

    def listens(self):
        """Whether the text that is made here is for people."""
        frame, by_logging = _program_frame(), False
        while frame is not None and of_a_library(_module_of(frame)):
            by_logging = by_logging or _module_of(frame) in ("logging", "warnings")
            frame = frame.f_back
        return frame is not None and (by_logging or self._shows(frame, _statement_of(frame))) and self._note(frame)

    def is_asked(self):
        """Whether a truth value that is read here only decides if something is shown: `if n % 100 == 0: print(n)`."""
        frame = _program_frame()
        found = _around_frame(frame) if frame is not None else ()
        statement = next((node for node in found if isinstance(node, ast.If) and node.test.lineno <= frame.f_lineno <= node.test.end_lineno), None)
        if statement is None or statement.orelse or not _is_pure(statement.test) or _is_caught(frame):
            return False
        return all(self._shows(frame, part) for part in statement.body) and self._note(frame)

    def _note(self, frame):
        self.heard[frame.f_code.co_filename, frame.f_lineno] = None
        return True

    def _shows(self, frame, statement):
        """Whether a statement does nothing but show something."""
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or not all(map(_is_pure, (*call.args, *(word.value for word in call.keywords if word.arg != "file")))):
            return False
        function = _value_of(frame, call.func)
        if function is print:
            return next((_value_of(frame, word.value) for word in call.keywords if word.arg == "file"), sys.stdout) in self._streams
        if function is warnings.warn:
            return all(action != "error" for action, *_ in warnings.filters)
        name, logger = getattr(function, "__name__", ""), getattr(function, "__self__", None)
        return name in _LOG_METHODS and (type(logger) in (logging.Logger, logging.RootLogger) or getattr(logging, name, None) is function)


def _is_pure(node):
    """Whether the expression calls nothing that may keep its arguments."""
    for part in ast.walk(node):
        if isinstance(part, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)):
            return False
        if isinstance(part, ast.Call) and getattr(part.func, "attr", getattr(part.func, "id", "")) not in _PURE:
            return False
    return True


# -------------------------------------------------------------------- checks


_expected: list = []


@contextlib.contextmanager
def expecting(text):
    """While active, Python itself raises on the other value of a truth value that is read: that is the text of the check."""
    _expected.append(text)
    try:
        yield
    finally:
        _expected.pop()


def check_of(seen):
    """The text of what the program checks with the truth value `seen` that is read here, if it raises on the other value; else ""."""
    frame = _program_frame()
    if frame is None or _is_caught(frame):
        return ""
    if _expected:
        return _expected[-1]
    test, wanted = _assertion(frame)
    return "" if test is None or not _decides(frame, test, wanted, seen) else _text(test, wanted)


def _assertion(frame):
    """(test, the truth value with which the program continues) for a statement that raises; (None, None) for others."""
    for statement in _around_frame(frame)[:2]:  # of an `if` the line may be in one with its body
        if isinstance(statement, ast.Assert):
            return statement.test, True
        if isinstance(statement, ast.If) and isinstance(statement.body[0], ast.Raise) and statement.test.lineno <= frame.f_lineno <= statement.test.end_lineno:
            made = statement.body[0].exc
            name = getattr(made.func if isinstance(made, ast.Call) else made, "id", "")
            return (statement.test, False) if name and name not in _SWALLOWED else (None, None)
        call = statement.value if isinstance(statement, ast.Expr) else None
        function = _value_of(frame, call.func) if isinstance(call, ast.Call) and call.args else None
        if getattr(function, "__module__", None) == "torch" and function.__name__.startswith(("_assert", "_check")):
            return call.args[0], True
    return None, None


def _decides(frame, test, wanted, seen):
    """Whether the test fails with the other truth value of any part of it that reads the graph's."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _decides(frame, test.operand, not wanted, seen)
    if isinstance(test, ast.BoolOp):
        return isinstance(test.op, ast.And) == wanted and all(_decides(frame, part, wanted, seen) for part in test.values)
    if isinstance(test, ast.Compare) and (len(test.ops) > 1 and not wanted or any(_holds_others(frame, side) for side in (test.left, *test.comparators))):
        return False
    return seen == wanted and not any(isinstance(part, (*_COMPREHENSIONS, ast.BoolOp)) for part in ast.walk(test))


def _holds_others(frame, node):
    """Whether it is a container, whose comparison reads the truth of each pair of items."""
    return isinstance(node, (ast.Tuple, ast.List, ast.Dict, ast.Set)) or isinstance(_value_of(frame, node), (tuple, list, dict, set))


def _text(test, wanted):
    text = ast.unparse(test)
    text = text if len(text) <= 100 else text[:97] + "..."
    return f"assert {text}" if wanted else f"if {text}: raise"


def is_caught():
    """Whether the program may continue after an error that one of torch's operators raises here."""
    frame = _program_frame()
    return frame is not None and _is_caught(frame)


def _is_caught(frame):
    """Whether a `try` or `with` around the lines that run may catch an error."""
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    outermost = max((i for i, frame in enumerate(frames) if is_ours(frame)), default=len(frames))  # the export itself
    return any(_may_catch(node, frame) for frame in frames[:outermost] if not is_ours(frame) and not _module_of(frame).startswith("torch.")
               for node in _around_frame(frame))


def _may_catch(node, frame):
    if node.lineno < frame.f_code.co_firstlineno:
        return False
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return frame.f_lineno >= node.body[0].lineno and not all(map(_is_quiet, node.items))
    return isinstance(node, _TRY) and bool(node.handlers) and node.body[0].lineno <= frame.f_lineno <= node.body[-1].end_lineno


def _is_quiet(item):
    function = item.context_expr.func if isinstance(item.context_expr, ast.Call) else item.context_expr
    return getattr(function, "attr", getattr(function, "id", "")) in _QUIET_CONTEXTS
