from __future__ import annotations

import shlex
import time
from pathlib import Path

import pytest

from supercloud.errors import EngineError
from supercloud.jobs.engines.batch.copies import select_latest
from supercloud.jobs.engines.slurm import nodes, rest, texts
from supercloud.jobs.engines.slurm.commands import build_sacct, build_sacct_history, build_squeue
from supercloud.jobs.engines.slurm.reasons import describe_refusal, describe_state
from supercloud.jobs.engines.slurm.texts import parse_job_id, parse_jobs
from supercloud.jobs.store.states import State
from supercloud.jobs.store.status import Status

RECORDINGS = Path(__file__).parent.parent / "recordings"


def read_recording(name: str) -> tuple[str, str, int]:
    """What was called, what it printed, how it ended."""
    first, *lines, last = (RECORDINGS / name).read_text().splitlines()
    return first.removeprefix("$ "), "\n".join(lines) + "\n", int(last.removeprefix("# rc="))


def parse_by_key(name: str, text: str) -> dict[str, list[Status]]:
    """Statuses in a listing by the key of the job; ids differ from one recording to the next."""
    refs = select_latest(parse_jobs(read_recording(f"found-{name}")[1])) | select_latest(
        parse_jobs(read_recording(f"queue-{name}")[1])
    )
    is_queue = text in (read_recording(path.name)[1] for path in RECORDINGS.glob("queue-*.txt"))
    listed = texts.parse_queue(text) if is_queue else texts.parse_accounts(text)
    return {key: listed[ref] for key, ref in refs.items() if ref in listed}


RELEASES = pytest.mark.parametrize("release", ["22.05", "26.05"])


@RELEASES
def test_recordings_are_of_the_commands_in_use(release: str) -> None:
    for name, argv in (("queue", build_squeue()), ("queue-lost", build_squeue()), ("found", build_sacct_history(3600))):
        assert read_recording(f"{name}-{release}.txt")[0] == shlex.join(argv)
        assert read_recording(f"{name}-{release}.txt")[2] == 0
    command = read_recording(f"accounts-{release}.txt")[0]
    refs = next(word for word in shlex.split(command) if word.startswith("--jobs=")).removeprefix("--jobs=").split(",")
    # recorded before these fields were added, which the recording "found" has
    assert command == shlex.join(build_sacct(refs)).removesuffix(",Comment,SubmitLine")


@RELEASES
def test_the_queue_is_parsed(release: str) -> None:
    tasks = parse_by_key(f"{release}.txt", read_recording(f"queue-{release}.txt")[1])
    one = {key: items[0] for key, items in tasks.items() if len(items) == 1}
    assert {key: str(status.state) for key, status in one.items()} == {
        "ok": "COMPLETED",
        "bad": "FAILED",
        "memory": "FAILED",
        "lost": "RUNNING",
        "lost-for-good": "RUNNING",
        "long": "RUNNING",
        "cancelled": "RUNNING",
        "waits": "QUEUED",
        "held": "QUEUED",
        "later": "QUEUED",
        "licensed": "QUEUED",
        "capped": "QUEUED",
        "after": "QUEUED",
    }
    assert sorted(str(task.state) for task in tasks["array"]) == ["COMPLETED", "COMPLETED", "COMPLETED", "FAILED"]
    assert sorted(task.exit_code or 0 for task in tasks["array"]) == [0, 0, 0, 5]
    assert (one["bad"].exit_code, one["bad"].reason) == (3, "ended with exit code 3")
    assert one["memory"].exit_code is None and "memory limit" in one["memory"].reason
    assert one["waits"].reason == "it is next; the nodes it needs are in use"
    assert one["held"].reason == "it is held; release it with scontrol release"
    assert one["later"].reason == "its start time has not come"
    assert one["ok"].started and one["ok"].ended and one["ok"].started <= one["ok"].ended
    assert one["lost"].started and one["lost"].ended is None and one["waits"].started is None
    assert {status.attempt for status in one.values()} == {1}


@RELEASES
def test_a_job_that_lost_its_node_waits_in_its_second_attempt(release: str) -> None:
    tasks = parse_by_key(f"{release}.txt", read_recording(f"queue-lost-{release}.txt")[1])
    [lost], [gone], [waits] = tasks["lost"], tasks["lost-for-good"], tasks["waits"]
    assert (lost.state, lost.attempt) == (State.QUEUED, 2) and "requeued" in lost.reason
    assert (gone.state, gone.reason) == (State.NODE_FAIL, "a node of the job was lost")
    assert waits.reason == "nodes it needs are down, drained or reserved"
    [later] = parse_by_key(f"{release}.txt", read_recording(f"accounts-{release}.txt")[1])["lost"]
    assert later.state is State.UNKNOWN, "the accounts do not end it"


@RELEASES
def test_accounting_records_are_parsed(release: str) -> None:
    tasks = parse_by_key(f"{release}.txt", read_recording(f"accounts-{release}.txt")[1])
    ended = {key: (str(items[0].state), items[0].exit_code) for key, items in tasks.items() if items[0].state.is_final}
    assert ended.pop("array")[0] == "COMPLETED" and len(tasks["array"]) == 4
    assert ended == {
        "ok": ("COMPLETED", 0),
        "bad": ("FAILED", 3),
        "memory": ("FAILED", None),
        "lost-for-good": ("NODE_FAIL", None),
        "long": ("TIMEOUT", None),
        "cancelled": ("CANCELLED", None),
    }
    assert {item.attempt for items in tasks.values() for item in items} == {0}
    assert "exceeded its time limit" in tasks["long"][0].reason


@RELEASES
def test_jobs_are_found_by_their_key(release: str) -> None:
    queue, older = (
        select_latest(parse_jobs(read_recording(f"{name}-{release}.txt")[1])) for name in ("queue", "found")
    )
    assert len(queue) == 14
    assert older.items() <= queue.items() and {"ok", "lost", "licensed"} <= set(older)
    runs = next(line for line in read_recording(f"found-{release}.txt")[1].splitlines() if "lost-for-good" in line)
    assert "||sbatch" in runs, "of what has not ended the comment is in the submission line alone"


@pytest.mark.parametrize("text, ref", [("7\n", "7"), ("7;pod\n", "7"), ("motd\n12\n", "12"), ("", None), ("ok", None)])
def test_the_job_id_of_sbatch_is_parsed(text: str, ref: str | None) -> None:
    assert parse_job_id(text) == ref


@pytest.mark.parametrize("path", sorted(RECORDINGS.glob("refused-*.txt")), ids=lambda path: path.stem)
def test_refusals_have_a_next_step(path: Path) -> None:
    _, text, code = read_recording(path.name)
    assert code == 1
    assert "; " in describe_refusal(text) and "sbatch" not in describe_refusal(text)


LISTINGS = [texts.parse_queue, texts.parse_accounts, parse_jobs]


@pytest.mark.parametrize("text", ["", "\n\n", " \n"])
def test_no_output_is_an_empty_listing(text: str) -> None:
    assert not any(read(text) for read in LISTINGS)


@pytest.mark.parametrize("text", ["|||||||", "x|RUNNING", "slurm_load_jobs error", "Welcome\n|||||||||\nNone|a|b"])
def test_output_without_a_row_is_not_an_empty_listing(text: str) -> None:
    row = "\n7|RUNNING|None|0|0|1700000000|N/A|supercloud:k\n"
    for read in LISTINGS:
        for answer in (text, text + row):
            with pytest.raises(EngineError, match="(squeue|sacct)'s answer is not a list of jobs: it begins with "):
                read(answer)
    with pytest.raises(EngineError, match="not a list of nodes"):
        list(nodes.parse_nodes(text, {}))
    for parse in (nodes.parse_ends, nodes.parse_waiting_jobs):
        with pytest.raises(EngineError, match="not a list of jobs"):
            parse("Welcome to the machine!")


def test_a_cluster_without_nodes_is_an_empty_listing() -> None:
    assert not list(nodes.parse_nodes("No nodes in the system\n", {}))


def test_lines_after_a_row_are_the_rest_of_a_comment() -> None:
    """Comments and submit lines of other programs may have several lines; het jobs are rows, but not ours."""
    rest = "\nsecond line\n||||||||\n"
    assert list(texts.parse_queue(f"7|RUNNING|None|0|0|1|2|first{rest}")) == ["7"]
    assert list(texts.parse_accounts(f"7|RUNNING|0:0|1|2|None|first|sbatch{rest}")) == ["7"]
    assert list(texts.parse_accounts("7+0|RUNNING|0:0|1|2|None||sbatch\n8_1|RUNNING|0:0|1|2|None||sbatch")) == ["8"]
    assert select_latest(parse_jobs(f"6+0||x{rest}7|supercloud:k|first{rest}")) == {"k": "7"}


def test_unlisted_states_are_unknown() -> None:
    [[status]] = texts.parse_queue("5|LEVITATING|None|0|0|1|2|supercloud:k").values()
    assert status.state is State.UNKNOWN and "LEVITATING" in status.reason
    assert describe_state("PENDING", "SomethingNew") == "Slurm's reason: SomethingNew"


@pytest.mark.parametrize(
    "reason, attempt, message",
    [
        ("PartitionNodeLimit", 1, "more nodes than its partition"),
        ("(PartitionTimeLimit)", 1, "exceeds that of its partition"),
        ("ReqNodeNotAvail, UnavailableNodes:train-0001", 1, "down, drained or reserved"),
        ("BeginTime", 2, "requeued"),
        ("BeginTime", 1, "its start time has not come"),
        ("Licenses", 1, "licenses"),
        ("None", 2, "it was requeued"),
        ("None", 1, ""),
    ],
)
def test_reasons_of_waiting_jobs_are_described(reason: str, attempt: int, message: str) -> None:
    assert message in describe_state("PENDING", reason, None, attempt)


@pytest.mark.parametrize(
    "state, ours",
    [
        ("PREEMPTED", State.NODE_FAIL),
        ("REQUEUED", State.UNKNOWN),
        ("BOOT_FAIL", State.NODE_FAIL),
        ("DEADLINE", State.TIMEOUT),
        ("CANCELLED by 2000", State.CANCELLED),
    ],
)
def test_rare_states_are_parsed(state: str, ours: State) -> None:
    assert texts.parse_accounts(f"5|{state}|0:0|1|2|None")["5"][0].state is ours


@pytest.mark.parametrize(
    "code, state, ours",
    [
        ("0:0", "COMPLETED", 0),
        ("3:0", "FAILED", 3),
        ("0:9", "FAILED", 137),
        ("768", "FAILED", 3),
        ("9", "FAILED", 137),
        ("0:125", "OUT_OF_MEMORY", None),
        ("", "FAILED", None),
        ("0", "COMPLETED", 0),
    ],
)
def test_exit_codes_are_parsed(code: str, state: str, ours: int | None) -> None:
    assert texts.parse_accounts(f"5|{state}|{code}|1|2|None")["5"][0].exit_code == ours


ROW = "7|RUNNING|None|{}|0|1700000000|N/A|supercloud:k|\n"


def test_numbers_that_no_counter_holds_make_only_their_job_unknown() -> None:
    assert texts.parse_queue(ROW.format("3"))["7"][0].attempt == 4
    for restarts in ("9" * 26, "4294967296", "\u00b2"):
        assert texts.parse_queue(ROW.format(restarts))["7"][0].attempt == 0
    odd = [(code, "2", "an exit code is") for code in ("9" * 26, "1:" + "9" * 26, "9" * 5000)]
    for code, end, reason in (*odd, ("0:0", "9" * 26, "a time is"), ("0:0", "9" * 400, "a time is")):
        found = texts.parse_accounts(f"7|FAILED|{code}|1|{end}|\n8|FAILED|1:0|1|2|\n")
        assert found["7"][0].state is State.UNKNOWN and reason in found["7"][0].reason
        assert (found["8"][0].state, found["8"][0].exit_code) == (State.FAILED, 1)
    late = ROW.replace("1700000000", "9" * 12)
    found = texts.parse_queue(late.format("0") + ROW.replace("7|", "8|", 1).format("0"))
    assert found["7"][0].state is State.UNKNOWN and found["8"][0].state is State.RUNNING
    assert nodes.parse_ends(f"{'9' * 12}|a\n1700000000|b\n") == {"b": 1.7e9}
    with pytest.raises(EngineError, match="MinJobAge is"):
        texts.parse_min_job_age(f"MinJobAge = {'9' * 400} sec")
    assert texts.parse_job_id("9" * 40) is None
    for number in ("9" * 40, "\u00b2"):
        with pytest.raises(EngineError, match="not a list of jobs"):
            texts.parse_jobs(f"{number}|supercloud:k")
        with pytest.raises(EngineError, match="not a list of jobs"):
            texts.parse_queue(number + ROW[1:])


def test_long_lists_of_nodes_are_read_in_linear_time() -> None:
    start = time.process_time()
    assert nodes.parse_ends("5|" + "a[" * 30_000) == {"a": 5.0}
    assert time.process_time() - start < 1
    assert texts.parse_job_id("7\x0b8\n") is None


def test_an_error_without_a_text_does_not_exclude_that_slurm_has_the_job() -> None:
    assert not rest._is_answered([{}]) and not rest._is_answered([{"error": "Invalid qos specification"}, {}])
    assert rest._is_answered([{"error": "Invalid qos specification"}])
    assert "None" not in rest._join_texts([{}])
