"""The interface to Slurm's controller, independent of the connection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ....errors import EngineError
from ....primitives.foreign_text import split_lines
from ...fleet.observations import NodeState, WaitingJobs
from ..batch import copies
from ..batch.runner import CommandResult, Runner
from . import commands, texts
from . import nodes as listing
from .reasons import describe_refusal, is_unconfigured

__all__ = ["CommandController", "Controller"]

_PURGED = "Invalid job id specified"  # ESLURM_INVALID_JOB_ID, src/common/slurm_errno.c
_TRANSIT_MARGIN = 60.0
_MAX_IDS_PER_COMMAND = 8000  # IDs in one command: its text must stay below the system's limit of 128 KiB per argument


class Controller(Protocol):
    """The requests of the engine. Statuses are per task: an array has several."""

    def read_accounts(self, refs: Sequence[str]) -> Sequence[copies.Row]:
        """Jobs that the controller has purged, one row per task; empty without accounting."""

    def read_jobs(self) -> Sequence[copies.ListedJob]:
        """The jobs that the controller has, with their identities."""

    def read_older_jobs(self, seconds: int) -> Sequence[copies.ListedJob] | None:
        """The same from the accounts of the last seconds; None without accounting."""

    def get_retention(self) -> float:
        """Seconds for which the controller certainly lists a job that has ended."""

    def read_rows(self) -> Sequence[copies.Row]:
        """The same jobs, one row per task, with the identities in the comments."""

    def cancel(self, ref: str) -> None:
        """Cancel a job."""

    def recall(self, ref: str) -> None:
        """Cancel a job if it is pending."""

    def list_nodes(self) -> Sequence[NodeState]:
        """All nodes, with their allocations."""

    def list_waiting_jobs(self) -> Sequence[WaitingJobs]:
        """Jobs of all users that wait for nodes."""


class CommandController:
    """Slurm's own commands, here or through ssh."""

    def __init__(self, runner: Runner):
        self.runner = runner

    def read_accounts(self, refs: Sequence[str]) -> Sequence[copies.Row]:
        """From sacct."""
        found: list[copies.Row] = []
        for first in range(0, len(refs), _MAX_IDS_PER_COMMAND):
            answer = self.runner.run(commands.build_sacct(refs[first : first + _MAX_IDS_PER_COMMAND]))
            if answer.exit_code == 0:
                found += texts.iter_account_rows(answer.stdout)
        return found

    def read_jobs(self) -> Sequence[copies.ListedJob]:
        """From the comments in the queue."""
        return [(number, identity) for number, _, identity in self.read_rows() if identity]

    def read_older_jobs(self, seconds: int) -> Sequence[copies.ListedJob] | None:
        """From comments and submission lines in the accounts."""
        answer = self.runner.run(commands.build_sacct_history(seconds))
        return texts.parse_jobs(answer.stdout) if answer.exit_code == 0 else None

    def get_retention(self) -> float:
        """MinJobAge, minus a minute for delays."""
        return texts.parse_min_job_age(self._run(commands.SHOW_CONFIG).stdout) - _TRANSIT_MARGIN

    def read_rows(self) -> Sequence[copies.Row]:
        """From squeue."""
        return list(texts.iter_queue_rows(self._run(commands.build_squeue()).stdout))

    def cancel(self, ref: str) -> None:
        """By scancel; a job that the controller has purged has ended."""
        answer = self.runner.run(commands.build_cancel(ref))
        if answer.exit_code and _PURGED not in answer.stderr:
            raise _build_error(answer)

    def recall(self, ref: str) -> None:
        """By scancel of pending jobs only."""
        self._run(commands.build_recall(ref))

    def list_nodes(self) -> Sequence[NodeState]:
        """From scontrol; end times from squeue."""
        until = listing.parse_ends(self._run(listing.LIST_RUNNING).stdout)
        return list(listing.parse_nodes(self._run(listing.SHOW_NODES).stdout, until))

    def list_waiting_jobs(self) -> Sequence[WaitingJobs]:
        """From squeue."""
        return listing.parse_waiting_jobs(self._run(listing.LIST_PENDING).stdout)

    def _run(self, argv: Sequence[str]) -> CommandResult:
        answer = self.runner.run(argv)
        if answer.exit_code:
            raise _build_error(answer)
        return answer


def _build_error(answer: CommandResult) -> EngineError:
    if is_unconfigured(answer.stderr):
        return EngineError(f"Slurm cannot be reached from here: {describe_refusal(answer.stderr)}")
    lines = split_lines((answer.stderr or answer.stdout).strip())
    return EngineError(f"Slurm does not respond: {lines[-1] if lines else 'no reason given'}")
