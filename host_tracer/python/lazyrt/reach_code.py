"""Code and classes as a Reach looks at them: functions with their cells, defaults and globals, classes with their attributes and registries."""

import functools
import operator
import types

from lazyrt.code_names import global_names, is_installed, is_python_class, of_a_library
from lazyrt.entries import (AttributesEntry, CachedEntry, CellEntry, ClassAttributesEntry, PartialEntry, from_class,
                            from_globals, is_data_name)

CODE = (types.FunctionType, staticmethod, classmethod, property, functools.partialmethod, functools.cached_property)
IMPLIED = ("implied",)  # owner of a class that is looked at for the sake of its objects


def is_made(cls):
    """Whether a function has made the class: the library that it says it is of has it under no name, as those that torch.fx makes for one object."""
    return is_python_class(cls) and "<locals>" in cls.__qualname__


class CodeOfReach:
    """What a Reach, which derives from it, does with code."""

    def _is_near(self, module):
        """Whether code of this module of Python is looked into: the user's own is, and what defines the classes that are
        reached, not all that an installed package draws in."""
        if of_a_library(module):
            return False
        return module in self._near or not is_installed(module)

    def _visit_class(self, path, cls):
        if not self._is_near(cls.__module__) and not is_made(cls):
            return ("class", id(cls))
        names = [name for name, item in vars(cls).items() if is_data_name(name) or isinstance(item, CODE)]
        entry = ClassAttributesEntry(cls, names, type.__setattr__, type.__delattr__, from_class)
        self._entries.append(entry)
        for name, item in zip(entry.names, entry.items):
            self._push(f"{path}.{name}", item, (cls, name))
        meta = type(cls)
        if not of_a_library(meta.__module__):
            self._push(f"{meta.__module__}.{meta.__qualname__}", meta, IMPLIED)
        return ("class", id(cls), tuple(entry.names))

    def _visit_function(self, path, function):
        if of_a_library(function.__module__) and not function.__dict__ and not function.__closure__:
            return ("function", id(function.__code__))
        if not self._is_near(function.__module__) and not function.__closure__:
            self._visit_stored(function)
            return ("function", id(function.__code__))
        entry = AttributesEntry(function, ["__defaults__", "__kwdefaults__", "__code__"])
        self._entries.append(entry)
        self._push(f"{path}.__defaults__", function.__defaults__, (function, "__defaults__"))
        self._push(f"{path}.__kwdefaults__", function.__kwdefaults__)
        self._push(f"{path}.__wrapped__", getattr(function, "__wrapped__", None))
        self._push_attributes(path, function, function.__dict__, False)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            self._push(f"{path}.{name}", cell)
        self._visit_globals(function)
        return ("function", id(function.__code__))

    def _visit_stored(self, function):
        """Of an installed package the globals that its functions assign to."""
        code, names = function.__code__, function.__globals__
        if (code, id(names)) in self._seen or of_a_library(function.__module__):
            return
        self._seen[(code, id(names))] = ""
        self._note_namespace(names)
        found, stored = global_names(code)
        for name in found:
            if name in stored:
                self._visit_global(names.get("__name__", "globals"), names, name)
            elif isinstance(names.get(name), types.FunctionType):
                self._visit_stored(names[name])

    def _note_namespace(self, names):
        if ("namespace", id(names)) not in self._seen:
            self._seen[("namespace", id(names))] = ""
            self.namespaces.append(names)

    def _visit_globals(self, function):
        code, names = function.__code__, function.__globals__
        if not self._is_near(names.get("__name__")):  # of a decorator; what it decorates is in its closure
            return
        if (code, id(names)) in self._seen:
            return
        self._seen[(code, id(names))] = ""
        self._note_namespace(names)
        found, stored = global_names(code)
        self._words.update(found)
        prefix = names.get("__name__", "globals")
        for name in found:
            if name in names or name in stored:
                self._visit_global(prefix, names, name)
            if isinstance(names.get(name), types.ModuleType):
                self._visit_object("", names[name])

    def _visit_global(self, prefix, names, name):
        if (id(names), name) in self._seen:
            return
        self._seen[(id(names), name)] = ""
        entry = AttributesEntry(names, [name], operator.setitem, operator.delitem, from_globals)
        self._entries.append(entry)
        self._push(f"{prefix}.{name}", entry.items[0], (names, name))

    def _visit_cell(self, path, cell):
        entry = CellEntry(cell)
        self._entries.append(entry)
        for item in entry.items:
            self._push(f"{path}.cell", item, (cell, "cell_contents"))
        return entry.token()

    def _visit_method(self, path, method):
        self._push(f"{path}.__self__", method.__self__)
        self._push(f"{path}.__func__", method.__func__)
        return ("method",)

    def _visit_partial(self, path, value):
        entry = PartialEntry(value)
        self._entries.append(entry)
        for name, item in zip(("func", "args", "keywords"), entry.items):
            self._push(f"{path}.{name}", item, (value, name) if name == "args" else None)
        return ("partial",)

    def _visit_descriptor(self, path, value):
        for name in ("__func__", "fget", "fset", "fdel", "func"):
            inner = getattr(value, name, None)
            if inner is not None:
                self._push(f"{path}.{name}" if name in ("fset", "fdel") else path + "()", inner)
        return (type(value).__name__,)

    def _visit_cached(self, path, value):
        self._push(f"{path}()", value.__wrapped__)
        entry = CachedEntry(value)
        self._entries.append(entry)
        return entry.token()
