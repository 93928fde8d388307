"""lazyrt.compare: a bundle and eager, compared value by value."""

from __future__ import annotations

import json
import os
from typing import Any

from lazyrt import _tracer
from lazyrt.driver.exporting import capturing, example_of, exclusively, explore, set_samples
from lazyrt.driver.programs import Program


class Comparison:
    """The result of lazyrt.compare. `ok`: nothing differs and the run completed; `first`: the first value that differs, or None; `values`: all values
    in the order of execution; a value is a dict with "node", "name", "op", "backend", "type", "aten", "module", "file", "line", "expected" ("eager",
    "reference": computed from eager's values by the node's reference kernel, "-": not compared, for the reason in "why"), "ok", "max_error", "max_value", "of_bound", "worst".
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


def compare(path: Any, model: Any, args: Any, kwargs: Any, backend: str, threads: int, bound: float, progress: Any) -> Comparison:
    """Implements lazyrt.compare. Findings that would fail an export are ignored."""
    path = os.fspath(path)
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no bundle {path}")

    def run() -> Comparison:
        program = Program(model)
        sample = example_of(program, args, kwargs)
        with capturing(program, [sample], allow=[], second_trace=False) as capture:
            steps = explore(capture, [sample])
            set_samples(capture.eager, steps)
            capture.eager.restore()
            return Comparison(*_tracer.compare(path, steps[0].trace, backend, threads, bound, progress))

    return exclusively(run)
