"""Failures of an update on the real engine, and the recovery."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from subprocess import Popen

import pytest
from engine import Engine, kill
from offline.faults import Fault
from real.polling import wait_for
from runbook import delete_empty_notes, recover
from subjects import TOY, Subject

NO_CAPACITY = "InsufficientCapacity: there is none left in us-east-1a"


def wait_until(question: Callable[[], object], process: Popen[str] | None = None) -> None:
    """Wait until an answer is true; fail if the process that causes it ends before."""

    def ask() -> object:
        if answer := question():
            return answer
        if process and process.poll() is not None:
            pytest.fail(f"it ended before that:\n{process.stdout.read() if process.stdout else ''}")
        return None

    wait_for("the answer is true", ask, interval=0.02)


def count_urns(engine: Engine) -> Counter[str]:
    """The number of objects per URN."""
    return Counter(item["urn"] for item in engine.cloud.objects().values())


def test_a_second_update_completes_one_without_capacity(engine: Engine, subject: Subject):
    fresh = engine.preview()["changeSummary"]
    engine.faults.plan(Fault("create", subject.slow, message=NO_CAPACITY))
    failed = engine.run("up", "--yes", "--skip-preview", code=None)
    assert failed.code == 1 and NO_CAPACITY in failed.text
    assert not engine.read_state().get("pending_operations")
    assert not engine.cloud.objects(subject.slow)
    made = engine.cloud.objects().keys()
    assert made, "objects that need no capacity exist"
    assert sum(engine.up().values()) >= 1
    assert engine.cloud.objects().keys() > made, "existing objects are kept"
    assert set(count_urns(engine).values()) == {1}
    assert len(engine.list_resources()) == fresh["create"]
    engine.run("preview", "--expect-no-changes")


@pytest.mark.parametrize("attached", [True, False], ids=["attached", "processes"])
def test_a_killed_command_line_creates_nothing_twice(start: Callable[..., Engine], subject: Subject, attached: bool):
    engine = start(subject, attached=attached)
    go_on = engine.folder / "go-on"
    engine.faults.plan(Fault("create", subject.slow, hold=str(go_on)))
    process = engine.start("up", "--yes", "--skip-preview")
    wait_until(engine.faults.count_strikes, process)
    kill(process)
    go_on.touch()  # the cloud continues with the request
    wait_until(lambda: engine.cloud.objects(subject.slow))
    delete_empty_notes(engine.folder / "state")

    locked = engine.run("up", "--yes", "--skip-preview", code=None)
    assert locked.code == 1 and "currently locked by 1 lock" in locked.text
    imported = recover(engine, lambda token, urn: _find_orphan(engine, token, urn))
    assert any(subject.slow in urn for urn in imported)
    engine.up()
    assert set(count_urns(engine).values()) == {1}, "exactly one object per URN"
    assert {
        item["id"] for item in engine.list_resources().values() if item.get("custom")
    } >= engine.cloud.objects().keys()
    assert not engine.read_state().get("pending_operations")
    engine.run("preview", "--refresh", "--expect-no-changes")


def test_an_interrupted_write_of_the_state_is_repaired(start: Callable[..., Engine]):
    engine = start(TOY)
    engine.up()
    (note,) = (engine.folder / "state").rglob("dev.json.attrs")
    note.write_text("")  # as after a kill between two writes
    unreadable = engine.run("preview", code=None)
    assert unreadable.code != 0 and "failed to load checkpoint: EOF" in unreadable.text
    assert delete_empty_notes(engine.folder / "state") == [note]
    engine.run("preview", "--refresh", "--expect-no-changes")


def _find_orphan(engine: Engine, token: str, urn: str) -> str | None:
    found = [key for key, item in engine.cloud.objects(token).items() if item["urn"] == urn]
    return found[0] if found else None


def test_an_interrupted_update_leaves_no_pending_operations(engine: Engine, subject: Subject):
    go_on = engine.folder / "go-on"
    engine.faults.plan(Fault("create", subject.slow, hold=str(go_on)))
    process = engine.start("up", "--yes", "--skip-preview")
    wait_until(engine.faults.count_strikes, process)
    process.send_signal(2)
    go_on.touch()
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 1 and "cancel" in output
    assert not engine.read_state().get("pending_operations")
    assert engine.cloud.objects(subject.slow), "the running operation was finished"
    engine.up()
    assert set(count_urns(engine).values()) == {1}
    engine.run("preview", "--expect-no-changes")
