"""What a program asks beside its inputs' values is an assumption of the bundle, whatever the sample makes of it."""

import numpy as np
import pytest
import torch
from torch import nn

import lazyrt

X = torch.tensor([1.0, -2.0, 3.0])
PAIR = (X, X + 1)


def loaded(model, args, bundle):
    lazyrt.export(model, args, bundle)
    return lazyrt.load(bundle)


def refused(program, text, *args):
    with pytest.raises(lazyrt.InputError) as raised:
        program(*args)
    assert text in str(raised.value), raised.value


# -------------------------------------------------------------------- TorchScript that a program calls


@torch.jit.script
def limited_where_recorded(x: torch.Tensor) -> torch.Tensor:
    return x.clamp(max=1e9) if torch.is_grad_enabled() else x * 1.0


@torch.jit.script
def is_recording() -> bool:
    return torch.is_grad_enabled()


@torch.jit.script
def by_requires_grad(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if x.requires_grad else x


@torch.jit.script
def by_stride(x: torch.Tensor) -> torch.Tensor:
    return x.clamp(max=1e9) if x.stride(0) == x.size(1) else x * 1.0


@torch.jit.script
def by_offset(x: torch.Tensor) -> torch.Tensor:
    return x * float(1 + x.storage_offset())


@torch.jit.script
def by_identity(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return q.clamp(max=1e9) + k if q is k else q * 1.0 + k


class Scripted(nn.Module):
    """The question stands in a method of a part, on a branch that the sample does not take."""

    def __init__(self):
        super().__init__()
        self.part = limited_where_recorded

    def forward(self, x, deep: bool = False):
        return self.part(x) * 2 if deep or x.numel() > 3 else x * 2


class Block(nn.Module):
    def forward(self, x):
        return limited_where_recorded(x) * 2


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        return self.block(x)


GRADIENT_MODE = [
    lambda x: limited_where_recorded(x) * 2,
    lambda x: x * 2 if is_recording() else x,
    lambda x: limited_where_recorded(x),
    torch.jit.script(Stack()),
    nn.Sequential(torch.jit.script(Block()), nn.ReLU()),
    torch.jit.script(Scripted()),
]


@pytest.mark.parametrize("model", GRADIENT_MODE, ids=map(str, range(len(GRADIENT_MODE))))
def test_scripts_that_ask_for_the_gradient_mode_fix_it(bundle, model):
    report = None
    try:
        report = lazyrt.export(model, (X,), bundle)
    except lazyrt.ExportError as error:
        assert "gradient-mode" in str(error)  # the sample shows it
        return
    assert any("torch.no_grad()" in note for note in report.notes), report.notes
    program = lazyrt.load(bundle)
    refused(program, "torch.no_grad()", X)
    with torch.no_grad():
        assert program(X).equal(model(X))
    with torch.inference_mode():
        assert program(X).equal(model(X))


def test_scripts_that_ask_nothing_demand_nothing(bundle):
    """torch's own no_grad asks for the mode that it puts back, and torch.nn's layers for faster ways."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)

        def forward(self, x, mask=None):
            # type: (Tensor, Optional[Tensor]) -> Tensor
            with torch.no_grad():
                y = self.encoder(x)
            return y if mask is None else y * mask

    model = torch.jit.script(Net().eval())
    x = torch.randn(1, 3, 4)
    program = loaded(model, (x,), bundle)
    assert torch.allclose(program(x), model(x), atol=1e-5)
    assert torch.allclose(program(x.transpose(1, 2).contiguous().transpose(1, 2)), model(x), atol=1e-5)


def test_scripts_that_ask_for_gradients(bundle):
    program = loaded(lambda x: by_requires_grad(x) + 1, (X,), bundle)
    with torch.no_grad():
        refused(program, "requires grad", X.clone().requires_grad_())
        assert program(X).equal(X + 1)
    refused(program, "torch.no_grad()", X)  # what a program computes of its weights requires gradients there


def test_scripts_that_ask_for_strides(bundle):
    program = loaded(lambda x: by_stride(x), (torch.randn(1, 4),), bundle)
    refused(program, "strides", torch.randn(3, 8)[:1, :4])
    assert program(torch.ones(1, 4)).equal(torch.ones(1, 4))
    program = loaded(lambda x: by_offset(x), (X,), bundle)
    refused(program, "memory", torch.randn(6)[3:])
    assert program(X).equal(X)


def test_scripts_that_ask_for_identity(bundle):
    program = loaded(lambda q, k: by_identity(q, k), PAIR, bundle)
    refused(program, "share memory", X, X)
    assert program(*PAIR).equal(PAIR[0] + PAIR[1])


class Keeps(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(3))


class AsksForItsBuffer(Keeps):
    def forward(self, x):
        return x * 2 if x is self.last else x


class GivesItsBuffer(Keeps):
    def forward(self, x):
        return by_identity(x, self.last)


@pytest.mark.parametrize("model", [torch.jit.script(AsksForItsBuffer()), GivesItsBuffer()], ids=["scripted", "called"])
def test_scripts_that_ask_for_what_the_program_holds_fail(bundle, model):
    with pytest.raises(lazyrt.ExportError, match="by `is`"):
        lazyrt.export(model, (X,), bundle)


# -------------------------------------------------------------------- modes of torch around a call


def test_autocast_around_a_call_is_refused(bundle):
    program = loaded(nn.Linear(3, 3), (X,), bundle)
    wanted = program(X)
    with torch.autocast("cpu", torch.bfloat16):
        refused(program, "torch.autocast", X)
        with pytest.raises(lazyrt.InputError, match="torch.autocast"):
            program.run({"input": X})
        with torch.autocast("cpu", enabled=False):
            assert program(X).equal(wanted)
    assert program(X).equal(wanted)


def test_inference_mode_around_a_call_gives_what_eager_gives(bundle):
    program = loaded(nn.Linear(3, 3), (X,), bundle)
    wanted = program(X)
    with torch.inference_mode():
        given = program(X)
    assert given.equal(wanted) and given.is_inference()  # as eager's


# -------------------------------------------------------------------- memory that a capture does not have

ARRAY = np.arange(4.0)
MEMORY = [
    (lambda x: x * (2.0 if x.untyped_storage().data_ptr() % 64 else 3.0), X, "for its address"),
    (lambda x: x * x.untyped_storage()[0], X, "use the tensor's own values"),
    (lambda a: torch.as_tensor(a + 1) * (3.0 if memoryview(a).readonly else 2.0), ARRAY, "reads the memory of an array"),
    (lambda a: torch.frombuffer(a, dtype=torch.float64) * 2, ARRAY, "use torch.from_numpy"),
    (lambda a: torch.as_tensor(np.frombuffer(a)) + 1, ARRAY, "reads the memory of an array"),
]


@pytest.mark.parametrize("program, example, text", MEMORY, ids=map(str, range(len(MEMORY))))
def test_what_needs_memory_is_told_by_line(bundle, program, example, text):
    with pytest.raises(lazyrt.ExportError, match=text) as raised:
        lazyrt.export(program, (example,), bundle)
    assert f"test_asks.py:{program.__code__.co_firstlineno}" in str(raised.value)


def test_windows_at_an_offset_are_windows_of_all_the_memory(bundle):
    program = loaded(lambda x: x.as_strided([2], [1], 1) * 2, (X,), bundle)
    refused(program, "memory", torch.arange(6.0)[3:])
    assert program(X).equal(X[1:] * 2)
    program = loaded(lambda x: x.as_strided([2], [1]) * 2, (X,), bundle)  # from where it begins
    assert program(torch.arange(6.0)[3:]).equal(torch.tensor([6.0, 8.0]))
