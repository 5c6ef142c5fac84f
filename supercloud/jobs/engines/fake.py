"""A fake cluster for tests, documentation and demonstrations: the command of a job is its sequence of states.

``command: [fake, QUEUED, RUNNING, "FAILED:3"]`` lists one state per poll of the job; the last one remains. ``REQUEUE``
is QUEUED in the next attempt, ``SILENT`` no answer; items after a ``|`` are for the next engine that runs the job. Any
other command is queued, runs and completes. The state of the fake cluster is on disk, as that of a real cluster
outlives its users.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import EngineError
from ..runtime.epochs import compute_previous_epoch, parse_launch
from ..store.states import State
from ..store.status import Status
from .base import SubmittedJob
from .environment import build_job_environment
from .submission import JobIdentity, Submission

if TYPE_CHECKING:
    from ...spec import JobSpec
    from ...spec.fleet import Connection
    from ..placement.answer import Placement

__all__ = ["FakeEngine"]


class FakeEngine:
    """Starts nothing and records everything."""

    poll_interval = 0.01

    def __init__(self, connection: Connection, folder: Path):
        self.folder = folder / "fake"
        self.refusal = ""
        """Answer the next submissions with these errors instead of accepting them."""
        self.crash_hook: Callable[[str], None] = lambda point: None
        """Called "before" and "after" accepting a job: for tests of crashes."""
        self.submission_count = 0

    def prepare(self, job: JobSpec, placement: Placement, key: str) -> Submission:
        """The submission: the command and its variables."""
        argv = job.command or ("script",)
        settings: dict[str, str | int | float] = {
            "pool": placement.pool,
            "epoch": compute_previous_epoch(key) + 1,
            "begin": placement.begin,
        }
        return Submission(key, argv, job.script or "", build_job_environment(job, placement, key), settings)

    def submit(self, submission: Submission) -> str:
        """Accept it. A second submission of a key is counted, as a real engine would run it twice.

        Raises :class:`EngineError` with its ``refusal``, if that is set.
        """
        self.crash_hook("before")
        if self.refusal:
            raise EngineError(self.refusal)
        scripted = submission.argv[0] == "fake" and len(submission.argv) > 1
        states = _list_states(submission) if scripted else [State.QUEUED, State.RUNNING, State.COMPLETED]
        with self._hold_lock():
            taken = 1 + self.count_submissions(submission.key)
            begin = time.time() + float(submission.settings.get("begin", 0))
            self._write(
                submission.key,
                {
                    "states": states,
                    "attempt": 1,
                    "taken": taken,
                    "begin": begin,
                    "spec": submission.spec,
                    "record": submission.identity.record,
                },
            )
        self.submission_count += 1
        self.crash_hook("after")
        return f"fake-{submission.key}"

    def find(self, keys: Sequence[str], since: float) -> Mapping[str, str | None]:
        """The keys that were accepted."""
        return {key: f"fake-{key}" if self._build_path(key).exists() else None for key in keys}

    def find_submitted(self, jobs: Sequence[JobIdentity], since: float) -> Mapping[str, SubmittedJob]:
        """The jobs that were accepted for the same record."""
        found = {}
        for identity in jobs:
            ref = f"fake-{identity.key}"
            there = self._read_identity(identity.key)
            is_ours = there is not None and there.is_same_record(identity)
            found[identity.key] = SubmittedJob(ref if is_ours else None, (ref,) if there and not is_ours else ())
        return found

    def end_start(self, ref: str, start: JobIdentity) -> None:
        """Cancel it, if it was submitted for the same record."""
        there = self._read_identity(ref.removeprefix("fake-"))
        if there is not None and (there.is_same_record(start) or not there.record):
            self.cancel(ref)

    def _read_identity(self, key: str) -> JobIdentity | None:
        if not self._build_path(key).exists():
            return None
        known = self._read(key)
        return JobIdentity(key, str(known.get("spec", "")), str(known.get("record", "")))

    def find_digests(self, refs: Sequence[str], since: float) -> Mapping[str, str]:
        """The digests of jobs that were submitted with one."""
        known = {ref: self._read(ref.removeprefix("fake-")).get("spec") for ref in refs}
        return {ref: str(digest) for ref, digest in known.items() if digest}

    def poll(self, refs: Sequence[str]) -> Mapping[str, Status]:
        """The next state of each job."""
        answers: dict[str, Status] = {}
        if not refs or not self.folder.exists():
            return answers
        with self._hold_lock():
            for ref in refs:
                key = ref.removeprefix("fake-")
                if self._build_path(key).exists() and (status := self._advance(key)):
                    answers[ref] = status
        return answers

    def _advance(self, key: str) -> Status | None:
        known = self._read(key)
        if known["begin"] > time.time() and known["states"] != [State.CANCELLED]:
            return Status(State.QUEUED, known["attempt"], "its start time has not come")
        word, _, code = known["states"][0].partition(":")
        if word == "REQUEUE":
            known["attempt"] += 1
            word = known["states"][0] = State.QUEUED
        answer = (
            Status(State(word), known["attempt"], "", int(code or 0) if State(word).is_final else None)
            if word != "SILENT"
            else None
        )
        known["reported"] = word
        if len(known["states"]) > 1:
            known["states"].pop(0)
        self._write(key, known)
        return answer

    def cancel(self, ref: str) -> None:
        """End the job, unless it has ended."""
        key = ref.removeprefix("fake-")
        with self._hold_lock():
            known = self._read(key)
            if not State(known["states"][0].partition(":")[0]).is_final or len(known["states"]) > 1:
                self._write(key, known | {"states": [State.CANCELLED]})

    def recall(self, ref: str) -> None:
        """End the job, unless it has started."""
        key = ref.removeprefix("fake-")
        with self._hold_lock():
            known = self._read(key)
            if known.get("reported", State.QUEUED) == State.QUEUED:
                self._write(key, known | {"states": [State.CANCELLED]})

    def read_log(self, key: str, offset: int) -> bytes:
        """One line per attempt."""
        if not self._build_path(key).exists():
            return b""
        return "".join(f"attempt {n + 1}\n" for n in range(self._read(key)["attempt"])).encode()[offset:]

    def count_submissions(self, key: str) -> int:
        """The number of submissions of a job."""
        return int(self._read(key)["taken"]) if self._build_path(key).exists() else 0

    @contextlib.contextmanager
    def _hold_lock(self) -> Iterator[None]:
        """One request at a time over all processes: a real engine serializes requests too."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / "lock", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _build_path(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    def _read(self, key: str) -> dict[str, Any]:
        known: dict[str, Any] = json.loads(self._build_path(key).read_text())
        return known

    def _write(self, key: str, record: Mapping[str, Any]) -> None:
        new = self.folder / f"{key}.{os.getpid()}"  # written atomically, for concurrent readers and crashes
        new.write_text(json.dumps(record))
        new.replace(self._build_path(key))


def _list_states(submission: Submission) -> list[str]:
    """The states of this launch."""
    parts: list[list[str]] = [[]]
    for word in submission.argv[1:]:
        if word == "|":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts[min(parse_launch(submission.key), len(parts) - 1)]
