"""Problems of resolution, collected: resolution does not stop at the first."""

from __future__ import annotations

from ...errors import MAX_SHOWN, Finding, UnknownNameError

__all__ = ["Problems"]


class Problems:
    """Findings of one resolution, in the order in which they occurred."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self._hinted = 0

    def add_error(self, check: str, path: str, problem: str, hint: str = "") -> None:
        """Report a problem that prevents rendering."""
        self.findings.append(Finding(check, "error", path, problem, hint))

    def add_unknown_name(self, path: str, error: UnknownNameError) -> None:
        """Report a name that the catalog does not contain."""
        # the nearest of many names take a millisecond each: none for more findings than are listed
        hint = error.hint if self._hinted < MAX_SHOWN else ""
        self._hinted += 1
        self.findings.append(Finding("unknown-name", "error", path, str(error.args[0]), hint))
