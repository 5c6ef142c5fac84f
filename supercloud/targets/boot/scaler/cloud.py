"""Calls of the provider's functions.

``cloud.sh`` is the only part that differs between clouds. The boot script is in shell and calls the same functions, so
they are in shell, one file for each cloud; ``supercloud/targets/boot`` documents each.
"""

from __future__ import annotations

from typing import NamedTuple

from .commands import Output, UnavailableError, run_command

__all__ = ["Cloud", "Instance", "NoCapacityError", "ResizeError"]

_NO_CAPACITY = 3
"""Exit code of ``cloud_resize`` if the cloud has no more instances of this kind."""
_MAX_DIGITS = 9  # of the size of a group
_CALL = """
set -euo pipefail
root=$1
shift
source "$root/etc/supercloud/env"
source "$root/opt/supercloud/cloud.sh"
"$@" || exit $?
"""
"""Values are passed as arguments and never become part of the program. ``||`` because the provider's functions test
their exit codes themselves and are written for a caller that tests theirs (``set -e`` has no effect there)."""


class Instance(NamedTuple):
    """An instance that is starting or running."""

    id: str
    address: str
    """Empty until it has one."""


class ResizeError(Exception):
    """The size of a group could not be changed; the text is the reason."""


class NoCapacityError(ResizeError):
    """The cloud has no instances of this kind now."""


class Cloud:
    """Calls of the provider's functions."""

    def __init__(self, root: str) -> None:
        self._root = root

    def list_instances(self, group: str) -> list[Instance]:
        """Instances of a group that are starting or running.

        Raises:
            UnavailableError: The cloud does not respond. A group without instances is not an error.
        """
        rows = [line.split() for line in self._query(group, "cloud_instances").split("\n") if line.strip()]
        return [Instance(row[0], row[1] if len(row) > 1 and row[1] != "-" else "") for row in rows]

    def get_size(self, group: str) -> int:
        """The requested number of instances of a group; 0 if the group does not exist.

        Raises:
            UnavailableError: The cloud does not respond, or not with a number.
        """
        text = self._query(group, "cloud_size").strip()
        if text and not (text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS):
            raise UnavailableError(f"{group}: the cloud answers with the size {text[:80]!r}")
        return int(text or 0)

    def get_domains(self, group: str) -> dict[str, str] | None:
        """The scale-up domain of each instance whose domain is known; None if the cloud does not respond."""
        done = self._call("cloud_domains", group)
        if done.code != 0:
            return None
        rows = [line.split() for line in done.text.split("\n")]
        return {row[0]: row[1] for row in rows if len(row) > 1}

    def find_refusal(self, group: str, since: int) -> str | None:
        """Why the cloud could not start instances of a group; None if it could.

        Args:
            group: Key of the group.
            since: Seconds since the epoch; earlier refusals are ignored.
        """
        done = self._call("cloud_refused", group, str(since))
        return done.text if done.code == 0 else None

    def find_failure(self, group: str, since: int) -> str | None:
        """Why the last start of an instance of a group failed, whatever the reason; None if none is known.

        Args:
            group: Key of the group.
            since: Seconds since the epoch; earlier failures are ignored.
        """
        done = self._call("cloud_failed", group, str(since))
        return done.text.strip() or None if done.code == 0 else None

    def resize(self, group: str, size: int) -> None:
        """Change the size of a group.

        Raises:
            NoCapacityError: The cloud has no more instances of this kind.
            ResizeError: It was refused for another reason, or the cloud does not respond.
        """
        done = self._call("cloud_resize", group, str(size), with_errors=True)
        if done.code != 0:
            raise (NoCapacityError if done.code == _NO_CAPACITY else ResizeError)(done.text)

    def terminate(self, group: str, instance: str) -> bool:
        """Terminate an instance without a replacement; returns whether it succeeded."""
        return self._call("cloud_terminate", group, instance).code == 0

    def _query(self, group: str, function: str) -> str:
        done = self._call(function, group)
        if done.code != 0:
            raise UnavailableError(f"{group}: the cloud does not respond")
        return done.text

    def _call(self, function: str, *arguments: str, with_errors: bool = False) -> Output:
        command = ("/bin/bash", "-c", _CALL, "scaler", self._root, function, *arguments)
        return run_command(command, with_errors=with_errors)
