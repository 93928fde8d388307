"""State whose change shows only after more calls than the check makes, in holders that one does not look into first."""

import array
import concurrent.futures
import contextvars

import torch
from harness import case
from torch import nn

X = [(torch.randn(2, 3),) for _ in range(410)]


class Late(nn.Module):
    """Multiplies by 2 for four hundred calls and then by 100: what counts is step(held), which gives a tensor."""

    def __init__(self, held, step):
        super().__init__()
        self.held, self.step = held, step

    def forward(self, x):
        return x * torch.where(self.step(self.held) > 400, 100.0, 2.0)


def zero():
    return torch.zeros(())


@case(X[0], X)
def tensor_in_a_frozenset():
    return Late(frozenset([zero()]), lambda held: next(iter(held)).add_(1))


@case(X[0], X)
def list_in_a_frozenset():
    class Box:
        def __init__(self):
            self.n = zero()

    def step(held):
        (box,) = held
        box.n = box.n + 1
        return box.n

    return Late(frozenset([Box()]), step)


@case(X[0], X)
def tensor_in_a_future():
    future = torch.futures.Future()
    future.set_result(zero())
    return Late(future, lambda held: held.value().add_(1))


@case(X[0], X)
def list_in_a_future():
    def step(held):
        box = held.value()
        box[0] = box[0] + 1
        return box[0]

    future = torch.futures.Future()
    future.set_result([zero()])
    return Late(future, step)


@case(X[0], X)
def tensor_in_a_future_of_threads():
    future = concurrent.futures.Future()
    future.set_result(zero())
    return Late(future, lambda held: held.result().add_(1))


@case(X[0], X)
def tensor_behind_its_own_method():
    return Late(zero().clone, lambda held: held.__self__.add_(1) and held())


@case(X[0], X)
def tensor_of_a_method_written_in_place():
    return Late(zero().add_, lambda held: held(1))


@case(X[0], X)
def attribute_of_a_propertys_function():
    class Net(nn.Module):
        @property
        def scale(self):
            return 2.0

        def forward(self, x):
            count = type(self).scale.fget
            count.n = count.n + 1
            return x * torch.where(count.n > 400, 100.0, self.scale)

    Net.scale.fget.n = zero()
    return Net()


@case(X[0], X)
def attribute_of_a_setter():
    class Net(nn.Module):
        n = property(lambda self: self.__class__.n.fset.kept)

        @n.setter
        def n(self, value):
            Net.n.fset.kept = value

        def forward(self, x):
            Net.n.fset.kept = self.n + 1
            return x * torch.where(self.n > 400, 100.0, 2.0)

    Net.n.fset.kept = zero()
    return Net()


class Described:
    """A descriptor that keeps its value for itself."""

    def __init__(self):
        self.value = zero()

    def __get__(self, owner, cls=None):
        self.value = self.value + 1
        return self.value


@case(X[0], X)
def descriptor_counts():
    class Net(nn.Module):
        n = Described()

        def forward(self, x):
            return x * torch.where(self.n > 400, 100.0, 2.0)

    return Net()


@case(X[0], X)
def storage_counts():
    def step(held):
        n = torch.tensor([], dtype=torch.float32).set_(held)
        return n.add_(1)[0]

    return Late(torch.zeros(1).untyped_storage(), step)


@case(X[0], X)
def typed_storage_counts():
    def step(held):
        held[0] = held[0] + 1
        return torch.tensor(held[0])

    return Late(torch.zeros(1).storage(), step)


@case(X[0], X)
def storage_counts_bytes():
    def step(held):
        held[0] = held[0] + 1
        return torch.tensor(held[0])

    return Late(torch.UntypedStorage(4), step)


@case(X[0], X)
def storage_grows():
    def step(held):
        held.resize_(held.size() + 1)
        return torch.tensor(held.size())

    return Late(torch.UntypedStorage(0), step)


@case(X[0], X)
def bytearray_under_a_tensor():
    held = bytearray(4)
    return Late(held, lambda held: torch.frombuffer(held, dtype=torch.int32).add_(1)[0])


@case(X[0], X)
def array_under_a_tensor():
    return Late(array.array("f", [0.0]), lambda held: torch.frombuffer(held, dtype=torch.float32).add_(1)[0])


@case(X[0], X)
def doc_of_a_function_counts():
    def function():
        return None

    def step(held):
        held.__doc__ = str(int(held.__doc__ or 0) + 1)
        return torch.tensor(int(held.__doc__))

    return Late(function, step)


@case(X[0], X)
def name_of_a_function_counts():
    def function():
        return None

    def step(held):
        held.__name__ = held.__name__ + "x"
        return torch.tensor(len(held.__name__) - 8)

    return Late(function, step)


@case(X[0], X)
def qualified_name_of_a_function_counts():
    def function():
        return None

    def step(held):
        held.__qualname__ = held.__qualname__ + "x"
        return torch.tensor(len(held.__qualname__) - 50)

    return Late(function, step)


@case(X[0], X)
def annotations_of_a_function_count():
    def function(n: 0):
        return n

    def step(held):
        held.__annotations__["n"] = held.__annotations__["n"] + 1
        return held.__annotations__["n"]

    function.__annotations__["n"] = zero()
    return Late(function, step)


@case(X[0], X)
def defaults_of_a_function_count():
    def function(n=0):
        return n

    def step(held):
        held.__defaults__ = (held() + 1,)
        return held()

    function.__defaults__ = (zero(),)
    return Late(function, step)


@case(X[0], X)
def keyword_defaults_of_a_function_count():
    def function(*, n=0):
        return n

    def step(held):
        held.__kwdefaults__["n"] = held() + 1
        return held()

    function.__kwdefaults__["n"] = zero()
    return Late(function, step)


@case(X[0], X)
def doc_of_a_class_counts():
    class Plain:
        """0"""

    def step(held):
        held.__doc__ = str(int(held.__doc__) + 1)
        return torch.tensor(int(held.__doc__))

    return Late(Plain, step)


@case(X[0], X)
def name_of_a_class_counts():
    class Plain:
        pass

    def step(held):
        held.__name__ = held.__name__ + "x"
        return torch.tensor(len(held.__name__) - 5)

    return Late(Plain, step)


@case(X[0], X)
def variable_without_a_default():
    variable = contextvars.ContextVar("n")

    def step(held):
        held.set(held.get(zero()) + 1)
        return held.get()

    return Late(variable, step)


class Boxed(nn.Module):
    """Scripted: a list in a tuple, and a list in a dict."""

    def __init__(self):
        super().__init__()
        self.h = (0, [torch.zeros(())])

    def forward(self, x):
        self.h[1][0] = self.h[1][0] + 1
        return x * torch.where(self.h[1][0] > 400, 100.0, 2.0)


@case(X[0], X)
def scripted_list_in_a_tuple():
    return torch.jit.script(Boxed())


@case(X[0], X)
def scripted_list_in_a_tuple_as_a_part():
    return nn.Sequential(torch.jit.script(Boxed()), nn.Tanh())
