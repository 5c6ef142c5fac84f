"""Held jobs of a store that was restored: engines may have got them after the copy was made, and are asked first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..runtime.epochs import build_engine_key, parse_launch
from ..store.records import JobRecord
from ..store.store import RestoreInfo

__all__ = ["Rediscovery"]

_LAUNCH_LOOKAHEAD = (
    8  # launches behind the one that the copy knows: a job may have moved, or been lost and started anew, since
)
_MAX_JOBS_PER_QUERY = 100  # jobs looked for in one question


class Rediscovery:
    """What engines have said about the keys of held jobs."""

    def __init__(self, restored: RestoreInfo):
        self.restored = restored
        self._queried: dict[str, set[str]] = {}
        self._absent: dict[str, set[str]] = {}
        self._present: dict[str, dict[str, str]] = {}
        self._digests: dict[str, dict[str, str]] = {}

    def select_keys(self, connection: str, held_jobs: Iterable[JobRecord]) -> list[str]:
        """Keys that a connection is to be asked for."""
        wanted = [_list_keys(record) for record in held_jobs if not self._is_confirmed_absent(connection, record)]
        return [key for keys in wanted[:_MAX_JOBS_PER_QUERY] for key in keys]

    def record_answer(
        self, connection: str, queried_keys: Iterable[str], refs: Mapping[str, str | None], digests: Mapping[str, str]
    ) -> None:
        """What a connection that was asked for keys answered; of those that are left out it cannot tell.

        ``digests`` says for jobs that were found what they were submitted for.
        """
        queried_keys, there = set(queried_keys), {key: ref for key, ref in refs.items() if ref is not None}
        # what is there is asked for again: it is adopted, or whoever is in its way ends it
        self._queried[connection] = (self._queried.get(connection, set()) | queried_keys) - there.keys()
        self._absent.setdefault(connection, set()).update(refs.keys() - there.keys())
        kept = {key: ref for key, ref in self._present.get(connection, {}).items() if key not in queried_keys}
        self._present[connection] = kept | there
        self._digests[connection] = self._digests.get(connection, {}) | dict(digests)

    def find_latest_launch(self, record: JobRecord) -> tuple[int, str, str] | None:
        """The latest start of a job that an engine has: launch, connection and what the engine calls it."""
        starts = [
            (parse_launch(key), connection, known[key])
            for connection, known in self._present.items()
            for key in _list_keys(record)
            if key in known
        ]
        return max(starts, key=lambda start: start[0], default=None)

    def find_digest(self, connection: str, ref: str) -> str | None:
        """Which spec a job that was found was submitted for; None where it does not say."""
        return self._digests[connection].get(ref)

    def is_in_backup(self, record: JobRecord) -> bool:
        """Whether a job is one that the copy had: its key was its own when the copy was made."""
        return record.id <= self.restored.last_job_id

    def list_unconfirmed(self, record: JobRecord, connections: Sequence[str], responding: Iterable[str]) -> list[str]:
        """Connections that have to say first that they have not got a job.

        Those are all where the copy has the job; those that answer where it was submitted since.
        """
        asked = connections if self.is_in_backup(record) else responding
        return [one for one in asked if not self._is_confirmed_absent(one, record)]

    def _is_confirmed_absent(self, connection: str, record: JobRecord) -> bool:
        """Whether a connection has certainly not got a job. One submitted since the restore can be there only where its
        key had been used before: that it was looked for and not found is enough, or a scheduler without accounts, which
        never is certain of what is long over, would get no job any more.
        """
        said = self._absent if self.is_in_backup(record) else self._queried
        return said.get(connection, set()).issuperset(_list_keys(record))


def _list_keys(record: JobRecord) -> list[str]:
    return [build_engine_key(record.key, record.launch + number) for number in range(_LAUNCH_LOOKAHEAD)]
