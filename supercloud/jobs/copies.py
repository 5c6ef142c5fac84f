"""Copies of a job: an abandoned request arrived after the job had been submitted again.

Only a job that was submitted more than once can have copies, so no engine is queried for other jobs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .engines.base import Engine, FindsCopies, JobCopies
from .engines.submission import JobIdentity, compute_record_digest, compute_spec_digest
from .store.records import JobRecord
from .store.store import Store

__all__ = [
    "build_identity",
    "build_known_identity",
    "describe_copies",
    "describe_others",
    "find_copies",
    "select_resubmitted",
]


_MAX_NAMED = 5  # jobs in one message, the latest: a key may have been used many times


def select_resubmitted(store: Store, records: Collection[JobRecord]) -> list[JobRecord]:
    """The records whose jobs may have copies: according to the store they were submitted more than once.

    A store that was restored from a backup lacks later submissions.
    """
    submitted = [record for record in records if record.ref is not None]
    if not submitted:
        return []
    numbers = store.select_resubmitted([record.id for record in submitted])
    restored = store.find_restore()
    return [record for record in submitted if record.id in numbers or (restored and record.recorded <= restored.since)]


def find_copies(engine: Engine, records: Collection[JobRecord]) -> dict[int, JobCopies]:
    """The other live jobs with the keys of these records, by job ID; in one request."""
    asked = {record.ref: record for record in records if record.ref is not None}
    if not asked or not isinstance(engine, FindsCopies):
        return {}
    found = engine.find_copies({ref: build_identity(record) for ref, record in asked.items()})
    return {asked[ref].id: copies for ref, copies in found.items()}


def build_identity(record: JobRecord) -> JobIdentity:
    """The identity that the engine keeps with the job of a record."""
    return JobIdentity(record.engine_key, compute_spec_digest(record.spec), compute_record_digest(record.recorded))


def build_known_identity(store: Store, record: JobRecord) -> JobIdentity:
    """The part of it that certainly is with the job: a job that a restored store found again by its key was
    submitted for an earlier record.
    """
    identity = build_identity(record)
    return identity if store.find_restore() is None else identity._replace(record="")


def describe_copies(record: JobRecord, copies: JobCopies, is_started_again: bool) -> str:
    """The text on copies in the reason of a job that has ended, and how they are cancelled."""
    messages = []
    if copies.certain:
        end = "it" if len(copies.certain) == 1 else "them"
        how = (
            f"supercloud serve cancels {end}" if is_started_again else f"to cancel {end}: supercloud cancel {record.id}"
        )
        messages.append(f"{_format_refs(copies.certain)} of the same key; {how}")
    if copies.possible:
        messages.append(
            f"{_format_refs(copies.possible)} of the same key, not ended by cancel: it may be of another store"
        )
    return f"when it ended, {record.engine} still had {', and '.join(messages)}"


def describe_others(record: JobRecord, refs: Sequence[str]) -> str:
    """Message about jobs with the key of a record that were not submitted for this record; empty if there are none."""
    if not refs:
        return ""
    is_one = len(refs) == 1
    return (
        f"{record.engine} has {_format_refs(refs[-_MAX_NAMED:])} with key {record.engine_key}, "
        f"{'which was' if is_one else 'which were'} submitted for another record (of another store, or deleted from "
        f"this one) or by an earlier version; {'it is' if is_one else 'they are'} not changed"
    )


def _format_refs(refs: Sequence[str]) -> str:
    return f"{'job' if len(refs) == 1 else 'jobs'} {' and '.join(refs)}"
