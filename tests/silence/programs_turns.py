"""What a program sees of how its tensors lie in memory, of hooks, counters and large memory, and only after many calls: later than the check's row."""

import abc
import functools
import io
import itertools
import mmap
import numbers
import threading
import weakref

import numpy as np
import torch
from harness import Call, case
from torch import nn

X = (torch.ones(4),)
MANY = [X] * 30
ORDER = (1, 2, 0, 4, 5, 6, 7, 3)  # is what it was after fifteen turns


def late(x, count):
    return -x if count >= 25 else x


@case(X, MANY)
def offset_in_memory():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.base = torch.zeros(100)
            self.place = self.base[:1]

        def forward(self, x):
            count = self.place.storage_offset()
            self.place = self.base[count + 1 : count + 2]
            return late(x, count)

    return Net().eval()


@case(X, MANY)
def stride_of_one_element():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.base = torch.zeros(1)
            self.place = self.base.as_strided((1,), (1,))

        def forward(self, x):
            count = self.place.stride(0)
            self.place = self.base.as_strided((1,), (count + 1,))
            return late(x, count)

    return Net().eval()


@case(X, MANY)
def constant_that_turns():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.zeros((2,) * 8).permute(ORDER)

        def forward(self, x):
            was = self.table.is_contiguous()
            self.table = self.table.permute(ORDER)
            return -x if was else x

    return Net().eval()


@case(X, MANY)
def state_that_turns():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.state = torch.zeros((2,) * 8).permute(ORDER)

        def forward(self, x):
            flat = self.state.reshape(256)
            flat.add_(1.0)
            result = self.state.sum() + flat
            self.state = (self.state + x.sum()).permute(ORDER)
            return result

    return Net().eval()


@case(X, MANY)
def buffer_that_turns():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("state", torch.zeros((2,) * 8).permute(ORDER))

        def forward(self, x):
            flat = self.state.reshape(256)
            flat.add_(1.0)
            result = self.state.sum() + flat
            self.state = (self.state + x.sum()).permute(ORDER)
            return result

    return Net().eval()


@case(X, MANY, expect=("right",))
def window_that_stays():
    """A view of a constant that is cut anew in each call, at one place, beside a state that is written through a view."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.part = torch.arange(12.0).reshape(3, 4), None
            self.register_buffer("memory", torch.zeros(2, 4))

        def forward(self, x):
            self.part = self.table[1:2].t()
            self.memory.view(-1)[4:].add_(x)
            return self.memory.sum(0) * self.part.flatten()

    return Net().eval()


@case(X, MANY)
def hooks_pile_up():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4))

        def forward(self, x):
            self.weight.register_hook(lambda grad: grad)
            return late(x * self.weight, len(self.weight._backward_hooks))

    return Net().eval()


@case(X, MANY)
def hooks_pile_up_after_the_gradient():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4))

        def forward(self, x):
            self.weight.register_post_accumulate_grad_hook(lambda weight: None)
            return late(x * self.weight, len(self.weight._post_accumulate_grad_hooks))

    return Net().eval()


@case(X, MANY, expect=("right",))
def hook_of_the_first_call():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.hooked = nn.Parameter(torch.ones(4)), False

        def forward(self, x):
            if not self.hooked:
                self.weight.register_hook(lambda grad: grad)
                self.hooked = True
            return x * self.weight + len(self.weight._backward_hooks)

    return Net().eval()


@case(X, [X] * 4, expect=("right",))
def gradient_of_an_activation_is_caught():
    """As saliency maps do: a hook on a tensor that each call makes anew, and keeps."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.outer = nn.Linear(4, 3), nn.Linear(3, 2)
            self.activation = self.gradient = None

        def keep(self, gradient):
            self.gradient = gradient

        def forward(self, x):
            with torch.enable_grad():
                self.activation = self.inner(x)
                self.activation.register_hook(self.keep)
                score = self.outer(self.activation.relu())[0]
                score.backward()
            return (self.activation * self.gradient).detach()

    return Net().eval()


@case(X, MANY)
def note_on_a_node_of_autograd():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            with torch.enable_grad():
                self.kept = nn.Parameter(torch.ones(4)) * 2

        def forward(self, x):
            notes = self.kept.grad_fn.metadata
            notes["count"] = notes.get("count", 0) + 1
            return late(x, notes["count"])

    return Net().eval()


@case(X, MANY)
def count_inside_of_a_large_map():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.memory = mmap.mmap(-1, 1 << 18)

        def forward(self, x):
            self.memory[100000] += 1
            return late(x, self.memory[100000])

    return Net().eval()


@case(X, MANY)
def count_inside_of_a_large_parameter():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(1 << 18))

        def forward(self, x):
            self.weight.data[100001] += 1
            return late(x, int(self.weight.data.numpy()[100001]))

    return Net().eval()


@case(X, [X] * 230)
def count_inside_of_a_hidden_array():
    """Where no picture sees it, only the comparison of all objects."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.memory = itertools.repeat(np.zeros(1 << 18, np.int64))

        def forward(self, x):
            memory = next(self.memory)
            memory[100001] += 1
            return -x if memory[100001] >= 200 else x

    return Net().eval()


def eighth(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        return function(*args, **kwargs) * (2 if len(args) == 3 else 1)

    return call


NAMED = {"c": 3, "d": 4, "e": 5, "f": 6, "g": 7}


@case((*X, 1, 2, 3, 4, 5, 6, 7), [(*X, 1, 2, 3, 4, 5, 6, 7), Call((*X, 1, 2), NAMED)])
def three_of_eight_by_position():
    @eighth
    def forward(x, a, b, c, d, e, f, g):
        return x + a + b + c + d + e + f + g

    return forward


FOUR = tuple(torch.ones(4) * i for i in range(1, 5))
SIX = tuple(torch.ones(4) * i for i in range(1, 7))


def count_of_pairs(given):
    return sum(a is b for a, b in itertools.combinations(given, 2))


@case(FOUR, [FOUR, (FOUR[0], FOUR[0], *FOUR[2:]), (FOUR[0], FOUR[1], FOUR[1], FOUR[3])])
def two_of_four_are_one():
    return lambda *given: sum(given) * (2 if count_of_pairs(given) == 1 else 1)


@case(FOUR, [FOUR, (FOUR[0], FOUR[1], FOUR[0], FOUR[1])])
def two_pairs_of_four():
    return lambda *given: sum(given) * (2 if count_of_pairs(given) == 2 else 1)


@case(SIX, [SIX, (SIX[0], *SIX[1:5], SIX[3])])
def two_of_six_are_one():
    return lambda *given: sum(given) * (2 if count_of_pairs(given) == 1 else 1)


@case(SIX, [SIX, (SIX[0],) * 6], expect=("right",))
def six_that_may_be_one():
    return lambda *given: sum(given)


class Registers(nn.Module):
    """Counts its calls by the classes that it has registered with a base."""

    def __init__(self, base):
        super().__init__()
        self.base = base
        self.classes = [type(f"Class{i}", (), {}) for i in range(60)]

    def forward(self, x):
        count = sum(issubclass(cls, self.base) for cls in self.classes)
        self.base.register(self.classes[min(count, 59)])
        return late(x, count)


@case(X, MANY)
def registered_classes():
    return Registers(abc.ABCMeta("Base", (), {})).eval()


@case(X, MANY)
def classes_registered_with_a_library():
    return Registers(numbers.Number).eval()


@case(X, MANY)
def number_of_a_handle():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = None

        def forward(self, x):
            handle = self.register_forward_hook(print)
            handle.remove()
            if self.first is None:
                self.first = handle.id
            return late(x, handle.id - self.first)

    return Net().eval()


@case(X, MANY)
def name_of_a_thread():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = None

        def forward(self, x):
            number = int(threading.Thread(target=print).name.split("-")[1].split()[0])
            if self.first is None:
                self.first = number
            return late(x, number - self.first)

    return Net().eval()


@case(X, [X] * 3, expect=("right",))
def hook_for_the_time_of_a_call():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.kept = nn.Linear(4, 4), None

        def keep(self, module, given, result):
            self.kept = result

        def forward(self, x):
            handle = self.inner.register_forward_hook(self.keep)
            self.inner(x)
            handle.remove()
            return self.kept * 2

    return Net().eval()


@case(X, MANY)
def deaths_are_counted():
    class Guest:
        def __init__(self, house):
            self.house = house

        def __del__(self):
            self.house["left"] += 1

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.house = {"left": 0}
            self.guest = Guest(self.house)

        def forward(self, x):
            self.guest = Guest(self.house)
            return late(x, self.house["left"])

    return Net().eval()


class Guest:
    pass


@case(X, MANY)
def ends_are_told():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.left, self.guest = [], Guest()
            weakref.finalize(self.guest, self.left.append, 1)

        def forward(self, x):
            self.guest = Guest()
            weakref.finalize(self.guest, self.left.append, 1)
            return late(x, len(self.left))

    return Net().eval()


@case(X, MANY)
def who_is_left_in_a_weak_dictionary():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.guests, self.known = [Guest() for _ in range(30)], weakref.WeakValueDictionary()
            self.known.update(enumerate(self.guests))

        def forward(self, x):
            if self.guests:
                self.guests.pop()
            return late(x, 30 - len(self.known))

    return Net().eval()


@case(X, [X] * 3, expect=("right",))
def object_with_an_end_that_stays():
    class Guest:
        def __init__(self):
            self.factor = 2

        def __del__(self):
            self.factor = 0

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.guest = Guest()

        def forward(self, x):
            return x * self.guest.factor + Guest().factor

    return Net().eval()


@case(X, [X] * 130)
def lines_of_a_file_in_memory():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lines = io.TextIOWrapper(io.BytesIO(b"1\n" * 120))

        def forward(self, x):
            return x if self.lines.readline() else -x

    return Net().eval()
