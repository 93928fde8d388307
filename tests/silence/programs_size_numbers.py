"""Numbers that a program computes from sizes in steps or looks up by them: right at every size, or refused."""

import math

import numpy as np
import torch
from harness import sized

REFUSED = ("right", "refused", "failed")
N = {"n": (8, 420, 37)}
X0 = {"x": {0: "n"}}
AT = [100, 119, 156, 193, 200, 255, 300, 357, 382, 383, 400, 410]
FACTORS = {"64": 1.5, "137": 2.0}
PAIRS = {(137, 2): 2.0}


def row(n):
    return (torch.arange(2.0 * n).view(n, 2) % 7 - 3,)


def numbers(also=AT, expect=("right",)):
    return sized(row, N, X0, also=also, count=8, expect=expect)


@numbers()
def share_of_the_rows():
    return lambda x: x[: x.shape[0] * 29 // 100]


@numbers()
def resampled_rows():
    return lambda x: x[: x.shape[0] * 22050 // 16000 // 2]


@numbers()
def resampled_rows_rounded_up():
    return lambda x: x.new_zeros(-(-x.shape[0] * 441 // 320), 2)


@numbers()
def rows_by_a_real_number():
    return lambda x: x[: int(x.shape[0] / 2.7)]


@numbers(also=[100, 200, 300, 400], expect=REFUSED)
def share_that_numpy_rounds():
    """n * 29 // 100 at all sizes but hundreds."""
    return lambda x: torch.cat([x[: x.shape[0] * 29 // 100], x[: int(np.floor(x.shape[0] * np.float64(0.29)))]])


@numbers(also=[100, 200, 300, 400], expect=REFUSED)
def share_that_numpy_rounds_alone():
    return lambda x: x[: int(np.floor(np.multiply(int(x.shape[0]), 0.29)))] if x.shape[0] * 29 // 100 > 0 else x


@numbers()
def share_from_the_end():
    return lambda x: x[-(-x.shape[0] * 7 // 100):]


@numbers()
def block_and_rest():
    return lambda x: x * (x.shape[0] % 128 + x.shape[0] // 128)


@numbers()
def third_part_and_its_remainder():
    """Numbers made of numbers in steps, by which another one is cut again."""
    def program(x):
        part = x.shape[0] * 7 // 90
        return x[part: part + (x.shape[0] - part) * 13 // 77 + 1]

    return program


@numbers()
def powers_and_shifts():
    return lambda x: x[: (x.shape[0] ** 2 >> 7) % 101 + 1] * x.shape[0] ** 0.5


@numbers()
def root_rounded():
    return lambda x: x[: int(x.shape[0] ** 0.5 + 0.5)]


@numbers(also=[64, 137])
def factor_by_the_text_of_a_size():
    return lambda x: x * FACTORS.get(str(x.shape[0]), 1.0)


@numbers(also=[64, 137])
def factor_by_a_formatted_size():
    return lambda x: x * FACTORS.get(f"{x.shape[0]}", 1.0)


@numbers(also=[137], expect=REFUSED)
def factor_by_a_shape():
    return lambda x: x * PAIRS.get(tuple(x.shape), 1.0)


@numbers(also=[137])
def factor_by_an_attribute():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bias_137 = torch.nn.Parameter(torch.tensor([1.0, 2.0]))

        def forward(self, x):
            return x + getattr(self, f"bias_{x.shape[0]}", 0.0)

    return Net()


@numbers(also=[128, 256])
def whole_logarithms():
    return lambda x: x * (2.0 if math.log(x.shape[0], 2).is_integer() else 1.0)


@numbers(also=[128, 256, 35, 70, 105], expect=REFUSED)
def common_divisors():
    return lambda x: x * (2.0 if math.gcd(x.shape[0], 35) == 35 else 1.0)


@numbers(also=[127, 255], expect=REFUSED)
def bits_of_a_size():
    return lambda x: x * (2.0 if x.shape[0].bit_count() == 7 else 1.0)
