"""People with accounts on machines, and where they were declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["UserPlan"]


@dataclass(frozen=True)
class UserPlan:
    """One account, the same on every machine on which users or their jobs are."""

    name: str
    uid: int
    gid: int
    group: str
    """Name of the primary group, if the machine has none with its number."""
    keys: tuple[str, ...]
    """Public SSH keys as declared."""
    shell: str
    is_administrator: bool
    file: str = field(default="", compare=False)
    """The file with the list of users; empty if the spec has it."""
    lines: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)
    """Line of each field in that file: ``uid``, ``keys[0]``."""

    @property
    def has_own_group(self) -> bool:
        """Whether no number of a shared group is declared."""
        return self.group == self.name
