"""What the tests share."""

import numpy as np
import pytest
import torch

import lazyrt


@pytest.fixture
def bundle(tmp_path):
    """Path for a bundle."""
    return str(tmp_path / "m.lzb")


@pytest.fixture
def roundtrip(bundle):
    """roundtrip(model, args, kwargs=None, **options) -> (report, program, eager's result)"""

    def run(model, args, kwargs=None, **options):
        with torch.no_grad():
            eager = model(*args, **(kwargs or {}))
        report = lazyrt.export(model, args, bundle, kwargs=kwargs, **options)
        return report, lazyrt.load(bundle), eager

    run.bundle = bundle
    return run


@pytest.fixture
def close():
    """close(ours, eager): equal within what float32 gives."""

    def check(ours, eager):
        np.testing.assert_allclose(np.asarray(ours), np.asarray(eager.detach()), rtol=1e-4, atol=1e-5)

    return check
