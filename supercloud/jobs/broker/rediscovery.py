"""Held jobs of a store that was restored: they may have been submitted after the backup, so engines are queried
first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..runtime.epochs import build_engine_key, parse_launch
from ..store.job_reader import RestoreInfo
from ..store.records import JobRecord

__all__ = ["Rediscovery"]

_LAUNCH_LOOKAHEAD = 8  # launches after the one in the backup: a job may have moved, or been lost and restarted, since
_MAX_JOBS_PER_QUERY = 100  # jobs looked up in one request


class Rediscovery:
    """The answers of engines on the keys of held jobs."""

    def __init__(self, restored: RestoreInfo):
        self.restored = restored
        self._queried: dict[str, set[str]] = {}
        self._absent: dict[str, set[str]] = {}
        self._present: dict[str, dict[str, str]] = {}
        self._digests: dict[str, dict[str, str]] = {}

    def select_keys(self, connection: str, held_jobs: Iterable[JobRecord]) -> list[str]:
        """Keys to look up on a connection."""
        wanted = [_list_keys(record) for record in held_jobs if not self._is_confirmed_absent(connection, record)]
        return [key for keys in wanted[:_MAX_JOBS_PER_QUERY] for key in keys]

    def record_answer(
        self, connection: str, queried_keys: Iterable[str], refs: Mapping[str, str | None], digests: Mapping[str, str]
    ) -> None:
        """Record the answer of a connection to a lookup of keys; missing keys are undetermined.

        ``digests`` has the spec digests of the jobs found.
        """
        queried_keys, there = set(queried_keys), {key: ref for key, ref in refs.items() if ref is not None}
        # jobs found are looked up again: they are adopted, or a user cancels the conflicting one
        self._queried[connection] = (self._queried.get(connection, set()) | queried_keys) - there.keys()
        self._absent.setdefault(connection, set()).update(refs.keys() - there.keys())
        kept = {key: ref for key, ref in self._present.get(connection, {}).items() if key not in queried_keys}
        self._present[connection] = kept | there
        self._digests[connection] = self._digests.get(connection, {}) | dict(digests)

    def find_latest_launch(self, record: JobRecord) -> tuple[int, str, str] | None:
        """The latest launch of a job that an engine has: launch, connection and reference."""
        starts = [
            (parse_launch(key), connection, known[key])
            for connection, known in self._present.items()
            for key in _list_keys(record)
            if key in known
        ]
        return max(starts, key=lambda start: start[0], default=None)

    def find_digest(self, connection: str, ref: str) -> str | None:
        """The spec digest of a job that was found; None if it has none."""
        return self._digests[connection].get(ref)

    def is_in_backup(self, record: JobRecord) -> bool:
        """Whether a job is in the backup: the key was already its own at the time of the backup."""
        return record.id <= self.restored.last_job_id

    def list_unconfirmed(self, record: JobRecord, connections: Sequence[str], responding: Iterable[str]) -> list[str]:
        """Connections that must first confirm that they do not have a job.

        All connections if the job is in the backup; those that respond if it was submitted since.
        """
        required = connections if self.is_in_backup(record) else responding
        return [one for one in required if not self._is_confirmed_absent(one, record)]

    def _is_confirmed_absent(self, connection: str, record: JobRecord) -> bool:
        """Whether a connection certainly does not have a job. One submitted since the restore can be there only if its
        key had been used before: a lookup without a result suffices, or a scheduler without accounting, which
        is never certain about old jobs, would get no more jobs.
        """
        confirmed = self._absent if self.is_in_backup(record) else self._queried
        return confirmed.get(connection, set()).issuperset(_list_keys(record))


def _list_keys(record: JobRecord) -> list[str]:
    return [build_engine_key(record.key, record.launch + number) for number in range(_LAUNCH_LOOKAHEAD)]
