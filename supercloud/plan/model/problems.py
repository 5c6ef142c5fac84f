"""Problems of resolution, collected: resolution does not stop at the first."""

from __future__ import annotations

from ...errors import Finding, UnknownNameError

__all__ = ["Problems"]


class Problems:
    """Findings of one resolution, in the order in which they occurred."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def add_error(self, check: str, path: str, problem: str, hint: str = "") -> None:
        """Report a problem that prevents rendering."""
        self.findings.append(Finding(check, "error", path, problem, hint))

    def add_unknown_name(self, path: str, error: UnknownNameError) -> None:
        """Report a name that the catalog does not contain."""
        self.findings.append(Finding("unknown-name", "error", path, str(error.args[0]), error.hint))
