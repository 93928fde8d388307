"""Results of a loaded program: what is given back is what eager gives."""

import collections
import decimal
import math
import threading

import numpy as np
import pytest
import torch
from contract_models import Answer, Mode, Pair, Plain, X, loaded
from torch import nn

import lazyrt


def test_constants_come_back_as_they_were(bundle):
    constants = {"none": None, "flag": True, "n": 3, "f": 2.5, "nan": math.nan, "ninf": -math.inf, "zero": -0.0, "text": "a\n\0é" * 400,
                 "pair": (1, (2.0, [None, "x"])), "empty": [], "d": {}, 7: "seven", 2.5: {}, None: 1, ("a", 1): 2, "big": 2**90, "ordered": collections.OrderedDict(b=1),
                 "dtype": torch.float16, "np": np.int16(4)}
    program = loaded(lambda x: (x + 1, constants), (X,), bundle)
    y, given = program(X)
    assert torch.equal(y, X + 1) and list(given) == list(constants)
    for key, value in constants.items():
        assert type(given[key]) is type(value), key
        assert given[key] == value or value != value, key
    assert math.copysign(1, given["zero"]) == -1


def test_subclasses_of_containers_come_back_as_lists_and_dicts(bundle):
    recent, counts = loaded(lambda x: (collections.deque([x, x + 1]), collections.Counter(high=(x > 1).sum())), (X,), bundle)(X)
    assert type(recent) is list and torch.equal(recent[1], X + 1) and type(counts) is dict and counts["high"] == (X > 1).sum()


@pytest.mark.parametrize("make", [lambda x: collections.defaultdict(list, a=x), lambda x: collections.deque([x], maxlen=2)])
def test_a_factory_and_a_maxlen_fail_the_export(bundle, make):
    with pytest.raises(lazyrt.ExportError, match="maxlen or default_factory"):
        lazyrt.export(make, (X,), bundle)


def test_classes_come_back_as_records(bundle):
    program = loaded(lambda x: (Answer(x), Pair(x, "b"), Plain(y=x, name="n")), (X,), bundle)
    answer, pair, plain = program(X)
    assert torch.equal(answer.y, X) and answer.label == "net" and answer.more is None
    assert pair.right == "b" and pair[1] == "b" and plain.name == "n"


@pytest.mark.parametrize("result", [None, 3, 2.5, True, "text", (), {}, [], {"a": None}, (1, "b")])
def test_results_without_a_tensor(bundle, result):
    program = loaded(lambda x: result, (X,), bundle)
    assert program(X) == result and type(program(X.numpy())) is type(result)


def test_a_truth_as_the_only_result(bundle):
    program = loaded(lambda a, b: torch.allclose(a, b), (X, X.clone()), bundle)
    assert program(X, X.clone()) is True
    with pytest.raises(lazyrt.GuardError):
        program(X, X + 1)


@pytest.mark.parametrize("result", [object(), lambda: 1, nn.ReLU(), {object(): 1}, {X}, (i for i in range(2)), threading.Lock(), b"ab", range(3), {1, 2}, 1j,
                                    decimal.Decimal("1.10"), Mode.SUB])
def test_results_that_cannot_be_given_back_fail_the_export(bundle, result):
    with pytest.raises(lazyrt.ExportError, match="cannot be (returned|given back|rewound)"):
        lazyrt.export(lambda x: {"y": x + 1, "more": result}, (X,), bundle)


@pytest.mark.parametrize("make", [
    lambda x: f"{x.sum():.3f}",
    lambda x: str(x[0].item()),
    lambda x: {f"{x[0]}": x},
    lambda x: repr(x),
    lambda x: {x.sum().item(): x},
    lambda x: ("%.2f" % x.mean(),),
    lambda x: "big" if float(x.sum()) > 5.5 else "small",
])
def test_texts_and_keys_made_from_values(bundle, make):
    """Refused at export, or right wherever the guards hold."""
    try:
        program = loaded(lambda x: (x * 2, make(x)), (X,), bundle)
    except lazyrt.ExportError:
        return
    for given in (X, X + 0.25, -X, X * 1.01, torch.zeros(3)):
        try:
            ours = program(given)[1]
        except lazyrt.GuardError:
            continue
        expected = make(given)
        assert ours == expected or list(ours) == list(expected), (ours, expected)


def test_texts_of_integers(bundle):
    ids = torch.tensor([3, 4])
    try:
        program = loaded(lambda x: (x * 2, f"first {int(x[0])}"), (ids,), bundle)
    except lazyrt.ExportError:
        return
    assert program(torch.tensor([3, 9]))[1] == "first 3"
    with pytest.raises(lazyrt.GuardError):
        program(torch.tensor([5, 4]))


def test_constants_of_the_variants(bundle):
    def model(x):
        return {"y": x + 1, "path": "up", "n": 1} if x.sum() > 0 else {"y": x - 1, "path": "down", "n": 2}

    lazyrt.export(model, [(X,), (-X,)], bundle)
    program = lazyrt.load(bundle)
    assert program(X)["path"] == "up" and program(-X)["path"] == "down" and program(-X)["n"] == 2


def test_numpy_results_are_arrays(bundle):
    table = np.arange(3, dtype=np.int32)
    program = loaded(lambda x: (x + 1, table, np.float32(2.5), {"t": np.ones((2, 2))}), (X,), bundle)
    y, given, number, more = program(X)
    assert torch.is_tensor(y) and type(given) is np.ndarray and given.dtype == np.int32 and list(given) == [0, 1, 2]
    assert type(number) is np.float32 and number == 2.5 and type(more["t"]) is np.ndarray


def test_torchs_return_types_keep_their_names(bundle):
    x = torch.tensor([[3.0, 1.0, 2.0]])
    lazyrt.export(lambda x: {"sorted": x.sort(), "range": x.aminmax(dim=1)}, (x,), bundle)
    result = lazyrt.load(bundle)(-x)
    assert torch.equal(result["sorted"].values, torch.tensor([[-3.0, -2.0, -1.0]]))
    values, indices = result["sorted"]
    assert torch.equal(indices, result["sorted"].indices)
    assert (result["range"].min, result["range"].max) == (-3, -1)
