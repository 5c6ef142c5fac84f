"""Whether a held job may start: its dependencies have completed, and its deadline has not passed."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import InputError, StoreError, UnknownNameError
from ...spec import JobSpec
from ..api import require_completable
from ..store.records import JobRecord
from ..store.states import State
from ..store.status import Status
from ..store.store import Store
from . import ledger
from .context import BrokerContext

__all__ = ["is_ready"]


def is_ready(context: BrokerContext, record: JobRecord, job: JobSpec) -> bool:
    """Whether the dependencies of a job have completed. A dependency that cannot complete ends the job, and so does its
    deadline.
    """
    store = context.store
    if job.deadline is not None and not job.deadline.base:
        _fail(store, record, "its deadline passed before it started")
        return False
    try:
        dependencies = [require_completable(store.get(number)) for number in _load_dependency_ids(store, record)]
    except InputError as error:
        _fail(store, record, str(error))
        return False
    except StoreError as error:
        context.reporter.report(
            f"warning: job {record.id} ({record.name}) waits for a job that cannot be read: {error}"
        )
        return False
    for before in dependencies:
        if not before.state.is_final:
            ledger.record_hold_reason(store, record, f"it waits for job {before.id} ({before.name})")
            return False
    return True


def _fail(store: Store, record: JobRecord, reason: str) -> None:
    store.record_statuses({record.id: Status(State.FAILED, record.attempt, reason)})


def _load_dependency_ids(store: Store, record: JobRecord) -> Sequence[int]:
    """The IDs of the jobs that a job depends on."""
    if '"after"' not in record.spec:
        return ()
    if not (numbers := store.list_dependencies(record.id)):  # recorded by a version that stored only names
        for name in JobSpec.model_validate_json(record.spec).after:
            if (found := store.find_by_name(name, before_id=record.id)) is None:
                raise UnknownNameError("earlier job", name, ())
            numbers.append(found.id)
        store.record_dependencies(record.id, numbers)
    return numbers
