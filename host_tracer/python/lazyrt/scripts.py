"""TorchScript code that a program calls: no mode of torch sees what happens there."""

import functools
import re
import sys

import torch

from lazyrt import _tracer
from lazyrt.errors import Error, ExportError
from lazyrt.tensors import tensors_in

KINDS = (torch.jit.ScriptFunction, torch._C.ScriptMethod)
MAY_COPY = ("contiguous", "reshape", "reshape_as", "flatten", "ravel")  # or give a view, as their operand lies in memory
_MAY_COPY = {"aten::to", *(f"aten::{name}" for name in MAY_COPY)}

# What operators ask beside values, by what a call of the bundle has to be like then (see contract.py).
_GRADIENTS = {"detached", "no_grad"}
_ASKS = {"aten::is_grad_enabled": {"no_grad"}, "prim::requires_grad": _GRADIENTS, "aten::is_leaf": _GRADIENTS, "aten::retains_grad": _GRADIENTS,
         "aten::output_nr": _GRADIENTS, "aten::is_contiguous": {"contiguous"}, "aten::is_non_overlapping_and_dense": {"contiguous"},
         "aten::stride": {"contiguous", "strides"}, "aten::is_strides_like_format": {"contiguous", "strides"},
         **dict.fromkeys(("aten::storage_offset", "aten::as_strided", "aten::as_strided_"), {"contiguous", "strides", "whole"}),
         **dict.fromkeys(("prim::grad", "aten::is_inference", "aten::is_neg", "aten::is_pinned"), {"plain"})}
_IDENTITY = {"aten::__is__", "aten::__isnot__", "aten::is_set_to"}
_CALLS = {"prim::CallMethod", "prim::CallFunction", "prim::Enter"}  # that cannot be looked into
_FILES = re.compile(r'\s*(?:Serialized\s+)?File "([^"]*)"')


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
    calls give or take. `asks`: what a call of the bundle has to be like since the code asks for more than values: keys of contract.py;
    whether it `compares` tensors by `is`, and `objects`, that it holds itself, so."""

    def __init__(self, graph):
        graph = graph.copy()
        torch._C._jit_pass_inline(graph)
        nodes = list(_nodes_of(graph, ()))
        self.asks, self.compares, self.objects = set(), False, False
        self._look_for_questions(nodes)
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


    def _look_for_questions(self, nodes):
        for node, _ in nodes:
            asks = _asks_of(node)
            self.asks |= asks
            if asks and node.kind() in _IDENTITY:
                self.compares, self.objects = True, self.objects or not all(map(_is_passing, node.inputs()))
            if "Subgraph" in node.attributeNames():  # of a fork
                subgraph = node.g("Subgraph").copy()
                torch._C._jit_pass_inline(subgraph)
                self._look_for_questions(_nodes_of(subgraph, ()))


def call_recorded(script, call):
    """(what call() gives, whether the script copies meanwhile where it may)"""
    if not code_of(script).writes_copies:
        return call(), None
    with _tracer.CopyRecorder(_MAY_COPY) as recorder:
        result = call()
    return result, recorder.copied


def asks_of_call(script, values, is_passing):
    """See Code.asks; is_passing(tensor) says whether it is of this call alone. Raises Error where no demand on calls would do."""
    code = code_of(script)
    if code.compares and (code.objects or not all(map(is_passing, tensors_in(values)))):
        raise Error(f"TorchScript code ('{script.name}') asks by `is` for a tensor that the program holds, and a bundle does not know its caller's "
                    "objects: compare values (torch.equal)", "unsupported")
    return code.asks


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


def _asks_of(node):
    """Nothing of torch's own code, which makes nothing of it but other ways to the same result."""
    kind = node.kind()
    if kind in _CALLS:
        is_known = kind == "prim::Enter" and str(next(node.inputs()).type()).startswith("__torch__.torch.")
        return set() if is_known else set().union(*_ASKS.values(), {"distinct"})
    found = _ASKS.get(kind, set())
    if kind in _IDENTITY and all(map(_holds_tensor, node.inputs())):
        found = {"contiguous", "distinct", "whole"} if kind == "aten::is_set_to" else {"contiguous", "distinct"}  # contiguous() may give its operand itself
    return set() if found and _is_of_torch(node) else found


def _holds_tensor(value):
    return "Tensor" in str(value.type()) and "[]" not in str(value.type())


def _is_passing(value):
    """Whether it is given to the code, or made by it."""
    kind = value.node().kind()
    return kind == "prim::Param" or kind.startswith("aten::")


def _is_of_torch(node):
    """By its line, or by those of the nodes that it is for."""
    for other in (node, *(use.user for output in node.outputs() for use in output.uses())):
        files = [found[1] for found in map(_FILES.match, other.sourceRange().splitlines()) if found and found[1]]
        if files:
            return any("-packages/torch/" in file or file.startswith("code/__torch__/torch/") for file in files[:2])
    return False


def _meets(aliases, copy, writer):
    target = next(writer.inputs())
    return any(aliases.may_contain_alias(value, target) for value in (next(copy.inputs()), next(copy.outputs())))


def _writes(node):
    name = node.kind().split("::")[-1]
    return node.kind().startswith("aten::") and name.endswith("_") and not name.endswith("__")
