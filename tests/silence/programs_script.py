"""TorchScript and .pt2 files."""

from typing import Dict, List, Optional, Tuple, Union

import torch
import torch.nn.functional as F
from harness import case
from torch import nn

X = [(torch.randn(3, 4),) for _ in range(4)]
N = [(torch.randn(6), torch.tensor(n)) for n in (3, 4, 0, 3)]


def script(module):
    return torch.jit.script(module.eval())


@case(N[0], N, front="torchscript")
def ts_item():
    class Net(nn.Module):
        def forward(self, x, n):
            return x * int(n.item())

    return script(Net())


@case(N[0], N, front="torchscript")
def ts_int_compare():
    class Net(nn.Module):
        def forward(self, x, n):
            k = int(n)
            if k > 2 and k < 4:
                return x * 2
            return x * 3

    return script(Net())


@case(N[0], N, front="torchscript")
def ts_loop():
    class Net(nn.Module):
        def forward(self, x, n):
            for i in range(int(n)):
                x = x + i
            return x

    return script(Net())


@case(N[0], N, front="torchscript")
def ts_while():
    class Net(nn.Module):
        def forward(self, x, n):
            k = int(n)
            while k > 0:
                x = x * 1.5
                k -= 1
            return x

    return script(Net())


@case(N[0], N, front="torchscript")
def ts_slice():
    class Net(nn.Module):
        def forward(self, x, n):
            return x[: int(n)]

    return script(Net())


@case(X[0], X, front="torchscript")
def ts_float_scale():
    class Net(nn.Module):
        def forward(self, x):
            s = float(x.abs().max())
            return x / (s + 1.0)

    return script(Net())


@case(X[0], X, front="torchscript")
def ts_float_compare():
    class Net(nn.Module):
        def forward(self, x):
            if float(x.mean()) > 0.1:
                return x * 2
            return x * 3

    return script(Net())


@case(X[0], X, front="torchscript")
def ts_counter():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.n: int = 0

        def forward(self, x):
            self.n += 1
            return x * self.n

    return script(Net())


@case(X[0], X, front="torchscript")
def ts_flag():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.even: bool = False

        def forward(self, x):
            self.even = not self.even
            if self.even:
                return x * 2
            return x * 3

    return script(Net())


@case(X[0], X, front="torchscript")
def ts_tensor_attribute():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.mem = torch.zeros(3, 4)

        def forward(self, x):
            self.mem = self.mem * 0.5 + x
            return self.mem * 2

    return script(Net())


@case(X[0], X, front="torchscript")
def ts_optional_state():
    class Net(nn.Module):
        mem: Optional[torch.Tensor]

        def __init__(self):
            super().__init__()
            self.mem = None

        def forward(self, x):
            mem = self.mem
            if mem is None:
                mem = torch.zeros_like(x)
            mem = mem * 0.5 + x
            self.mem = mem
            return mem

    return script(Net())


@case(X[0], X, front="torchscript")
def ts_list_state():
    class Net(nn.Module):
        past: List[torch.Tensor]

        def __init__(self):
            super().__init__()
            self.past = []

        def forward(self, x):
            self.past.append(x)
            return torch.stack(self.past).sum(0)

    return script(Net())


@case(X[0], X, front="torchscript")
def ts_dict_state():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.past: Dict[str, torch.Tensor] = {"x": torch.zeros(3, 4)}

        def forward(self, x):
            y = x - self.past["x"]
            self.past["x"] = x
            return y

    return script(Net())


@case(X[0], X, front="torchscript")
def ts_buffer():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.zeros(()))

        def forward(self, x):
            self.n += 1
            if bool(self.n > 2):
                return x * 5
            return x * self.n

    return script(Net())


@case(X[0], X, front="torchscript")
def ts_exception():
    class Net(nn.Module):
        def forward(self, x):
            if bool(x.sum() > 1e6):
                raise ValueError("too large")
            assert x.shape[0] == 3, "rows"
            return x * 2

    return script(Net())


@case(X[0], X, front="torchscript")
def ts_tolist():
    class Net(nn.Module):
        def forward(self, x):
            rows: List[List[float]] = x.tolist()
            return x * rows[0][0]

    return script(Net())


@case(X[0], X, front="torchscript")
def ts_text():
    class Net(nn.Module):
        def forward(self, x) -> Tuple[torch.Tensor, str]:
            return x * 2, "mean {}".format(x.mean().item())

    return script(Net())


@case(X[0], X, front="torchscript")
def ts_number_result():
    class Net(nn.Module):
        def forward(self, x) -> Tuple[torch.Tensor, int]:
            return x * 2, int(x.argmax())

    return script(Net())


@case(X[0], X, front="torchscript")
def ts_print():
    class Net(nn.Module):
        def forward(self, x):
            print(x.sum().item())
            return x * 2

    return script(Net())


@case(X[0], X, front="torchscript")
def ts_random():
    class Net(nn.Module):
        def forward(self, x):
            return F.dropout(x, 0.5, training=True)

    return script(Net())


@case((torch.tensor([[1, 50, 3]]),), [(torch.tensor([v]),) for v in ([1, 50, 3], [1, 2, 3], [50, 50, 1])], front="torchscript")
def ts_token_in_list():
    class Net(nn.Module):
        def forward(self, ids):
            found = False
            for i in range(ids.shape[1]):
                if int(ids[0, i]) == 50:
                    found = True
            return ids.float() * (2.0 if found else 3.0)

    return script(Net())


@case(X[0], X, front="torchscript")
def ts_traced_constant():
    class Net(nn.Module):
        def forward(self, x):
            return x * x.abs().max().item()

    return torch.jit.trace(Net(), X[0], check_trace=False)


@torch.jit.script
class Acc:
    def __init__(self, total: torch.Tensor):
        self.total = total
        self.n = 0

class Holder(nn.Module):
    def __init__(self):
        super().__init__()
        self.acc = Acc(torch.zeros(3, 4))

    def forward(self, x):
        self.acc.total = self.acc.total + x
        self.acc.n += 1
        return self.acc.total / self.acc.n


@case(X[0], X, front="torchscript", expect=("right",))
def ts_class_attribute():

    return script(Holder())


@case(X[0], X, front="torchscript", expect=("right",))
def ts_counter_arith():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 0

        def forward(self, x):
            self.n += 1
            return x * self.n

    return script(Net())


@case(X[0], X, front="torchscript", expect=("right",))
def ts_float_ema():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.m = 0.0

        def forward(self, x):
            self.m = 0.9 * self.m + 0.1 * float(x.mean())
            return x - self.m

    return script(Net())


@case(X[0], X, front="torchscript", expect=("right",))
def ts_list_inplace():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.q = [torch.zeros(3, 4), torch.zeros(3, 4)]

        def forward(self, x):
            self.q[0] = self.q[1]
            self.q[1] = x
            return self.q[0] + x

    return script(Net())


@case(X[0], X, front="torchscript")
def ts_shape_changes():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("past", torch.zeros(0, 4))

        def forward(self, x):
            self.past = torch.cat([self.past, x])[-6:]
            return self.past.sum(0)

    return script(Net())


@case(X[0], X, front="torchscript")
def ts_none_first():
    class Net(nn.Module):
        past: Optional[torch.Tensor]

        def __init__(self):
            super().__init__()
            self.past = None

        def forward(self, x):
            past = self.past
            if past is None:
                past = torch.zeros_like(x)
            self.past = x
            return x - past

    return script(Net())


@case(X[0], X, front="torchscript", expect=("right",))
def ts_swap():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("a", torch.zeros(3, 4))
            self.register_buffer("b", torch.ones(3, 4))

        def forward(self, x):
            a = self.a
            self.a = self.b
            self.b = a + x
            return self.a * x + self.b

    return script(Net())


@case(X[0], X, front="torchscript", expect=("right",))
def ts_dict_of_states():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.d = {"k": torch.zeros(3, 4), "v": torch.zeros(3, 4)}

        def forward(self, x):
            self.d["k"] = self.d["v"]
            self.d["v"] = x
            return self.d["k"] + x

    return script(Net())


@case(X[0], X, front="torchscript")
def ts_class_threshold():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.acc = Acc(torch.zeros(3, 4))

        def forward(self, x):
            self.acc.n += 1
            return x * 2 if self.acc.n > 100 else x

    return script(Net())


@case(X[0], X, front="torchscript")
def ts_counter_threshold():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 0

        def forward(self, x):
            self.n += 1
            return x * 2 if self.n > 100 else x

    return script(Net())


@case(X[0], X, front="torchscript", expect=("right",))
def ts_counter_in_a_loop():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 0

        def forward(self, x):
            for i in range(3):
                self.n += i
                x = x + self.n
            return x

    return script(Net())


@case(X[0], X, front="pt2")
def pt2_buffer():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.zeros(()))

        def forward(self, x):
            self.n += 1
            return x * self.n

    return Net()


@case(X[0], X, front="pt2")
def pt2_item_scale():
    class Net(nn.Module):
        def forward(self, x):
            return x * x.sum().item()

    return Net()


@case(N[0], N, front="pt2")
def pt2_item_int():
    class Net(nn.Module):
        def forward(self, x, n):
            k = n.item()
            torch._check(k >= 0)
            return x * k + torch.zeros(6)

    return Net()


@case(N[0], N, front="pt2")
def pt2_item_size():
    class Net(nn.Module):
        def forward(self, x, n):
            k = n.item()
            torch._check(k >= 0)
            torch._check(k <= 6)
            return torch.zeros(k).sum() + x

    return Net()


@case(X[0], X, front="pt2")
def pt2_where():
    class Net(nn.Module):
        def forward(self, x):
            return torch.where(x.sum() > 0, x * 2, x * 3)

    return Net()


@case(X[0], X, front="pt2")
def pt2_input_written():
    class Net(nn.Module):
        def forward(self, x):
            x.add_(1)
            return x * 2

    return Net()


@case(X[0], X, front="pt2")
def pt2_attribute():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 1

        def forward(self, x):
            self.n = self.n + 1
            return x * self.n

    return Net()


@case(X[0], X * 2, expect=("right",))
def scripted_membrane():
    """None before the first call: lazyrt.export follows what lazy-export refuses."""

    class Net(nn.Module):
        potential: Optional[torch.Tensor]

        def __init__(self):
            super().__init__()
            self.potential = None

        def forward(self, x):
            before = self.potential
            if before is None:
                before = torch.zeros_like(x)
            before = 0.9 * before + x
            self.potential = before
            return before * 2

    return script(Net())


@case(X[0], X * 2, expect=("right",))
def scripted_queue():
    class Net(nn.Module):
        queue: List[torch.Tensor]

        def __init__(self):
            super().__init__()
            self.queue = []

        def forward(self, x):
            self.queue.append(x)
            if len(self.queue) > 3:
                self.queue = self.queue[1:]
            return torch.stack(self.queue).sum(0)

    return script(Net())


@case(X[0], X * 2, expect=("right",))
def scripted_window():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.window = torch.zeros(0, 4)

        def forward(self, x):
            self.window = torch.cat([self.window, x])[-7:]
            return self.window.sum(0)

    return script(Net())


@case(X[0], X, expect=("right",), front="torchscript")
def ts_devices_that_the_program_compares():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.home = torch.device("cpu")

        def forward(self, x):
            if x.device == self.home and x.device == torch.device("cpu"):
                x = x + 1
            if x.device.type == "cpu":
                x = x * 2
            if x.device == torch.device("cuda"):
                x = x * 10
            return x + torch.ones(4, device=x.device) + torch.zeros(4, device=self.home)

    return script(Net())


@case((torch.randn(4),), [(torch.randn(4),) for _ in range(6)], front="torchscript")
def ts_polarity_of_zero():
    class Polarity(nn.Module):
        def __init__(self):
            super().__init__()
            self.polarity = 0.0

        def forward(self, x):
            y = torch.copysign(x, torch.full_like(x, self.polarity))
            self.polarity = -self.polarity
            return y

    return script(Polarity())


def limit_of(k: Union[int, float]) -> float:
    """A whole number is a count, of at most 1000."""
    if isinstance(k, int):
        return float(min(k, 1000))
    else:
        return k


def as_union(k: int) -> Union[int, float]:
    return k


COUNTED = [(torch.tensor([1.0, 5000.0]), torch.tensor(k)) for k in (3, 4000)]


@case(COUNTED[0], COUNTED, front="torchscript")
def ts_number_that_becomes_a_union():
    class Ceiling(nn.Module):
        def forward(self, x, k):
            return x.clamp(max=limit_of(int(k)))

    return script(Ceiling())


@case(COUNTED[0], COUNTED, front="torchscript")
def ts_result_that_is_a_union():
    class Ceiling(nn.Module):
        def forward(self, x, k):
            n = as_union(int(k))
            if isinstance(n, int):
                return x.clamp(max=float(min(n, 1000)))
            return x * 2

    return script(Ceiling())


@case((torch.randn(5),), [(torch.randn(5),) for _ in range(3)], expect=("right",))
def scripted_look_ups():
    class Sorted(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("codes", torch.arange(5.0))

        def forward(self, x):
            order = x.argsort()
            self.codes[order] = x + 1
            return x[order], self.codes[order]

    return script(Sorted())


@case(COUNTED[0], COUNTED, front="torchscript")
def ts_attribute_that_is_a_union():
    class Ceiling(nn.Module):
        limit: Union[int, float]

        def __init__(self):
            super().__init__()
            self.limit = 1.0

        def forward(self, x, k):
            self.limit = int(k)
            limit = self.limit
            if isinstance(limit, int):
                return x.clamp(max=float(min(limit, 1000)))
            return x * 2

    return script(Ceiling())


@case(X[0], [X[i % 4] for i in range(12)], expect=("right",))
def scripted_buffers_that_are_replaced():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("step", torch.tensor(0))
            self.register_buffer("mean", torch.zeros(3, 4))

        def forward(self, x):
            self.step = self.step + 1
            self.mean = self.mean * 0.5 + x
            return self.mean / self.step

    return script(Net())
