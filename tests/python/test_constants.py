"""Constants that a program makes of its own numbers: owned, and told by the calls that made them."""

import functools
import math

import numpy as np
import pytest
import torch

import lazyrt

def made(model, *args, tmp_path):
    report = lazyrt.export(model, args, str(tmp_path / "m.lzb"))
    np.testing.assert_allclose(np.asarray(lazyrt.load(str(tmp_path / "m.lzb"))(*args)), model(*args).numpy(), rtol=1e-5)
    return report, report.to_json()["made_constants"]


def test_a_mask_keeps_the_calls_that_made_it(tmp_path):
    def model(x):
        mask = torch.full((160, 160), -math.inf).triu(1)
        return (x + mask).softmax(-1)

    report, (mask,) = made(model, torch.randn(160, 160), tmp_path=tmp_path)
    assert mask["text"] == "triu(full((160, 160), -inf), 1)"
    assert (mask["file"].endswith("test_constants.py"), mask["bytes"]) == (True, 160 * 160 * 4)
    assert "triu(full((160, 160), -inf), 1)" in report.summary and "test_constants.py" in report.summary


def test_positions_of_arithmetic_and_slices(tmp_path):
    def model(x):
        inverse = 1.0 / (10000 ** (torch.arange(0, 8, 2).float() / 8))
        table = torch.outer(torch.arange(16).float(), inverse)[:4]
        return x * torch.cat((table, table), -1).cos()

    _, (table,) = made(model, torch.randn(4, 8), tmp_path=tmp_path)
    assert table["text"].startswith("cos(cat((__getitem__(outer(")


def test_writes_in_place_are_part_of_it(tmp_path):
    def model(x):
        mask = torch.zeros(4, 4)
        mask[1:] = 2.0
        mask.add_(1)
        return x * mask

    _, (mask,) = made(model, torch.randn(4, 4), tmp_path=tmp_path)
    assert mask["text"] == "add_(__setitem__(zeros(4, 4), slice(1, None, None), 2.0), 1)"


def test_a_cache_of_the_users_holds_ordinary_tensors(tmp_path):
    @functools.lru_cache
    def mask_of(n):
        return torch.ones(n, n).tril()

    def model(x):
        return x * mask_of(x.shape[0])

    _, (mask,) = made(model, torch.randn(5, 5), tmp_path=tmp_path)
    assert mask["text"] == "tril(ones(5, 5))"
    assert mask_of(5).device.type == "cpu" and torch.equal(mask_of(5), torch.ones(5, 5).tril())


@pytest.mark.parametrize("write", ["fill_", "data"])
def test_a_constant_is_the_traces_own(tmp_path, write):
    """What happens to the user's tensor after the export is not seen by the bundle."""
    table = torch.arange(3.0)
    x = torch.ones(3)
    lazyrt.export(lambda x: x + table, (x,), str(tmp_path / "m.lzb"))
    (table if write == "fill_" else table.data).fill_(100)
    np.testing.assert_array_equal(np.asarray(lazyrt.load(str(tmp_path / "m.lzb"))(x)), [1, 2, 3])
