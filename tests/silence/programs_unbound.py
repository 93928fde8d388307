"""What a program keeps, read or written past the methods of its containers: wrong at the 49th call alone, which no check makes."""

import array
import collections
import copy
import functools
import gc
import heapq
import operator

import torch
from harness import case
from torch import nn

ONES = torch.ones(2)
MANY = [torch.ones(2) for _ in range(60)]
length = list.__len__


class Logs(nn.Module):
    """Keeps the mean of each input, in `box`."""

    def __init__(self, box, add, size):
        super().__init__()
        self.box, self.add, self.size = box, add, size

    def forward(self, x):
        self.add(self.box, x.mean())
        return x * (3 if self.size(self.box) % 50 == 49 else 1)


def add_a_key(box, value):
    box[object()] = value


def sized_by(make, add, expect=("failed",)):
    def take(size):
        def program():
            return Logs(make(), add, size)

        program.__name__ = size.__name__
        return case(ONES, MANY, expect=expect)(program)

    return take


of_list = sized_by(list, list.append)
appended = sized_by(list, lambda box, value: box.append(value))
keyed = sized_by(dict, add_a_key)
queued = sized_by(collections.deque, lambda box, value: box.append(value))


@appended
def length_of_the_class_list(box):
    return list.__len__(box)


@appended
def length_of_a_global_function(box):
    return length(box)


@of_list
def appended_by_the_class_list(box):
    return len(list.copy(box))


@appended
def length_by_getattr_of_the_class(box):
    return getattr(list, "__len__")(box)


@appended
def length_of_another_name_of_the_class(box):
    kind = list
    return kind.__len__(box)


@appended
def length_by_a_map(box):
    return sum(map(list.__len__, [box]))


@appended
def length_by_a_partial(box):
    return functools.partial(list.__len__, box)()


@appended
def length_by_a_methodcaller(box):
    return operator.methodcaller("__len__")(box)


@appended
def length_hint_of_a_list(box):
    return operator.length_hint(box)


@appended
def length_of_the_base_of_its_class(box):
    return type(box).__mro__[0].__len__(box)


@appended
def last_of_its_class(box):
    try:
        type(box).__getitem__(box, 48)
        return 49
    except IndexError:
        return 0


@appended
def length_in_a_pattern(box):
    match box:
        case [*rest]:
            return len(rest)


@appended
def length_of_a_display(box):
    return len([*box])


@appended
def length_of_a_copy(box):
    return len(copy.copy(box))


@appended
def length_of_an_array(box):
    made = array.array("d")
    made.fromlist(box)
    return len(made)


@appended
def length_after_the_heap_took_one(box):
    heapq.heapify(box)
    return len(box)


@appended
def length_of_its_sum_with_a_list(box):
    return len([] + box)


@appended
def length_by_the_garbage_collector(box):
    return len(gc.get_referents(box))


@appended
def leaves_of_a_tree_of_torch(box):
    return len(torch.utils._pytree.tree_leaves(box))


@keyed
def leaves_of_a_dict_of_torch(box):
    return len(torch.utils._pytree.tree_leaves({"box": box}))


@queued
def leaves_of_a_deque_of_torch(box):
    return len(torch.utils._pytree.tree_flatten((box, 1))[0]) - 1


@appended
def length_by_a_single_dispatch(box):
    return dispatched(box)


@functools.singledispatch
def dispatched(box):
    return 0


@dispatched.register(list)
def _(box):
    return len(box)


@appended
def length_that_is_caught(box):
    try:
        return list.__len__(box)
    except TypeError:
        return 0


@appended
def length_of_what_is_a_list_by_type(box):
    return len(box) if type(box) is not list else list.__len__(box)


@sized_by(list, lambda box, value: box.append(value), expect=("right", "failed"))
def type_of_a_list(box):
    return 0 if type(box) is list else 49


@keyed
def length_of_the_class_dict(box):
    return dict.__len__(box)


@keyed
def keys_of_the_class_dict(box):
    return len(dict.keys(box))


@keyed
def length_of_a_display_of_a_dict(box):
    return len({**box})


@keyed
def names_in_a_space_of_code(box):
    return eval("len(box)", {"box": box})


@queued
def length_of_the_class_deque(box):
    return collections.deque.__len__(box)


@queued
def length_of_a_deque_in_a_pattern(box):
    match box:
        case [*rest]:
            return len(rest)


class Counts(nn.Module):
    def __init__(self, step):
        super().__init__()
        self.n, self.step = 0, step

    def forward(self, x):
        return x * (3 if self.step(self) % 50 == 49 else 1)


def counted(step):
    def program():
        return Counts(step)

    program.__name__ = step.__name__
    return case(ONES, MANY, expect=("failed",))(program)


@counted
def attribute_of_the_class_object(self):
    object.__setattr__(self, "n", object.__getattribute__(self, "n") + 1)
    return object.__getattribute__(self, "n")


@counted
def attribute_of_the_dict(self):
    self.__dict__["n"] = self.__dict__.get("n") + 1
    return vars(self)["n"]


@counted
def attribute_by_an_attrgetter(self):
    self.n = operator.attrgetter("n")(self) + 1
    return self.n


@counted
def attribute_of_what_is_above(self):
    self.n = super(nn.Module, self).__getattribute__("n") + 1
    return self.n


class OnlyWritten(nn.Module):
    """Three that are written alone, each in its own ways."""

    def __init__(self):
        super().__init__()
        self.maps, self.last, self.queue, self.past = [], {}, collections.deque(), collections.OrderedDict()

    def forward(self, x):
        self.maps.append(x.mean())
        self.maps += [x.sum()]
        self.maps = self.maps + [x]
        self.last[len(str(x.shape))] = x
        self.last.update(mean=x.mean())
        self.queue.appendleft(x)
        self.past[object()] = x.detach()
        return x * 2


@case(ONES, MANY[:20], expect=("right",))
def written_alone_in_many_ways():
    return OnlyWritten()


class ReadAndWritten(nn.Module):
    """A window that is read, by torch, beside a list that is not."""

    def __init__(self):
        super().__init__()
        self.window, self.maps = [], []

    def forward(self, x):
        self.maps.append(x.mean())
        self.window.append(x)
        if len(self.window) > 5:
            self.window.pop(0)
        return torch.stack(self.window).sum(0)


@case(ONES, [torch.full((2,), float(i)) for i in range(20)], expect=("right",))
def window_that_torch_reads_beside_a_list():
    return ReadAndWritten()


class StackedAlone(ReadAndWritten):
    def forward(self, x):
        self.maps.append(x.mean())
        self.window.append(x)
        del self.window[:-6]
        return torch.stack(self.window).sum(0)


@case(ONES, [torch.full((2,), float(i)) for i in range(20)], expect=("right",))
def window_that_torch_alone_reads():
    return StackedAlone()
