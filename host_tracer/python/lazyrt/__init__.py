"""LazyRT: PyTorch models as bundles for a small runtime.

    report = lazyrt.export(module, (x,), "m.lzb")   # needs torch
    y = lazyrt.load("m.lzb")(x)                     # needs numpy alone
"""

from lazyrt.errors import BundleError, Error, ExportError, GuardError, InputError
from lazyrt.session import Program, load

__all__ = ["BundleError", "Error", "ExportError", "GuardError", "InputError", "Program", "export", "load"]


def export(model, args=(), path=None, **options):
    """See lazyrt.exporting.export."""
    from lazyrt.exporting import export as run  # imports torch

    return run(model, args, path, **options)
