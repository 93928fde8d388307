"""A matrix: calls that copy or give a view, on operands that lie in memory in every way, with a write into the result or into the operand
afterwards. One program for a few calls and a front end. The write has an effect on rare values only, so that no check on the example sees it."""

import itertools
import linecache

import torch
from harness import case, gradient_of
from torch import nn
from torch.utils.checkpoint import checkpoint

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
    "reshape_as": "t.reshape_as(t)",
    "flatten": "t.flatten()",
    "flatten_last": "t.flatten(2)",
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
    "chunk": "t.chunk(2)[1]",
    "unsafe_chunk": "torch.unsafe_chunk(t, 2)[1]",
    "split": "t.split(1)[1]",
    "unsafe_split": "torch.unsafe_split(t, 1)[1]",
    "unsafe_split_with_sizes": "torch.unsafe_split_with_sizes(t, [1, 1])[1]",
    "tensor_split": "torch.tensor_split(t, 2)[1]",
    "unbind": "t.unbind(1)[1]",
    "item_of_list": "t[[1]]",
    "slice": "t[:, 1:]",
    "narrow": "t.narrow(1, 1, 1)",
    "expand": "t[:, :1].expand(-1, 1, -1, -1)",
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
    "diagonal": "t.diagonal(0, 2, 3)",
    "squeeze": "t[:, :1].squeeze(1)",
    "atleast_2d": "torch.atleast_2d(t)",
    "atleast_list": "torch.atleast_3d([t])[0]",
    "real": "torch.real(t)",
    "detach": "t.detach()",
    "pad": "torch.nn.functional.pad(t, [0, 0])",
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
    "ndimension_t": "t.mT.reshape(-1)",
}
CELL = """
        t = {layout}
        y = {operation}
        {target}.clamp_(-255.0, 255.0)"""
AT_ONCE = 6
_made = itertools.count()


def _cells(operations):
    """All on which eager returns."""
    for operation, layout, target in itertools.product(operations, LAYOUTS.values(), "ty"):
        cell = CELL.format(layout=layout, operation=operation, target=target)
        try:
            exec("if True:" + cell, {"torch": torch, "x": X.clone()})
        except RuntimeError:  # no such view, or a write into what was expanded
            continue
        yield cell


def _module(operations):
    lines, results = "", []
    for n, cell in enumerate(_cells(operations)):
        lines += cell + f"\n        t{n}, y{n} = t * 1, y * 1"
        results += [f"t{n}", f"y{n}"]
    source = f"class Net(nn.Module):\n    def forward(self, x):{lines}\n        return {', '.join(results)}\n"
    file = f"layouts_{next(_made)}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names = {"torch": torch, "nn": nn, "__name__": __name__}
    exec(compile(source, file, "exec"), names)
    return names["Net"]().eval()


def _add(names, front):
    def make():
        module = _module([OPERATIONS[name] for name in names])
        return torch.jit.script(module) if front == "torchscript" else module

    make.__name__ = f"{names[0]}_to_{names[-1]}_{front}"
    case(CALLS[0], CALLS, front=front, expect=("right",))(make)


for _first in range(0, len(OPERATIONS), AT_ONCE):
    for _front in ("python", "torchscript", "pt2"):
        _add(list(OPERATIONS)[_first : _first + AT_ONCE], _front)


# ---------------------------------------------------------------- writes that no name tells, and code that others call


TABLES = [(torch.tensor(rows),) for rows in ([[1.0, 2, 3], [4, 5, 6]], [[1.0, 2, 3], [4e5, 5, 6]], [[-1.0, 2, -3], [4, 5, 6]])]


@case(TABLES[0], TABLES, expect=("right",))
def copy_written_in_place_by_a_function():
    def program(x):
        h = x.t().contiguous()
        torch.nn.functional.hardtanh(h, -1e4, 1e4, True)
        return h, x * 1

    return program


@case(TABLES[0], TABLES, expect=("right",))
def state_saturated_in_place_by_a_module():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("level", torch.zeros(2, 3))
            self.limit = torch.nn.Hardtanh(-1e4, 1e4, inplace=True)

        def forward(self, x):
            self.level = 0.5 * self.level + x
            return self.limit(self.level.t().reshape(-1)), self.level * 1

    return Net()


def clipped(gradient):
    copy = gradient.t().contiguous()
    copy.clamp_(-1e4, 1e4)
    return copy.t() + gradient


@case(TABLES[0], TABLES, expect=("right",))
def copies_in_a_backward_function():
    class Clip(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            return clipped(gradient)

    return gradient_of(lambda x: Clip.apply(x).square().sum())


@case(TABLES[0], TABLES, expect=("right",))
def copies_in_a_hook_of_a_tensor():
    def energy(x):
        y = x * 1
        y.register_hook(clipped)
        return y.square().sum()

    return gradient_of(energy)


@case(TABLES[0], TABLES, expect=("right",))
def copies_in_a_checkpoint():
    def block(x):
        h = x.t().contiguous()
        with torch.no_grad():
            h.clamp_(-1e4, 1e4)
        return (h * h).sum() + (x * x).sum()

    return gradient_of(lambda x: checkpoint(block, x * 1.0, use_reentrant=False))


@case(TABLES[0], TABLES, expect=("right",))
def copies_under_vmap():
    def one(row):
        copy = row.t().contiguous()
        copy.clamp_(-1e4, 1e4)
        return copy.sum(), row.sum()

    return lambda x: torch.vmap(one)(torch.stack([x, x + 1]))


def chunks(x, overlap):
    """Overlapping pieces, as Longformer's sliding windows take them."""
    x = x.view(x.size(0), x.size(1) // (overlap * 2), overlap * 2, x.size(2))
    size, stride = list(x.size()), list(x.stride())
    size[1], stride[1] = size[1] * 2 - 1, stride[1] // 2
    return x.as_strided(size=size, stride=stride)


WORDS = [(torch.randn(1, 8, 16),) for _ in range(3)]


@case(WORDS[0], WORDS, expect=("right",))
def windows_of_heads():
    def program(x):
        heads = x.view(8, 1, 2, 8).transpose(0, 1).transpose(1, 2).reshape(2, 8, 8)
        query = heads * 1.5
        query /= 2
        return chunks(heads, 2), chunks(query, 2), chunks(heads.contiguous(), 2)

    return program


@case(TABLES[0], TABLES, expect=("right",))
def windows_of_memory():
    def program(x):
        t, later = x.t(), x[1:]
        pixels = x.reshape(1, 1, *x.shape).contiguous(memory_format=torch.channels_last)
        return t.as_strided((3, 2), (2, 1)), torch.as_strided(t, (2, 2), (1, 3), 1), later.as_strided((2,), (1,), x.shape[1]), pixels.as_strided((6,), (1,))

    return program


@case(TABLES[0], TABLES, expect=("right", "failed"))
def windows_of_a_part():
    return lambda x: x[:, :2].as_strided((2, 2), (x.shape[1], 1))


class Clipped(nn.Module):
    """Steps by gradients that a hook limits."""

    def __init__(self, register):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        register(self.weight)

    def forward(self, x):
        with torch.enable_grad():
            step = torch.autograd.grad(((x * self.weight) ** 2).sum(), self.weight)[0]
        return x - step.detach()


@case(TABLES[0], TABLES, expect=("failed",))
def hook_of_a_parameter():
    return Clipped(lambda weight: weight.register_hook(lambda gradient: gradient.clamp(-1e5, 1e5)))


@case(TABLES[0], TABLES, expect=("right",))
def parameter_without_a_hook():
    return Clipped(lambda weight: None)
