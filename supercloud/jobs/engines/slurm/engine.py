"""The Slurm engine: through its commands here or over ssh, or through slurmrestd."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ....errors import EngineConfigurationError, EngineError, EngineUnreachableError
from ...store.states import State
from ...store.status import Status
from ..array_status import aggregate_array_status
from ..base import JobCopies, SubmissionUnknownError, SubmittedJob
from ..batch import copies
from ..batch.runner import CommandResult, LocalRunner, Runner, SshRunner, describe_missing_program
from ..batch.spool import BROKE_OFF, RemoteSpool, SharedSpool, Spool
from ..submission import JobIdentity, Submission, compute_record_digest
from . import commands, communication, texts
from .controller import CommandController, Controller
from .reasons import describe_refusal, is_unconfigured
from .request import get_slurm_request
from .script import render_script
from .system import SLURM

if TYPE_CHECKING:
    from ....spec import JobSpec
    from ....spec.fleet import Connection
    from ...fleet.observations import NodeState, WaitingJobs
    from ...placement.answer import Placement
    from .rest import RestController

__all__ = ["SlurmEngine"]


_MAX_CLOCK_SKEW = 60.0  # maximum difference of synchronized clocks in seconds


_NOT_FOUND = 127  # exit code of the remote shell of ssh if it does not find a command


_ANY_JOB = JobIdentity("")
"""The identity of a job that is known by its reference only."""


class SlurmEngine:
    """Slurm. Locally or through slurmrestd the state folder must be on shared storage; ssh uses home directories."""

    poll_interval = 5.0
    supports_dependencies = True
    late_arrival = 120.0
    # After a client has given up, the controller may still accept the request: sbatch and slurmrestd wait
    # for MessageTimeout, 10 s by default. Slurm itself warns above 100 s (src/common/read_config.c,
    # https://slurm.schedmd.com/slurm.conf.html#OPT_MessageTimeout), to which 20 s are added. A proxy of slurmrestd
    # times out before slurmrestd does (nginx after 60 s, https://nginx.org/en/docs/http/ngx_http_proxy_module.html).

    def __init__(self, connection: Connection, folder: Path, runner: Runner | None = None):
        folder = folder / "slurm"
        via = connection.via or ""
        self.runner: Runner = runner or (
            SshRunner(via.removeprefix("ssh:"), folder / ".ssh", SLURM) if via[:4] == "ssh:" else LocalRunner(SLURM)
        )
        self.spool: Spool = (
            RemoteSpool(self.runner) if isinstance(self.runner, SshRunner) else SharedSpool(folder, self.runner)
        )
        self.controller: Controller = CommandController(self.runner)
        self._rest: RestController | None = None
        if via[:4] == "http":
            from .rest import RestController, RestSpool

            self._rest = rest = RestController(via, folder)
            self.controller, self.spool = rest, RestSpool(folder, rest)

    def prepare(self, job: JobSpec, placement: Placement, key: str) -> Submission:
        """The sbatch command and its script.

        Raises :class:`EngineError` if Slurm's name of the accelerator is unknown.
        """
        if placement.accelerators_per_node and not get_slurm_request(placement).gres:
            raise EngineError(
                f"no Slurm name for {placement.accelerator}: its catalog entry has no "
                "'gres'; use another pool for the job"
            )
        log = self.spool.get_log_path(key)
        text = render_script(job, placement, key, self.spool.home, change_folder=not log.startswith("/"))
        return Submission(key, commands.build_sbatch(job, placement, key, log), text, settings=_build_settings(job))

    def require_reachable(self) -> None:
        """Check that Slurm's commands are installed and configured, here or behind ssh, or that there is a token for
        the service.

        Raises :class:`EngineConfigurationError` if they are not, and :class:`EngineError` if that is unknown.
        """
        if self._rest is None:
            program = "ssh" if isinstance(self.runner, SshRunner) else "sbatch"
            if isinstance(self.runner, LocalRunner | SshRunner):
                if shutil.which(program) is None:
                    raise EngineConfigurationError(describe_missing_program(SLURM, program))
                self._require_configuration()
        else:
            self._rest.require_token()

    def _require_configuration(self) -> None:
        """Check that sbatch has a configuration. Other errors of it are reported when it submits a job."""
        try:
            answer = self.runner.run(commands.SHOW_VERSION)
        except SubmissionUnknownError as error:  # nothing was submitted
            raise EngineError(f"Slurm cannot be reached: {error}") from None
        if answer.exit_code == _NOT_FOUND:
            raise EngineConfigurationError(f"Slurm cannot be reached: {describe_refusal(answer.stderr)}")
        if answer.exit_code and is_unconfigured(answer.stderr):
            raise _build_configuration_error(answer)

    def bind_tokens(self) -> None:
        """Tokens without a host are for the service of this connection, if it has one."""
        if self._rest is not None:
            self._rest.bind_tokens()

    def submit(self, submission: Submission) -> str:
        """Submit it; if this process is killed meanwhile, ``find`` reports that it may still be in progress.

        Raises :class:`EngineError` if Slurm refuses it, :class:`EngineUnreachableError` if it cannot be reached,
        :class:`EngineConfigurationError` if sbatch is not configured, and :class:`SubmissionUnknownError` if it is
        unknown whether Slurm has it.
        """
        argv = commands.add_identity(submission.argv, submission.identity)
        answer = self.spool.submit(replace(submission, argv=argv))
        ref = texts.parse_job_id(answer.stdout)
        if answer.exit_code == 0 and ref:
            return _format_ref(ref, submission)
        if answer.exit_code == 0 or _can_have_arrived(answer):
            output = (answer.stdout + answer.stderr).strip()[-200:]
            raise SubmissionUnknownError(
                f"it is unknown whether Slurm has the job; sbatch ended with exit code {answer.exit_code} "
                f"and {output!r}"
            )
        self.spool.record_refusal(submission.key)
        if is_unconfigured(answer.stderr):
            raise _build_configuration_error(answer)
        if communication.is_unreachable(answer.stderr):
            raise EngineUnreachableError(f"Slurm does not respond: {describe_refusal(answer.stderr)}")
        raise EngineError(f"Slurm refused the job: {describe_refusal(answer.stderr)}")

    def find(self, keys: Sequence[str], since: float) -> Mapping[str, str | None]:
        """Look up jobs by the key in their comment: in the queue, then in the accounts."""
        if not (settled := self._select_settled(keys)):
            return {}
        recorded_refs, before = self._read_recorded_refs(settled, since)

        def select(jobs: Iterable[copies.ListedJob]) -> dict[str, str]:
            return {key: ref for key, ref in copies.select_latest(jobs).items() if ref not in before}

        return self._look_up(settled, since, select, recorded_refs)[0]

    def find_submitted(self, jobs: Sequence[JobIdentity], since: float) -> Mapping[str, SubmittedJob]:
        """The same for jobs whose comments carry the same digests; others with their keys are returned too."""
        wanted = {identity.key: identity for identity in jobs}
        if not (settled := self._select_settled(list(wanted))):
            return {}
        recorded_refs, others = {}, dict[str, set[str]]()
        for key, (answer, recorded) in self.spool.read_answers(settled).items():
            if ref := texts.parse_job_id(answer):
                if wanted[key].record and compute_record_digest(recorded) == wanted[key].record:
                    recorded_refs[key] = ref
                else:
                    others.setdefault(key, set()).add(ref)

        def select(listed: Iterable[copies.ListedJob]) -> dict[str, str]:
            return copies.select_latest(
                (number, identity) for number, identity in listed if identity.is_same_record(wanted.get(identity.key))
            )

        refs, listed = self._look_up(settled, since, select, recorded_refs)
        for number, identity in listed:
            mine = wanted.get(identity.key)
            if mine and number not in ("", recorded_refs.get(mine.key)) and not identity.is_same_record(mine):
                others.setdefault(mine.key, set()).add(number)
        return {
            key: SubmittedJob(ref, tuple(sorted(others.get(key, ()), key=copies.build_sort_key)))
            for key, ref in refs.items()
        }

    def _select_settled(self, keys: Sequence[str]) -> list[str]:
        """The keys for which no submission is in progress."""
        busy = self.spool.find_pending_keys(keys)
        return [key for key in keys if key not in busy]

    def _look_up(
        self,
        keys: Sequence[str],
        since: float,
        select: Callable[[Iterable[copies.ListedJob]], dict[str, str]],
        recorded_refs: Mapping[str, str],
    ) -> tuple[dict[str, str | None], list[copies.ListedJob]]:
        """Key -> ID, None if no such job exists, omitted if unknown; also returns all jobs that were listed.

        ``select`` returns the matching jobs of a listing, ``recorded_refs`` has the IDs that are known without one.
        """
        listed = list(self.controller.read_jobs())
        refs = select(listed) | dict(recorded_refs)
        certain = True
        if not refs.keys() >= set(keys):
            # jobs that the controller has purged are in the accounts; without accounting, a job that it does not list
            # was never submitted only if it cannot have been purged
            age = time.time() - since
            older = self.controller.read_older_jobs(max(0, int(age)) + 3600)
            # if the clock was set back since, the age of the submission is unknown
            certain = age > -_MAX_CLOCK_SKEW and (older is not None or age < self.controller.get_retention())
            refs = select(older or ()) | refs
            listed += older or ()
        self.spool.discard([key for key in keys if key not in refs and certain])
        # empty: a job with the key exists, but the response lacks its ID
        return {key: refs.get(key) for key in keys if refs.get(key) != "" and (key in refs or certain)}, listed

    def list_pending_submissions(self, keys: Sequence[str]) -> set[str]:
        """The keys whose sbatch still holds the lock of its script."""
        return self.spool.find_pending_keys(keys)

    def find_digests(self, refs: Sequence[str], since: float) -> Mapping[str, str]:
        """From the comments of the jobs, in the queue and in the accounts."""
        older = self.controller.read_older_jobs(max(0, int(time.time() - since)) + 3600) or ()
        known = {number: identity.spec for number, identity in (*older, *self.controller.read_jobs()) if identity.spec}
        return {ref: known[number] for ref in refs if (number := _parse_ref(ref)[0]) in known}

    def _read_recorded_refs(self, keys: Sequence[str], since: float) -> tuple[dict[str, str], set[str]]:
        """Key -> ID in sbatch's answer, and the IDs of jobs that had one of these keys before ``since``."""
        refs, before = {}, set()
        for key, (answer, recorded) in self.spool.read_answers(keys).items():
            if (ref := texts.parse_job_id(answer)) is None:
                continue
            if 0 < recorded < since:
                before.add(ref)
            else:
                refs[key] = ref
        return refs, before

    def poll(self, refs: Sequence[str]) -> Mapping[str, Status]:
        """The statuses by ID alone."""
        return {ref: status for (ref, _), status in self.poll_jobs([(ref, _ANY_JOB) for ref in refs]).items()}

    def poll_jobs(self, jobs: Sequence[tuple[str, JobIdentity]]) -> Mapping[tuple[str, JobIdentity], Status]:
        """The queue first: the accounts have the last attempt that ended, even of a requeued job."""
        rows = list(self.controller.read_rows())
        queued, owners = copies.merge_copies(rows, SLURM), copies.collect_identities(rows)
        statuses: dict[tuple[str, JobIdentity], Status] = {}
        gone = []
        for job in jobs:
            number, count = _parse_ref(job[0])
            is_other = job[1].is_other_job(owners.get(number))
            aggregate = None if is_other else aggregate_array_status(queued.get(number, ()), count)
            if is_other:
                statuses[job] = Status(State.UNKNOWN, reason=f"Slurm now uses ID {number} for another job")
            if aggregate is not None:
                statuses[job] = aggregate
            else:
                gone.append(job)
        numbers = sorted({_parse_ref(ref)[0] for ref, _ in gone}, key=copies.build_sort_key)
        accounted = self.controller.read_accounts(numbers) if numbers else ()
        for job in gone:
            number, count = _parse_ref(job[0])
            found = [(status, owner) for ref, status, owner in accounted if ref == number]
            # without an identity they are of the job that has the ID now, if that is another one
            tasks = [status for status, owner in found if not job[1].is_other_job(owner or owners.get(number))]
            # tasks that only one of the two lists count once: the accounts have all that have started
            if (aggregate := aggregate_array_status(tasks, min(count, len(tasks)))) is not None:
                statuses[job] = aggregate
            elif found:
                statuses[job] = Status(State.UNKNOWN, reason=f"Slurm now uses ID {number} for another job")
        return statuses

    def cancel(self, ref: str) -> None:
        """Cancel it, and every copy of it."""
        self.cancel_job(ref, _ANY_JOB)

    def cancel_job(self, ref: str, identity: JobIdentity) -> None:
        """The same if the comment in the queue does not show another job: Slurm reuses IDs, see :meth:`end_start`."""
        number = _parse_ref(ref)[0]
        if identity.key and identity.is_other_job(copies.collect_identities(self.controller.read_rows()).get(number)):
            return
        self.controller.cancel(ref)
        for copy in copies.find_other_copies(self.controller.read_rows(), number):
            self.controller.cancel(copy)

    def end_start(self, ref: str, start: JobIdentity) -> None:
        """From the comments in the queue: Slurm reuses an ID after MaxJobId is reached, or after it lost its state."""
        for number in copies.select_live_starts(self.controller.read_rows(), _parse_ref(ref)[0], start):
            self.controller.cancel(number)

    def find_copies(self, jobs: Mapping[str, JobIdentity]) -> Mapping[str, JobCopies]:
        """From the comments in the queue: the controller never purges a live job."""
        numbers = {_parse_ref(ref)[0]: identity for ref, identity in jobs.items()}
        found = copies.find_copies(self.controller.read_rows(), numbers)
        return {ref: found[number] for ref in jobs if (number := _parse_ref(ref)[0]) in found}

    def recall(self, ref: str) -> None:
        """Cancel it, and every copy of it, if none of them has started.

        The copies first: if one of them has not ended then, this job is not changed.
        """
        number = _parse_ref(ref)[0]
        rows = self.controller.read_rows()
        others = copies.find_other_copies(rows, number)
        if copies.has_begun(rows, others):
            return
        for copy in others:
            self.controller.recall(copy)
        # only PENDING jobs can be recalled: not a copy that is CONFIGURING or REQUEUED, though it has not started
        if not others or not copies.find_other_copies(self.controller.read_rows(), number):
            self.controller.recall(ref)

    def list_nodes(self) -> Sequence[NodeState]:
        """All nodes, with the accelerators allocated to jobs of all users."""
        return self.controller.list_nodes()

    def list_waiting_jobs(self) -> Sequence[WaitingJobs]:
        """Jobs of all users that wait for nodes."""
        return self.controller.list_waiting_jobs()

    def read_log(self, key: str, offset: int) -> bytes:
        """The output of its tasks, over all attempts."""
        return self.spool.read_file(key, "log", offset)

    def read_result(self, key: str, offset: int) -> bytes:
        """The content of its file SUPERCLOUD_RESULT."""
        return self.spool.read_file(key, "result", offset)

    def describe_result(self, key: str) -> str:
        """Its path in the spool."""
        return self.spool.describe_file(key, "result")


def _can_have_arrived(answer: CommandResult) -> bool:
    """Whether an sbatch that failed may have submitted the job: its answer was lost, or a signal ended it."""
    if communication.can_output_mean_arrival(answer.stderr) or BROKE_OFF in answer.stderr:
        return True
    is_killed = answer.exit_code < 0 or answer.exit_code > 128  # the latter by the remote shell of ssh
    return is_killed and "submission failed" not in answer.stderr


def _build_configuration_error(answer: CommandResult) -> EngineConfigurationError:
    return EngineConfigurationError(
        f"Slurm cannot be reached, its commands are not configured: {describe_refusal(answer.stderr)}"
    )


def _build_settings(job: JobSpec) -> dict[str, str | int | float]:
    return {"array": job.array} if job.array else {}


def _format_ref(job_id: str, submission: Submission) -> str:
    """The reference of a job: Slurm's job ID, and the number of tasks of an array."""
    count = submission.settings.get("array")
    return f"{job_id}/{count}" if count else job_id


def _parse_ref(ref: str) -> tuple[str, int]:
    number, _, count = ref.partition("/")
    return number, int(count or 1)
