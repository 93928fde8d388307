"""What a program keeps gets other memory, or lies there in another order, later than the check's calls go."""

import torch
from harness import case
from torch import Tensor, nn

RIGHT, LOUD = ("right",), ("failed",)
CALLS = [torch.full((3,), float(i + 1)) for i in range(24)]
LONG = [torch.full((3,), float(i + 1)) for i in range(60)]


class Late(nn.Module):
    """What `gate` does happens in the fourteenth call alone."""

    def __init__(self, init, gate, step):
        super().__init__()
        self.gate, self.step, self.n = gate, step, 0
        init(self)

    def forward(self, x):
        if self.n == 13:
            self.gate(self, x)
        self.n = min(self.n + 1, 14)
        return self.step(self, x)


def late(init, step, expect):
    def take(gate):
        def make():
            return Late(init, gate, step)

        make.__name__, make.__module__ = gate.__name__, gate.__module__
        return case(CALLS[0], CALLS, expect=expect)(make)

    return take


def two_buffers(self):
    self.register_buffer("a", torch.zeros(3))
    self.register_buffer("b", torch.zeros(3))


def a_matrix(self):
    self.register_buffer("m", torch.arange(9.0).reshape(3, 3))


def only_a(self, x):
    return self.a * 1 + x


def add_to_b(self, x):
    self.b.add_(x)
    return self.a + x


class Delay(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("ring", torch.zeros(40, 3))

    def forward(self, x: Tensor) -> Tensor:
        self.ring.set_(torch.cat([self.ring[1:], x.unsqueeze(0)]))
        return self.ring[0] + x * 0.001


@case(LONG[0], LONG, expect=RIGHT)
def delay_line_by_set():
    return Delay()


@case(LONG[0], LONG, expect=RIGHT, front="torchscript")
def delay_line_of_a_script_by_set():
    return torch.jit.script(Delay())


@late(two_buffers, only_a, RIGHT)
def set_late(self, x):
    self.a.set_(x * 2)


@late(two_buffers, only_a, RIGHT)
def set_twice_late(self, x):
    old = self.a.clone()
    self.a.set_(x * 3)
    self.a.set_(old + 1)


@late(two_buffers, add_to_b, LOUD)
def set_to_another_late(self, x):
    self.a.set_(self.b)


@late(a_matrix, lambda self, x: self.m @ x, RIGHT)
def turned_late(self, x):
    self.m.t_()


@late(a_matrix, lambda self, x: self.m @ x, RIGHT)
def axes_moved_late(self, x):
    self.m.transpose_(0, 1)


@late(two_buffers, only_a, RIGHT)
def source_of_data_is_written(self, x):
    given = x * 2
    self.a.data = given
    given.add_(5)


@late(two_buffers, add_to_b, LOUD)
def data_of_another_that_is_kept(self, x):
    self.b = x * 2
    self.a.data = self.b


def two_tensors(self):
    self.a, self.b = torch.zeros(3), torch.zeros(3)


@late(two_tensors, add_to_b, LOUD)
def plain_tensor_gets_data_of_another(self, x):
    self.a.data = self.b


@late(two_tensors, add_to_b, LOUD)
def plain_tensor_is_set_to_another(self, x):
    self.a.set_(self.b)


@late(lambda self: setattr(self, "m", torch.arange(9.0).reshape(3, 3)), lambda self, x: self.m @ x, RIGHT)
def plain_tensor_turned_late(self, x):
    self.m.t_()


# -------------------------------------------------------------------- places that become one


@late(two_buffers, add_to_b, LOUD)
def buffers_become_one(self, x):
    self.a = self.b


@late(two_buffers, add_to_b, LOUD)
def view_of_a_buffer_in_place_of_another(self, x):
    del self.a
    self.a = self.b[:]


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("m", torch.zeros(3))

    def forward(self, x):
        self.m.add_(x)
        return self.m * 1


def two_cells(self):
    self.one, self.other = Cell(), Cell()


@late(two_cells, lambda self, x: (self.other(x), self.one.m + x), LOUD)
def modules_become_one(self, x):
    self.one = self.other


@late(two_cells, lambda self, x: (self.one(x), self.other(x * 2)), LOUD)
def modules_change_places(self, x):
    self.one, self.other = self.other, self.one


@late(two_cells, lambda self, x: (self.other(x), self.one.m + x), LOUD)
def buffer_of_a_module_in_place_of_another(self, x):
    self.one._buffers["m"] = self.other.m


@late(lambda self: setattr(self, "cells", nn.ModuleList([Cell(), Cell()])), lambda self, x: self.cells[0](x) + self.cells[1](x * 2), LOUD)
def module_is_put_in_front(self, x):
    self.cells.insert(0, Cell())


@late(two_buffers, lambda self, x: self.b.add_(x) + (self.kept() if hasattr(self, "kept") else 0), LOUD)
def closure_keeps_a_buffer_late(self, x):
    held = self.b
    self.kept = lambda: held * 2


class Holder:
    def __init__(self, tensor):
        self.tensor = tensor


def held_elsewhere(hold, read):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.zeros(3))
            self.kept = hold(self.b)

        def forward(self, x):
            self.b.add_(x)
            return read(self.kept) + x

    return Net()


@case(CALLS[0], CALLS, expect=LOUD)
def buffer_in_an_object():
    return held_elsewhere(Holder, lambda kept: kept.tensor * 2)


@case(CALLS[0], CALLS, expect=LOUD)
def buffer_in_a_closure():
    return held_elsewhere(lambda b: lambda: b * 2, lambda kept: kept())


@case(CALLS[0], CALLS, expect=LOUD)
def buffer_in_a_list():
    return held_elsewhere(lambda b: [b], lambda kept: kept[0] * 2)


@case(CALLS[0], CALLS, expect=RIGHT)
def buffer_under_two_names():
    class Net(Cell):
        def __init__(self):
            super().__init__()
            self.part = Cell()
            self.part.m = self.m

        def forward(self, x):
            return self.part(x) + self.m

    return Net()


@late(lambda self: setattr(self, "layers", nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])), lambda self, x: self.layers[1](self.layers[0](x)), RIGHT)
def layers_change_places(self, x):
    self.layers[0], self.layers[1] = self.layers[1], self.layers[0]


@late(lambda self: None, lambda self, x: x * 2, RIGHT)
def hook_is_registered_by_the_module_that_runs(self, x):
    self.register_forward_hook(lambda module, args, result: result * 3)


# -------------------------------------------------------------------- what is left after an export


@case(CALLS[0], CALLS, expect=LOUD)
def buffers_swapped():
    class Swapping(nn.Module):
        def __init__(self):
            super().__init__()
            two_buffers(self)

        def forward(self, x):
            self.b.mul_(0.5).add_(x)
            torch.utils.swap_tensors(self.a, self.b)
            return self.a * 2 + self.b

    return Swapping()


# -------------------------------------------------------------------- a constant that becomes a state, and lies in another tensor


class Windows(nn.Module):
    """Every fourth call begins anew with what `rest` gives; the check's numbers are too small to fire."""

    def __init__(self, init, rest):
        super().__init__()
        self.rest, self.t = rest, 0
        init(self)
        self.mem = torch.zeros(3)

    def forward(self, x):
        self.t = (self.t + 1) % 4
        if self.t == 0:
            self.mem = self.rest(self)
        else:
            self.mem.mul_(0.5).add_(x)
        return (self.mem > 1.0).float() + x * 0


def at_rest(self):
    self.zeros = torch.zeros(3)


def named(name, make):
    make.__name__ = name
    return make


for name, rest in {"detached": lambda self: self.zeros.detach(), "data": lambda self: self.zeros.data, "viewed": lambda self: self.zeros.view(3),
                   "expanded": lambda self: self.zeros.expand(3), "of_numpy": lambda self: torch.from_numpy(self.zeros.numpy())}.items():
    case(torch.full((3,), 0.01), CALLS, expect=LOUD)(named(f"window_of_{name}_zeros", lambda rest=rest: Windows(at_rest, rest)))


@case(torch.full((3,), 0.01), CALLS, expect=LOUD)
def window_of_a_row():
    return Windows(lambda self: setattr(self, "rows", torch.zeros(2, 3)), lambda self: self.rows[1].detach())


@case(torch.full((3,), 0.01), CALLS, expect=RIGHT)
def window_of_the_same_zeros():
    return Windows(at_rest, lambda self: self.zeros)


@case(torch.full((3,), 0.01), CALLS, expect=RIGHT)
def window_of_cloned_zeros():
    return Windows(at_rest, lambda self: self.zeros.clone())


class Settles(nn.Module):
    """`n` settles after six calls; what the calls before it do in shared memory counts."""

    def __init__(self, keep):
        super().__init__()
        self.register_buffer("table", torch.arange(3.0))
        self.spare, self.kept, self.n = torch.zeros(3), keep(self.table), 0

    def forward(self, x):
        self.n = min(self.n + 1, 6)
        self.spare, self.table = self.table, self.spare
        if self.n % 2 == 0:
            pass
        torch.add(x, 1, out=self.spare)
        return self.kept * 2 + self.spare * 0.5


@case(CALLS[0], CALLS, expect=LOUD)
def swaps_a_buffer_that_something_else_lies_in():
    return Settles(lambda table: table.detach())


@case(CALLS[0], CALLS, expect=RIGHT)
def swaps_a_buffer_of_its_own():
    return Settles(lambda table: table.clone())


class Elsewhere(nn.Module):
    """A buffer under another attribute, and what is kept of it."""

    def __init__(self, keep):
        super().__init__()
        self.register_buffer("table", torch.arange(3.0))
        self.same, self.view, self.keep = self.table, torch.ones(3), keep

    def forward(self, x):
        self.view.mul_(0.5)
        self.view[1] = 2.0
        self.view = self.keep(self.same)
        return self.table + x


@case(CALLS[0], CALLS, expect=LOUD)
def writes_into_a_view_of_a_buffer_under_another_name():
    return Elsewhere(lambda table: table.view(3))


@case(CALLS[0], CALLS, expect=RIGHT)
def writes_into_a_copy_of_a_buffer_under_another_name():
    return Elsewhere(lambda table: table.clone())


class Constants(nn.Module):
    """The third call keeps a view of a constant, and later ones write into it."""

    def __init__(self, keep):
        super().__init__()
        self.zeros, self.n, self.keep = torch.zeros(2, 3), 0, keep
        self.row = torch.zeros(3)

    def forward(self, x):
        self.n = min(self.n + 1, 5)
        if self.n == 3:
            self.row = self.keep(self.zeros * 1.0 if self.n < 0 else self.zeros)
        if self.n == 5:
            self.row.add_(1.0)
        return self.zeros.sum(0) + self.row + x


@case(CALLS[0], CALLS, expect=LOUD)
def writes_late_into_a_row_that_one_call_kept():
    return Constants(lambda zeros: zeros[1])


@case(CALLS[0], CALLS, expect=RIGHT)
def writes_late_into_a_copy_that_one_call_kept():
    return Constants(lambda zeros: zeros[1].clone())
