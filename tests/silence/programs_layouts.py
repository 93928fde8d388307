"""A matrix: calls that copy or give a view, on operands that lie in memory in every way, with a write into the result or into the operand
afterwards. One program for each call and front end. The write has an effect on rare values only, so that no check on the example sees it."""

import itertools
import linecache

import torch
from harness import case
from torch import nn

X = torch.linspace(-1, 1, 96).reshape(2, 3, 4, 4)
BIG = torch.where(torch.arange(96).reshape(2, 3, 4, 4) % 5 == 0, 2000.0 * X, X)
CALLS = [(X,), (BIG,), (-BIG,)]

LAYOUTS = {
    "rows": "x * 1",
    "transposed": "(x * 1).transpose(1, 2)",
    "computed": "(x * 1).transpose(2, 3) * 2",
    "stepped": "(x * 1)[:, :, ::2]",
    "part": "(x * 1)[:, 1:]",
    "expanded": "(x * 1)[:, :1].expand(-1, 2, -1, -1)",
    "channels_last": "(x * 1).contiguous(memory_format=torch.channels_last)",
    "last_to_second": "(x * 1).permute(0, 2, 3, 1)",
}
OPERATIONS = {
    "contiguous": "t.contiguous()",
    "contiguous_twice": "t.contiguous().contiguous()",
    "contiguous_channels_last": "t.contiguous(memory_format=torch.channels_last)",
    "channels_last_twice": "t.contiguous(memory_format=torch.channels_last).contiguous(memory_format=torch.channels_last)",
    "reshape": "t.reshape(-1)",
    "reshape_pairs": "t.reshape(t.shape[0] * t.shape[1], -1)",
    "reshape_same": "t.reshape(t.shape)",
    "torch_reshape": "torch.reshape(t, (-1,))",
    "reshape_as": "t.reshape_as(t)",
    "flatten": "t.flatten()",
    "flatten_last": "t.flatten(2)",
    "torch_flatten": "torch.flatten(t, 1)",
    "ravel": "t.ravel()",
    "to_dtype": "t.to(torch.float32)",
    "to_channels_last": "t.to(memory_format=torch.channels_last)",
    "to_channels_last_twice": "t.to(memory_format=torch.channels_last).to(memory_format=torch.channels_last)",
    "to_other": "t.to(t)",
    "to_copy": "t.to(torch.float32, copy=True)",
    "float": "t.float()",
    "double_and_back": "t.double().float()",
    "type_as": "t.type_as(t)",
    "clone": "t.clone()",
    "clone_contiguous": "t.clone(memory_format=torch.contiguous_format)",
    "chunk": "t.chunk(2)[1]",
    "unsafe_chunk": "torch.unsafe_chunk(t, 2)[1]",
    "split": "t.split(1)[1]",
    "unsafe_split": "torch.unsafe_split(t, 1)[1]",
    "unsafe_split_with_sizes": "torch.unsafe_split_with_sizes(t, [1, 1])[1]",
    "tensor_split": "torch.tensor_split(t, 2)[1]",
    "unbind": "t.unbind(1)[1]",
    "select": "t.select(1, 1)",
    "item_of_list": "t[[1]]",
    "mask": "t[t > -9]",
    "slice": "t[:, 1:]",
    "whole_slice": "t[:]",
    "ellipsis": "t[..., None]",
    "narrow": "t.narrow(1, 1, 1)",
    "narrow_copy": "t.narrow_copy(1, 1, 1)",
    "expand": "t[:, :1].expand(-1, 1, -1, -1)",
    "expand_as": "t.expand_as(t)",
    "broadcast_to": "torch.broadcast_to(t, t.shape)",
    "broadcast_tensors": "torch.broadcast_tensors(t, t)[0]",
    "movedim": "t.movedim(1, 3)",
    "movedim_contiguous": "t.movedim(1, 3).contiguous()",
    "swapaxes": "t.swapaxes(0, 1)",
    "transpose_": "t[:].transpose_(1, 2)",
    "squeeze_": "t[:, :1].squeeze_(1)",
    "unsqueeze_": "t[:].unsqueeze_(1)",
    "t_": "t[0, 0].t_()",
    "view_as": "t.view_as(t)",
    "view": "t.view(t.shape[0], -1)",
    "unflatten": "t.unflatten(0, (1, 2))",
    "as_strided": "t.as_strided((2, 2), (2, 1))",
    "diagonal": "t.diagonal(0, 2, 3)",
    "unfold": "t.unfold(3, 2, 1)",
    "squeeze": "t[:, :1].squeeze(1)",
    "atleast_2d": "torch.atleast_2d(t)",
    "atleast_list": "torch.atleast_3d([t])[0]",
    "real": "torch.real(t)",
    "resolve_conj": "t.resolve_conj()",
    "conj": "t.conj()",
    "detach": "t.detach()",
    "positive": "torch.positive(t)",
    "flip": "t.flip(0)",
    "roll": "t.roll(0, 1)",
    "cat_of_one": "torch.cat([t])",
    "repeat": "t.repeat(1, 1, 1, 1)",
    "sum_to_size": "t.sum_to_size(t.shape)",
    "dropout": "torch.dropout(t, 0.5, False)",
    "pad": "torch.nn.functional.pad(t, [0, 0])",
    "einsum": "torch.einsum('abcd->abcd', t)",
    "pixel_shuffle": "torch.pixel_shuffle(t, 1)",
    "channel_shuffle": "torch.channel_shuffle(t, 1)",
    "contiguous_of_part": "t[1:].contiguous()",
    "reshape_of_part": "t[:, :, :1].reshape(2, -1)",
    "empty_like": "torch.empty_like(t).copy_(t).reshape(-1)",
    "sum_then_reshape": "(t + t).reshape(-1)",
    "softmax_then_reshape": "(t.softmax(1) * 2000 * t).reshape(-1)",
    "where_then_flatten": "torch.where(t > 0, t, t * 2).flatten()",
    "layer_norm_then_flatten": "(torch.layer_norm(t, t.shape[-1:]) * t).flatten(1)",
    "relu_then_contiguous": "torch.relu(t).contiguous()",
    "matmul_then_reshape": "torch.matmul(t, t.transpose(2, 3)).transpose(1, 2).reshape(-1)",
    "cat_then_reshape": "torch.cat([t, t], 1).reshape(-1)",
    "stack_then_reshape": "torch.stack([t, t], 1).reshape(-1)",
    "sum_over_then_reshape": "(t * 1.5).sum(1).reshape(-1)",
    "copy_then_reshape": "t.clone().reshape(-1)",
    "ndimension_t": "t.mT.reshape(-1)",
}
CELL = """
        t = {layout}
        y = {operation}
        {target}.clamp_(-255.0, 255.0)"""
_made = itertools.count()


def _statements(operation):
    """All cells of one call on which eager returns, with the expressions of their results."""
    lines, results = "", []
    for layout, target in itertools.product(LAYOUTS.values(), "ty"):
        cell, n = CELL.format(layout=layout, operation=operation, target=target), len(results)
        try:
            exec("if True:" + cell, {"torch": torch, "x": X.clone()})
        except RuntimeError:  # no such view, or a write into what was expanded
            continue
        lines += cell + f"\n        r{n}, r{n + 1} = t * 1, y * 1"
        results += [f"r{n}", f"r{n + 1}"]
    return lines, results


def _module(operation):
    lines, results = _statements(operation)
    source = f"class Net(nn.Module):\n    def forward(self, x):{lines}\n        return {', '.join(results)}\n"
    file = f"layouts_{next(_made)}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names = {"torch": torch, "nn": nn, "__name__": __name__}
    exec(compile(source, file, "exec"), names)
    return names["Net"]().eval()


def _add(name, operation, front):
    def make():
        module = _module(operation)
        return torch.jit.script(module) if front == "torchscript" else module

    make.__name__ = f"{name}_{front}"
    case(CALLS[0], CALLS, front=front)(make)


for _name, _operation in OPERATIONS.items():
    for _front in ("python", "torchscript", "pt2"):
        _add(_name, _operation, _front)
