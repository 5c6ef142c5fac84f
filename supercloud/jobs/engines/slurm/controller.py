"""Talking to Slurm: what is asked of its controller, whichever way it is reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ....errors import EngineError
from ...fleet.observations import NodeState, Waiting
from ..submission import Status
from . import commands, copies, texts
from . import nodes as listing
from .runner import Answer, Runner

__all__ = ["Commands", "Controller"]

_ON_ITS_WAY = 60.0
_AT_ONCE = 8000  # ids in one command: its text must stay below the 128 KiB the system allows an argument


class Controller(Protocol):
    """What the engine asks. Statuses come per task: an array has several."""

    def queue(self) -> Mapping[str, list[Status]]:
        """All jobs of the user that the controller remembers."""

    def accounts(self, refs: Sequence[str]) -> Mapping[str, list[Status]]:
        """Jobs that the controller has forgotten; empty where nobody keeps accounts."""

    def keys(self) -> Mapping[str, str]:
        """Key -> id of the jobs the controller remembers."""

    def older_keys(self, seconds: int) -> Mapping[str, str] | None:
        """The same from the accounts of the last seconds; None where nobody keeps any."""

    def digests(self, seconds: int) -> Mapping[str, str]:
        """Id -> digest of the spec, of the jobs in the queue and, where somebody keeps any, in the accounts of the last
        seconds; jobs that carry none are left out.
        """

    def remembers(self) -> float:
        """Seconds for which the controller certainly lists a job that has ended."""

    def rows(self) -> Sequence[copies.Row]:
        """The same jobs, each of its tasks by itself, with what the comments say."""

    def cancel(self, ref: str) -> None:
        """End a job."""

    def recall(self, ref: str) -> None:
        """End a job if it has not begun."""

    def nodes(self) -> Sequence[NodeState]:
        """Every node, with what jobs have of it."""

    def waiting(self) -> Sequence[Waiting]:
        """What waits for nodes, of everybody."""


class Commands:
    """Slurm's own commands, here or through ssh."""

    def __init__(self, runner: Runner):
        self.runner = runner

    def queue(self) -> Mapping[str, list[Status]]:
        """From squeue."""
        return texts.queued(self._ask(commands.in_queue()).out)

    def accounts(self, refs: Sequence[str]) -> Mapping[str, list[Status]]:
        """From sacct."""
        found: dict[str, list[Status]] = {}
        for first in range(0, len(refs), _AT_ONCE):
            answer = self.runner.run(commands.in_accounting(refs[first : first + _AT_ONCE]))
            if answer.code == 0:
                found |= texts.accounted(answer.out)
        return found

    def keys(self) -> Mapping[str, str]:
        """From the comments in the queue."""
        return texts.found(self._ask(commands.in_queue()).out)

    def older_keys(self, seconds: int) -> Mapping[str, str] | None:
        """From comments and submission lines in the accounts."""
        answer = self.runner.run(commands.found_in_accounting(seconds))
        return texts.found(answer.out) if answer.code == 0 else None

    def digests(self, seconds: int) -> Mapping[str, str]:
        """From the same comments and submission lines."""
        answer = self.runner.run(commands.found_in_accounting(seconds))
        older = texts.digests(answer.out) if answer.code == 0 else {}
        return older | texts.digests(self._ask(commands.in_queue()).out)

    def remembers(self) -> float:
        """MinJobAge, less a minute for what is on its way."""
        return texts.min_job_age(self._ask(commands.SETTINGS).out) - _ON_ITS_WAY

    def rows(self) -> Sequence[copies.Row]:
        """From squeue."""
        return list(texts.rows(self._ask(commands.in_queue()).out))

    def cancel(self, ref: str) -> None:
        """By scancel."""
        self._ask(commands.cancel(ref))

    def recall(self, ref: str) -> None:
        """By scancel, of pending jobs only."""
        self._ask(commands.recall(ref))

    def nodes(self) -> Sequence[NodeState]:
        """From scontrol; until when from squeue."""
        until = listing.ends(self._ask(listing.RUNNING).out)
        return list(listing.nodes(self._ask(listing.SHOW).out, until))

    def waiting(self) -> Sequence[Waiting]:
        """From squeue."""
        return listing.waiting(self._ask(listing.PENDING).out)

    def _ask(self, argv: Sequence[str]) -> Answer:
        answer = self.runner.run(argv)
        if answer.code:
            said = (answer.error or answer.out).strip().splitlines()
            raise EngineError(f"Slurm does not answer: {said[-1] if said else 'no reason given'}")
        return answer
