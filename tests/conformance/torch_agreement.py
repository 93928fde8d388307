"""The reference kernels against PyTorch: every conformance case, computed by torch from the same operands.

usage: torch_agreement.py RUN_CASE FOLDER
RUN_CASE (tests/conformance/run_case.cpp) fills FOLDER with operands, attributes and reference results.
Exit code 1 lists the cases that disagree. Known differences are in kernels/NUMERICS.md and below.

PyTorch's answer depends on the processor, so it is asked with and without vector kernels (tests/support/oracle.py).
Where its answers differ, it is undecided: counted and printed, and either one will do.
"""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import oracle  # noqa: E402

DTYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16,
          "i8": torch.int8, "u8": torch.uint8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
          "bool": torch.bool}
DTYPE_OF_ENUM = {"Float32": "f32", "Float64": "f64", "Float16": "f16", "BFloat16": "bf16", "Int8": "i8",
                 "UInt8": "u8", "Int16": "i16", "Int32": "i32", "Int64": "i64", "Bool": "bool"}

# Cases that torch refuses and we answer. A case here that torch does compute is reported.
TORCH_REFUSES = {"max_pool2d/no_channels", "avg_pool2d/no_channels", "avg_pool2d/no_channels_without_padding"}


class Attributes(dict):
    """Attributes of one case; an empty list is not written."""

    def __missing__(self, key):
        return []


def load(stem, kind, dtypes):
    tensors = []
    for i, dtype in enumerate(dtypes):
        if dtype == "none":
            tensors.append(None)
            continue
        t = torch.from_numpy(np.load(f"{stem}.{kind}_{i}.npy"))
        tensors.append(t.view(torch.bfloat16) if dtype == "bf16" else t)
    return tensors


UNARY = {
    "Hardswish": F.hardswish, "Hardsigmoid": F.hardsigmoid, "Mish": F.mish, "Silu": F.silu, "Gelu": F.gelu,
    "GeluTanh": lambda x: F.gelu(x, approximate="tanh"), "Softsign": F.softsign, "LogSigmoid": F.logsigmoid,
    "LogicalNot": torch.logical_not, "BitwiseNot": torch.bitwise_not, "IsNan": torch.isnan, "IsInf": torch.isinf,
}


def unary(a, x):
    fn, alpha, beta = a["fn"], a["alpha"], a["beta"]
    if fn == "Clamp":
        if not x.is_floating_point():
            alpha, beta = int(alpha), int(beta)
        return torch.clamp(x, alpha, beta)
    if fn == "Softplus":
        return F.softplus(x, beta=alpha, threshold=beta)
    if fn == "LeakyRelu":
        return F.leaky_relu(x, alpha)
    if fn == "Elu":
        return torch.ops.aten.elu(x, alpha, beta, 1)
    return UNARY.get(fn, getattr(torch, fn.lower(), None))(x)


BINARY = {
    "Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Div": torch.div, "Minimum": torch.minimum,
    "Maximum": torch.maximum, "Pow": torch.pow, "Fmod": torch.fmod, "Remainder": torch.remainder,
    "FloorDivide": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "TruncDivide": lambda a, b: torch.div(a, b, rounding_mode="trunc"), "Atan2": torch.atan2,
    "BitwiseAnd": torch.bitwise_and, "BitwiseOr": torch.bitwise_or, "BitwiseXor": torch.bitwise_xor,
    "LeftShift": torch.bitwise_left_shift, "RightShift": torch.bitwise_right_shift, "Gcd": torch.gcd,
    "LogicalAnd": torch.logical_and, "LogicalOr": torch.logical_or, "LogicalXor": torch.logical_xor,
    "Eq": torch.eq, "Ne": torch.ne, "Lt": torch.lt, "Le": torch.le, "Gt": torch.gt, "Ge": torch.ge,
}


def nchw(x):
    return x.permute(0, 3, 1, 2)


def nhwc(x):
    return x.permute(0, 2, 3, 1)


def padded(x, a, value=0.0):
    return F.pad(nchw(x), (a["pad_left"], a["pad_right"], a["pad_top"], a["pad_bottom"]), value=value)


def clamped(y, a):
    return torch.clamp(y, a["min"], a["max"])


def conv2d(a, x, weight, bias=None):
    y = F.conv2d(padded(x, a), nchw(weight), bias, (a["stride_h"], a["stride_w"]), 0,
                 (a["dilation_h"], a["dilation_w"]), a["groups"])
    return clamped(nhwc(y), a)


def conv_transpose2d(a, x, weight, bias=None):
    """Unpadded, with the widest output padding torch takes, then cut: so asymmetric padding is covered too."""
    groups = a["groups"]
    o, kh, kw, depth = weight.shape
    w = weight.reshape(groups, o // groups, kh, kw, depth).permute(0, 4, 1, 2, 3)
    w = w.reshape(groups * depth, o // groups, kh, kw)
    y = F.conv_transpose2d(nchw(x), w, None, (a["stride_h"], a["stride_w"]), 0, 0, groups,
                           (a["dilation_h"], a["dilation_w"]))
    y = F.pad(y, (0, a["output_pad_w"], 0, a["output_pad_h"]))
    y = y[:, :, a["pad_top"]:y.shape[2] - a["pad_bottom"], a["pad_left"]:y.shape[3] - a["pad_right"]]
    y = nhwc(y)
    return clamped(y if bias is None else y + bias, a)


def matmul(a, x, y):
    return torch.matmul(x, y.transpose(-1, -2) if a["transpose_b"] else y)


def symmetric(a):
    return a["pad_top"] == a["pad_bottom"] and a["pad_left"] == a["pad_right"]


def max_pool2d(a, x):
    pad = (a["pad_top"], a["pad_left"])
    image = nchw(x)
    if not symmetric(a):
        image, pad = padded(x, a, -float("inf")), 0
    return nhwc(F.max_pool2d(image, (a["kernel_h"], a["kernel_w"]), (a["stride_h"], a["stride_w"]), pad,
                             (a["dilation_h"], a["dilation_w"]), a["ceil_mode"]))


def avg_pool2d(a, x):
    kernel, stride = (a["kernel_h"], a["kernel_w"]), (a["stride_h"], a["stride_w"])
    if symmetric(a):
        return nhwc(F.avg_pool2d(nchw(x), kernel, stride, (a["pad_top"], a["pad_left"]), a["ceil_mode"],
                                 a["count_include_pad"], a["divisor_override"] or None))
    sums = F.avg_pool2d(padded(x, a), kernel, stride, 0, divisor_override=1)
    count = torch.ones_like(nchw(x)) if not a["count_include_pad"] else None
    if count is None:
        return nhwc(sums / (kernel[0] * kernel[1]))
    pads = (a["pad_left"], a["pad_right"], a["pad_top"], a["pad_bottom"])
    return nhwc(sums / F.avg_pool2d(F.pad(count, pads), kernel, stride, 0, divisor_override=1))


def reduce(a, x):
    fn, axes, keep = a["fn"], a["axes"], a["keepdim"]
    if fn == "Sum":
        return torch.sum(x, axes, keep, dtype=x.dtype)
    if fn == "Mean":
        return torch.mean(x, axes, keep)
    if fn in ("Max", "Min"):
        return (torch.amax if fn == "Max" else torch.amin)(x, axes, keep)
    if fn in ("Any", "All"):
        return (torch.any if fn == "Any" else torch.all)(x, axes, keep).to(torch.bool)
    for axis in reversed(axes):
        x = torch.prod(x, axis, keep, dtype=x.dtype)
    return x


def softmax(a, x):
    if a["log"]:
        return torch.log_softmax(x, a["axis"])
    return (torch.ops.aten._safe_softmax if a["safe"] else torch.softmax)(x, a["axis"])


def layer_norm(a, x, weight=None, bias=None):
    return F.layer_norm(x, x.shape[x.dim() - a["normalized_rank"]:], weight, bias, a["epsilon"])


def rms_norm(a, x, weight=None):
    return F.rms_norm(x, x.shape[x.dim() - a["normalized_rank"]:], weight, a["epsilon"])


def group_norm(a, x, weight=None, bias=None):
    axis = a["channel_axis"]
    y = F.group_norm(x.movedim(axis, 1), a["groups"], weight, bias, a["epsilon"])
    return y.movedim(1, axis)


def batch_norm(a, x, weight, bias, mean, variance):
    axis = a["channel_axis"]
    shape = [-1 if i == axis else 1 for i in range(x.dim())]
    y = (x - mean.reshape(shape)) / torch.sqrt(variance.reshape(shape) + a["epsilon"])
    if axis == 1:
        return F.batch_norm(x, mean, variance, weight, bias, False, 0.0, a["epsilon"])
    return y * (1 if weight is None else weight.reshape(shape)) + (0 if bias is None else bias.reshape(shape))


def slice_(a, x):
    for i, (start, size, step) in enumerate(zip(a["starts"], a["sizes"], a["steps"])):
        x = x.index_select(i, start + step * torch.arange(size))
    return x


def pad(a, x):
    pads = [v for pair in zip(reversed(a["before"]), reversed(a["after"])) for v in pair]
    if a["mode"] == "Constant":
        return F.pad(x, pads, value=a["value"]) if pads else x
    mode = {"Reflect": "reflect", "Replicate": "edge", "Circular": "wrap"}[a["mode"]]
    return torch.from_numpy(np.pad(x.numpy(), list(zip(a["before"], a["after"])), mode=mode))


def index_select(a, x, ids):
    axis = a["axis"]
    ids = ids.long()
    if a["from_end"]:
        ids = torch.where(ids < 0, ids + x.shape[axis], ids)
    y = torch.index_select(x, axis, ids.reshape(-1))
    return y.reshape(x.shape[:axis] + ids.shape + x.shape[axis + 1:])


def scatter(a, x, index, src):
    index, axis = index.long(), a["axis"]
    if a["fn"] == "Assign":
        return x.scatter(axis, index, src)
    mode = {"Add": "sum", "Mul": "prod", "Max": "amax", "Min": "amin"}[a["fn"]]
    return x.scatter_reduce(axis, index, src, mode, include_self=True)


def scan(a, x):
    axis = a["axis"]
    return {"Prod": lambda: torch.cumprod(x, axis, dtype=x.dtype), "Max": lambda: torch.cummax(x, axis).values,
            "Min": lambda: torch.cummin(x, axis).values, "LogSumExp": lambda: torch.logcumsumexp(x, axis)}[a["fn"]]()


def top_k(a, x):
    if not a["sorted"]:  # of elements that all differ
        return torch.topk(x, a["k"], a["axis"], a["largest"], sorted=False)
    # Ties are ours: torch's order among equals is unspecified, so a stable sort stands in for topk.
    values, indices = torch.sort(x, dim=a["axis"], descending=a["largest"], stable=True)
    return values.narrow(a["axis"], 0, a["k"]), indices.narrow(a["axis"], 0, a["k"])


def upsample2d(a, x):
    sizes, scales = [a["out_h"], a["out_w"]], (a["scale_h"] or None, a["scale_w"] or None)
    image = nchw(x)
    if a["mode"] == "Nearest":
        y = torch.ops.aten.upsample_nearest2d(image, sizes, *scales)
    elif a["mode"] == "NearestExact":
        y = torch.ops.aten._upsample_nearest_exact2d(image, sizes, *scales)
    elif a["mode"] == "Bilinear":
        y = torch.ops.aten.upsample_bilinear2d(image, sizes, a["align_corners"], *scales)
    else:
        y = torch.ops.aten.upsample_bicubic2d(image, sizes, a["align_corners"], *scales)
    return nhwc(y)


def grid_sample(a, x, grid):
    last = lambda image: image.movedim(1, -1)  # noqa: E731
    return last(F.grid_sample(x.movedim(-1, 1), grid, a["mode"].lower(), a["padding"].lower(), a["align_corners"]))


def lu(a, x):
    factors, pivots = torch.linalg.lu_factor_ex(x)[:2]
    permutation = torch.lu_unpack(factors, pivots)[0].argmax(-2) if x.shape[-1] else pivots.long()
    swaps = (pivots != torch.arange(1, x.shape[-1] + 1)).sum(-1)
    return factors, permutation, (1 - 2 * (swaps % 2)).to(x.dtype)


def rnn(function, states):
    def run(a, x, *rest):
        hidden, weights = rest[:states], list(rest[states:])
        hx = hidden[0] if states == 1 else list(hidden)
        return function(x, hx, weights, a["has_bias"], a["layers"], 0.0, False, a["bidirectional"],
                        a["batch_first"])
    return run


OPS = {
    "unary": unary,
    "binary": lambda a, x, y: BINARY[a["fn"]](x, y),
    "where": lambda a, c, x, y: torch.where(c, x, y),
    "cast": lambda a, x: x.to(DTYPES[DTYPE_OF_ENUM[a["to"]]]),
    "conv2d": conv2d,
    "conv_transpose2d": conv_transpose2d,
    "linear": lambda a, x, w, b=None: clamped(F.linear(x, w, b), a),
    "matmul": matmul,
    "max_pool2d": max_pool2d,
    "avg_pool2d": avg_pool2d,
    "adaptive_avg_pool2d": lambda a, x: nhwc(F.adaptive_avg_pool2d(nchw(x), (a["out_h"], a["out_w"]))),
    "reduce": reduce,
    "arg_reduce": lambda a, x: (torch.argmax if a["fn"] == "ArgMax" else torch.argmin)(x, a["axis"], a["keepdim"]),
    "softmax": softmax,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "group_norm": group_norm,
    "batch_norm": batch_norm,
    "reshape": lambda a, x: x.reshape(a["shape"]),
    "permute": lambda a, x: x.permute(a["perm"]),
    "expand": lambda a, x: x.expand(a["shape"]),
    "slice": slice_,
    "concat": lambda a, *xs: torch.cat(xs, a["axis"]),
    "pad": pad,
    "index_select": index_select,
    "gather": lambda a, x, i: torch.gather(x, a["axis"], i.long()),
    "scatter": scatter,
    "cum_sum": lambda a, x: torch.cumsum(x, a["axis"], dtype=x.dtype),
    "scan": scan,
    "flip": lambda a, x: torch.flip(x, a["axes"]),
    "top_k": top_k,
    "upsample2d": upsample2d,
    "triangle": lambda a, x: (torch.triu if a["upper"] else torch.tril)(x, max(-2**31, min(2**31, a["diagonal"]))),
    "full": lambda a: torch.full(tuple(a["shape"]), a["real"] if DTYPES[DTYPE_OF_ENUM[a["dtype"]]].is_floating_point else a["integer"],
                                 dtype=DTYPES[DTYPE_OF_ENUM[a["dtype"]]]),
    "gru": rnn(torch.gru, 1),
    "lstm": rnn(torch.lstm, 2),
    "grid_sample": grid_sample,
    "triangular_solve": lambda a, m, b: torch.linalg.solve_triangular(m, b, upper=a["upper"], unitriangular=a["unit"]),
    "lu": lu,
    "cholesky": lambda a, x: tuple(torch.linalg.cholesky_ex(x)),
}


def wrong_at(ours, theirs, tolerance):
    """Which elements differ, and by how much they may; the bound is relative to torch's largest value, at least 1."""
    if not theirs.is_floating_point():
        return ours != theirs, 0
    x, y = ours.double(), theirs.double()
    finite = y[torch.isfinite(y)].abs()
    allowed = tolerance * max(1.0, finite.max().item() if finite.numel() else 1.0)
    return ~((x == y) | (x.isnan() & y.isnan()) | ((x - y).abs() <= allowed)), allowed


def difference(ours, answers, tolerance):
    """(None or what differs from every one of torch's answers, elements on which these disagree)"""
    theirs = answers[0]
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return f"{ours.dtype}{list(ours.shape)}, torch {theirs.dtype}{list(theirs.shape)}", 0
    if ours.numel() == 0:
        return None, 0
    undecided = torch.zeros(ours.shape, dtype=torch.bool)
    wrong, allowed = wrong_at(ours, theirs, tolerance)
    for other in answers[1:]:
        undecided |= wrong_at(other, theirs, tolerance)[0]
        wrong &= wrong_at(ours, other, tolerance)[0]
    count = int(undecided.sum())
    if not wrong.any():
        return None, count
    at = int(wrong.flatten().nonzero()[0])
    said = " or ".join(dict.fromkeys(repr(y.flatten()[at].item()) for y in answers))
    return f"element {at} is {ours.flatten()[at].item()!r}, torch {said}, allowed {allowed:.3g}", count


def torch_answer(case, folder):
    """What torch gives: a list of tensors, or the text of its refusal."""
    inputs = load(folder / case["stem"], "in", case["inputs"])
    try:
        y = OPS[case["op"]](Attributes(case["attrs"]), *inputs)
    except (RuntimeError, IndexError, ValueError, ZeroDivisionError) as error:
        return str(error).splitlines()[0]
    return list(y) if isinstance(y, (tuple, list)) else [y]


def torch_answers(folder):
    """{case: what torch gives}, with the kernels that this process takes."""
    cases = json.loads((pathlib.Path(folder) / "cases.json").read_text())
    return {c["id"]: torch_answer(c, pathlib.Path(folder)) for c in cases if "error" not in c}


def check(case, folder, answers):
    """(None or why this case is wrong, elements on which torch disagrees with itself)"""
    if "error" in case:
        return case["error"], 0
    refusal = next((a for a in answers if isinstance(a, str)), None)
    if refusal is not None:
        if case["refused_at_run"]:
            return None if case["status"] else "torch refuses, we do not", 0
        return None if case["id"] in TORCH_REFUSES else f"torch refuses: {refusal}", 0
    if case["id"] in TORCH_REFUSES:
        return "listed in TORCH_REFUSES, but torch answers", 0
    if case["refused_at_run"] or case["status"]:
        return f"torch answers, we say: {case['status']}", 0
    undecided = 0
    for i, (x, *ys) in enumerate(zip(load(folder / case["stem"], "out", case["outputs"]), *answers, strict=True)):
        text, count = difference(x, ys, case["tolerance"])
        undecided += count
        if text:
            return f"result {i}: {text}", undecided
    return None, undecided


def main():
    run_case, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    subprocess.run([run_case, folder], check=True)
    cases = json.loads((folder / "cases.json").read_text())
    missing = {c["op"] for c in cases if "op" in c} ^ set(OPS)
    if missing:
        sys.exit(f"ops on one side only: {sorted(missing)}")
    answers = oracle.answers(torch_answers, folder)
    wrong = 0
    for case in cases:
        text, undecided = check(case, folder, [by_case.get(case["id"]) for by_case in answers])
        if undecided:
            print(f"{case['id']}: torch disagrees with itself on {undecided} elements")
        if text:
            print(f"{case['id']}: {text}")
        wrong += text is not None
    print(f"{len(cases) - wrong} of {len(cases)} cases agree with torch {torch.__version__}")
    sys.exit(1 if wrong or not cases else 0)


if __name__ == "__main__":
    main()
