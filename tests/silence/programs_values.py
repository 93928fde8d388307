"""Numbers that leave the graph, where Python and the graph might not agree: rounding, overflow, comparisons of kinds, what
functions in C read."""

import bisect
import decimal
import enum
import fractions
import functools
import heapq
import itertools
import math
import operator
import random
import struct

import numpy as np
import torch
import torch.nn.functional as F
from harness import case, gradient_of

ONE = torch.ones(2)


def doubles(*values):
    return [(torch.tensor([value], dtype=torch.float64),) for value in values]


def floats(*values):
    return [(torch.tensor([value]),) for value in values]


def whole(*values):
    return [(torch.tensor([value]),) for value in values]


def rows(*values):
    return [(torch.tensor(value),) for value in values]


@case(doubles(0.5)[0], doubles(0.5, 1.115, 2.675, 0.125, 1.005, -1.115))
def rounded_to_cents():
    return lambda x: x * 0 + round(x.item(), 2)


@case(doubles(3.0)[0], doubles(3.0, 1e200, -1e200, 2.0))
def caught_overflow_of_power():
    def program(x):
        try:
            return x * 0 + x.item() ** 2
        except OverflowError:
            return x * 0 - 1

    return program


@case(floats(1.0)[0], floats(1.0, 800.0, -800.0, 2.0))
def caught_overflow_of_exp():
    def program(loss):
        try:
            perplexity = math.exp(loss.item())
        except OverflowError:
            perplexity = 1e9
        return ONE * perplexity

    return program


@case(floats(2.0)[0], floats(2.0, 800.0, 1.0))
def caught_overflow_of_cosh():
    def program(x):
        try:
            return ONE * math.cosh(x.item())
        except OverflowError:
            return ONE * -3.0

    return program


@case(floats(2.0)[0], floats(2.0, float("inf"), 1.0))
def caught_domain_of_sine():
    def program(x):
        try:
            return ONE * math.sin(x.item())
        except ValueError:
            return ONE * -3.0

    return program


@case(floats(4.0)[0], floats(4.0, -4.0, float("nan"), 9.0))
def caught_root_of_negative():
    def program(x):
        try:
            return ONE * math.sqrt(x.item())
        except ValueError:
            return ONE * -3.0

    return program


@case(floats(2.0)[0], floats(2.0, float("nan"), float("inf"), 3.0))
def caught_int_of_nan():
    def program(x):
        try:
            return ONE * int(x.item())
        except (ValueError, OverflowError):
            return ONE * -1

    return program


@case(floats(2.0)[0], floats(2.0, 0.0, 4.0))
def caught_division_by_zero():
    def program(x):
        try:
            return ONE * (1.0 / x.item())
        except ZeroDivisionError:
            return ONE * 1e6

    return program


@case(whole(5)[0], whole(5, 2**53 + 1, 2**53, 7))
def large_id_against_float():
    return lambda ids: ONE * (2.0 if ids.item() > 9007199254740992.0 else 3.0)


@case(whole(5)[0], whole(5, 2**62, -(2**62), 7))
def squared_id():
    return lambda ids: ONE * float((ids.item() * ids.item()) % 1000003)


@case(whole(12345)[0], whole(12345, 2**40 + 17, -5))
def linear_congruential():
    def program(seed):
        state = seed.item()
        for _ in range(3):
            state = (state * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
        return ONE * (state >> 40)

    return program


@case(floats(7.5)[0], floats(7.5, -7.5, 0.3, -0.3))
def divmod_of_float():
    def program(x):
        quotient, rest = divmod(x.item(), 2.0)
        return ONE * quotient + rest

    return program


@case(whole(7)[0], whole(7, -7, 0, 100))
def divmod_of_negative():
    def program(x):
        quotient, rest = divmod(x.item(), -3)
        return ONE * quotient * 100 + rest

    return program


@case(floats(0.7)[0], floats(0.7, 1.7, 0.2, 5.0))
def clipped_by_min_max():
    return lambda x: ONE * min(max(x.item(), 0.5), 1.5)


@case(rows([1.0, 5.0, 3.0])[0], rows([1.0, 5.0, 3.0], [9.0, 5.0, 3.0], [1.0, 5.0, 7.0]))
def largest_of_list():
    def program(x):
        values = x.tolist()
        return ONE * (max(values) - min(values))

    return program


@case(rows([1.0, 5.0, 3.0])[0], rows([1.0, 5.0, 3.0], [9.0, 5.0, 3.0], [float("nan"), 5.0, 7.0]))
def largest_with_nan():
    return lambda x: ONE * max(x.tolist())


@case(rows([3.0, 1.0, 2.0])[0], rows([3.0, 1.0, 2.0], [1.0, 2.0, 3.0], [2.0, 2.0, 1.0]))
def median_of_sorted():
    return lambda x: ONE * sorted(x.tolist())[1]


@case(floats(0.35)[0], floats(0.35, 0.05, 0.95, 0.5))
def bisect_of_bins():
    edges = [0.1, 0.25, 0.5, 0.75]
    return lambda x: ONE * bisect.bisect(edges, x.item())


@case(rows([3, 1, 2])[0], rows([3, 1, 2], [1, 2, 3], [5, 5, 5]))
def heap_of_numbers():
    def program(x):
        heap = x.tolist()
        heapq.heapify(heap)
        return ONE * heapq.heappop(heap)

    return program


@case(rows([3, 1, 2])[0], rows([3, 1, 2], [1, 2, 3], [0, 0, 5]))
def accumulated():
    return lambda x: torch.tensor([float(v) for v in itertools.accumulate(x.tolist())])


@case(rows([3, 1, 2])[0], rows([3, 1, 2], [1, 2, 3], [0, 0, 5]))
def any_and_all():
    def program(x):
        values = x.tolist()
        return ONE * (any(v > 2 for v in values) + 2 * all(v > 0 for v in values))

    return program


@case(rows([1.0, 2.0, 3.0])[0], rows([1.0, 2.0, 3.0], [4.0, 2.0, 9.0]))
def exact_sum_of_list():
    return lambda x: ONE * math.fsum(x.tolist())


@case(rows([0.1, 0.2, 0.3])[0], rows([0.1, 0.2, 0.3], [4.0, 2.0, 9.0]))
def sum_with_start():
    return lambda x: ONE * sum(x.tolist(), 10.0)


@case(floats(0.5)[0], floats(0.5, 0.1, 3.0))
def decimal_of_item():
    return lambda x: ONE * float(decimal.Decimal(x.item()) * 2)


@case(whole(6)[0], whole(6, 4, -9))
def fraction_of_item():
    return lambda x: ONE * float(fractions.Fraction(x.item(), 4))


@case(floats(0.5)[0], floats(0.5, 0.1, 3.0))
def packed_bytes():
    return lambda x: ONE * struct.pack("<f", x.item())[3]


@case(whole(5)[0], whole(5, 200, -1))
def two_bytes():
    return lambda x: ONE * len(x.item().to_bytes(2, "little", signed=True)) + x.item()


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@case(whole(1)[0], whole(1, 2, 1))
def enum_of_item():
    return lambda x: ONE * (10.0 if Level(x.item()) is Level.LOW else 20.0)


@case(whole(1)[0], whole(1, 2, 3))
def number_against_enum():
    return lambda x: ONE * (10.0 if x.item() == Level.LOW else 20.0)


@case(whole(3)[0], whole(3, 7, 11, 20))
def number_in_range():
    return lambda x: ONE * (10.0 if x.item() in range(0, 12, 2) else 20.0)


@case(whole(20000)[0], whole(20000, 29999, 30001), expect=("right", "refused"))
def number_in_wide_range():
    return lambda x: ONE * (10.0 if x.item() in range(30000) else 20.0)


@case(whole(3)[0], whole(3, 7, 11))
def match_of_pair():
    def program(x):
        match (x.item() % 4, x.item() > 5):
            case (3, False):
                return ONE
            case (3, True):
                return ONE * 2
            case (int() as rest, _):
                return ONE * rest * 3

    return program


@case(whole(3)[0], whole(3, 8, 11))
def text_as_key():
    names = {"3": 1.0, "8": 2.0}
    return lambda x: ONE * names.get(f"{x.item():d}", 9.0)


@case(whole(3)[0], whole(3, 8, 11))
def padded_format():
    return lambda x: ONE * float(format(x.item(), "05d").count("0"))


@case(whole(3)[0], whole(3, 8, 3))
def seeded_by_number():
    def program(x):
        generator = random.Random(x.item())
        return ONE * generator.random()

    return program


@case(whole(3)[0], whole(3, 8, 3))
def torch_seeded_by_number():
    def program(x):
        torch.manual_seed(x.item())
        return ONE + torch.rand(2)

    return program


@case(whole(3)[0], whole(3, 8, 3))
def numpy_seeded_by_number():
    return lambda x: ONE * float(np.random.RandomState(x.item()).rand())


@case(rows([[1.0, 2.0], [3.0, 4.0]])[0], rows([[1.0, 2.0], [3.0, 4.0]], [[5.0, 0.0], [0.0, 1.0]]))
def transposed_by_zip():
    return lambda x: torch.tensor(list(zip(*x.tolist())))


@case(rows([2, 5])[0], rows([2, 5], [5, 2], [0, 9]))
def slice_of_two_numbers():
    def program(x):
        first, last = sorted(x.tolist())
        return torch.arange(10.0)[first:last].sum()

    return program


@case(rows([2, 5])[0], rows([2, 5], [5, 2], [1, 1]))
def reduced_by_operator():
    return lambda x: ONE * functools.reduce(operator.xor, x.tolist(), 7)


@case((torch.tensor([200], dtype=torch.uint8),), [(torch.tensor([v], dtype=torch.uint8),) for v in (200, 10, 255)])
def byte_arithmetic():
    def program(x):
        return (x + x.item()).float() + (x.item() + x.item()) * ONE

    return program


@case((torch.tensor([1.5], dtype=torch.bfloat16), torch.randn(4).bfloat16()),
      [(torch.tensor([v], dtype=torch.bfloat16), torch.randn(4).bfloat16()) for v in (1.5, 3.3, 0.01)])
def bfloat_scaled_by_thirds():
    return lambda s, x: x * (s.item() / 3)


@case((torch.tensor(1.5), torch.randn(64).half()), [(torch.tensor(v), torch.randn(64).half()) for v in (1.5, 1.0004, 0.3333)])
def half_scaled_by_float():
    return lambda s, x: x * s.item()


@case((torch.tensor(40000.0), torch.rand(4).half()), [(torch.tensor(v), torch.rand(4).half()) for v in (40000.0, 90000.0, 1.0)])
def half_scaled_beyond_its_range():
    return lambda s, x: (x * 1e-2) * s.item()


@case((torch.tensor(2.5), torch.arange(4)), [(torch.tensor(v), torch.arange(4)) for v in (2.5, 0.1, -3.0)])
def integers_scaled_by_float():
    return lambda s, x: (x * s.item(), x > s.item(), x // s.item())


@case((torch.tensor(3), torch.arange(4, dtype=torch.int8)), [(torch.tensor(v), torch.arange(4, dtype=torch.int8)) for v in (3, 100, -100)])
def small_integers_overflow():
    return lambda n, x: x * n.item()


@case(floats(2.5)[0], floats(2.5, 3.5, -2.5, 1e10))
def floor_and_ceil():
    return lambda x: ONE * math.floor(x.item()) + math.ceil(x.item()) * 10 + math.trunc(x.item()) * 100


@case(floats(2.5)[0], floats(2.5, -1.0, 7.0))
def hypot_and_copysign():
    return lambda x: ONE * math.hypot(x.item(), 2.0) + math.copysign(3.0, x.item())


@case(doubles(500.0)[0], doubles(500.0, 1000.0, 1e6, 1e15, 1e-3))
def digits_by_log10():
    return lambda x: (x.log10().floor(), ONE * (math.floor(math.log10(x.item())) + 1))


@case(floats(500.0)[0], floats(500.0, 1000.0, 1e6, 1e13))
def digits_by_log10_of_narrow_numbers():
    return lambda x: (x.log10().floor(), x.log10() == x.log10().round())


SIDES = [(torch.tensor([33.0 * k, 21.0 * k, 3.0 * k]), torch.tensor([56.0 * k, 220.0 * k, 4.0 * k])) for k in (0.3, 1.0, 3.0, 37.0)]


@case(SIDES[0], SIDES)
def whole_hypotenuses():
    return lambda a, b: (torch.hypot(a, b).floor(), torch.hypot(a.double(), b.double()).floor(), torch.complex(a, b).abs().floor())


@case((torch.tensor([0, 2]),), [(torch.tensor(ids),) for ids in ([0, 2], [-1, 0], [-3, -2], [1, 1])])
def filled_from_the_end():
    return lambda ids: torch.zeros(2, 3).index_fill(1, ids, 5.0)


IMAGE = torch.arange(12.0).view(1, 1, 3, 4)
IMAGES = [(torch.full((1, 1, 3, 4), 2.0),), (IMAGE,), (IMAGE.where(IMAGE != 5, float("inf")),), (IMAGE.where(IMAGE != 6, float("nan")),)]


@case(IMAGES[0], IMAGES)
def sides_that_keep_their_extent():
    return lambda x: (F.interpolate(x, scale_factor=1.2, mode="nearest"), F.interpolate(x, scale_factor=1.2, mode="nearest-exact"),
                      F.interpolate(x, scale_factor=1.2, mode="bilinear"), F.interpolate(x, scale_factor=(1.3, 1.2), mode="bilinear", antialias=True),
                      F.interpolate(x, size=(3, 4), mode="bilinear", align_corners=True), F.interpolate(x, size=(3, 4), mode="bicubic", antialias=True),
                      F.interpolate(x[0], scale_factor=1.2, mode="nearest"), F.interpolate(x, size=(6, 8), mode="bilinear"))


@case(IMAGES[0], IMAGES[:2])
def doubled_by_another_scale():
    return lambda x: (F.interpolate(x, scale_factor=2.3, mode="nearest"), F.interpolate(x[:, 0], scale_factor=2.1, mode="nearest"),
                      F.interpolate(x, scale_factor=1.2, mode="bicubic"), F.interpolate(x, scale_factor=2.2, mode="nearest-exact"))


@case(whole(12)[0], whole(12, 18, 7))
def greatest_divisor():
    return lambda x: ONE * math.gcd(x.item(), 6)


@case(floats(2.5)[0], floats(2.5, -2.5, 0.0))
def number_or_else():
    return lambda x: ONE * (x.item() or 4.0) * (1 if not x.item() < 0 else 2)


@case(floats(2.5)[0], floats(2.5, -2.5, 0.4))
def chained_comparison():
    return lambda x: ONE * (2.0 if -1.0 < x.item() <= 0.5 < 1.0 else 3.0)


@case((torch.tensor([1, 1]), torch.tensor([2.0, 3.0])),
      [(torch.tensor(i), torch.tensor(v)) for i, v in (([1, 1], [2.0, 3.0]), ([0, 2], [2.0, 3.0]), ([2, 2], [1.0, 5.0]))])
def duplicates_in_scatter():
    def program(index, values):
        return torch.zeros(3).scatter_add(0, index, values), torch.zeros(3).index_put((index,), values, accumulate=True)

    return program


@case(rows([0, 1, 2])[0], rows([0, 1, 2], [2, 2, 0], [1, 5, 0]))
def caught_gather():
    table = torch.tensor([1.0, 2.0, 3.0])

    def program(index):
        try:
            return table.gather(0, index)
        except RuntimeError:
            return torch.zeros(3)

    return program


@case(rows([0, 1, 2])[0], rows([0, 1, 2], [2, 2, 0], [1, 5, 0], [-1, 0, 0]))
def caught_one_hot():
    def program(index):
        try:
            return F.one_hot(index, 3)
        except RuntimeError:
            return torch.zeros(3, 3).long()

    return program


@case(rows([0, 1, 2])[0], rows([0, 1, 2], [2, 2, 0], [1, 5, 0]))
def caught_loss_target():
    scores = torch.eye(3)

    def program(target):
        try:
            return F.cross_entropy(scores, target)
        except (IndexError, RuntimeError):
            return torch.tensor(-1.0)

    return program


@case((torch.eye(2), torch.ones(2)), [(torch.eye(2), torch.ones(2)), (torch.zeros(2, 2), torch.ones(2))])
def caught_solve():
    def program(a, b):
        try:
            return torch.linalg.solve(a, b)
        except RuntimeError:
            return b * 0 - 1

    return program


def pairs_of(dtype, *pairs):
    return [(torch.tensor([a, 0], dtype=dtype), torch.tensor([b, 0], dtype=dtype)) for a, b in pairs]


@case(pairs_of(torch.int8, (10, 11))[0], pairs_of(torch.int8, (12, 11), (127, -128), (-128, 127), (5, 8)))
def allclose_of_bytes_that_wrap():
    return lambda a, b: a + b if torch.allclose(a, b, atol=2) else a * 0


@case(pairs_of(torch.uint8, (10, 11))[0], pairs_of(torch.uint8, (12, 11), (11, 12), (0, 255), (255, 0)), expect=("refused",))
def allclose_of_unsigned_bytes():
    return lambda a, b: (a if torch.allclose(a, b, atol=2) else b) * 1


@case(pairs_of(torch.uint8, (10, 11))[0], pairs_of(torch.uint8, (11, 12), (12, 11)), expect=("right",))
def allclose_of_unsigned_bytes_in_order():
    return lambda a, b: (a if torch.allclose(a, b, atol=2) else b) * 1


@case(pairs_of(torch.int64, (10, 10))[0], pairs_of(torch.int64, (2**62, -(2**62)), (-(2**63), 2**63 - 1)))
def allclose_of_longs_that_wrap():
    return lambda a, b: (a if torch.allclose(a, b, rtol=0.0, atol=0.5) else b) * 1


@case(pairs_of(torch.int64, (10, 10))[0], pairs_of(torch.int64, (2**53, 2**53 + 1), (2**53, 2**53)), expect=("right",))
def allclose_of_longs_as_floats():
    return lambda a, b: (a if torch.allclose(a, b, rtol=0.0, atol=0.5) else b) * 1


@case(pairs_of(torch.int64, (10, 10))[0], pairs_of(torch.int64, (2**53, 2**53 + 1), (2**53, 2**53)))
def allclose_of_longs_exactly():
    return lambda a, b: a + b if torch.allclose(a, b, rtol=0.0, atol=0.0) else a * 0


def slope(function, x):
    return gradient_of(lambda x: function(x).sum())(x)


@case(rows([1.0, 2.0])[0], rows([1.0, math.nan], [math.nan, math.inf]), expect=("right",))
def slope_of_smooth_l1_at_nan():
    target = torch.tensor([1.5, 0.0])
    return lambda x: torch.stack([slope(lambda v: F.smooth_l1_loss(v, target, beta=beta), x) for beta in (0.5, 1.0)])


@case((torch.ones(64),), [(torch.full((64,), value),) for value in (math.nan, 3.0, -3.0, 5.0, -5.0, 1.0)], expect=("right",))
def slope_of_hardswish_at_its_ends():
    weight = torch.arange(64.0) + 1
    return lambda x: slope(lambda v: F.hardswish(v) * weight, x)


@case((torch.ones(2, 3),), [(torch.full((2, 3), math.nan),), (torch.eye(2, 3) * math.nan,)], expect=("right",))
def slope_of_cdist_at_nan():
    return lambda x: slope(lambda v: torch.cdist(v, torch.zeros(2, 3), p=1.0), x)


@case(torch.tensor([0.3, 0.5]), [torch.tensor([0.9, 0.1]), torch.tensor([1e-4, 1.0])], expect=("right", "refused"))
def distributions_that_look_at_their_arguments():
    def program(x):
        normal = torch.distributions.Normal(x, x + 1)
        bernoulli = torch.distributions.Bernoulli(probs=x / 2)
        return normal.log_prob(x * 2), bernoulli.log_prob(torch.ones(2)), bernoulli.entropy()

    return program


@case((torch.randn(4, 3), torch.rand(4, 3)), [(torch.randn(4, 3) * 50, torch.rand(4, 3)), (torch.zeros(4, 3), torch.ones(4, 3))], expect=("right",))
def binary_cross_entropy_of_logits():
    weight, positive = torch.tensor([0.5, 1.0, 2.0]), torch.tensor([3.0, 1.0, 0.1])

    def program(x, y):
        plain = F.binary_cross_entropy_with_logits(x, y)
        weighted = F.binary_cross_entropy_with_logits(x, y, weight=weight, pos_weight=positive, reduction="none")
        return plain, weighted, F.binary_cross_entropy_with_logits(x, y, pos_weight=positive, reduction="sum")

    return program


GROUPS = [(torch.tensor(v), torch.randn(4)) for v in ([0, 1, 1, 3], [3, 3, 3, 3], [0, 1, 2, 4], [0, 0, -1, 0])]


@case(GROUPS[0], GROUPS, expect=("refused",))
def counts_of_groups():
    """A number of minlength or more makes eager's result longer."""
    return lambda i, w: (torch.bincount(i, minlength=4), i.bincount(w, 4), torch.bincount(i, w.double(), minlength=5))


@case((torch.randn(9),), [(torch.randn(9),), (torch.tensor([math.nan, 1e9, -1e9, math.inf, -math.inf, 0.05, 0.15, -0.05, 0.25]),)], expect=("right",))
def quantized_and_back():
    return lambda x: (torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -8, 7), torch.fake_quantize_per_tensor_affine(x, 0.013, 0, 0, 255))
