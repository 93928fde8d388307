"""TorchScript code that a program calls: no mode of torch sees what happens there."""

import functools
import sys

import torch

from lazyrt import _tracer
from lazyrt.errors import ExportError

KINDS = (torch.jit.ScriptFunction, torch._C.ScriptMethod)
MAY_COPY = ("contiguous", "reshape", "reshape_as", "flatten", "ravel")  # or give a view, as their operand lies in memory
_MAY_COPY = {"aten::to", *(f"aten::{name}" for name in MAY_COPY)}



class Calls:
    """While active, see(script, args, kwargs, call, frame) is told of calls of TorchScript code, and says what they give: `call()` makes them."""

    def __init__(self, see):
        self._see = see

    def __enter__(self):
        self._originals = [kind.__call__ for kind in KINDS]
        for kind, original in zip(KINDS, self._originals):
            kind.__call__ = self._hooked(original)

    def __exit__(self, *error):
        for kind, original in zip(KINDS, self._originals):
            kind.__call__ = original

    def _hooked(self, original):
        def call(script, *args, **kwargs):
            return self._see(script, args, kwargs, functools.partial(original, script, *args, **kwargs), sys._getframe(1))

        return call


class Code:
    """What the code of a script does: `writes` into tensors; has calls that may copy (`copies`); `writes_copies`, afterwards into what such
    calls give or take."""

    def __init__(self, graph):
        graph = graph.copy()
        torch._C._jit_pass_inline(graph)
        nodes = list(_nodes_of(graph, ()))
        writers = [(i, node, loops) for i, (node, loops) in enumerate(nodes) if _writes(node)]
        copies = [(i, node, loops) for i, (node, loops) in enumerate(nodes) if node.kind() in _MAY_COPY]
        constants = [node.output() for node, _ in nodes if node.kind() == "prim::Constant" and node.output().type().kind() == "TensorType"]
        self.writes, self.copies, self.writes_copies = bool(writers), bool(copies), False
        aliases = graph.alias_db() if writers and (copies or constants) else None
        for _, writer, _ in writers:
            if any(aliases.may_contain_alias(constant, next(writer.inputs())) for constant in constants):
                raise ExportError("TorchScript code writes in place into a constant of its graph, which keeps what was written (torch.jit.trace makes constants of tensors that "
                                  f"are no registered buffers): register it as a buffer before tracing\n{writer.sourceRange()}".rstrip(), "unsupported")
        if writers and copies:
            self.writes_copies = any(_meets(aliases, copy, writer) for i, copy, loops in copies for k, writer, others in writers
                                     if k > i or set(loops) & set(others))


def call_recorded(script, call):
    """(what call() gives, whether the script copies meanwhile where it may)"""
    if not code_of(script).writes_copies:
        return call(), None
    with _tracer.CopyRecorder(_MAY_COPY) as recorder:
        result = call()
    return result, recorder.copied


def code_of(script):
    return _code_of_graph(script.graph)


@functools.lru_cache(maxsize=64)
def _code_of_graph(graph):
    return Code(graph)


def _nodes_of(block, loops):
    """(node, numbers of the loops around it) of all nodes in order."""
    for node in block.nodes():
        yield node, loops
        for inner in node.blocks():
            yield from _nodes_of(inner, (*loops, id(node)) if node.kind() == "prim::Loop" else loops)


def _meets(aliases, copy, writer):
    target = next(writer.inputs())
    return any(aliases.may_contain_alias(value, target) for value in (next(copy.inputs()), next(copy.outputs())))


def _writes(node):
    name = node.kind().split("::")[-1]
    return node.kind().startswith("aten::") and name.endswith("_") and not name.endswith("__")
