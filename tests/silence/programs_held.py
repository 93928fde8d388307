"""Programs that decide by small buffers of whole numbers, which they count on: pointers into rings, steps, flags. Each value is a phase where eager comes back to one."""

import torch
from harness import case, sized
from torch import nn

ONES = torch.ones(3)
CALLS = [torch.arange(3.0) + i for i in range(45)]
RIGHT, LOUD = ("right",), ("refused", "failed")


class Kept(nn.Module):
    """`take(self, x)` is the program; `at` a pointer into the ring of `rows`."""

    def __init__(self, take, rows=5, at=0, **buffers):
        super().__init__()
        self.take, self.rows = take, rows
        self.register_buffer("ring", torch.zeros(rows, 3))
        self.register_buffer("at", torch.tensor([at]))
        for name, value in buffers.items():
            self.register_buffer(name, value)

    def forward(self, x):
        return self.take(self, x)


def kept(expect, calls=CALLS, **given):
    def take(program):
        def make():
            return Kept(program, **given)

        make.__name__ = program.__name__
        return case(ONES, calls, expect=expect)(make)

    return take


def push(self, x):
    at = int(self.at)
    self.ring[at] = x
    self.at[0] = (at + 1) % self.rows
    return at


@kept(RIGHT)
def held_ring_by_int(self, x):
    push(self, x)
    return self.ring.mean(0)


@kept(RIGHT, rows=40)
def held_ring_of_forty_rows(self, x):
    push(self, x)
    return self.ring.sum(0)


@kept(RIGHT, at=3)
def held_ring_that_begins_in_its_midst(self, x):
    push(self, x)
    return self.ring * x


@kept(LOUD, rows=70)
def held_ring_that_is_too_long(self, x):
    push(self, x)
    return self.ring.mean(0)


@kept(RIGHT)
def held_slices_as_in_a_queue_of_keys(self, x):
    """MoCo's _dequeue_and_enqueue."""
    logits = self.ring.clone() @ x
    at = int(self.at)
    self.ring[at:at + 1] = x
    self.at[0] = (at + 1) % self.rows
    return logits


@kept(RIGHT)
def held_pointer_is_a_result_too(self, x):
    push(self, x)
    return self.ring.sum(0), self.at.clone(), self.at * x


@kept(RIGHT)
def held_pointer_by_tensor_arithmetic(self, x):
    self.ring[int(self.at)] = x
    self.at.add_(2).remainder_(self.rows)
    return self.ring @ x


@kept(RIGHT)
def held_pointer_is_replaced(self, x):
    at = int(self.at)
    self.ring[at] = x
    self.at = torch.tensor([(at + 1) % self.rows])
    return self.ring.amax(0)


@kept(RIGHT, count=torch.tensor(0), ready=torch.tensor(False))
def held_flag_and_count_that_settle(self, x):
    if not self.ready:
        self.count += 1
        if self.count >= 4:
            self.ready.fill_(True)
        return x * 0
    return x * 2


@kept(RIGHT, other=torch.tensor([0, 3]))
def held_two_pointers_of_other_pace(self, x):
    at = push(self, x)
    first, second = self.other.tolist()
    self.other[0] = (first + 1) % 4
    self.other[1] = max(second - 1, 0)
    return self.ring.sum(0) * (at + 10 * first + 100 * second)


@kept(LOUD, count=torch.tensor(0))
def held_count_without_end(self, x):
    self.count += 1
    return x * 2 if int(self.count) < 40 else x


@kept(("refused", "failed", "right"), count=torch.tensor(0))
def held_count_of_bits_that_overflows(self, x):
    self.count.mul_(3).add_(1).bitwise_and_(63)
    return x * 2 if int(self.count) % 7 else x


@kept(LOUD)
def held_pointer_from_the_input(self, x):
    self.ring[int(self.at)] = x
    self.at[0] = x.argmax() % self.rows
    return self.ring.sum(0)


@kept(("refused",), calls=[torch.arange(3.0) - 2 * (i % 4 == 3) for i in range(12)])
def held_pointer_that_an_input_resets(self, x):
    at = push(self, x)
    if x.sum() < 0:
        self.at.zero_()
    return self.ring.sum(0) * at


@kept(("right", "failed"))
def held_pointer_with_a_view(self, x):
    if not hasattr(self, "seen"):
        self.seen = self.at[:]
    at = push(self, x)
    return self.ring.sum(0) * at + self.seen


@kept(("right", "failed"))
def held_pointer_with_another_name(self, x):
    self.same = self.at
    at = int(self.same)
    self.ring[at] = x
    self.at[0] = (at + 1) % self.rows
    return self.ring.sum(0) + self.same


@kept(("right", "refused", "failed"))
def held_pointer_by_numpy(self, x):
    at = int(self.at)
    self.ring[at] = x
    self.at.numpy()[0] = (at + 1) % self.rows
    return self.ring.sum(0)


@kept(("right", "refused", "failed"))
def held_pointer_by_data(self, x):
    at = int(self.at)
    self.ring[at] = x
    self.at.data[0] = (at + 1) % self.rows
    return self.ring.sum(0)


@kept(("right", "refused", "failed"))
def held_pointer_counts_beside_a_number(self, x):
    self.calls = getattr(self, "calls", 0) + 1
    at = push(self, x)
    return self.ring.sum(0) * (at + self.calls)


@kept(("right", "refused", "failed"))
def held_pointer_and_a_list_of_what_was(self, x):
    self.__dict__.setdefault("seen", []).append(push(self, x))
    return self.ring.sum(0) * sum(self.seen[-3:])


@kept(RIGHT)
def held_pointer_with_what_was_before(self, x):
    before = self.__dict__.get("before", x * 0)
    at = push(self, x)
    self.before = x * at
    return self.ring.sum(0) - before


class Scripted(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("ring", torch.zeros(5, 3))
        self.register_buffer("at", torch.zeros(1, dtype=torch.long))

    def forward(self, x):
        at = int(self.at)
        self.ring[at] = x
        self.at[0] = (at + 1) % 5
        return self.ring.mean(0)


@case(ONES, CALLS[:12])
def held_ring_of_a_script():
    return torch.jit.script(Scripted())


@case(ONES, CALLS[:12], front="torchscript")
def held_ring_of_a_script_file():
    return torch.jit.script(Scripted())


@case(ONES, CALLS[:12], front="pt2", expect=("right", "refused", "failed"))
def held_step_of_a_program():
    class Steps(Scripted):
        def forward(self, x):
            self.ring.index_copy_(0, self.at, x[None])
            self.at.add_(1).remainder_(5)
            return self.ring.mean(0)

    return Steps()


@sized(lambda n: (torch.arange(3.0 * n).reshape(n, 3),), {"n": (1, 6, 2)}, {"x": {0: "n"}}, expect=("right", "refused", "failed"))
def held_ring_of_rows_of_any_number():
    return Kept(lambda self, x: (push(self, x.sum(0)), self.ring.mean(0) + x)[1])
