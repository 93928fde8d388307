"""TorchScript and .pt2 files that go through lazy-export: attributes that begin to matter late, numbers, nested results."""

from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
import torch.nn.functional as F
from harness import case
from torch import nn

X = [(torch.randn(2, 3),) for _ in range(8)]
N = [(torch.randn(6), torch.tensor(n)) for n in (3, 3, -4, 5, 0)]
BIG = [(torch.randn(6), torch.tensor(n)) for n in (3, 2**40, 2**62, -7)]


def script(module):
    return torch.jit.script(module.eval())


@case(X[0], X, front="torchscript")
def ts_nested_list_counts():
    class Net(nn.Module):
        counts: List[List[int]]

        def __init__(self):
            super().__init__()
            self.counts = [[0], [0]]

        def forward(self, x):
            held = self.counts[1]
            if held[0] < 6:
                held[0] += 1
            return x * (2 if held[0] < 5 else 100)

    return script(Net())


@case(X[0], X, front="torchscript")
def ts_counts_in_submodule():
    class Count(nn.Module):
        def __init__(self):
            super().__init__()
            self.seen: Dict[str, int] = {"n": 0}

        def forward(self, x):
            self.seen["n"] = min(self.seen["n"] + 1, 6)
            return x * (2 if self.seen["n"] < 5 else 100)

    return script(nn.Sequential(nn.Linear(3, 3), Count()))


@case(X[0], X, front="torchscript")
def ts_text_grows():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.tag = ""

        def forward(self, x):
            if len(self.tag) < 6:
                self.tag = self.tag + "a"
            return x * (2 if len(self.tag) < 5 else 100)

    return script(Net())


@case(X[0], X, front="torchscript")
def ts_training_flag_is_set():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.zeros((), dtype=torch.int64))
            self.norm = nn.BatchNorm1d(3)

        def forward(self, x):
            self.n += 1
            self.norm.training = bool(self.n == 5)
            return self.norm(x)

    return script(Net())


@case(X[0], X, front="torchscript")
def ts_optional_of_two_tensors():
    class Net(nn.Module):
        last: Optional[Tuple[torch.Tensor, int]]

        def __init__(self):
            super().__init__()
            self.last = None

        def forward(self, x):
            last = self.last
            y = x
            n = 0
            if last is not None:
                y = x - last[0]
                n = last[1]
            self.last = (x, min(n + 1, 6))
            return y * (2 if n < 5 else 100)

    return script(Net())


@case(BIG[0], BIG, front="torchscript")
def ts_integers_wrap():
    class Net(nn.Module):
        def forward(self, x, n):
            k = int(n.item())
            k = k * k + 7
            return x * float(k % 1000)

    return script(Net())


@case(N[0], N, front="torchscript")
def ts_division_of_negative():
    class Net(nn.Module):
        def forward(self, x, n):
            k = int(n)
            return x * (k // 2) + (k % 3) + round(float(k) / 2.0)

    return script(Net())


class Found(NamedTuple):
    best: torch.Tensor
    place: int


@case(N[0], N, front="torchscript")
def ts_named_tuple_of_number():
    class Net(nn.Module):
        def forward(self, x, n):
            return Found(x * 2, int(x.argmax()))

    return script(Net())


@case(N[0], N, front="torchscript")
def ts_sorted_numbers():
    class Net(nn.Module):
        def forward(self, x, n):
            values: List[float] = x.tolist()
            ordered = sorted(values)
            return x * ordered[2] + float(max(values) > 1.0)

    return script(Net())


@case(N[0], N, front="torchscript")
def ts_early_return():
    class Net(nn.Module):
        def forward(self, x, n):
            for i in range(3):
                x = x * 0.5 + i
                if float(x.mean()) > 1.2:
                    return x, i
            return x * 2, 7

    return script(Net())


@case(X[0], X, front="pt2")
def pt2_plain_tensor_is_written():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.total = torch.zeros(3)

        def forward(self, x):
            self.total.add_(x.sum(0))
            return x + self.total

    return Net()


@case(X[0], X, front="pt2")
def pt2_two_names_of_one_buffer():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("a", torch.zeros(3))
            self.register_buffer("b", self.a)

        def forward(self, x):
            self.a.add_(1)
            return x * self.b

    return Net()


@case(X[0], X, front="pt2")
def pt2_buffer_that_is_not_saved():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.ones(3), persistent=False)

        def forward(self, x):
            self.mean.copy_(0.5 * self.mean + 0.5 * x.mean(0))
            return x - self.mean

    return Net()


@case(N[0], N, front="pt2")
def pt2_number_as_result():
    class Net(nn.Module):
        def forward(self, x, n):
            return x * 2, n.item(), x.argmax().item()

    return Net()


@case(N[0], N, front="pt2")
def pt2_number_compared():
    class Net(nn.Module):
        def forward(self, x, n):
            return torch.cond(n > 1, lambda t: t * 2, lambda t: t * 3, (x,))

    return Net()


@case(X[0], X, front="pt2")
def pt2_nested_results():
    class Net(nn.Module):
        def forward(self, x):
            y = x * 2
            return {"y": y, "same": [y, x, None, 3], "view": (y.t(), y[0])}

    return Net()


@case((torch.tensor([0, 1, 2]),), [(torch.tensor(v),) for v in ([0, 1, 2], [2, 2, 0], [1, 5, 0])], front="pt2")
def pt2_one_hot_range():
    class Net(nn.Module):
        def forward(self, ids):
            return F.one_hot(ids, 3).float() @ torch.arange(9.0).reshape(3, 3)

    return Net()


@case(X[0], X, front="pt2")
def pt2_view_is_written():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("window", torch.zeros(4, 3))

        def forward(self, x):
            self.window[:-2] = self.window[2:].clone()
            self.window[-2:] = x
            return self.window.mean(0) + x

    return Net()
