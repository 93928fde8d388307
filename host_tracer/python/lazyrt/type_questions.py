"""Where a program asks for the type of a thing by type(x), which sees a carrier for what it is."""

import ast
import contextlib
import functools
import linecache
import types
import weakref

from lazyrt.code_names import is_file_of_library
from lazyrt.handed import calls_shown_to

_by_another_name: weakref.WeakSet = weakref.WeakSet()  # codes
_TELLERS = {"print", "debug", "info", "warning", "warn", "error", "critical", "exception", "log"}


@contextlib.contextmanager
def codes_run():
    """The code of the user's functions that this thread calls; of none where somebody else watches it. Those that know `type` by another name count from now on."""
    codes: set = set()

    def look(frame, event, value):
        if event == "call":
            code = frame.f_code
            if code not in codes:
                codes.add(code)
                if _knows_type_otherwise(frame):
                    _by_another_name.add(code)

    with calls_shown_to(look):
        yield codes


def _knows_type_otherwise(frame):
    code, names, inner = frame.f_code, frame.f_globals, frame.f_locals
    return any(names.get(name) is type for name in code.co_names if name != "type") or any(inner.get(name) is type for name in code.co_freevars)


def asks_for_types(code):
    """Whether the function may go on by what type(x) is. It does not count where the answer only tells people (in a `raise`, and in an f-string that print, a logger,
    a warning or an error gets), where `type` is the class (annotations, bases, `type[int]`, isinstance(x, type)), where it makes one (type(name, bases, members)), nor
    type(self) and type(cls). hasattr(x, "__array__") asks the same: carriers have it."""
    if is_file_of_library(code.co_filename):
        return False
    if code in _by_another_name or "__array__" in (*code.co_names, *code.co_consts):
        return True
    if "type" not in code.co_names:
        return False
    if "builtins" in (*code.co_names, *code.co_freevars):  # builtins.type
        return True
    lines = [line for *_, line in code.co_lines() if line]
    questions = _questions(code.co_filename, tuple(linecache.getlines(code.co_filename)))
    return questions is None or any(min(lines) <= line <= max(lines) for line in questions)


@functools.lru_cache(maxsize=4096)
def asks_anywhere(code):
    """The same of the function and of those that it makes."""
    return asks_for_types(code) or any(isinstance(inner, types.CodeType) and asks_anywhere(inner) for inner in code.co_consts)


@functools.lru_cache(maxsize=256)
def _questions(filename, source):
    """The lines of the file that ask; None where its source is not known."""
    try:
        tree = ast.parse("".join(source)) if source else None
    except SyntaxError:
        tree = None
    return None if tree is None else tuple(_lines_of_questions(tree, []))


def _lines_of_questions(node, around):
    if isinstance(node, ast.Raise) or isinstance(node, ast.JoinedStr) and _is_told(around):
        return
    if isinstance(node, ast.Name) and node.id == "type" and isinstance(node.ctx, ast.Load) and _is_question(node, around):
        yield node.lineno
    for child in ast.iter_child_nodes(node):
        yield from _lines_of_questions(child, [*around[-2:], node])


def _is_told(around):
    """Whether a text is only for people: printed, logged, a warning, an exception's."""
    call = around[-1] if around else None
    if not isinstance(call, ast.Call):
        return False
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name in _TELLERS or name.endswith(("Error", "Exception", "Warning"))


def _is_question(name, around):
    call = around[-1] if around else None
    if not isinstance(call, ast.Call):
        return not isinstance(call, (ast.arg, ast.AnnAssign, ast.FunctionDef, ast.ClassDef, ast.Subscript))
    if call.func is not name:  # isinstance(x, type), map(type, x)
        return not (isinstance(call.func, ast.Name) and call.func.id in ("isinstance", "issubclass"))
    of_self = len(call.args) == 1 and isinstance(call.args[0], ast.Name) and call.args[0].id in ("self", "cls")
    return len(call.args) == 1 and not of_self
