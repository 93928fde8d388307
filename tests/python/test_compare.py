"""lazyrt.compare, and taps of a loaded bundle: every value is eager's, and the layer that is changed is the one that is named."""

import numpy as np
import pytest
import torch
from torch import nn

import lazyrt


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.body = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.Hardswish())
        self.norm = nn.LayerNorm(8)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = self.stem(x)
        x = x + self.body(x)
        return self.head(self.norm(x.mean((2, 3))))


@pytest.fixture
def network():
    torch.manual_seed(7)
    model = Network().eval()
    model.stem[1].running_mean.uniform_(-0.5, 0.5)
    model.stem[1].running_var.uniform_(0.5, 2)
    return model


def test_a_right_bundle_agrees(network, bundle):
    x = torch.randn(1, 3, 12, 12)
    lazyrt.export(network, (x,), bundle)
    for backend in ("cpu", "reference"):
        found = lazyrt.compare(bundle, network, (x,), backend=backend)
        assert found.ok and found.first is None and found.exact, str(found) + found.table()
        assert found.compared == len(found.values) > 4
        assert sum(value["expected"] == "eager" for value in found.values) > 4
        assert {value["backend"] for value in found.values} == {backend}
        assert "no value differs" in str(found)
    assert not lazyrt.compare(bundle, network, (x,), bound=1e-12).ok
    other = lazyrt.compare(bundle, network, (torch.randn(1, 3, 12, 12) * 5,))
    assert other.ok, str(other) + other.table()


@pytest.mark.parametrize("layer", ["stem.0", "body.0", "norm", "head"])
def test_the_layer_that_differs_is_named(network, bundle, layer):
    """As a bundle whose weights are damaged there."""
    x = torch.randn(1, 3, 12, 12)
    lazyrt.export(network, (x,), bundle)
    with torch.no_grad():
        network.get_submodule(layer).weight.view(-1)[3] += 1
    found = lazyrt.compare(bundle, network, (x,))
    assert not found.ok
    assert found.first["module"].split(".")[0] == layer.split(".")[0], str(found) + found.table()
    assert found.first["file"].endswith("test_compare.py") or found.first["module"] == layer
    assert found.first["max_error"] > 0 and found.first["of_bound"] > 1
    assert found.first["name"] in str(found) and "DIFFERS" in found.table()
    assert found.first["operands_ok"]


def test_a_bundle_of_any_size(network, bundle):
    x = torch.randn(2, 3, 12, 12)
    lazyrt.export(network, (x,), bundle, dynamic={"x": {0: ("batch", 1, 4), 2: ("height", 8, 32)}})
    for shape in ((2, 3, 12, 12), (3, 3, 20, 12)):
        x = torch.randn(*shape)
        found = lazyrt.compare(bundle, network, (x,))
        assert found.ok, str(found) + found.table()
        assert found.compared > 4, found.table()
    with torch.no_grad():
        network.head.bias[2] += 1
    found = lazyrt.compare(bundle, network, (x,))
    assert found.first["module"] == "head", str(found) + found.table()


def test_states_and_guards(bundle, close):
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.ones(4))

        def forward(self, x):
            self.count += x.sum(0)
            return x * self.count if x.sum() > 0 else x - self.count

    model, x = Counting(), torch.rand(3, 4)
    lazyrt.export(model, [(x,), (-x,)], bundle)
    for example in (x, -x):
        found = lazyrt.compare(bundle, model, (example,))
        assert found.ok and found.compared >= 2, str(found) + found.table()
    close(model.count, torch.ones(4))


def test_wrong_arguments(network, bundle):
    x = torch.randn(1, 3, 12, 12)
    with pytest.raises(FileNotFoundError):
        lazyrt.compare(bundle, network, (x,))
    lazyrt.export(network, (x,), bundle)
    with pytest.raises(lazyrt.InputError, match="no backend 'gpu'"):
        lazyrt.compare(bundle, network, (x,), backend="gpu")
    with open(bundle, "r+b") as file:
        file.truncate(200)
    with pytest.raises(lazyrt.BundleError):
        lazyrt.compare(bundle, network, (x,))


def test_taps_are_what_the_modules_gave(network, bundle, close):
    x = torch.randn(1, 3, 12, 12)
    lazyrt.export(network, (x,), bundle)
    seen = {}
    for name in ("body", "norm", "head"):
        network.get_submodule(name).register_forward_hook(lambda module, args, result, name=name: seen.update({name: result.detach()}))
    eager = network(x)
    program = lazyrt.load(bundle, taps="*")
    close(program(x), eager)
    taps = program.taps()
    names = list(taps)
    assert len(names) == len(program.nodes())
    head = [name for name in names if name.startswith("head/")]
    close(taps[head[-1]], seen["head"])
    norm = [name for name in names if name.startswith("norm/")]
    close(taps[norm[-1]], seen["norm"].reshape(taps[norm[-1]].shape))
    body = taps[[name for name in names if name.startswith("body.")][-1]]  # channels last
    close(np.moveaxis(body, -1, 1), seen["body"])
    some = lazyrt.load(bundle, taps=["head", names[0]])
    some(x)
    assert list(some.taps()) == [names[0], *head]
    np.testing.assert_array_equal(some.taps()[names[0]], taps[names[0]])
    some(x * 2)
    assert not np.array_equal(some.taps()[names[0]], taps[names[0]])


def test_taps_that_are_none(network, bundle):
    lazyrt.export(network, (torch.randn(1, 3, 12, 12),), bundle)
    with pytest.raises(lazyrt.InputError, match="nothing in the program is called 'tail'"):
        lazyrt.load(bundle, taps=["head", "tail"])
    with pytest.raises(lazyrt.InputError, match="load the bundle with taps"):
        lazyrt.load(bundle).taps()
