"""What TorchScript modules keep out of Python's sight."""

import re

import torch

from lazyrt.errors import ExportError


def module_of(method):
    """The TorchScript module that a method belongs to."""
    return torch.jit._recursive.wrap_cpp_module(method.owner)


class ScriptEntry:
    """The attributes of a TorchScript module that are no parameters, buffers or modules, in a snapshot. Containers and objects among them are copies."""

    def __init__(self, value):
        known = {*dict(value.named_parameters(recurse=False)), *dict(value.named_buffers(recurse=False)), *dict(value.named_children())}
        self.value, self._inside = value, value._c
        # A frozen module does not have it.
        concrete = getattr(value, "_concrete_type", None) or torch._C.ConcreteModuleType.from_jit_type(value._c._type())
        self.names = sorted(name for name in concrete.get_attributes() if name not in known and self._inside.hasattr(name))
        self.items = [self._attribute(name) for name in self.names]

    def _attribute(self, name):
        try:
            return self._inside.getattr(name)
        except RuntimeError as error:  # an object of a scripted class that this process has not made
            missing = re.search(r"(\S+) is not found", str(error))
            why = f"nothing has defined its scripted class {missing[1]} in this process" if missing else str(error).strip().splitlines()[0]
            raise ExportError(f"the scripted module's attribute '{name}' cannot be read in Python: {why}. Import what defines it, or "
                              "save the module and give its file to lazy-export", "unsupported") from error

    def restore(self, given):
        failed = None
        for name, item in zip(self.names, self.items):
            try:
                self._inside.setattr(name, given(item))
            except RuntimeError as error:  # the others are put back all the same
                failed = failed or error
        if failed is not None:
            raise failed
