"""Arguments and results: identity, attributes and memory of what is given, and what comes back."""

import array
import collections
import dataclasses
import decimal
import fractions
import functools
import operator
import re
import types
import typing

import numpy as np
import torch
import torch.nn.functional as F
from harness import Call, case
from torch import nn

A, B = torch.randn(2, 3), torch.randn(2, 3)
IMAGES = [torch.randn(2, 3, 4, 4) for _ in range(3)]


def tagged(tensor, **attributes):
    made = tensor.clone()
    made.__dict__.update(attributes)
    return made


@case(Call((tagged(A, scale=2.0),)), [Call((tagged(A, scale=2.0),)), Call((tagged(B, scale=5.0),)), Call((B,))])
def attribute_of_input():
    return lambda x: x * getattr(x, "scale", 1.0)


@case(Call((A,)), [Call((A,)), Call((tagged(B, scale=5.0),))])
def attribute_of_later_input():
    return lambda x: x * getattr(x, "scale", 1.0)


@case(Call((tagged(A, mask=B),)), [Call((tagged(A, mask=B),)), Call((tagged(B, mask=A),))])
def tensor_attribute_of_input():
    return lambda x: x * (x.mask if hasattr(x, "mask") else 7)


def one_list():
    held = [A.clone()]
    return Call((held, held))


@case(one_list(), [one_list(), Call(([A.clone()], [A.clone()]))])
def one_list_twice():
    def program(a, b):
        a.append(a[0] * 2)
        return sum(b)

    return program


@case(Call(([A.clone()], [A.clone()])), [Call(([A.clone()], [A.clone()])), one_list()])
def two_lists_then_one():
    def program(a, b):
        a.append(a[0] * 2)
        return sum(b)

    return program


@case(Call(([A.clone()], [A.clone()])), [Call(([A.clone()], [A.clone()])), one_list()])
def identity_of_lists():
    return lambda a, b: a[0] * (2 if a is b else 3)


@dataclasses.dataclass
class Cache:
    keys: typing.Any = None
    used: int = 0


def one_cache():
    cache = Cache(A.clone())
    return Call((B, {"encoder": cache, "decoder": cache}))


@case(one_cache(), [one_cache(), Call((B, {"encoder": Cache(A.clone()), "decoder": Cache(A.clone())}))])
def one_cache_under_two_names():
    def program(x, caches):
        caches["encoder"].used += 1
        caches["encoder"].keys = caches["encoder"].keys + x
        return caches["decoder"].keys * (caches["decoder"].used + 1)

    return program


@case((IMAGES[0],), [(IMAGES[0],), (IMAGES[1].to(memory_format=torch.channels_last),), (IMAGES[2],)])
def channels_last_matters():
    return lambda x: x * (2 if x.is_contiguous(memory_format=torch.channels_last) else 3)


@case((A,), [(A,), (torch.randn(3, 2).t(),), (torch.randn(2, 6)[:, ::2],)])
def transposed_matters():
    return lambda x: x * (2 if x.stride(0) < x.stride(1) else 3)


@case((A,), [(A,), (torch.randn(1, 3).expand(2, 3),), (B,)])
def expanded_matters():
    return lambda x: x * (2 if 0 in x.stride() else 3)


@case((A,), [(A,), (torch.randn(4, 3)[2:],), (B,)])
def offset_matters():
    return lambda x: x * (2 if x.storage_offset() else 3)


@case((A,), [(A,), (torch.randn(4, 3)[2:],), (B,)])
def size_of_storage():
    return lambda x: x * float(x.untyped_storage().nbytes())


@case((A,), [(A,), (torch.randn(4, 3)[2:],), (B,)])
def is_a_view():
    return lambda x: x * (2 if x._is_view() else 3) + (x._base is None)


@case((A,), [(A,), (B,)], expect=("right",))
def type_text():
    return lambda x: x * (2 if x.type() == "torch.FloatTensor" else 3)


@case((A,), [(A,), (B,)], expect=("right",))
def number_of_device():
    return lambda x: x * (2 if x.get_device() == -1 and x.device.index is None else 3)


@case((A,), [(A,), (B,)])
def is_leaf_and_friends():
    return lambda x: x * (1 + x.is_leaf + 2 * x.is_floating_point() + 4 * x.is_shared() + 8 * x.is_pinned() + x.element_size() + x.nbytes)


@case((torch.randn(0, 3),), [(torch.randn(0, 3),), (torch.randn(0, 3),)])
def empty_rows():
    return lambda x: (x.sum(0), x.mean(0), torch.cat([x, torch.ones(1, 3)]))


@case((torch.tensor(2.0),), [(torch.tensor(v),) for v in (2.0, -1.0, 0.0)])
def scalar_in_scalar_out():
    return lambda x: (x.reshape(1), x[None], x.expand(3), x.item())


@case((torch.tensor([True, False, True]),), [(torch.tensor(v),) for v in ([True, False, True], [False, False, False])])
def bool_arithmetic():
    return lambda x: (x.sum(), x + x, x * 3, ~x, x.float().mean(), x ^ True)


@case((torch.arange(6, dtype=torch.int16).reshape(2, 3),), [(torch.arange(6, dtype=torch.int16).reshape(2, 3) - n,) for n in (0, 9, 300)])
def short_integers():
    return lambda x: (x * x, x.sum(), x // 2, x % 4, x.abs().max(), x.float() / 2)


@case((torch.randn(3).double(),), [(torch.randn(3).double(),), (torch.randn(3).double() * 1e30,)])
def doubles_stay_doubles():
    return lambda x: (x * 2, x.sum(), x.float(), (x * 1e-30).exp())


@case((A.half(),), [(A.half(),), (B.half() * 1000,)])
def half_sums():
    return lambda x: (x.sum(), x * x, x.softmax(-1), x.float().mean())


@case((A,), [(A,), (B,)])
def views_of_inputs():
    def program(x):
        return x.t(), x[:, :2], x.reshape(-1), x.expand(2, 2, 3), x.unfold(1, 2, 1)

    return program


@case((A,), [(A,), (B,)])
def strided_view():
    return lambda x: x.as_strided((2, 2), (1, 2), 1) * 2


@case((A, torch.zeros(2, 3)), [(A, torch.zeros(2, 3)), (B, torch.ones(2, 3))])
def out_argument():
    def program(x, target):
        torch.add(x, 1, out=target)
        return target * 2

    return program


@case((A,), [(A,), (B,)])
def one_tensor_three_times():
    def program(x):
        y = x * 2
        return {"a": y, "b": [y, y], "c": y[0]}

    return program


@case((A,), [(A,), (B,)])
def result_written_afterwards():
    def program(x):
        y = x * 2
        results = [y]
        y.add_(1)
        return results, y.view(-1)

    return program


@case((A,), [(A,), (B,)], expect=("right",))
def result_of_max():
    return lambda x: x.max(1)


@case((A,), [(A,), (B,)])
def default_dict_result():
    def program(x):
        made = collections.defaultdict(list)
        for i, row in enumerate(x):
            made["even" if i % 2 == 0 else "odd"].append(row)
        return made

    return program


@case((A,), [(A,), (B,)])
def generator_result():
    def program(x):
        for row in x:
            yield row * 2

    return program


@case((A,), [(A,), (B,)])
def decimal_result():
    return lambda x: (x * 2, decimal.Decimal(str(round(x.mean().item(), 3))))


@case((A,), [(A,), (B,)])
def constant_exotic_results():
    return lambda x: (x * 2, fractions.Fraction(1, 3), range(3), slice(1, 2), {1, 2}, b"ab", complex(1, 2), float("nan"), ...)


@case((A,), [(A,), (B,)])
def numpy_scalar_result():
    return lambda x: (np.float32(2.5), np.int64(3), x.argmax().numpy(), np.bool_(True), x * 2)


@case((torch.tensor([3]),), [(torch.tensor([v]),) for v in (3, 4, 3)])
def key_of_result_from_number():
    return lambda x: {f"step_{x.item()}": x * 2}


@case((torch.tensor([2]), A), [(torch.tensor([v]), A) for v in (2, 3, 1)])
def length_of_result_from_number():
    return lambda n, x: [x * i for i in range(n.item())]


@case(Call((A,), {"n": np.int64(3)}), [Call((A,), {"n": np.int64(3)}), Call((B,), {"n": np.int64(4)}), Call((B,), {"n": 3})])
def numpy_integer_argument():
    return lambda x, n: x * int(n) + (0 if isinstance(n, np.generic) else 1)


@case(Call((A, np.array(2.0, dtype=np.float32))), [Call((A, np.array(v, dtype=np.float32))) for v in (2.0, 3.0)])
def numpy_zero_dim_argument():
    return lambda x, n: x * torch.as_tensor(n)


@case(Call((A, array.array("f", [1.0, 2.0]))), [Call((A, array.array("f", [1.0, 2.0]))), Call((A, array.array("f", [3.0, 2.0])))])
def array_array_argument():
    return lambda x, a: x * a[0]


@case(Call((A, {1: A, (2, 3): B})), [Call((A, {1: A, (2, 3): B})), Call((A, {1: B, (2, 3): A})), Call((A, {(2, 3): A, 1: B}))])
def keys_that_are_no_texts():
    return lambda x, d: x * next(iter(d.values())) + d[2, 3]


@case(Call((A, [[], [B, None]], ({},))), [Call((A, [[], [B, None]], ({},))), Call((A, [[], [A, None]], ({},))), Call((A, [[], [A, B]], ({},)))])
def nested_with_none():
    return lambda x, nested, rest: x * nested[1][0] * (2 if nested[1][1] is None else 3) + len(nested[0]) + len(rest[0])


@case(Call((A, slice(0, 1))), [Call((A, slice(0, 1))), Call((B, slice(0, 2)))])
def slice_argument():
    return lambda x, s: x[s] * 2


@case(Call((A, range(3))), [Call((A, range(3))), Call((B, range(2))), Call((B, [0, 1, 2]))])
def range_argument():
    return lambda x, steps: x * sum(steps) + (1 if isinstance(steps, range) else 2)


@case(Call((A, iter([1.0, 2.0]))), [Call((A, iter([1.0, 2.0]))), Call((B, iter([3.0, 2.0])))])
def iterator_argument():
    return lambda x, it: x * next(it)


@case(Call((A, torch.float64)), [Call((A, torch.float64)), Call((B, torch.float32))])
def dtype_argument():
    return lambda x, dtype: x.to(dtype) * 2


class Text(str):
    pass


@case(Call((A, Text("a"))), [Call((A, Text("a"))), Call((B, "a")), Call((B, Text("b")))])
def text_subclass_argument():
    return lambda x, t: x * (2 if type(t) is Text else 3) + len(t)


@case(Call((A, (torch.tensor([2, 3]),))), [Call((A, (torch.tensor([2, 3]),))), Call((A, (torch.tensor([3, 2]),)))])
def size_from_tensor():
    return lambda x, sizes: x.reshape(sizes[0].tolist()) * 2


@case((A,), [(A,), (B,)])
def default_tensor_is_written():
    def program(x, total=torch.zeros(2, 3)):
        total += x
        return total * 2

    return program


@case((torch.randn(3, 2), torch.tensor([3, 1, 2])),
      [(torch.randn(3, 2), torch.tensor(v)) for v in ([3, 1, 2], [2, 3, 3], [0, 1, 3])])
def mask_from_lengths():
    def program(x, lengths):
        mask = torch.arange(3)[None, :] < lengths[:, None]
        return mask, x.sum(1, keepdim=True) * mask

    return program


@case((torch.randn(2, 4, 3), torch.tensor([4, 2])), [(torch.randn(2, 4, 3), torch.tensor(v)) for v in ([4, 2], [3, 3], [2, 4])])
def ragged_by_lengths():
    def program(x, lengths):
        parts = [row[:n] for row, n in zip(x, lengths.tolist())]
        return F.pad(nn.utils.rnn.pad_sequence(parts, batch_first=True), (0, 1))

    return program


@case((torch.rand(5), torch.tensor(2)), [(torch.rand(5), torch.tensor(n)) for n in (2, 3, 1)])
def top_k_by_number():
    return lambda x, k: x.topk(int(k)).values


@case((torch.rand(6),), [(torch.rand(6),) for _ in range(3)])
def buckets():
    edges = torch.tensor([0.2, 0.5, 0.9])
    return lambda x: (torch.bucketize(x, edges), torch.bucketize(x, edges, right=True), F.one_hot(torch.bucketize(x, edges), 4))


@case((torch.rand(6),), [(torch.rand(6), ) for _ in range(3)])
def threshold_from_quantile():
    return lambda x: torch.where(x > x.quantile(0.5), x, torch.zeros(()))


@case((torch.rand(6),), [(torch.rand(6) * s,) for s in (1.0, 2.0, 0.1)])
def assert_with_text():
    def program(x):
        assert x.max().item() <= 1.0, f"largest is {x.max().item():.3f}"
        return x * 2

    return program


@case((torch.rand(6),), [(torch.rand(6) * s,) for s in (1.0, 2.0, 0.1)])
def error_text_as_answer():
    def program(x):
        try:
            if x.max().item() > 1.0:
                raise ValueError("large", 2.0)
            return x * 2
        except ValueError as error:
            return x * error.args[1] * 10

    return program


# -------------------------------------------------------------------- objects of C


ROWS = [{"score": 1.0, "id": 5.0}, {"score": 3.0, "id": 2.0}]
FIRST_ROW, SECOND_ROW = operator.itemgetter(0), operator.itemgetter(1)


def calls_with(*options):
    return [(A, option) for option in options]


@case((A, FIRST_ROW), calls_with(FIRST_ROW, operator.itemgetter(0), SECOND_ROW), expect=("refused",))
def row_by_an_itemgetter():
    return lambda x, pick: pick(x) * 2


@case((A, operator.itemgetter("score")), calls_with(operator.itemgetter("score"), operator.itemgetter("id")), expect=("refused",))
def rows_sorted_by_an_itemgetter():
    return lambda x, key: x * key(sorted(ROWS, key=key)[0])


@case((A, operator.attrgetter("shape")), calls_with(operator.attrgetter("shape"), operator.attrgetter("T.shape")), expect=("refused",))
def sizes_by_an_attrgetter():
    return lambda x, get: x * get(x)[0]


@case((A, operator.methodcaller("sum", dim=0)), calls_with(operator.methodcaller("sum", dim=0), operator.methodcaller("sum", dim=1)), expect=("refused",))
def sums_by_a_methodcaller():
    return lambda x, call: call(x)


@case((A, operator.methodcaller("mul", B)), calls_with(operator.methodcaller("mul", B), operator.methodcaller("mul", A)), expect=("right",))
def factor_in_a_methodcaller():
    return lambda x, call: call(x)


@case((A, functools.partial(torch.sum, dim=0)), calls_with(functools.partial(torch.sum, dim=0), functools.partial(torch.sum, dim=1)), expect=("refused",))
def sums_by_a_partial():
    return lambda x, call: call(x)


@case((A, types.SimpleNamespace(key=FIRST_ROW)), calls_with(types.SimpleNamespace(key=FIRST_ROW), types.SimpleNamespace(key=SECOND_ROW)), expect=("refused",))
def options_with_an_itemgetter():
    return lambda x, options: options.key(x) * 2


@case((A, re.match("a+", "aab")), calls_with(re.match("a+", "ab")), expect=("failed",))
def match_of_a_text():
    return lambda x, match: x * len(match[0])


def weighed(factor):
    made = functools.partial(torch.sum)
    made.factor = factor
    return made


@case((A, weighed(2.0)), calls_with(weighed(2.0), weighed(3.0)), expect=("refused",))
def attribute_of_a_partial():
    return lambda x, call: call(x) * call.factor


@dataclasses.dataclass
class Wrong(ValueError):
    """What its base holds is no field."""

    code: int = 1

    def __init__(self, *args):
        super().__init__(*args)


@case((A, Wrong(2.0)), calls_with(Wrong(3.0)), expect=("failed",))
def arguments_of_an_error():
    return lambda x, error: x * error.args[0]


@case((A, np.frompyfunc(lambda v: v * 2, 1, 1)), calls_with(np.frompyfunc(lambda v: v * 3, 1, 1)), expect=("failed",))
def function_made_by_numpy():
    return lambda x, function: x * function(2)


class Picks:
    """Another row from the second call on."""

    def __init__(self):
        self.pick = operator.itemgetter(0)

    def __call__(self, x):
        found = self.pick(x)
        self.pick = operator.itemgetter(1)
        return found * 2


@case((A,), [(A,), (B,), (A,)])
def itemgetter_that_changes():
    return Picks()


class Curve:
    """Keeps its factor under the name of a property, as numpy.poly1d does."""

    def __init__(self, factor):
        self.__dict__["factor"] = factor

    @property
    def factor(self):
        return self.__dict__["factor"]


@case((A, Curve(2.0)), calls_with(Curve(2.0), Curve(3.0)), expect=("refused",))
def attribute_under_a_property():
    return lambda x, curve: x * curve.factor


@case((A, np.poly1d([1.0, 2.0])), calls_with(np.poly1d([1.0, 2.0]), np.poly1d([1.0, 3.0])), expect=("refused", "failed"))
def polynomial_of_numpy():
    return lambda x, curve: x * float(curve(1.0))
