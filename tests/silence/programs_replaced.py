"""State that is replaced by assignment while something else holds, or returns, what was there before. On the example both are the same."""

import torch
from harness import case
from torch import nn

X = [torch.randn(3) for _ in range(6)]
LARGE = torch.tensor([1e5, -2e5, 1.0])
CALLS = [X[0], X[1], LARGE, X[2], X[3]]


class Net(nn.Module):
    """step(self, x) with buffers, and attributes that are none."""

    def __init__(self, step, buffers=(), **attributes):
        super().__init__()
        for name in buffers:
            self.register_buffer(name, torch.arange(3.0))
        for name, value in attributes.items():
            setattr(self, name, value)
        self.step = step

    def forward(self, x):
        return self.step(self, x)


def unless_large(x, value):
    return torch.where(x.abs().max() > 1e4, torch.zeros_like(value), value)


def replaced(make):
    return case(X[0], CALLS, expect=("right",))(make)


@replaced
def old_buffer_is_returned():
    def step(net, x):
        net.h.mul_(0.5).add_(x)
        old = net.h
        net.h = unless_large(x, net.h)
        return {"old": old, "part": old[1:], "new": net.h}

    return Net(step, ["h"])


@replaced
def old_attribute_is_returned():
    def step(net, x):
        old = net.h
        net.h = unless_large(x, net.h * 0.5 + x)
        return old.view(1, 3), net.h

    return Net(step, h=torch.arange(3.0))


@replaced
def delay_of_one_step():
    def step(net, x):
        p = net.prev
        net.prev = x * 2
        return p

    return Net(step, ["prev"])


@replaced
def parts_of_an_old_buffer():
    def step(net, x):
        a, b = net.h[:1], net.h[1:]
        net.h = torch.cat([a, unless_large(x, b + x[1:])])
        return a, b

    return Net(step, ["h"])


@replaced
def old_buffer_in_another_buffer():
    def step(net, x):
        r = net.old.sum() + x
        net.old = net.h
        net.h = unless_large(x, net.h + 0)
        return r, net.h * x

    return Net(step, ["h", "old"])


@replaced
def old_buffer_in_an_attribute():
    def step(net, x):
        r = net.old.sum() + x
        net.old = net.h
        net.h = unless_large(x, net.h + 0)
        return r, net.h * x

    return Net(step, ["h"], old=torch.zeros(3))


@replaced
def part_of_an_old_buffer_in_an_attribute():
    def step(net, x):
        r = net.v.sum() + x
        net.v = net.h[1:]
        net.h = unless_large(x, net.h + 0)
        return r, net.h * x

    return Net(step, ["h"], v=torch.zeros(2))


@replaced
def old_buffers_in_a_list():
    def step(net, x):
        net.log.append(net.h)
        net.log = net.log[-2:]
        net.h = unless_large(x, net.h + 0)
        return net.log[0] + x, net.h * x

    return Net(step, ["h"], log=[])


@replaced
def weights_before_the_update():
    def step(net, x):
        r = net.best["w"] + x
        net.best["w"] = net.w
        net.w = net.w.clamp(-100, 100) + torch.where(x.abs().max() > 1e4, x, torch.zeros(3))
        return r, net.w.sum()

    return Net(step, ["w"], best={"w": torch.arange(3.0)})


@replaced
def two_buffers_change_places():
    def step(net, x):
        net.a, net.b = net.b, net.a
        net.a = net.a + x
        return net.a * 1, net.b

    return Net(step, ["a", "b"])


@replaced
def ping_and_pong_are_written():
    def step(net, x):
        net.a, net.b = net.b, net.a
        net.a.add_(x)
        return net.a - net.b

    return Net(step, ["a", "b"])


@case(X[0], CALLS, expect=("right", "failed"))
def buffer_and_attribute_become_one_tensor():
    def step(net, x):
        net.h.add_(unless_large(x, x))
        r = net.last + x
        net.h = net.last = net.h * 0.5
        return r

    return Net(step, ["h"], last=torch.zeros(3))


@case(X[0], CALLS, expect=("right", "failed"), front="torchscript")
def tool_ts_old_state_is_returned():
    class Script(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("h", torch.arange(3.0))

        def forward(self, x):
            self.h.mul_(0.5).add_(x)
            old = self.h
            self.h = torch.where(x.abs().max() > 1e4, torch.zeros(3), self.h)
            return old, old[1:]

    return torch.jit.script(Script())


@case(X[0], CALLS, expect=("right", "failed"))
def two_views_of_an_old_buffer():
    def step(net, x):
        if net.v is not None:
            net.v.add_(unless_large(x, x[1:]))
        r = x if net.w is None else net.w + x
        net.v, net.w = net.h[1:], net.h
        net.h = unless_large(x, net.h + x)
        return r

    return Net(step, ["h"], v=None, w=None)
