"""The callable that is exported, and its modules."""

import functools
import inspect

import torch
from torch.nn.parameter import UninitializedTensorMixin  # type: ignore[attr-defined]

from lazyrt.errors import ExportError
from lazyrt.record.sparse_products import is_sparse
from lazyrt.state.script_state import module_of, refuse_written_constants

_MODULE = torch.nn.Module()


class Program:
    """A module, a method of one, or a function together with the modules that it reaches through its closure, its
    globals or functools.partial."""

    def __init__(self, target):
        if not callable(target):
            raise TypeError(f"lazyrt.export needs a module or a function, not a {type(target).__name__}")
        self.target = target
        self.name = _name_of(target)
        if isinstance(target, torch.jit.ScriptModule):  # functional_call takes it as a part only
            self.roots = {"scripted": target}
        elif isinstance(target, torch.ScriptMethod):
            self.roots = {"scripted": module_of(target)}
        else:
            self.roots = {"": target} if isinstance(target, torch.nn.Module) else _reachable_modules(target)
        self.shell = target if "" in self.roots else _shell(target, self.roots)
        refuse_written_constants(self.shell)
        _refuse_uninitialized(self.shell)

    def call(self, tensors, args, kwargs):
        """Calls it with `tensors` by name in place of parameters and buffers, wherever these are registered; updates `tensors` where the call
        registers other tensors. (torch.func.functional_call restores by name, also into a module that the call has registered there.)"""
        names = {id(self.at(name)): name for name in tensors}
        places = []  # (its table, attribute, what was there, its name)
        for module in self.shell.modules():
            for table in (module._parameters, module._buffers):
                places += [(module, table, attribute, tensor, names[id(tensor)]) for attribute, tensor in table.items() if tensor is not None and id(tensor) in names]
        for _, table, attribute, _, name in places:
            table[attribute] = tensors[name]
        try:
            return self.shell(*args, **kwargs)
        finally:
            for module, table, attribute, tensor, name in places:
                now = table[attribute] if attribute in table else getattr(module, attribute, None)
                if now is None:  # deleted, or set to None: it stays so
                    continue
                if self.at(name) is now:
                    tensors[name] = now
                table[attribute] = tensor

    def put(self, name, tensor):
        """Puts another tensor in the place of a parameter or buffer."""
        path, _, attribute = name.rpartition(".")
        module = self.shell.get_submodule(path)
        (module._buffers if attribute in module._buffers else module._parameters)[attribute] = tensor

    def at(self, name):
        """The parameter or buffer of this name, or None."""
        path, _, attribute = name.rpartition(".")
        module = self.shell
        for part in path.split(".") if path else ():
            module = _item(module._modules, part) if module is not None else None
        if module is None:
            return None
        found = _item(module._parameters, attribute)
        return _item(module._buffers, attribute) if found is None else found

    def all_roots(self):
        """[(path, object)] of the objects through which the program reaches its state."""
        return [*self.roots.items(), *(() if "" in self.roots else [(self.name, self.target)])]

    def parameters(self):
        return dict(self.shell.named_parameters())

    def buffers(self):
        """The dense buffers by name. Sparse ones are constants, as other tensors in attributes are."""
        return {name: buffer for name, buffer in self.shell.named_buffers() if buffer is not None and not is_sparse(buffer)}

    def registered(self):
        """Parameters and buffers by name, as they are now."""
        return {**self.parameters(), **self.buffers()}

    def by_all_names(self):
        """The same, under all their names."""
        buffers = {name: buffer for name, buffer in self.shell.named_buffers(remove_duplicate=False) if not is_sparse(buffer)}
        return {**dict(self.shell.named_parameters(remove_duplicate=False)), **buffers}

    def module_paths(self):
        """{id of a module: its path}"""
        paths = {}
        for path, module in self.shell.named_modules():
            paths.setdefault(id(module), path)
        return paths


def _refuse_uninitialized(shell):
    """Raises ExportError for lazy modules (LazyLinear, ...) that no forward has given their parameters."""
    for name, tensor in (*shell.named_parameters(), *shell.named_buffers()):
        if isinstance(tensor, UninitializedTensorMixin):
            raise ExportError(f"'{name}' has no shape yet: call the module once before the export, which gives lazy modules their parameters", "failed precondition")


def _item(table, name):
    """An entry of a module's table, or None. TorchScript's tables are no dicts."""
    return table[name] if name in table else None


def _shell(target, roots):
    class Shell(torch.nn.Module):
        def forward(self, *args, **kwargs):
            return target(*args, **kwargs)

    shell = Shell()
    for name, module in roots.items():
        shell.add_module(name, module)
    return shell


def _name_of(target):
    if isinstance(target, torch.jit.ScriptModule):
        return target.original_name
    if isinstance(target, torch.ScriptMethod):
        return f"{module_of(target).original_name}.{target.name}"
    if isinstance(target, torch.nn.Module):
        return type(target).__name__
    if isinstance(target, functools.partial):
        return _name_of(target.func)
    return getattr(target, "__qualname__", type(target).__name__)


def _reachable_modules(target):
    """{name under which the function refers to it: module}"""
    found, seen = {}, set()

    def add(name, value):
        value = module_of(value) if isinstance(value, torch.ScriptMethod) else value
        if isinstance(value, torch.nn.Module):
            if all(value is not module for module in found.values()):
                found[_free_name(name, found)] = value
        elif isinstance(value, (list, tuple)) and len(value) < 1000:
            for i, item in enumerate(value):
                add(f"{name}_{i}", item)
        elif isinstance(value, dict) and len(value) < 1000:
            for key, item in value.items():
                add(f"{name}_{key}", item)
        elif inspect.isroutine(value) or isinstance(value, functools.partial):
            visit(value)

    def visit(function):
        if id(function) in seen:
            return
        seen.add(id(function))
        if isinstance(function, functools.partial):
            for value in (function.func, *function.args, *function.keywords.values()):
                add("partial", value)
            return
        if inspect.ismethod(function):
            add("self", function.__self__)
            _visit_attributes(function.__self__, add)
            function = function.__func__
        function = inspect.unwrap(function)
        if not inspect.isfunction(function):
            return
        try:
            variables = inspect.getclosurevars(function)
        except ValueError:  # a variable of the closure that is not set yet
            return
        for name, value in {**variables.globals, **variables.nonlocals}.items():
            if not inspect.isroutine(value) or getattr(value, "__module__", "") == function.__module__:
                add(name, value)

    if inspect.isroutine(target) or isinstance(target, functools.partial):
        visit(target)
    else:
        _visit_attributes(target, add)
        visit(type(target).__call__.__get__(target))
    return found


def _visit_attributes(instance, add):
    if not isinstance(instance, torch.nn.Module):
        for name, value in getattr(instance, "__dict__", {}).items():
            add(name, value)


def _free_name(name, taken):
    name = "".join(c if c.isalnum() else "_" for c in name) or "module"
    candidate, i = name, 0
    while candidate in taken or hasattr(_MODULE, candidate):
        i += 1
        candidate = f"{name}_{i}"
    return candidate
