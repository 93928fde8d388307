"""State that TorchScript modules keep where Python does not see it."""

import re

import torch

from lazyrt.errors import ExportError


def module_of(method):
    """The TorchScript module that a method belongs to."""
    return torch.jit._recursive.wrap_cpp_module(method.owner)


def refuse_written_constants(module):
    """Raises ExportError where a scripted module writes into a constant of its graph: torch.jit.trace makes constants of tensors that are no registered buffers."""
    if isinstance(module, torch.jit.ScriptModule) and module._c._has_method("forward"):
        graph = module._c._get_method("forward").graph.copy()
        torch._C._jit_pass_inline(graph)
        constants = [node.output() for node in graph.findAllNodes("prim::Constant") if node.output().type().kind() == "TensorType"]
        writers = [node for node in _nodes_of(graph) if node.kind().startswith("aten::") and node.kind().endswith("_") and not node.kind().endswith("__")]
        aliases = graph.alias_db() if constants and writers else None
        for node in writers if constants else ():
            if any(aliases.may_contain_alias(constant, next(node.inputs())) for constant in constants):
                raise ExportError("TorchScript code writes in place into a constant of its graph, which keeps what was written (torch.jit.trace makes constants of tensors that "
                                  f"are no registered buffers): register it as a buffer before tracing\n{node.sourceRange()}".rstrip())
        return
    for child in module.children():
        refuse_written_constants(child)


def _nodes_of(block):
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from _nodes_of(inner)


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
                              "save the module and give its file to lazy-export") from error

    def restore(self, given):
        failed = None
        for name, item in zip(self.names, self.items):
            try:
                self._inside.setattr(name, given(item))
            except RuntimeError as error:  # the others are put back all the same
                failed = failed or error
        if failed is not None:
            raise failed
