"""Slurm through slurmrestd, which speaks JSON over HTTP.

Its data format changes with every release: the newest of ``_FORMATS`` that the server has is spoken. The token is that
of :mod:`.tokens`; it goes to the address that was given and nowhere else (:mod:`..http`). The user's name goes with it,
since slurmrestd of 22.05 wants both.
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
from functools import cached_property
from pathlib import Path
from typing import Any

from ....errors import EngineError, UnusableEngine
from ....primitives.responses import Shape, parse_json, parse_response, require_shape
from ...fleet.observations import NodeState, WaitingJobs
from ...runtime import checkpoint_helper as helper
from ...store import private_files as private
from ...store.database import locate_state_folder
from ...store.states import State
from ...store.status import Status
from .. import http as web
from ..base import SubmissionUnknownError
from ..submission import Submission
from . import bodies, communication, copies, older, shapes
from .reasons import describe_state
from .runner import CommandResult, LocalRunner
from .spool import SharedSpool
from .tokens import GET_TOKEN_HINT, bind_tokens, read_user, require_token

__all__ = ["RestController", "RestSpool"]

_FORMATS = (*(f"v0.0.{number}" for number in range(46, 39, -1)), older.DATA_FORMAT)
_IDLE_TIMEOUT = 60
_NOTHING_FOUND = "Nothing found"
_HELD_REASON = describe_state("PENDING", "JobHeldUser")


class Refused(EngineError):
    """Slurm said no; ``answer`` is all it said."""

    answer: Mapping[str, Any] = {}


class RestController:
    """The controller, by way of its service. ``folder`` is where the engine keeps its files."""

    def __init__(self, address: str, folder: Path | None = None):
        self.address, self.folder = address.rstrip("/"), folder or locate_state_folder() / "slurm"

    def require_token(self) -> str:
        """What the service knows the user by; :class:`EngineError` where there is none for its address."""
        return require_token(self.address, self.folder)

    def bind_tokens(self) -> None:
        """The user named this address: the tokens that say no host are for it."""
        bind_tokens(self.address, self.folder)

    @cached_property
    def data_format(self) -> str:
        """The newest data format that both sides speak."""
        for name in _FORMATS:
            if self._send("GET", f"/slurm/{name}/ping", shapes.ERRORS_RESPONSE, missing=None) is not None:
                return name
        raise UnusableEngine(f"{self.address} speaks none of {_FORMATS[-1]} to {_FORMATS[0]}; use --via ssh:HOST")

    def request(self, method: str, path: str, shape: Shape, body: object = None) -> dict[str, Any]:
        """What it answers at a path below ``/slurm/FORMAT`` or ``/slurmdb/FORMAT``, which must have this shape."""
        service, _, rest = path.partition("/")
        answer = self._send(method, f"/{service}/{self.data_format}/{rest}", shape, body)
        assert answer is not None
        return answer

    def _send(
        self, method: str, path: str, shape: Shape, body: object = None, missing: object = "error"
    ) -> dict[str, Any] | None:
        url = self.address + path
        data = None if body is None else json.dumps(body).encode()
        said = self.require_token()
        headers = {
            "X-SLURM-USER-NAME": read_user(said),
            "X-SLURM-USER-TOKEN": said,
            "Content-Type": "application/json",
            "Accept": "application/json",
        }
        try:
            text = web.send(urllib.request.Request(url, data, headers, method=method), _IDLE_TIMEOUT)
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 404 and missing is None:
                    return None
                raise _problem(error, self.address, method) from None
        except TimeoutError:
            raise SubmissionUnknownError(f"{self.address} timed out") from None
        except urllib.error.URLError as error:
            if isinstance(error.reason, web.NotConnected):  # nothing was sent
                raise EngineError(f"{self.address} is not reached: {error.reason}") from None
            if isinstance(error.reason, TimeoutError):
                raise SubmissionUnknownError(f"{self.address} timed out") from None
            if isinstance(error.reason, BrokenPipeError | ConnectionAbortedError | ConnectionResetError):
                raise SubmissionUnknownError(f"{self.address} broke off: {error.reason}") from None
            raise EngineError(f"{self.address} is not reached: {web.describe_error(error.reason)}") from None
        except (OSError, ValueError, http.client.HTTPException) as error:  # it broke off, or speaks no HTTP
            raise SubmissionUnknownError(f"{self.address} broke off: {web.describe_error(error)}") from None
        try:
            answer: dict[str, Any] = parse_response(text, shape, f"{method} {url}")
        except EngineError as error:  # whatever was asked for may have been done
            raise (SubmissionUnknownError(str(error)) if method != "GET" else error) from None
        return answer

    # -- the questions of a controller -------------------------------------------------------------------------------

    def read_queue(self) -> Mapping[str, list[Status]]:
        """From its list of jobs."""
        return bodies.parse_queue(self._list_own_jobs())

    def _list_own_jobs(self) -> list[dict[str, Any]]:
        listed = self.request("GET", "slurm/jobs", shapes.JOBS_RESPONSE)["jobs"]
        return self._select_own_jobs(filter(bodies.has_key, listed))

    def _select_own_jobs(self, jobs: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Those of the user that the token is for: the service lists the jobs of everybody."""
        user = read_user(self.require_token())
        try:
            number = pwd.getpwnam(user).pw_uid
        except KeyError:
            number = None
        try:
            return [job for job in jobs if bodies.is_owned_by(job, user, number)]
        except EngineError as error:
            raise EngineError(f"{self.address}: {error}") from None

    def read_accounts(self, refs: Sequence[str]) -> Mapping[str, list[Status]]:
        """From the accounts; jobs they do not know are left out."""
        found: dict[str, list[Status]] = {}
        for ref in refs:
            try:
                answer = self.request("GET", f"slurmdb/job/{int(ref)}", shapes.ACCOUNTS_RESPONSE)
            except EngineError:
                continue
            for number, tasks in bodies.parse_accounts(self._select_own_jobs(answer["jobs"])).items():
                found.setdefault(number, []).extend(tasks)
        return found

    def read_jobs(self) -> Sequence[copies.ListedJob]:
        """From the comments of the jobs in the list."""
        return bodies.parse_jobs(self._list_own_jobs())

    def read_older_jobs(self, seconds: int) -> Sequence[copies.ListedJob] | None:
        """From comments and submission lines in the accounts; None where they do not answer."""
        older = self._list_accounted_jobs(seconds)
        return None if older is None else bodies.parse_jobs(older)

    def _list_accounted_jobs(self, seconds: int) -> list[dict[str, Any]] | None:
        """The user's jobs in the accounts; None where they do not answer."""
        since = int(time.time()) - seconds
        try:
            # v0.0.38 reads times as sbatch does, and by start_time it leaves out what the database has no start of yet
            asked = f"submit_time=uts{since}" if self.data_format == older.DATA_FORMAT else f"start_time={since}"
            answer = self.request("GET", f"slurmdb/jobs/?{asked}", shapes.ACCOUNTS_RESPONSE)
        except EngineError:
            return None
        if any(
            _NOTHING_FOUND not in f"{error.get('error')} {error.get('description')}"
            for error in answer.get("errors") or ()
        ):
            return None  # v0.0.38 answers 200 with an error where the database does not answer
        return self._select_own_jobs(answer["jobs"])

    def get_retention(self) -> float:
        """Not at all: the service does not show MinJobAge."""
        return 0.0

    def rows(self) -> Sequence[copies.Row]:
        """From its list of jobs."""
        return list(bodies.rows(self._list_own_jobs()))

    def cancel(self, ref: str) -> None:
        """End a job; one that has ended is no error."""
        try:
            self.request("DELETE", f"slurm/job/{int(ref.partition('/')[0])}", shapes.ERRORS_RESPONSE)
        except EngineError as error:
            if "already" not in str(error).lower() and "invalid job id" not in str(error).lower():
                raise

    def recall(self, ref: str) -> None:
        """Hold it, look, and end it if all of it still waits: the service has no way to end only what waits.

        What is not ended is released, also the rest of an array that has begun.
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
        """Hold a job, and say whether nothing of it can begin any more."""
        try:
            self._set_hold(job_id, True)
            is_sure = True
        except EngineError:  # 22.05 holds what waits of an array, and says that it failed because of what runs
            is_sure = False
        tasks = self._tasks(job_id)
        return bool(tasks) and all(
            task.state is State.QUEUED and (is_sure or task.reason == _HELD_REASON) for task in tasks
        )

    def _tasks(self, number: str) -> list[Status]:
        """As the service says them: :meth:`read_queue` adds to their reasons which other jobs carry the same key."""
        return [status for ref, status, _ in self.rows() if ref == number]

    def _release(self, job_id: str) -> None:
        try:
            self._set_hold(job_id, False)
        except EngineError as error:  # 22.05 says so too where it did what it was asked to
            if any(task.reason == _HELD_REASON for task in self._tasks(job_id)):
                raise EngineError(
                    f"job {job_id} was held to take it back, and is not released: {error}; run: "
                    f"scontrol release {job_id}"
                ) from None

    def _set_hold(self, job_id: str, hold: bool) -> None:
        self.request("POST", f"slurm/job/{job_id}", shapes.ERRORS_RESPONSE, {"hold": hold})

    def list_nodes(self) -> Sequence[NodeState]:
        """From its list of nodes."""
        return list(bodies.parse_nodes(self.request("GET", "slurm/nodes", shapes.NODES_RESPONSE)["nodes"]))

    def list_waiting_jobs(self) -> Sequence[WaitingJobs]:
        """From its list of jobs."""
        return bodies.parse_waiting_jobs(self.request("GET", "slurm/jobs", shapes.JOBS_RESPONSE)["jobs"])


class RestSpool(SharedSpool):
    """The state folder, which the nodes see too; the submission goes to the service."""

    def __init__(self, folder: Path, rest: RestController):
        super().__init__(folder, LocalRunner())
        self.rest = rest

    def submit(self, submission: Submission) -> CommandResult:
        """Under the lock, which ends with this process: the service may have got it nevertheless, and is asked."""
        path = self.folder / submission.key / "script"
        try:
            private.create_private_folder(self.folder)
            private.create_private_folder(path.parent)
            helper.install(self.folder / helper.FILE_NAME)
            private.write(path, submission.stdin)
            with open(path, "rb") as script:
                fcntl.flock(script, fcntl.LOCK_EX)
                body = bodies.build_submission(submission.argv, submission.stdin, self.rest.data_format)
                answer = self._post(body)
        except OSError as error:
            raise EngineError(f"{path}: {error.strerror}") from None
        number, errors = bodies.read_job_id(answer), answer.get("errors")
        if number or not errors:  # with both it was taken, and the error says why it waits
            return CommandResult(0, f"{number}\n")
        if not _is_answered(errors):
            raise SubmissionUnknownError(
                f"{self.rest.address} answered {_texts(errors)}: whether it has the job is not known"
            )
        return CommandResult(1, "", _texts(errors))

    def _post(self, body: object) -> Mapping[str, Any]:
        """The answer to a submission; :class:`Refused` where it names no job."""
        try:
            return self.rest.request("POST", "slurm/job/submit", shapes.SUBMIT_RESPONSE, body)
        except Refused as refused:
            if refused.answer.get("job_id") is None:
                raise
            try:
                answer: Mapping[str, Any] = require_shape(refused.answer, shapes.SUBMIT_RESPONSE, self.rest.address)
            except EngineError as odd:
                raise SubmissionUnknownError(str(odd)) from None
            if not bodies.read_job_id(answer):
                raise
            return answer


def _problem(error: urllib.error.HTTPError, address: str, method: str) -> EngineError:
    """What an answer that is no success means: Slurm refused, or nobody knows whether it did what it was asked."""
    answer = _answer_of(error)
    errors = answer.get("errors")
    said = _texts(errors) or web.describe_error(error)
    if error.code in (401, 403):
        return UnusableEngine(
            f"Slurm refused: {said}; if the token has expired, {GET_TOKEN_HINT} and renew the secret or SLURM_JWT"
        )
    if method != "GET" and not (communication.is_refusal(errors) if error.code >= 500 else _is_answered(errors)):
        return SubmissionUnknownError(
            f"{address} answered HTTP {error.code} ({said}): whether it was done is not known"
        )
    refused = Refused(f"Slurm refused: {said}")
    refused.answer = answer
    return refused


def _is_answered(errors: object) -> bool:
    """Whether none of the errors leaves open that the controller has the request."""
    return communication.is_refusal(errors) or not communication.says_may_have_arrived(_texts(errors))


def _answer_of(error: urllib.error.HTTPError) -> dict[str, Any]:
    """The object that came with an error; empty where none did."""
    try:
        answer = parse_json(error.read())
    except (OSError, ValueError, RecursionError, http.client.HTTPException):
        return {}
    return answer if isinstance(answer, dict) else {}


def _texts(errors: object) -> str:
    items = [item for item in errors if isinstance(item, dict)] if isinstance(errors, list) else []
    return "; ".join(str(item.get("error") or item.get("description")) for item in items)
