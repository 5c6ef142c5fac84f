from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from supercloud.jobs.engines.slurm import texts
from supercloud.jobs.engines.slurm.commands import (
    ACCOUNTING_FIELDS,
    QUEUE_FIELDS,
    found_in_accounting,
    in_accounting,
    in_queue,
)
from supercloud.jobs.engines.slurm.reasons import refusal, sentence
from supercloud.jobs.engines.slurm.texts import found, submitted
from supercloud.jobs.states import State
from supercloud.jobs.submission import Status

RECORDINGS = Path(__file__).parent.parent / "recordings"


def recorded(name: str) -> tuple[str, str, int]:
    """What was called, what it printed, how it ended."""
    first, *lines, last = (RECORDINGS / name).read_text().splitlines()
    return first.removeprefix("$ "), "\n".join(lines) + "\n", int(last.removeprefix("# rc="))


def queued(text: str) -> dict[str, Status]:
    """Jobs that are no arrays, in the queue."""
    return {ref: tasks[0] for ref, tasks in texts.queued(text).items()}


def accounted(text: str) -> dict[str, Status]:
    """The same in the accounts."""
    return {ref: tasks[0] for ref, tasks in texts.accounted(text).items()}


def recut(name: str, separator: str, columns: list[str], wanted: dict[str, str]) -> str:
    """A recording of other columns, brought into ours: the values stay as Slurm printed them."""
    lines = []
    for line in recorded(name)[1].splitlines():
        cells = dict(zip(columns, line.split("|"), strict=True))
        lines.append(separator.join(cells.get(name, "") for name in wanted.values()))
    return "\n".join(lines)


def test_recordings_are_of_the_commands_we_give() -> None:
    for name, argv in (("squeue-22.05.txt", in_queue()), ("squeue-requeued-22.05.txt", in_queue()),
                       ("sacct-22.05.txt", in_accounting(list("12345"))),
                       ("sacct-found-22.05.txt", found_in_accounting(3600))):  # fmt: skip
        assert recorded(name)[0] == shlex.join(argv)
        assert recorded(name)[2] == 0


def test_the_queue() -> None:
    statuses = queued(recorded("squeue-22.05.txt")[1])
    assert {ref: status.state for ref, status in statuses.items()} == {
        "1": State.COMPLETED, "2": State.FAILED, "3": State.RUNNING, "4": State.RUNNING, "5": State.COMPLETED,
        "6": State.QUEUED}  # fmt: skip
    assert (statuses["2"].exit_code, statuses["2"].reason) == (3, "ended with exit code 3")
    assert statuses["6"].reason == "it is next; the nodes it needs are in use"
    assert statuses["1"].started and statuses["1"].ended and statuses["1"].started <= statuses["1"].ended
    assert statuses["3"].ended is None and statuses["6"].started is None
    assert {status.attempt for status in statuses.values()} == {1}


def test_a_job_that_lost_its_node_waits_in_its_second_attempt() -> None:
    status = queued(recorded("squeue-requeued-22.05.txt")[1])["4"]
    assert (status.state, status.attempt) == (State.QUEUED, 2)
    lost = accounted(recorded("sacct-22.05.txt")[1])["4"]
    assert lost.state is State.NODE_FAIL, "which is why the queue is asked first"
    later = accounted(recorded("sacct-requeued-22.05.txt")[1])["4"]
    assert later.state is State.UNKNOWN, "nor does the row that follows end it"


def test_the_accounts() -> None:
    statuses = accounted(recorded("sacct-22.05.txt")[1])
    assert [(status.state, status.exit_code) for status in statuses.values()] == [
        (State.COMPLETED, 0),
        (State.FAILED, 3),
        (State.CANCELLED, None),
        (State.NODE_FAIL, None),
        (State.COMPLETED, 0),
    ]
    assert {status.attempt for status in statuses.values()} == {0}


def test_every_state_of_a_long_day() -> None:
    columns = recorded("sacct-all-22.05.txt")[0].split(" -o ")[1].split(",")
    ours = dict(zip(ACCOUNTING_FIELDS, ("JobID", *ACCOUNTING_FIELDS[1:]), strict=True))
    statuses = accounted(recut("sacct-all-22.05.txt", "|", columns, ours))
    by = {ref: status.state for ref, status in statuses.items()}
    assert by["1"] is State.CANCELLED and by["3"] is State.FAILED and by["5"] is State.NODE_FAIL
    assert (by["4"], statuses["4"].exit_code) == (State.FAILED, None) and "memory" in statuses["4"].reason
    assert by["18"] is State.NODE_FAIL and "higher priority" in statuses["18"].reason
    assert by["24"] is State.UNKNOWN, "put back, and not in the queue: the next answer decides"
    assert statuses["11"].started is None
    assert "9_0" not in by


def test_reasons_of_waiting_jobs() -> None:
    letters = recorded("squeue-short-22.05.txt")[0].split(" -o ")[1].split("|")
    ours = {"ArrayJobID": "%F", "State": "%T", "Reason": "%r", "RestartCnt": "", "exit_code": "", "StartTime": "%S",
            "EndTime": "", "Comment": "%k"}  # fmt: skip
    assert list(ours) == [name for name, _ in QUEUE_FIELDS]
    statuses = queued(recut("squeue-short-22.05.txt", "|", letters, ours))
    assert "more nodes than its partition" in statuses["11"].reason
    assert "beyond the partition's" in statuses["12"].reason
    assert statuses["7"].reason == "it is held; scontrol release lets it go"
    assert statuses["5"].state is State.RUNNING and statuses["5"].started
    assert "9_0" not in statuses


def test_jobs_are_found_by_their_key() -> None:
    key = "902f530ce332e274"
    assert found(recorded("squeue-22.05.txt")[1])[key] == "1"
    assert found(recorded("sacct-found-22.05.txt")[1])[key] == "1", "in the submission line: no comments are kept there"
    assert len(found(recorded("sacct-found-22.05.txt")[1])) == 6


@pytest.mark.parametrize("text, ref", [("7\n", "7"), ("7;pod\n", "7"), ("motd\n12\n", "12"), ("", None), ("ok", None)])
def test_what_sbatch_prints(text: str, ref: str | None) -> None:
    assert submitted(text) == ref


def test_refusals_have_a_next_step() -> None:
    _, text, code = recorded("sbatch-refused-22.05.txt")
    assert code == 1
    for line in text.splitlines():
        assert "; " in refusal(line) and "sbatch" not in refusal(line)


@pytest.mark.parametrize("text", ["", "\n\n", "|||||||", "x|RUNNING", "5|RUNNING", "slurm_load_jobs error"])
def test_what_makes_no_sense_is_left_out(text: str) -> None:
    assert queued(text) == {} and found(text) == {}
    assert accounted(text) == {}


def test_states_nobody_has_heard_of_are_unknown() -> None:
    [status] = queued("5|LEVITATING|None|0|0|1|2|supercloud:k").values()
    assert status.state is State.UNKNOWN and "LEVITATING" in status.reason
    assert sentence("PENDING", "SomethingNew") == "Slurm says SomethingNew"


@pytest.mark.parametrize("code, state, ours", [
    ("0:0", "COMPLETED", 0), ("3:0", "FAILED", 3), ("0:9", "FAILED", 137), ("768", "FAILED", 3), ("9", "FAILED", 137),
    ("0:125", "OUT_OF_MEMORY", None), ("", "FAILED", None), ("0", "COMPLETED", 0),
])  # fmt: skip
def test_exit_codes(code: str, state: str, ours: int | None) -> None:
    assert accounted(f"5|{state}|{code}|1|2|None")["5"].exit_code == ours
