"""Numbers and texts that leave the graph."""

import contextlib
import io
import logging
import math
import sys

import numpy as np
import torch
import torch.nn.functional as F
from harness import Call, case
from torch import nn

log = logging.getLogger("programs")


def ids(*values):
    return torch.tensor([values])


@case((torch.randn(3, 4), torch.tensor(3)), [(torch.randn(3, 4), torch.tensor(n)) for n in (3, 2, 7)])
def task_number():
    def program(x, task):
        return x * 2 if task.item() == 3 else x - 1

    return program


@case((torch.randn(3, 4), torch.tensor(1)), [(torch.randn(3, 4), torch.tensor(n)) for n in (1, 0, 2)])
def task_head():
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.heads = nn.ModuleList(nn.Linear(4, 2) for _ in range(3))

        def forward(self, x, task):
            return self.heads[int(task)](x)

    return Heads().eval()


@case((ids(5, 50, 7),), [(ids(5, 50, 7),), (ids(5, 6, 7),), (ids(50, 1, 1),)])
def token_in_list():
    def program(tokens):
        return tokens.float() * (2.0 if 50 in tokens[0].tolist() else 3.0)

    return program


@case((ids(5, 9, 7),), [(ids(5, 9, 7),), (ids(9, 5, 7),), (ids(1, 2, 9),)])
def token_index():
    def program(tokens):
        return tokens[0].tolist().index(9) + torch.zeros(2)

    return program


@case((ids(5, 9, 9),), [(ids(5, 9, 9),), (ids(9, 9, 9),)])
def token_count():
    def program(tokens):
        return torch.ones(2) * tokens[0].tolist().count(9)

    return program


@case((torch.tensor([250]), torch.randn(2)), [(torch.tensor([t]), torch.randn(2)) for t in (250, 300, 399, 400, 100)])
def timestep_range():
    def program(t, x):
        n = t.item()
        return x * 2 if 200 <= n < 400 else x * 3

    return program


@case((torch.tensor([0.1]),), [(torch.tensor([v]),) for v in (0.1, 0.10000001, 0.09999999, 0.2)])
def float_comparison_in_double():
    def program(x):
        return x * 2 if x.item() > 0.1 else x * 3

    return program


@case((torch.rand(4) + 1,), [(torch.rand(4) + 1,), (torch.rand(4) * 50,)])
def float_scale_goes_back():
    def program(x):
        return x / x.abs().max().item()

    return program


@case((torch.rand(4) + 1,), [(torch.rand(4) + 1,), (torch.rand(4) * 50,)])
def float_builtin():
    def program(x):
        return x / float(x.abs().max())

    return program


@case((torch.rand(4) + 1,), [(torch.rand(4) + 1,), (torch.rand(4) * 50,)])
def math_of_item():
    def program(x):
        return x / math.sqrt(x.abs().sum().item())

    return program


@case((torch.tensor([3]), torch.randn(6)), [(torch.tensor([n]), torch.randn(6)) for n in (3, 4, 0)])
def slice_by_number():
    def program(n, x):
        return x[: n.item()]

    return program


@case((torch.tensor([3]), torch.randn(6)), [(torch.tensor([n]), torch.randn(6)) for n in (3, 4, 0)])
def loop_by_number():
    def program(n, x):
        for _ in range(n.item()):
            x = x * 1.5
        return x

    return program


@case((torch.tensor([3]), torch.randn(6)), [(torch.tensor([n]), torch.randn(6)) for n in (3, 4, 0)])
def while_by_number():
    def program(n, x):
        left = n.item()
        while left > 0:
            x, left = x + 1, left - 1
        return x

    return program


@case((torch.tensor([3]), torch.randn(6)), [(torch.tensor([n]), torch.randn(6)) for n in (3, 4, -1)])
def list_repeated():
    def program(n, x):
        return x + len([0] * n.item())

    return program


@case((torch.tensor(2), torch.randn(6)), [(torch.tensor(n), torch.randn(6)) for n in (2, 1, 3)])
def dict_of_numbers():
    def program(n, x):
        return x * {1: 10.0, 2: 20.0}.get(n.item(), 30.0)

    return program


@case((torch.tensor(2), torch.randn(6)), [(torch.tensor(n), torch.randn(6)) for n in (2, 1, 3)])
def text_of_number():
    def program(n, x):
        return x * (10.0 if f"{n.item()}" == "2" else 30.0)

    return program


@case((torch.tensor(2), torch.randn(6)), [(torch.tensor(n), torch.randn(6)) for n in (2, 1)])
def text_as_result():
    def program(n, x):
        return {"y": x + 1, "label": f"class {n.item()}"}

    return program


@case((torch.tensor(2), torch.randn(6)), [(torch.tensor(n), torch.randn(6)) for n in (2, 1)])
def key_of_value():
    def program(n, x):
        return {int(n): x + 1}

    return program


@case((torch.tensor(2), torch.randn(6)), [(torch.tensor(n), torch.randn(6)) for n in (2, 1)])
def percent_text():
    def program(n, x):
        name = "%d" % n.item()
        return x * len(name) if name == "2" else x - 3

    return program


@case((torch.randn(6),), [(torch.randn(6) + 1,), (torch.randn(6) - 3,)], expect=("right",))
def printing():
    def program(x):
        m = x.mean().item()
        print(f"mean {m:.3f}", m, "%.2f" % m)
        log.info("mean %f", m)
        return x * 2

    return program


@case((torch.randn(4),), [(torch.randn(4),)], expect=("right",))
def printed_to_the_streams():
    def program(x):
        print("mean", x.mean().item(), file=sys.stderr)
        print(f"{x.sum().item():.1f}", file=sys.stdout, flush=True)
        return x * 2

    return program


@case((torch.randn(4),), [(torch.randn(4),), (torch.randn(4) * 1e6,)])
def printed_to_a_text():
    def program(x):
        with contextlib.redirect_stderr(io.StringIO()) as text:
            print(x.mean().item(), file=sys.stderr)
        return x * len(text.getvalue())

    return program


@case((torch.randn(6),), [(torch.randn(6) + 1,), (torch.randn(6) - 3,)])
def printed_and_kept():
    class Program(nn.Module):
        def forward(self, x):
            kept = []
            print(kept.append(f"{x.sum().item():.1f}"))
            return x * (2 if kept[0].startswith("-") else 3)

    return Program()


@case((torch.randn(8),), [(torch.randn(8),), (torch.randn(8) * 3,)])
def numpy_round_trip():
    def program(x):
        a = x.numpy()
        return torch.from_numpy(np.sort(a)) * 2

    return program


@case((torch.randn(8),), [(torch.randn(8),), (torch.randn(8) * 3,)])
def numpy_percentile():
    def program(x):
        return x.clamp(max=float(np.percentile(x.numpy(), 90)))

    return program


@case((torch.randn(8),), [(torch.randn(8),), (torch.randn(8) * 3,)])
def numpy_result():
    def program(x):
        return (x * 2).numpy()

    return program


@case((torch.randint(0, 5, (6,)),), [(torch.randint(0, 5, (6,)),) for _ in range(3)])
def numpy_unique():
    def program(x):
        return torch.zeros(1) + len(np.unique(x.numpy()))

    return program


@case((torch.tensor([3, 1, 2]),), [(torch.tensor(v),) for v in ([3, 1, 2], [1, 2, 3], [5, 5, 5])])
def sorted_list():
    def program(x):
        return torch.tensor(sorted(x.tolist())) * 2

    return program


@case((torch.tensor([3, 1, 2]),), [(torch.tensor(v),) for v in ([3, 1, 2], [1, 2, 3], [5, 5, 5])])
def max_of_list():
    def program(x):
        return torch.zeros(3) + max(x.tolist()) * sum(x.tolist())

    return program


@case((torch.tensor([3, 1, 2]),), [(torch.tensor(v),) for v in ([3, 1, 2], [1, 2, 3], [2, 2, 2])])
def set_of_list():
    def program(x):
        return torch.ones(2) * len(set(x.tolist()))

    return program


@case((torch.tensor([3, 1, 2]),), [(torch.tensor(v),) for v in ([3, 1, 2], [1, 2, 3], [0, 2, 2])])
def unpacked():
    def program(x):
        a, b, c = x.tolist()
        return torch.ones(2) * (a - b) if a > c else torch.ones(2) * b

    return program


@case((torch.tensor([2, 3]), torch.randn(6)), [(torch.tensor(v), torch.randn(6)) for v in ([2, 3], [3, 2], [6, 1])])
def view_by_numbers():
    def program(shape, x):
        return x.view(*shape.tolist()).sum(0)

    return program


@case((torch.tensor([7]),), [(torch.tensor([n]),) for n in (7, 8, -7, 2**40)])
def integer_arithmetic():
    def program(x):
        n = x.item()
        return torch.zeros(2, dtype=torch.int64) + (n // 2 + n % 3 - (-n) // 4)

    return program


@case((torch.tensor([7]),), [(torch.tensor([n]),) for n in (7, 8, 2**33)])
def big_integers():
    def program(x):
        n = x.item()
        return torch.ones(2) * float((n * 2654435761 * n * n) % 1000)

    return program


@case((torch.tensor([7]),), [(torch.tensor([n]),) for n in (7, 8)])
def number_type():
    def program(x):
        n = x.item()
        return torch.ones(2) * (n if type(n) is int else -1)

    return program


@case((torch.tensor([7]),), [(torch.tensor([n]),) for n in (7, 8)])
def number_isinstance():
    def program(x):
        n = x.item()
        return torch.ones(2) * (n if isinstance(n, int) and not isinstance(n, float) else -1)

    return program


@case((torch.tensor([0.5]),), [(torch.tensor([v]),) for v in (0.5, 0.25, 3.0)])
def is_integer():
    def program(x):
        v = (x * 2).item()
        return x * 2 if v.is_integer() else x * 3

    return program


@case((torch.tensor([7]),), [(torch.tensor([n]),) for n in (7, 9)])
def bit_length():
    def program(x):
        return torch.ones(2) * x.item().bit_length()

    return program


@case((torch.tensor([1.5, float("nan")]),), [(torch.tensor(v),) for v in ([1.5, float("nan")], [1.5, 2.0])])
def nan_check():
    def program(x):
        return torch.nan_to_num(x) if any(v != v for v in x.tolist()) else x * 5

    return program


@case((torch.randn(4, 3),), [(torch.randn(4, 3),) for _ in range(4)])
def argmax_picks_module():
    class Routed(nn.Module):
        def __init__(self):
            super().__init__()
            self.experts = nn.ModuleList(nn.Linear(3, 3) for _ in range(3))

        def forward(self, x):
            rows = []
            for row in x:
                rows.append(self.experts[row.argmax().item()](row))
            return torch.stack(rows)

    return Routed().eval()


@case((torch.tensor([1, 0, 2]),), [(torch.tensor(v),) for v in ([1, 0, 2], [0, 1, 2], [2, 2, 2])], expect=("right",))
def one_hot():
    def program(x):
        return F.one_hot(x, 3).float() * 2

    return program


@case((torch.tensor([1, 0, 2]),), [(torch.tensor(v),) for v in ([1, 0, 2], [0, 1, 1])])
def one_hot_open():
    def program(x):
        return F.one_hot(x).float().sum(0)

    return program


@case((torch.rand(4),), [(torch.rand(4),), (torch.rand(4) - 2,)], expect=("right", "refused"))
def asserts():
    def program(x):
        assert x.min() >= 0, f"negative: {x.min().item()}"
        return x.sqrt()

    return program


@case((torch.rand(4),), [(torch.rand(4),), (torch.rand(4) - 2,)])
def try_except_number():
    def program(x):
        try:
            y = math.sqrt(x.min().item())
        except ValueError:
            y = -1.0
        return x * y

    return program


@case((torch.tensor([3]), torch.randn(4)), [(torch.tensor([n]), torch.randn(4)) for n in (3, 0)])
def division_by_item():
    def program(n, x):
        try:
            return x * (6 // n.item())
        except ZeroDivisionError:
            return x * 0

    return program


@case((torch.tensor([3]), torch.randn(4)), [(torch.tensor([n]), torch.randn(4)) for n in (3, 0, 5)])
def item_or_default():
    def program(n, x):
        return x * (n.item() or 8)

    return program


@case((torch.tensor([3]), torch.randn(4)), [(torch.tensor([n]), torch.randn(4)) for n in (3, 7, 5)])
def match_statement():
    def program(n, x):
        match n.item():
            case 3:
                return x * 2
            case 5 | 6:
                return x * 3
        return x

    return program


@case((torch.tensor([3]), torch.randn(4)), [(torch.tensor([n]), torch.randn(4)) for n in (3, 7, 5)])
def bytes_and_chr():
    def program(n, x):
        return x * ord(chr(n.item() + 60)) + len(bytes(n.item()))

    return program


@case((torch.tensor([3]), torch.randn(4)), [(torch.tensor([n]), torch.randn(4)) for n in (3, 7, 5)])
def number_identity():
    def program(n, x):
        return x * 2 if id(n.item()) == id(3) else x * 3

    return program


@case((torch.randn(5),), [(torch.randn(5),) for _ in range(3)])
def string_of_tensor():
    def program(x):
        return x * 2 if "-" in str(x[0]) else x * 3

    return program


@case((torch.randn(5),), [(torch.randn(5),) for _ in range(3)])
def allclose_result():
    return lambda x: torch.allclose(x, x.abs())


@case((torch.randn(5), torch.tensor([2.0])), [(torch.randn(5), torch.tensor([v])) for v in (2.0, 3.0)])
def pow_by_item():
    def program(x, p):
        return x.abs() ** p.item() + 2 ** p.item()

    return program


@case((torch.randn(5), torch.tensor([1])), [(torch.randn(5), torch.tensor([v])) for v in (1, 2, 3)])
def roll_by_item():
    def program(x, n):
        return torch.roll(x, n.item())

    return program


@case((torch.randn(5), torch.tensor([1])), [(torch.randn(5), torch.tensor([v])) for v in (1, 2, 0)])
def index_by_item():
    def program(x, n):
        return x[n.item()] + x[n]

    return program


@case((torch.randn(6), torch.tensor([2, 4])), [(torch.randn(6), torch.tensor(v)) for v in ([2, 4], [1, 5], [3, 3])])
def split_by_list():
    def program(x, sizes):
        a, b = torch.split(x, sizes.tolist())
        return a.sum() - b.sum()

    return program


@case((torch.randn(2, 5, 3), torch.tensor([5, 3])), [(torch.randn(2, 5, 3), torch.tensor(v)) for v in ([5, 3], [4, 3], [5, 2])])
def packed_sequence():
    class Packed(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.GRU(3, 4, batch_first=True)

        def forward(self, x, lengths):
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            return nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0], batch_first=True)[0]

    return Packed().eval()


# -------------------------------------------------------------------- Python's own rules, and NumPy's


def pairs(*values):
    return [tuple(torch.tensor([float(number)]) for number in pair) for pair in values]


@case(pairs((7, 2))[0], pairs((-8, 2), (8, -2), (0, -3), (-7, 2)), expect=("right",))
def sign_of_a_rest_of_zero():
    return lambda a, b: torch.copysign(torch.ones(1), torch.ones(1) * (a.item() % b.item()))


@case(pairs((2, 3))[0], pairs((-2, 3), (0, 3), (0, 0), (2, -1), (4, 0.5), (math.nan, 0.5), (-math.inf, 0.5), (-2, math.inf)), expect=("right",))
def power_of_two_numbers():
    return lambda a, b: torch.ones(1) * a.item() ** b.item()


@case((torch.tensor([0.123456]),), [(torch.tensor([value]),) for value in (2.5, 1e14, -1e30, math.nan, math.inf, -math.inf)], expect=("right",))
def metric_rounded_to_digits():
    return lambda x: {"loss": round(x.mean().item(), 4)}


def compared(dtype, *numbers):
    def program(x):
        array = x.numpy()
        return [torch.from_numpy(compare(array, number)) for number in numbers
                for compare in (np.equal, np.not_equal, lambda a, b: a < b, lambda a, b: a >= b)]

    return lambda: program


for _dtype, _numbers in {torch.uint8: (-1, 255, 300), torch.int8: (-129, 128, -1), torch.int16: (40000,), torch.int32: (2**31, -(2**40))}.items():
    _make, _limits = compared(_dtype, *_numbers), torch.iinfo(_dtype)
    _make.__name__ = f"array_compared_beyond_{_limits.dtype}"
    case((torch.tensor([1, 2, 3], dtype=_dtype),), [(torch.tensor([_limits.min, 0, _limits.max], dtype=_dtype),)], expect=("right",))(_make)


@case((torch.arange(6.0).reshape(2, 3),), [(torch.randn(2, 3),)], expect=("right",))
def array_copied_by_its_new_shape():
    def program(x):
        array = x.numpy().copy()
        turned, part, flat, scaled = array.T.ravel(), array[:, ::2].reshape(-1), array.ravel(), (array.T * 2)
        turned[1], part[0], flat[2] = 50, 60, 70
        scaled.ravel()[0] = 80
        return [torch.from_numpy(each) for each in (array, turned, part, scaled)]

    return program


@case((torch.randn(8), torch.tensor(0.5)), [(torch.randn(8), torch.tensor(0.9))], expect=("right",))
def constant_quantiles():
    return lambda x, q: (x.quantile(torch.tensor([0.25, 0.75])), torch.nanquantile(x, torch.tensor(0.1)), torch.tensor([1.0, 3.0]).quantile(q) + x)


class Scaling(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x):
        return self.layer(x) * 2


@case((torch.randn(4, 3),), [(torch.randn(4, 3),)], expect=("right",))
def scripted_module_in_python():
    return torch.jit.script(Scaling())


@case((torch.randn(4, 3),), [(torch.randn(4, 3),)], expect=("right",))
def traced_module_in_python():
    return torch.jit.trace(Scaling(), torch.randn(4, 3))


SIX = torch.randn(6)


def byte(value):
    return torch.tensor(value, dtype=torch.uint8)


@case((SIX, byte(37)), [(SIX, byte(v)) for v in (37, 5, 250, 100, 99, 101, 100)])
def correction_step_of_an_exposure():
    def program(x, exposure):
        step = ((abs(exposure.item() - 100) + 1) >> 1) - 1
        steps = np.zeros(6, np.uint8)
        try:
            steps[0] = step
        except OverflowError:  # it is on target
            steps[:] = 9
        return x + torch.from_numpy(steps).float()

    return program
