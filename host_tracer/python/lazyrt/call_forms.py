"""Whether a program can see the form of its call: an argument by position or by keyword, keywords in another order, a default that is given.

Python hides that from a plain function. Hooks, decorators and a __call__ of one's own may see it: where it is not known that they do not look,
the bundle takes the example's form alone. What only passes *args and **kwargs on is looked through; a hook that does not use what it is told of
the arguments sees nothing."""

import ast
import builtins
import collections
import dis
import enum
import functools
import inspect
import linecache
import types

import torch

from lazyrt import scripts
from lazyrt.arguments import bind
from lazyrt.code_names import is_file_of_library

_HANDS_OUT_VARIABLES = {"locals", "vars", "dir", "eval", "exec", "_getframe", "inspect"}
_Module = torch.nn.Module
_CONTAINERS = (list, dict, set, bytearray, collections.deque)
_NEVER_WRITTEN = (type, enum.Enum, types.FunctionType, types.ModuleType, torch.Tensor)
_global = torch.nn.modules.module
_MODULE_CALLS = {_Module.__call__, _Module._call_impl}


def examine(target, example):
    """{"form", "left_out"} for the interface (see contract.py), nothing where the program cannot see the form."""
    if _is_blind(target) or _has_no_names(target):
        kept = [parameter.name for parameter, value, is_given in bind(target, example.args, example.kwargs) if not is_given and _keeps(value)]
        return {"left_out": kept} if kept else {}
    return {"form": {"positional": len(example.args), "keywords": list(example.kwargs)}}


def _keeps(default):
    """Whether a program can keep something in this default, which an equal argument would not have."""
    return isinstance(default, _CONTAINERS) or type(getattr(default, "__dict__", None)) is dict and not isinstance(default, _NEVER_WRITTEN)


def _has_no_names(target):
    """Whether arguments cannot be given but as in the example in any case."""
    try:
        inspect.signature(target.forward if isinstance(target, _Module) else target)
    except (TypeError, ValueError):
        return not isinstance(target, _Module)
    return False


def _is_blind(target):
    """Whether the form of a call makes no difference to it."""
    if isinstance(target, scripts.KINDS):
        return True
    if isinstance(target, _Module):
        return _is_blind_module(target)
    if isinstance(target, types.MethodType):
        return _is_blind_function(target.__func__, target.__self__)
    if isinstance(target, types.FunctionType):
        return _is_blind_function(target, None)
    if _described(target):
        return False
    if type(target) is functools.partial:
        return _is_blind(target.func)
    call = getattr(type(target), "__call__", None)
    return isinstance(call, types.FunctionType) and _is_blind_function(call, target)


def _is_blind_function(function, bound):
    if isinstance(bound, _Module) and function in _MODULE_CALLS:
        return _is_blind_module(bound)
    described = _described(function)
    if type(function) is not types.FunctionType or not described:
        return type(function) is types.FunctionType
    if _is_of_library(function):
        return "__wrapped__" in described and _is_blind(function.__wrapped__)
    callees = _passes_on(function, bound)
    return described == {"__wrapped__"} and _leads_to(function.__wrapped__, callees)


def _is_of_library(function):
    """What packages wrap around a model (transformers' can_return_tuple) takes a call in all its forms."""
    return is_file_of_library(function.__code__.co_filename)


def _described(target):
    """Where the parameters that it is said to have come from."""
    return {name for name in ("__wrapped__", "__signature__") if inspect.getattr_static(target, name, None) is not None}


def _leads_to(wanted, callees):
    """Whether all of them are blind, and the one whose parameters are known is among them."""
    return bool(callees) and any(getattr(each, "__func__", each) is wanted for each in callees) and all(map(_is_blind, callees))


def _is_blind_module(module):
    kind = type(module)
    is_own = kind._call_impl is not _Module._call_impl or "_call_impl" in vars(module) or kind.__getattribute__ is not object.__getattribute__
    if is_own or module._compiled_call_impl is not None or not all(map(_ignores_arguments, _hooks_of(module))):
        return False
    if kind.__call__ is _Module.__call__:
        return _is_blind(module.forward)
    callees = _passes_on(kind.__call__, module) or ()
    return bool(callees) and all(_is_call_of(module, each) and _is_blind(module.forward) for each in callees)


def _is_call_of(module, callee):
    if not isinstance(callee, types.MethodType) or callee.__self__ is not module:
        return False
    return callee.__func__ in _MODULE_CALLS or callee.__func__ is getattr(module.forward, "__func__", None)


# -------------------------------------------------------------------- hooks


def _hooks_of(module):
    """(hook, what it is given of the arguments: how many values from the second on)"""
    tables = ((module._forward_pre_hooks, module._forward_pre_hooks_with_kwargs), (module._forward_hooks, module._forward_hooks_with_kwargs),
              (_global._global_forward_pre_hooks, ()), (_global._global_forward_hooks, _global._global_forward_hooks_with_kwargs))
    for hooks, with_kwargs in tables:
        for key, hook in hooks.items():
            yield hook, 2 if key in with_kwargs else 1


def _ignores_arguments(given):
    """Whether the code of a hook never reads its parameters for the arguments."""
    hook, count = given
    first = 1
    while type(hook) is functools.partial:
        first, hook = first + len(hook.args), hook.func
    if not isinstance(hook, (types.FunctionType, types.MethodType)):
        hook = getattr(type(hook), "__call__", None)
        first += 1
    elif isinstance(hook, types.MethodType):
        first, hook = first + 1, hook.__func__
    if type(hook) is not types.FunctionType or _described(hook):
        return False
    if _is_of_library(hook):
        return True
    names = hook.__code__.co_varnames[:hook.__code__.co_argcount][first:first + count]
    return len(names) == count and not _reads(hook.__code__, set(names))


def _reads(code, names):
    if _HANDS_OUT_VARIABLES & set(code.co_names) or names & set(code.co_cellvars):
        return True
    for step in dis.get_instructions(code):
        named = step.argval if isinstance(step.argval, tuple) else (step.argval,)
        if "LOAD" in step.opname and any(isinstance(name, str) and name in names for name in named):
            return True
    return False


# -------------------------------------------------------------------- what passes arguments on


def _passes_on(function, bound):
    """What a function of (*args, **kwargs), or of those beside `self`, calls with just these, if it does nothing else with them; else None."""
    if type(function) is not types.FunctionType or _HANDS_OUT_VARIABLES & set(function.__code__.co_names):
        return None
    node = _syntax_of(function.__code__)
    if node is None or node.args.vararg is None or node.args.kwarg is None or node.args.kwonlyargs or node.args.defaults:
        return None
    parameters = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    if len(parameters) > (bound is not None):
        return None
    names = {node.args.vararg.arg, node.args.kwarg.arg}
    calls = [call for call in ast.walk(node) if isinstance(call, ast.Call) and _is_passing(call, node.args, parameters)]
    uses = [name for name in ast.walk(node) if isinstance(name, ast.Name) and name.id in names]
    inner = [each for each in ast.walk(node) if isinstance(each, (ast.FunctionDef, ast.Lambda, ast.AsyncFunctionDef, ast.ClassDef)) and each is not node]
    if len(uses) != 2 * len(calls) or any(isinstance(name, ast.Name) and name.id in names for each in inner for name in ast.walk(each)):
        return None
    callees = [_value_of(call.func, function, bound, parameters) for call in calls]
    return None if None in callees else callees


def _is_passing(call, arguments, parameters):
    """f(*args, **kwargs), or f(self, *args, **kwargs)"""
    *given, last = call.args or [None]
    plain = [each.id for each in given if isinstance(each, ast.Name)]
    is_rest = isinstance(last, ast.Starred) and isinstance(last.value, ast.Name) and last.value.id == arguments.vararg.arg
    if not is_rest or len(plain) != len(given) or plain not in ([], parameters) or len(call.keywords) != 1:
        return False
    named = call.keywords[0]
    return named.arg is None and isinstance(named.value, ast.Name) and named.value.id == arguments.kwarg.arg


def _value_of(node, function, bound, parameters):
    """What an expression for a function stands for: a name, self.name or super().name."""
    if isinstance(node, ast.Name):
        return _named(function, node.id)
    if not isinstance(node, ast.Attribute):
        return None
    owner = node.value
    if isinstance(owner, ast.Name) and owner.id in parameters:
        return getattr(bound, node.attr, None)
    is_super = isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "super" and not owner.args
    kind = _named(function, "__class__") if is_super else None
    return getattr(super(kind, bound), node.attr, None) if kind is not None and bound is not None else None


def _named(function, name):
    code = function.__code__
    if name in code.co_freevars:
        try:
            return function.__closure__[code.co_freevars.index(name)].cell_contents
        except ValueError:  # it is not set yet
            return None
    if name in code.co_varnames or name in code.co_cellvars:
        return None
    return function.__globals__.get(name, getattr(builtins, name, None))


def _syntax_of(code):
    """The definition of a function in its source; None where that is not known, or several begin in its line."""
    tree = _tree_of(code.co_filename, tuple(linecache.getlines(code.co_filename)))
    if tree is None:
        return None
    found = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.Lambda)) and _first_line(node) == code.co_firstlineno
             and getattr(node, "name", "<lambda>") == code.co_name]
    return found[0] if len(found) == 1 else None


def _first_line(node):
    return min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])


@functools.lru_cache(maxsize=64)
def _tree_of(filename, source):
    try:
        return ast.parse("".join(source)) if source else None
    except SyntaxError:
        return None
