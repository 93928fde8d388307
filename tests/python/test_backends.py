"""Backends by name: lazyrt.load(..., backend=...)."""
import numpy as np
import pytest
import torch

import lazyrt


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4)).eval()
    x = torch.randn(3, 8)
    path = tmp_path_factory.mktemp("backends") / "m.lzb"
    lazyrt.export(model, (x,), path)
    return path, x.numpy(), model(x).detach().numpy()


def device_or_reason(path):
    try:
        return lazyrt.load(path, backend="vulkan"), ""
    except lazyrt.Error as error:
        return None, str(error)


def test_a_gpu_runs_all_nodes_or_its_absence_is_said(bundle):
    path, x, expected = bundle
    program, reason = device_or_reason(path)
    if program is None:
        assert "Vulkan" in reason
        assert {node["backend"] for node in lazyrt.load(path, backend="auto").nodes()} == {"cpu"}
        return
    np.testing.assert_allclose(np.asarray(program(x)), expected, atol=1e-5)
    assert {node["backend"] for node in program.nodes()} == {"vulkan"}
    for other in ("auto", "vulkan:0"):
        np.testing.assert_allclose(np.asarray(lazyrt.load(path, backend=other)(x)), expected, atol=1e-5)


@pytest.mark.parametrize("name, says", [("gpu", "there are cpu, reference, vulkan, auto"), ("vulkan:", "vulkan:0"), ("vulkan:-1", "vulkan:0"),
                                        ("cpu:0", "vulkan:0"), ("vulkan:0x", "vulkan:0")])
def test_unknown_names_are_refused(bundle, name, says):
    with pytest.raises(lazyrt.Error, match="no backend") as raised:
        lazyrt.load(bundle[0], backend=name)
    assert says in str(raised.value)
