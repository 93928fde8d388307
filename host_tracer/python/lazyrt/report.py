"""What an export did and what it assumed."""

from __future__ import annotations

import collections
import dataclasses
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lazyrt import _tracer


@dataclasses.dataclass(frozen=True)
class Finding:
    """Something to know about the export. `severity`: "note", "warning" or "error"; `allowed`: an error that `allow` or a comment
    in the source permits. host_tracer/VERDICTS.md explains each `id`."""

    severity: str
    id: str
    message: str
    suggestion: str = ""
    file: str = ""
    line: int = 0
    module: str = ""
    allowed: bool = False

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.file else ""
        advice = f"\n    {self.suggestion}" if self.suggestion else ""
        word = "allowed" if self.allowed else self.severity
        return f"{place}{word}: {self.message} [{self.id}]{advice}"


@dataclasses.dataclass(frozen=True)
class Guard:
    """An assumption that the runtime checks: `text` was `seen` at this line. `check`: the model raises where it fails."""

    text: str
    seen: object
    file: str = ""
    line: int = 0
    module: str = ""
    check: bool = False


@dataclasses.dataclass(frozen=True)
class Sync:
    """A value that was read on the host. `use`: "note", "guard", "check" or "baked"."""

    what: str
    seen: str
    use: str
    file: str = ""
    line: int = 0
    module: str = ""


def _make(cls: Any, items: Iterable[dict[str, Any]]) -> list[Any]:
    names = {field.name for field in dataclasses.fields(cls)}
    return [cls(**{key: value for key, value in item.items() if key in names}) for item in items]


_ORDER = ("SOUND", "SPECIALIZED", "ALLOWED", "BROKEN")


class ExportReport:
    """verdict: "SOUND" (right for every input of these shapes and dtypes), "SPECIALIZED" (right where the guards hold),
    "ALLOWED" (findings that fail an export were allowed) or "BROKEN"; findings, guards, syncs; states: buffers that become state; nodes: ATen
    calls captured; summary: text."""

    def __init__(self, traces: Sequence[_tracer.Trace], path: str) -> None:
        self.path = path
        self.verdict = max((trace.verdict for trace in traces), key=_ORDER.index)
        self.findings: list[Finding] = [item for trace in traces for item in _make(Finding, trace.findings)]
        self.guards: list[Guard] = [item for trace in traces for item in _make(Guard, trace.guards)]
        self.syncs: list[Sync] = [item for trace in traces for item in _make(Sync, trace.syncs)]
        self.states = list(dict.fromkeys(name for trace in traces for name in trace.states))
        self.notes = list(dict.fromkeys(note for trace in traces for note in trace.notes))
        self.nodes = sum(trace.nodes for trace in traces)
        self.trace = "\n".join(trace.text() for trace in traces)
        self.summary = ""
        self._json: dict[str, Any] = {}

    @property
    def errors(self) -> list[Finding]:
        """The findings that fail an export."""
        return [finding for finding in self.findings if finding.severity == "error"]

    @property
    def allowed(self) -> dict[str, int]:
        """How many findings of each id were allowed."""
        return dict(collections.Counter(finding.id for finding in self.findings if finding.allowed))

    def complete(self, summary: str, details: str) -> None:
        """Adds the exporter's summary as text and as JSON."""
        self.summary, self._json = summary, json.loads(details)
        self.notes = self._json["notes"]

    def to_json(self) -> dict[str, Any]:
        """The report as plain dicts and lists; json.dumps takes it."""
        mine = {
            "verdict": self.verdict,
            "findings": [dataclasses.asdict(item) for item in self.findings],
            "allowed": self.allowed,
            "guards": [dataclasses.asdict(item) for item in self.guards],
            "syncs": [dataclasses.asdict(item) for item in self.syncs],
            "states": self.states,
        }
        return {**mine, **self._json}

    def _lines(self) -> Iterable[str]:
        yield f"verdict     {self.verdict}"
        for finding in self.findings:
            yield str(finding)
        for guard in self.guards:
            kind = "checks" if guard.check else "assumes"
            yield f"{guard.file}:{guard.line}: {kind} {guard.text} = {guard.seen}"

    def __repr__(self) -> str:
        head = f"<lazyrt.ExportReport {self.path}>"
        if "  verdict " in self.summary:
            return "\n".join([head, self.summary.rstrip()])
        return "\n".join([head, *self._lines(), self.summary.rstrip()]).rstrip()
