"""lazyrt.compare: a bundle beside eager, value by value."""

from __future__ import annotations

import json
import os
from typing import Any

from lazyrt import _tracer
from lazyrt.driver.exporting import capturing, example_of, exclusively, explore, set_samples
from lazyrt.driver.programs import Program


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


def compare(path: Any, model: Any, args: Any, kwargs: Any, backend: str, threads: int, bound: float, progress: Any) -> Comparison:
    """What lazyrt.compare does, and says. What would be wrong for other inputs is no error here."""
    path = os.fspath(path)
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no bundle {path}")

    def run() -> Comparison:
        program = Program(model)
        sample = example_of(program, args, kwargs)
        with capturing(program, [sample], allow=[], second_trace=False) as (capture, _):
            steps = explore(capture, [sample])
            set_samples(capture.eager, steps)
            capture.eager.restore()
            return Comparison(*_tracer.compare(path, steps[0].trace, backend, threads, bound, progress))

    return exclusively(run)
