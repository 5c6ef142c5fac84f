"""Slurm through slurmrestd: JSON over HTTP.

Its data format changes with every release: the newest of ``_FORMATS`` that the server supports is used. The token is
that of :mod:`.tokens`; it is sent only to the specified address (:mod:`..http`), together with the user name, since
slurmrestd of 22.05 requires both.
"""

from __future__ import annotations

import fcntl
import http.client
import json
import pwd
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ....errors import EngineConfigurationError, EngineError, EngineUnreachableError
from ....primitives.locked_property import LockedProperty
from ....primitives.responses import Shape, parse_json, parse_response, require_shape
from ...fleet.observations import NodeState, WaitingJobs
from ...runtime import checkpoint_helper as helper
from ...store import private_files as private
from ...store.database import locate_state_folder
from ...store.states import State
from ...store.status import Status
from ...transport import http as web
from ...transport.bounded_io import AnswerTooLargeError
from ..base import SubmissionUnknownError
from ..batch import copies
from ..batch.runner import CommandResult, LocalRunner
from ..batch.spool import SharedSpool
from ..submission import Submission
from . import bodies, communication, older, shapes
from .reasons import describe_state
from .system import SLURM
from .tokens import GET_TOKEN_HINT, bind_tokens, read_user, require_token

__all__ = ["RestController", "RestSpool"]

_FORMATS = (*(f"v0.0.{number}" for number in range(46, 39, -1)), older.DATA_FORMAT)
_IDLE_TIMEOUT = 60
_CLOCK_MARGIN = 2 * 86_400
"""Seconds by which this machine's clock may be ahead of the controller's: a job that is not in the requested time is
taken as never submitted, and is submitted again."""
_NOTHING_FOUND = "Nothing found"
_HELD_REASON = describe_state("PENDING", "JobHeldUser")


class RequestRefusedError(EngineError):
    """Slurm refused; ``answer`` is its complete answer."""

    answer: Mapping[str, Any] = {}
    is_outage = False
    """Whether a server in between answered that the service does not respond."""


class RestController:
    """The controller, through slurmrestd. ``folder`` is the engine's folder."""

    def __init__(self, address: str, folder: Path | None = None):
        self.address, self.folder = address.rstrip("/"), folder or locate_state_folder() / "slurm"

    def require_token(self) -> str:
        """The token of the user; :class:`EngineError` if there is none for its address."""
        return require_token(self.address, self.folder)

    def bind_tokens(self) -> None:
        """The user specified this address: tokens without a host are for it."""
        bind_tokens(self.address, self.folder)

    @LockedProperty
    def data_format(self) -> str:
        """The newest data format that both sides support.

        Raises :class:`EngineConfigurationError` if there is none.
        """
        for name in _FORMATS:
            if self._send("GET", f"/slurm/{name}/ping", shapes.ERRORS_RESPONSE, missing=None) is not None:
                return name
        raise EngineConfigurationError(
            f"{self.address} supports none of {_FORMATS[-1]} to {_FORMATS[0]}; use --via ssh:HOST"
        )

    def request(self, method: str, path: str, shape: Shape, body: object = None) -> dict[str, Any]:
        """The answer to a request at a path below ``/slurm/FORMAT`` or ``/slurmdb/FORMAT``, which must have this
        shape.

        Raises :class:`EngineError` if it was not sent or is refused, and :class:`SubmissionUnknownError` if it is
        unknown whether the service has it.
        """
        service, _, rest = path.partition("/")
        answer = self._send(method, f"/{service}/{self.data_format}/{rest}", shape, body)
        assert answer is not None
        return answer

    def _send(
        self, method: str, path: str, shape: Shape, body: object = None, missing: object = "error"
    ) -> dict[str, Any] | None:
        url = self.address + path
        data = None if body is None else json.dumps(body).encode()
        token = self.require_token()
        headers = {
            "X-SLURM-USER-NAME": read_user(token),
            "X-SLURM-USER-TOKEN": token,
            "Content-Type": "application/json",
            "Accept": "application/json",
        }
        try:
            text = web.send(urllib.request.Request(url, data, headers, method=method), _IDLE_TIMEOUT)
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 404 and missing is None:
                    return None
                raise _build_refusal_error(error, self.address, method) from None
        except TimeoutError:
            raise SubmissionUnknownError(f"{self.address} timed out") from None
        except urllib.error.URLError as error:
            if isinstance(error.reason, web.NotConnectedError):  # nothing was sent
                raise EngineUnreachableError(f"{self.address} is unreachable: {error.reason}") from None
            if isinstance(error.reason, TimeoutError):
                raise SubmissionUnknownError(f"{self.address} timed out") from None
            if isinstance(error.reason, BrokenPipeError | ConnectionAbortedError | ConnectionResetError):
                raise SubmissionUnknownError(f"{self.address} closed the connection: {error.reason}") from None
            raise EngineError(f"{self.address} is unreachable: {web.describe_error(error.reason)}") from None
        except (
            OSError,
            ValueError,
            http.client.HTTPException,
        ) as error:  # it closed the connection, or does not use HTTP
            raise SubmissionUnknownError(f"{self.address} closed the connection: {web.describe_error(error)}") from None
        try:
            answer: dict[str, Any] = parse_response(text, shape, f"{method} {url}")
        except EngineError as error:  # the request may have been executed
            raise (SubmissionUnknownError(str(error)) if method != "GET" else error) from None
        return answer

    # -- requests of a controller ------------------------------------------------------------------------------------

    def _list_own_jobs(self) -> list[dict[str, Any]]:
        return self._select_own_jobs(filter(bodies.has_key, self._list_all_jobs()))

    def _list_all_jobs(self) -> list[dict[str, Any]]:
        """Those of all users: the service cannot list those of one."""
        try:
            jobs: list[dict[str, Any]] = self.request("GET", "slurm/jobs", shapes.JOBS_RESPONSE)["jobs"]
        except AnswerTooLargeError as error:
            raise EngineError(f"{error}, or use --via ssh:HOST for a queue of this length") from None
        return jobs

    def _select_own_jobs(self, jobs: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Those of the token's user: the service lists the jobs of all users."""
        user = read_user(self.require_token())
        try:
            number = pwd.getpwnam(user).pw_uid
        except KeyError:
            number = None
        try:
            return [job for job in jobs if bodies.is_owned_by(job, user, number)]
        except EngineError as error:
            raise EngineError(f"{self.address}: {error}") from None

    def read_accounts(self, refs: Sequence[str]) -> Sequence[copies.Row]:
        """From the accounts; jobs that accounting does not know are omitted.

        Raises :class:`EngineConfigurationError` if the token is refused, and :class:`EngineError` if accounting does
        not respond: neither is an answer about any job, and the next request would wait as long.
        """
        found: list[copies.Row] = []
        for ref in refs:
            try:
                answer = self.request("GET", f"slurmdb/job/{int(ref)}", shapes.ACCOUNTS_RESPONSE)
            except RequestRefusedError as refused:
                if refused.is_outage:
                    raise
                continue
            found += bodies.iter_account_rows(self._select_own_jobs(answer["jobs"]))
        return found

    def read_jobs(self) -> Sequence[copies.ListedJob]:
        """From the comments of the jobs in the list."""
        return bodies.parse_jobs(self._list_own_jobs())

    def read_older_jobs(self, seconds: int) -> Sequence[copies.ListedJob] | None:
        """From comments and submission lines in the accounts; None if accounting does not respond."""
        older = self._list_accounted_jobs(seconds)
        return None if older is None else bodies.parse_jobs(older)

    def _list_accounted_jobs(self, seconds: int) -> list[dict[str, Any]] | None:
        """The user's jobs in the accounts; None if accounting does not respond."""
        since = int(time.time()) - seconds - _CLOCK_MARGIN
        try:
            # v0.0.38 parses times as sbatch does, and with start_time it omits jobs without a start time
            asked = f"submit_time=uts{since}" if self.data_format == older.DATA_FORMAT else f"start_time={since}"
            answer = self.request("GET", f"slurmdb/jobs/?{asked}", shapes.ACCOUNTS_RESPONSE)
        except EngineConfigurationError:  # an expired token
            raise
        except EngineError:
            return None
        if any(
            _NOTHING_FOUND not in f"{error.get('error')} {error.get('description')}"
            for error in answer.get("errors") or ()
        ):
            return None  # v0.0.38 answers 200 with an error if the database does not respond
        return self._select_own_jobs(answer["jobs"])

    def get_retention(self) -> float:
        """0: the service does not provide MinJobAge."""
        return 0.0

    def read_rows(self) -> Sequence[copies.Row]:
        """From its list of jobs."""
        return list(bodies.iter_rows(self._list_own_jobs()))

    def cancel(self, ref: str) -> None:
        """Cancel a job; not an error if it has ended."""
        try:
            self.request("DELETE", f"slurm/job/{int(ref.partition('/')[0])}", shapes.ERRORS_RESPONSE)
        except EngineError as error:
            if "already" not in str(error).lower() and "invalid job id" not in str(error).lower():
                raise

    def recall(self, ref: str) -> None:
        """Hold it, check, and cancel it if all of it still waits: the service cannot cancel only pending jobs.

        A job that is not cancelled is released, including the rest of an array that has started.

        Raises :class:`EngineError` if it cannot be released.
        """
        number = str(int(ref.partition("/")[0]))
        is_ended = False
        try:
            if self._hold(number):
                self.cancel(ref)
                is_ended = True
        finally:
            if not is_ended:
                self._release(number)

    def _hold(self, job_id: str) -> bool:
        """Hold a job; returns whether no part of it can start any more."""
        try:
            self._set_hold(job_id, True)
            is_sure = True
        except EngineError:  # 22.05 holds the pending tasks of an array, but reports an error for the running ones
            is_sure = False
        tasks = self._list_tasks(job_id)
        return bool(tasks) and all(
            task.state is State.QUEUED and (is_sure or task.reason == _HELD_REASON) for task in tasks
        )

    def _list_tasks(self, number: str) -> list[Status]:
        """The tasks of a job with their states and reasons."""
        return [status for ref, status, _ in self.read_rows() if ref == number]

    def _release(self, job_id: str) -> None:
        try:
            self._set_hold(job_id, False)
        except EngineError as error:  # 22.05 reports an error even if it succeeded
            if any(task.reason == _HELD_REASON for task in self._list_tasks(job_id)):
                raise EngineError(
                    f"job {job_id} was held for a recall, and could not be released: {error}; run: "
                    f"scontrol release {job_id}"
                ) from None

    def _set_hold(self, job_id: str, hold: bool) -> None:
        self.request("POST", f"slurm/job/{job_id}", shapes.ERRORS_RESPONSE, {"hold": hold})

    def list_nodes(self) -> Sequence[NodeState]:
        """From its list of nodes."""
        return list(bodies.parse_nodes(self.request("GET", "slurm/nodes", shapes.NODES_RESPONSE)["nodes"]))

    def list_waiting_jobs(self) -> Sequence[WaitingJobs]:
        """From its list of jobs."""
        return bodies.parse_waiting_jobs(self._list_all_jobs())


class RestSpool(SharedSpool):
    """The state folder on shared storage; jobs are submitted to the service."""

    def __init__(self, folder: Path, rest: RestController):
        super().__init__(folder, LocalRunner(SLURM))
        self.rest = rest

    def submit(self, submission: Submission) -> CommandResult:
        """Under the lock, which ends with this process: the service may have received it nevertheless, and is
        queried.

        Raises :class:`EngineError` if the script cannot be written, :class:`EngineUnreachableError` if the service or
        its controller cannot be reached, and :class:`SubmissionUnknownError` if it is unknown whether the service has
        the job.
        """
        path = self.folder / submission.key / "script"
        try:
            private.create_private_folder(self.folder)
            private.create_private_folder(path.parent)
            helper.install(self.folder / helper.FILE_NAME)
            private.write(path, submission.stdin)
            with open(path, "rb") as script:
                fcntl.flock(script, fcntl.LOCK_EX)
                body = bodies.build_submission(submission.argv, submission.stdin, self._find_data_format())
                answer = self._post(body)
        except OSError as error:
            raise EngineError(f"{path}: {error.strerror}") from None
        number, errors = bodies.read_job_id(answer), answer.get("errors")
        if not number and not errors:
            raise SubmissionUnknownError(
                f"{self.rest.address} answered without the ID of a job: it is unknown whether it has the job"
            )
        if number:  # with both it was accepted, and the error is the reason why it waits
            return CommandResult(0, f"{number}\n")
        if not _is_answered(errors):
            raise SubmissionUnknownError(
                f"{self.rest.address} answered {_join_texts(errors)}: it is unknown whether it has the job"
            )
        return CommandResult(1, "", _join_texts(errors))

    def _find_data_format(self) -> str:
        """The data format of the service; :class:`EngineUnreachableError` if it does not respond: nothing is submitted
        yet.
        """
        try:
            return self.rest.data_format
        except SubmissionUnknownError as error:
            raise EngineUnreachableError(str(error)) from None
        except RequestRefusedError as refused:
            if refused.is_outage or communication.is_unreachable(str(refused)):
                raise EngineUnreachableError(str(refused)) from None
            raise

    def _post(self, body: object) -> Mapping[str, Any]:
        """The answer to a submission; :class:`RequestRefusedError` if it has no job ID."""
        try:
            return self.rest.request("POST", "slurm/job/submit", shapes.SUBMIT_RESPONSE, body)
        except RequestRefusedError as refused:
            if refused.answer.get("job_id") is None:
                if communication.is_unreachable(str(refused)):
                    raise EngineUnreachableError(str(refused)) from None
                raise
            try:
                answer: Mapping[str, Any] = require_shape(refused.answer, shapes.SUBMIT_RESPONSE, self.rest.address)
            except EngineError as odd:
                raise SubmissionUnknownError(str(odd)) from None
            if not bodies.read_job_id(answer):
                raise
            return answer


def _build_refusal_error(error: urllib.error.HTTPError, address: str, method: str) -> EngineError:
    """The error for an unsuccessful answer: Slurm refused, or it is unknown whether the request was executed."""
    answer = _read_error_body(error)
    errors = answer.get("errors")
    message = _join_texts(errors) or web.describe_error(error)
    if error.code in (401, 403):
        return EngineConfigurationError(
            f"Slurm refused: {message}; if the token has expired, {GET_TOKEN_HINT} and renew the secret or SLURM_JWT"
        )
    if method != "GET" and not (communication.is_refusal(errors) if error.code >= 500 else _is_answered(errors)):
        return SubmissionUnknownError(
            f"{address} answered HTTP {error.code} ({message}): it is unknown whether it was executed"
        )
    again = "; try again later, with another key if you specified one" if error.code == 429 and method == "POST" else ""
    outcome = "does not respond" if communication.is_unreachable(message) else "refused"
    refused = RequestRefusedError(f"Slurm {outcome}: {message}{again}")
    refused.answer = answer
    refused.is_outage = error.code >= 500 and not errors
    return refused


def _is_answered(errors: object) -> bool:
    """Whether all of the errors exclude that the controller has the request; one without a text excludes nothing."""
    texts = _list_texts(errors)
    return communication.is_refusal(errors) or (
        all(texts) and not communication.can_output_mean_arrival("; ".join(texts))
    )


def _read_error_body(error: urllib.error.HTTPError) -> dict[str, Any]:
    """The JSON object of an error; empty if there is none."""
    try:
        answer = parse_json(error.read())
    except (OSError, ValueError, http.client.HTTPException):
        return {}
    return answer if isinstance(answer, dict) else {}


def _list_texts(errors: object) -> list[str]:
    """The text of each error; empty for one that has none."""
    items = [item for item in errors if isinstance(item, dict)] if isinstance(errors, list) else []
    return [str(item.get("error") or item.get("description") or "") for item in items]


def _join_texts(errors: object) -> str:
    return "; ".join(text or "an error without a text" for text in _list_texts(errors))
