"""What lazy-export has to see by itself, without the experiments of lazyrt.export: numbers, hooks, memory, names."""

import math
from typing import Dict, NamedTuple, Tuple

import torch
from harness import Call, case
from torch import nn

X = [(torch.randn(2, 3),) for _ in range(4)]
LARGE = torch.tensor([[1e4, 2.0, 3.0], [1.0, 5e3, 2.0]])
LATE = [X[0], X[1], (LARGE,), X[2]]
NAN = [*X[:2], (torch.tensor([[math.nan, 1.0, 2.0], [1.0, 2.0, 3.0]]),)]
BYTES = [(torch.tensor(v, dtype=torch.uint8),) for v in ([10, 20, 30], [100, 200, 150], [255, 255, 255])]
INTS = [(torch.tensor([1, 2, 3], dtype=torch.int32), torch.tensor(n)) for n in (7, 2**31, 2**33)]
SCALES = [(torch.randn(3), torch.tensor(v)) for v in (0.37, 1.0, 0.3, 3.0, -1.0)]
PHASES = [(torch.randn(3), torch.tensor(v, dtype=torch.float64)) for v in (7.3, -1e-20, -3.0)]
SQUARE = torch.randn(3, 3)
PAIR = (torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))


def script(module):
    return torch.jit.script(module.eval())


# ---------------------------------------------------------------- numbers


class BySum(nn.Module):
    def forward(self, x):
        return x / x.sum().item()


class ByInt(nn.Module):
    def forward(self, x, n):
        return x / int(n), torch.true_divide(x, int(n)), torch.xlogy(x, int(n))


class ByItem(nn.Module):
    def forward(self, x, n):
        return x / n.item(), torch.div(x, n.item(), rounding_mode=None)


@case(BYTES[0], BYTES, expect=("right",), front="torchscript")
def tool_ts_bytes_by_their_sum():
    class Net(nn.Module):
        def forward(self, x):
            return x / int(x.sum())

    return script(Net())


@case(BYTES[0], BYTES, expect=("right",), front="pt2")
def tool_pt2_bytes_by_their_sum():
    return BySum()


@case(INTS[0], INTS, expect=("right",), front="torchscript")
def tool_ts_int32_by_int64():
    return script(ByInt())


@case(INTS[0], INTS, expect=("right",), front="pt2")
def tool_pt2_int32_by_int64():
    return ByItem()


@case(X[0], NAN, expect=("right",), front="torchscript")
def tool_ts_max_of_nan():
    class Net(nn.Module):
        def forward(self, x):
            return x / max(float(x.abs().max()), 1e-6) + min(1.0 / (float(x.norm()) + 1e-6), 1.0)

    return script(Net())


@case((torch.randn(3), torch.tensor(5.0)), [(torch.randn(3), torch.tensor(v)) for v in (5.0, -7.0, math.nan)], expect=("right",), front="pt2")
def tool_pt2_sym_max_of_nan():
    class Net(nn.Module):
        def forward(self, x, n):
            return x * torch.sym_max(n.item(), 1e-6)

    return Net()


@case(SCALES[0], SCALES, expect=("right",), front="torchscript")
def tool_ts_floor_division_of_floats():
    class Net(nn.Module):
        def forward(self, x, v):
            return x * (float(v) // 0.1)

    return script(Net())


@case(PHASES[0], PHASES, expect=("right",), front="torchscript")
def tool_ts_remainder_of_floats():
    class Net(nn.Module):
        def forward(self, x, v):
            return x + float(v) % 6.25

    return script(Net())


@case((torch.ones(3),), [(torch.ones(3),), (torch.tensor([1.0, -1.0, 0.0]),)], expect=("right",), front="torchscript")
def tool_ts_division_by_zero():
    class Net(nn.Module):
        def forward(self, x):
            return torch.clamp(x * (1.0 / float(x.sum())), -10.0, 10.0)

    return script(Net())


@case(X[0], X, expect=("right",), front="torchscript")
def tool_ts_logarithm_of_a_base():
    class Net(nn.Module):
        def forward(self, x):
            return x * math.log(float(x.abs().sum()), 2.0)

    return script(Net())


# ---------------------------------------------------------------- hooks


def twice(module, inputs: Tuple[torch.Tensor]) -> Tuple[torch.Tensor]:
    return (inputs[0] * 2,)


def one_more(module, inputs: Tuple[torch.Tensor], result: torch.Tensor) -> torch.Tensor:
    return result + inputs[0]


@case(X[0], X, expect=("right",), front="torchscript")
def tool_ts_hooks_of_the_module():
    class Net(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x)

    net = Net()
    net.register_forward_pre_hook(twice)
    net.register_forward_hook(one_more)
    return script(net)


# ---------------------------------------------------------------- tensors that are one


@case(X[0], LATE, expect=("failed",), front="torchscript")
def tool_ts_attributes_become_one_tensor():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.cur = torch.zeros(2, 3)
            self.prev = torch.zeros(2, 3)

        def forward(self, x):
            self.cur.add_(torch.relu(x - 1000))
            r = self.prev + x
            self.prev = self.cur
            return r

    return script(Net())


@case(X[0], LATE, expect=("right",), front="torchscript")
def tool_ts_delay_line():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.cur = torch.zeros(2, 3)
            self.prev = torch.zeros(2, 3)

        def forward(self, x):
            r = self.prev + x
            self.prev = self.cur
            self.cur = x * 1
            return r

    return script(Net())


@case(X[0], LATE, expect=("failed",), front="torchscript")
def tool_ts_traced_constant_is_written():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = torch.zeros(3)

        def forward(self, x):
            self.c.add_(torch.relu(x - 1000).sum(0))
            return x + self.c

    return torch.jit.trace(Net(), X[0], check_trace=False)


class Turning(nn.Module):
    """Its state lies in memory as at first again after 15 calls, and only then reshape gives a view of it."""

    def __init__(self):
        super().__init__()
        self.h = torch.zeros(2, 2, 2, 2, 2, 2, 2, 2).permute(1, 2, 0, 4, 5, 6, 7, 3)

    def forward(self, x):
        flat = self.h.reshape(256)
        flat.add_(1.0)
        y = self.h.sum() + flat
        self.h = (self.h + x.view(2, 2, 2, 2, 2, 2, 2, 2)).permute(1, 2, 0, 4, 5, 6, 7, 3)
        return y


@case(torch.ones(256), [torch.arange(256.0) / (i + 1) for i in range(32)], expect=("failed",), front="torchscript")
def tool_ts_state_that_turns():
    return script(Turning())


class WritesFirst(nn.Module):
    def forward(self, x, y):
        x.add_(1.0)
        return x * y


@case(PAIR, [(PAIR[0], PAIR[0]), PAIR], expect=("refused",), front="torchscript")
def tool_ts_one_tensor_twice():
    return script(WritesFirst())


@case(PAIR, [(PAIR[0], PAIR[0]), PAIR], expect=("refused",), front="pt2")
def tool_pt2_one_tensor_twice():
    return WritesFirst()


@case(PAIR, [PAIR, (PAIR[0], PAIR[0])], expect=("refused",), front="torchscript")
def tool_ts_identity():
    class Net(nn.Module):
        def forward(self, x, y):
            return x * 2 if x is y else x * 3

    return script(Net())


@case(X[0], [X[0], X[1]], expect=("failed",), front="torchscript")
def tool_ts_identity_with_an_attribute():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = torch.zeros(2, 3)

        def forward(self, x):
            y = x * 2 if x is self.last else x * 3
            self.last = x
            return y

    return script(Net())


@case(X[0], LATE, expect=("failed",), front="torchscript")
def tool_ts_attributes_part():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.zeros(2, 3)
            self.b = self.a

        def forward(self, x):
            self.b = x * 1
            return self.a + x

    return script(Net())


# ---------------------------------------------------------------- memory and gradients


@case((SQUARE,), [(SQUARE,), (SQUARE.t(),)], expect=("refused",), front="torchscript")
def tool_ts_contiguous():
    class Net(nn.Module):
        def forward(self, x):
            return x * 2 if x.is_contiguous() else x * 3

    return script(Net())


class Strided(nn.Module):
    def forward(self, x):
        return x.as_strided([2, 2], [3, 1]) * 2


@case((SQUARE,), [(SQUARE,), (SQUARE.t(),)], expect=("refused",), front="torchscript")
def tool_ts_as_strided():
    return script(Strided())


@case((SQUARE,), [(SQUARE,), (SQUARE.t(),)], expect=("refused",), front="pt2")
def tool_pt2_as_strided():
    return Strided()


@case((SQUARE.t(),), [(SQUARE.t(),), (SQUARE,)], expect=("failed",), front="pt2")
def tool_pt2_as_strided_of_a_transposed_example():
    return Strided()


@case((torch.ones(3),), [(torch.ones(3),), (torch.arange(4.0)[1:],)], expect=("refused",), front="torchscript")
def tool_ts_storage_offset():
    class Net(nn.Module):
        def forward(self, x):
            return x * float(1 + x.storage_offset())

    return script(Net())


@case((torch.ones(3),), [(torch.ones(3),), (torch.ones(3).requires_grad_(),)], expect=("refused",), front="torchscript")
def tool_ts_requires_grad():
    class Net(nn.Module):
        def forward(self, x):
            return x * 2 if x.requires_grad else x * 3

    return script(Net())


@case(X[0], [X[0], Call(X[1], mode=torch.enable_grad)], expect=("refused",), front="torchscript")
def tool_ts_gradient_mode():
    class Net(nn.Module):
        def forward(self, x):
            return x * 2 if torch.is_grad_enabled() else x * 3

    return script(Net())


WHOLE = [(torch.tensor([1, 2]),), Call((torch.tensor([1, 30_000_000]),), mode=torch.enable_grad)]


@case(WHOLE[0], WHOLE, expect=("refused",), front="torchscript")
def tool_ts_gradient_mode_and_a_limit_far_away():
    class Net(nn.Module):
        def limited(self, x):
            return x.clamp(max=20_000_000) if torch.is_grad_enabled() else x

        def forward(self, x):
            return self.limited(x) * 2

    return script(Net())


@case(X[0], [X[0], (X[0][0].clone().requires_grad_(),), Call(X[1], mode=torch.enable_grad)], expect=("refused",), front="torchscript")
def tool_ts_gradients_of_what_is_computed():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.tensor(2.0))

        def forward(self, x):
            y = x * self.scale
            return y * 2 if y.requires_grad else y

    return script(Net())


@case(X[0], X, expect=("right",), front="torchscript")
def tool_ts_gradients_of_a_parameter():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.tensor(2.0))

        def forward(self, x):
            return x * self.scale if self.scale.requires_grad else x

    return script(Net())


@case((*X[0], *X[1]), [(*X[0], *X[1]), (X[0][0],) * 2], expect=("refused",), front="torchscript")
def tool_ts_is_set_to():
    class Net(nn.Module):
        def forward(self, x, y):
            return x * 2 if x.is_set_to(y) else x * y

    return script(Net())


@case(X[0], [X[0], (torch.randn(3, 2).t(),)], expect=("refused",), front="torchscript")
def tool_ts_contiguous_gives_the_tensor_itself():
    class Net(nn.Module):
        def forward(self, x):
            return x * 2 if x.contiguous() is x else x * 3

    return script(Net())


@case((torch.randn(1, 4),), [(torch.randn(1, 4),), (torch.randn(3, 8)[:1, :4],)], expect=("refused",), front="torchscript")
def tool_ts_stride_of_one_row():
    class Net(nn.Module):
        def forward(self, x):
            return x * 2 if x.stride(0) == x.size(1) else x * 3

    return script(Net())


@case((torch.randn(1, 3, 8),), [(torch.randn(1, 3, 8),) for _ in range(2)], expect=("right",), front="torchscript")
def tool_ts_encoder_in_a_module():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)

        def forward(self, x):
            return self.encoder(x).mean(1)

    return script(Net())


@case((torch.randn(1, 3, 8),), [(torch.randn(1, 3, 8),) for _ in range(2)], expect=("right",), front="torchscript")
def tool_ts_encoder_asks_for_all_of_it():
    return script(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True))


# ---------------------------------------------------------------- names and results


@case(X[0], X, expect=("failed",), front="torchscript")
def tool_ts_names_of_results_collide():
    class Net(nn.Module):
        def forward(self, x):
            d: Dict[str, Dict[str, torch.Tensor]] = {"a": {"b.c": x * 1}, "a.b": {"c": x * 2}}
            return d

    return script(Net())


@case(X[0], X, expect=("right",), front="pt2")
def tool_pt2_numbers_among_results():
    class Net(nn.Module):
        def forward(self, x):
            return x * 2, None, x, x, 3, True

    return Net()


class Scaled(NamedTuple):
    a: torch.Tensor
    n: int


@case((Scaled(torch.ones(3), 3),), [(Scaled(torch.randn(3), 3),)], expect=("right",), front="torchscript")
def tool_ts_named_tuple_argument():
    class Net(nn.Module):
        def forward(self, p: Scaled):
            return Scaled(p.a * p.n, p.n + 1)

    return script(Net())


INTEGERS = torch.tensor([1, 2, 3, 4])


@case(INTEGERS, [INTEGERS, INTEGERS * 3, -INTEGERS], expect=("right",), front="torchscript")
def tool_ts_traced_number_beside_integers():
    class Net(nn.Module):
        def forward(self, u):
            return u * 0.1 > 0.3, u * 1.5, (u + 0.1) / 10

    return torch.jit.trace(Net(), INTEGERS, check_trace=False)


@case((*X[0], torch.tensor([1, 0])), [(*X[0], torch.tensor([0, 1])), (*X[1], torch.tensor([-1, 0]))], expect=("right",), front="torchscript")
def tool_ts_index_by_a_tensor():
    class Net(nn.Module):
        def forward(self, x, i):
            return x[i], x[:, i], x[i, i]

    return script(Net())


@case((*X[0], torch.tensor([1, 0])), [(*X[0], torch.tensor([0, 1])), (*X[1], torch.tensor([-1, 0]))], expect=("right",), front="torchscript")
def tool_ts_traced_index_by_a_tensor():
    class Net(nn.Module):
        def forward(self, x, i):
            return x[i] + x[:, i].sum()

    return torch.jit.trace(Net(), (*X[0], torch.tensor([1, 0])), check_trace=False)


# ---------------------------------------------------------------- windows and strides of .pt2


class Chunks(nn.Module):
    """Longformer's overlapping chunks of one row."""

    def __init__(self):
        super().__init__()
        self.q = nn.Linear(4, 4)

    def forward(self, x):
        q = self.q(x).view(1, 8, 2, 2).transpose(1, 2).reshape(2, 8, 2).view(2, 2, 4, 2)
        size, strides = list(q.size()), list(q.stride())
        size[1], strides[1] = size[1] * 2 - 1, strides[1] // 2
        return q.as_strided(size, strides).sum(2)


ROWS = [(torch.randn(1, 8, 4),) for _ in range(3)]


@case(ROWS[0], ROWS, expect=("failed",), front="pt2")
def tool_pt2_overlapping_chunks():
    return Chunks()


class OverlapAdd(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("sums", torch.zeros(8))

    def forward(self, frame):
        self.sums.unfold(0, 4, 2)[1].add_(frame)
        return self.sums * 1


FRAMES = [(torch.randn(4),) for _ in range(3)]


@case(FRAMES[0], FRAMES, expect=("failed",), front="pt2")
def tool_pt2_overlap_add():
    return OverlapAdd()


@case(FRAMES[0], FRAMES, expect=("failed",))
def overlap_add():
    return OverlapAdd()


@case(FRAMES[0], FRAMES, expect=("failed",))
def overlapping_windows_by_strides():
    def program(x):
        y = x * 2
        windows = y.as_strided((3, 2), (1, 1))
        windows[0] *= torch.where(x[0] > 100, 0.0, 1.0)
        return y

    return program


class Hash(nn.Module):
    def forward(self, x, n):
        k = n.item()
        return x * (k * k % 1009)


@case((FRAMES[0][0], torch.tensor(7)), [(FRAMES[0][0], torch.tensor(n)) for n in (7, 10**6, 2**32 + 5)], expect=("refused",), front="pt2")
def tool_pt2_whole_numbers_do_not_wrap():
    return Hash()


TIMES = torch.tensor([0.1, 0.2, 0.3])


@case(torch.tensor(0.05, dtype=torch.float64), [torch.tensor(t, dtype=torch.float64) for t in (0.1, 0.2, 0.25, 5.0)], expect=("right",))
def places_of_a_double_among_floats():
    return lambda t: (torch.bucketize(t, TIMES, right=True), torch.searchsorted(TIMES, t), torch.searchsorted(TIMES, 0.2, right=True))


@case((torch.ones(2), torch.tensor(300001)), [(torch.ones(2), torch.tensor(n)) for n in (300001, 7)], front="pt2")
def tool_pt2_power_beyond_the_digits_of_a_double():
    class Net(nn.Module):
        def forward(self, x, n):
            return x * (n.item() ** 3 % 1009)

    return Net()


class WindowsWithGaps(nn.Module):
    """The last element lies in no window, and changes on rare values only."""

    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(7))

    def forward(self, x):
        self.kept[6:] += torch.relu(x.sum() - 1000)
        self.kept.unfold(0, 3, 3)[0].add_(x)
        return self.kept * 1


class WindowsWithoutGaps(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(6))

    def forward(self, x):
        self.kept.unfold(0, 3, 3)[1].add_(x)
        self.kept.unfold(0, 6, 1).mul_(torch.where(x.sum() > 1000, 2.0, 1.0))
        return self.kept * 1


GAPS = [(torch.ones(3),), (torch.ones(3) * 1000,), (torch.ones(3),)]


@case(GAPS[0], GAPS)
def write_into_windows_with_gaps():
    return WindowsWithGaps()


@case(GAPS[0], GAPS, front="torchscript")
def tool_ts_write_into_windows_with_gaps():
    return script(WindowsWithGaps())


@case(GAPS[0], GAPS, front="pt2")
def tool_pt2_write_into_windows_with_gaps():
    return WindowsWithGaps()


@case(GAPS[0], GAPS, expect=("right",), front="torchscript")
def tool_ts_write_into_windows_without_gaps():
    return script(WindowsWithoutGaps())
