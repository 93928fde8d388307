"""What an export writes before it is complete."""

import os

import pytest
import torch

import lazyrt


@pytest.mark.parametrize("name", ["m.lzb", "m.html"])
def test_no_link_is_written_through(tmp_path, name):
    precious = tmp_path / "precious"
    precious.write_text("precious")
    partial = f"{name}.partial-{os.getpid()}"
    for link in (f"{name}.partial", partial, f"{partial}.partial-{os.getpid()}"):
        (tmp_path / link).symlink_to(precious)
    lazyrt.export(torch.nn.ReLU(), (torch.ones(3),), str(tmp_path / "m.lzb"), report=str(tmp_path / "m.html"))
    assert precious.read_text() == "precious"
    assert lazyrt.load(str(tmp_path / "m.lzb"))(torch.ones(3)).shape == (3,)
    for made in ("m.lzb", "m.html"):
        assert not (tmp_path / made).is_symlink()
        assert not os.path.lexists(tmp_path / f"{made}.partial-{os.getpid()}")
