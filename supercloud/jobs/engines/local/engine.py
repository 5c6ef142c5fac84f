"""The local engine: real processes on this machine, with accelerator slots and logs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ....errors import EngineError
from ....primitives.locked_property import LockedProperty
from ...runtime import checkpoint_helper as helper
from ...store import private_files as private
from ...store.states import State
from ...store.status import Status
from ..base import SubmissionUnknownError, SubmittedJob
from ..environment import build_job_environment, compute_rendezvous_port
from ..retries import list_retried_exit_codes
from ..secrets import locate_folder
from ..shebang import parse_shebang
from ..submission import JobIdentity, Submission
from .bell import ensure_agent
from .queue import Queue
from .runs import build_log_path, build_result_path, build_script_path
from .slots import ACCELERATORS_VARIABLE, count_real_accelerators

if TYPE_CHECKING:
    from ....spec import JobSpec
    from ....spec.fleet import Connection
    from ...placement.answer import Placement

__all__ = ["LocalEngine"]

# A job gets only the variables of the submitter's environment that programs need (paths, locale): other variables of a
# terminal are not part of a job.
_PASSED_VARIABLES = (
    "CONDA_PREFIX",
    "HOME",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "LOGNAME",
    "PATH",
    "PYTHONPATH",
    "SHELL",
    "TMPDIR",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
)
_PRIORITY_VALUES = {"low": 0, "normal": 1, "high": 2}
_CHUNK_SIZE = 2**20
_MAX_TASKS = 256
"""Maximum number of processes that one machine simulates."""
_MAX_ARRAY = 10_000


class LocalEngine:
    """This machine. Each node of a placement is simulated by processes here, which share its accelerators."""

    poll_interval = 0.1
    supports_dependencies = True
    idle_timeout = 5.0
    """Idle seconds after which the agent exits."""
    grace_period = 5.0
    """Seconds between SIGTERM and SIGKILL."""

    def __init__(self, connection: Connection, folder: Path):
        if not sys.platform.startswith("linux"):
            raise EngineError("the local engine requires Linux (it uses /proc to find processes)")
        self.folder = folder / "local"

    @LockedProperty
    def _queue(self) -> Queue:  # opened on first use: a dry run creates no files
        return Queue(self.folder)

    def prepare(self, job: JobSpec, placement: Placement, key: str) -> Submission:
        """The program, its environment and its requirements on this machine.

        Raises :class:`EngineError` for what this machine cannot run.
        """
        _require_supported(job, placement)
        argv = job.command or ()
        if job.script:
            shell = parse_shebang(job.script) or (shutil.which("bash") or "/bin/sh",)
            argv = (*shell, str(build_script_path(self.folder, key)))
        settings = _build_settings(job, placement, key) | {"grace": self.grace_period}
        if job.image:
            argv = (*_build_container_command(job.image, str(settings["workdir"]), self.folder), *argv)
        env = {name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ}
        env |= build_job_environment(job, placement, key)
        env["SUPERCLOUD_RESULT"] = str(build_result_path(self.folder, key))
        if job.checkpoint:
            env["SUPERCLOUD_COMMIT"] = str(self.folder / "checkpoint")
        return Submission(key, argv, job.script or "", env, settings)

    def submit(self, submission: Submission) -> str:
        """Add it to the queue; repeating the same submission has no effect. A key of another job is refused.

        Raises :class:`EngineError` if it cannot be written, and :class:`SubmissionUnknownError` if it is in the queue
        but no agent can be started.
        """
        self._queue.require_same_submission(submission)  # before its script replaces that of another job
        try:
            self._write_files(submission)
        except OSError as error:
            raise EngineError(f"{error.filename or self.folder}: {error.strerror}") from None
        ref = self._queue.add(submission)
        try:
            ensure_agent(self.folder, self.idle_timeout)
        except (
            OSError,
            subprocess.SubprocessError,
        ) as error:  # it is in the queue, and a later poll wakes the agent
            raise SubmissionUnknownError(
                f"the job is in the local queue, but the agent cannot be started: {error}"
            ) from None
        return ref

    def _write_files(self, submission: Submission) -> None:
        if submission.stdin:
            path = build_script_path(self.folder, submission.key)
            private.create_private_folder(path.parent)
            temporary = path.with_name(f"script.{os.getpid()}")
            private.write(temporary, submission.stdin)
            temporary.replace(path)
        if "SUPERCLOUD_COMMIT" in submission.env:
            helper.install(Path(submission.env["SUPERCLOUD_COMMIT"]))

    def find(self, keys: Sequence[str], since: float) -> Mapping[str, str | None]:
        """The keys in the queue; a job recorded before ``since`` does not match."""
        known = {key: self._queue.find(key) for key in keys}
        return {key: found.ref if found and not 0 < found.recorded < since else None for key, found in known.items()}

    def find_submitted(self, jobs: Sequence[JobIdentity], since: float) -> Mapping[str, SubmittedJob]:
        """The jobs in the queue that were submitted for the same record."""
        found = {}
        for identity in jobs:
            there = self._queue.find(identity.key)
            is_ours = there is not None and there.submission.identity.is_same_record(identity)
            found[identity.key] = SubmittedJob(
                there.ref if there and is_ours else None, (there.ref,) if there and not is_ours else ()
            )
        return found

    def end_start(self, ref: str, start: JobIdentity) -> None:
        """Request cancellation from the agent, if the queue has the job under this key for the same record."""
        there = self._queue.find(start.key)
        if there is None or there.ref != ref:
            return
        identity = there.submission.identity
        if identity.is_same_record(start) or (not identity.record and identity.can_be_same_job(start)):
            self.cancel(ref)

    def find_digests(self, refs: Sequence[str], since: float) -> Mapping[str, str]:
        """From the submissions in the queue."""
        return self._queue.find_digests(refs)

    def poll(self, refs: Sequence[str]) -> Mapping[str, Status]:
        """The statuses of jobs. If some have not ended, an agent is ensured."""
        statuses = self._queue.read_statuses(refs)
        if any(status.state in (State.QUEUED, State.RUNNING) for status in statuses.values()):
            ensure_agent(self.folder, self.idle_timeout)
        return statuses

    def poll_jobs(self, jobs: Sequence[tuple[str, JobIdentity]]) -> Mapping[tuple[str, JobIdentity], Status]:
        """The same. A number is that of another job if the queue was replaced, or the store restored elsewhere."""
        others = {job for job in jobs if self._queue.is_other_job(*job)}
        statuses = self.poll([job[0] for job in jobs if job not in others])
        reused = {
            job: Status(State.UNKNOWN, reason=f"the queue of this machine uses number {job[0]} for another job")
            for job in others
        }
        return reused | {job: statuses[job[0]] for job in jobs if job not in others and job[0] in statuses}

    def cancel_job(self, ref: str, identity: JobIdentity) -> None:
        """:meth:`cancel`, unless the number is that of another job."""
        if not self._queue.is_other_job(ref, identity):
            self.cancel(ref)

    def cancel(self, ref: str) -> None:
        """Request its termination by the agent."""
        self._queue.cancel(ref)
        ensure_agent(self.folder, self.idle_timeout)

    def recall(self, ref: str) -> None:
        """Remove it from the queue, unless it has started."""
        self._queue.recall(ref)

    def read_log(self, key: str, offset: int) -> bytes:
        """The output of all tasks and attempts of a job."""
        return private.read_own_file(build_log_path(self.folder, key), offset, _CHUNK_SIZE)

    def read_result(self, key: str, offset: int) -> bytes:
        """The content of its file SUPERCLOUD_RESULT."""
        return private.read_own_file(build_result_path(self.folder, key), offset, _CHUNK_SIZE)

    def describe_result(self, key: str) -> str:
        """Its path."""
        return str(build_result_path(self.folder, key))


def _require_supported(job: JobSpec, placement: Placement) -> None:
    """Raise :class:`EngineError` for what this machine cannot run."""
    tasks = placement.nodes * job.tasks_per_node
    if tasks > _MAX_TASKS:
        raise EngineError(
            f"job {job.name!r} has {tasks} tasks, the local engine simulates at most {_MAX_TASKS}; "
            "submit it to a cluster, or a smaller one here"
        )
    if job.array and job.array > _MAX_ARRAY:
        raise EngineError(
            f"job {job.name!r} has {job.array} tasks in its array, the local engine accepts at most "
            f"{_MAX_ARRAY}; submit it to a cluster, or several smaller ones here"
        )
    if job.licenses:
        licenses = ",".join(f"{name}:{count}" for name, count in sorted(job.licenses.items()))
        raise EngineError(
            f"job {job.name!r} needs licenses ({licenses}), which the local engine does not "
            "support; omit them, or submit it to Slurm"
        )
    real = count_real_accelerators()
    if real is not None and placement.accelerators_per_node > real:
        raise EngineError(
            f"job {job.name!r} needs {placement.accelerators_per_node} accelerators on a node, this "
            f"machine has {real}; request fewer, or set {ACCELERATORS_VARIABLE}"
        )


def _build_settings(job: JobSpec, placement: Placement, key: str) -> dict[str, str | int | float]:
    """What the agent reads of a job; a script is started once, like a batch script, and starts further tasks itself."""
    settings: dict[str, str | int | float] = {
        "accelerators_per_node": placement.accelerators_per_node,
        "node_accelerators": max(placement.node_accelerators, placement.accelerators_per_node),
        "nodes": 1 if job.script else placement.nodes,
        "port": compute_rendezvous_port(key),
        "priority": _PRIORITY_VALUES[job.priority],
        "retries": job.retries,
        "tasks_per_node": 1 if job.script else job.tasks_per_node,
        "time_limit": job.time_limit.to("s") if job.time_limit else 0,
        "visible_env": placement.visible_env,
        "workdir": job.workdir or os.getcwd(),
    }
    optional: dict[str, str | int | float | None] = {
        "after": " ".join(job.after),
        "array": job.array,
        "retry_codes": " ".join(map(str, list_retried_exit_codes(job))),
        "begin": placement.begin,
        "deadline": job.deadline.to("s") if job.deadline else 0,
        "secrets": " ".join(f"{secret.env}={secret.name}" for secret in job.secrets),
        "secrets_folder": str(locate_folder().absolute()) if job.secrets else "",
    }
    return settings | {name: value for name, value in optional.items() if value}


def _build_container_command(image: str, workdir: str, folder: Path) -> tuple[str, ...]:
    """The command that starts a program in an image as an ordinary process, so that it ends with its job."""
    program = shutil.which("apptainer") or shutil.which("singularity")
    if program is None:
        raise EngineError(
            "this machine has neither apptainer nor singularity to run an image; install one, omit "
            "image, or submit it to a cluster"
        )
    source = image if image.startswith(("/", ".")) or "://" in image else f"docker://{image}"
    devices = (("--nv", "/dev/nvidiactl"), ("--rocm", "/dev/kfd"))
    drivers = [option for option, device in devices if os.path.exists(device)]
    return (program, "exec", *drivers, "--bind", str(folder), "--pwd", workdir, source)
