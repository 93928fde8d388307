"""What the program's source says of a value that leaves the graph here: whether it only becomes a text for people, and whether
the program raises where it is another one. When in doubt the answer is no."""

import ast
import bisect
import builtins
import contextlib
import dis
import functools
import inspect
import io
import linecache
import logging
import logging.handlers
import os
import re
import signal
import string
import sys
import types
import warnings

import torch

from lazyrt.code_names import is_file_of_library, is_installed, is_python_class
from lazyrt.tensors import HERE

_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_PLUMBING = tuple(_TORCH + name for name in ("_tensor.py", "_tensor_str.py", "overrides.py", os.path.join("utils", "_device.py")))
_TELLERS = (os.path.dirname(os.path.abspath(logging.__file__)) + os.sep, os.path.abspath(warnings.__file__))
_INT_TO_ENUM = signal._int_to_enum.__code__  # type: ignore[attr-defined]  # makes the text of an error of any handler of signals, and drops the error
_OF_LOGGING = ("logging", "logging.handlers")
_SHOWN_BY = {"warn", "warn_explicit", "_showwarnmsg"}
_LOG_METHODS = {"debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log"}
_TO_TEXT = (str, repr, format, float, int, round)
_TO_NUMBER = (float, int, len)
_TRUTH_OPS = ("POP_JUMP", "JUMP_IF_", "TO_BOOL", "UNARY_NOT")
_ANSWERS = {"item", "equal", "allclose", "is_nonzero"}
_QUIET_CONTEXTS = {"no_grad", "enable_grad", "inference_mode", "set_grad_enabled", "autocast", "device", "profile"}
_GUARDING = (ast.Try, ast.With, ast.AsyncWith, *([ast.TryStar] if hasattr(ast, "TryStar") else []))
_LEAVING = (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)
_RAISES_NOTHING = (ast.Pass, ast.Assign, ast.Name, ast.Store, ast.Constant, ast.Global, ast.Nonlocal)
_RAISED = (IndexError, ValueError, RuntimeError)  # by torch's operators for what they are given
# Python itself, or a caller in C, takes these for an answer.
_SWALLOWED = (StopIteration, StopAsyncIteration, AttributeError, LookupError, TypeError)
_ANY_OTHER = (BaseException, *_SWALLOWED)  # that may come in place of what was raised
_PURE = {"item", "tolist", "mean", "sum", "max", "min", "std", "norm", "abs", "isnan", "any", "all", "detach", "cpu", "format"}
_FORMATS = ("FORMAT_", "CONVERT_VALUE")  # of f-strings, and of "%s" % (a, b)
_ASKS_FOR_MORE = re.compile(r"%(\(|[^%a-zA-Z]*(c|\*))")  # a mapping's items, a character, a width
_GENERATORS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Place:
    """An instruction that runs: its frame, the operation and the expression that it belongs to."""

    def __init__(self, frame):
        self.frame = frame
        if not _is_as_in_source(frame.f_code):
            self.operation, self.span = "", None
            return
        operations = _operations(frame.f_code)
        index = bisect.bisect_right(operations, frame.f_lasti, key=lambda item: item[0]) - 1  # a call in progress is at its cache
        _, self.operation, self.span = operations[index]

    def statements(self, kinds):
        """Statements of these kinds around the expression, the innermost first."""
        if not self.span:
            return []
        return [node for node in _around(self.frame.f_code.co_filename, self.span) if isinstance(node, kinds)]

    def is_at(self, node):
        line, end_line, column, end_column = self.span
        return (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset) == (line, end_line, column, end_column)

    def value_of(self, node):
        """The object that a name or attribute stands for, found without running code of the program; else None."""
        if isinstance(node, ast.Name):
            for scope in (self.frame.f_locals, self.frame.f_globals, vars(builtins)):
                if node.id in scope:
                    return scope[node.id]
        if isinstance(node, ast.Attribute):
            owner = self.value_of(node.value)
            if owner is None:
                return None
            if isinstance(owner, logging.Logger) or inspect.ismodule(owner):
                return getattr(owner, node.attr, None)
            return inspect.getattr_static(owner, node.attr, None)
        return None


@functools.lru_cache(maxsize=4096)
def _is_as_in_source(code):
    """False where the file has changed since it was loaded, or the code was made another way."""
    return any(code.co_firstlineno == other.co_firstlineno and code.co_code == other.co_code for other in _codes(code.co_filename))


@functools.lru_cache(maxsize=256)
def _source(file):
    linecache.checkcache(file)
    return "".join(linecache.getlines(file))


@functools.lru_cache(maxsize=256)
def _codes(file):
    """The code objects of a file's source."""
    try:
        todo = [compile(_source(file), file, "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return ()
    found = []
    while todo:
        found.append(todo.pop())
        todo += [const for const in found[-1].co_consts if isinstance(const, types.CodeType)]
    return tuple(found)


@functools.lru_cache(maxsize=4096)
def _operations(code):
    """(offset, name, span of the expression) of each instruction; of one that asks for a truth, the span of what it asks."""
    found, before = [], None
    for instruction in dis.get_instructions(code):
        place = instruction.positions
        span = (place.lineno, place.end_lineno, place.col_offset, place.end_col_offset) if place else (None,)
        span = None if None in span else span
        asks = instruction.opname.startswith(_TRUTH_OPS)
        found.append((instruction.offset, instruction.opname, before if asks else span))
        if instruction.opname not in ("COPY", "EXTENDED_ARG", "TO_BOOL"):
            before = span
    return found


@functools.lru_cache(maxsize=256)
def _nodes(file):
    """The nodes of a file's source that have a place."""
    try:
        tree = ast.parse(_source(file))
    except (SyntaxError, ValueError):
        return ()
    return tuple(node for node in ast.walk(tree) if hasattr(node, "lineno"))


@functools.lru_cache(maxsize=4096)
def _around(file, span):
    """The nodes around a span of the source, the innermost first."""
    found = [node for node in _nodes(file) if _contains(node, span)]
    return sorted(found, key=lambda node: (node.end_lineno - node.lineno, node.end_col_offset - node.col_offset))


def _contains(node, span):
    line, end_line, column, end_column = span
    begins = (node.lineno, node.col_offset) <= (line, column)
    return begins and (end_line, end_column) <= (node.end_lineno, node.end_col_offset)


def is_of_torch(frame):
    """Whether this is a frame of torch's own Python code."""
    return frame.f_code.co_filename.startswith(_TORCH)


def _is_plumbing(frame):
    file = frame.f_code.co_filename
    return file.startswith(HERE) or file in _PLUMBING


def _program_frame():
    """The innermost frame of the program or a library, not of what stands between it and the graph."""
    frame = sys._getframe(1)
    while frame is not None and _is_plumbing(frame):
        frame = frame.f_back
    return frame


# -------------------------------------------------------------------- texts for people


class Audience:
    """Knows whether a value that becomes a text is for people: what print, logging and warnings take, in one statement, and
    neither keep for the program nor decide anything by. `heard` are the (file, line)s where it was so."""

    def __init__(self):
        self._stdout, self._streams, self._shows_warnings = sys.stdout, (sys.stdout, sys.stderr), _ways_of_warnings()
        self._prints = False  # print makes a text of one of its arguments
        self._print = self._shown = builtins.print  # the second is what stands for it in the capture
        if not isinstance(self._print, types.BuiltinFunctionType):  # somebody's own, which may do more than show
            self._print = self._shown = object()
        self.heard = {}

    def listens(self):
        frame = _program_frame()
        if frame is not None and _is_dropped(frame):
            return True
        if frame is None or not (self._prints or self._listens_at(frame)):
            return False
        outside = next((frame for frame in _frames_of_program(frame) if not frame.f_code.co_filename.startswith(_TELLERS)), frame)
        self.heard[outside.f_code.co_filename, outside.f_lineno] = None
        return True

    def _listens_at(self, frame):
        if frame.f_code.co_filename.startswith(_TELLERS):
            return self._is_told(frame)
        place = Place(frame)
        for statement in place.statements(ast.Expr)[:1]:
            call = statement.value
            return isinstance(call, ast.Call) and self._tells(place, call) and _becomes_text(place, call)
        return False

    def is_asked(self):
        """Whether a truth value that leaves here only decides if something is told: `if n % 100 == 0: print(n)`."""
        frame = _program_frame()
        if frame is None or not self._is_asked_at(Place(frame)) or _is_caught(frame):
            return False
        self.heard[frame.f_code.co_filename, frame.f_lineno] = None
        return True

    def _is_asked_at(self, place):
        for statement in place.statements((ast.stmt,))[:1]:
            if isinstance(statement, ast.If) and not statement.orelse and _decides_alone(place, statement.test):
                return all(self._only_tells(place, part) for part in statement.body)
        return False

    def _only_tells(self, place, statement):
        if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
            return False
        call = statement.value
        parts = [*call.args, *(word.value for word in call.keywords if word.arg != "file")]
        named = all(word.arg is not None for word in call.keywords)
        return named and place.value_of(call.func) is not warnings.warn and self._tells(place, call) and all(_is_inert(place, part) for part in parts)

    @contextlib.contextmanager
    def instead_of_print(self):
        """While active, print shows what it gets without a guard: a text of it is made here, of nothing but numbers, tensors and plain containers of
        them. All else that C calls on the way may keep what it gets."""
        if builtins.print is not self._print:
            yield
            return

        @functools.wraps(self._print)
        def show(*values, **options):
            file = options.get("file")
            if self._is_shown(sys.stdout if file is None else file):
                values = [self._text_of(value) if _holds_values(value) else value for value in values]
            return self._print(*values, **options)

        builtins.print = self._shown = show
        try:
            yield
        finally:
            if builtins.print is show:
                builtins.print = self._print

    def _text_of(self, value):
        outer, self._prints = self._prints, True
        try:
            return str(value)
        finally:
            self._prints = outer

    def _is_shown(self, file):
        shows = any(file is stream for stream in self._streams) and sys.stdout is self._stdout
        return shows and (type(file).__module__ in ("_io", "io") or is_installed(type(file).__module__))

    def _tells(self, place, call):
        function = place.value_of(call.func)
        if function is self._print or function is self._shown:
            files = [place.value_of(word.value) for word in call.keywords if word.arg in ("file", None)] or [sys.stdout]
            return all(map(self._is_shown, files))
        if function is warnings.warn:
            return self._warnings_are_shown()
        name = getattr(function, "__name__", "")
        owner = getattr(function, "__self__", None)
        if name not in _LOG_METHODS:
            return False
        if type(owner) in (logging.Logger, logging.RootLogger):
            return self._is_only_written(owner)
        return getattr(logging, name, None) is function and self._is_only_written(logging.root)

    def _is_told(self, frame):
        """Of a frame of logging or warnings: whether the program called them to tell something, with nothing of its own in between."""
        while frame is not None:
            name = frame.f_code.co_name
            if frame.f_code.co_filename == _TELLERS[1]:
                if name in _SHOWN_BY:
                    return self._warnings_are_shown()
            elif frame.f_code.co_filename.startswith(_TELLERS[0]):
                logger = frame.f_locals.get("self", logging.root)
                if name in _LOG_METHODS and isinstance(logger, logging.Logger):
                    return self._is_only_written(logger)
            elif not is_installed(frame.f_globals.get("__name__", "")):
                return False
            frame = frame.f_back
        return False

    def _warnings_are_shown(self):
        """They neither go to a list nor become exceptions."""
        ways = _ways_of_warnings()
        of_others = all(getattr(way, "__module__", None) in (None, "warnings") or is_installed(way.__module__) for way in ways)
        return of_others and _has_a_file(sys.stderr) and ways == self._shows_warnings and all(action != "error" for action, *_ in warnings.filters)

    def _is_only_written(self, logger):
        """All that handles the logger's records writes them out as they are."""
        if logging.getLogRecordFactory() is not logging.LogRecord:
            return False
        while logger is not None:
            if type(logger) not in (logging.Logger, logging.RootLogger) or logger.filters or _has_own_methods(logger):
                return False
            if not all(map(self._writes_out, logger.handlers)):
                return False
            logger = logger.parent if logger.propagate else None
        return logging.lastResort is None or self._writes_out(logging.lastResort)

    def _writes_out(self, handler):
        own = [handler, handler.formatter or logging.Formatter()]
        if handler.filters or any(map(_has_own_methods, own)):
            return False
        if not all(is_installed(type(each).__module__) or type(each).__module__ in _OF_LOGGING for each in own):
            return False
        if isinstance(handler, (logging.handlers.BufferingHandler, logging.handlers.QueueHandler)):
            return False
        return not isinstance(handler, logging.StreamHandler) or is_installed(type(handler).__module__) or _has_a_file(handler.stream)


def _is_dropped(frame):
    """Whether libraries alone make a text that nobody gets: asyncio.run asks what handles Ctrl-C, which is a task with its result."""
    while frame is not None and is_file_of_library(frame.f_code.co_filename):
        if frame.f_code is _INT_TO_ENUM:
            return True
        frame = frame.f_back
    return False


def _has_own_methods(owner):
    """Whether functions were set on the object that its class has, too."""
    return any(callable(item) and hasattr(type(owner), name) for name, item in getattr(owner, "__dict__", {}).items())


def _ways_of_warnings():
    return [warnings.showwarning, warnings._showwarnmsg_impl, warnings.formatwarning]


def _has_a_file(stream):
    """Whether what is written there leaves the process; the streams of the process are thought to. An object of the program's may keep it."""
    if stream is not None and type(stream).__module__ not in ("_io", "io") and not is_installed(type(stream).__module__):
        return False
    if stream in (sys.stderr, sys.stdout, sys.__stderr__, sys.__stdout__):
        return not isinstance(stream, io.StringIO)
    try:
        return stream is None or stream.fileno() >= 0
    except Exception:  # a StringIO, or an object of the program's
        return False


def _holds_values(value, depth=0):
    """Whether it is a value of the graph, or a plain container of such and of plain values."""
    kind = type(value)
    if kind in (tuple, list, set, frozenset, dict):
        items = list(value.values()) + list(value) if kind is dict else list(value)
        return depth < 5 and all(_is_plain(item) or _holds_values(item, depth + 1) for item in items) and not all(map(_is_plain, items))
    return kind in (torch.Tensor, torch.nn.Parameter) or kind.__module__ in ("lazyrt.carriers", "lazyrt.arrays")


def _is_plain(value):
    return value is None or type(value) in (bool, int, float, complex, str, bytes)


def _becomes_text(place, node):
    """True when the expression at the place is a part of the call that can only become a part of its text."""
    parts = []
    if isinstance(node, ast.Call):
        parts = [*node.args, *(word.value for word in node.keywords)]
    elif isinstance(node, ast.JoinedStr):
        parts = node.values
    elif isinstance(node, ast.FormattedValue):
        parts = [node.value]
    elif isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, (ast.Tuple, ast.List)):
        parts = node.elts
    elif isinstance(node, (ast.GeneratorExp, ast.ListComp)):
        parts = [node.elt]
    inside = [part for part in parts if _contains(part, place.span)]
    return any(_gives_value(place, part) if place.is_at(part) else _makes_text(place, part) and _becomes_text(place, part) for part in inside)


def _gives_value(place, node):
    """True for an expression that calls nothing of the program's, as C does for `list(map(self.kept.append, ...))`, whatever it is made of."""
    if place.operation.startswith(_FORMATS):
        return True
    if isinstance(node, ast.Call) and (any(isinstance(part, ast.Starred) for part in node.args) or any(word.arg is None for word in node.keywords)):
        return False
    is_item = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("item", "tolist")
    return is_item or _makes_text(place, node)


def _makes_text(place, node):
    """True for an expression that is a text, or a number on its way into one, whatever its parts are."""
    if isinstance(node, (ast.Constant, ast.JoinedStr, ast.FormattedValue)):
        return True
    if isinstance(node, (ast.Tuple, ast.List)) or _is_of_texts(place, node):
        return True
    if isinstance(node, ast.BinOp):
        joins = isinstance(node.op, ast.Add) and _makes_text(place, node.left) and _makes_text(place, node.right)
        fills = isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
        return joins or fills and not _ASKS_FOR_MORE.search(node.left.value)
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            if node.func.attr == "join":
                return isinstance(node.func.value, ast.Constant) and len(node.args) == 1 and _is_of_texts(place, node.args[0])
            return node.func.attr == "format" and isinstance(node.func.value, ast.Constant) and _takes_values(node.func.value.value)
        return place.value_of(node.func) in _TO_TEXT
    return False


def _is_of_texts(place, node):
    """Whether an expression is a list of texts, each made of values: `[f"{v:.3f}" for v in losses]`."""
    if not isinstance(node, (ast.GeneratorExp, ast.ListComp)) or not isinstance(node.elt, ast.JoinedStr):
        return False
    return all(not each.ifs and not each.is_async for each in node.generators)


def _decides_alone(place, node):
    """Whether the truth value at the place decides nothing but the truth of the node."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _decides_alone(place, node.operand)
    if isinstance(node, ast.BoolOp):
        inside = next((i for i, part in enumerate(node.values) if _contains(part, place.span)), None)
        return inside is not None and _decides_alone(place, node.values[inside]) and all(_is_inert(place, part) for part in node.values[inside + 1:])
    return place.is_at(node) and not (isinstance(node, ast.Compare) and len(node.ops) > 1) and _is_truth_of(place, node)


def _is_inert(place, node):
    """Whether the expression does nothing but compute from plain values, and values of the graph."""
    if isinstance(node, (ast.Name, ast.Attribute)):
        return _is_of_values(place, node)
    if isinstance(node, ast.Call):
        parts = [*node.args, *(word.value for word in node.keywords)]
        if isinstance(node.func, ast.Attribute):
            known = node.func.attr in _PURE
            parts.append(node.func.value)
        else:
            known = any(place.value_of(node.func) is function for function in (*_TO_TEXT, len))
        return known and all(_is_inert(place, part) for part in parts)
    inert = (ast.Constant, ast.JoinedStr, ast.FormattedValue, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Tuple, ast.List, ast.Subscript)
    parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
    return isinstance(node, inert) and all(_is_inert(place, part) for part in parts)


def _is_of_values(place, node):
    """Whether a name or attribute stands for a plain value or one of the graph, and looking it up runs no code of the program's."""
    if isinstance(node, ast.Attribute):
        owner = place.value_of(node.value)
        if owner is None or type(owner).__getattribute__ is not object.__getattribute__:
            return False
    value = place.value_of(node)
    return value is not None and (_is_plain(value) or _holds_values(value))


def _takes_values(text):
    """Whether a format takes its arguments as they are, not their attributes or items."""
    try:
        return isinstance(text, str) and all(name is None or name == "" or name.isidentifier() or name.isdigit() for _, name, *_ in string.Formatter().parse(text))
    except ValueError:
        return False


# -------------------------------------------------------------------- checks


_expected: list = []


@contextlib.contextmanager
def expecting(text):
    """While active, Python itself raises on the other value of a truth value that leaves: that is the text of the check."""
    _expected.append(text)
    try:
        yield
    finally:
        _expected.pop()


def check_of(seen):
    """The text of what the program checks by the truth value `seen` that leaves here, if it raises on the other one; else ""."""
    frame = _program_frame()
    if frame is None:
        return ""
    if _expected:
        return "" if _is_caught(frame) else _expected[-1]
    place = Place(frame)
    for statement in place.statements((ast.stmt,))[:1]:
        found = _assertion(place, statement)
        if found is None:
            return ""
        test, wanted, text = found
        if (not seen) in _deciding(place, test, not wanted) and not _is_caught(frame):
            return text
    return ""


def _assertion(place, statement):
    """(test, the truth value with which the program goes on, text) of a statement that raises; else None."""
    if isinstance(statement, ast.Assert):
        return statement.test, True, f"assert {_text(statement.test)}"
    if isinstance(statement, ast.If) and isinstance(statement.body[0], ast.Raise) and _ends_it_all(place, statement.body[0]):
        return statement.test, False, f"if {_text(statement.test)}: raise"
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and statement.value.args:
        function = place.value_of(statement.value.func)
        if getattr(function, "__module__", None) == "torch" and function.__name__.startswith(("_assert", "_check")):
            return statement.value.args[0], True, f"{function.__name__} {_text(statement.value.args[0])}"
    return None


def _text(test):
    text = ast.unparse(test)
    return text if len(text) <= 100 else text[:97] + "..."


def _ends_it_all(place, statement):
    """False for exceptions that a caller in C may take for an answer."""
    made = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
    kind = place.value_of(made) if made is not None else None
    return isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, _SWALLOWED)


def _deciding(place, node, target):
    """The truth values of the expression at the place each of which alone makes `node` come out as `target`."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _deciding(place, node.operand, not target)
    if isinstance(node, ast.BoolOp):
        if isinstance(node.op, ast.And) == target:  # all parts have to agree
            return set()
        return set().union(*(_deciding(place, part, target) for part in node.values))
    if isinstance(node, ast.Compare) and len(node.ops) > 1 and target:
        return set()
    return {target} if place.is_at(node) and _is_truth_of(place, node) else set()


def _is_truth_of(place, node):
    """True when the value that leaves is the node's own truth, not one that something inside of it asked for."""
    if place.operation.startswith(_TRUTH_OPS):
        return True
    if isinstance(node, ast.Compare):  # two containers ask for the truth of each pair of items
        return place.operation == "COMPARE_OP" and any(_is_number(place, side) for side in (node.left, *node.comparators))
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute):
        return node.func.attr in _ANSWERS
    return place.value_of(node.func) is bool


def _is_number(place, node):
    if isinstance(node, ast.BinOp):
        return _is_number(place, node.left) and _is_number(place, node.right)
    if isinstance(node, ast.UnaryOp):
        return _is_number(place, node.operand)
    if isinstance(node, ast.Call):
        function = place.value_of(node.func)
        return isinstance(node.func, ast.Attribute) and node.func.attr == "item" or any(function is known for known in _TO_NUMBER)
    return isinstance(node.value if isinstance(node, ast.Constant) else place.value_of(node), (bool, int, float))


def is_caught():
    """True when the program may go on where it is now after an error of one of torch's operators."""
    frame = _program_frame()
    return frame is not None and _is_caught(frame, _RAISED)


def _is_caught(frame, raised=(BaseException,)):
    """True when the program may go on after one of these exceptions there."""
    for outer in _frames_of_program(frame):
        raised = _leaving(outer, raised)
        if not raised or raised is _ANY_OTHER and _is_asked_by_python(outer):
            return True
    return False


def _frames_of_program(frame):
    """The frame and those that called it, up to the export; not torch's and ours."""
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    last = max((i for i, frame in enumerate(frames) if frame.f_code.co_filename.startswith(HERE)), default=len(frames))
    return [frame for frame in frames[:last] if not frame.f_code.co_filename.startswith((HERE, _TORCH))]


def _leaving(frame, raised):
    """The exceptions that may leave a frame in which one of these is raised; none where the program may go on in it."""
    if frame.f_code.co_name == "__del__" or _ends_a_loop(frame) or not _nodes(frame.f_code.co_filename):
        return ()
    place = Place(frame)
    if not place.span:
        return ()
    for node in place.statements(_GUARDING):
        if node.lineno < frame.f_code.co_firstlineno:
            continue
        if _may_catch(place, node, raised):
            return ()
        if _may_replace(place, node, raised):
            raised = _ANY_OTHER
    return raised


def _is_asked_by_python(frame):
    """Whether Python itself or C has called the function, and may take an exception for an answer: `next`, `hasattr`, a loop."""
    caller = frame.f_back
    if caller is None or caller.f_code.co_filename.startswith(HERE) or frame.f_code.co_flags & _GENERATORS:
        return False
    place = Place(caller)
    call = next(iter(place.statements(ast.Call)), None)
    if not place.operation.startswith("CALL") or call is None:
        return True
    function = place.value_of(call.func)
    return isinstance(function, types.BuiltinFunctionType) or isinstance(function, type) and not is_python_class(function)


def _ends_a_loop(frame):
    """Of a __getitem__ that Python itself calls to go through an object: an IndexError is its end."""
    return frame.f_code.co_name == "__getitem__" and frame.f_back is not None and Place(frame.f_back).operation != "BINARY_SUBSCR"


def _may_catch(place, statement, raised):
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        return not all(_is_quiet(place, item.context_expr) for item in statement.items)
    return any(map(_may_leave, statement.finalbody)) or any(map(_may_go_on, _asked(place, statement, raised)))


def _asked(place, statement, raised):
    """The handlers of a `try` that may take one of these exceptions."""
    if not any(_contains(node, place.span) for node in statement.body):
        return []
    return [handler for handler in statement.handlers if any(_may_be(place.value_of(kind), raised) for kind in _kinds(handler))]


def _kinds(handler):
    return handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]


def _may_go_on(handler):
    """Whether the program may go on after this handler."""
    last = handler.body[-1]
    return not isinstance(last, ast.Raise) or last.exc is not None or _may_leave(handler)


def _may_leave(node):
    """Whether the program may go on out of it without an exception: somebody else may run on after a yield."""
    return any(isinstance(part, _LEAVING) or getattr(part, "is_async", False) for part in ast.walk(node))


def _may_replace(place, statement, raised):
    """Whether what its handlers and its end do may raise another exception in place of the one that passes."""
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        return False
    handlers = _asked(place, statement, raised)
    if handlers and not isinstance(statement, ast.Try):  # of `except*` a group goes on
        return True
    named = all(isinstance(kind, (ast.Name, ast.Attribute, type(None))) for handler in handlers for kind in _kinds(handler))
    run = [*statement.finalbody, *(node for handler in handlers for node in handler.body)]
    return not named or any(_may_raise(part) for node in run for part in ast.walk(node))


def _may_raise(node):
    if isinstance(node, ast.Raise):
        return node.exc is not None
    return not isinstance(node, _RAISES_NOTHING) or isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)


def _may_be(kind, raised):
    if not isinstance(kind, type) or not issubclass(kind, BaseException):
        return True  # all of them, or not known
    return any(issubclass(kind, error) or issubclass(error, kind) for error in raised)


def _is_quiet(place, context):
    kind = place.value_of(context.func) if isinstance(context, ast.Call) else None
    return getattr(kind, "__name__", "") in _QUIET_CONTEXTS and str(getattr(kind, "__module__", "")).split(".")[0] == "torch"
