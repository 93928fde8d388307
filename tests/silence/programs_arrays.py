"""Arrays of NumPy that a program writes into, casts, and asks how they lie in memory."""

import math

import numpy as np
import torch
from harness import case
from torch import nn

RIGHT = ("right",)


def _numbers(*values, dtype=torch.int64):
    return [(np.arange(4, dtype=np.uint8), torch.tensor(value, dtype=dtype)) for value in values]


# ------------------------------------------------------------------------ numbers that are written


def into(target, errors, other=255):
    """Writes a number, and another one where NumPy does not take it."""
    def program(a, n):
        a = a.astype(target)
        try:
            a[0] = n.item()
        except errors:
            a[0] = other % 128
        return torch.from_numpy(a)

    return program


@case(_numbers(7)[0], _numbers(7, 300, -1, 255, 256))
def number_that_does_not_fit_bytes():
    return into(np.uint8, OverflowError)


@case(_numbers(7)[0], _numbers(7, 127, 128, -129))
def number_that_does_not_fit_signed_bytes():
    return into(np.int8, (OverflowError, ValueError))


@case(_numbers(300)[0], _numbers(300, 7))
def number_that_does_not_fit_in_the_example():
    return into(np.uint8, OverflowError)


@case(_numbers(7.5, dtype=torch.float64)[0], _numbers(7.5, math.nan, math.inf, 300.7, 1e30, -1.5, dtype=torch.float64))
def no_number_into_whole_ones():
    return into(np.int16, (OverflowError, ValueError))


@case(_numbers(7.5, dtype=torch.float64)[0], _numbers(7.5, 0.25, 127.9, -0.5, dtype=torch.float64), expect=RIGHT)
def fractions_into_whole_ones():
    return lambda a, n: torch.from_numpy(_filled(a.astype(np.int8), n.item()))


def _filled(a, value):
    a[1:3] = value
    return a


@case(_numbers(7.5, dtype=torch.float64)[0], _numbers(7.5, 1e6, 1e300, math.nan, -math.inf, dtype=torch.float64), expect=RIGHT)
def large_numbers_into_halves():
    return lambda a, n: torch.from_numpy(_filled(a.astype(np.float16), n.item()))


@case(_numbers(7.5, dtype=torch.float64)[0], _numbers(7.5, 0.0, math.nan, -0.0, dtype=torch.float64), expect=RIGHT)
def numbers_into_truth_values():
    return lambda a, n: torch.from_numpy(_filled(a.astype(bool), n.item()))


@case(_numbers(7)[0], _numbers(7, 300, -3, 2**40), expect=RIGHT)
def array_into_bytes_wraps():
    def program(a, n):
        a = a.copy()
        a[1:3] = n.numpy()
        return torch.from_numpy(a)

    return program


@case(_numbers(7)[0], _numbers(7, 300, -3))
def tensor_into_one_of_the_bytes():
    def program(a, n):
        a = a.copy()
        try:
            a[2] = n
        except OverflowError:
            a[2] = 9
        return torch.from_numpy(a)

    return program


@case(_numbers(7)[0], _numbers(7, 300))
def number_in_a_list_into_bytes():
    def program(a, n):
        a = a.copy()
        try:
            a[:2] = [n.item(), 1]
        except OverflowError:
            a[:2] = 0
        return torch.from_numpy(a)

    return program


@case(_numbers(1)[0], _numbers(1, 2, 3))
def number_of_the_graph_as_a_place():
    def program(a, n):
        a = a.copy()
        a[n.item()] = 100
        return torch.from_numpy(a)

    return program


# ------------------------------------------------------------------------ in place


@case(_numbers(3)[0], _numbers(3, 300, -7))
def number_added_to_bytes_in_place():
    def program(a, n):
        a = a.copy()
        try:
            a += n.item()
        except OverflowError:
            a -= 1
        return torch.from_numpy(a)

    return program


@case(_numbers(1.5, dtype=torch.float64)[0], _numbers(1.5, 3.0, dtype=torch.float64), expect=RIGHT)
def fraction_added_to_whole_ones_in_place():
    def program(a, n):
        a = a.copy()
        try:
            a += n.item()
        except TypeError:
            a += 100
        return torch.from_numpy(a)

    return program


@case(_numbers(3)[0], _numbers(3, 5))
def array_divided_in_place_and_seen_by_another_name():
    def program(a, n):
        a = a.copy()
        b = a
        a //= n.item()
        a %= 2
        a <<= 3
        return torch.from_numpy(b)

    return program


@case(_numbers(3)[0], _numbers(3, 5))
def columns_added_to_a_row_in_place():
    def program(a, n):
        a = a.copy()
        try:
            a += a.reshape(4, 1)
        except ValueError:
            a += 1
        return torch.from_numpy(a) + n

    return program


IDS = [(np.array(v),) for v in ([3, 1, 2], [9, 8, 7], [1, 2, 3])]


@case(IDS[0], IDS)
def sorted_in_place():
    def program(a):
        a = a.copy()
        a.sort()
        a[:2].fill(a[2])
        return torch.from_numpy(a)

    return program


@case(IDS[0], IDS)
def written_by_out():
    def program(a):
        a = a.copy()
        np.add(a, 1, out=a)
        np.multiply(a, a, out=a, casting="unsafe")
        return torch.from_numpy(a)

    return program


@case(IDS[0], IDS)
def written_by_another_face_of_the_array():
    def program(a):
        b = np.asarray(a)
        b[0] = 50
        return torch.from_numpy(a) * 1

    return program


@case(IDS[0], IDS)
def flat_and_shape_that_are_written():
    def program(a):
        a = a.copy()
        a.flat = 7
        return torch.from_numpy(a)

    return program


@case(IDS[0], IDS)
def added_at_places():
    def program(a):
        a = a.copy()
        np.add.at(a, [0, 0, 2], a[:1] * 0 + 5)
        return torch.from_numpy(a)

    return program


# ------------------------------------------------------------------------ casts


REALS = [torch.tensor(v, dtype=torch.float64) for v in
         ([1.5, 200.0, -3.0], [3000000001.0, -3000000001.0, 300.7], [math.nan, math.inf, -math.inf], [2.0**31, -2.0**31 - 0.5, 2.0**63], [-1e30, 65536.5, 2.0**32 + 5])]


def _casts(name, dtype):
    def make():
        return lambda x: torch.from_numpy(x.numpy().astype(dtype))

    make.__name__ = f"cast_to_{np.dtype(dtype).name}{name}"
    return make


for _type in (np.uint8, np.int8, np.int16, np.int32, np.int64):
    case(REALS[0], REALS, expect=RIGHT)(_casts("", _type))
    case(REALS[0].float(), [x.float() for x in REALS], expect=RIGHT)(_casts("_of_singles", _type))


@case(REALS[0], REALS, expect=RIGHT)
def picture_cast_without_a_copy():
    return lambda x: torch.from_numpy(x.numpy().astype(np.float32, copy=False)) * 2


@case(REALS[0].float(), [x.float() for x in REALS[:3]], expect=RIGHT)
def cast_to_its_own_type_without_a_copy_is_the_array():
    def program(x):
        a = x.numpy()
        b = a.astype(np.float32, copy=False)
        b[0] = 7.0
        return torch.from_numpy(a) * 2

    return program


@case(REALS[0], REALS, expect=RIGHT)
def reals_written_into_bytes():
    def program(x):
        a = np.zeros(3, np.uint8)
        b = torch.from_numpy(x.numpy().astype(np.uint8)).numpy()
        b[:] = x.numpy()
        return torch.from_numpy(b + a)

    return program


# ------------------------------------------------------------------------ order in memory


C = np.arange(6).reshape(2, 3)
BOTH = [(C,), (np.asfortranarray(C),)]


@case(BOTH[0], BOTH)
def asked_for_fortran():
    return lambda ids: torch.from_numpy(ids) * (3 if np.isfortran(ids) else 2)


@case(BOTH[0], BOTH)
def asked_for_strides_of_an_array():
    return lambda ids: torch.from_numpy(ids) * (3 if ids.strides[0] == 8 else 2)


@case(BOTH[0], BOTH)
def asked_for_a_flag():
    return lambda ids: torch.from_numpy(ids) * (3 if ids.flags["F_CONTIGUOUS"] else 2)


@case(BOTH[0], BOTH)
def raveled_as_it_lies():
    return lambda ids: torch.from_numpy(np.ravel(ids, order="K").copy())


@case(BOTH[0], BOTH)
def bytes_as_they_lie():
    return lambda ids: torch.tensor(list(ids.tobytes("A")))


@case(BOTH[0], BOTH)
def raveled_by_its_method():
    return lambda ids: torch.from_numpy(ids.ravel("K").copy())


@case((torch.ones(2, 3),), [(torch.ones(2, 3),), (torch.ones(3, 2).T,)], expect=("refused",))
def transposed_array_asked_for_strides():
    def program(x):
        a = x.numpy()
        b = (a.T + 1).copy("K")
        return x * b.strides[0] + (2 if b.T.flags.c_contiguous else 1) + (4 if (a.T * 2).flags.f_contiguous else 0)

    return program


@case((torch.ones(2, 3),), [(torch.ones(2, 3),)] * 2, expect=RIGHT)
def sum_of_arrays_in_two_orders():
    other = np.asfortranarray(np.ones((2, 3), np.float32))
    return lambda x: x * (x.numpy().T.copy().T + other).strides[0] + (x.numpy() + other).strides[0]


@case(BOTH[0], BOTH)
def view_or_copy_that_is_written():
    def program(a):
        b = a.reshape(-1)
        b[0] = 50
        return torch.from_numpy(a.copy())

    return program


class KeptInFortran(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = np.zeros((2, 3), np.float32, order="F")

    def forward(self, x):
        scale = 3 if self.kept.flags.f_contiguous else 2
        self.kept = (self.kept.T + x.numpy().T).T if scale == 3 else self.kept + x.numpy()
        return torch.from_numpy(self.kept) * scale


@case((torch.ones(2, 3),), [(torch.ones(2, 3) * i,) for i in range(4)], expect=RIGHT)
def kept_array_of_fortran():
    return KeptInFortran()
