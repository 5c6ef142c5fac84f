"""What resolution could not do, collected on the way: nothing stops at the first."""

from __future__ import annotations

from ...errors import Finding, UnknownNameError

__all__ = ["Problems"]


class Problems:
    """Findings of one resolution, in the order they were met."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def add_error(self, check: str, path: str, problem: str, hint: str = "") -> None:
        """Something that forbids rendering."""
        self.findings.append(Finding(check, "error", path, problem, hint))

    def add_unknown_name(self, path: str, error: UnknownNameError) -> None:
        """A name the catalog does not have."""
        self.findings.append(Finding("unknown-name", "error", path, str(error.args[0]), error.hint))
