"""Problems of resolution, collected: resolution does not stop at the first."""

from __future__ import annotations

from ...errors import MAX_SHOWN, Finding, UnknownNameError

__all__ = ["OTHER_NAMES", "Problems"]

OTHER_NAMES = frozenset(
    {
        "addresses",
        "catalog",
        "cloud-database",
        "cloud-network-range",
        "cloud-region",
        "cloud-storage-kind",
        "cloud-zones",
        "fabric-adapters",
        "fabric-dims",
        "fabric-fit",
        "fabric-planes",
        "fabric-ports",
        "fabric-rack",
        "fabric-rails",
        "fabric-shape",
        "fabric-switch",
        "fabric-tiers",
        "fabric-upstream",
        "facility-file",
        "fleet-connect",
        "guids-duplicate",
        "guids-file",
        "job-after",
        "job-array",
        "job-command",
        "job-env",
        "job-image",
        "job-retries",
        "job-script",
        "job-stages",
        "job-secret",
        "job-support",
        "json",
        "machine-site",
        "multikueue",
        "network-asn",
        "network-macs",
        "network-size",
        "place",
        "rack-fit",
        "spec",
        "storage-checkpoint-need",
        "storage-throughput",
        "storage-tier",
        "suppress-unknown",
        "suppress-unused",
        "switch-dialect",
        "tenant-shares",
        "unknown-name",
        "users-file",
        "yaml",
    }
)
"""Names of findings that no check reports: those of documents, of resolution and of jobs (docs/findings.yaml)."""


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
