"""Recording a new job and submitting it: the record is written before anything is sent."""

from __future__ import annotations

from ..errors import EngineConfigurationError, EngineError, EngineUnreachableError, StoreError
from ..spec.fleet import Connection
from .engines.base import SubmissionUnknownError, open_engine
from .engines.submission import Submission
from .reconcile import UNDECIDED_ERRORS, submission_in_progress, submit_recorded
from .store.database import strip_advice
from .store.records import JobRecord, NewJob
from .store.states import State
from .store.store import Store

__all__ = ["record_and_submit", "require_accepted"]

_REPEAT = "Nothing was submitted: run the same command again"


def record_and_submit(
    store: Store, new_job: NewJob, connection: Connection, submission: Submission, known_ref: str | None
) -> JobRecord:
    """Record a job, and submit it unless its engine has it as ``known_ref``, or another process submits it."""
    with submission_in_progress(store, new_job.key):
        with store.transaction():  # one write to disk for both steps
            record, is_new = store.record(new_job)
            is_mine = is_new and store.begin_submission(record.id)
            if (
                is_mine and known_ref
            ):  # in the same write: what is looked for later must carry the digest of this record
                store.record_submitted(record.id, known_ref)
        try:
            if is_mine and not known_ref:
                submit_recorded(store, open_engine(connection, store.folder), record.id, submission)
        except (SubmissionUnknownError, StoreError) as error:  # repeating it without its key would create a second job
            raise type(error)(
                f"job {record.id} ({new_job.name}, key {new_job.key}) is recorded, but it is unknown whether its "
                f"engine has it: {strip_advice(error)}; submitting it again could run it twice. To find out, and to "
                f"submit it if it was not accepted, run: supercloud wait {record.id}"
            ) from error
        except UNDECIDED_ERRORS as error:
            kind = EngineUnreachableError if isinstance(error, EngineUnreachableError) else EngineConfigurationError
            raise kind(f"{error}. {_REPEAT}") from error
    return record


def require_accepted(record: JobRecord, key: str) -> JobRecord:
    """The same job; raises :class:`EngineError` if it has failed and no engine has it: submitting it again with this
    key has no effect, unless another process that could not send it has just released the key.
    """
    if record.state is not State.FAILED or record.ref is not None:
        return record
    reason = f"job {record.id} ({record.name}) is FAILED: {record.reason or 'the reason is unknown'}"
    if record.key != key:
        raise EngineUnreachableError(f"{reason}. {_REPEAT}")
    raise EngineError(f"{reason}. It is not submitted again with the key {key!r}; use another --key")
