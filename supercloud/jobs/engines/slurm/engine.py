"""The Slurm engine: sbatch, squeue, sacct and scancel, where these commands are."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from ....errors import EngineError
from ....spec import JobSpec
from ....spec.fleet import Connection
from ...engine import Unsure
from ...placement import Placement
from ...submission import Status, Submission
from . import commands, texts
from .reasons import refusal
from .runner import Answer, Here, Runner

__all__ = ["SlurmEngine"]

# The controller forgets finished jobs after MinJobAge, 300 s unless the site says otherwise; within this time a job
# that it does not list was never submitted, whether there is accounting or not.
_REMEMBERED = 240.0
_PIECE = 2**20


class SlurmEngine:
    """Slurm, through its commands. The state folder must be on storage that the nodes see: logs are written there."""

    pace = 5.0

    def __init__(self, connection: Connection, folder: Path, runner: Runner | None = None):
        if connection.via:
            raise EngineError(f"via {connection.via}: reaching Slurm from elsewhere is not there yet; "
                              "run this where sbatch is")  # fmt: skip
        self.folder = folder / "slurm"
        self.runner = runner or Here()

    def prepare(self, job: JobSpec, placement: Placement, key: str) -> Submission:
        """The sbatch command and its script."""
        if placement.accelerators_per_node and not placement.gres:
            raise EngineError(f"Slurm has no name for {placement.accelerator}: nobody has given its catalog entry a "
                              "'gres'; place the job in another pool")  # fmt: skip
        argv = commands.sbatch(job, placement, key, self._log(key))
        return Submission(key, argv, commands.script(job, placement, key))

    def submit(self, submission: Submission) -> str:
        """Hand it over.

        The script comes from a file that is locked while sbatch has it open: should this process be killed, the lock
        stays with sbatch, and whoever looks for the job knows that it may still be on its way.
        """
        path = self._script(submission.key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.write_text(submission.stdin)
            with open(path, "rb") as stdin:
                fcntl.flock(stdin, fcntl.LOCK_EX)
                answer = self.runner.run(submission.argv, stdin)
        except OSError as error:
            raise EngineError(f"{path}: {error.strerror}") from None
        ref = texts.submitted(answer.out)
        if answer.code == 0 and ref:
            return ref
        if answer.code == 0 or "timed out" in answer.error:
            raise Unsure(f"cannot make sense of what sbatch said: {(answer.out + answer.error).strip()[:200]!r}")
        raise EngineError(f"Slurm refused the job: {refusal(answer.error)}")

    def find(self, keys: Sequence[str], since: float) -> Mapping[str, str | None]:
        """Look for jobs by the key in their comment: in the queue, then in the accounts."""
        settled = [key for key in keys if not self._on_its_way(key)]
        if not settled:
            return {}
        refs = texts.found(self._ask(commands.in_queue()).out)
        certain = time.time() - since < _REMEMBERED
        if not certain and not refs.keys() >= set(settled):
            answer = self.runner.run(commands.found_in_accounting(int(time.time() - since) + 3600))
            certain = answer.code == 0
            refs = texts.found(answer.out) | refs
        return {key: refs.get(key) for key in settled if key in refs or certain}

    def _on_its_way(self, key: str) -> bool:
        try:
            with open(self._script(key), "rb") as script:
                fcntl.flock(script, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return False
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True

    def poll(self, refs: Sequence[str]) -> Mapping[str, Status]:
        """Ask the queue first: the accounts show the last attempt that ended, also of a job that was put back."""
        queued = texts.queued(self._ask(commands.in_queue()).out)
        statuses = {ref: queued[ref] for ref in refs if ref in queued}
        gone = [ref for ref in refs if ref not in queued]
        if gone:
            answer = self.runner.run(commands.in_accounting(gone))
            if answer.code == 0:
                accounted = texts.accounted(answer.out)
                statuses |= {ref: accounted[ref] for ref in gone if ref in accounted}
        return statuses

    def cancel(self, ref: str) -> None:
        """End it."""
        self._ask(commands.cancel(ref))

    def read_log(self, key: str, offset: int) -> bytes:
        """What its tasks printed, over all attempts."""
        try:
            with open(self._log(key), "rb") as log:
                log.seek(offset)
                return log.read(_PIECE)
        except FileNotFoundError:
            return b""

    def _log(self, key: str) -> Path:
        return self.folder / key / "log"

    def _script(self, key: str) -> Path:
        return self.folder / key / "script"

    def _ask(self, argv: Sequence[str]) -> Answer:
        answer = self.runner.run(argv)
        if answer.code:
            said = (answer.error or answer.out).strip().splitlines()
            raise EngineError(f"Slurm does not answer: {said[-1] if said else 'no reason given'}")
        return answer
