"""The files of a started task, and its processes. The files are the only record.

``runs/KEY/log`` is the output of the job, ``runs/KEY/ATTEMPT/RANK/`` one task: ``started`` (its process, written once),
``exit`` (its exit code), ``held`` (locked while its wrapper runs, for processes that cannot look it up).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...store.private_files import create_private_file, write
from ...store.processes import ProcessId, find_by_environment, find_related, read_namespace
from .bell import AGENT_VARIABLE

__all__ = [
    "LOST",
    "RUNS",
    "Run",
    "RunProgress",
    "has_leftover_processes",
    "build_log_path",
    "build_result_path",
    "build_script_path",
    "signal_all",
]

RUNS = "runs"
"""Name of the folder of all runs, in the engine's folder."""
LOST = -1
"""In the place of an exit code: the task was lost, or never started."""
_RUN_VARIABLE = "SUPERCLOUD_RUN"
_WRAPPER_SCRIPT = Path(__file__).with_name("run.sh")


def build_log_path(folder: Path, key: str) -> Path:
    """The log file of all tasks and attempts of a job, including those of an array."""
    return folder / RUNS / key.partition("[")[0] / "log"


def build_result_path(folder: Path, key: str) -> Path:
    """The file for the result of a job."""
    return folder / RUNS / key / "result"


def build_script_path(folder: Path, key: str) -> Path:
    """The file with the script of a job."""
    return folder / RUNS / key / "script"


@dataclass(frozen=True)
class Run:
    """One task of one attempt."""

    folder: Path
    """Folder of the local engine."""
    key: str
    attempt: int
    rank: int

    @property
    def task_folder(self) -> Path:
        """The folder of the task."""
        return self.folder / RUNS / self.key / str(self.attempt) / str(self.rank)

    def spawn(self, argv: Sequence[str], workdir: str, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Start its wrapper in a separate session. May be repeated: only one wrapper ever gets the claim.

        The wrapper inherits a lock: other containers and machines with this home directory can thus see whether it
        runs.
        """
        self.task_folder.mkdir(parents=True, exist_ok=True)
        build_log_path(self.folder, self.key).parent.mkdir(exist_ok=True)
        create_private_file(build_log_path(self.folder, self.key))
        held = os.open(self.task_folder / "held", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            with contextlib.suppress(OSError):  # held by the running wrapper, or no lock support
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            log = str(build_log_path(self.folder, self.key))
            return subprocess.Popen(
                ["/bin/sh", str(_WRAPPER_SCRIPT), str(self.task_folder), log, workdir, read_namespace(), *argv],
                env={**env, _RUN_VARIABLE: str(self.task_folder)},
                stdin=held,  # not inherited by the program
                start_new_session=True,
            )
        finally:
            os.close(held)

    def is_held(self) -> bool:
        """Whether the wrapper runs, on any machine."""
        try:
            with open(self.task_folder / "held", "rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    def read_process(self) -> ProcessId | None:
        """The wrapper that got the claim; None if none has (yet)."""
        try:
            return ProcessId.parse((self.task_folder / "started").read_text())
        except OSError:
            return None

    def read_exit_code(self) -> int | None:
        """The exit code of the program; None if it has not ended, or its wrapper was killed too."""
        try:
            return int((self.task_folder / "exit").read_text())
        except (OSError, ValueError):
            return None

    def block_start(self) -> None:
        """Take the claim, so that a wrapper that is just starting exits."""
        self.task_folder.mkdir(parents=True, exist_ok=True)
        claim = self.task_folder / f"claim.{os.getpid()}"
        write(claim, "0 - -\n")
        with contextlib.suppress(FileExistsError):
            os.link(claim, self.task_folder / "started")


@dataclass(frozen=True)
class RunProgress:
    """How far the tasks of an attempt are."""

    alive: list[Run]
    """Those that run or are being started."""
    exit_codes: list[int]
    """Of the others, in the order of their ranks."""

    @property
    def count(self) -> int:
        """Number of tasks."""
        return len(self.alive) + len(self.exit_codes)

    @property
    def is_lost(self) -> bool:
        """Whether a task was lost."""
        return LOST in self.exit_codes

    @property
    def failure_code(self) -> int | None:
        """The first exit code that is not 0; None if there is none."""
        return next((code for code in self.exit_codes if code), None)


def signal_all(folder: Path, key: str, attempt: int, signal_number: int, excluded_pids: Collection[int] = ()) -> int:
    """Send a signal to all processes of an attempt except ``excluded_pids``; returns the number of those that got it.

    They are those with the variable of the attempt, those in the sessions of its wrappers, and their descendants.
    """
    place = folder / RUNS / key / str(attempt)
    marked = set(find_by_environment(_RUN_VARIABLE, f"{place}/"))
    wrappers = [
        process
        for rank in _list_ranks(place)
        if (process := Run(folder, key, attempt, rank).read_process()) is not None
    ]
    separate = {os.getpid(), *find_by_environment(AGENT_VARIABLE, "")}
    count = 0
    for pid in find_related(wrappers, marked, separate).difference(excluded_pids):
        with contextlib.suppress(ProcessLookupError, PermissionError):  # it has ended, or is another user's
            os.kill(pid, signal_number)
            count += 1
    return count


def _list_ranks(place: Path) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(name) for name in os.listdir(place) if name.isdecimal()]
    return []


def has_leftover_processes(runs: Sequence[Run]) -> bool:
    """Whether finished programs may have left processes in their sessions."""
    for run in runs:
        process = run.read_process()
        if process is None or process.pid <= 1:
            continue
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, 0)
            return True
    return False
