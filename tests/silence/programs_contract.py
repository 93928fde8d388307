"""Arguments, results, aliases."""

import collections
import dataclasses
import enum

import numpy as np
import torch
from harness import Call, case
from torch import nn

A, B, M = torch.randn(2, 3), torch.randn(2, 3), torch.rand(2, 3) > 0.5


@case((A,), [(A,), Call((B, M))])
def mask_none_at_export():
    def program(x, mask=None):
        return x * 2 if mask is None else x.masked_fill(mask, 0.0)

    return program


@case(Call((A,), {"mask": None}), [Call((A,), {"mask": None}), Call((B,), {"mask": M})])
def mask_none_by_name():
    def program(x, mask=None):
        return x * 2 if mask is None else x.masked_fill(mask, 0.0)

    return program


@case(Call((A, 2)), [Call((A, 2)), Call((B, 3)), Call((B,), {"n": 5})])
def number_argument():
    return lambda x, n: x * n


@case(Call((A, 1)), [Call((A, 1)), Call((B, True)), Call((B, 1.0))])
def number_kind():
    return lambda x, n: x + (10 if isinstance(n, bool) else 20 if isinstance(n, int) else 30)


@case(Call((A,)), [Call((A,)), Call((B, 3))])
def default_number():
    def program(x, n=2):
        return x * n

    return program


@case(Call((A,)), [Call((A,)), Call((B,), {"n": 4})])
def keyword_only_default():
    def program(x, *, n=2):
        return x * n

    return program


@case(Call((A,)), [Call((A,)), Call((B,), {"scale": 4})])
def open_keywords():
    def program(x, **options):
        return x * options.get("scale", 1)

    return program


@case(Call((A, B)), [Call((A, B)), Call((A, B, A)), Call((A,))])
def open_arguments():
    def program(*tensors):
        return sum(tensors) / len(tensors)

    return program


class Mode(enum.Enum):
    ADD = 1
    SUB = 2


@case(Call((A, Mode.ADD)), [Call((A, Mode.ADD)), Call((B, Mode.SUB))])
def enum_argument():
    return lambda x, mode: x + 1 if mode is Mode.ADD else x - 1


@dataclasses.dataclass
class Config:
    scale: float = 2.0
    names: tuple = ("a",)


@case(Call((A, Config())), [Call((A, Config())), Call((B, Config(3.0))), Call((B, Config(2.0, ("b",))))])
def config_argument():
    return lambda x, config: x * config.scale + len(config.names[0]) + (config.names[0] == "b")


class Plain:
    def __init__(self, scale):
        self.scale = scale


@case(Call((A, Plain(2.0))), [Call((A, Plain(2.0))), Call((B, Plain(3.0)))])
def object_argument():
    return lambda x, config: x * config.scale


@case(Call((A, {"n": 2, "t": B})), [Call((A, {"n": 2, "t": B})), Call((B, {"n": 3, "t": A})), Call((B, {"n": 2, "t": A, "more": 1}))])
def dict_argument():
    return lambda x, d: x * d["n"] + d["t"] * len(d)


@case(Call((A, [1, 2])), [Call((A, [1, 2])), Call((B, [1, 3])), Call((B, [1, 2, 3]))])
def list_argument():
    return lambda x, items: x * sum(items)


@case(Call((A, "a" * 300)), [Call((A, "a" * 300)), Call((B, "a" * 299 + "b"))])
def long_text():
    return lambda x, text: x * (2 if text.endswith("b") else 3)


@case(Call((A, lambda t: t * 2)), [Call((A, lambda t: t * 3))])
def function_argument():
    return lambda x, f: f(x)


@case(Call((A, 0.0)), [Call((A, 0.0)), Call((A, -0.0))])
def negative_zero():
    return lambda x, z: x * float(np.copysign(1.0, z))


@case(Call((A.numpy(),)), [Call((A.numpy(),)), Call((B.numpy(),))])
def numpy_argument():
    return lambda x: torch.from_numpy(x) * 2


@case(Call((A.numpy(),)), [Call((A.numpy(),)), Call((B.numpy(),))])
def numpy_in_numpy_out():
    return lambda x: (torch.as_tensor(x) * 2).numpy()


@case(Call((A, np.float32(2.0))), [Call((A, np.float32(2.0))), Call((B, np.float32(3.0)))])
def numpy_scalar():
    return lambda x, n: x * float(n)


@case((A,), [(A,), (B,)], expect=("right",))
def constant_results():
    return lambda x: {"y": x * 2, "name": "net", "n": 3, "none": None, "flag": True, "pair": (1, 2.5), "empty": [], "d": {}}


@case((A,), [(A,), (B,)])
def no_tensor_in_result():
    return lambda x: 3


@case((A,), [(A,), (B,)])
def none_result():
    return lambda x: None


@case((A,), [(A,), (B,)])
def shape_result():
    return lambda x: (x.shape, x.dtype, x + 1)


Pair = collections.namedtuple("Pair", "a b")


@case((A,), [(A,), (B,)], expect=("right",))
def named_tuple_result():
    return lambda x: Pair(x + 1, (x, {"k": x * 2}))


@case((A,), [(A,), (B,)])
def input_returned():
    return lambda x: (x, x + 1, x)


@case((A,), [(A,), (B,)])
def item_result():
    return lambda x: (x.sum().item(), x.argmax().item(), x.tolist())


@case((torch.tensor([1, 2]),), [(torch.tensor([1, 2]),), (torch.tensor([7, -2]),)])
def int_item_result():
    return lambda x: {"n": x[0].item(), "more": [v + 1 for v in x.tolist()]}


@case(Call((A,), {"cache": {"k": B}}), [Call((A,), {"cache": {"k": B}}), Call((B,), {"cache": {"k": A}})])
def cache_argument_written():
    def program(x, cache):
        cache["k"] = cache["k"] + x
        return cache["k"] * 2, cache

    return program


@case((A,), [(A,), (B,)])
def training_flag():
    class Net(nn.Module):
        def forward(self, x):
            return x * 2 if self.training else x * 3

    return Net().eval()


@case((A,), [(A,), (A.double(),), (A[:1],)])
def other_dtypes_and_shapes():
    return lambda x: x * 2


@case((A,), [(A,), (B,)])
def forces():
    class Energy(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))

        def forward(self, x):
            with torch.enable_grad():
                x = x.detach().requires_grad_()
                energy = self.net(x).sum()
                return energy.detach(), -torch.autograd.grad(energy, x)[0]

    return Energy().eval()


@case((A,), [(A,), (B,)])
def environment():
    import os

    return lambda x: x * len(os.environ.get("HOME", ""))


GROUPS = [frozenset([1, 2]), frozenset([1, 3]), frozenset([1, 4]), frozenset([1, 5])]
SMALL, OTHER = frozenset(GROUPS), frozenset(reversed(GROUPS))


@case((A, SMALL), [(A, SMALL), (B, SMALL), (A, OTHER), (B, OTHER)])
def weights_of_groups_in_their_order():
    def program(x, groups):
        y = x
        for i, group in enumerate(groups):
            y = y + (i + 1) * sum(group)
            y = y * 1.5
        return y

    return program
