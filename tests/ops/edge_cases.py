"""Calls on values far from any sample: zeros of both signs, subnormals, 1e±20, the largest, infinities, NaN, ties,
integer ends.

`all_cases()` gives {name: Case}. Functions of one or two tensors are found in the rule tables of the exporter, so that a
new rule is swept as soon as it stands there; what needs other arguments is written down below. `UNSWEPT` says why a rule
is not swept; edges.py fails for one that is neither.
"""
import dataclasses
import pathlib
import re

import torch
import torch.nn.functional as F

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = ROOT / "host_tracer" / "aten" / "rules"
FUNCTIONS = tuple(ROOT / "kernels" / folder / "functions.inc" for folder in ("unary", "binary"))
INF, NAN = float("inf"), float("nan")
FLOATS = {"f32": torch.float32, "f64": torch.float64}
INTEGERS = {"i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8}
DTYPES = {**FLOATS, **INTEGERS, "bool": torch.bool}


@dataclasses.dataclass
class Case:
    name: str
    call: object
    inputs: tuple
    rounds: bool = False  # sums or differences whose rounding is no business of ours: edges.py measures it

    def __post_init__(self):
        self.inputs = tuple(t.clone(memory_format=torch.contiguous_format) for t in self.inputs)  # no case shares memory


# --- values -------------------------------------------------------------------------------------

def float_values(dtype):
    """Each once, with both signs."""
    tiny, largest = torch.finfo(dtype).tiny, torch.finfo(dtype).max
    near = [1 - torch.finfo(dtype).eps, 1 + torch.finfo(dtype).eps]
    middle = [1e-8, 1e-4, 0.1, 0.25, 0.5, *near, 1, 1.5, 2, 2.5, 3, 3.5, 4.5, 5.5, 6, 9, 10, 14, 17, 20, 21, 30, 50]
    wide = [80, 88, 88.8, 89, 100, 104, 200, 700, 1e4, 4194305.5, 8388609, 2.0**53 - 1, 1e10, 3e18, 1e20]
    small = [torch.finfo(dtype).smallest_normal / 2, tiny, 2 * tiny, 1e-39, 1e-20]
    least = [5e-324, 1e-310, 1e-200, 1e200] if dtype == torch.float64 else [1.4e-45]
    return [s * v for v in [0.0, *least, *small, *middle, *wide, largest, INF] for s in (1, -1)] + [NAN]


def integer_values(dtype):
    low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
    near = [-128, -100, -17, -9, -4, -3, -2, -1, 0, 1, 2, 3, 4, 7, 8, 15, 31, 33, 63, 64, 100, 127]
    return sorted({v for v in [low, low + 1, *near, high - 1, high] if low <= v <= high})


def values(dtype):
    if dtype == torch.bool:
        return torch.tensor([False, True])
    return torch.tensor(float_values(dtype) if dtype.is_floating_point else integer_values(dtype), dtype=dtype)


def line(dtype):
    """All values twice, from two places, so that each goes through whole vectors and through their remainder."""
    x = values(dtype)
    return torch.cat([x, x.flip(0), x[: len(x) // 2 + 1]])


def few(dtype):
    """For pairs and triples."""
    if dtype.is_floating_point:
        largest, tiny = torch.finfo(dtype).max, torch.finfo(dtype).tiny
        some = [0.0, 1.4e-45, 1e-39, tiny, 1e-20, 0.3, 0.5, 1, 1.5, 2, 3, 7, 1e20, 3e20, largest, INF]
        return torch.tensor([s * v for v in some for s in (1, -1)] + [NAN], dtype=dtype)
    return values(dtype)


def pairs(dtype, other=None):
    a, b = few(dtype), few(other or dtype)
    return a.repeat_interleave(len(b)), b.repeat(len(a))


def triples(dtype):
    some = torch.tensor([0.0, -0.0, 1e-39, 0.4, -0.6, 1, -2, 1e20, -1e20, torch.finfo(dtype).max, INF, -INF, NAN], dtype=dtype)
    n = len(some)
    return some.repeat_interleave(n * n), some.repeat(n).repeat_interleave(n), some.repeat(n * n)


def rows(dtype):
    """Rows that reductions, norms and orders find hard: [rows, 19]."""
    if dtype == torch.bool:
        return torch.stack([torch.zeros(19, dtype=dtype), torch.ones(19, dtype=dtype), torch.arange(19) == 17])
    n = torch.arange(19)
    if not dtype.is_floating_point:
        low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
        made = [n * 0, n * 0 + high, n * 0 + low, n % 3, torch.where(n % 2 == 0, high, low), (n - 9) if low else n]
        return torch.stack([row.to(dtype) for row in made])
    return torch.stack([row.to(dtype) for row in float_rows(n, torch.finfo(dtype))])


def choose(mask, yes, no):
    return torch.where(mask, torch.as_tensor(yes, dtype=torch.float64), torch.as_tensor(no, dtype=torch.float64))


def float_rows(n, info):
    wave = torch.sin(n.double() * 2.3)
    flat = torch.ones(19, dtype=torch.float64)
    made = [flat * c for c in (0.0, -0.0, 1, 1e20, -1e20, 1e-20, 1e-39, info.tiny, info.max, INF, -INF, NAN)]
    made += [wave * c for c in (1, 1e20, 1e-20, 1e-30, 1e-39, 1e4, 100)]
    made += [choose(n % 2 == 0, yes, no) for yes, no in ((0.0, -0.0), (info.max, -info.max), (INF, -INF))]
    made += [wave + 1e4, n % 3, n % 2]
    made += [choose(n == at, value, wave) for value in (INF, -INF, NAN, 1e20, info.max, -0.0) for at in (0, 11, 18)]
    made += [choose(n == 3, NAN, choose(n == 15, INF, wave)), choose(n > 5, -INF, wave), choose(n == 5, 0.3, -INF),
             choose(n % 5 == 2, NAN, wave), choose(n == 7, NAN, choose(n == 12, NAN, -INF))]
    return made


# --- the exporter's rules -----------------------------------------------------------------------

def rules():
    """{rule: (file, what computes it)} of all tables; those that only refuse are left out."""
    found = {}
    for path in sorted(RULES.glob("*.cpp")):
        for name, function in re.findall(r'\{"([\w.]+)",\s*([^{}"]+?)\}', path.read_text()):
            if not function.startswith("nullptr"):
                found[name] = (path.stem, " ".join(function.split()))
    for path in FUNCTIONS:
        for function, names in re.findall(r"^LAZYRT_[A-Z]+\(\d+, (\w+), [\w, ]+, \(([^()]*)\)", path.read_text(), re.MULTILINE):
            found.update(dict.fromkeys(re.findall(r'"([\w.]+)"', names), ("functions", function)))
    return found


def schemas(rule):
    """(callable, schema) of the overloads that a rule serves."""
    name, _, overload = rule.partition(".")
    packet = getattr(torch.ops.aten, name, None)
    if packet is None:
        return []
    chosen = [overload] if overload else packet.overloads()
    return [(getattr(packet, o), getattr(packet, o)._schema) for o in chosen if hasattr(packet, o)]


def takes_only(schema, count):
    """True when a call with `count` tensors is whole."""
    arguments = schema.arguments
    needed = [a for a in arguments if not a.has_default_value()]
    return (len(needed) == count and [a.name for a in needed] == [a.name for a in arguments[:count]]
            and all(str(a.type) == "Tensor" for a in needed) and not any(a.is_out for a in arguments)
            and all(str(r.type) in ("Tensor", "List[Tensor]") for r in schema.returns))


def found_cases():
    """Functions of one and of two tensors, in each dtype that eager takes."""
    for rule, (file, _) in rules().items():
        if file not in ELEMENTWISE_FILES or rule in UNSWEPT or rule in FOR_GRADIENTS:
            continue
        for call, schema in schemas(rule):
            for label, dtype in DTYPES.items():
                if takes_only(schema, 1):
                    yield Case(f"{rule}/{label}", call, (line(dtype),), rule in CANCELS)
                if takes_only(schema, 2):
                    a, b = pairs(dtype)
                    yield Case(f"{rule}/{label}", call, safe_pairs(rule, a, b))
            break


ELEMENTWISE_FILES = ("functions", "unary", "binary", "activation", "pointwise", "copy")
FOR_GRADIENTS = ("log_sigmoid_forward", "rrelu_with_noise_functional")  # not all of their results are served
CANCELS = ("gelu", "mish")  # PyTorch's own tails are of few digits
DIVIDES = ("div", "floor_divide", "remainder", "fmod", "true_divide", "divide")


def safe_pairs(rule, a, b):
    """Without what eager raises or traps on: a division by zero, the least integer by -1, a shift that is undefined."""
    if a.is_floating_point() or a.dtype == torch.bool:
        return a, b
    keep = torch.ones_like(a, dtype=torch.bool)
    if rule in DIVIDES:
        keep = (b != 0) & ~((b == -1) & (a == torch.iinfo(a.dtype).min))
    if rule == "pow" and a.dtype != torch.uint8:
        keep = b >= 0  # eager takes no negative exponents in a scalar; in tensors they are as ours
    return a[keep], b[keep]


# --- written down -------------------------------------------------------------------------------

def numbers(add):
    for label, dtype in FLOATS.items():
        x = line(dtype)
        for e in (0, 1, 2, 3, 4, -1, -2, -3, 0.5, -0.5, 1.5, 1 / 3, INF, -INF, NAN):
            add(f"pow_scalar/{e:.3g}/{label}", lambda x, e=e: x ** e, x)
        for e in (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, INF, NAN):
            add(f"rpow/{e}/{label}", lambda x, e=e: e ** x, x)
        for name in ("mul", "add", "sub", "div", "fmod", "remainder", "floor_divide", "maximum", "minimum", "lt", "eq", "ge",
                     "atan2", "copysign", "xlogy"):
            fn = getattr(torch, name)
            for s in (0.0, -0.0, 3.0, -1e20, INF, NAN):
                if name not in ("maximum", "minimum", "atan2"):
                    add(f"{name}_scalar/{s}/{label}", lambda x, s=s, fn=fn: fn(x, s), x)
                add(f"{name}_zero_dim/{s}/{label}",
                    lambda x, y, fn=fn: (fn(x, y), fn(y, x)), x, torch.tensor(s, dtype=dtype))


def elementwise(add):
    for label, dtype in FLOATS.items():
        x, (a, b) = line(dtype), pairs(dtype)
        for mode in ("floor", "trunc"):
            add(f"div_{mode}/{label}", lambda a, b, m=mode: torch.div(a, b, rounding_mode=m), a, b)
        add(f"rsub_scalar/{label}", lambda x: (1 - x, 0 - x, torch.rsub(x, 2.0, alpha=1e20)), x)
        add(f"round_decimals/{label}", lambda x: (x.round(decimals=2), x.round(decimals=-1)), x)
        add(f"logit_eps/{label}", lambda x: torch.logit(x, 1e-3), x)
        add(f"nan_to_num_args/{label}", lambda x: torch.nan_to_num(x, 1.5, 3.0, -7.0), x)
        add(f"where/{label}", lambda a, b: (torch.where(a > b, a, b), torch.where(a == a, a, 0.0)), a, b)
        add(f"masked_fill/{label}", lambda a, b: (a.masked_fill(b > 0, -INF), a.masked_fill(b.isnan(), NAN)), a, b)
        for low, high in ((-1, 1), (1, -1), (-INF, INF), (NAN, 1), (0, NAN), (0.0, INF), (-0.0, 0.0), (INF, -INF)):
            add(f"clamp/{low},{high}/{label}", lambda x, l=low, h=high: x.clamp(l, h), x)
        add(f"clamp_sides/{label}",
            lambda x: (x.clamp(min=0), x.clamp(max=0), x.clamp(min=NAN), torch.clamp_min(x, -1e20),
                       torch.clamp_max(x, 1e20), F.hardtanh(x), F.hardtanh(x, -1e20, 0), F.relu6(x)),
            x)
        add(f"clamp_tensor/{label}", lambda a, b, c: (a.clamp(b, c), a.clamp(min=b), a.clamp(max=c)), *triples(dtype))
        add(f"threshold/{label}", lambda x: (F.threshold(x, 0.1, 7), F.threshold(x, -INF, 2)), x)
        add(f"lerp/{label}",
            lambda a, b, c: (torch.lerp(a, b, c), torch.lerp(a, b, 0.3), torch.lerp(a, b, 0.8)), *triples(dtype))
        add(f"addcmul/{label}",
            lambda a, b, c: (torch.addcmul(a, b, c), torch.addcmul(a, b, c, value=-2)), *triples(dtype))
        add(f"addcdiv/{label}",
            lambda a, b, c: (torch.addcdiv(a, b, c), torch.addcdiv(a, b, c, value=0.5)), *triples(dtype))
        add(f"isclose/{label}", lambda a, b: (torch.isclose(a, b), torch.isclose(a, b, equal_nan=True)), a, b)
        large = torch.finfo(dtype).max
        far = torch.tensor([0, 1, 10, 20, 25, 30, 60, 100, 200, 1000, large, INF, NAN], dtype=dtype)
        add(f"logaddexp_far_apart/{label}", lambda x: (torch.logaddexp(-x, 0 * x), torch.logaddexp2(-x, 0 * x), torch.logaddexp2(x, -x)), far)
        if dtype in (torch.float32, torch.float64):
            add(f"i0e_far/{label}", torch.special.i0e, large / torch.tensor([1e8, 1e4, 100, 10, 6, 3, 2, 1, -1, -3, INF], dtype=dtype))
    exact = torch.tensor([[-1e20, 1e10, 1e10], [-INF, 1e20, 1e20], [-1e38, 1e19, 1e19], [INF, 1e20, -1e20]]).repeat_interleave(8, 0)
    add("addcmul_in_one/f32", torch.addcmul, *exact.unbind(1))
    add("quotients_beyond_64_bits/f32", lambda a, b: (torch.fmod(a, b), torch.remainder(a, b)), torch.full((64,), 1e38), torch.full((64,), 1e-3))
    add("nanmedian_of_none/f32", lambda x: x.nanmedian(1), torch.full((2, 4), NAN))


def activations(add):
    for label, dtype in FLOATS.items():
        x, (a, b) = line(dtype), pairs(dtype)
        add(f"shrink/{label}",
            lambda x: (F.hardshrink(x, 0), F.hardshrink(x), F.softshrink(x), F.softshrink(x, 2)), x)
        add(f"tanhshrink/{label}", F.tanhshrink, x, rounds=True)
        add(f"gelu_tanh/{label}", lambda x: F.gelu(x, approximate="tanh"), x, rounds=True)
        add(f"softplus_args/{label}", lambda x: (F.softplus(x, 2), F.softplus(x, 0.5, 1), F.softplus(x, 1, 1000)), x)
        add(f"elu_args/{label}",
            lambda x: (F.elu(x, 0.3), F.elu(x, -2.0), F.celu(x, 0.1), F.celu(x, 3), F.selu(x)), x)
        add(f"leaky/{label}", lambda x: (F.leaky_relu(x), F.leaky_relu(x, 0), F.leaky_relu(x, -2), F.rrelu(x)), x)
        add(f"softsign/{label}", F.softsign, x)
        add(f"prelu_one/{label}", F.prelu, x, torch.tensor([-0.5], dtype=dtype))
        add(f"glu_stacked/{label}", lambda a, b: F.glu(torch.stack([a, b]), 0), a, b)
        add(f"sigmoid_mul/{label}", lambda x: x * torch.sigmoid(x), x)
        add(f"gelu_written/{label}", lambda x: x * 0.5 * (1 + torch.erf(x / 2 ** 0.5)), x, rounds=True)
        add(f"rms_written/{label}",
            lambda r: r * torch.rsqrt(r.pow(2).mean(-1, keepdim=True) + 1e-6), rows(dtype), rounds=True)
        add(f"nextafter_like/{label}",
            lambda x: ((x + 1) - 1, x * 1e20 * 1e-20, x * 0, x - x, x / x, 0 / x, -x, abs(-x)), x)
        add(f"frac_mod/{label}", lambda x: (x % 1, x // 1, x % -3, torch.fmod(x, -3), x // -3), x)
        add(f"truth/{label}",
            lambda x: (x.bool(), torch.logical_not(x), x != 0, x.isfinite(), x.isinf(), x.signbit()), x)


def integers(add):
    for label, dtype in INTEGERS.items():
        x, (a, b) = line(dtype), pairs(dtype)
        add(f"integer_scalars/{label}",
            lambda x: (x + 3, x - 3, x * 3, x // 3, x % 3, torch.fmod(x, 3), x / 3, x == 3, x < 3.5, x * 0.5, 3 - x),
            x)
        add(f"integer_powers/{label}", lambda x: (x ** 0, x ** 2, x ** 3), x)
        keep = (b >= 0) & (b < torch.iinfo(dtype).bits)
        add(f"shifts/{label}", lambda a, b: (a << b, a >> b, a << 1, a >> 1), a[keep], b[keep])
        add(f"integer_clamp/{label}",
            lambda x: (x.clamp(2, 5), x.clamp(5, 2), x.clamp(min=1), x.clamp(max=2.5), F.relu(x)), x)
        divided = safe_pairs("div", a, b)
        for mode in ("floor", "trunc"):
            add(f"div_{mode}/{label}", lambda a, b, m=mode: torch.div(a, b, rounding_mode=m), *divided)
        add(f"integer_where/{label}", lambda a, b: torch.where(a > b, a, b), a, b)
    add("negative_divisors/i64", lambda x: (x // -3, x % -3, torch.fmod(x, -3)), integer_line_without_least())
    add("mixed/i64_f32",
        lambda a, b: (a + b, a * b, a < b, a == b, torch.maximum(a, b.long())),
        torch.tensor([2**24 + 1, -3, 2**53 + 1, 0]), torch.tensor([16777216.0, -3.0, 9007199254740992.0, -0.0]))


def integer_line_without_least():
    x = values(torch.int64)
    return x[x > torch.iinfo(torch.int64).min]


def casts(add):
    for label, dtype in DTYPES.items():
        x = line(dtype)
        for other, to in {**DTYPES, "f16": torch.float16, "bf16": torch.bfloat16}.items():
            given = x
            if dtype.is_floating_point and other in INTEGERS:  # out of range it is undefined in C++
                info = torch.iinfo(to)
                given = x[(x > max(info.min, -2.0**62) - 1) & (x < min(info.max, 2.0**62) + 1)]
            add(f"cast/{other}/{label}", lambda x, to=to: x.to(to), given)
            if other in ("f16", "bf16"):
                add(f"cast_through/{other}/{label}", lambda x, to=to: x.to(to).float(), given)
    for label, dtype in (("f16", torch.float16), ("bf16", torch.bfloat16)):
        halves = torch.tensor([1.00390625, 1.01171875, 65519.0, 65520.0, 2049.0, 6.1e-5, 5.9e-8, 2.9e-8])
        x = torch.cat([line(torch.float32), halves]).to(dtype)
        add(f"cast/f32/{label}", lambda x: (x.float(), x.double()), x)


ALONG_A_DIM = {
    **{name: getattr(torch, name) for name in ("max", "min", "median", "argmax", "argmin", "any", "all", "cumsum",
                                               "var_mean", "std_mean")},
    "softmax": F.softmax, "log_softmax": F.log_softmax, "aminmax": lambda x, d: torch.aminmax(x, dim=d),
    "sort": lambda x, d: torch.sort(x, dim=d, stable=True), "argsort": lambda x, d: torch.argsort(x, dim=d, stable=True)}


def reductions(add):
    for label, dtype in FLOATS.items():
        r = rows(dtype)
        for name in ("sum", "mean", "prod", "amax", "amin", "nansum", "logsumexp", "var", "std", "count_nonzero"):
            fn = getattr(torch, name)
            add(f"{name}/row/{label}", lambda x, fn=fn: fn(x, 1), r)
            add(f"{name}/column/{label}", lambda x, fn=fn: fn(x, 0), r.t().contiguous())
        for name, fn in ALONG_A_DIM.items():
            add(f"{name}/row/{label}", lambda x, fn=fn: fn(x, 1), r)
            add(f"{name}/column/{label}", lambda x, fn=fn: fn(x, 0), r.t().contiguous())
        add(f"cumulative/{label}", lambda x: (x.cumsum(-1), x.cumprod(-1), *x.cummax(-1), *x.cummin(-1), x.diff()), r)
        add(f"var_biased/{label}",
            lambda x: (x.var(1, unbiased=False), x.std(1, correction=0), x.var(1, correction=19),
                       x.var(1, correction=30)),
            r)
        add(f"var_of_one/{label}", lambda x: (x.var(1), x.std(1)), r[:, :1])
        for p in (0, 0.5, 1, 2, 3, 4, INF, -INF, -1, -2):
            add(f"norm/{p}/{label}",
                lambda x, p=p: (torch.linalg.vector_norm(x, p, 1), torch.linalg.vector_norm(x, p, 0)), r)
        add(f"norm_old/{label}",
            lambda x: (x.norm(dim=1), x.norm(p=1, dim=1), F.normalize(x, dim=1), F.normalize(x, p=1, dim=1)), r)
        add(f"sum_all/{label}",
            lambda x: (x.sum(), x.mean(), x.max(), x.min(), x.argmax(), x.argmin(), x.prod()), values(dtype)[:-3])
        add(f"sort_descending/{label}", lambda x: torch.sort(x, dim=1, descending=True, stable=True), r)
        add(f"topk/{label}",
            lambda x: (x.topk(3, 1)[0], x.topk(19, 1)[0], x.topk(2, 1, largest=False)[0], x.topk(1, 0)[0]), r)
        add(f"kthvalue/{label}", lambda x: (x.kthvalue(2, 1)[0], x.kthvalue(19, 1)[0]), r)
        add(f"msort/{label}", torch.msort, r)
        add(f"softmax_wide/{label}",
            lambda x: (F.softmax(x.repeat(1, 5), 1), F.softmin(x, 1), F.softmax(x[:, :1], 1)), r)
        add(f"safe_softmax/{label}", lambda x: torch.ops.aten._safe_softmax(x, 1), r)
        add(f"histc/{label}", lambda x: torch.histc(x, 5, -2, 3), r[r.isfinite().all(1) & (r.abs() < 1e30).all(1)])
        add(f"sum_types/{label}",
            lambda x: (x.sum(1, dtype=torch.float64), x.mean(1, dtype=torch.float64),
                       F.softmax(x, 1, dtype=torch.float64)),
            r)
    for label, dtype in {**INTEGERS, "bool": torch.bool}.items():
        r = rows(dtype)
        for name in ("sum", "prod", "any", "all", "count_nonzero", "cumsum", "argmax", "argmin", "amax", "amin"):
            if dtype == torch.bool and name in ("argmax", "argmin"):
                continue
            add(f"{name}/row/{label}", lambda x, fn=getattr(torch, name): fn(x, 1), r)
        add(f"sort/{label}",
            lambda x: (*torch.sort(x, dim=1, stable=True), *torch.sort(x, dim=1, stable=True, descending=True)), r)
        if dtype != torch.bool:
            add(f"order/{label}", lambda x: (*x.max(1), *x.min(1), x.median(1)[0], x.nanmedian(1)[0], x.topk(3, 1)[0]), r)


def norms(add):
    for label, dtype in FLOATS.items():
        r = rows(dtype)
        w, b = torch.linspace(-2, 2, 19, dtype=dtype), torch.linspace(1, -1, 19, dtype=dtype)
        for eps in (1e-5, 0.0, 1e-30):
            add(f"layer_norm/{eps}/{label}",
                lambda x, w, b, e=eps: (F.layer_norm(x, (19,), w, b, e), F.layer_norm(x, (19,), eps=e)), r, w, b)
            add(f"rms_norm/{eps}/{label}",
                lambda x, w, e=eps: (F.rms_norm(x, (19,), w, e), F.rms_norm(x, (19,), eps=e)), r, w)
        images = torch.cat([r, r.flip(1)], 1)[:, :36].reshape(-1, 4, 3, 3)
        add(f"group_norm/{label}",
            lambda x, w: (F.group_norm(x, 2), F.group_norm(x, 4, w[:4], w[4:8]), F.group_norm(x, 1)), images, w)
        add(f"instance_norm/{label}", lambda x: F.instance_norm(x), images)
        add(f"batch_norm/{label}",
            lambda x, m, v, w: (F.batch_norm(x, m, v), F.batch_norm(x, m, v, w[:4], w[4:8])),
            images, torch.tensor([0.0, 1.0, 1e20, -1e-20], dtype=dtype),
            torch.tensor([1.0, 0.0, 1e20, 1e-20], dtype=dtype), w)
        add(f"max_pool/{label}",
            lambda x: (F.max_pool2d(x, 2), F.max_pool2d(x, 3, 1, 1), F.max_pool1d(x[:, :, 0], 2),
                       F.adaptive_max_pool2d(x, 1), F.adaptive_max_pool2d(x, 3)),
            images)
        add(f"avg_pool/{label}",
            lambda x: (F.avg_pool2d(x, 2), F.avg_pool2d(x, 3, 1, 1), F.adaptive_avg_pool2d(x, 1),
                       F.adaptive_avg_pool2d(x, 2), F.avg_pool1d(x[:, :, 0], 2), F.adaptive_avg_pool1d(x[:, :, 0], 2)),
            images)
        add(f"cosine/{label}", lambda x: F.cosine_similarity(x, x.flip(1), 1), r)
        add(f"cdist/{label}", lambda x: (torch.cdist(x[:9], x[9:20], 1), torch.cdist(x[:9], x[9:20], 2)), r)
        add(f"weight_norm/{label}",
            lambda v, g: torch._weight_norm(v, g, 0), r[:9], torch.linspace(-1, 1, 9, dtype=dtype)[:, None])
        add(f"cross/{label}", lambda a, b: torch.linalg.cross(a, b), r[:, :3], r.flip(0)[:, :3])


def indices(add):
    for label, dtype in FLOATS.items():
        x, edges = line(dtype), torch.tensor([-INF, -1e20, -1.0, -0.0, 0.0, 1.0, 1.0, 2.5, INF], dtype=dtype)
        for right in (False, True):
            add(f"bucketize/{right}/{label}", lambda x, e, r=right: torch.bucketize(x, e, right=r), x, edges)
            add(f"bucketize_nan/{right}/{label}", lambda x, e, r=right: torch.bucketize(x, e, right=r), x,
                torch.tensor([0.0, 1.0, 2.0, NAN], dtype=dtype))
            add(f"bucketize_all_nan/{right}/{label}", lambda x, e, r=right: torch.bucketize(x, e, right=r), x,
                torch.tensor([NAN, NAN], dtype=dtype))
            add(f"bucketize_known/{right}/{label}", lambda x, r=right: (
                torch.bucketize(x, torch.tensor([-1.0, 0.0, 0.0, 2.5, INF], dtype=x.dtype), right=r),
                torch.bucketize(x, torch.linspace(-100, 100, 99, dtype=x.dtype), right=r)), x)
            add(f"searchsorted_number/{right}/{label}",
                lambda e, r=right: (torch.searchsorted(e, 1.0, right=r), torch.searchsorted(e, NAN, right=r),
                                    torch.bucketize(2.0, e, right=r)),
                edges)
            add(f"searchsorted/{right}/{label}", lambda x, e, r=right: torch.searchsorted(e, x, right=r), rows(dtype),
                torch.sort(rows(dtype), 1)[0])
        add(f"isin/{label}", lambda x, e: (torch.isin(x, e), torch.isin(x, 1.0), torch.isin(x, e, invert=True)), x,
            torch.tensor([0.0, NAN, INF, 1e20], dtype=dtype))
        ids = torch.tensor([0, -1, 5, -7, 2])
        add(f"index/{label}", lambda x, i: (x[i], x[:, i], x[i, i], x[i, 0]), rows(dtype), ids)
        add(f"gather/{label}",
            lambda x, i: (x.gather(1, i), x.index_select(1, i[0]), torch.take(x, i)),
            rows(dtype), torch.tensor([[0, 18, 11]] * 3))
        add(f"scatter/{label}",
            lambda x, i, s: tuple(x.scatter_reduce(1, i, s, r, include_self=k) for r in ("sum", "prod", "amax", "amin") for k in (True, False)),
            rows(dtype), (torch.arange(19) % 7).expand(rows(dtype).shape).contiguous(),
            rows(dtype).flip(0).contiguous())
        add(f"scatter_write/{label}",
            lambda x, i, s: (x.scatter(1, i, s), x.scatter(1, i, NAN), x.scatter_add(1, i, s),
                             x.scatter(1, i, s, reduce="multiply")),
            rows(dtype), torch.arange(19).flip(0).expand(rows(dtype).shape).contiguous(),
            rows(dtype).flip(0).contiguous())
        add(f"index_writes/{label}",
            lambda x, i, s: (x.index_add(0, i, s), x.index_add(0, i, s, alpha=2), x.index_fill(0, i, NAN),
                             x.index_put((i,), s, accumulate=True)),
            rows(dtype), torch.tensor([0, 0, 4, 9]), rows(dtype)[7:11])
        add(f"index_reduce/{label}",
            lambda x, i, s: tuple(x.index_reduce(0, i, s, r, include_self=k) for r in ("prod", "amax", "amin", "mean") for k in (True, False)),
            rows(dtype), torch.tensor([0, 0, 4, 9]), rows(dtype)[7:11])
        add(f"index_copies/{label}",
            lambda x, i, s: (x.index_copy(0, i, s), x.index_put((i,), s)),
            rows(dtype), torch.tensor([1, 3, 4, 9]), rows(dtype)[7:11])
        add(f"nonzero_like/{label}", lambda x: (x.masked_scatter(x > 0, x.flip(0)), torch.count_nonzero(x)), x)
        add(f"triangles/{label}", lambda x: (x.tril(), x.triu(1), torch.diag_embed(x[8])), rows(dtype))
    add("embedding",
        lambda w, i: F.embedding(i, w, padding_idx=0), rows(torch.float32), torch.tensor([[0, 9], [11, 0]]))
    add("one_hot", lambda i: (F.one_hot(i, 7), F.one_hot(i.clamp(max=6), 9)), torch.tensor([0, 6, 3]))
    for label, dtype in INTEGERS.items():
        x = line(dtype)
        add(f"bucketize/{label}",
            lambda x, e: (torch.bucketize(x, e), torch.bucketize(x, e, right=True)), x, values(dtype)[::2])
        add(f"isin/{label}", lambda x, e: torch.isin(x, e), x, values(dtype)[::3])
        add(f"integer_scatter/{label}",
            lambda x, i: tuple(x.scatter_reduce(0, i, x.flip(0), r) for r in ("sum", "prod", "amax", "amin")),
            x, torch.arange(len(x)) % 5)


def products(add):
    for label, dtype in FLOATS.items():
        r = rows(dtype)
        add(f"linear/{label}",
            lambda x, w, b: (F.linear(x, w, b), F.linear(x[:1], w)),
            r, torch.linspace(-1, 1, 95, dtype=dtype).reshape(5, 19), torch.linspace(1, 2, 5, dtype=dtype))
        add(f"addmm/{label}",
            lambda x, w, b: (torch.addmm(b, x, w, beta=0), torch.addmm(b, x, w, alpha=0),
                             torch.addmm(b, x, w, beta=2)),
            r, torch.linspace(-1, 1, 95, dtype=dtype).reshape(19, 5), torch.tensor([NAN, INF, 0, 1, 2], dtype=dtype))


def layers(add):
    for label, dtype in FLOATS.items():
        r = rows(dtype)
        images = torch.cat([r, r.flip(1)], 1)[:, :36].reshape(-1, 4, 3, 3)
        kernel = torch.linspace(-1, 1, 4 * 4 * 9, dtype=dtype).reshape(4, 4, 3, 3)
        add(f"conv2d/{label}",
            lambda x, k: (F.conv2d(x, k, padding=1), F.conv2d(x, k[:, :1], groups=4),
                          F.conv1d(x[:, :, 0], k[:, :, 0])),
            images, kernel)
        add(f"conv_transpose2d/{label}",
            lambda x, k: (F.conv_transpose2d(x, k), F.conv_transpose1d(x[:, :, 0], k[:, :, 0])), images, kernel)
        add(f"resize/{label}",
            lambda x: tuple(F.interpolate(x, scale_factor=2, mode=m) for m in ("nearest", "nearest-exact", "bilinear", "bicubic")),
            images)
        add(f"gru.input/{label}",
            lambda x, h, *w: torch.gru(x, h, w, True, 1, 0.0, False, False, True),
            r[:, None, :4], torch.zeros(1, len(r), 2, dtype=dtype),
            *(torch.linspace(-2, 2, n * m, dtype=dtype).reshape(n, m) for n, m in ((6, 4), (6, 2))),
            *(torch.linspace(0, 1, 6, dtype=dtype) for _ in range(2)))
        add(f"lstm.input/{label}",
            lambda x, h, *w: torch.lstm(x, (h, h), w, True, 1, 0.0, False, False, True),
            r[:, None, :4], torch.zeros(1, len(r), 2, dtype=dtype),
            *(torch.linspace(-2, 2, n * m, dtype=dtype).reshape(n, m) for n, m in ((8, 4), (8, 2))),
            *(torch.linspace(0, 1, 8, dtype=dtype) for _ in range(2)))
        add(f"matmul/{label}",
            lambda x, w: (x @ w, torch.mv(x, w[:, 0]), torch.dot(x[3], x[2]), torch.bmm(x[None], w[None])),
            r, torch.linspace(-1, 1, 95, dtype=dtype).reshape(19, 5))
        add(f"outer/{label}",
            lambda x: (torch.outer(x[0], x[1]), torch.addr(x[:19], x[3], x[2]),
                       torch.addmv(x[0], x[:19], x[2], beta=0)),
            r)
        add(f"baddbmm/{label}",
            lambda x, w, b: (torch.baddbmm(b, x[None], w[None], beta=0), torch.addbmm(b[0], x[None], w[None], beta=0)),
            r, torch.linspace(-1, 1, 95, dtype=dtype).reshape(19, 5), torch.full((1, len(r), 5), NAN, dtype=dtype))
        add(f"attention/{label}",
            lambda q, k, v, m: (F.scaled_dot_product_attention(q, k, v), F.scaled_dot_product_attention(q, k, v, m)),
            r[None, :8], r[None, 12:19], r[None, 2:9],
            torch.tensor([[-INF] * 7, [0.0] * 7, *[[0.0, -INF] * 3 + [1e20]] * 6], dtype=dtype))


def positions(add):
    for label, dtype in FLOATS.items():
        grid = torch.stack(pairs(dtype), -1)[None, None]
        volume = torch.stack(triples(dtype), -1)[None, None, None]
        image, block = (torch.linspace(-1, 2, 24, dtype=dtype).reshape(shape) for shape in ((1, 2, 3, 4), (1, 2, 2, 2, 3)))
        for mode in ("bilinear", "nearest", "bicubic") if dtype in (torch.float32, torch.float64) else ():  # of 16 bits: refused
            for padding in ("zeros", "border", "reflection"):
                def sample(x, g, mode=mode, padding=padding):
                    return tuple(F.grid_sample(x, g, mode, padding, corners) for corners in (False, True))
                add(f"grid_sample/{mode}/{padding}/{label}", sample, image, grid)
                if mode != "bicubic":
                    add(f"grid_sample_volume/{mode}/{padding}/{label}", sample, block, volume)
        add(f"affine_grid/{label}", lambda t: tuple(F.affine_grid(t, (1, 1, 2, 3), corners) for corners in (False, True)),
            torch.tensor([[[1e20, -1, NAN], [INF, 0.0, 1e-39]]], dtype=dtype))
        a = torch.tensor([[2, NAN, INF], [1e20, -3, NAN], [1e-39, INF, 0.5]], dtype=dtype)
        add(f"solve_triangular/{label}",
            lambda a, b: (torch.linalg.solve_triangular(a, b, upper=True), torch.linalg.solve_triangular(a.t(), b, upper=True, unitriangular=True)),
            a.triu(), torch.tensor([[1, INF, NAN, 1e20], [0.0, -0.0, 1e-39, 3], [1, 2, 3, 1e30]], dtype=dtype))


WRITTEN = (numbers, elementwise, activations, integers, casts, reductions, norms, indices, products, layers, positions)

MOVES, SAME = "moves elements only", "decomposed by PyTorch, or the same arithmetic as a rule that is swept"
UNSWEPT = {  # rule or file.cpp: reason
    "join.cpp": MOVES, "view.cpp": MOVES, "view_write.cpp": MOVES, "pad.cpp": MOVES, "factory.cpp": "no operands, or fills",
    "patches.cpp": MOVES + ", but cross and cdist, which are swept", "upsample.cpp": "sums with fixed weights: resize",
    **dict.fromkeys(["max_pool3d", "max_pool3d_with_indices", "avg_pool3d", "adaptive_avg_pool3d", "_adaptive_avg_pool3d",
                     "adaptive_max_pool3d"], "two pools of images, which are swept"),
    "mvlgamma": "sums of lgamma, which is swept",
    **dict.fromkeys(["logcumsumexp", "_logcumsumexp"], "the reference's own sum by parts; its cases have infinities and NaN"),
    "conv.cpp": "conv2d, conv_transpose2d", "attention.cpp": "attention",
    **dict.fromkeys(["dropout", "native_dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"], "does nothing"),
    **dict.fromkeys(["_native_batch_norm_legit.no_stats",
                     "_native_batch_norm_legit_functional", "_native_batch_norm_legit_no_training", "_batch_norm_no_update",
                     "max_pool1d", "max_pool1d_with_indices", "avg_pool1d", "adaptive_avg_pool1d", "adaptive_max_pool1d"], SAME),
    **dict.fromkeys(["bilinear", "_trilinear", "_grouped_mm"], "products as matmul's"),
    "linalg.cpp": "ends of factorizations are LAPACK's: solve_triangular",
    "nonzero": "sizes that depend on data are guarded: masked_scatter",
}


def all_cases():
    cases = {case.name: case for case in found_cases()}

    for fill in WRITTEN:
        def add(name, call, *inputs, rounds=fill in (reductions, norms, products, layers, positions)):
            if name in cases:
                raise ValueError(f"two cases {name}")
            cases[name] = Case(name, call, inputs, rounds)
        fill(add)
    return cases
