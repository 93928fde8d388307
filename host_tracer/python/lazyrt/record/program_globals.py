"""Replaces functions in the globals of the program's own modules for a while; other code of the process is not affected."""

import contextlib
import functools
import math
import types

import torch


@functools.lru_cache(maxsize=None)
def _module_with(module, functions):
    """A module with other functions: `functions`: ((name, function)...)."""
    made = types.ModuleType(module.__name__)
    vars(made).update({**vars(module), **dict(functions)})
    return made


@contextlib.contextmanager
def with_functions(namespaces, instead, builtins):
    """While active, these namespaces (dicts of globals) have other functions: `instead` {function of math or torch: the one in its place}, by its own name,
    as an attribute of its module or under any other name; `builtins` {name: function}, where the namespace has no global of that name."""
    others = {id(function): other for function, other in instead.items()}
    for module in (math, torch):
        functions = tuple((f.__name__, other) for f, other in instead.items() if vars(module).get(f.__name__) is f)
        if functions:
            others[id(module)] = _module_with(module, functions)
    replaced = [(names, name, value, others[id(value)]) for names in namespaces for name, value in names.items() if id(value) in others]
    replaced += [(names, name, None, function) for names in namespaces for name, function in builtins.items() if name not in names]
    for names, name, _, function in replaced:
        names[name] = function
    try:
        yield
    finally:
        for names, name, value, function in replaced:
            if names.get(name) is not function:
                continue
            if value is None:
                del names[name]
            else:
                names[name] = value
