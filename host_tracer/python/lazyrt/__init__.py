"""LazyRT: PyTorch models as bundles for a small runtime.

    report = lazyrt.export(module, (x,), "m.lzb")   # needs torch
    y = lazyrt.load("m.lzb")(x)                     # needs numpy alone

`host_tracer/VERDICTS.md` explains the report and what an export promises."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from lazyrt.bundles.session import Program, TensorInfo, load
from lazyrt.bundles.trees import Record
from lazyrt.errors import BundleError, CancelledError, Error, ExportError, GuardError, InputError, LimitError

if TYPE_CHECKING:
    from lazyrt.driver.comparing import Comparison
    from lazyrt.report import ExportReport

__all__ = ["BundleError", "CancelledError", "Error", "ExportError", "GuardError", "InputError", "LimitError", "Program", "Record",
           "TensorInfo", "compare", "export", "load"]


def export(model: Callable[..., Any], args: Any = (), path: str | os.PathLike[str] | None = None, *,
           kwargs: dict[str, Any] | Sequence[dict[str, Any]] | None = None,
           dynamic: dict[str, Any] | Sequence[Any] | None = None, allow: str | Iterable[str] = (),
           second_trace: bool = True, check: str | bool = "full", keep_samples: bool = True,
           report: str | os.PathLike[str] | None = None, progress: Callable[[str, int, int], object] | None = None) -> ExportReport:
    """Captures `model(*args, **kwargs)` and writes it as a bundle. Returns an ExportReport.

    model         an nn.Module, or a function, method or functools.partial; it and the process are left as they were found
    args, kwargs  the example call. Tensors and NumPy arrays anywhere in nested tuples, lists, dicts, dataclasses and simple objects become
                  inputs, named after the signature ("input_ids", "past.0.key"); everything else, defaults included, is fixed at its value and
                  compared at each call of the loaded program. A list of tuples gives several samples (kwargs may then be a list
                  of dicts): traces that agree are merged, different ones become variants of the bundle, which a run chooses by its
                  inputs' shapes and by guards
    path          of the bundle (.lzb); it appears only when all went well
    dynamic       extents that vary, by argument and dim: {"ids": {0: ("batch", 1, 8), 1: torch.export.Dim("seq", min=1, max=512)}}, or as
                  torch.export's dynamic_shapes. ("width", 160, 288, 32) are multiples of 32; a name without bounds has those of the
                  samples. One name is one size everywhere. The bundle runs at every such size; the report says which were tried. Of
                  several samples the first is captured and resized; the export fails if the bundle and the model differ on any of the
                  later samples
    allow         findings that shall not fail the export: "baked-value", or at one line "baked-value@model.py:31". A
                  comment in the source, on the line or alone above it, does the same: # lazyrt: allow baked-value
    second_trace  captures again on perturbed inputs, to find values of the example that went into the graph
    check         runs the bundle beside the model: "full" (the default, or True) on the example, several times in a row, and
                  on altered inputs; "sample" on the example only; "none" (or False) not at all. A difference beyond
                  rounding fails the export
    keep_samples  keeps the example's inputs and outputs in the bundle
    report        path of an HTML report
    progress      called as progress(stage, done, total)

    Raises ExportError for what cannot be exported, with all reasons at once; exceptions of the model are its own."""
    from lazyrt.driver.exporting import export as run  # imports torch

    return run(model, args, path, kwargs=kwargs, dynamic=dynamic, allow=allow, second_trace=second_trace, check=check, keep_samples=keep_samples,
               report=report, progress=progress)


def compare(path: str | os.PathLike[str], model: Callable[..., Any], args: Any = (), *, kwargs: dict[str, Any] | None = None,
            backend: str = "cpu", threads: int = 1, bound: float = 0.0,
            progress: Callable[[str, int, int], object] | None = None) -> Comparison:
    """Runs a bundle and `model(*args, **kwargs)`, compares them value by value, and finds the first node whose result differs from eager's: its
    operator, its line and module in the model, and by how much. The bundle may be older: the model is captured again, and nodes are matched by the
    operator, source and type that the bundle records.

    backend, threads  of the bundle's run
    bound             largest error of an element, relative to the largest of its value. 0: as much as eager's own value changes under rounding

    Returns a Comparison: `if not c.ok: print(c)`."""
    from lazyrt.driver.comparing import compare as run  # imports torch

    return run(path, model, args, kwargs, backend, threads, bound, progress)
