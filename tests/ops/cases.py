"""One small case for each form of each ATen operator family: a function or module and its inputs.

`families()` gives {family: [Case]}. All cases of a family are exported as one program, so that the suite costs a
process per family and not per case. Inputs come from a seed made of the case's name.
"""
import dataclasses
import zlib

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclasses.dataclass
class Case:
    name: str
    call: object  # function or nn.Module
    inputs: tuple
    tolerance: float = 1e-5  # absolute, and relative to each element


class Family:
    def __init__(self, name):
        self.name, self.cases = name, []

    def add(self, name, call, *inputs, tolerance=1e-5):
        if any(c.name == name for c in self.cases):
            raise ValueError(f"{self.name}: two cases '{name}'")
        torch.manual_seed(zlib.crc32(f"{self.name}.{name}".encode()))
        made = tuple(i() if callable(i) else i for i in inputs)
        self.cases.append(Case(name, call, made, tolerance))


# Inputs are made after the case's seed is set.
def f(*shape):
    return lambda: torch.randn(shape)


def pos(*shape):
    return lambda: torch.rand(shape) + 0.1


def unit(*shape):
    return lambda: torch.rand(shape) * 1.8 - 0.9


def d(*shape):
    return lambda: torch.randn(shape, dtype=torch.float64)


def ints(low, high, *shape, dtype=torch.int64):
    return lambda: torch.randint(low, high, shape, dtype=dtype)


def bools(*shape):
    return lambda: torch.rand(shape) > 0.5


def strided(*shape):
    """Not contiguous: the transpose of what it says, transposed back."""
    return lambda: torch.randn(*reversed(shape)).permute(*reversed(range(len(shape))))


def every_other(*shape):
    return lambda: torch.randn(*shape[:-1], shape[-1] * 2)[..., ::2]


def special():
    inf = float("inf")
    return torch.tensor([0.0, -0.0, 1.0, -1.0, inf, -inf, float("nan"), 1e-30, -2.5, 3.5])


def module(maker):
    """A module with seeded weights, in eval mode, its norms' statistics moved off their defaults."""
    torch.manual_seed(0)
    made = maker().eval()
    for m in made.modules():
        if isinstance(m, nn.modules.batchnorm._BatchNorm) and m.running_mean is not None:
            m.running_mean.uniform_(-0.5, 0.5)
            m.running_var.uniform_(0.5, 1.5)
    return made


def unary(fam):
    plain = ["abs", "neg", "sigmoid", "tanh", "exp", "sin", "cos", "tan", "atan", "sinh", "cosh", "asinh", "erf", "erfc",
             "floor", "ceil", "round", "trunc", "sign", "expm1", "square", "exp2", "frac", "isnan", "isinf", "isfinite",
             "isneginf", "isposinf", "rad2deg", "deg2rad", "logical_not", "i0", "sinc", "signbit", "lgamma", "digamma"]
    for name in plain:
        fn = getattr(torch, name)
        fam.add(name, fn, f(3, 5))
        fam.add(name + "_strided", fn, strided(4, 3))
    for name in ["log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal"]:
        fam.add(name, getattr(torch, name), pos(7))
    for name in ["asin", "acos", "atanh", "erfinv"]:
        fam.add(name, getattr(torch, name), unit(6), tolerance=1e-4)
    fam.add("acosh", lambda x: torch.acosh(x + 1), pos(5), tolerance=1e-4)
    fam.add("logit", lambda x: torch.logit(x, 1e-3), pos(4))
    for name in ["abs", "neg", "sign", "floor", "bitwise_not", "logical_not", "sqrt", "exp", "sigmoid", "isnan", "square"]:
        fam.add(name + "_int", getattr(torch, name), ints(0, 9, 2, 3))
    fam.add("i0e", lambda a: (torch.special.i0e(a), torch.special.i0e(a * 30), torch.special.i0e(a.double())), f(4, 9))
    fam.add("fake_quantize", lambda x, s, z: (torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -8, 7), torch.fake_quantize_per_tensor_affine(x, s[:1], z[:1], -8, 7),
                                              torch.fake_quantize_per_channel_affine(x, s, z, 0, -8, 7), torch.fake_quantize_per_channel_affine(x.half(), s, z, 0, -8, 7)),
            lambda: torch.tensor([float("nan"), float("inf"), -float("inf"), 1e30, -1e30, 0.3, 9e18, 2.5e9, -0.0, 0.05, 0.15, 0.25]).repeat(3, 1),
            lambda: torch.tensor([0.1, 0.2, 0.05]), lambda: torch.tensor([3, 0, -2], dtype=torch.int32))
    for name in ["erfinv", "lgamma", "digamma", "i0", "sinc", "signbit", "abs", "floor", "ceil", "round", "trunc", "sign", "isnan", "isinf", "isfinite", "exp", "tanh", "relu",
                 "nan_to_num", "sigmoid", "logical_not"]:
        fam.add(name + "_special", getattr(torch, name), special)
    fam.add("bitwise_not_bool", torch.bitwise_not, bools(5))
    fam.add("round_decimals", lambda x: torch.round(x, decimals=2), f(5))
    for shape in [(0,), (), (1,), (0, 3), (2, 0, 3), (1, 1, 1, 1, 1, 5)]:
        fam.add(f"exp_{shape}", torch.exp, f(*shape))
    fam.add("exp_f64", torch.exp, d(4))


def binary(fam):
    for name in ["add", "sub", "mul", "div", "minimum", "maximum", "atan2", "fmod", "remainder", "floor_divide", "eq", "ne",
                 "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor", "fmin", "fmax", "logaddexp",
                 "logaddexp2", "hypot", "copysign"]:
        fn = getattr(torch, name)
        fam.add(name, fn, f(3, 4), f(3, 4))
        fam.add(name + "_broadcast", fn, f(2, 1, 4), strided(3, 1))
        fam.add(name + "_zero_dim", fn, f(3), f())
        fam.add(name + "_empty", fn, f(0, 4), f(4))
    for name in ["add", "sub", "mul", "div", "fmod", "remainder", "floor_divide", "eq", "lt", "maximum", "bitwise_and",
                 "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "gcd"]:
        fn = getattr(torch, name)
        fam.add(name + "_int", fn, ints(-9, 9, 3, 4), ints(1, 5, 4))
        fam.add(name + "_int32", fn, ints(-9, 9, 3, 4, dtype=torch.int32), ints(1, 5, 4, dtype=torch.int32))
    for name in ["add", "mul", "eq", "lt", "bitwise_and", "bitwise_or", "bitwise_xor", "logical_xor", "maximum"]:
        fam.add(name + "_bool", getattr(torch, name), bools(6), bools(6))
    for name in ["add", "sub", "mul", "div", "lt", "eq", "ge"]:
        fn = getattr(torch, name)
        fam.add(name + "_int_float", fn, ints(0, 5, 4), f(4))
        fam.add(name + "_int32_int64", fn, ints(0, 5, 4, dtype=torch.int32), ints(0, 5, 4))
        fam.add(name + "_f32_f64", fn, f(4), d(4))
        fam.add(name + "_int_scalar", lambda x, fn=fn: fn(x, 2), ints(0, 5, 4))
        fam.add(name + "_float_scalar", lambda x, fn=fn: fn(x, 2.5), ints(0, 5, 4))
        if name != "sub":
            fam.add(name + "_bool_scalar", lambda x, fn=fn: fn(x, 2), bools(4))
        fam.add(name + "_u8", fn, ints(3, 9, 4, dtype=torch.uint8), ints(1, 3, 4, dtype=torch.int8))
    fam.add("add_alpha", lambda a, b: torch.add(a, b, alpha=3), f(3), f(3))
    fam.add("sub_alpha_int", lambda a, b: torch.sub(a, b, alpha=2), ints(0, 9, 3), ints(0, 9, 3))
    fam.add("rsub", lambda x: 2 - x, f(3))
    fam.add("rsub_int", lambda x: 1 - x, ints(0, 9, 3))
    fam.add("rdiv", lambda x: 1 / x, pos(3))
    for mode in ["floor", "trunc"]:
        fam.add(f"div_{mode}", lambda a, b, m=mode: torch.div(a, b, rounding_mode=m), f(9), f(9))
        fam.add(f"div_{mode}_int", lambda a, m=mode: torch.div(a, 3, rounding_mode=m), ints(-9, 9, 9))
    for e in [0, 1, 2, 3, 0.5, -0.5, -1, -2, 1.5]:
        fam.add(f"pow_{e}", lambda x, e=e: x ** e, pos(4))
    fam.add("pow_int", lambda x: x ** 3, ints(-4, 4, 5))
    fam.add("pow_tensor", torch.pow, pos(4), f(3, 4))
    fam.add("rpow", lambda x: 2 ** x, f(4))
    fam.add("maximum_nan", lambda a, b: (torch.maximum(a, b), torch.minimum(a, b)), special, f(10))
    fam.add("ldexp", lambda x, n: (torch.ldexp(x, n), torch.ldexp(x, n.float() / 3), torch.ldexp(x.double(), n), torch.ldexp(n, n)), f(2, 3), lambda: torch.tensor([-3, 0, 5]))
    for p in (1, 2, 5):
        fam.add(f"mvlgamma_{p}", lambda x, p=p: torch.mvlgamma(x + p, p), pos(3, 4), tolerance=1e-5)
    fam.add("xlogy", torch.xlogy, lambda: torch.tensor([0.0, 1.0, 2.0]), pos(3))
    nan, inf = float("nan"), float("inf")
    fam.add("entr", lambda a: (torch.special.entr(a), torch.special.entr(a.double()), torch.special.entr(a.bfloat16()).float(), torch.special.entr(a.half()).float()),
            lambda: torch.tensor([0.0, -0.0, 1.0, 0.25, 3.0, -1.0, float("inf"), -float("inf"), float("nan")]))
    fam.add("xlog1py", lambda a, b: (torch.special.xlog1py(a, b), torch.special.xlog1py(a, 2), torch.special.xlog1py(3, b), torch.special.xlog1py(a.half(), b.half())),
            lambda: torch.tensor([0.0, 0, 0, 2, nan, inf, 0, 2, 0.3]), lambda: torch.tensor([nan, -1, -2, -1, 0, -1, inf, inf, 0.7]))
    for dtype, end in [(torch.int64, 9), (torch.int32, 100), (torch.int16, 300), (torch.int8, -128), (torch.uint8, 255)]:
        fam.add(f"lcm_{dtype}", lambda a, b: (torch.lcm(a, b), torch.gcd(a, b)), lambda d=dtype, e=end: torch.tensor([4, 6, 0, 9, 12, 99, e, 0, 98], dtype=d),
                lambda d=dtype: torch.tensor([6, 4, 3, 0, 18, 100, 7, 0, 99], dtype=d))
    fam.add("shift", lambda x: (x << 2, x >> 1), ints(0, 50, 5))
    fam.add("inplace", lambda x: x.clone().add_(1).mul_(x).sub_(0.5).div_(2), f(3, 2))
    fam.add("dunder", lambda a, b: (a & b, a | b, a ^ b, ~a), bools(5), bools(5))


def pointwise(fam):
    fam.add("where", torch.where, bools(3, 1), f(3, 4), f(4))
    fam.add("where_scalar", lambda c, x: torch.where(c, x, 0.5), bools(3), ints(0, 5, 3))
    fam.add("where_scalars", lambda c: torch.where(c, 1.0, 0.0), bools(3))
    fam.add("where_promote", torch.where, bools(3), ints(0, 5, 3), f(3))
    fam.add("masked_fill", lambda x, m: x.masked_fill(m, float("-inf")), f(2, 3), bools(3))
    fam.add("masked_fill_int", lambda x, m: x.masked_fill(m, -(2**62)), ints(0, 3, 3), bools(3))
    fam.add("clamp", lambda x: x.clamp(-0.5, 0.5), f(9))
    fam.add("clamp_one_side", lambda x: (x.clamp(min=0), x.clamp(max=0), x.clamp_min(0.1), x.clamp_max(0.1)), f(9))
    fam.add("clamp_int", lambda x: x.clamp(2, 5), ints(0, 9, 9))
    fam.add("clamp_int_by_float", lambda x: x.clamp(2.5, 5.5), ints(0, 9, 9))
    fam.add("clamp_tensor", torch.clamp, f(2, 3), lambda: torch.full((3,), -0.5), lambda: torch.full((), 0.5))
    fam.add("hardtanh", lambda x: F.hardtanh(x, -0.3, 0.4), f(9))
    fam.add("threshold", lambda x: F.threshold(x, 0.1, 7), f(9))
    fam.add("lerp", lambda a, b: (torch.lerp(a, b, 0.3), torch.lerp(a, b, 0.8)), f(4), f(4))
    fam.add("lerp_tensor", torch.lerp, f(4), f(4), pos(4))
    fam.add("addcmul", lambda a, b, c: torch.addcmul(a, b, c, value=0.5), f(2, 3), f(3), f(2, 1))
    fam.add("addcdiv", lambda a, b, c: torch.addcdiv(a, b, c, value=2), f(3), f(3), pos(3))
    fam.add("nan_to_num", lambda x: torch.nan_to_num(x, 1.0, 2.0, -2.0), special)
    fam.add("shrink", lambda x: (F.hardshrink(x), F.softshrink(x), F.tanhshrink(x)), f(20))
    fam.add("heaviside", torch.heaviside, lambda: torch.tensor([-1.0, 0.0, 2.0]), f(3))
    fam.add("isclose", lambda a: torch.isclose(a, a + 1e-9), f(4))


def activation(fam):
    for name in ["relu", "relu6", "gelu", "silu", "hardswish", "hardsigmoid", "mish", "softsign", "logsigmoid", "softplus",
                 "leaky_relu", "elu", "selu", "celu"]:
        fn = getattr(F, name)
        fam.add(name, fn, lambda: torch.randn(2, 20) * 3)
    fam.add("relu_int", F.relu, ints(-5, 5, 7))
    fam.add("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), f(20))
    fam.add("softplus_args", lambda x: F.softplus(x, 2, 1), f(20))
    fam.add("leaky_relu_args", lambda x: F.leaky_relu(x, 0.3), f(20))
    fam.add("elu_args", lambda x: F.elu(x, 1.5), f(20))
    fam.add("celu_args", lambda x: F.celu(x, 2.0), f(20))
    fam.add("rrelu", lambda x: F.rrelu(x), f(20))
    fam.add("glu", lambda x: (F.glu(x, 0), F.glu(x, -1)), f(4, 6))
    fam.add("prelu", F.prelu, f(2, 3, 4), pos(3))
    fam.add("prelu_one", F.prelu, f(2, 3, 4), pos(1))
    fam.add("prelu_vector", F.prelu, f(5), pos(1))


def conv(fam):
    fam.add("conv2d", module(lambda: nn.Conv2d(3, 4, 3, padding=1)), f(2, 3, 5, 6))
    fam.add("stride_dilation", module(lambda: nn.Conv2d(3, 4, (3, 2), (2, 1), (2, 0), (2, 3))), f(1, 3, 9, 8))
    fam.add("groups_no_bias", module(lambda: nn.Conv2d(4, 6, 3, groups=2, bias=False)), f(1, 4, 5, 5))
    fam.add("depthwise", module(lambda: nn.Conv2d(4, 8, 3, groups=4)), f(1, 4, 5, 5))
    fam.add("same", module(lambda: nn.Conv2d(2, 3, (4, 3), padding="same")), f(1, 2, 6, 6))
    fam.add("valid", module(lambda: nn.Conv2d(2, 3, 3, padding="valid")), f(1, 2, 6, 6))
    fam.add("reflect", module(lambda: nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect")), f(1, 2, 6, 6))
    fam.add("unbatched", module(lambda: nn.Conv2d(3, 4, 3)), f(3, 5, 5))
    fam.add("strided_input", module(lambda: nn.Conv2d(3, 4, 3)), strided(1, 3, 5, 5))
    fam.add("computed_weight", F.conv2d, f(1, 2, 4, 4), f(3, 2, 2, 2), f(3))
    fam.add("conv1d", module(lambda: nn.Conv1d(3, 4, 3, stride=2, padding=1)), f(2, 3, 9))
    fam.add("conv1d_same", module(lambda: nn.Conv1d(3, 4, 4, padding="same", dilation=2)), f(2, 3, 9))
    fam.add("conv1d_groups", module(lambda: nn.Conv1d(4, 4, 3, groups=4)), f(2, 4, 9))
    fam.add("conv1d_unbatched", module(lambda: nn.Conv1d(3, 4, 3)), f(3, 9))
    fam.add("transpose", module(lambda: nn.ConvTranspose2d(3, 4, 2, stride=2)), f(1, 3, 4, 5))
    fam.add("transpose_args", module(lambda: nn.ConvTranspose2d(3, 4, 3, 2, 1, output_padding=1, dilation=2)), f(1, 3, 4, 5))
    fam.add("transpose_groups", module(lambda: nn.ConvTranspose2d(4, 6, 3, groups=2)), f(1, 4, 4, 5))
    fam.add("transpose1d", module(lambda: nn.ConvTranspose1d(3, 4, 4, stride=2, padding=1)), f(2, 3, 6))
    fam.add("conv3d", module(lambda: nn.Conv3d(2, 3, (2, 3, 2), padding=1)), f(2, 2, 4, 5, 4))
    fam.add("conv3d_patches", module(lambda: nn.Conv3d(3, 4, (2, 4, 4), stride=(2, 4, 4))), f(1, 3, 4, 8, 8))
    fam.add("conv3d_args", module(lambda: nn.Conv3d(4, 6, 2, (2, 1, 2), (1, 0, 2), (2, 1, 1), groups=2, bias=False)), f(1, 4, 5, 5, 4))
    fam.add("conv3d_depthwise", module(lambda: nn.Conv3d(3, 6, 3, groups=3)), f(1, 3, 5, 4, 4))
    fam.add("conv3d_same", module(lambda: nn.Conv3d(2, 3, (4, 1, 2), padding="same", dilation=(1, 1, 2))), f(1, 2, 5, 4, 4))
    fam.add("conv3d_unbatched", module(lambda: nn.Conv3d(2, 3, 2)), f(2, 3, 4, 4))
    fam.add("conv3d_computed_weight", F.conv3d, f(1, 2, 3, 4, 4), f(3, 2, 2, 2, 2), f(3))
    fam.add("transpose3d", module(lambda: nn.ConvTranspose3d(3, 4, 2, stride=2)), f(2, 3, 3, 4, 5))
    fam.add("transpose3d_args", module(lambda: nn.ConvTranspose3d(3, 4, (3, 4, 3), (2, 1, 3), 1, output_padding=(1, 0, 2), dilation=(1, 2, 1))), f(1, 3, 4, 3, 5))
    fam.add("transpose3d_groups", module(lambda: nn.ConvTranspose3d(4, 6, 3, groups=2, bias=False)), f(1, 4, 3, 4, 3))
    fam.add("transpose3d_gaps", module(lambda: nn.ConvTranspose3d(2, 3, (2, 1, 2), (5, 2, 2), (1, 0, 0), dilation=(3, 1, 1), output_padding=(4, 1, 0))), f(1, 2, 3, 3, 4))
    fam.add("transpose3d_unbatched", module(lambda: nn.ConvTranspose3d(2, 3, 3, 2, 1)), f(2, 3, 4, 4))
    fam.add("transpose3d_computed_weight", F.conv_transpose3d, f(1, 2, 3, 4, 4), f(2, 3, 2, 2, 2), f(3))
    fam.add("conv3d_bn_relu", module(lambda: nn.Sequential(nn.Conv3d(3, 4, 3, (1, 2, 2), 1), nn.BatchNorm3d(4), nn.ReLU6())), f(1, 3, 4, 5, 6))
    fam.add("conv_bn_relu", module(lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU6())), f(1, 3, 5, 5))


def pool(fam):
    fam.add("max", lambda x: F.max_pool2d(x, 2), f(2, 3, 5, 6))
    fam.add("max_args", lambda x: F.max_pool2d(x, 3, 2, 1, 1, True), f(1, 3, 6, 7))
    fam.add("max_dilation", lambda x: F.max_pool2d(x, (2, 3), (1, 2), (1, 1), (2, 1)), f(1, 3, 6, 7))
    fam.add("max_unbatched", lambda x: F.max_pool2d(x, 2), f(3, 5, 6))
    fam.add("max_strided", lambda x: F.max_pool2d(x, 2), strided(1, 3, 6, 6))
    fam.add("max1d", lambda x: F.max_pool1d(x, 3, 2, 1), f(2, 3, 9))
    fam.add("avg", lambda x: F.avg_pool2d(x, 2), f(2, 3, 5, 6))
    fam.add("avg_pad", lambda x: F.avg_pool2d(x, 3, 2, 1), f(1, 3, 6, 7))
    fam.add("avg_exclude", lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), f(1, 3, 6, 7))
    fam.add("avg_ceil", lambda x: F.avg_pool2d(x, 3, 2, 1, True), f(1, 3, 6, 6))
    fam.add("avg_ceil_exclude", lambda x: F.avg_pool2d(x, 3, 2, 1, True, False), f(1, 3, 6, 6))
    fam.add("avg_divisor", lambda x: F.avg_pool2d(x, 2, divisor_override=3), f(1, 3, 6, 6))
    fam.add("avg1d", lambda x: F.avg_pool1d(x, 3, 2, 1), f(2, 3, 9))
    for size in [1, 2, (2, 3), (None, 3), (4, 6), (3, 5)]:
        fam.add(f"adaptive_avg_{size}", lambda x, s=size: F.adaptive_avg_pool2d(x, s), f(2, 3, 4, 6))
    for size in [1, 2, (4, 6), (3, 5), (None, 4), (7, 9)]:
        fam.add(f"adaptive_max_{size}", lambda x, s=size: F.adaptive_max_pool2d(x, s), f(2, 3, 4, 6))
    fam.add("adaptive_avg1d", lambda x: (F.adaptive_avg_pool1d(x, 1), F.adaptive_avg_pool1d(x, 3), F.adaptive_avg_pool1d(x, 4)), f(2, 3, 9))
    fam.add("adaptive_max1d", lambda x: (F.adaptive_max_pool1d(x, 3), F.adaptive_max_pool1d(x, 4)), f(2, 3, 9))
    v = f(2, 3, 5, 6, 7)
    fam.add("max3d", lambda x: (F.max_pool3d(x, 2), F.max_pool3d(x, 3, 2, 1, 1, True), F.max_pool3d(x, (1, 2, 2)), F.max_pool3d(x, (3, 1, 1), 1)), v)
    fam.add("max3d_dilation", lambda x: F.max_pool3d(x, (2, 3, 2), (1, 2, 1), (1, 1, 0), (2, 1, 3)), v)
    fam.add("max3d_unbatched", lambda x: F.max_pool3d(x, 2), f(3, 5, 6, 4))
    fam.add("avg3d", lambda x: (F.avg_pool3d(x, 2), F.avg_pool3d(x, 3, 2, 1), F.avg_pool3d(x, (1, 2, 2)), F.avg_pool3d(x, (2, 1, 1), 1)), v)
    fam.add("avg3d_exclude", lambda x: F.avg_pool3d(x, 3, (2, 1, 2), 1, count_include_pad=False), v)
    fam.add("avg3d_ceil", lambda x: (F.avg_pool3d(x, 3, 2, 1, True), F.avg_pool3d(x, 3, 2, 1, True, False)), v)
    fam.add("avg3d_divisor", lambda x: (F.avg_pool3d(x, 2, divisor_override=3), F.avg_pool3d(x, (1, 2, 1), divisor_override=5), F.avg_pool3d(x, (2, 1, 1), 1, divisor_override=5)), v)
    fam.add("avg3d_unbatched", lambda x: F.avg_pool3d(x, 2), f(3, 5, 6, 4))
    for size in [1, 2, (2, 3, 4), (None, 2, None), (5, 6, 7), (3, 4, 5), (1, 3, 1)]:
        fam.add(f"adaptive_avg3d_{size}", lambda x, s=size: F.adaptive_avg_pool3d(x, s), f(2, 3, 5, 6, 7))
    for size in [1, (2, 3, 4), (4, 6, 4), (2, 6, 2), (3, 4, 5)]:
        fam.add(f"adaptive_max3d_{size}", lambda x, s=size: F.adaptive_max_pool3d(x, s), f(2, 3, 4, 6, 4))
    windows = [dict(kernel_size=2), dict(kernel_size=3, stride=2, padding=1), dict(kernel_size=(3, 2), stride=(1, 2), padding=(1, 0), dilation=2, ceil_mode=True)]
    fam.add("max_indices", lambda x: tuple(F.max_pool2d(x, return_indices=True, **how) for how in windows), f(2, 3, 9, 8))
    fam.add("max_indices_of_special", lambda x: tuple(F.max_pool2d(x, return_indices=True, **how) for how in windows), windows_of_special)
    fam.add("max_indices_half", lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), lambda: windows_of_special().half())
    fam.add("max1d_indices", lambda x: F.max_pool1d(x, 3, 2, 1, return_indices=True), lambda: windows_of_special()[0])
    fam.add("max3d_indices", lambda x: F.max_pool3d(x, 2, return_indices=True), lambda: windows_of_special()[None])
    fam.add("adaptive_max_indices", lambda x: (F.adaptive_max_pool2d(x, (3, 4), return_indices=True), F.adaptive_max_pool2d(x, 1, return_indices=True)), f(2, 3, 9, 8))
    fam.add("unpool", lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2, output_size=(9, 8)), f(2, 3, 9, 8))
    fam.add("unpool_unbatched", lambda x: F.max_unpool2d(*F.max_pool2d(x, 3, 1, return_indices=True), 3, 1), f(3, 9, 8))
    fam.add("unpool1d", lambda x: F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2), f(2, 3, 8))
    fam.add("unpool3d", lambda x: F.max_unpool3d(*F.max_pool3d(x, 2, return_indices=True), 2), f(2, 3, 4, 6, 8))
    fam.add("lp_pool", lambda x: F.lp_pool2d(x, 2, 2), pos(1, 3, 4, 4))


def windows_of_special():
    """[2, 3, 9, 8]: windows of NaN, of infinities and of one number."""
    x = torch.randn(2, 3, 9, 8)
    x[0, 0, :4, :4] = float("nan")
    x[0, 1, :6] = -float("inf")
    x[1, 0] = 1.0
    x[1, 1, 3:, 2:] = float("inf")
    return x


def matrix(fam):
    fam.add("linear", module(lambda: nn.Linear(5, 3)), f(2, 4, 5))
    fam.add("linear_vector", module(lambda: nn.Linear(5, 3, bias=False)), f(5))
    fam.add("linear_computed", F.linear, f(2, 5), f(3, 5), f(3))
    fam.add("linear_strided", module(lambda: nn.Linear(5, 3)), strided(4, 5))
    fam.add("linear_empty", module(lambda: nn.Linear(5, 3)), f(0, 5))
    fam.add("mm", torch.mm, f(2, 3), f(3, 4))
    fam.add("mm_strided", lambda a, b: a.t() @ b.t(), f(3, 2), f(4, 3))
    fam.add("bmm", torch.bmm, f(2, 3, 4), f(2, 4, 5))
    for a, b in [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((3,), (2, 3, 4)), ((2, 1, 3, 4), (5, 4, 2)), ((2, 3, 4), (4,)),
                 ((2, 3, 4), (4, 5)), ((1, 1), (1, 1)), ((0, 3), (3, 2))]:
        fam.add(f"matmul_{a}_{b}", torch.matmul, f(*a), f(*b))
    fam.add("addmm", lambda m, a, b: (torch.addmm(m, a, b), torch.addmm(m, a, b, beta=0.5, alpha=2)), f(4), f(2, 3), f(3, 4))
    fam.add("baddbmm", lambda m, a, b: torch.baddbmm(m, a, b, beta=0.5, alpha=2), f(2, 1, 5), f(2, 3, 4), f(2, 4, 5))
    fam.add("addbmm", torch.addbmm, f(3, 5), f(2, 3, 4), f(2, 4, 5))
    fam.add("mv", torch.mv, f(3, 4), f(4))
    fam.add("addmv", torch.addmv, f(3), f(3, 4), f(4))
    fam.add("dot", torch.dot, f(5), f(5))
    fam.add("outer", lambda a, b: (torch.outer(a, b), torch.addr(torch.outer(a, b), a, b)), f(3), f(4))
    fam.add("einsum", lambda a, b: torch.einsum("bhid,bhjd->bhij", a, b), f(2, 3, 4, 5), f(2, 3, 6, 5))
    fam.add("einsum_diagonal", lambda a: torch.einsum("ii->i", a), f(3, 3))
    fam.add("einsum_three", lambda a, b, c: torch.einsum("ij,jk,kl->il", a, b, c), f(2, 3), f(3, 4), f(4, 5))
    fam.add("tensordot", lambda a, b: torch.tensordot(a, b, dims=2), f(2, 3, 4), f(3, 4, 5))
    fam.add("bilinear", module(lambda: nn.Bilinear(3, 4, 5)), f(2, 3), f(2, 4))
    fam.add("kron", torch.kron, f(2, 3), f(3, 2))
    fam.add("cosine", lambda a, b: F.cosine_similarity(a, b, dim=1), f(3, 5), f(3, 5))
    fam.add("normalize", lambda x: F.normalize(x, dim=-1), f(3, 5))
    fam.add("pairwise", lambda a, b: F.pairwise_distance(a, b), f(3, 5), f(3, 5))


def attention(fam):
    def sdpa(**kw):
        return lambda q, k, v, *m: F.scaled_dot_product_attention(q, k, v, *m, **kw)
    q, kv = f(2, 4, 5, 8), f(2, 4, 6, 8)
    fam.add("plain", sdpa(), q, kv, kv)
    fam.add("causal", sdpa(is_causal=True), q, q, q)
    fam.add("causal_longer", sdpa(is_causal=True), q, kv, kv)
    fam.add("float_mask", sdpa(), q, kv, kv, f(5, 6))
    fam.add("bool_mask", sdpa(), q, kv, kv, lambda: torch.tensor([[True, False, True, True, False, True]]).expand(5, 6))
    fam.add("masked_row", sdpa(), q, kv, kv, lambda: torch.arange(5)[:, None].expand(5, 6) > 1)
    fam.add("batch_mask", sdpa(), q, kv, kv, bools(2, 1, 1, 6))
    fam.add("scale", sdpa(scale=0.3), q, kv, kv)
    fam.add("gqa", sdpa(enable_gqa=True), q, f(2, 2, 6, 8), f(2, 2, 6, 8))
    fam.add("three_dims", sdpa(), f(2, 5, 8), f(2, 6, 8), f(2, 6, 8))
    fam.add("mha", module(lambda: MultiHead()), f(2, 5, 8))
    fam.add("encoder_layer", module(lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True)), f(2, 5, 8))


class MultiHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=True)


def norm(fam):
    fam.add("layer", module(lambda: nn.LayerNorm(6)), f(2, 3, 6))
    fam.add("layer_two_dims", module(lambda: nn.LayerNorm((3, 6), elementwise_affine=False)), f(2, 3, 6))
    fam.add("layer_no_bias", module(lambda: nn.LayerNorm(6, bias=False)), f(2, 3, 6))
    fam.add("layer_statistics", lambda x: torch.native_layer_norm(x, (4,), None, None, 1e-3), f(2, 3, 4))
    fam.add("rms", module(lambda: nn.RMSNorm(6)), f(2, 3, 6))
    fam.add("rms_eps", module(lambda: nn.RMSNorm(6, eps=1e-3)), f(2, 3, 6))
    fam.add("group", module(lambda: nn.GroupNorm(2, 4)), f(2, 4, 3, 5))
    fam.add("group_no_affine", module(lambda: nn.GroupNorm(2, 4, affine=False)), f(2, 4, 7))
    fam.add("group_two_dims", module(lambda: nn.GroupNorm(2, 4)), f(3, 4))
    fam.add("batch_1d", module(lambda: nn.BatchNorm1d(4)), f(3, 4))
    fam.add("batch_1d_length", module(lambda: nn.BatchNorm1d(4)), f(3, 4, 5))
    fam.add("batch_2d", module(lambda: nn.BatchNorm2d(4)), f(2, 4, 3, 3))
    fam.add("batch_2d_no_affine", module(lambda: nn.BatchNorm2d(4, affine=False)), f(2, 4, 3, 3))
    fam.add("batch_3d", module(lambda: nn.BatchNorm3d(4)), f(2, 4, 2, 3, 3))
    fam.add("batch_own", module(lambda: nn.BatchNorm2d(4, track_running_stats=False)), f(2, 4, 3, 3))
    fam.add("instance", module(lambda: nn.InstanceNorm2d(4, affine=True)), f(2, 4, 3, 3))
    fam.add("instance_1d", module(lambda: nn.InstanceNorm1d(4)), f(2, 4, 7))
    fam.add("weight", module(lambda: torch.nn.utils.parametrizations.weight_norm(nn.Conv1d(4, 4, 3), dim=2)), f(1, 4, 7))


def reduce(fam):
    x = f(3, 4, 5)
    for name in ["sum", "mean", "amax", "amin", "prod", "var", "std", "logsumexp"]:
        fn = getattr(torch, name)
        if name not in ("logsumexp",):
            fam.add(name + "_all", lambda a, fn=fn: fn(a), x, tolerance=1e-4)
        fam.add(name + "_dim", lambda a, fn=fn: fn(a, -1), x, tolerance=1e-4)
        fam.add(name + "_keep", lambda a, fn=fn: fn(a, 0, keepdim=True), x, tolerance=1e-4)
        if name != "prod":
            fam.add(name + "_dims", lambda a, fn=fn: fn(a, (0, -1)), x, tolerance=1e-4)
    for name in ["sum", "prod", "amax", "any", "all", "argmax"]:
        fn = getattr(torch, name)
        fam.add(name + "_int", lambda a, fn=fn: fn(a, 1) if fn is not torch.amax else fn(a, 1), ints(0, 3, 3, 4))
        fam.add(name + "_scalar", lambda a, fn=fn: fn(a, 0), f())
    for name in ["any", "all"]:
        fn = getattr(torch, name)
        fam.add(name, lambda a, fn=fn: (fn(a), fn(a, 0), fn(a, 1, keepdim=True)), bools(3, 4))
    for name in ["max", "min"]:
        fn = getattr(torch, name)
        fam.add(name, lambda a, fn=fn: (fn(a), *fn(a, 1), *fn(a, -1, keepdim=True)), x)
        fam.add(name + "_int", lambda a, fn=fn: (fn(a), *fn(a, 0)), ints(0, 99, 5, 2))
    for name in ["argmax", "argmin"]:
        fn = getattr(torch, name)
        fam.add(name, lambda a, fn=fn: (fn(a), fn(a, 1), fn(a, -1, keepdim=True)), x)
    fam.add("argmax_nan", lambda a: (a.argmax(), a.argmin(), a.max(), a.min()), special)
    fam.add("sum_dtype", lambda a: (a.sum(dtype=torch.float64), a.sum(0, dtype=torch.int64)), x)
    fam.add("sum_bool", lambda a: (a.sum(), a.sum(1)), bools(3, 4))
    fam.add("mean_of_int", lambda a: a.mean(1, dtype=torch.float32), ints(0, 9, 3, 4))
    fam.add("sum_empty", lambda a: (a.sum(), a.sum(0), a.sum(1), a.prod(0)), f(0, 3))
    fam.add("var_args", lambda a: (a.var(1, unbiased=False), a.var(1, correction=2), a.std((0, 1), correction=0)), x)
    fam.add("var_mean", lambda a: torch.var_mean(a, 1, keepdim=True), x)
    fam.add("std_mean", lambda a: torch.std_mean(a, (0, 2)), x)
    for p in [0, 1, 2, 3, float("inf"), -float("inf"), 0.5]:
        fam.add(f"norm_{p}", lambda a, p=p: (torch.linalg.vector_norm(a, p), torch.linalg.vector_norm(a, p, 1, True)), x, tolerance=1e-4)
    fam.add("norm_old", lambda a: (a.norm(), a.norm(dim=1), a.norm(p=1, dim=(0, 1), keepdim=True)), x)
    fam.add("logsumexp_inf", lambda a: torch.logsumexp(a, 1), lambda: torch.tensor([[-float("inf")] * 2, [0.0, float("inf")], [0.0, 1.0]]))
    fam.add("nansum", torch.nansum, lambda: torch.tensor([1.0, float("nan"), 2.0]))
    fam.add("count_nonzero", lambda a: (a.count_nonzero(), a.count_nonzero(1)), ints(0, 2, 3, 4))
    fam.add("histc", lambda a: (torch.histc(a, 4, -1, 1), torch.histc(a.clamp(0, 1), 3, 0, 1)), f(3, 7))
    fam.add("aminmax", lambda a: torch.aminmax(a, dim=1), f(3, 4))
    fam.add("cumsum", lambda a: (a.cumsum(0), a.cumsum(-1)), f(3, 4))
    fam.add("cumprod", lambda a: (a.cumprod(0), a.cumprod(-1)), f(3, 7))
    fam.add("cumprod_int", lambda a: a.cumprod(0), ints(0, 5, 4, dtype=torch.int32))
    fam.add("cummax", lambda a: (*a.cummax(0), *a.cummin(1)), f(3, 9))
    fam.add("cummax_ties", lambda a: (*a.cummax(0), *a.cummin(0)), ints(0, 3, 11))
    fam.add("logcumsumexp", lambda a: (a.logcumsumexp(0), (a * 60).logcumsumexp(-1)), f(3, 9))
    fam.add("logcumsumexp_ends", lambda a: a.logcumsumexp(1),
            lambda: torch.tensor([[1.0, -float("inf"), 2.0], [-float("inf"), float("inf"), 1.0], [0.0, float("nan"), 1.0]]))
    fam.add("cummax_nan", lambda a: (*a.cummax(0), *a.cummin(0)), lambda: torch.tensor([1., float("nan"), 3, float("nan"), -float("inf"), 9]))
    fam.add("cummax_bool", lambda a: (*a.cummax(1), *a.cummin(1)), bools(3, 9))
    fam.add("cummax_zeros", lambda a: (*a.cummax(0), *a.cummin(0)), lambda: torch.tensor([0., -0.0, 0., -0.0]))
    fam.add("logcumsumexp_large", lambda a: a.logcumsumexp(1), f(3, 3000))
    fam.add("cummax_of_one", lambda a: (*a.cummax(1), *a[0, 0].cummin(0)), f(2, 1))
    fam.add("cumsum_int", lambda a: a.cumsum(0), ints(0, 5, 4, dtype=torch.int32))
    fam.add("cumsum_bool", lambda a: a.cumsum(0), bools(4))
    fam.add("diff", lambda a: a.diff(), f(3, 4))
    fam.add("trace_tril_sum", lambda a: a.tril().sum(), f(3, 3))


def softmax(fam):
    for dim in [0, 1, -1]:
        fam.add(f"softmax_{dim}", lambda x, d=dim: F.softmax(x, d), f(3, 4, 5))
        fam.add(f"log_softmax_{dim}", lambda x, d=dim: F.log_softmax(x, d), f(3, 4, 5))
    fam.add("softmin", lambda x: F.softmin(x, 0), f(3, 4))
    fam.add("scalar", lambda x: (F.softmax(x, 0), F.log_softmax(x, 0)), f())
    fam.add("dtype", lambda x: F.softmax(x, 1, dtype=torch.float64), f(3, 4))
    fam.add("int", lambda x: F.softmax(x, 1, dtype=torch.float32), ints(0, 4, 3, 4))
    fam.add("strided", lambda x: F.softmax(x, -1), strided(3, 4))
    fam.add("single", lambda x: F.softmax(x, -1), f(3, 1))
    fam.add("large", lambda x: F.softmax(x * 1e4, -1), f(3, 9))
    fam.add("half_infinite", lambda x: F.softmax(x, -1), lambda: torch.tensor([[-float("inf"), 0.0], [1.0, 2.0]]))


def view(fam):
    x = f(2, 3, 4)
    fam.add("view", lambda a: (a.view(6, 4), a.view(-1), a.view(2, 1, 3, 4)), x)
    fam.add("reshape", lambda a: (a.reshape(4, 6), a.transpose(0, 1).reshape(-1), a.flatten(1), a.unflatten(2, (2, 2))), x)
    fam.add("permute", lambda a: (a.permute(2, 0, 1), a.permute(-1, -2, -3), a.transpose(0, -1), a.movedim(0, 2), a.mT), x)
    fam.add("t", lambda a: (a.t(), a.T), f(2, 3))
    fam.add("t_vector", lambda a: a.t(), f(3))
    fam.add("expand", lambda a: (a.expand(2, 3, 4), a.expand(5, 2, 3, 4), a.expand(-1, 7, -1)), f(2, 1, 4))
    fam.add("broadcast", lambda a, b: torch.broadcast_tensors(a, b), f(3, 1), f(1, 4))
    fam.add("expand_as", lambda a, b: a.expand_as(b), f(3, 1), f(2, 3, 4))
    fam.add("slices", lambda a: (a[1], a[:, 1:], a[:, ::2], a[..., -3:-1], a[0, :, 1], a[:, 2:1], a[None, 0, ..., None]), x)
    fam.add("narrow", lambda a: (a.narrow(1, 1, 2), a.narrow(2, -3, 2), a.select(1, -1)), x)
    fam.add("split", lambda a: (*a.split(2, 1), *a.split([1, 3], -1), *a.chunk(3, 1), *a.tensor_split(2, 2), *a.unbind(0)), x)
    fam.add("unused_part", lambda a: a.split(1, 1)[1] + a.unbind(1)[0].unsqueeze(1), x)
    fam.add("squeeze", lambda a: (a.squeeze(), a.squeeze(0), a.squeeze((0, 2)), a.squeeze(1), a.unsqueeze(-1), a.unsqueeze(0)), f(1, 3, 1, 4))
    fam.add("diagonal", lambda a: (a.diagonal(), a.diagonal(1), a.diagonal(-1, 0, 2), a.diagonal(2, 1, 2), a.diagonal(-2)), f(3, 4, 5))
    fam.add("unfold", lambda a: (a.unfold(0, 2, 1), a.unfold(-1, 3, 2)), f(3, 7))
    fam.add("as_strided", lambda a: (a.as_strided((2, 2), (1, 2)), a.as_strided((3,), (2,), 1)), f(9))
    fam.add("zero_size", lambda a: (a.permute(1, 0), a.reshape(3, 0), a[:, 1:], a.flatten()), f(0, 3))
    fam.add("trace", lambda a, b: (a.trace(), b.trace()), f(3, 5), ints(0, 9, 3, 3))
    fam.add("clone", lambda a: (a.clone(), a.contiguous(), a.detach(), a.transpose(0, 1).contiguous()), x)
    fam.add("dtypes", lambda a: (a.to(torch.int64), a.double(), a.bool(), a.int().float(), a.to(torch.uint8)), lambda: torch.rand(2, 3) * 9)
    fam.add("atleast", lambda a: (torch.atleast_1d(a), torch.atleast_2d(a), torch.atleast_3d(a)), f())
    fam.add("dropout", lambda a: F.dropout(a, 0.5, training=False), x)


def write(fam):
    def slices(x, y):
        x = x.clone()
        x[1:3] = y
        x[:, 0] = 7
        x[::2, 1:] += 1
        x[-1] *= 2
        return x

    def views(x):
        x = x.clone()
        x.view(-1)[2] = 5
        x.t()[0].zero_()
        x.diagonal().fill_(3)
        x.unsqueeze(0).mul_(2)
        return x

    def masked(x, m):
        x = x.clone()
        x[m] = 0
        x.masked_fill_(m, 1.5)
        return x
    fam.add("slices", slices, f(4, 3), f(2, 3))
    fam.add("views", views, f(3, 3))
    fam.add("masked", masked, f(3, 2), bools(3, 2))
    fam.add("copy", lambda x, y: x.clone().copy_(y), f(3, 2), ints(0, 5, 2))
    fam.add("scatters", lambda x, y: (torch.slice_scatter(x, y, 0, 1, 3), torch.select_scatter(x, y[0], 0, -1)), f(4, 3), f(2, 3))
    fam.add("diagonal_scatter", lambda x, y: torch.diagonal_scatter(x, y, 1), f(3, 4), f(3))
    fam.add("fill", lambda x: (x.clone().fill_(3), x.clone().zero_()), f(2, 2))


def join(fam):
    a = f(2, 3)
    fam.add("cat", lambda x, y: (torch.cat([x, y]), torch.cat([x, y], -1), torch.cat([x])), a, a)
    fam.add("cat_promote", lambda x, y: torch.cat([x, y]), a, ints(0, 3, 1, 3))
    fam.add("cat_empty", lambda x, y, z: torch.cat([x, y, z], 1), a, f(2, 0), f(2, 1))
    fam.add("cat_legacy", lambda x, y: torch.cat([x, y], 1), f(0), f(2, 3))
    fam.add("stack", lambda x, y: (torch.stack([x, y]), torch.stack([x, y], -1), torch.stack([x, y], 1)), a, a)
    fam.add("hstack", lambda x, y: (torch.hstack([x, y]), torch.vstack([x, y]), torch.dstack([x, y])), a, a)
    fam.add("repeat", lambda x: (x.repeat(2, 1), x.repeat(2, 3), x.repeat(2, 1, 2), x.tile(2), x.repeat(0, 1)), a)
    fam.add("repeat_interleave", lambda x: (x.repeat_interleave(2), x.repeat_interleave(3, 0), x.repeat_interleave(2, -1)), a)
    fam.add("roll", lambda x: (x.roll(1), x.roll(-2, 1), x.roll((1, 2), (0, 1)), x.roll(7, 0)), f(3, 4))
    fam.add("flip", lambda x: (x.flip(0), x.flip(0, -1), x.fliplr(), x.flipud(), x.rot90(), x.rot90(2), x.rot90(-1)), f(3, 4))
    fam.add("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), f(2, 8, 3, 4))
    fam.add("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), f(2, 2, 4, 6))
    fam.add("channel_shuffle", lambda x: F.channel_shuffle(x, 2), f(1, 6, 2, 3))
    fam.add("meshgrid", lambda x, y: torch.meshgrid(x, y, indexing="ij"), f(3), f(4))


def index(fam):
    x = f(5, 6)
    fam.add("index_select", lambda a, i: (a.index_select(0, i), a.index_select(-1, i)), x, ints(0, 5, 3))
    fam.add("embedding", module(lambda: nn.Embedding(7, 4, padding_idx=0)), ints(0, 7, 2, 3))
    fam.add("embedding_i32", module(lambda: nn.Embedding(7, 4)), ints(0, 7, 3, dtype=torch.int32))
    fam.add("gather", lambda a, i: a.gather(1, i), x, ints(0, 6, 5, 2))
    fam.add("gather_small", lambda a, i: a.gather(0, i), x, ints(0, 5, 2, 3))
    fam.add("take_along", lambda a, i: torch.take_along_dim(a, i, 1), x, ints(0, 6, 5, 1))
    fam.add("take", lambda a, i: a.take(i), x, ints(0, 30, 2, 2))
    fam.add("index_one", lambda a, i: (a[i], a[:, i], a[i, 0]), x, ints(-5, 5, 3))
    fam.add("index_matrix", lambda a, i: a[i], x, ints(0, 5, 2, 2))
    fam.add("index_two", lambda a, i, j: a[i, j], x, ints(-5, 5, 3), ints(-6, 6, 3))
    fam.add("index_broadcast", lambda a, i, j: a[i, j], x, ints(0, 5, 3, 1), ints(0, 6, 4))
    fam.add("index_apart", lambda a, i, j: a[i, :, j], f(3, 4, 5), ints(0, 3, 2), ints(0, 5, 2))
    fam.add("index_late", lambda a, i, j: a[:, i, j], f(3, 4, 5), ints(0, 4, 2), ints(0, 5, 2))
    fam.add("put", put, x, ints(0, 5, 2), f(2, 6))
    fam.add("put_accumulate", lambda a, i, v: a.index_put((i,), v, accumulate=True), x, lambda: torch.tensor([1, 1, 3]), f(3, 6))
    fam.add("put_two", lambda a, i, j, v: a.index_put((i, j), v), x, lambda: torch.tensor([0, 1, -1]), lambda: torch.tensor([2, 3, 4]), f(3))
    fam.add("put_column", put_columns, x, lambda: torch.tensor([0, 3]), f(5, 2))
    fam.add("scatter", lambda a, i, s: (a.scatter(1, i, s), a.scatter(1, i, 2.5), a.scatter_add(0, i.clamp(max=4), s)), x, lambda: torch.stack([torch.randperm(6)[:3] for _ in range(4)]), f(5, 4))
    fam.add("scatter_reduce", lambda a, i, s: tuple(a.scatter_reduce(0, i, s, r, include_self=k) for r in ("sum", "prod", "amax", "amin") for k in (True, False)), x, ints(0, 5, 4, 6), f(4, 6))
    fam.add("scatter_mean", lambda a, i, s: tuple(a.scatter_reduce(0, i, s, "mean", include_self=k) for k in (True, False)), x, ints(0, 4, 4, 6), f(4, 6))
    fam.add("index_reduce", lambda a, i, s: tuple(a.index_reduce(0, i, s, r, include_self=k) for r in ("prod", "mean", "amax", "amin") for k in (True, False)),
            x, lambda: torch.tensor([0, 0, 4]), f(3, 6))
    fam.add("index_add", lambda a, i, s: (a.index_add(0, i, s), a.index_add(0, i, s, alpha=2)), x, lambda: torch.tensor([0, 0, 4]), f(3, 6))
    fam.add("index_copy", lambda a, i, s: a.index_copy(0, i, s), x, lambda: torch.tensor([0, 2]), f(2, 6))
    fam.add("index_fill", lambda a, i: a.index_fill(1, i, 9), x, lambda: torch.tensor([0, 2]))
    fam.add("put_rows_by_mask", masked_rows, x, bools(5), f(6), lambda: torch.tensor(0.5))
    fam.add("one_hot", lambda i: F.one_hot(i, 5), ints(0, 5, 2, 3))
    fam.add("bucketize", lambda a, b: (torch.bucketize(a, b), torch.bucketize(a, b, right=True)), f(2, 4), lambda: torch.tensor([-1.0, 0.0, 1.0]))
    fam.add("searchsorted", torch.searchsorted, lambda: torch.tensor([[1.0, 3.0, 5.0], [0.0, 2.0, 4.0]]), lambda: torch.tensor([[3.0, 6.0], [1.0, 4.0]]))
    fam.add("searchsorted_sorter", lambda a, v: tuple(torch.searchsorted(a, v, sorter=torch.argsort(a, stable=True), right=r) for r in (True, False)), f(9), f(4))
    fam.add("searchsorted_sorter_of_rows", lambda a, v: torch.searchsorted(a, v, sorter=torch.argsort(a, stable=True)), f(2, 9), f(2, 4))
    fam.add("put_flat", lambda a, i, v: (a.put(i, v), a.put(i, v, accumulate=True), a.clone().put_(i, v)), x, lambda: torch.tensor([29, 2, -30]), f(3))
    fam.add("isin", lambda a: torch.isin(a, torch.tensor([1, 3])), ints(0, 5, 6))


def put(a, i, v):
    a = a.clone()
    a[i] = v
    a[:, 0] = 1
    return a


def put_columns(a, i, v):
    a = a.clone()
    a[:, i] = v
    return a


def masked_rows(a, m, row, number):
    a = a.clone()
    a[m] = row
    a[m[:, None] & (a > 0)] = number
    return a


def factory(fam):
    fam.add("fills", lambda x: (torch.zeros(2, 3) + x, torch.ones(3) * x, torch.full((2, 1), 2.5) + x, torch.zeros_like(x), torch.full_like(x, 3), x.new_zeros(4), x.new_ones(2), x.new_full((2,), 7)), f(3))
    fam.add("ranges", lambda x: (torch.arange(5) + x[0], torch.arange(2, 9, 3) + x[0], torch.arange(0, 1, 0.25) * x[0], torch.arange(5, 0, -2) * x[0], torch.linspace(0, 1, 5) * x[0], torch.linspace(3, -2, 4) + x[0]), f(3))
    windows = [torch.hann_window, torch.hamming_window, torch.blackman_window, torch.bartlett_window, torch.kaiser_window]
    for window in windows:
        for n, periodic in ((1, True), (5, True), (5, False), (6, False)):
            fam.add(f"{window.__name__}_{n}{'_periodic' if periodic else ''}", lambda x, w=window, n=n, p=periodic: x * w(n, p), f(n))
    for n in (1, 5, 6):
        fam.add(f"fftfreq_{n}", lambda x, n=n: x * torch.fft.fftfreq(n, 0.1), f(n))
        fam.add(f"rfftfreq_{n}", lambda x, n=n: x[: n // 2 + 1] * torch.fft.rfftfreq(n), f(n))
    fam.add("eye", lambda x: x @ torch.eye(3), f(3, 3))
    fam.add("triangles", lambda x: (x.tril(), x.triu(), x.tril(-1), x.triu(2), torch.ones(3, 3).tril().bool() & (x[:3, :3] > 0)), f(3, 4))
    fam.add("triangles_batch", lambda x: (x.tril(1), x.triu(-1)), f(2, 4, 3))
    fam.add("diag", lambda x: (torch.diag(x), torch.diag(x, 1), torch.diag_embed(x, -2), torch.diag_embed(x, 0, 0, 1)), f(3))
    fam.add("diag_of_matrix", lambda x: torch.diag(x), f(3, 4))
    fam.add("scalar", lambda x: x + torch.tensor(3.0), f(3))
    fam.add("constant_only", lambda x: (x, torch.arange(4) * 2), f(1))
    fam.add("large_fill", lambda x: torch.zeros(300, 300) + x, f(300))
    fam.add("tril_indices", lambda x: x[tuple(torch.tril_indices(3, 3))], f(3, 3))
    fam.add("logspace", lambda x: torch.logspace(0, 2, 3) * x, f(1), tolerance=1e-4)
    for n in (0, 1, 2, 7):
        fam.add(f"computed_ends_{n}", lambda x, n=n: (torch.linspace(x[0], x[1], n), torch.linspace(-1, x[1], n), torch.linspace(x[0], 3, n, dtype=torch.float64),
                                                      torch.logspace(x[0], x[1], n, base=2), torch.linspace(x[0] * 0, (x[1] * 100).long(), n)), f(2))


def order(fam):
    distinct = lambda: torch.randperm(20).float().reshape(4, 5)  # noqa: E731
    fam.add("topk", lambda a: (*a.topk(2), *a.topk(3, 0), *a.topk(2, largest=False), *a.topk(1, -1)), distinct)
    fam.add("sort", lambda a: (*a.sort(), *a.sort(0, descending=True), *torch.sort(a, stable=True)), distinct)
    fam.add("argsort", lambda a: (a.argsort(), a.argsort(0, True)), distinct)
    fam.add("sort_ties", lambda a: torch.sort(a, stable=True), ints(0, 3, 9))
    fam.add("kthvalue", lambda a: a.kthvalue(2, 1), distinct)
    fam.add("median", lambda a: (a.median(), *a.median(1)), distinct)
    fam.add("nanmedian", lambda a: (a.nanmedian(), *a.nanmedian(1)), distinct)
    fam.add("nanmedian_nan", lambda a: (a.nanmedian(), a.nanmedian(1).values, a.nanmedian(0).values),
            lambda: torch.tensor([[1.0, float("nan"), 3.0, 2.0], [float("nan")] * 4]))
    fam.add("median_nan", lambda a: a.median(), lambda: torch.tensor([1.0, float("nan"), 3.0]))
    fam.add("msort", torch.msort, distinct)


def pad(fam):
    x = f(2, 3, 4, 5)
    fam.add("constant", lambda a: (F.pad(a, (1, 2)), F.pad(a, (1, 0, 2, 1), value=3.5), F.pad(a, (0, 0, 0, 0, 1, 1))), x)
    fam.add("crop", lambda a: F.pad(a, (-1, 2, 1, -2)), x)
    fam.add("int", lambda a: F.pad(a, (1, 1), value=7), ints(0, 5, 2, 3))
    fam.add("bool", lambda a: F.pad(a, (1, 1), value=True), bools(3))
    fam.add("reflect", lambda a: (F.pad(a, (1, 2, 3, 0), mode="reflect"), F.pad(a[0], (2, 1), mode="reflect")), x)
    fam.add("replicate", lambda a: (F.pad(a, (1, 2, 3, 0), mode="replicate"), F.pad(a[0], (2, 1), mode="replicate")), x)
    fam.add("circular", lambda a: F.pad(a, (1, 2, 3, 0), mode="circular"), x)


def resize(fam):
    x = f(2, 3, 4, 5)
    for mode in ["nearest", "nearest-exact", "bilinear", "bicubic"]:
        fam.add(mode, lambda a, m=mode: (F.interpolate(a, scale_factor=2, mode=m), F.interpolate(a, size=(7, 3), mode=m)), x, tolerance=1e-4)
        fam.add(mode + "_scales", lambda a, m=mode: F.interpolate(a, scale_factor=(1.5, 0.7), mode=m), x, tolerance=1e-4)
    for mode in ["bilinear", "bicubic"]:
        fam.add(mode + "_corners", lambda a, m=mode: F.interpolate(a, size=(7, 9), mode=m, align_corners=True), x, tolerance=1e-4)
    for mode in ("bilinear", "bicubic"):
        for size in ((7, 3), (3, 9), (1, 1), (5, 6)):
            fam.add(f"antialias_{mode}_{size}", lambda a, m=mode, s=size: (F.interpolate(a, s, mode=m, antialias=True),
                    F.interpolate(a, s, mode=m, antialias=True, align_corners=True)), f(2, 3, 5, 8), tolerance=1e-4)
        fam.add(f"antialias_{mode}_scales", lambda a, m=mode: F.interpolate(a, scale_factor=(0.45, 1.7), mode=m, antialias=True), f(1, 2, 9, 5), tolerance=1e-4)
    fam.add("nearest1d", lambda a: (F.interpolate(a, scale_factor=2), F.interpolate(a, size=7)), f(2, 3, 5))
    fam.add("linear1d", lambda a: (F.interpolate(a, scale_factor=2.5, mode="linear"), F.interpolate(a, size=3, mode="linear", align_corners=True)), f(2, 3, 5))
    v = f(2, 3, 4, 5, 6)
    fam.add("nearest3d", lambda a: (F.interpolate(a, scale_factor=2), F.interpolate(a, size=(7, 3, 9)), F.interpolate(a, scale_factor=(1.5, 0.7, 1.3))), v)
    fam.add("nearest_exact3d", lambda a: (F.interpolate(a, scale_factor=2, mode="nearest-exact"), F.interpolate(a, size=(7, 3, 9), mode="nearest-exact")), v)
    fam.add("trilinear", lambda a: (F.interpolate(a, scale_factor=2, mode="trilinear"), F.interpolate(a, size=(7, 3, 9), mode="trilinear"),
                                    F.interpolate(a, size=(4, 10, 6), mode="trilinear")), v)
    fam.add("trilinear_corners", lambda a: (F.interpolate(a, size=(7, 3, 9), mode="trilinear", align_corners=True), F.interpolate(a, scale_factor=2, mode="trilinear", align_corners=True)), v)
    fam.add("trilinear_scales", lambda a: F.interpolate(a, scale_factor=(1.5, 0.7, 1.3), mode="trilinear"), v)
    fam.add("recompute", lambda a: F.interpolate(a, scale_factor=1.3, mode="bilinear", recompute_scale_factor=True), x)


def patches(fam):
    fam.add("unfold", lambda x: (F.unfold(x, 2), F.unfold(x, (3, 2), padding=1, stride=(2, 1), dilation=(1, 2))), f(2, 3, 5, 6))
    fam.add("unfold_unbatched", lambda x: F.unfold(x, 2), f(3, 4, 4))
    fam.add("fold", lambda x: F.fold(x, (4, 5), (2, 3), padding=(1, 0), stride=(1, 2)), f(2, 12, 10))
    fam.add("cross", lambda a, b: (torch.linalg.cross(a, b), torch.cross(a.t(), b.t(), dim=0)), f(4, 3), f(4, 3))
    fam.add("cdist", lambda a, b: (torch.cdist(a, b), torch.cdist(a, b, p=1)), f(2, 3, 4), f(2, 5, 4), tolerance=1e-4)
    fam.add("pdist", lambda a: tuple(F.pdist(a, p) for p in (0.0, 1.0, 2.0, 3.0, float("inf"))), f(5, 4), tolerance=1e-4)
    fam.add("pdist_special", lambda a: tuple(F.pdist(a, p) for p in (0.0, 1.0, 2.0, float("inf"))), lambda: torch.tensor([[1, float("nan"), float("inf"), 0.0]] * 3))
    fam.add("renorm", lambda a: (a.renorm(2, 0, 1.0), a.renorm(1, 1, 0.5), a.renorm(float("inf"), -1, 2.0), a.half().renorm(2, 0, 1.0), a.bfloat16().renorm(1, 1, 0.5).float()), f(3, 4, 5))
    fam.add("block_diag", torch.block_diag, f(2, 3), ints(0, 5, 4), f())


def recurrent(fam):
    def rnn(kind, *args, **kw):
        return module(lambda: kind(*args, **kw))
    for name, kind in [("gru", nn.GRU), ("lstm", nn.LSTM), ("rnn", nn.RNN)]:
        fam.add(name, rnn(kind, 4, 5), f(6, 2, 4), tolerance=1e-4)
        fam.add(name + "_layers", rnn(kind, 4, 5, 2, batch_first=True, bidirectional=True), f(2, 6, 4), tolerance=1e-4)
        fam.add(name + "_no_bias", rnn(kind, 4, 5, bias=False), f(1, 1, 4), tolerance=1e-4)
        fam.add(name + "_unbatched", rnn(kind, 4, 5), f(3, 4), tolerance=1e-4)
        fam.add(name + "_state", rnn(kind, 4, 5), f(3, 2, 4), (lambda: (torch.randn(1, 2, 5), torch.randn(1, 2, 5))) if name == "lstm" else (lambda: torch.randn(1, 2, 5)), tolerance=1e-4)
    fam.add("rnn_relu", rnn(nn.RNN, 4, 5, 2, nonlinearity="relu", bidirectional=True), f(6, 2, 4), tolerance=1e-4)
    fam.add("lstm_projected", rnn(nn.LSTM, 4, 6, 2, proj_size=3, bidirectional=True, batch_first=True), f(2, 5, 4), tolerance=1e-4)
    fam.add("gru_cell", rnn(nn.GRUCell, 4, 5), f(2, 4), f(2, 5))
    fam.add("lstm_cell", rnn(nn.LSTMCell, 4, 5), f(2, 4))


def sample(fam):
    def grid(**options):
        return lambda x, g: F.grid_sample(x, g, **options)

    def hostile():
        inf = float("inf")
        return torch.tensor([-1, 1, 0, 1.5, -7.3, 1e9, inf, 0, float("nan"), 0.3, -inf, 2.0]).reshape(1, 2, 3, 2)
    wide = lambda *shape: lambda: torch.rand(shape) * 3 - 1.5  # noqa: E731
    for mode in ["bilinear", "nearest", "bicubic"]:
        for padding in ["zeros", "border", "reflection"]:
            for corners in [False, True]:
                fn = grid(mode=mode, padding_mode=padding, align_corners=corners)
                name = f"{mode}_{padding}" + ("_corners" if corners else "")
                fam.add(name, fn, f(2, 3, 5, 7), wide(2, 4, 3, 2), tolerance=1e-4)
                fam.add(name + "_hostile", fn, f(1, 2, 3, 4), hostile, tolerance=1e-4)
                if mode != "bicubic":
                    fam.add(name + "_volume", fn, f(2, 3, 3, 4, 5), wide(2, 2, 3, 2, 3), tolerance=1e-4)
    fam.add("strided", grid(align_corners=False), strided(2, 3, 4, 5), every_other(2, 3, 3, 2))
    fam.add("one_pixel", grid(align_corners=False), f(1, 2, 1, 1), wide(1, 2, 2, 2))
    for corners in [False, True]:
        fam.add(f"affine_grid_{corners}", lambda t, c=corners: (F.affine_grid(t, (2, 3, 4, 6), c), F.affine_grid(t, (2, 1, 1, 5), c)), f(2, 2, 3))
        fam.add(f"affine_volume_{corners}", lambda t, c=corners: F.affine_grid(t, (2, 3, 4, 3, 5), c), f(2, 3, 4))
    fam.add("empty", grid(align_corners=False), f(0, 2, 3, 3), f(0, 2, 2, 2))
    fam.add("no_points", grid(align_corners=False), f(1, 2, 3, 3), f(1, 0, 2, 2))
    fam.add("affine", lambda x, t: F.grid_sample(x, F.affine_grid(t, (2, 3, 4, 6), align_corners=False), align_corners=False),
            f(2, 3, 5, 5), f(2, 2, 3), tolerance=1e-4)


def linalg(fam):
    def dominant(*shape):
        return lambda: torch.randn(shape) + 4 * torch.eye(shape[-1])

    def definite(*shape):
        def make():
            a = torch.randn(shape)
            return a @ a.mT + torch.eye(shape[-1])
        return make
    solve = torch.linalg.solve_triangular
    for upper in [False, True]:
        for unit in [False, True]:
            name = ("upper" if upper else "lower") + ("_unit" if unit else "")
            options = dict(upper=upper, unitriangular=unit)
            fam.add(name, lambda a, b, o=options: solve(a, b, **o), dominant(2, 5, 5), f(2, 5, 3), tolerance=1e-4)
            fam.add(name + "_right", lambda a, b, o=options: solve(a, b, left=False, **o), dominant(4, 4), f(3, 4), tolerance=1e-4)
            fam.add(name + "_broadcast", lambda a, b, o=options: solve(a, b, **o), dominant(2, 1, 3, 3), f(5, 3, 2), tolerance=1e-4)
    fam.add("old_triangular", lambda a, b: torch.triangular_solve(b, a, upper=False, transpose=True)[0], dominant(4, 4), f(4, 2), tolerance=1e-4)
    for shape in [(4, 4), (2, 3, 3), (1, 1), (2, 2, 5, 5)]:
        fam.add(f"inverse_{shape}", lambda a: torch.linalg.inv_ex(a)[0], dominant(*shape), tolerance=1e-4)
        fam.add(f"det_{shape}", torch.linalg.det, f(*shape), tolerance=1e-4)
        fam.add(f"slogdet_{shape}", lambda a: torch.linalg.slogdet(a), f(*shape), tolerance=1e-4)
        fam.add(f"cholesky_{shape}", lambda a: torch.linalg.cholesky_ex(a)[0], definite(*shape), tolerance=1e-4)
        fam.add(f"lu_{shape}", lambda a: torch.linalg.lu(a), f(*shape), tolerance=1e-4)
    solve_ex = lambda a, b: torch.linalg.solve_ex(a, b)[0]  # noqa: E731
    fam.add("solve", solve_ex, f(4, 4), f(4, 3), tolerance=1e-3)
    fam.add("solve_batch", solve_ex, f(2, 4, 4), f(2, 4, 3), tolerance=1e-3)
    fam.add("solve_vector", solve_ex, f(4, 4), f(4), tolerance=1e-3)
    fam.add("solve_vectors", solve_ex, f(2, 4, 4), f(2, 4), tolerance=1e-3)
    fam.add("solve_broadcast", solve_ex, f(3, 3), f(5, 3, 2), tolerance=1e-3)
    fam.add("solve_right", lambda a, b: torch.linalg.solve_ex(a, b, left=False)[0], f(3, 3), f(2, 3), tolerance=1e-3)
    fam.add("info", lambda a: (torch.linalg.cholesky_ex(a)[1], torch.linalg.inv_ex(a)[1]), lambda: torch.tensor([[[1.0, 2], [2, 1]], [[2, 0], [0, 3]]]))
    for upper in [False, True]:
        end = "_upper" if upper else ""
        fam.add("cholesky_solve" + end, lambda b, a, u=upper: torch.cholesky_solve(b, a, upper=u), f(4, 3), dominant(2, 4, 4), tolerance=1e-3)
        fam.add("cholesky_inverse" + end, lambda a, u=upper: torch.cholesky_inverse(a, upper=u), dominant(4, 4), tolerance=1e-3)
    fam.add("raises", lambda a, b: (torch.linalg.inv(a), torch.linalg.solve(a, b), torch.linalg.cholesky(a)), definite(2, 3, 3), f(2, 3, 2), tolerance=1e-3)
    fam.add("cholesky_upper", lambda a: torch.linalg.cholesky_ex(a, upper=True)[0], definite(4, 4), tolerance=1e-4)


def ends(fam):
    """Where a formula that is right near 1 overflows, cancels or meets NaN; edges.py looks at all functions so."""
    inf, nan = float("inf"), float("nan")
    far = torch.tensor([0.0, 1.0, 1e4, 3e10, 1e20, 3e38, inf])
    fam.add("asinh", lambda x: (torch.asinh(x), torch.asinh(-x)), far)
    fam.add("acosh", torch.acosh, torch.tensor([1.0, 1.0001, 2.0, 3e10, 1e20, 3e38, inf]))
    fam.add("hypot", lambda a, b: (torch.hypot(a, b) / 1e20, torch.hypot(a * 1e-40, b * 1e-40) * 1e20),
            torch.tensor([3e20, 0.0, -3e20, inf]), torch.tensor([4e20, 5e20, 3e20, nan]))
    fam.add("erfc_tail", lambda x: torch.erfc(x).log(), torch.tensor([-9.0, -1.0, 0.0, 1.0, 3.0, 5.0, 7.0, 9.0]))
    fam.add("bucketize_nan", lambda x, e: (torch.bucketize(x, e), torch.bucketize(x, e, right=True)),
            torch.tensor([nan, 0.0, 1.5, inf, -inf]), torch.tensor([0.0, 1.0, 2.0, nan]))
    fam.add("searchsorted_nan", lambda e: torch.searchsorted(e, nan), torch.tensor([0.0, 1.0, 2.0]))
    fam.add("clamp_nan", lambda x: (x.clamp(nan, 1), x.clamp(min=nan), x.clamp(0, nan), x.clamp(-1, 1)), special)
    fam.add("pow_minus_two", lambda x: x ** -2 * 1e38, torch.tensor([2e19, -1e20, 3.0, 1e3, inf]))
    for dtype in (torch.int64, torch.int32, torch.int8):
        width = torch.iinfo(dtype).bits
        high, low = torch.iinfo(dtype).max, torch.iinfo(dtype).min
        fam.add(f"right_shift_{dtype}", lambda a, b: a >> b, torch.tensor([high, low, high, low, 5], dtype=dtype),
                torch.tensor([width - 1, width - 1, width - 2, 1, 0], dtype=dtype))
    fam.add("median_nan", lambda x: torch.median(x, 1), torch.tensor([[2.0, nan, 1.0, nan, 0.0], [3.0, 1.0, 2.0, 5.0, 4.0]]))
    fam.add("addmm_alpha_zero", lambda m, a, b: torch.addmm(m, a, b, alpha=0), f(2, 2), torch.full((2, 3), nan), f(3, 2))
    fam.add("isin_number", lambda x: torch.isin(x, 1.0), special)
    fam.add("sort_bools", lambda x: torch.sort(x, dim=1, stable=True), torch.tensor([[True, False, True], [False, True, False]]))
    fam.add("sign_bool", torch.sign, torch.tensor([True, False]))
    fam.add("negative_zero", lambda x: (1 / torch.relu(x), 1 / torch.asinh(x), 1 / torch.nn.functional.elu(x)), torch.tensor([-0.0, 0.0]))


ALL = [unary, binary, pointwise, activation, conv, pool, matrix, attention, norm, reduce, softmax, view, write, join, index,
       factory, order, pad, resize, patches, recurrent, sample,
       linalg, ends]


def families():
    result = {}
    for fill in ALL:
        family = Family(fill.__name__)
        fill(family)
        result[family.name] = family.cases
    return result
