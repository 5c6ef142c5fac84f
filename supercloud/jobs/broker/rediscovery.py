"""Held jobs of a store that was restored: engines may have got them after the copy was made, and are asked first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..runtime.epochs import engine_key, launch_of
from ..store.records import JobRecord
from ..store.store import Restored

__all__ = ["Rediscovery"]

_AHEAD = 8  # launches behind the one that the copy knows: a job may have moved, or been lost and started anew, since
_AT_ONCE = 100  # jobs looked for in one question


class Rediscovery:
    """What engines have said about the keys of held jobs."""

    def __init__(self, restored: Restored):
        self.restored = restored
        self._asked: dict[str, set[str]] = {}
        self._absent: dict[str, set[str]] = {}
        self._there: dict[str, dict[str, str]] = {}
        self._digests: dict[str, dict[str, str]] = {}

    def questions(self, connection: str, held: Iterable[JobRecord]) -> list[str]:
        """Keys that a connection is to be asked for."""
        wanted = [_keys(record) for record in held if not self._has_said(connection, record)]
        return [key for keys in wanted[:_AT_ONCE] for key in keys]

    def learn(
        self, connection: str, asked: Iterable[str], found: Mapping[str, str | None], digests: Mapping[str, str]
    ) -> None:
        """What a connection that was asked for keys answered; of those that are left out it cannot tell.

        ``digests`` says for jobs that were found what they were submitted for.
        """
        asked, there = set(asked), {key: ref for key, ref in found.items() if ref is not None}
        # what is there is asked for again: it is adopted, or whoever is in its way ends it
        self._asked[connection] = (self._asked.get(connection, set()) | asked) - there.keys()
        self._absent.setdefault(connection, set()).update(found.keys() - there.keys())
        kept = {key: ref for key, ref in self._there.get(connection, {}).items() if key not in asked}
        self._there[connection] = kept | there
        self._digests[connection] = self._digests.get(connection, {}) | dict(digests)

    def latest(self, record: JobRecord) -> tuple[int, str, str] | None:
        """The latest start of a job that an engine has: launch, connection and what the engine calls it."""
        starts = [(launch_of(key), connection, known[key]) for connection, known in self._there.items()
                  for key in _keys(record) if key in known]  # fmt: skip
        return max(starts, key=lambda start: start[0], default=None)

    def digest(self, connection: str, ref: str) -> str | None:
        """Which spec a job that was found was submitted for; None where it does not say."""
        return self._digests[connection].get(ref)

    def has_copy_known(self, record: JobRecord) -> bool:
        """Whether a job is one that the copy had: its key was its own when the copy was made."""
        return record.id <= self.restored.last

    def unsure(self, record: JobRecord, everywhere: Sequence[str], answered: Iterable[str]) -> list[str]:
        """Connections that have to say first that they have not got a job.

        Those are all where the copy has the job; those that answer where it was submitted since.
        """
        asked = everywhere if self.has_copy_known(record) else answered
        return [one for one in asked if not self._has_said(one, record)]

    def _has_said(self, connection: str, record: JobRecord) -> bool:
        """Whether a connection has certainly not got a job. One submitted since the restore can be there only where its
        key had been used before: that it was looked for and not found is enough, or a scheduler without accounts, which
        never is certain of what is long over, would get no job any more.
        """
        said = self._absent if self.has_copy_known(record) else self._asked
        return said.get(connection, set()).issuperset(_keys(record))


def _keys(record: JobRecord) -> list[str]:
    return [engine_key(record.key, record.launch + number) for number in range(_AHEAD)]
