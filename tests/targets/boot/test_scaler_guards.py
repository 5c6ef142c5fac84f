"""What the scaler does when something ends, refuses or is damaged in the middle: locks, crashes, files, restarts."""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from scaler_machine import UP, Scaler, join_two

pytestmark = pytest.mark.slow

HANG = (
    'cloud_size() { : >"$CLOUD/hangs"; until [ -e "$CLOUD/go" ]; do command sleep 0.02; done; cat "$CLOUD/size-$1"; }\n'
)
FAILS = 'cloud_{0}() {{ echo {0} "$@" >>"$SAID"; echo "broken: {0}"; return 1; }}\n'
LIMIT = 60
"""Seconds until a test gives up waiting."""


@pytest.fixture
def scaler(tmp_path: Path) -> Scaler:
    found = Scaler(tmp_path)
    (found.bin / "sleep").unlink()  # that of a boot machine does not sleep
    return found


def wait_for(happened: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def is_locked(scaler: Scaler) -> bool:
    """Whether a pass is running."""
    with (scaler.state / "lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_one_pass_runs_at_a_time(scaler: Scaler) -> None:
    """Slurm calls while the loop is in a pass: the second call waits, and asks for nothing twice."""
    scaler.nodes(train_0001=UP)
    scaler.provide(HANG)
    first = scaler.begin_call("pass")
    wait_for((scaler.cloud / "hangs").exists)
    second = scaler.begin_call("resume", "train-0001")
    wait_for(lambda: "Slurm: resume train-0001" in scaler.log)
    assert scaler.asked.count("scontrol -o show nodes") == 1 and is_locked(scaler)
    (scaler.cloud / "go").touch()
    assert (first.wait(LIMIT), second.wait(LIMIT)) == (0, 0)
    assert [line for line in scaler.asked if line.startswith("resize")] == ["resize train-spot 1"]


def test_a_call_of_a_killed_pass_is_waited_for(scaler: Scaler) -> None:
    """A pass that is killed may have a resize on its way: the next pass begins when that has ended."""
    scaler.nodes(train_0001=UP)
    scaler.provide(HANG)
    killed = scaler.begin_call("pass")
    wait_for((scaler.cloud / "hangs").exists)
    killed.send_signal(signal.SIGKILL)
    killed.wait(LIMIT)
    assert is_locked(scaler)
    (scaler.cloud / "go").touch()
    wait_for(lambda: not is_locked(scaler))
    assert scaler.scale("pass") == ["resize train-spot 1"]


def test_an_instance_named_by_a_killed_pass_is_terminated(scaler: Scaler) -> None:
    """The record is there and the address is not: the instance never joins, and ends when Slurm sets its node down."""
    scaler.nodes(train_0001=UP, train_0002=UP)
    scaler.group("train-spot", 2, "i-1 10.0.0.1", "i-2 10.0.0.2")
    known = (scaler.bin / "scontrol").read_text()
    scaler.fake("scontrol", "if [[ $* == *NodeAddr* ]]; then kill -9 $PPID; exit 1; fi\n" + known)
    assert scaler.call("pass").returncode == -signal.SIGKILL
    assert (scaler.record("train-0001"), scaler.record("train-0002")) == ("train-spot i-1", "")
    (scaler.bin / "scontrol").write_text(known)
    assert scaler.scale("pass") == ["scontrol update NodeName=train-0002 NodeAddr=10.0.0.2"]
    scaler.nodes(train_0001="DOWN+CLOUD+POWERED_DOWN", train_0002="ALLOCATED+CLOUD")
    assert scaler.scale("fail", "train-0001")[1] == "terminate train-spot i-1"


def test_a_name_that_slurm_rejects_is_free_again(scaler: Scaler) -> None:
    scaler.nodes(train_0001=UP)
    scaler.group("train-spot", 1, "i-1 10.0.0.1")
    known = (scaler.bin / "scontrol").read_text()
    scaler.fake("scontrol", "[[ $* != *NodeAddr* ]] || exit 1\n" + known)
    scaler.scale("pass")
    assert scaler.record("train-0001") == "" and "Slurm refuses the address 10.0.0.1" in scaler.log
    (scaler.bin / "scontrol").write_text(known)
    assert scaler.scale("pass") == ["scontrol update NodeName=train-0001 NodeAddr=10.0.0.1"]


def test_incomplete_files_are_not_records(scaler: Scaler) -> None:
    join_two(scaler)
    (scaler.state / "nodes/.train-0003").write_text("train-spot i-")
    assert scaler.scale("pass") == []


def test_a_damaged_record_is_treated_as_a_missing_instance(scaler: Scaler) -> None:
    join_two(scaler)
    (scaler.state / "nodes/train-0001").write_text("")
    assert "scontrol update NodeName=train-0001 State=POWER_DOWN_FORCE" in scaler.scale("pass")
    assert scaler.record("train-0001") == "" and scaler.record("train-0002") == "train-spot i-2"


def test_the_state_is_readable_and_writable_only_by_its_owner(scaler: Scaler) -> None:
    old = os.umask(0o000)
    try:
        join_two(scaler)
        assert {path.stat().st_mode & 0o777 for path in scaler.state.iterdir() if path.is_dir()} == {0o755}
        files = [scaler.state / "lock", scaler.state / "nodes/train-0001", scaler.root / "var/log/slurm/scale.log"]
        assert {path.stat().st_mode & 0o777 for path in files} == {0o644}
    finally:
        os.umask(old)


def test_an_instance_that_cannot_be_terminated_is_retried(scaler: Scaler) -> None:
    join_two(scaler)
    scaler.provide(FAILS.format("terminate"))
    scaler.nodes(train_0001="ALLOCATED+CLOUD", train_0002="IDLE+CLOUD+POWERING_DOWN")
    for _ in range(2):
        assert scaler.scale("pass") == ["terminate train-spot i-2"] and scaler.record("train-0002") == "train-spot i-2"
    assert "instance i-2 of train-spot cannot be terminated; retried in the next pass" in scaler.log


def test_a_group_that_cannot_be_resized_does_not_stop_the_others(scaler: Scaler) -> None:
    """An error is not the want of capacity: the group is asked again in the next pass."""
    refuses = '[ "$1" != train-spot ] || { echo broken; return 1; }'
    scaler.provide(f'cloud_resize() {{ echo resize "$@" >>"$SAID"; {refuses}; }}\n')
    scaler.nodes(train_0001=UP)
    for _ in range(2):
        assert scaler.scale("pass")[:1] == ["resize train-spot 1"]
    assert "resize train-on-demand 1" in scaler.asked
    assert "train-spot: cannot be resized: broken" in scaler.log and not list((scaler.state / "full").iterdir())


def test_a_group_that_cannot_be_shrunk_keeps_its_size(scaler: Scaler) -> None:
    scaler.group("train-spot", 1)
    scaler.nodes(train_0001=UP)
    (scaler.cloud / "refused-train-spot").write_text("InsufficientInstanceCapacity\n")
    scaler.provide(FAILS.format("resize"))
    assert scaler.scale("pass") == ["resize train-spot 0"]
    assert "train-spot: cannot be shrunk to 0: broken: resize" in scaler.log


def test_a_node_that_cannot_be_set_down_is_not_changed(scaler: Scaler) -> None:
    join_two(scaler)
    scaler.group("train-spot", 1, "i-2 10.0.0.2")
    scaler.fake("scontrol", "[[ $* != *State=DOWN* ]] || exit 1\n" + (scaler.bin / "scontrol").read_text())
    assert [line for line in scaler.scale("pass") if "POWER_DOWN" in line] == []


def test_an_instance_without_a_name_is_terminated(scaler: Scaler) -> None:
    scaler.nodes(**{f"train_000{number}": "ALLOCATED+CLOUD" for number in range(1, 9)})
    scaler.group("train-spot", 1, "i-9 10.0.0.9")
    assert scaler.scale("pass") == ["terminate train-spot i-9"]
    assert "train-spot: no free node name for instance i-9, which is terminated" in scaler.log


@pytest.mark.parametrize("broken", ["hostnames", "cloud-nodes.conf"])
def test_nodes_are_not_deleted_if_the_plan_cannot_be_read(scaler: Scaler, broken: str) -> None:
    """All nodes are off, and none can be named: to take them from Slurm would refuse every job."""
    if broken == "hostnames":
        known = (scaler.bin / "scontrol").read_text()
        scaler.fake("scontrol", '[ "$2" != hostnames ] || exit 1\n' + known)
    else:
        (scaler.root / "etc/slurm/cloud-nodes.conf").unlink()
    assert scaler.scale("pass") == [] and "cannot" in scaler.log


@pytest.mark.parametrize("text", [None, "", "{}", '{"groups": [{}]}', "[]"])
def test_damaged_settings_change_nothing(scaler: Scaler, text: str | None) -> None:
    join_two(scaler)
    settings = scaler.settings_file
    settings.unlink() if text is None else settings.write_text(text)
    assert scaler.scale("pass") == [] and f"{settings} cannot be read" in scaler.log
    done = scaler.call("loop")
    assert done.returncode == 1 and "cannot be read" in done.stderr


@pytest.mark.parametrize("answer", ["None", "-1", "3 4"])
def test_a_size_that_is_not_a_number_changes_nothing(scaler: Scaler, answer: str) -> None:
    scaler.nodes(train_0001=UP)
    (scaler.cloud / "size-train-spot").write_text(f"{answer}\n")
    assert scaler.scale("pass") == [] and f"train-spot: the cloud answers with the size '{answer}'" in scaler.log


def test_instances_of_unknown_domains_get_no_names(scaler: Scaler) -> None:
    scaler.groups(("train-spot", "train", 0, 8, 2, 0))
    scaler.nodes(train_0001=UP)
    scaler.group("train-spot", 2, "i-1 10.0.0.1", "i-2 10.0.0.2")
    scaler.provide(FAILS.format("domains"))
    assert [line for line in scaler.scale("pass") if line.startswith("scontrol")] == []
    assert "train-spot: the cloud does not report the domains of instances" in scaler.log


def test_a_missing_scontrol_is_an_unresponsive_slurm(scaler: Scaler) -> None:
    join_two(scaler)
    scaler.fake("scontrol", "exit 127")
    assert scaler.scale("pass") == [] and "slurmctld does not respond: " in scaler.log


def test_the_loop_continues_while_slurm_is_unresponsive(scaler: Scaler) -> None:
    known = (scaler.bin / "scontrol").read_text()
    scaler.fake("scontrol", 'echo "Unable to contact slurm controller"; exit 1')
    scaler.nodes(train_0001=UP)
    loop = scaler.begin_call("loop", SCALE_EVERY="0.05")
    try:
        wait_for(lambda: scaler.log.count("does not respond") > 1)
        fresh = scaler.bin / "fresh"
        fresh.write_text(known)
        fresh.chmod(0o755)
        fresh.replace(scaler.bin / "scontrol")
        wait_for(lambda: "resize train-spot 1" in scaler.asked)
        assert loop.poll() is None
    finally:
        loop.kill()
        loop.wait(LIMIT)


def test_unexpected_errors_end_the_loop(scaler: Scaler) -> None:
    """Its unit restarts it (Restart=always)."""
    (scaler.root / "var/log/slurm").rename(scaler.root / "var/log/away")
    scaler.fake("scontrol", "exit 1")
    assert scaler.call("loop").returncode == 1
