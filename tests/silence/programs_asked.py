"""What a program asks about its caller's objects beside their values: which object it is given, whether gradients are recorded, how it lies in memory. Often
the answer changes nothing in the example, nor in the calls of torch that it makes."""

import enum
import operator
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
from harness import Call, case
from torch import is_grad_enabled as asks_for_gradients
from torch import nn

WRONG, REFUSED, FAILED, RIGHT = ("refused", "failed"), ("refused",), ("failed",), ("right",)
A, B = torch.randn(3), torch.randn(3)
BIG = torch.full((3,), 5000.0) + torch.arange(3.0)
IDS, BIG_IDS = torch.tensor([3, 4]), torch.tensor([3, 4000])
BOTH = [(A,), Call((BIG,), mode=torch.enable_grad)]
LIMITS = [torch.tensor(1e9), torch.tensor(100.0)]


def inference_mode():
    return torch.inference_mode()


# -------------------------------------------------------------------- gradients


@case((A,), BOTH, expect=REFUSED)
def tensors_of_one_shape_by_gradient_mode():
    return lambda x: torch.minimum(x, LIMITS[torch.is_grad_enabled()])


@case((A,), BOTH, expect=REFUSED)
def gradient_mode_by_another_name():
    return lambda x: torch.minimum(x, LIMITS[asks_for_gradients()])


class KeepsTheQuestion(nn.Module):
    def __init__(self):
        super().__init__()
        self.asks = {"gradients": torch.is_grad_enabled}

    def forward(self, x):
        return torch.minimum(x, LIMITS[self.asks["gradients"]()])


@case((A,), BOTH, expect=REFUSED)
def gradient_mode_by_a_kept_function():
    return KeepsTheQuestion()


@case((IDS,), [(IDS,), Call((BIG_IDS,), mode=torch.enable_grad)], expect=REFUSED)
def numbers_of_python_by_gradient_mode():
    def program(ids):
        most = ids.max().item()
        return ids * (min(most, 1000) if torch.is_grad_enabled() else most)

    return program


class Timed(nn.Module):
    def __init__(self):
        super().__init__()
        self.times = []

    def forward(self, x):
        self.times.append(torch.tensor(time.perf_counter()))
        return x.clamp(max=100) if torch.is_grad_enabled() else x * 1


@case((A,), BOTH, expect=WRONG)
def calls_with_a_clock_by_gradient_mode():
    return Timed()


@case((A,), [(A,), Call((A,), mode=inference_mode)], expect=REFUSED)
def asks_for_inference_mode():
    return lambda x: x * 3 if torch.is_inference_mode_enabled() else x * 2


@case((A,), [(A,), Call((A,), mode=torch.enable_grad)], expect=RIGHT)
def never_gets_to_the_question():
    checkpointing = False
    return lambda x: x * 3 if checkpointing and torch.is_grad_enabled() else x * 2


@case((A,), [(A,), Call((A,), mode=torch.enable_grad)], expect=RIGHT)
def only_torch_asks_for_gradients():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    return lambda x: layer(x[None, :, None].expand(1, 3, 8))


def recorded(x):
    """A tensor that autograd knows of."""
    with torch.enable_grad():
        made = x.clone().requires_grad_() * 1
        made.retain_grad()
    return made


class Graded:
    """deepcopy takes leaves only."""

    def __init__(self, make):
        self.make = make

    def __deepcopy__(self, memo):
        return self.make()


def graded(*makes):
    return [Call(tuple(Graded(make) for make in makes))]


@case((A, B), [(A, B), (A.clone().requires_grad_(), B)], expect=REFUSED)
def one_of_two_requires_gradients():
    return lambda a, b: a * (0.5 if a.requires_grad and not b.requires_grad else 1.0) + b


@case((A,), [(A,), *graded(lambda: recorded(A))], expect=REFUSED)
def is_no_leaf():
    return lambda x: x * 2 if x.is_leaf else x * 3


@case((A,), [(A,), *graded(lambda: recorded(A))], expect=REFUSED)
def has_a_gradient_function():
    return lambda x: x * 2 if x.grad_fn is None else x * 3


@case((A,), [(A,), *graded(lambda: recorded(A))], expect=REFUSED)
def retains_its_gradient():
    return lambda x: x * 3 if x.retains_grad else x * 2


@case((A[None],), [(A[None],), Call((A[None],), mode=torch.enable_grad)], expect=REFUSED)
def an_intermediate_requires_gradients():
    layer = nn.Linear(3, 3)
    return lambda x: layer(x) * (0.5 if layer(x).requires_grad else 1.0)


@case((A[None],), [(A[None],), Call((B[None],), mode=torch.enable_grad)], expect=RIGHT)
def parameters_are_asked_for_gradients():
    layer = nn.Linear(3, 3)
    return lambda x: layer(x) * (0.5 if layer.weight.requires_grad else 1.0)


# -------------------------------------------------------------------- which object it is


class Limited(nn.Module):
    def __init__(self):
        super().__init__()
        self.limits = LIMITS

    def forward(self, q, k):
        return torch.minimum(q, self.limits[q is k]) + k


@case((A, B), [(A, B), (BIG, BIG)], expect=REFUSED)
def tensors_of_one_shape_by_one_tensor():
    return Limited()


@case((A, B), [(A, B), (BIG, BIG)], expect=WRONG)
def one_tensor_by_its_id():
    return lambda q, k: torch.minimum(q, LIMITS[id(q) == id(k)]) + k


@case((A, B), [(A, B), (BIG, BIG)], expect=WRONG)
def one_tensor_by_operator():
    return lambda q, k: torch.minimum(q, LIMITS[operator.is_(q, k)]) + k


@case((A, B), [(A, B), (BIG, BIG)], expect=WRONG)
def one_tensor_in_a_list():
    return lambda q, k: torch.minimum(q, LIMITS[any(q is each for each in [k])]) + k


@case((A, B), [(A, B), (BIG, BIG)], expect=WRONG)
def one_tensor_in_a_set():
    return lambda q, k: torch.minimum(q, LIMITS[len({q, k}) == 1]) + k


@case((np.array([1, 2]), np.array([3, 4])), [(np.array([1, 2]), np.array([3, 4])), (TWICE := np.array([1, 2000]), TWICE)], expect=REFUSED)
def one_array_twice():
    return lambda a, b: (a * (a < 100) if a is b else a) + b


@case((np.array([[1, 2], [3, 4]]),), [(np.asfortranarray(np.array([[1, 2000], [3, 4]])),)], expect=REFUSED)
def array_in_the_order_of_fortran():
    return lambda a: (a * (a < 100) if a.strides[0] < a.strides[1] else a) + 1


class Again(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = None

    def forward(self, x):
        again, self.last = x is self.last, x
        return torch.minimum(x, LIMITS[again])


@case((A,), [(A,), (BIG,), (BIG,)], expect=FAILED)
def the_same_object_again():
    return Again()


TABLE = torch.randn(4, 3)


class Holds(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = TABLE

    def forward(self, x):
        return x @ x.T * 2 if x is self.table else x @ self.table.T


@case((torch.randn(4, 3),), [(torch.randn(4, 3),)], expect=FAILED)
def the_table_that_it_holds():
    return Holds()


class Seen(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, x):
        known = any(x is each for each in self.seen)
        self.seen = [x]
        return torch.minimum(x, LIMITS[known])


@case((A,), [(A,), (BIG,)], expect=FAILED)
def one_that_it_has_seen():
    return Seen()


class StateOfCaller(nn.Module):
    def __init__(self):
        super().__init__()
        self.state = {}

    def forward(self, x, state):
        known, self.state = state is self.state, state
        return torch.minimum(x, LIMITS[known]) + state["h"]


@case((A, {"h": B}), [(A, {"h": B})], expect=FAILED)
def the_same_dict_again():
    return StateOfCaller()


class Handle:
    """Which Python compares by identity."""

    def __init__(self):
        self.scale = 2.0


class SameHandle(StateOfCaller):
    def forward(self, x, state):
        known, self.state = state == self.state, state
        return torch.minimum(x, LIMITS[known]) * state.scale


@case((A, Handle()), [(A, Handle())], expect=FAILED)
def the_same_handle_again():
    return SameHandle()


def pair():
    return tuple([1, 2])


@case((A, pair(), pair()), [(A, pair(), pair())], expect=FAILED)
def one_tuple_in_two_places():
    return lambda x, a, b: x * 3 if a is b else x * 2


@case((A,), [(A,)], expect=FAILED)
def counts_references():
    return lambda x: torch.minimum(x, LIMITS[sys.getrefcount(x) > 20])


# -------------------------------------------------------------------- questions that everybody asks


class Mode(enum.Enum):
    LOW = 1
    HIGH = 2


class Asks(nn.Module):
    """What is asked of other things than the caller's tensors."""

    def __init__(self):
        super().__init__()
        self.mode, self.act, self.layers = Mode.HIGH, F.relu, nn.ModuleList([nn.Linear(3, 3), nn.ReLU()])
        self.missing, self.dtype, self.names = object(), torch.float32, ("a", "b")
        self.by_layer = {layer: i for i, layer in enumerate(self.layers)}
        self.default = None

    def forward(self, x, mask=None):
        out = self.act(x) if self.act is F.relu else x
        if out is x or mask is self.missing or mask is self.default or x.dtype is not self.dtype:
            return x * 0
        if self.mode is Mode.HIGH and "a" in self.names and type(x) is type(out):
            out = out + self.by_layer[self.layers[1]]
        for layer in self.layers:
            out = layer(out) if layer is not self.layers[0] or layer in self.by_layer else out
        return out * (1 if mask is None else mask)


@case((A, B), [(A, B), (B, A)], expect=RIGHT)
def asks_for_no_object_of_its_caller():
    return Asks()


class OwnTensors(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])

    def forward(self, x):
        factors = {parameter: 2.0 for parameter in self.layers.parameters()}
        seen = {id(parameter) for parameter in self.parameters()}
        known = self.layers[0].weight in factors and id(self.layers[0].bias) in seen
        return self.layers[0](x) * factors[self.layers[0].weight] if known else x


@case((A,), [(A,), (B,)], expect=RIGHT)
def its_own_tensors_are_keys():
    return OwnTensors()


@case((A,), [(A,), (B,)], expect=RIGHT)
def its_own_tensors_are_compared():
    def program(x):
        made = [x * 2, x * 3]
        best = max(made, key=lambda each: id(each) == 0)
        return [each for each in made if each is not best][0] + best

    return program
