"""Numbers and arrays that left the graph beside numbers that are none of Python's: both know each other in eager."""

import bisect
import operator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import torch
from drawn_inputs import ids
from harness import case
from torch import nn

COUNTS = [(torch.arange(3.0), torch.tensor(n)) for n in (500000, 377777, 0)]
LEVELS = [(torch.tensor([v, 1.0]),) for v in (0.25, 0.5, 0.0, -1.0)]
TOKENS = [(ids(*v), torch.randn(3)) for v in ([700000, 5], [377777, 2], [1, 377777], [3, 2])]
ARRAYS = [(ids(*v),) for v in ([7, 8, 9], [1, 2, 3], [3, 2, 1])]


def twice_if(holds):
    """The program that doubles its first argument where that holds of the number."""
    return lambda x, n=None: x * 2 if holds((x[0] if n is None else n).item()) else x


# -------------------------------------------------------------------- numbers of NumPy


@case(COUNTS[0], COUNTS)
def count_equals_an_int64():
    end = np.int64(377777)
    return twice_if(lambda n: n == end)


@case(COUNTS[0], COUNTS)
def int32_equals_a_count():
    end = np.int32(377777)
    return twice_if(lambda n: end == n)


@case(COUNTS[0], COUNTS)
def count_differs_from_an_int64():
    end = np.int64(377777)
    return twice_if(lambda n: not n != end)


@case(COUNTS[0], COUNTS)
def count_equals_a_float64():
    end = np.float64(377777)
    return twice_if(lambda n: n == end or end == n)


@case(COUNTS[0], COUNTS)
def count_in_an_array():
    special = np.array([0, 377777])
    return twice_if(lambda n: n in special)


@case(COUNTS[0], COUNTS)
def count_in_a_list_of_numpy():
    special = list(np.array([0, 377777]))
    return twice_if(lambda n: n in special)


@case(TOKENS[0], TOKENS)
def int64_among_tokens():
    end = np.int64(377777)
    return lambda tokens, x: x * 2 if end in tokens.tolist() else x


@case(TOKENS[0], TOKENS)
def tokens_equal_a_list_of_numpy():
    end = list(np.array([1, 377777]))
    return lambda tokens, x: x * 2 if tokens.tolist() == end else x


@case(TOKENS[1], TOKENS)
def token_looked_up_by_keys_of_numpy():
    names = {key: float(i + 2) for i, key in enumerate(np.unique([377777, 5]))}
    return lambda tokens, x: x * names.get(tokens[0].item(), 1.0)


@case(TOKENS[0], TOKENS, expect=("right", "refused"))
def token_among_edges_of_numpy():
    edges = np.array([10.0, 1000.0])
    return lambda tokens, x: x * bisect.bisect(edges, tokens[0].item())


@case(LEVELS[0], LEVELS, expect=("right", "refused"))
def level_equals_a_float64():
    step = np.float64(0.5)
    return twice_if(lambda v: step == v)


@case((torch.tensor([0.3, 1]),), [(torch.tensor([v, 1]),) for v in (0.3, 0.1, 0.2)], expect=("right", "refused"))
def level_equals_a_float32():
    """NumPy makes the number a float32 first."""
    step = np.float32(0.1)
    return twice_if(lambda v: v == step)


@case((torch.tensor([0.3, 1], dtype=torch.float64),), [(torch.tensor([v, 1], dtype=torch.float64),) for v in (0.3, 0.1, 0.1 + 1e-9, 0.2)],
      expect=("right", "refused"))
def double_equals_a_float32():
    step = np.float32(0.1)
    return twice_if(lambda v: v == step or step < v < 0.15)


@case(LEVELS[0], LEVELS)
def level_equals_a_float16():
    step = np.float16(0.5)
    return twice_if(lambda v: v == step)


@case(LEVELS[0], LEVELS, expect=("right", "refused"))
def level_in_a_row_of_numpy():
    steps = np.array([0.5, 0.75])
    return twice_if(lambda v: v in steps or v == np.int64(0))


@case(LEVELS[0], [*LEVELS, LEVELS[1]])
def kept_level_equals_a_float64():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.level, self.step = 0.0, np.float64(0.5)

        def forward(self, x):
            self.level = max(self.level, x[0].item())
            return x * 2 if self.level == self.step else x

    return Net()


@case(LEVELS[0], LEVELS, expect=("right", "refused"))
def levels_ordered_with_numpy():
    low, high = np.float64(0.1), np.float32(0.4)
    return twice_if(lambda v: low < v <= high)


@case((torch.tensor([4.0, 1.0]),), [(torch.tensor([v, 1.0]),) for v in (4.0, 0.0, -2.0)], expect=("right", "refused"))
def level_computed_with_a_float64():
    """A divisor of 0 does not raise there."""
    root = np.sqrt(2.0)

    def program(x):
        scaled = root * x[0].item() + np.int64(0)
        return x * scaled, x + 1 / scaled, x - abs(scaled) // 3, scaled, torch.tensor(scaled), torch.tensor([scaled, 1.0])

    return program


@case((torch.tensor([4.0, 1.0]),), [(torch.tensor([v, 1.0]),) for v in (4.0, 0.0, -2.0)], expect=("right", "refused"))
def array_of_numpy_scaled_by_a_level():
    window = np.array([1.0, 2.0, 4.0])
    return lambda x: (torch.from_numpy(window * x[0].item()), torch.from_numpy(x[0].item() - window), torch.from_numpy(window >= x[0].item()))


@case(COUNTS[0], COUNTS, expect=("right", "refused"))
def array_of_numpy_moved_by_a_count():
    small, wide = np.array([1, 2], np.uint8), np.array([5, 377777])
    return lambda x, n: (torch.from_numpy(wide - n.item()), torch.from_numpy(n.item() == wide), torch.from_numpy(small < n.item()), x / n.item() if n.item() else x)


# -------------------------------------------------------------------- decimals, fractions, complex numbers


@case(LEVELS[0], LEVELS, expect=("right", "refused"))
def level_equals_a_decimal():
    return twice_if(lambda v: v == Decimal("0.5"))


@case(LEVELS[0], LEVELS, expect=("right", "refused"))
def decimal_differs_from_a_level():
    return twice_if(lambda v: not Decimal("0.5") != v)


@case((torch.tensor([0.3, 1]),), [(torch.tensor([v, 1]),) for v in (0.3, 0.1, 0.2)], expect=("right", "refused"))
def level_beside_a_decimal_between_floats():
    return twice_if(lambda v: v == Decimal("0.1") or v > Decimal("0.1") > v - 0.01)


@case(COUNTS[0], COUNTS, expect=("right", "refused"))
def count_equals_a_decimal():
    return twice_if(lambda n: n == Decimal(377777) or n == Decimal("0.5") or Decimal("NaN") == n or n > Decimal("1e99"))


@case(LEVELS[0], LEVELS, expect=("right", "refused"))
def level_equals_a_fraction():
    return twice_if(lambda v: v == Fraction(1, 2) or v == Fraction(1, 3))


@case(COUNTS[0], COUNTS, expect=("right", "refused"))
def count_equals_a_fraction():
    return twice_if(lambda n: n == Fraction(755554, 2) or n < Fraction(1, 3))


@case(LEVELS[0], LEVELS, expect=("right", "refused"))
def level_equals_a_complex_number():
    return twice_if(lambda v: v == 0.5 + 0j or v == 0.25j)


@case(LEVELS[0], LEVELS, expect=("right", "refused"))
def complex_number_differs_from_a_level():
    return twice_if(lambda v: not 0.5 + 0j != v)


@case(COUNTS[0], COUNTS, expect=("right", "refused"))
def count_equals_a_complex_number():
    return twice_if(lambda n: complex(377777) == n)


@case(LEVELS[0], LEVELS)
def level_equals_a_number_of_its_own_class():
    class Near(float):
        def __eq__(self, other):
            return abs(float(self) - other) < 0.01

    return twice_if(lambda v: v == Near(0.5))


@case(LEVELS[0], LEVELS, expect=("right", "refused"))
def level_beside_what_is_no_number():
    class Any:
        def __eq__(self, other):
            return other > 0.3

    others = [None, "0.5", b"5", [0.5], (0.5,), {0.5: 1}, float, object(), torch.float32]
    return twice_if(lambda v: any(v == other for other in others) or v == Any() or v < 10**400 and v > 10**400)


# -------------------------------------------------------------------- arrays


@case(ARRAYS[0], ARRAYS)
def array_equals_a_list():
    return lambda t: t * 2 if np.all(t.numpy() == [1, 2, 3]) else t


@case(ARRAYS[0], ARRAYS)
def list_differs_from_an_array():
    return lambda t: t if np.any([1, 2, 3] != t.numpy()) else t * 2


@case((ids(700000, 5), torch.tensor(9)), [(ids(*v), torch.tensor(n)) for v, n in (([700000, 5], 9), ([377777, 2], 2), ([1, 2], 8))])
def array_equals_a_number():
    return lambda t, n: t * 2 if np.any(t.numpy() == n.item()) else t


@case((torch.arange(3.0), torch.tensor(9.0)), [(torch.arange(3.0), torch.tensor(v)) for v in (9.0, 2.0, 0.1)], expect=("right", "refused"))
def array_computed_with_a_number():
    return lambda x, n: (x.numpy() * n.item(), n.item() - x.numpy(), x.numpy() > n.item())


@case(ARRAYS[0], ARRAYS)
def array_equals_decimals_and_complex_numbers():
    return lambda t: t * 2 if np.any(t.numpy() == Decimal(1)) or np.any(3 + 0j == t.numpy()) else t


@case(ARRAYS[0], ARRAYS, expect=("right", "refused"))
def array_beside_what_is_no_number():
    return lambda t: t * 2 if np.any(t.numpy() == None) or np.all(operator.ne(t.numpy(), "a")) else t  # noqa: E711


# -------------------------------------------------------------------- numbers of complex tensors in files


class TimesItem(nn.Module):
    """Complex on few inputs only."""

    def forward(self, t):
        z = torch.complex(t.float(), (t == 377777).float() * 1e6)
        return torch.view_as_real(z * z[0].item())


class PlusItem(nn.Module):
    def forward(self, t):
        z = torch.complex(t.float(), (t == 377777).float())
        return torch.view_as_real(z + z[0].item())


class Spectrum(nn.Module):
    """Its first number is the sum, real; the others are not."""

    def forward(self, t):
        spectrum = torch.fft.fft(t.double())
        return torch.view_as_real(spectrum * spectrum[1].item())


COMPLEX = [(ids(*v),) for v in ([3, 2], [4, 377777], [377777, 2])]


@case(COMPLEX[0], COMPLEX, front="torchscript")
def script_multiplies_by_a_complex_item():
    return torch.jit.script(TimesItem())


@case(COMPLEX[0], COMPLEX, front="torchscript")
def script_adds_a_complex_item():
    return torch.jit.script(PlusItem())


@case(COMPLEX[0], COMPLEX)
def program_multiplies_by_a_complex_item():
    return TimesItem()


@case(ids(4, 4, 4, 4), [(ids(*v),) for v in ([4, 4, 4, 4], [1, 2, 3, 4], [5, 0, 1, 7])], front="torchscript")
def script_multiplies_by_a_number_of_its_spectrum():
    return torch.jit.script(Spectrum())


class EqualsComplexNumber(nn.Module):
    def forward(self, x):
        if x[0].item() == 1j:
            return x * 2
        return x


class ComplexEqualsNumber(nn.Module):
    def forward(self, x):
        z = torch.complex(x, x - x[0])
        if z[0].item() == 2:
            return x * 2
        return x


class TimesComplexNumber(nn.Module):
    def forward(self, x):
        return torch.view_as_real(torch.complex(x, x) * (x[0].item() * 1j))


PAIRS = [(torch.tensor([v, 2.0]),) for v in (3.0, 2.0, 0.0)]


@case(PAIRS[0], PAIRS, front="torchscript")
def script_item_equals_a_complex_number():
    return torch.jit.script(EqualsComplexNumber())


@case(PAIRS[0], PAIRS, front="torchscript")
def script_complex_item_equals_a_number():
    return torch.jit.script(ComplexEqualsNumber())


@case(PAIRS[0], PAIRS, front="torchscript")
def script_item_times_a_complex_number():
    return torch.jit.script(TimesComplexNumber())
