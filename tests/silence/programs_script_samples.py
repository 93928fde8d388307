"""TorchScript through lazy-export with a sample for each path: what a call on one leaves behind is what a call on another finds."""

from typing import Dict, List, Optional, Tuple

import torch
from harness import CASES, Call, Case
from torch import Tensor, nn

LOUD, RIGHT = ("failed",), ("right",)


def short_and_long(expect, more=(), sizes=(4, 1, 4, 4, 1, 4, 1, 1, 4), sample=4, also=()):
    """The module's forward takes x[n, 8], and begins anew where n is 1; `also` are further samples' n."""
    def take(module):
        calls = [Call((torch.randn(n, 8), *more)) for n in sizes]
        samples = [(torch.randn(n, 8), *more) for n in (sample, 1, *also)]
        CASES[module.__name__] = Case(module.__name__, lambda: torch.jit.script(module()), Call(samples[0]), calls, expect, front="torchscript", more=tuple(samples[1:]))
        return module

    return take


@short_and_long(LOUD)
class ResetOfAPosition(nn.Module):
    def __init__(self):
        super().__init__()
        self.pos: int = 0

    def forward(self, x: Tensor) -> Tensor:
        if x.size(0) == 1:
            self.pos = 0
            return x
        self.pos += 1
        return x * self.pos


@short_and_long(LOUD)
class PlaceholderOfAnotherShape(nn.Module):
    def __init__(self):
        super().__init__()
        self.ref = torch.zeros(1)

    def forward(self, x: Tensor) -> Tensor:
        if x.size(0) > 1:
            self.ref = x.mean(0)
            return x
        return x - self.ref


@short_and_long(LOUD)
class TiedAtFirst(nn.Module):
    def __init__(self):
        super().__init__()
        self.h0 = torch.zeros(8)
        self.h = self.h0

    def forward(self, x: Tensor) -> Tensor:
        if x.size(0) == 1:
            self.h = self.h0
            return x
        self.h = 0.5 * self.h + x.mean(0)
        return x + self.h


@short_and_long(LOUD)
class TurnedState(nn.Module):
    def __init__(self):
        super().__init__()
        self.m = torch.zeros(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        if x.size(0) == 1:
            self.m = (self.m + x.view(4, 2).sum(1)).t()
            return x
        flat = self.m.reshape(-1)
        flat.add_(x.view(2, 16).sum(0))
        return x + self.m.sum()


@short_and_long(RIGHT)
class StateOfOneTensor(nn.Module):
    def __init__(self):
        super().__init__()
        self.h = torch.zeros(8)

    def forward(self, x: Tensor) -> Tensor:
        if x.size(0) == 1:
            self.h = torch.zeros(8)
            return x
        self.h = 0.5 * self.h + x.mean(0)
        return x + self.h


@short_and_long(RIGHT)
class NoneAmongResults(nn.Module):
    def forward(self, x: Tensor) -> Tuple[Tensor, Optional[Tensor], float]:
        aux: Optional[Tensor] = None
        return x * 2, aux, float("nan")


@short_and_long(RIGHT)
class QueueOfTwo(nn.Module):
    def __init__(self):
        super().__init__()
        self.queue: List[Tensor] = [torch.zeros(8), torch.zeros(8)]

    def forward(self, x: Tensor) -> Tensor:
        last = self.queue[0]
        self.queue[0] = self.queue[1]
        self.queue[1] = x.mean(0)
        return x + last


@short_and_long(RIGHT)
class OneMemoryInTheFile(nn.Module):
    """Two tensors of one memory, which a copy of the module has to keep so."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.ones(8))
        self.same = self.table.detach()

    def forward(self, x: Tensor) -> Tensor:
        self.same.mul_(0.5).add_(x.mean(0))
        return x + self.table


class Late(nn.Module):
    """What shows in a late call alone, or far from any sample."""

    def far(self, x: Tensor, level: Tensor) -> Tensor:
        return torch.where(level.sum() > 1e6, torch.zeros_like(x), x)


@short_and_long(LOUD)
class PlaceholderThatShowsFarAway(Late):
    def __init__(self):
        super().__init__()
        self.ref = torch.zeros(1)

    def forward(self, x: Tensor) -> Tensor:
        if x.size(0) == 1:
            self.ref = x[0]
            return x
        return self.far(x, (x - self.ref).abs())


@short_and_long(LOUD)
class TiedInAList(Late):
    def __init__(self):
        super().__init__()
        self.h0 = torch.zeros(8)
        self.h: List[Tensor] = [self.h0]

    def forward(self, x: Tensor) -> Tensor:
        if x.size(0) == 1:
            self.h[0] = self.h0
            return x
        self.h[0] = 0.9 * self.h[0] + x.abs().mean(0)
        return self.far(x, self.h[0])


@short_and_long(LOUD)
class TurnedFarAway(Late):
    def __init__(self):
        super().__init__()
        self.m = torch.zeros(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        if x.size(0) == 1:
            self.m = (self.m * 1.0).t().contiguous().t()
            return x
        flat = self.m.reshape(-1)
        flat.add_(x.abs().sum(0))
        return self.far(x, self.m)


class Missing(nn.Module):
    """What shows where values are missing, which they are not in any sample."""

    def filled(self, x: Tensor, fill: Tensor) -> Tensor:
        return torch.where(torch.isnan(x), fill, x)


@short_and_long(LOUD)
class AskedWhetherItIsThere(Missing):
    reference: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.reference = torch.ones(8)

    def forward(self, x: Tensor) -> Tensor:
        if x.size(0) == 1:
            self.reference = None
            return x
        return self.filled(x, torch.zeros(8) if self.reference is None else torch.ones(8))


@short_and_long(LOUD)
class AskedForItsLength(Missing):
    def __init__(self):
        super().__init__()
        self.memory = torch.zeros(6, 8)

    def forward(self, x: Tensor) -> Tensor:
        if x.size(0) == 1:
            self.memory = x * 2
            return x
        return self.filled(x, torch.full((8,), 1.0 / self.memory.size(0)))


@short_and_long(LOUD)
class OneNameByTwoPaths(Missing):
    def __init__(self):
        super().__init__()
        self.means: Dict[str, Dict[str, Tensor]] = {"encoder": {"0.mean": torch.zeros(8)}, "encoder.0": {"mean": torch.zeros(8)}}

    def forward(self, x: Tensor) -> Tensor:
        if x.size(0) == 1:
            mean = self.means["encoder.0"]["mean"]
            self.means["encoder.0"]["mean"] = 0.5 * mean + x.abs().mean(0)
        else:
            mean = self.means["encoder"]["0.mean"]
            self.means["encoder"]["0.mean"] = 0.9 * mean - x.abs().mean(0)
        return self.filled(x, mean)


class ByStrides(Missing):
    def written(self, x: Tensor, bank: Tensor) -> Tensor:
        level = bank.sum(1)
        flat = bank.reshape(-1)
        flat.add_(torch.nan_to_num(x).reshape(-1))
        return self.filled(x, level)


class CopiesItsBank(ByStrides):
    def __init__(self):
        super().__init__()
        self.bank = torch.zeros(8, 4)
        self.work = torch.zeros(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        if x.size(0) == 1:
            self.bank = self.following(self.bank)
            return x
        if x.size(0) == 2:
            self.work = self.bank * 1.0
            return x
        return self.written(x, self.work)


@short_and_long(LOUD, sizes=(4, 1, 2, 4, 4, 1, 2, 4, 4), also=(2,))
class StridesOfACopy(CopiesItsBank):
    def following(self, bank: Tensor) -> Tensor:
        return (bank + 1.0).t().contiguous().t()


@short_and_long(RIGHT, sizes=(4, 1, 2, 4, 4, 1, 2, 4, 4), also=(2,))
class StridesThatStay(CopiesItsBank):
    def following(self, bank: Tensor) -> Tensor:
        return bank * 0.5 + 1.0


@short_and_long(LOUD)
class StridesThatComeForward(ByStrides):
    def __init__(self):
        super().__init__()
        self.front, self.middle = torch.zeros(8, 4), torch.zeros(8, 4)
        self.back = torch.zeros(4, 8).t()

    def forward(self, x: Tensor) -> Tensor:
        if x.size(0) == 1:
            kept = self.front
            self.front = self.middle
            self.middle = self.back
            self.back = kept
            return x
        return self.written(x, self.front)


@short_and_long(LOUD)
class CellThatGoesBackToTheStart(Missing):
    """Of the tuple one item has a state in the short sample; the other becomes what it is in the file."""

    def __init__(self):
        super().__init__()
        start = torch.linspace(-1.0, 1.0, 8)
        self.state: Tuple[Tensor, Tensor] = (torch.zeros(8), start)
        self.starts: List[Tensor] = [start]

    def forward(self, x: Tensor) -> Tensor:
        if x.size(0) == 1:
            self.state = (0.5 * self.state[0] + x[0], self.starts[0])
            return x
        h, c = self.state
        self.state = (torch.tanh(h + x.abs().mean(0)), 0.5 * c + x.abs().sum(0))
        return self.filled(x, c)


@short_and_long(RIGHT)
class CellThatIsPassedOn(Missing):
    def __init__(self):
        super().__init__()
        self.state: Tuple[Tensor, Tensor] = (torch.zeros(8), torch.linspace(-1.0, 1.0, 8))

    def forward(self, x: Tensor) -> Tensor:
        h, c = self.state
        if x.size(0) == 1:
            self.state = (0.5 * h + x[0], c)
            return x + h
        self.state = (torch.tanh(h + x.mean(0)), 0.5 * c + x.sum(0))
        return self.filled(x, c)
