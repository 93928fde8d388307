"""What shows on other values than the sample's only, or by little: a clamp that nothing there reaches, a factor of 1.0005, a later phase, another sample's path."""

import dataclasses
import enum
import functools

import torch
from harness import Call, case, sized
from torch import nn

WRONG, ANY = ("refused", "failed"), ("right", "refused", "failed")
LOW, HIGH = torch.tensor([0, 1, 2, 3]), torch.tensor([40, 500, 3, 7000])
A, B = torch.randn(3, 4), torch.randn(3, 4)
TABLE, TURNED = torch.arange(12).view(3, 4), (torch.arange(12) * 100).view(4, 3).t()
TALL = torch.randn(2, 3, 4)


# -------------------------------------------------------------------- one tensor, memory, the form of the call


@case((LOW, LOW.clone()), [(HIGH, HIGH)], expect=WRONG)
def one_tensor_is_limited():
    return lambda q, k: (q.clamp(max=100) if q is k else q) * 2 + k


@case((A, B), [(A, A)], expect=WRONG)
def one_tensor_is_scaled_by_little():
    return lambda q, k: q @ k.t() * (1.0005 if q is k else 1.0)


@case((A, B), [(A, B), (B, A)], expect=("right",))
def two_tensors_of_attention():
    attention = nn.MultiheadAttention(4, 2, batch_first=True).eval()
    return lambda q, k: attention(q[None], k[None], k[None])[0]


@case((TABLE,), [(TABLE,), (TURNED,)], expect=WRONG)
def strided_is_limited():
    return lambda x: (x if x.is_contiguous() else x.clamp(max=100)) + 1


@case((A,), [(torch.randn(4, 3).t(),)], expect=WRONG)
def strided_has_another_epsilon():
    return lambda x: (x - x.mean()) / (x.var() + (1e-5 if x.is_contiguous() else 1e-3)).sqrt()


@case((A, B), [(A, torch.randn(4, 3).t())], expect=WRONG)
def one_of_two_is_strided():
    return lambda a, b: a * 2 + b if a.is_contiguous() == b.is_contiguous() else a * 3 + b


@case((TALL,), [(torch.randn(2, 4, 3).transpose(1, 2),)], expect=WRONG)
def column_major():
    return lambda x: x * 2 if x.stride(-2) == 1 and x.stride(-1) != 1 else x * 3


def limiting(more):
    def decorate(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            made = function(*args, **kwargs)
            return made.clamp(max=100) if more(args, kwargs) else made

        return call

    return decorate


@case(Call((LOW,), {"by": LOW}), [Call((HIGH, HIGH))], expect=WRONG)
def limited_by_position():
    return limiting(lambda args, kwargs: len(args) > 1)(lambda x, by: x + by)


class OneOfTwoDefaults(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_forward_hook(lambda m, a, k, out: out.clamp(max=100) if ("low" in k) != ("high" in k) else out, with_kwargs=True)

    def forward(self, x, low=None, high=None):
        return x * 3


@case(Call((LOW,)), [Call((HIGH,)), Call((HIGH,), {"low": None})], expect=WRONG)
def one_of_two_defaults():
    return OneOfTwoDefaults()


@case((LOW,), [(HIGH,), Call((HIGH,), mode=torch.enable_grad)], expect=("refused",))
def limited_where_gradients_are_recorded():
    return lambda x: x.clamp(max=100) if torch.is_grad_enabled() else x + 0


class LimitedAgain(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = None

    def forward(self, x):
        made = x.clamp(max=100) if x is self.last else x + 0
        self.last = x
        return made


@case((LOW,), [(HIGH,)], expect=("failed",))
def limited_where_an_object_comes_again():
    return LimitedAgain()


class LimitedOnceWarm(nn.Module):
    def __init__(self):
        super().__init__()
        self.warm = False

    def forward(self, x):
        if self.warm and torch.is_grad_enabled():
            return x.clamp(max=100)
        self.warm = True
        return x + 0


@case((LOW,), [(HIGH,), (HIGH,), Call((HIGH,), mode=torch.enable_grad)], expect=("refused",))
def limited_once_warm():
    return LimitedOnceWarm()


class InTheMiddle(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, q, k):
        self.calls = min(self.calls + 1, 3)
        return q * 2 + k if self.calls == 2 and q is k else q + k


@case((A, B), [(A, B), (A, A)], expect=WRONG)
def one_tensor_in_a_phase_between():
    return InTheMiddle()


# -------------------------------------------------------------------- names of classes and functions


class Train:
    @dataclasses.dataclass
    class Config:
        rate: float = 2.0

        def scaled(self, x):
            return x * self.rate


class Eval:
    @dataclasses.dataclass
    class Config:
        rate: float = 2.0

        def scaled(self, x):
            return x * self.rate * 10


@case((A, Train.Config()), [(A, Train.Config()), (A, Eval.Config())], expect=WRONG)
def one_name_in_two_classes():
    return lambda x, config: config.scaled(x)


class Window(enum.Enum):
    LUNG = (-600.0, 1500.0)
    BONE = (300.0, 2000.0)


@case((A, Window.LUNG), [(A, Window.LUNG), (B, Window.LUNG)], expect=("right",))
def enum_of_tuples():
    return lambda x, window: (x - window.value[0]) / window.value[1]


@case((A, Window.LUNG), [(A, Window.BONE)], expect=("refused",))
def another_enum_of_tuples():
    return lambda x, window: (x - window.value[0]) / window.value[1]


class Options(dict):
    """A dict with attributes beside."""


def doubling():
    options = Options(a=1)
    options.double = True
    return options


@case((A, Options(a=1)), [(A, Options(a=1)), (A, doubling())], expect=WRONG)
def attribute_that_the_example_had_not():
    return lambda x, options: x * (2 if getattr(options, "double", False) else 3)


# -------------------------------------------------------------------- modules that a call replaces


class Fused(nn.Module):
    def __init__(self, after):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
        nn.init.uniform_(self.norm.weight, 1, 4)
        self.calls, self.after, self.fused = 0, after, False
        self.eval()

    def forward(self, x):
        y = self.norm(self.conv(x))
        if self.calls < self.after:
            self.calls += 1
        elif not self.fused:
            self.conv = torch.nn.utils.fusion.fuse_conv_bn_eval(self.conv, self.norm)
            self.norm, self.fused = nn.Identity(), True
        return y


IMAGE = torch.randn(1, 3, 6, 6)


@case((IMAGE,), [(IMAGE + i,) for i in range(4)], expect=ANY)
def fused_at_once():
    return Fused(0)


@case((IMAGE,), [(IMAGE + i,) for i in range(20)], expect=ANY)
def fused_late():
    return Fused(12)


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.head, self.is_new = nn.Linear(4, 2), False

    def forward(self, x):
        if not self.is_new:
            head = nn.Linear(4, 2)
            with torch.no_grad():
                head.weight.copy_(torch.ones(2, 4))
                head.bias.zero_()
            self.head, self.is_new = head, True
        return self.head(x)


@case((A,), [(A,), (B,), (A,)], expect=ANY)
def head_made_anew():
    return Head()


# -------------------------------------------------------------------- sizes


def row(n):
    return (torch.arange(2.0 * n).view(n, 2) % 7 - 3,)


def ids(n):
    return (torch.arange(n) * 3,)


def size(arguments=row, ranges=None, dims=None, **more):
    return sized(arguments, ranges or {"n": (8, 420, 37)}, dims or {"x": {0: "n"}}, also=[136, 137, 138], count=6, expect=ANY, **more)


@size(ids)
def limited_at_one_size():
    return lambda x: x.clamp(max=50) if int(x.shape[0]) == 137 else x + 0


@size()
def scaled_by_little_at_one_size():
    return lambda x: x * (1.0005 if int(x.shape[0]) == 137 else 1.0)


class History(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("history", torch.zeros(2))

    def forward(self, x):
        y = x + self.history if int(x.shape[0]) == 137 else x + 0.0
        self.history.mul_(0.9).add_(x.mean(0))
        return y


@size()
def history_at_one_size():
    return History()


class Speeds(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(2))

    def forward(self, x):
        y = x - self.mean
        self.mean.lerp_(x.mean(0), {137: 0.5}.get(int(x.shape[0]), 0.1))
        return y


@size()
def speed_at_one_size():
    return Speeds()


class Grown(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.arange(16) * 10

    def forward(self, x):
        if x.size(0) > len(self.table):
            self.table = torch.arange(2 * x.size(0)) * 10
        return self.table[x.clamp(max=len(self.table) - 1)]


@size(ids, {"n": (2, 40, 12)})
def table_that_grows_and_ends():
    return Grown()


class OnceReady(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = None

    def forward(self, x):
        if self.table is None:
            self.table = torch.ones(2) * 3
        elif x.shape[0] == 137:
            return x * 5
        return x * self.table


@size()
def size_once_ready():
    return OnceReady()


def plane(h, w):
    return (torch.randn(1, h, w),)


class Presets(nn.Module):
    def __init__(self, presets):
        super().__init__()
        self.presets = presets


class ByText(Presets):
    def forward(self, x):
        return x * self.presets.get(f"{x.shape[1]}x{x.shape[2]}", 1.5)


class ByNumbers(Presets):
    def forward(self, x):
        return x * self.presets.get(tuple(map(int, x.shape[1:])), 1.5)


class Trained(nn.Module):
    def __init__(self):
        super().__init__()
        self.height, self.width = 56, 84

    def forward(self, x):
        return x * 2 if int(x.shape[1]) == self.height and int(x.shape[2]) == self.width else x


def planes():
    return sized(plane, {"h": (8, 100, 32), "w": (8, 100, 24)}, {"x": {1: "h", 2: "w"}}, points=[{"h": 96, "w": 37}, {"h": 56, "w": 84}], count=6, expect=ANY)


@planes()
def presets_by_text():
    return ByText({"96x37": 2.0})


@planes()
def presets_by_two_numbers():
    return ByNumbers({(96, 37): 2.0})


@planes()
def resolution_of_training():
    return Trained()


def pair(n, m):
    x = torch.randn(n, 3)
    return (x, x) if n == m else (x, torch.randn(m, 3))


@sized(pair, {"n": (2, 20, 7), "m": (2, 20, 9)}, {"x": {0: "n"}, "y": {0: "m"}}, points=[{"n": 5, "m": 5}], count=6, expect=ANY)
def pairs_without_themselves():
    return lambda x, y: torch.cdist(x, y) + (torch.eye(x.shape[0]) * 9 if x is y else 0)


@sized(lambda n: (torch.randn(1, n),), {"n": (400, 60000, 8000)}, {"x": {1: "n"}}, points=[{"n": 48000}], count=3, expect=ANY)
def seconds_of_samples():
    class Chunks(nn.Module):
        def __init__(self):
            super().__init__()
            self.seconds, self.rate = 3, 16000

        def forward(self, x):
            return x * 2 if int(x.shape[1]) == self.seconds * self.rate else x * 3

    return Chunks()
