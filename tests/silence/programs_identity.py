"""Arguments that differ in what is easily overlooked, results that hold more than their items, and TorchScript that Python holds."""

import collections
import dataclasses

import numpy as np
import torch
from harness import Call, case
from torch import nn

X, Y = torch.tensor([1.0, 2.0, -3.0]), torch.tensor([4.0, 0.5, 6.0])
REFUSED, FAILS, RIGHT = ("refused",), ("failed",), ("right",)
WRONG = ("refused", "failed")


def sharing(make):
    """Objects that deepcopy would not get right are given as they are."""
    def calls(*values):
        return [Call((Y, make(value))) for value in values]

    return Call((X, make(2.0))), calls(2.0, 3.0)


class Mangled:
    __slots__ = ("__scale",)

    def __init__(self, scale):
        self.__scale = scale

    @property
    def scale(self):
        return self.__scale


@case(*sharing(Mangled), expect=REFUSED)
def mangled_slot_of_argument():
    return lambda x, o: x * o.scale


class DerivedFromMangled(Mangled):
    __slots__ = ("__scale",)


@case(*sharing(DerivedFromMangled), expect=REFUSED)
def mangled_slot_of_base():
    return lambda x, o: x * o.scale


class ListWithSlot(list):
    __slots__ = ("scale",)


class DictWithSlot(dict):
    __slots__ = ("scale",)


class Pair(collections.namedtuple("Pair", "a b")):
    pass


def with_scale(holder, scale):
    holder.scale = scale
    return holder


@case(*sharing(lambda scale: with_scale(ListWithSlot([1.0]), scale)), expect=REFUSED)
def slot_beside_items_of_list():
    return lambda x, o: x * o[0] * o.scale


@case(*sharing(lambda scale: with_scale(DictWithSlot(a=1.0), scale)), expect=REFUSED)
def slot_beside_items_of_dict():
    return lambda x, o: x * o["a"] * o.scale


@case(*sharing(lambda scale: with_scale(Pair(1.0, 2.0), scale)), expect=REFUSED)
def attribute_of_named_tuple():
    return lambda x, o: x * o.a * o.scale


@dataclasses.dataclass
class Batch(dict):
    a: float = 1.0


def batch(scale):
    made = Batch()
    made["scale"] = scale
    return made


@case(*sharing(batch), expect=REFUSED)
def item_of_dataclass():
    return lambda x, o: x * o.a * o["scale"]


class HasSlot:
    __slots__ = ("scale",)


@dataclasses.dataclass
class WithSlotOfBase(HasSlot):
    a: float = 1.0


@case(*sharing(lambda scale: with_scale(WithSlotOfBase(), scale)), expect=REFUSED)
def slot_of_base_of_dataclass():
    return lambda x, o: x * o.a * o.scale


def with_closure(scale):
    class Options:
        def scale(self):
            return scale

    return Options()


@case(*sharing(with_closure), expect=WRONG)
def local_class_with_closure():
    return lambda x, o: x * o.scale()


def with_table(scale):
    class Options:
        table = [scale]

    return Options()


@case(*sharing(with_table), expect=WRONG)
def local_class_with_table():
    return lambda x, o: x * o.table[0]


def with_default(scale):
    class Options:
        def scaled(self, x, by=scale):
            return x * by

    return Options()


@case(*sharing(with_default), expect=WRONG)
def local_class_with_default():
    return lambda x, o: o.scaled(x)


def with_plain(scale):
    class Options:
        factor = scale

        def scaled(self, x):
            return x * self.factor

    return Options()


@case(Call((X, with_plain(2.0))), [Call((Y, with_plain(2.0)))] * 2, expect=RIGHT)
def local_class_that_is_plain():
    return lambda x, o: o.scaled(x)


@case(*sharing(with_plain), expect=REFUSED)
def local_class_of_another_number():
    return lambda x, o: o.scaled(x)


@case(*sharing(lambda scale: type("Made", (), {"table": [scale]})()), expect=WRONG)
def made_class_of_one_name():
    return lambda x, o: x * o.table[0]


@case(Call((X, (1, 2))), [Call((Y, torch.Size((1, 2)))), Call((Y, (1, 2)))], expect=REFUSED)
def size_in_place_of_tuple():
    return lambda x, s: x * (s.numel() if isinstance(s, torch.Size) else 7)


@case(Call((X, X.shape)), [Call((Y, Y.shape))] * 2, expect=RIGHT)
def size_as_argument_and_result():
    return lambda x, s: (x * s.numel(), s)


@case(Call((X,)), [Call((Y,))], expect=FAILS)
def attribute_of_result():
    def program(x):
        made = x * 2
        made.mask = [1, 2]
        return made

    return program


@case(Call((X,)), [Call((Y,))], expect=FAILS)
def masked_array_as_result():
    return lambda x: (x * 2, np.ma.array([1.0, 2.0], mask=[0, 1]))


@case(Call((X,)), [Call((Y,))], expect=FAILS)
def list_with_attribute_as_result():
    return lambda x: with_scale(ListWithSlot([x * 2]), 2.0)


@case(Call((X,)), [Call((Y * 1e-38,))], expect=FAILS)
def flushed_denormals():
    def program(x):
        torch.set_flush_denormal(True)
        return x * 0.5

    return program


# -------------------------------------------------------------------- TorchScript

class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 0
        self.table = {"n": 0}

    def forward(self, x):
        self.table["n"] += 1
        return x * 2 if self.table["n"] < 20 else x * 5

    @torch.jit.export
    def encode(self, x):
        self.n += 1
        return x * 2 if self.n < 20 else x * 5


@torch.jit.script
class Steps:
    def __init__(self, n: int):
        self.n = n

    def step(self) -> int:
        self.n += 1
        return self.n


class CountingObject(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = Steps(0)

    def forward(self, x):
        return x * 2 if self.steps.step() < 20 else x * 5


MANY = [Call((Y,))] * 30


@case(Call((X,)), MANY, expect=FAILS)
def dict_of_script_counts():
    return torch.jit.script(Counting())


@case(Call((X,)), MANY, expect=FAILS)
def object_of_script_counts():
    return torch.jit.script(CountingObject())


@case(Call((X,)), MANY, expect=FAILS)
def method_of_script_counts():
    return torch.jit.script(Counting()).encode


@case(Call((X,)), MANY, expect=FAILS)
def method_of_script_in_closure():
    encode = torch.jit.script(Counting()).encode
    return lambda x: encode(x) + 1


class Holds(nn.Module):
    def __init__(self, held, count):
        super().__init__()
        self.held, self.count = held, count

    def forward(self, x):
        return x * 2 if self.count(self.held) < 20 else x * 5


def count_in_dict(held):
    held["n"] += 1
    return held["n"]


def count_in_list(held):
    held.append(1)
    return len(held)


@case(Call((X,)), MANY, expect=FAILS)
def script_dict_counts():
    return Holds(torch.jit.script({"n": 0}), count_in_dict)


@case(Call((X,)), MANY, expect=FAILS)
def script_list_counts():
    return Holds(torch.jit.script([0]), count_in_list)


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.conv, self.norm, self.k = nn.Conv1d(3, 4, 1), nn.BatchNorm1d(4), 3

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x))) * self.k


IMAGES = [torch.randn(2, 3, 5) for _ in range(3)]


@case(IMAGES[0], IMAGES, expect=RIGHT)
def frozen_module():
    return torch.jit.freeze(torch.jit.script(Layers().eval()))


@case(IMAGES[0], IMAGES, expect=RIGHT)
def frozen_in_a_module():
    return nn.Sequential(torch.jit.freeze(torch.jit.script(Layers().eval())), nn.ReLU())


@case(Call((X,)), MANY, expect=FAILS)
def frozen_module_counts():
    return torch.jit.freeze(torch.jit.script(Counting().eval()))


@case(Call((X,)), MANY, expect=FAILS)
def frozen_object_counts():
    return torch.jit.freeze(torch.jit.script(CountingObject().eval()))


@torch.jit.script
def scaled(x: torch.Tensor, k: int = 2, mode: str = "a"):
    if mode == "a":
        return x * k
    return x + k


@case(Call((X,)), [Call((Y,)), Call((Y,), {"k": 2}), Call((Y, 2, "a")), Call((), {"x": Y})], expect=RIGHT)
def defaults_of_script_function():
    return scaled


@case(Call((X,), {"mode": "b"}), [Call((Y,), {"mode": "b"}), Call((Y, 2, "b"))], expect=RIGHT)
def keyword_of_script_function():
    return scaled


@case(Call((X,)), [Call((Y, 3)), Call((Y,), {"mode": "b"})], expect=REFUSED)
def other_arguments_of_script_function():
    return scaled


class Options:
    def __init__(self, **values):
        self.__dict__.update(values)


TWO = torch.randn(3), torch.randn(3)


@case(Options(q=TWO[0], k=TWO[1]), [Options(q=TWO[1], k=TWO[0]), Options(k=TWO[1], q=TWO[0])], expect=("refused",))
def attributes_in_another_order():
    def program(options):
        x, y = vars(options).values()
        return x * 2 - y + options.q

    return program


@case((TWO[0], {0, 8}), [(TWO[0], {0, 8}), (TWO[0], {8, 0}), (TWO[1], {0, 8})], expect=("refused",))
def sets_in_another_order():
    def program(x, stops):
        for stop in stops:
            x = x * 2 + stop
        return x

    return program


@case(TWO, [TWO, (TWO[0] * 100,) * 2, (TWO[1], TWO[0])], expect=("refused",))
def rare_write_into_one_of_two_inputs():
    def program(x, y):
        x.clamp_(-5, 5)
        return x + y

    return program


@case(TWO[0], [TWO[0], TWO[1], TWO[0]], expect=("failed",))
def view_of_a_buffer_in_an_attribute():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("buf", torch.zeros(6))
            self.tail = self.buf[3:]

        def forward(self, x):
            self.buf.mul_(0.5)
            self.buf[3:].add_(x)
            return self.tail + 0

    return Net()
