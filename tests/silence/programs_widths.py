"""Numbers in the type in which eager computes with them, and other values at the ends of what types hold."""

import logging
import math
import warnings

import numpy as np
import torch
import torch.nn.functional as F
from harness import case, gradient_of
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode


def u8(*values):
    return torch.tensor(values, dtype=torch.uint8)


def i32(*values):
    return torch.tensor(values, dtype=torch.int32)


def f64(*values):
    return torch.tensor(values, dtype=torch.float64)


BYTES = [(u8(1, 2, 25),), (u8(30, 100, 255),), (u8(255, 255, 255),)]
WHOLE = [(i32(1, 2),), (i32(2**31 - 1, 2**31 - 1),), (i32(-5, 9),)]
F32 = [(torch.tensor([1.0, 2.0, 3.0]),), (torch.tensor([1e38, -1e38, 3.0]),), (torch.tensor([3e38, -3.0, 0.0]),)]


@case(BYTES[0], BYTES, expect=("right",))
def bytes_as_shares():
    return lambda x: x / x.sum().item()


@case(WHOLE[0], WHOLE, expect=("right",))
def whole_numbers_as_shares():
    return lambda x: (x / x.sum().item(), x.sum().item() / x)


@case(BYTES[0], BYTES, expect=("right",))
def image_by_its_range():
    return lambda x: (x - x.min()) / (x.max().item() - x.min().item() + 1)


@case(BYTES[0], BYTES, expect=("right",))
def bytes_in_functions_of_floats():
    return lambda x: (torch.xlogy(x, x.sum().item()), torch.float_power(x, 1 / x.max().item()))


@case((torch.zeros(2), u8(1, 2), torch.tensor(3)), [(torch.ones(2), u8(10, 200), torch.tensor(n)) for n in (3, 100, 255)], expect=("right",))
def alpha_beside_bytes():
    return lambda x, m, n: torch.add(x, m, alpha=n.item())


@case((f64(0), torch.tensor([3.0]), f64(2)), [(f64(0), torch.tensor([3.0]), f64(p)) for p in (2, 0.1, 1 / 3)], expect=("right",), tolerance=1e-12)
def alpha_beside_doubles():
    return lambda x, y, p: torch.add(x, y, alpha=p[0].item()) - y.double() * p


@case((f64(1, 1), torch.tensor(1)), [(f64(1, 1), torch.tensor(i)) for i in (0, 1)], expect=("right",), tolerance=1e-12)
def tenths_written_into_doubles():
    def program(x, i):
        out = torch.zeros(2, dtype=torch.float64)
        out[i.item()] = 0.1
        return out + 0 * x - torch.tensor([0.1, 0.0], dtype=torch.float64)

    return program


@case((f64(1),), [(f64(3),), (f64(0.1),)], expect=("right",), tolerance=1e-12)
def doubles_stacked_beside_numbers():
    return lambda x: torch.tensor([x[0], 0.1, math.pi]) - f64(0.1, 0.1, math.pi)


@case((torch.tensor([10.0]), f64(2)), [(torch.tensor([10.0]), f64(p)) for p in (2.1, 0.3)], expect=("right",), tolerance=1e-10)
def power_in_doubles():
    return lambda x, p: torch.float_power(x, p[0].item())


@case((f64(2),), [(f64(3),), (f64(7),)], expect=("right",), tolerance=1e-12)
def complex_doubles_by_a_number():
    return lambda x: (torch.complex(x, x) * (1 / x[0].item())).real - 1


@case((torch.tensor([1.0, 2.0]), torch.tensor(2.0)), [(torch.tensor([-math.inf, -0.0]), torch.tensor(p)) for p in (0.5, -0.5, 2.0)], expect=("right",))
def roots_as_powers():
    return lambda x, p: (x ** p.item(), torch.atan2(x.pow(p.item()), torch.tensor(-1.0)))


@case((torch.tensor([[1.0, 0.0], [2.0, 1.0]]),), [(torch.tensor([[0.0, 3.0], [1e-5, 0.0]]),), (torch.zeros(2, 2),)], expect=("right",))
def truth_of_complex_numbers():
    return lambda x: torch.view_as_complex(x).bool()


@case((torch.tensor([[1.0, 2.0]]),), [(torch.tensor([[1.75, 2.0]]),)])
def number_out_of_complex_ones():
    return lambda x: x[:, 0] * torch.view_as_complex(x)[0].item().real


@case(F32[0], F32, expect=("right",))
def times_hardsigmoid():
    return lambda x: x * F.hardsigmoid(x)


@case((torch.tensor([3.0]),), [(torch.tensor([float(n)]),) for n in range(42)], expect=("right",))
def histogram_of_class_ids():
    return lambda x: torch.histc(x, 41, 0, 41)


@case((torch.tensor([True, False]),), [(torch.tensor([False, True]),)], expect=("right",))
def truths_added_not_at_all():
    return lambda x: torch.add(x, ~x, alpha=0)


@case((torch.tensor(1.5, dtype=torch.float64),), [(torch.tensor(2.5, dtype=torch.float64),)], expect=("right",))
def filled_with_a_tensor():
    return lambda x: torch.full((2,), x)


class Keeps(logging.Handler):
    def __init__(self):
        super().__init__()
        self.last = ""

    def emit(self, record):
        self.last = self.format(record)


N = [(torch.tensor([5, 6, 7]),), (torch.tensor([105, 2, 3]),), (torch.tensor([5, 1, 1]),)]


@case(N[0], N)
def message_comes_back_from_a_handler():
    logger, handler = logging.Logger("widths"), Keeps()
    logger.addHandler(handler)

    def program(n):
        logger.warning("%d", n[0].item())
        return n * len(handler.last)

    return program


@case(N[0], N)
def message_comes_back_from_a_warning():
    def program(n):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.warn(f"value {n[0].item()}")
        return n * len(str(caught[0].message))

    return program


@case(N[0], N)
def message_comes_back_from_an_exception():
    def program(n):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                warnings.warn(f"value {n[0].item()}")
            except UserWarning as warning:
                return n * len(str(warning))
        return n

    return program


@case(N[0], N)
def message_of_a_record():
    return lambda n: n * len(logging.makeLogRecord({"msg": "%d", "args": (n[0].item(),)}).getMessage())


@case(N[0], N, expect=("right",))
def message_for_people():
    logger = logging.getLogger("silence.people")

    def program(n):
        logger.info("%d", n[0].item())
        logger.debug(f"first {n[0].item()}")
        return n * 2

    return program


# ---------------------------------------------------------------- what torch refuses of numbers


@case((torch.tensor([2, 3]), torch.tensor(2)), [(torch.tensor([2, 3]), torch.tensor(n)) for n in (3, 0, -1)], expect=("refused",))
def powers_of_whole_numbers():
    def program(x, n):
        try:
            return x ** n.item()
        except RuntimeError:
            return torch.full_like(x, -7)

    return program


@case((u8(0, 0), torch.tensor(100)), [(u8(0, 0), torch.tensor(n)) for n in (255, -1, 300)], expect=("refused",))
def bytes_filled_with_a_number():
    def program(c, n):
        try:
            return c.clone().fill_(n.item())
        except RuntimeError:
            return torch.full_like(c, 255)

    return program


HALF = torch.zeros(2).half()


@case((HALF, torch.tensor(-1e3)), [(HALF, torch.tensor(n)) for n in (-1e4, -torch.inf, -1e9)], expect=("refused",))
def halves_masked_with_a_number():
    def program(scores, low):
        mask = torch.tensor([True, False])
        try:
            return scores.masked_fill(mask, low.item()), torch.full((2,), low.item(), dtype=torch.half), torch.full_like(scores, low.item())
        except RuntimeError:
            return (scores.masked_fill(mask, torch.finfo(scores.dtype).min),) * 3

    return program


@case(F32[0], F32, expect=("right",))
def arithmetic_of_an_array_without_dimensions():
    return lambda x: (x[0].numpy() * 2, x.numpy()[:1] * x[1].numpy())


# ---------------------------------------------------------------- gradients beside infinities


IMAGES = [torch.rand(1, 1, 4, 4) + 0.5 for _ in range(2)]
BLACK = torch.rand(1, 1, 4, 4)
BLACK[..., :2, :2] = 0
FAR = torch.rand(1, 1, 4, 4)
FAR[..., 2:, :2] = -torch.inf
GIVEN = [(image,) for image in (*IMAGES, BLACK)]


@case(GIVEN[0], GIVEN, expect=("right",))
def roots_of_pooled_pixels():
    return gradient_of(lambda x: F.adaptive_avg_pool2d(x, 2).sqrt().sum())


@case(GIVEN[0], GIVEN, expect=("right",))
def roots_of_padded_pixels():
    return gradient_of(lambda x: F.pad(x, (1, 1, 1, 1), mode="replicate").sqrt().sum() + F.avg_pool2d(x, 3, 1, 1).sum())


@case(GIVEN[0], GIVEN, expect=("right",))
def roots_of_the_nearest_pixels():
    return gradient_of(lambda x: F.interpolate(x, scale_factor=2, mode="nearest").sqrt().sum())


@case(GIVEN[0], [*GIVEN, (FAR,)], expect=("right",))
def largest_of_pixels_that_are_infinite():
    weights = torch.arange(1.0, 17).view(1, 1, 4, 4)
    return gradient_of(lambda x: (F.max_pool2d(x, 3, 1, 1) * weights).sum())


LOGITS = torch.randn(2, 3)


@case((LOGITS, torch.tensor([0, 1])), [(LOGITS, torch.tensor(ids)) for ids in ([2, -100], [-100, -100], [1, 1])], expect=("right",))
def every_target_is_ignored():
    return lambda x, y: gradient_of(lambda x: F.cross_entropy(x, y))(x)


@case(LOGITS, [LOGITS, LOGITS + 1], expect=("failed",))
def windows_written_in_a_backward_function():
    class Smear(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            gradient = gradient.clone()
            gradient.unfold(1, 2, 1)[:, 0].add_(1)
            return gradient

    return gradient_of(lambda x: Smear.apply(x).square().sum())


COSTS = torch.arange(12.0).reshape(3, 4)
PAIRS = [(COSTS, torch.tensor(rows), torch.tensor(columns)) for rows, columns in (
    ([0, 2], [1, 3]), ([1, 1], [0, 2]), ([0, 1], [4, 1]), ([1, 0], [-5, 2]), ([-3, -1], [-4, -1]), ([3, 0], [0, 0]), ([-4, 0], [0, 0]))]


@case(PAIRS[0], PAIRS, expect=("refused",))
def places_off_the_map():
    def program(costs, rows, columns):
        try:
            return costs[rows, columns]
        except IndexError:
            return torch.full(rows.shape, 1e6)

    return program


@case(PAIRS[0], PAIRS, expect=("refused",))
def points_drawn_off_the_canvas():
    def program(canvas, rows, columns):
        canvas = canvas.clone()
        try:
            canvas[rows, columns] = 1.0
            canvas[None, 0, columns] += 2.0
        except IndexError:
            canvas = canvas * 0
        return canvas

    return program


ENDS = [torch.tensor(ends) for ends in ([3, 5, 9, 10], [1, 2, 2, 9], [6, 10, 9, 8], [3, 1, 0, 7])]


@case(ENDS[0], ENDS, expect=("right",))
def bisection_of_whole_numbers_out_of_order():
    falling = torch.tensor([9, 5, 3])
    return lambda ends: (torch.searchsorted(ends, torch.arange(12), right=True), torch.bucketize(ends, falling), torch.bucketize(ends * 1.0, falling * 1.0))


@case((torch.zeros(2, 3, dtype=torch.uint8), torch.tensor(100)), [(torch.zeros(2, 3, dtype=torch.uint8), torch.tensor(n)) for n in (90, 300, 255, -1)],
      expect=("right", "refused"))
def level_that_no_pixel_has():
    def program(image, level):
        image = image.clone()
        try:
            image[0] = level.item()
        except RuntimeError:
            image[1] = 255
        return image

    return program


class Clipped(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        return out.clamp(-1, 1) if func in (torch.ops.aten.mm.default, torch.ops.aten.addmm.default) else out


@case(LOGITS, [LOGITS, LOGITS * 9], expect=("failed",))
def operators_seen_by_a_dispatch_mode():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, x):
            with Clipped():
                return self.layer(x)

    return Net()


def filled_by(function):
    """What gives the number of the second input to `function`, or -1 where torch raises."""
    def program(x, n):
        try:
            return function(x, n.item())
        except RuntimeError:
            return x - 1

    return program


BYTES = torch.arange(3, dtype=torch.uint8)
LEVELS = [(BYTES, torch.tensor(n)) for n in (90, 300, 255)]


@case(LEVELS[0], LEVELS, expect=("refused",))
def levels_by_where():
    return filled_by(lambda x, n: torch.where(x > 1, x, n))


@case(LEVELS[0], LEVELS, expect=("refused",))
def levels_by_scatter():
    return filled_by(lambda x, n: x.scatter(0, torch.tensor([0]), n))


@case(LEVELS[0], LEVELS, expect=("refused",))
def levels_by_clamp():
    return filled_by(lambda x, n: x.clamp(max=n))


@case(LEVELS[0], LEVELS, expect=("refused",))
def levels_by_alpha():
    return filled_by(lambda x, n: torch.add(x, x, alpha=n))


@case(LEVELS[0], LEVELS, expect=("refused",))
def levels_in_a_list():
    return filled_by(lambda x, n: torch.tensor([n, 1], dtype=x.dtype))


@case(LEVELS[0], LEVELS, expect=("refused",))
def level_as_a_tensor():
    return filled_by(lambda x, n: torch.as_tensor(n, dtype=x.dtype))


@case(LEVELS[0], LEVELS, expect=("right",))
def levels_by_arithmetic():
    return filled_by(lambda x, n: torch.stack([x + n, x * n, n - x, x // n, (x == n).byte()]) * torch.full((3,), n) + torch.where(x > 1, x * 1.0, n))


FAR_NUMBERS = [(torch.ones(3), torch.tensor(n, dtype=torch.float64)) for n in (90.0, 1e300, -3.0)]


@case(FAR_NUMBERS[0], FAR_NUMBERS, expect=("right",))
def numbers_that_are_infinite_as_floats():
    return filled_by(lambda x, n: torch.stack([torch.tensor([n, n, n], dtype=x.dtype), x * n, x + n, x**n]))


@case(FAR_NUMBERS[0], FAR_NUMBERS, expect=("refused",))
def floats_limited_by_a_larger_number():
    return filled_by(lambda x, n: x.clamp(max=n))


STAMPS = [(torch.tensor(times), torch.tensor(now, dtype=torch.float64)) for times, now in (
    ([10, 20, 30], 24.5), ([16777217, 16777219, 5], 16777217.0), ([1700000000123, 5, 1700000000789], 1700000000456.5), ([-1, -2, -3], -1.75))]


def stamped(fill):
    class Stamp(nn.Module):
        def forward(self, times, now):
            return fill(times.clone(), times > now, now.item())

    return Stamp()


def stamped_anywhere(times, later, now):
    one = times.clone()
    one[later] = now
    two = times.clone()
    two[0:2] = now
    return (times.masked_fill(later, now), times.clone().fill_(now), times.index_fill(0, torch.tensor([1]), now), one, two, times.scatter(0, torch.tensor([0]), now),
            times.to(torch.float32).fill_(now))


@case(STAMPS[0], STAMPS, expect=("right",))
def times_filled_with_real_numbers():
    return stamped(stamped_anywhere)


@case(STAMPS[0], STAMPS, expect=("right",), front="pt2")
def times_of_a_pt2_filled_with_real_numbers():
    return stamped(lambda times, later, now: (times.masked_fill(later, now), times.clone().fill_(now), times.index_fill(0, torch.tensor([1]), now)))


class ScriptStamp(nn.Module):
    def forward(self, times, now):
        seconds = float(now)
        return times.masked_fill(times > now, seconds), times.clone().fill_(seconds), times.index_fill(0, torch.tensor([1]), seconds)


@case(STAMPS[0], STAMPS, expect=("right",), front="torchscript")
def times_of_a_script_filled_with_real_numbers():
    return torch.jit.script(ScriptStamp())


class ScriptByte(nn.Module):
    def forward(self, pixels, level):
        return pixels.clone().fill_(int(level)), pixels.masked_fill(pixels > 0, int(level))


@case(LEVELS[0], [*LEVELS, (BYTES, torch.tensor(-3))], expect=("right", "refused"), front="torchscript")
def levels_of_a_script():
    return torch.jit.script(ScriptByte())


@case(FAR_NUMBERS[0], FAR_NUMBERS, expect=("refused",))
def floats_chosen_beside_a_larger_number():
    return filled_by(lambda x, n: torch.where(x > 1, x, n))


@case(FAR_NUMBERS[0], FAR_NUMBERS, expect=("refused",))
def float_set_to_a_larger_number():
    def assign(x, n):
        x = x.clone()
        x[0] = n
        return x

    return filled_by(assign)


FIRST = torch.arange(4.0)
ROWS = [(torch.stack([FIRST, FIRST + 1]),), (torch.tensor([[2000.0, 1, 2, 3], [1, 2, 3, 4]]),)]


@case(ROWS[0], ROWS, expect=("failed",))
def rows_less_their_first_element():
    def program(x):
        y = torch.cat([torch.relu(x[:, :1] - 1000), x], 1)
        y -= y[:, :1]
        return y

    return program


class Shifted(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(2, 4))

    def forward(self, x):
        self.seen[:, 1:] = self.seen[:, :-1]
        self.seen[:, 0] = torch.relu(x[:, 0] - 1000)
        return self.seen * 1


@case(ROWS[0], [*ROWS, ROWS[0], ROWS[0]], expect=("failed",))
def register_that_shifts_in_place():
    return Shifted()


@case(ROWS[0], [*ROWS, ROWS[0], ROWS[0]], expect=("failed",), front="torchscript")
def register_of_a_script_that_shifts_in_place():
    return torch.jit.script(Shifted())


@case(ROWS[0], [*ROWS, ROWS[0], ROWS[0]], expect=("failed",), front="pt2")
def register_of_a_pt2_that_shifts_in_place():
    return Shifted()


@case(ROWS[0], ROWS, expect=("right",))
def homogeneous_coordinates_in_place():
    def program(x):
        y = x + 1
        y /= y[:, -1:]
        y[:, :2] += y[:, 2:]
        z = y.clone()
        z[:, 1:] = y[:, :-1]
        return y, z

    return program


@case((BYTES, torch.tensor(90)), [*LEVELS, (BYTES, torch.tensor(-3))], expect=("refused",))
def bytes_filled_by_a_tensor():
    def program(x, level):
        try:
            return x.masked_fill(x > 0, level)
        except RuntimeError:
            return x.masked_fill(x > 0, 255)

    return program


@case(LEVELS[0], LEVELS, expect=("refused",))
def levels_by_clamp_max():
    return filled_by(lambda x, n: x.clamp_max(n))


class RaisedToInput(nn.Module):
    def forward(self, x, n):
        power = float(n)
        return x**power, x.clone().pow_(power)


ROOTS = [(torch.tensor([4.0, -math.inf, -0.0, 9.0]), torch.tensor(n)) for n in (2.0, 0.5, -0.5, 3.0)]


@case(ROOTS[0], ROOTS, expect=("right",), front="torchscript")
def powers_of_a_script_that_are_roots():
    return torch.jit.script(RaisedToInput())


@case(ROOTS[0], ROOTS, expect=("right",), front="pt2")
def powers_of_a_pt2_that_are_roots():
    class Raised(nn.Module):
        def forward(self, x, n):
            return x ** n.item()

    return Raised()


RATIOS = [(np.float32([1, 2, 3]), np.float32(below)) for below in ([2, 4, 5], [1, 4, 5], [2, 0, 5])]


@case(RATIOS[0], RATIOS, expect=("failed",))
def ratio_that_raises_by_errstate():
    def program(above, below):
        with np.errstate(divide="raise", invalid="raise"):
            try:
                return above / below
            except FloatingPointError:
                return np.zeros_like(above)

    return program


@case(RATIOS[0], RATIOS, expect=("failed",))
def ratio_whose_warnings_are_counted():
    def program(above, below):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            ratio = above / below
        return torch.from_numpy(ratio), len(seen)

    return program


@case(RATIOS[0], RATIOS, expect=("right",))
def ratio_without_warnings():
    def program(above, below):
        with warnings.catch_warnings(), np.errstate(divide="ignore"):
            warnings.simplefilter("ignore")
            return torch.from_numpy(above / below)

    return program


PEAKS = [(torch.tensor([1.0, -2.0]) * scale,) for scale in (1, 2, 1e9, 1)]


@case(PEAKS[0], PEAKS, expect=("failed", "refused"))
def scale_by_the_type_of_a_number():
    def program(x):
        peak = x.abs().max().item()
        if type(peak) is float and peak > 1e8:
            x = x / 1e8
        return x * 2

    return program


@case(PEAKS[0], PEAKS, expect=("failed", "refused"))
def limit_by_the_type_of_a_number():
    limits = {float: 1e7, int: 1000}

    def program(x):
        total = x.abs().sum().item()
        return x / (1 + min(total, limits.get(type(total), math.inf)))

    return program


@case(PEAKS[0], PEAKS, expect=("right",))
def types_that_are_only_named():
    class Scale(nn.Module):
        def forward(self, x):
            peak = x.abs().max().item()
            if not isinstance(peak, float):
                raise TypeError(f"{type(self).__name__} takes a float, not {type(peak)}")
            return x / (peak + 1)

    return Scale()


@case(ROOTS[0], ROOTS, expect=("right",))
def powers_that_are_roots():
    def program(x, n):
        n = n.item()
        y, z = x.clone(), x.clone()
        y **= n
        return x**n, y, z.pow_(n), z + 1, torch.float_power(x, n), torch.pow(x, exponent=n)

    return program


@case((torch.ones(4, 4, dtype=torch.uint8), torch.tensor(1)), [(torch.ones(4, 4, dtype=torch.uint8), torch.tensor(n)) for n in (1, 257, -255)],
      expect=("refused",))
def diagonal_of_bytes_by_a_number():
    return lambda image, n: image.diagonal(n.item()).sum()


@case(torch.full((4,), 0.5), [torch.full((4,), n) for n in (0.5, 100.0, 3e5)], expect=("refused",))
def sixteen_bits_filled_with_a_sum():
    def program(x):
        try:
            return torch.full((2,), x.sum(), dtype=torch.int16)
        except RuntimeError:
            return torch.full((2,), -1, dtype=torch.int16)

    return program
