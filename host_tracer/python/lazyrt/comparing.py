"""lazyrt.compare: a bundle beside eager, value by value."""

from __future__ import annotations

import contextvars
import json
import os
from typing import Any

from lazyrt import _tracer
from lazyrt.errors import Error
from lazyrt.exporting import _Export, _example, _one_at_a_time
from lazyrt.programs import Program


class Comparison:
    """What lazyrt.compare found. `ok`: nothing differs and the run came to its end; `first`: the first value that differs, or None; `values`: all of
    them in the order of execution; a value is a dict with "node", "name", "op", "backend", "type", "aten", "module", "file", "line", "expected" ("eager",
    "reference": made of eager's by the node's reference kernel, "-": not compared, "why" says why), "ok", "max_error", "max_value", "of_bound", "worst".
    str() is the verdict, table() has a line for each value."""

    def __init__(self, verdict: str, table: str, text: str) -> None:
        found = json.loads(text)
        self.values: list[dict[str, Any]] = found["values"]
        self.first: dict[str, Any] | None = found["first"]
        self.run_failed: str | None = found["run_failed"]
        self.variant: int = found["variant"]
        self.compared: int = found["compared"]
        self.exact: bool = found["exact"]
        self.ok = self.first is None and self.run_failed is None
        self._verdict, self._table = verdict, table

    def table(self) -> str:
        """A line for each value, in the order of execution: node, operator, error and what is allowed, source."""
        return self._table

    def __str__(self) -> str:
        return self._verdict

    def __repr__(self) -> str:
        return f"<lazyrt.Comparison: {self._verdict.splitlines()[0]}>"


class _Compare(_Export):
    """An export that ends beside a bundle that is there already."""

    def __init__(self, program: Program, bundle: str, backend: str, threads: int, bound: float, progress: Any) -> None:
        super().__init__(program, (), False, progress)
        self.how = (bundle, backend, threads, bound)
        self.found: Comparison | None = None
        self.failed: Error | None = None  # not the export's

    @staticmethod
    def _refuse_errors(report: Any) -> None:
        """What would be wrong for other inputs does not mind for these."""

    def _complete(self, report: Any, traces: Any, options: Any) -> None:
        bundle, backend, threads, bound = self.how
        try:
            self.found = Comparison(*_tracer.compare(bundle, traces[0], backend, threads, bound, self.progress))
        except Error as error:
            self.failed = error


def compare(path: Any, model: Any, args: Any, kwargs: Any, backend: str, threads: int, bound: float, progress: Any) -> Comparison:
    """What lazyrt.compare does, and says."""
    path = os.fspath(path)
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no bundle {path}")
    with _one_at_a_time:
        job = _Compare(Program(model), path, backend, threads, bound, progress)
        sample = _example(job.program, args, kwargs)
        contextvars.copy_context().run(job.run, [sample], path, "none", True, None)
    if job.failed is not None:
        raise job.failed
    assert job.found is not None
    return job.found
