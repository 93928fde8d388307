"""The exceptions that LazyRT raises. Their kinds are those of lazyrt/error.h."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lazyrt.report import ExportReport, Finding


class Error(RuntimeError):
    """Base of LazyRT's errors. `kind` is "invalid argument", "unsupported", ...; `failure` is why an export failed, where callers decide by it:
    "broken", "mismatch", "differs at sizes" (host_tracer/support/outcome.h), else ""."""

    def __init__(self, text: str, kind: str = "internal", failure: str = "") -> None:
        super().__init__(text)
        self.kind, self.failure = kind, failure


class InputError(Error, ValueError):
    """An argument of the wrong shape, dtype, count or name."""

    def __init__(self, text: str, kind: str = "invalid argument", failure: str = "") -> None:
        super().__init__(text, kind, failure)


class BundleError(Error):
    """The file is damaged, of a newer format, or needs what this runtime lacks."""


class GuardError(Error):
    """The inputs do not meet an assumption that the bundle was exported with."""


class LimitError(Error):
    """The bundle asks for more memory or work than the options allow, or a run took longer than its deadline."""


class CancelledError(Error):
    """Program.cancel ended the run."""


class ExportError(Error):
    """The module could not be exported. Nothing was written.

    `report` is an ExportReport of what was captured, or None; `findings` its findings."""

    def __init__(self, text: str, kind: str = "unsupported", report: ExportReport | None = None, failure: str = "") -> None:
        super().__init__(text, kind, failure)
        self.report = report

    @property
    def findings(self) -> list[Finding]:
        """What was found; empty where the capture itself failed."""
        return self.report.findings if self.report else []


_CLASSES = {
    "invalid argument": InputError,
    "invalid bundle": BundleError,
    "version": BundleError,
    "unsupported": BundleError,
    "guard failed": GuardError,
    "out of memory": LimitError,
    "limit exceeded": LimitError,
    "deadline exceeded": LimitError,
    "cancelled": CancelledError,
}


def from_kind(kind: str, text: str, failure: str = "") -> Error:
    """The exception for an error of the runtime or the exporter. Called by errors.h."""
    return _CLASSES.get(kind, Error)(text, kind, failure)
