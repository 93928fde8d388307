"""Random numbers that decide what the program does, however they are asked for, and such as decide nothing."""

import math
import random
import secrets
import uuid
from random import random as imported_random

import numpy as np
import torch
import torch.nn.functional as F
from harness import Call, case
from torch import nn

X, Y = torch.tensor([1.0, 2.0, -3.0]), torch.tensor([4.0, 0.5, 6.0])
CALLS = [Call((Y,))] * 3
FAILS, RIGHT = ("failed",), ("right",)

STEERING = {
    "bool_of_draw": lambda x: x if torch.rand(()) < 1e-5 else x * 2,
    "item_of_draw": lambda x: x if torch.rand(()).item() < 1e-5 else x * 2,
    "list_of_draw": lambda x: x if min(torch.rand(3).tolist()) < 1e-6 else x * 2,
    "array_of_draw": lambda x: x if torch.rand(3).numpy().min() < 1e-6 else x * 2,
    "count_of_drawn_mask": lambda x: x if len((torch.rand(4) < 1e-6).nonzero()) else x * 2,
    "length_by_drawn_mask": lambda x: x if X[torch.rand(3) < 1e-6].shape[0] else x * 2,
    "drawn_on_memory": lambda x: x if torch.empty(()).uniform_() < 1e-5 else x * 2,
    "drawn_by_distribution": lambda x: x if torch.distributions.Gamma(1.0, 1.0).sample() < 1e-5 else x * 2,
    "dropout_of_constants": lambda x: x if F.dropout(torch.ones(30), 0.5).sum().item() < 1 else x * 2,
    "computed_from_draw": lambda x: x if (torch.rand(3).cumsum(0) * 3).max() > 8.999 else x * 2,
    "drawn_integer": lambda x: x if torch.randint(0, 10**6, ()).item() == 3 else x * 2,
    "drawn_order": lambda x: x if torch.randperm(9).tolist() == list(range(9)) else x * 2,
    "number_of_random": lambda x: x if random.random() < 1e-5 else x * 2,
    "imported_function_of_random": lambda x: x if imported_random() < 1e-5 else x * 2,
    "integer_of_random": lambda x: x if random.randint(0, 10**5) == 3 else x * 2,
    "math_of_random": lambda x: x if math.sqrt(random.random()) < 1e-3 else x * 2,
    "shuffled_by_random": lambda x: x * len(random.sample(range(9), 3)),
    "number_of_numpy": lambda x: x if np.random.rand() < 1e-5 else x * 2,
    "array_of_numpy": lambda x: x if np.random.randn(3).max() > 7 else x * 2,
    "fresh_generator_of_numpy": lambda x: x if np.random.default_rng().random() < 1e-5 else x * 2,
    "fresh_legacy_generator": lambda x: x if np.random.RandomState().rand() < 1e-5 else x * 2,
    "fresh_generator_of_python": lambda x: x if random.Random().random() < 1e-5 else x * 2,
    "systems_generator": lambda x: x if random.SystemRandom().random() < 1e-5 else x * 2,
    "secret_number": lambda x: x if secrets.randbelow(10**5) == 3 else x * 2,
    "unique_name": lambda x: x if uuid.uuid4().int % 10**5 == 3 else x * 2,
    "seed_of_the_systems": lambda x: x if torch.seed() % 10**5 == 3 else x * 2,
}
for _name, _program in STEERING.items():
    def _steered(program=_program):
        return program

    _steered.__name__ = f"draw_{_name}"
    case(Call((X,)), CALLS, expect=FAILS)(_steered)


@case(Call((X,)), CALLS, expect=FAILS)
def draw_of_seeded_by_chance():
    def program(x):
        generator = torch.Generator()
        generator.seed()
        return x if torch.rand((), generator=generator) < 1e-5 else x * 2

    return program


@case(Call((X,)), CALLS, expect=FAILS)
def draw_inside_of_script():
    @torch.jit.script
    def scripted(x):
        if bool(torch.rand(1)[0] < 1e-5):
            return x
        return x * 2

    return lambda x: scripted(x)


class LayerDrop(nn.Module):
    """As in many models of speech: drawn in each call, used in training only."""

    def __init__(self, always):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(3))
        self.always = always

    def forward(self, x):
        for layer in self.layers:
            draws = torch.rand([]), random.uniform(0, 1), np.random.uniform(0, 1), torch.rand(()).item()
            for draw in draws:
                if (self.training or self.always) and draw < 1e-3:
                    return x
            x = layer(x)
        return x


@case(Call((X,)), CALLS, expect=RIGHT)
def layer_drop_in_eval():
    return LayerDrop(always=False).eval()


@case(Call((X,)), CALLS, expect=FAILS)
def layer_drop_always():
    return LayerDrop(always=True).eval()


@case(Call((X,)), CALLS, expect=RIGHT)
def draws_of_seeded_generators():
    """What a program seeds during the call draws the same in every call."""
    def program(x):
        torch_generator, numpy_generator = torch.Generator().manual_seed(0), np.random.default_rng(0)
        order = torch.randperm(3, generator=torch_generator).tolist()
        scale = float(numpy_generator.random()) + np.random.RandomState(3).rand() + random.Random(4).random()
        return x[order] * 2 * scale

    return program


@case(Call((X,)), CALLS, expect=RIGHT)
def draws_after_own_seeds():
    def program(x):
        np.random.seed(0)
        random.seed(3)
        order = np.random.permutation(3).tolist()
        with torch.random.fork_rng():
            torch.manual_seed(5)
            if torch.rand(()) < 0.5:
                x = x + 1
        return x[order] * random.random()

    return program


@case(Call((X,)), CALLS, expect=RIGHT)
def draws_of_libraries():
    def program(x):
        import tempfile

        tempfile.mktemp()
        return x * 2

    return program


@case(Call((X,)), CALLS, expect=RIGHT)
def layer_made_in_the_call():
    def program(x):
        layer = nn.Linear(3, 3)
        nn.init.ones_(layer.weight)
        nn.init.zeros_(layer.bias)
        return layer(x)

    return program


class Keeps(nn.Module):
    """The first call draws, and later ones go on with it."""

    def __init__(self, draw, use):
        super().__init__()
        self.kept, self.draw, self.use = None, draw, use

    def forward(self, x):
        if self.kept is None:
            self.kept = self.draw()
        return self.use(x, self.kept)


@case(Call((X,)), CALLS, expect=FAILS)
def draw_kept_as_order():
    return Keeps(lambda: torch.randperm(3), lambda x, kept: x[kept])


@case(Call((X,)), CALLS, expect=FAILS)
def draw_kept_as_threshold():
    return Keeps(lambda: torch.rand(()), lambda x, kept: x if kept < 1e-5 else x * 2)


@case(Call((X,)), CALLS, expect=FAILS)
def draw_kept_as_number():
    return Keeps(lambda: random.randint(0, 9), lambda x, kept: x * kept)


@case(Call((X,)), CALLS, expect=FAILS)
def generator_that_is_kept():
    generator = torch.Generator().manual_seed(3)
    return lambda x: x if torch.rand((), generator=generator) < 1e-5 else x * 2
