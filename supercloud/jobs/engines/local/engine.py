"""The local engine: real processes on this machine, with accelerator slots and logs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ....errors import EngineError
from ...runtime import checkpoint_helper as helper
from ...store import private_files as private
from ...store.states import State
from ...store.status import Status
from ..base import SubmissionUnknownError, SubmittedJob
from ..environment import build_job_environment, compute_rendezvous_port
from ..retries import list_retried_exit_codes
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

# Of the submitter's environment a job sees only what programs need to be found and to speak: what happened to be set
# in one terminal is no part of a job.
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
"""More processes than this no single machine plays sensibly."""
_MAX_ARRAY = 10_000


class LocalEngine:
    """This machine. Each node of a placement is played by processes here; they share its accelerators."""

    poll_interval = 0.1
    supports_dependencies = True
    idle_timeout = 5.0
    """Seconds of nothing to do after which the agent leaves."""
    grace_period = 5.0
    """Seconds between asking a job to end and ending it."""

    def __init__(self, connection: Connection, folder: Path):
        if not sys.platform.startswith("linux"):
            raise EngineError("the local engine needs Linux (/proc tells it which processes live)")
        self.folder = folder / "local"

    @cached_property
    def _queue(self) -> Queue:  # opened on first use: a dry run leaves nothing behind
        return Queue(self.folder)

    def prepare(self, job: JobSpec, placement: Placement, key: str) -> Submission:
        """The program, its environment and what it needs of this machine."""
        tasks = placement.nodes * job.tasks_per_node
        if tasks > _MAX_TASKS:
            raise EngineError(
                f"job {job.name!r} has {tasks} tasks, this machine plays at most {_MAX_TASKS}; "
                "submit it to a cluster, or a smaller one here"
            )
        if job.array and job.array > _MAX_ARRAY:
            raise EngineError(
                f"job {job.name!r} has {job.array} tasks in its array, this machine takes at most "
                f"{_MAX_ARRAY}; submit it to a cluster, or several smaller ones here"
            )
        if placement.licenses:
            raise EngineError(
                f"job {job.name!r} needs licences ({placement.licenses}), which this machine does not "
                "count; leave them out, or submit it to Slurm"
            )
        real = count_real_accelerators()
        if real is not None and placement.accelerators_per_node > real:
            raise EngineError(
                f"job {job.name!r} needs {placement.accelerators_per_node} accelerators on a node, this "
                f"machine may give {real}; ask for fewer, or set {ACCELERATORS_VARIABLE}"
            )
        env = {name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ}
        settings: dict[str, str | int | float] = {
            "accelerators_per_node": placement.accelerators_per_node,
            "grace": self.grace_period,
            "node_accelerators": max(placement.node_accelerators, placement.accelerators_per_node),
            "nodes": placement.nodes,
            "port": compute_rendezvous_port(key),
            "priority": _PRIORITY_VALUES[job.priority],
            "retries": job.retries,
            "tasks_per_node": job.tasks_per_node,
            "time_limit": job.time_limit.to("s") if job.time_limit else 0,
            "visible_env": placement.visible_env,
            "workdir": job.workdir or os.getcwd(),
        }
        argv = job.command or ()
        if job.script:  # once, as a batch script is; it starts further tasks itself
            settings |= {"nodes": 1, "tasks_per_node": 1}
            argv = (
                *(parse_shebang(job.script) or (shutil.which("bash") or "/bin/sh",)),
                str(build_script_path(self.folder, key)),
            )
        for name, value in (
            ("after", " ".join(job.after)),
            ("array", job.array),
            ("retry_codes", " ".join(map(str, list_retried_exit_codes(job)))),
            ("begin", placement.begin),
            ("deadline", job.deadline.to("s") if job.deadline else 0),
            ("secrets", " ".join(f"{secret.env}={secret.name}" for secret in job.secrets)),
        ):
            if value:
                settings[name] = value
        if job.image:
            argv = (*_build_container_command(job.image, str(settings["workdir"]), self.folder), *argv)
        env |= {
            **build_job_environment(job, placement, key),
            "SUPERCLOUD_RESULT": str(build_result_path(self.folder, key)),
        }
        if job.checkpoint:
            env["SUPERCLOUD_COMMIT"] = str(self.folder / "checkpoint")
        return Submission(key, argv, job.script or "", env, settings)

    def submit(self, submission: Submission) -> str:
        """Put it into the queue; the same submission again changes nothing. Its key for anything else is refused."""
        self._queue.require_same_submission(submission)  # before its script takes the place of another job's
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
        ) as error:  # it is in the queue, and whoever asks for it wakes again
            raise SubmissionUnknownError(
                f"the job is in the queue of this machine, and nothing can be started: {error}"
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
        """Those in the queue; a job that had a key before ``since`` is not the one that is looked for."""
        known = {key: self._queue.find(key) for key in keys}
        return {key: found.ref if found and not 0 < found.recorded < since else None for key, found in known.items()}

    def find_submitted(self, jobs: Sequence[JobIdentity], since: float) -> Mapping[str, SubmittedJob]:
        """Those in the queue that were submitted for the same record."""
        found = {}
        for identity in jobs:
            there = self._queue.find(identity.key)
            is_ours = there is not None and there.submission.identity.is_same_record(identity)
            found[identity.key] = SubmittedJob(
                there.ref if there and is_ours else None, (there.ref,) if there and not is_ours else ()
            )
        return found

    def end_start(self, ref: str, start: JobIdentity) -> None:
        """Ask the agent to end it, where the queue has it under this key for the same record."""
        there = self._queue.find(start.key)
        if there is None or there.ref != ref:
            return
        identity = there.submission.identity
        if identity.is_same_record(start) or (not identity.record and identity.may_be_same_job(start)):
            self.cancel(ref)

    def find_digests(self, refs: Sequence[str], since: float) -> Mapping[str, str]:
        """From the submissions in the queue."""
        return self._queue.find_digests(refs)

    def poll(self, refs: Sequence[str]) -> Mapping[str, Status]:
        """How jobs are. Where some have not ended, an agent is seen to."""
        statuses = self._queue.read_statuses(refs)
        if any(status.state in (State.QUEUED, State.RUNNING) for status in statuses.values()):
            ensure_agent(self.folder, self.idle_timeout)
        return statuses

    def cancel(self, ref: str) -> None:
        """Ask the agent to end it."""
        self._queue.cancel(ref)
        ensure_agent(self.folder, self.idle_timeout)

    def recall(self, ref: str) -> None:
        """Take it out of the queue, unless it has begun."""
        self._queue.recall(ref)

    def read_log(self, key: str, offset: int) -> bytes:
        """What all tasks and attempts of a job printed."""
        return _read_chunk(build_log_path(self.folder, key), offset)

    def read_result(self, key: str, offset: int) -> bytes:
        """What it left in the file that SUPERCLOUD_RESULT names."""
        return private.read_own_file(build_result_path(self.folder, key), offset, _CHUNK_SIZE)

    def describe_result(self, key: str) -> str:
        """Its path."""
        return str(build_result_path(self.folder, key))


def _read_chunk(path: Path, offset: int) -> bytes:
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            return file.read(_CHUNK_SIZE)
    except FileNotFoundError:
        return b""


def _build_container_command(image: str, workdir: str, folder: Path) -> tuple[str, ...]:
    """What starts a program in an image here: as an ordinary process, so that it ends with its job."""
    program = shutil.which("apptainer") or shutil.which("singularity")
    if program is None:
        raise EngineError(
            "this machine has neither apptainer nor singularity to run an image; install one, leave out "
            "image, or submit it to a cluster"
        )
    source = image if image.startswith(("/", ".")) or "://" in image else f"docker://{image}"
    devices = (("--nv", "/dev/nvidiactl"), ("--rocm", "/dev/kfd"))
    drivers = [option for option, device in devices if os.path.exists(device)]
    return (program, "exec", *drivers, "--bind", str(folder), "--pwd", workdir, source)
