"""TorchScript: lists and dicts that attributes hold, reached through tuples, other lists and second names."""

from typing import Dict, List, Tuple

import torch
from torch import nn

from harness import case

ROWS = [(torch.full((3,), float(i)),) for i in range(1, 9)]
MUST = ("right",)


def kept(*starts):
    return [torch.full((3,), float(start)) for start in starts]


@case(ROWS[0], ROWS, expect=MUST, front="torchscript")
def list_in_a_tuple():
    class Net(nn.Module):
        h: Tuple[int, List[torch.Tensor]]

        def __init__(self):
            super().__init__()
            self.h = (3, kept(0, 1))

        def forward(self, x):
            y = self.h[1][0] + x
            self.h[1][0] = y
            return y * self.h[0]

    return torch.jit.script(Net())


@case(ROWS[0], ROWS, expect=MUST, front="torchscript")
def list_in_a_dict():
    class Net(nn.Module):
        h: Dict[str, List[torch.Tensor]]

        def __init__(self):
            super().__init__()
            self.h = {"a": kept(0), "b": kept(1, 2)}

        def forward(self, x):
            inner = self.h["b"]
            inner[1] = inner[1] * 0.5 + x
            return self.h["b"][1] + self.h["a"][0]

    return torch.jit.script(Net())


@case(ROWS[0], ROWS, expect=MUST, front="torchscript")
def list_in_a_list():
    class Net(nn.Module):
        h: List[List[torch.Tensor]]

        def __init__(self):
            super().__init__()
            self.h = [kept(0), kept(1, 2)]

        def forward(self, x):
            for inner in self.h:
                inner[0] = inner[0] + x
            self.h[1].reverse()
            return self.h[0][0] - self.h[1][0]

    return torch.jit.script(Net())


@case(ROWS[0], ROWS, expect=MUST, front="torchscript")
def tuple_in_a_dict_in_a_list():
    class Net(nn.Module):
        h: List[Dict[str, Tuple[List[torch.Tensor], torch.Tensor]]]

        def __init__(self):
            super().__init__()
            self.h = [{"k": (kept(1), torch.ones(3))}]

        def forward(self, x):
            first, factor = self.h[0]["k"]
            first[0] = first[0] * 0.5 + x * factor
            return first[0]

    return torch.jit.script(Net())


class _Shared(nn.Module):
    """`tie` makes two attributes one list, as torch.jit.save keeps them."""

    a: List[torch.Tensor]
    b: List[torch.Tensor]

    def __init__(self):
        super().__init__()
        self.a, self.b = kept(0, 1), kept(5)


@case(ROWS[0], ROWS, front="torchscript")
def one_list_of_two_names():
    class Net(_Shared):
        @torch.jit.export
        def tie(self):
            self.b = self.a

        def forward(self, x):
            self.a[0] = self.a[0] + x
            return self.b[0] * 2

    module = torch.jit.script(Net())
    module.tie()
    return module


@case(ROWS[0], ROWS, expect=MUST, front="torchscript")
def one_list_in_a_tuple_twice():
    class Net(nn.Module):
        h: Tuple[List[torch.Tensor], List[torch.Tensor]]
        a: List[torch.Tensor]

        def __init__(self):
            super().__init__()
            self.a, self.h = kept(1), (kept(0), kept(2))

        @torch.jit.export
        def tie(self):
            self.h = (self.a, self.a)

        def forward(self, x):
            self.h[0][0] = self.h[0][0] * 0.5 + x
            return self.h[1][0] + self.a[0]

    module = torch.jit.script(Net())
    module.tie()
    return module


@case(ROWS[0], ROWS, front="torchscript")
def lists_that_become_one():
    class Net(_Shared):
        def forward(self, x):
            self.a[0] = x + 1
            result = self.b[0] * 2
            self.a = self.b
            return result

    return torch.jit.script(Net())


@case(ROWS[0], ROWS, front="torchscript")
def lists_that_part():
    class Net(_Shared):
        @torch.jit.export
        def tie(self):
            self.b = self.a

        def forward(self, x):
            result = self.b[0] * 2
            self.a[0] = x
            self.a = [self.a[0], x]
            return result

    module = torch.jit.script(Net())
    module.tie()
    return module


@case(ROWS[0], ROWS, front="torchscript")
def dict_that_grows():
    class Net(nn.Module):
        h: Dict[int, torch.Tensor]

        def __init__(self):
            super().__init__()
            self.h = {0: torch.zeros(3)}

        def forward(self, x):
            count = len(self.h)
            self.h[count] = x
            return self.h[0] + self.h[count // 2] * count

    return torch.jit.script(Net())


@case(ROWS[0], ROWS, front="torchscript")
def popped_and_appended():
    class Net(nn.Module):
        h: Tuple[List[torch.Tensor], int]

        def __init__(self):
            super().__init__()
            self.h = (kept(0, 1, 2), 1)

        def forward(self, x):
            self.h[0].append(x)
            oldest = self.h[0].pop(0)
            return oldest + self.h[0][1]

    return torch.jit.script(Net())


@case(ROWS[0], ROWS, front="torchscript")
def numbers_in_a_tuple():
    class Net(nn.Module):
        h: Tuple[List[int], List[float]]

        def __init__(self):
            super().__init__()
            self.h = ([0, 5], [0.5])

        def forward(self, x):
            self.h[0][0] += 1
            self.h[1][0] *= 2.0
            return x * self.h[0][0] + self.h[1][0]

    return torch.jit.script(Net())
