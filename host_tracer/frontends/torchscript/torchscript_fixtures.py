"""Writes the TorchScript files that torchscript_test.cpp reads: python torchscript_fixtures.py OUTPUT_DIR

Each function below makes one module and its inputs; NAME.io.pt holds the inputs and eager's outputs by their names.
"""
import math
import os
import sys
import zipfile
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

CASES = []


def case(make):
    CASES.append(make)
    return make


class Box(nn.Module):
    """Named tensors in a file that C++ can read."""

    def __init__(self, tensors: Dict[str, Tensor]):
        super().__init__()
        self.tensors = tensors

    def forward(self):
        return self.tensors


def flatten(value, name):
    if isinstance(value, Tensor):
        return {name: value}
    if isinstance(value, dict):
        parts = value.items()
    elif hasattr(value, "_fields"):
        parts = zip(value._fields, value)
    elif isinstance(value, (tuple, list)):
        parts = enumerate(value)
    else:
        return {}
    return {k: v for key, part in parts for k, v in flatten(part, f"{name}.{key}").items()}


def normal(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape) + len(shape)))


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.fc = nn.Linear(4, 5)

    def forward(self, image):
        x = F.max_pool2d(torch.relu(self.norm(self.conv(image))), 2)
        x = self.up(x)
        x = x.flatten(2).mean(-1).view(x.shape[0], -1)
        return self.fc(x) + torch.arange(5, device=image.device) + torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])


@case
def traced_cnn():
    module = Cnn().eval()
    return torch.jit.trace(module, normal(2, 3, 8, 8)), {"image": normal(2, 3, 8, 8)}


@case
def scripted_cnn():
    return torch.jit.script(Cnn().eval()), {"image": normal(2, 3, 8, 8)}


class Loops(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

    def forward(self, x, mask: Optional[Tensor] = None, steps: int = 2):
        with torch.no_grad():
            x = x + 1
        for i in range(steps):
            for layer in self.layers:
                x = torch.tanh(layer(x))
            if i == 1:
                x = x * 2
        if mask is not None:
            x = x * mask
        rows: List[Tensor] = []
        for row in x.unbind(0):
            rows.append(row.flip(0))
        total = torch.zeros(4)
        for row in rows:
            total += row
        print("total", total)
        return torch.stack(rows) + total


@case
def loops():
    return torch.jit.script(Loops().eval()), {"x": normal(3, 4)}


@case
def loops_with_all_arguments():
    return torch.jit.script(Loops().eval()), {"x": normal(3, 4), "mask": normal(3, 4), "steps": 4}


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.rnn = kind(6, 5, num_layers=2, batch_first=True)

    def forward(self, x):
        return self.rnn(x)


@case
def scripted_lstm():
    return torch.jit.script(Recurrent(nn.LSTM).eval()), {"x": normal(2, 7, 6)}


@case
def scripted_gru():
    return torch.jit.script(Recurrent(nn.GRU).eval()), {"x": normal(2, 7, 6)}


@case
def traced_gru():
    return torch.jit.trace(Recurrent(nn.GRU).eval(), normal(2, 7, 6)), {"x": normal(2, 7, 6)}


class Cell(nn.Module):
    """A cell called in a loop of the program."""

    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(3, 4)

    def forward(self, x, state: Tuple[Tensor, Tensor]):
        h, c = state
        outputs = torch.jit.annotate(List[Tensor], [])
        for t in range(x.size(0)):
            h, c = self.cell(x[t], (h, c))
            outputs += [h]
        return torch.stack(outputs), (h, c)


@case
def cell_loop():
    return torch.jit.script(Cell().eval()), {"x": normal(4, 2, 3), "state": (normal(2, 4), normal(2, 4) + 1)}


class Result(NamedTuple):
    logits: Tensor
    states: List[Tensor]


class Nested(nn.Module):
    def forward(self, pair: Tuple[Tensor, Tensor], extra: Dict[str, Tensor], more: List[Tensor]):
        a, b = pair
        result = Result(a + b, [a, b * 2])
        scores = {"sum": extra["left"] + extra["right"], "first": more[0] * more[1]}
        return result, scores, (more[1], 7, True), torch.jit.wait(torch.jit.fork(torch.relu, a))


@case
def nested():
    return torch.jit.script(Nested()), {
        "pair": (normal(2, 3), normal(2, 3) + 1), "extra": {"left": normal(4), "right": normal(4) - 2},
        "more": [normal(5), normal(5) + 3]}


class Branches(nn.Module):
    """Branches on shapes, dtypes and attributes: nothing that depends on values."""

    def __init__(self):
        super().__init__()
        self.scale = 0.5
        self.register_buffer("table", normal(6, 4))

    def helper(self, x):
        return x * self.scale + self.table[: x.size(0)]

    def forward(self, x):
        if x.dim() == 2 and x.dtype == torch.float32:
            y = self.helper(x)
        else:
            y = x
        device = torch.device("cpu")
        if x.device == device:
            y = y + torch.ones(4, device=device)
        return {"y": y, "x": x.to("cpu")}


@case
def branches():
    return torch.jit.script(Branches()), {"x": normal(3, 4)}


class WhileLoop(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        while bool(x.abs().sum() > 1.0):
            x = torch.tanh(self.fc(x)) * 0.2
        return x


@case
def while_loop():
    torch.manual_seed(3)
    return torch.jit.script(WhileLoop().eval()), {"x": normal(3, 4)}


class Smuggles(nn.Module):
    def forward(self, x):
        scale = [float(x.sum())]
        return x * scale[0]


@case
def smuggles():
    return torch.jit.script(Smuggles()), {"x": normal(3)}


class Numbers(nn.Module):
    """Numbers that flow back into tensors, and one that is compared."""

    def forward(self, x, n):
        scale, k = float(x.abs().max()), int(n)
        print("scale", scale)
        y = x / (scale + 1.0) + k * 2 - (k // 2) + math.sqrt(scale)
        y = torch.clamp(y, -scale, scale) + torch.add(x, x, alpha=k % 2)
        if k > 2 and k < 4:
            y = y * 2
        return y[:k]


@case
def numbers():
    return torch.jit.script(Numbers()), {"x": normal(3, 4), "n": torch.tensor(3)}


class Asserts(nn.Module):
    def forward(self, x):
        assert bool((x.abs() < 100).all()), "x is small"
        if not bool((x == x).all()):
            raise ValueError("x is NaN")
        return x + 1


@case
def asserts():
    return torch.jit.script(Asserts()), {"x": normal(3, 4)}


class CountsSteps(nn.Module):
    def forward(self, x):
        return x * 2, int(x.sum() * 100)


@case
def counts_steps():
    return torch.jit.script(CountsSteps()), {"x": normal(3)}


class Counter(nn.Module):
    """A buffer that is written in place, and one that is exchanged."""

    def __init__(self):
        super().__init__()
        self.register_buffer("sum", torch.zeros(3))
        self.register_buffer("last", torch.zeros(3))

    def forward(self, x):
        y = x + self.last
        self.sum += x
        self.last = x * 2
        return y + self.sum


@case
def counter():
    return torch.jit.script(Counter()), {"x": normal(3)}


class GrowingCache(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(1, 3))

    def forward(self, x):
        self.cache = torch.cat([self.cache, x])
        return self.cache.sum(0)


@case
def growing_cache():
    return torch.jit.script(GrowingCache()), {"x": normal(1, 3)}


class Scratch(nn.Module):
    """An attribute that is written before it is read: nothing is kept between runs."""

    length: int

    def __init__(self):
        super().__init__()
        self.length = 0

    def forward(self, x):
        self.length = x.size(0)
        return x * self.length


@case
def scratch():
    return torch.jit.script(Scratch()), {"x": normal(3)}


class Raises(nn.Module):
    def forward(self, x):
        if x.size(0) > 2:
            raise RuntimeError("too many rows")
        return x


@case
def raises():
    return torch.jit.script(Raises()), {"x": normal(3)}, "no outputs"


class TrainingNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(x)


@case
def training_norm():
    return torch.jit.script(TrainingNorm().train()), {"x": normal(3, 4)}, "no outputs"


class Quantized(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.ao.nn.quantized.dynamic.Linear(4, 4)

    def forward(self, x):
        return self.fc(x)


@case
def quantized():
    return torch.jit.script(Quantized().eval()), {"x": normal(2, 4)}, "no outputs"


class AsksForModes(nn.Module):
    def forward(self, x):
        y = x * 2 if torch.is_grad_enabled() else x
        return y if x.stride(0) == x.size(1) else y * 3


@case
def asks_for_modes():
    return torch.jit.script(AsksForModes()), {"x": normal(1, 4)}


class Strings(nn.Module):
    def forward(self, x):
        return x, "text"


@case
def strings():
    return torch.jit.script(Strings()), {"x": normal(2)}, "no outputs"


class Enrolled(torch.nn.Module):
    """Counts in one kind of call, and asks for the count in the other."""

    def __init__(self):
        super().__init__()
        self.seen = 0

    def forward(self, x: torch.Tensor, enrol: torch.Tensor):
        if bool(enrol):
            self.seen += 1
            return x * 0
        if self.seen >= 20:
            return x
        return -x


@case
def enrolled():
    return torch.jit.script(Enrolled()), {"x": normal(3), "enrol": torch.tensor(True)}


class Fires(nn.Module):
    """A new window begins at rest: two buffers are one from then on."""

    def __init__(self):
        super().__init__()
        self.register_buffer("rest", torch.zeros(3))
        self.register_buffer("mem", torch.zeros(3))

    def forward(self, x: torch.Tensor, start: torch.Tensor):
        if bool(start):
            self.mem = self.rest
        else:
            self.mem.mul_(0.5).add_(x)
        return (self.mem > 1.0).float()


@case
def fires():
    return torch.jit.script(Fires()), {"x": normal(3), "start": torch.tensor(True)}


class Streams(nn.Module):
    """Empty until the first call, as Silero's voice detector, and again when an argument or the batch changes."""

    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(5, 8)
        self.state = torch.zeros(0)
        self.tail = torch.zeros(0)
        self.last_rate, self.last_batch = 0, 0

    @torch.jit.export
    def reset(self):
        self.state = torch.zeros(0)
        self.tail = torch.zeros(0)
        self.last_rate, self.last_batch = 0, 0

    def forward(self, x, rate: int = 16):
        if self.last_rate != 0 and self.last_rate != rate or self.last_batch != 0 and self.last_batch != x.size(0):
            self.reset()
        if not len(self.tail):
            self.tail = torch.zeros(x.size(0), 2)
        if not len(self.state):
            self.state = torch.zeros(2, x.size(0), 8)
        x = torch.cat([self.tail, x], 1)
        h, c = self.cell(x, (self.state[0], self.state[1]))
        self.state = torch.stack([h, c])
        self.tail = x[:, -2:]
        self.last_rate, self.last_batch = rate, x.size(0)
        return h


@case
def streams():
    return torch.jit.script(Streams().eval()), {"x": normal(1, 3)}


class Remembers(nn.Module):
    """None at first; a number that counts, and one that is read from a tensor."""

    before: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.before = None
        self.calls, self.level = 0, 1.0

    def forward(self, x):
        y = x * self.level + self.calls
        before = self.before
        if before is not None:
            y = y - before
        self.before = y * 0.5
        self.calls += 1
        self.level = 0.5 * self.level + float(x.abs().mean())
        return y


@case
def remembers():
    return torch.jit.script(Remembers()), {"x": normal(2, 3)}


class Alternates(nn.Module):
    """Two forms by turns, of a flag, a text and a tensor."""

    held: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.odd, self.name = False, "even"
        self.held = None

    def forward(self, x):
        held = self.held
        if self.odd and held is not None:
            self.odd, self.name, self.held = False, "even", None
            return held + x
        self.odd, self.name, self.held = True, "odd", x * 3
        return x


@case
def alternates():
    return torch.jit.script(Alternates()), {"x": normal(3)}


class Fills(nn.Module):
    """A list of at most three, and how many calls it took."""

    window: List[Tensor]

    def __init__(self):
        super().__init__()
        self.window = []
        self.filled = 0

    def forward(self, x):
        if self.filled < 3:
            self.filled += 1
        else:
            self.window.pop(0)
        self.window.append(x * self.filled)
        return torch.stack(self.window).sum(0)


@case
def fills():
    return torch.jit.script(Fills()), {"x": normal(4)}


class Carries(nn.Module):
    """A tuple that is None at first, and halves of one tensor."""

    hidden: Optional[Tuple[Tensor, Tensor]]
    left: Optional[Tensor]
    right: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 4)
        self.hidden, self.left, self.right = None, None, None

    def forward(self, x):
        left, right = self.left, self.right
        if left is not None and right is not None:
            x = x + torch.cat([right, left], -1)
        y, self.hidden = self.lstm(x, self.hidden)
        self.left, self.right = torch.chunk(y, 2, -1)
        return y


@case
def carries():
    return torch.jit.script(Carries().eval()), {"x": normal(5, 1, 4)}


class Collects(nn.Module):
    """A dict that fills."""

    cache: Dict[str, Tensor]

    def __init__(self):
        super().__init__()
        self.cache = {}

    def forward(self, x):
        if "k" in self.cache:
            x = x + self.cache["k"]
            if "v" in self.cache:
                x = x * self.cache["v"]
            self.cache["v"] = x * 0.1
        self.cache["k"] = x * 0.5
        return x


@case
def collects():
    return torch.jit.script(Collects()), {"x": normal(3)}


class Rotates(nn.Module):
    """A buffer that the first call makes and all write in place, at a place that goes round."""

    ring: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.ring, self.place = None, 0

    def forward(self, x):
        ring = self.ring
        if ring is None:
            ring = torch.zeros(4, 3)
            self.ring = ring
        ring[self.place] = x
        self.place = (self.place + 1) % 4
        return ring.sum(0)


@case
def rotates():
    return torch.jit.script(Rotates()), {"x": normal(3)}


class Tables(nn.Module):
    """What the first call makes, later ones only read."""

    table: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.table = None

    def forward(self, x):
        table = self.table
        if table is None:
            table = torch.arange(x.size(1)) * 0.5
            self.table = table
        return x + table


@case
def tables():
    return torch.jit.script(Tables()), {"x": normal(2, 3)}


class WarmsUp(nn.Module):
    """A number that steers the program, and settles."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        if self.calls < 2:
            self.calls += 1
            return x * 0
        return x * 2


@case
def warms_up():
    return torch.jit.script(WarmsUp()), {"x": normal(3)}


class Halves(nn.Module):
    """Two attributes in one memory, one of which is written."""

    left: Optional[Tensor]
    right: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.left, self.right = None, None

    def forward(self, x):
        left, right = self.left, self.right
        if left is None or right is None:
            whole = x * 2
            self.left, self.right = whole, whole[:1]
            return x
        left.add_(x)
        return right + x


@case
def halves():
    return torch.jit.script(Halves()), {"x": normal(3)}


class Accumulates(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("sum", torch.zeros(4))

    def forward(self, x):
        self.sum.mul_(0.5).add_(self.linear(x))
        return self.sum * 1


@case
def ran_with_gradients():
    module = torch.jit.script(Accumulates())
    module(normal(4))  # the state requires gradients from here on, also in the file
    return module, {"x": normal(4)}


def rewritten(source, target, change):
    """A copy of an archive with the text of its code changed."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, change(data) if name.endswith(".py") else data)


def main(folder):
    os.makedirs(folder, exist_ok=True)
    at = lambda name: os.path.join(folder, name)  # noqa: E731
    for make in CASES:
        torch.manual_seed(0)
        module, inputs, *rest = make()
        module.save(at(make.__name__ + ".pt"))
        tensors = flatten({k: v for k, v in inputs.items()}, "in")
        if not rest:
            with torch.no_grad():
                tensors.update(flatten(torch.jit.load(at(make.__name__ + ".pt"))(**inputs), "out"))
        torch.jit.script(Box({k: v.detach().clone() for k, v in tensors.items()})).save(at(make.__name__ + ".io.pt"))
    torch.save(Cnn().state_dict(), at("checkpoint.pt"))
    torch.save(Cnn().state_dict(), at("old_checkpoint.pt"), _use_new_zipfile_serialization=False)
    with open(at("loops.pt"), "rb") as f:
        whole = f.read()
    with open(at("cut.pt"), "wb") as f:
        f.write(whole[: len(whole) // 2])
    with open(at("empty.pt"), "wb"):
        pass
    rewritten(at("branches.pt"), at("foreign_operator.pt"),
              lambda text: text.replace(b"torch.mul(", b"ops.nowhere.mul("))
    rewritten(at("branches.pt"), at("damaged_code.pt"), lambda text: text[: len(text) // 2])


if __name__ == "__main__":
    main(sys.argv[1])
