"""Programs that mind how a call is made only once they keep something from earlier ones."""

import functools

import torch
from harness import Call, case
from torch import nn

X = torch.ones(2, 3)
TURNED = torch.ones(3, 2).t()
RECORDED = torch.ones(2, 3, requires_grad=True)


class Running(nn.Module):
    """Begins anew when the key of a call is another one."""

    def __init__(self, key):
        super().__init__()
        self.key_of, self.key, self.total = key, None, None

    def forward(self, x):
        key = self.key_of(x)
        if self.key != key:
            self.key, self.total = key, torch.zeros_like(x)
        self.total = self.total + x
        return self.total


@case(Call((X,)), [Call((X,)), Call((TURNED,)), Call((X,))])
def begins_anew_on_other_strides():
    return Running(lambda x: (x.shape, x.stride(), x.dtype))


@case(Call((X,)), [Call((X,)), Call((RECORDED,)), Call((X,))])
def begins_anew_where_gradients_are_wanted():
    return Running(lambda x: (x.dtype, x.requires_grad))


@case(Call((X[0],)), [Call((X[0],)), Call((torch.ones(4, 3)[2],)), Call((X[0],))])
def begins_anew_at_an_offset():
    return Running(lambda x: x.storage_offset() > 0)


@case(Call((X, X * 2)), [Call((X, X * 2)), Call((X, X))])
def adds_to_a_cache_where_two_are_one():
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.keys = None

        def forward(self, query, keys):
            if self.keys is None:
                self.keys = keys * 1
            elif query is keys:
                self.keys = self.keys + keys
            return (query * self.keys).sum(-1)

    return Attention()


class Signed:
    """A decorator that forgets where the form of the call changes."""

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.function, self.form, self.total = function, None, None

    def __call__(self, *args, **kwargs):
        form = (len(args), tuple(sorted(kwargs)))
        if form != self.form:
            self.form, self.total = form, None
        result = self.function(*args, **kwargs)
        self.total = result if self.total is None else self.total + result
        return self.total


@case(Call((X,)), [Call((X,)), Call((), {"x": X}), Call((), {"x": X})])
def begins_anew_on_keywords():
    def twice(x):
        return x * 2

    return Signed(twice)


@case(Call((X,)), [Call((X,))] * 4, expect=("right",))
def plain_running_total():
    return Running(lambda x: x.shape)


@case(torch.randn(3, 5), [torch.randn(3, 5), torch.zeros(3, 5)], expect=("right",))
def hessian_beside_a_table_that_is_made_once():
    table = []

    def program(x):
        if not table:
            table.append(2.0)
        return torch.func.vmap(torch.func.hessian(lambda row: (row.softmax(0) ** 2).sum()))(x) * table[0]

    return program
