"""Held jobs of a store that was restored: engines may have got them after the copy was made, and are asked first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..epochs import engine_key, launch_of
from ..records import JobRecord
from ..store import Restored

__all__ = ["Rediscovery"]

_AHEAD = 8  # launches behind the one that the copy knows: a job may have moved, or been lost and started anew, since
_AT_ONCE = 100  # jobs looked for in one question


class Rediscovery:
    """What engines have said about the keys of held jobs."""

    def __init__(self, restored: Restored):
        self.restored = restored
        self._absent: dict[str, set[str]] = {}
        self._there: dict[str, dict[str, str]] = {}

    def questions(self, connection: str, held: Iterable[JobRecord]) -> list[str]:
        """Keys that a connection is to be asked for."""
        absent = self._absent.get(connection, set())
        wanted = [keys for record in held if not absent.issuperset(keys := _keys(record))]
        return [key for keys in wanted[:_AT_ONCE] for key in keys]

    def learn(self, connection: str, found: Mapping[str, str | None]) -> None:
        """What a connection answered; keys that are left out it is asked for again."""
        self._absent.setdefault(connection, set()).update(key for key, ref in found.items() if ref is None)
        self._there[connection] = {key: ref for key, ref in found.items() if ref is not None}

    def latest(self, record: JobRecord) -> tuple[int, str, str] | None:
        """The latest start of a job that an engine has: launch, connection and what the engine calls it."""
        starts = [(launch_of(key), connection, known[key]) for connection, known in self._there.items()
                  for key in _keys(record) if key in known]  # fmt: skip
        return max(starts, key=lambda start: start[0], default=None)

    def unsure(self, record: JobRecord, everywhere: Sequence[str], answered: Iterable[str]) -> list[str]:
        """Connections that have to say first that they have not got a job.

        Those are all where the copy has the job; those that answer where it was submitted since, for it can be there
        only if its key had been used before.
        """
        asked = everywhere if record.id <= self.restored.last else list(answered)
        return [one for one in asked if not self._absent.get(one, set()).issuperset(_keys(record))]


def _keys(record: JobRecord) -> list[str]:
    return [engine_key(record.key, record.launch + number) for number in range(_AHEAD)]
