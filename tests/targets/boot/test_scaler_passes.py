"""The scaler, run pass by pass against a Slurm and a cloud that are files: what it does, and in which order."""

from __future__ import annotations

from pathlib import Path

import pytest
from scaler_machine import OFF, SLURM, Scaler, join_two

pytestmark = pytest.mark.slow


@pytest.fixture
def scaler(tmp_path: Path) -> Scaler:
    return Scaler(tmp_path)


def test_missing_nodes_are_created_in_slurm(scaler: Scaler) -> None:
    (scaler.cloud / "nodes").write_text("")
    did = scaler.scale("pass")
    created = [line for line in did if line.startswith("scontrol create")]
    assert len(created) == 2 and "train-0001,train-0002" in created[0] and created[0].endswith("State=CLOUD")
    assert "Gres=gpu:h100:8" in created[0] and "Topology=network:root:off" in created[0]


def test_nodes_removed_from_the_spec_are_deleted_from_slurm(scaler: Scaler) -> None:
    with (scaler.cloud / "nodes").open("a") as nodes:
        nodes.write("NodeName=old-0001 X=1 State=IDLE+CLOUD+POWERED_DOWN Y=1\n")
        nodes.write("NodeName=old-0002 X=1 State=ALLOCATED+CLOUD Y=1\n")
    assert scaler.scale("pass") == ["scontrol delete NodeName=old-0001"]


def test_requested_nodes_resize_their_group_once(scaler: Scaler) -> None:
    up = "ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP"
    scaler.nodes(train_0001=up, train_0002=up, train_0003=up)
    assert scaler.scale("resume", "train-[0001-0003]") == ["resize train-spot 3"]
    assert scaler.scale("pass") == []  # they are on their way


def test_instances_become_nodes(scaler: Scaler) -> None:
    up = "ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP"
    scaler.nodes(train_0001=up, train_0002=up)
    scaler.group("train-spot", 2, "i-1 10.0.0.1", "i-2 -")
    assert scaler.scale("pass") == ["scontrol update NodeName=train-0001 NodeAddr=10.0.0.1"]
    scaler.group("train-spot", 2, "i-1 10.0.0.1", "i-2 10.0.0.2")
    assert scaler.scale("pass") == ["scontrol update NodeName=train-0002 NodeAddr=10.0.0.2"]
    assert (scaler.record("train-0001"), scaler.record("train-0002")) == ("train-spot i-1", "train-spot i-2")
    assert scaler.scale("pass") == []


def test_a_suspended_node_terminates_its_instance(scaler: Scaler) -> None:
    join_two(scaler)
    scaler.nodes(train_0001="ALLOCATED+CLOUD", train_0002="IDLE+CLOUD+POWERING_DOWN")
    did = scaler.scale("suspend", "train-0002")
    assert did == [
        "terminate train-spot i-2",
        f"scontrol update NodeName=train-0002 NodeAddr=train-0002 Topology={OFF}",
    ]
    assert scaler.scale("suspend", "train-0002") == [] and scaler.record("train-0001") == "train-spot i-1"


def test_a_missing_instance_frees_its_node(scaler: Scaler) -> None:
    join_two(scaler)
    scaler.group("train-spot", 1, "i-2 10.0.0.2")
    did = scaler.scale("pass")
    assert did == [
        "scontrol update NodeName=train-0001 State=DOWN Reason=instance i-1 ended",
        "scontrol update NodeName=train-0001 State=POWER_DOWN_FORCE",
        f"scontrol update NodeName=train-0001 NodeAddr=train-0001 Topology={OFF}",
    ]
    assert scaler.record("train-0001") == "" and scaler.scale("pass") == []


def test_features_of_older_releases_are_restored(tmp_path: Path) -> None:
    scaler = Scaler(tmp_path, "22.05")
    features = "AvailableFeatures=train,h100,p5.48xlarge ActiveFeatures=train,h100,p5.48xlarge"
    join_two(scaler)
    scaler.group("train-spot", 1, "i-2 10.0.0.2")
    assert scaler.scale("pass")[-1] == f"scontrol update NodeName=train-0001 NodeAddr=train-0001 {features}"
    scaler.nodes(train_0002="IDLE+CLOUD+POWERING_DOWN")
    assert scaler.scale("pass")[-1] == f"scontrol update NodeName=train-0002 NodeAddr=train-0002 {features}"
    assert scaler.scale("pass") == []


def test_lost_topologies_of_nodes_are_restored(scaler: Scaler) -> None:
    """Only for nodes that are off: a node that is on has reported its own."""
    scaler.nodes(train_0002="ALLOCATED+CLOUD")
    nodes = scaler.cloud / "nodes"
    lines = nodes.read_text().splitlines(keepends=True)
    for number in (0, 1, 2):
        lines[number] = lines[number].replace(f" Topology={OFF}", "")
    lines[3] = lines[3].replace(OFF, "network:root:nn-1")
    nodes.write_text("".join(lines))
    assert scaler.scale("pass") == [f"scontrol update NodeName=train-0001,train-0003,train-0004 Topology={OFF}"]


def test_thousands_of_nodes_are_created_in_parts(scaler: Scaler) -> None:
    """One argument of a program has at most 128 KiB: a pool of the largest size has more in its names."""
    (scaler.cloud / "nodes").write_text("")
    conf = scaler.root / "etc/slurm/cloud-nodes.conf"
    conf.write_text(f"NodeName=huge-with-a-long-name-[0001-9000] Features=huge Topology={OFF} State=CLOUD\n")
    created = [line.split()[2] for line in scaler.scale("pass") if line.startswith("scontrol create")]
    names = [name for line in created for name in line.removeprefix("NodeName=").split(",")]
    assert len(created) == 9 and len(set(names)) == 9000 and names[-1] == "huge-with-a-long-name-9000"


def test_an_immediate_refusal_uses_the_next_group(scaler: Scaler) -> None:
    (scaler.cloud / "refuses-train-spot").touch()
    scaler.nodes(train_0001="ALLOCATED+CLOUD+POWERING_UP")
    assert scaler.scale("pass") == ["resize train-spot 1", "resize train-on-demand 1"]
    assert "train-spot: no capacity: none left; retried in 300 s" in scaler.log


def test_a_group_without_capacity_is_shrunk(scaler: Scaler) -> None:
    scaler.nodes(train_0001="ALLOCATED+CLOUD+POWERING_UP")
    scaler.scale("pass")
    (scaler.cloud / "refused-train-spot").write_text("InsufficientInstanceCapacity\n")
    assert scaler.scale("pass") == ["resize train-spot 0", "resize train-on-demand 1"]
    assert scaler.scale("pass") == []
    scaler.group("train-on-demand", 0)
    assert scaler.scale("pass") == ["resize train-on-demand 1"]  # spot rests
    scaler.group("train-on-demand", 0)
    (scaler.cloud / "refused-train-spot").unlink()
    assert scaler.scale("pass", SCALE_REST="0") == ["resize train-spot 1"]


def test_the_wait_for_an_initial_size_ends(scaler: Scaler) -> None:
    """The first size is the program's: a reservation that is smaller than the pool gives less, whatever is waiting."""
    scaler.group("train-spot", 3, "i-1 10.0.0.1")
    scaler.nodes(**{f"train_000{number}": "ALLOCATED+CLOUD+POWERING_UP" for number in range(1, 4)})
    assert not [line for line in scaler.scale("pass") if line.startswith("resize")]  # two more are on their way
    (scaler.cloud / "refused-train-spot").write_text("ReservationCapacityExceeded\n")
    assert scaler.scale("pass") == ["resize train-spot 1", "resize train-on-demand 2"]


def test_the_minimum_of_a_pool_is_never_powered_down(scaler: Scaler) -> None:
    on_demand = ("train-on-demand", "train", 1, 8, 1, 0)
    scaler.groups(("train-spot", "train", 0, 8, 1, 2), on_demand)
    text = "scontrol update SuspendExcNodes=train-0001,train-0002"
    assert scaler.scale("pass") == [text]
    answer = 'case "$1 $2" in "show config") cat "$CLOUD/config"; exit ;; esac\n'
    scaler.fake("scontrol", answer + SLURM)
    (scaler.cloud / "config").write_text("SuspendExcNodes         = train-0001,train-0002\n")
    assert scaler.scale("pass") == []
    (scaler.cloud / "config").write_text("SuspendExcNodes         = (null)\n")  # slurmctld was restarted
    assert scaler.scale("pass") == [text]
    scaler.groups(("train-spot", "train", 0, 8, 1, 0), on_demand)
    assert scaler.scale("pass") == []
    # a release without support reports it once
    scaler.fake("scontrol", 'case "$1" in update) exit 1 ;; esac\n' + answer + SLURM)
    scaler.groups(("train-spot", "train", 0, 8, 1, 2))
    scaler.scale("pass"), scaler.scale("pass")
    assert scaler.log.count("this release of Slurm powers down train-0001,train-0002 too") == 1


def test_groups_do_not_exceed_their_maximum(scaler: Scaler) -> None:
    states = {f"block_{n:04d}": "ALLOCATED+CLOUD+POWERING_UP" for n in range(1, 5)}
    scaler.nodes(**states)
    assert [line.split()[-1] for line in scaler.scale("pass")] == ["4"]
    join_two(scaler)
    assert not [line for line in scaler.scale("pass") if "block" in line]


def test_spare_instances_are_adopted(scaler: Scaler) -> None:
    scaler.group("train-spot", 2, "i-1 10.0.0.1", "i-2 10.0.0.2")
    assert scaler.scale("pass") == [
        "scontrol update NodeName=train-0001 State=POWER_UP",
        "scontrol update NodeName=train-0002 State=POWER_UP",
    ]
    assert scaler.scale("resume", "train-[0001-0002]") == [
        "scontrol update NodeName=train-0001 NodeAddr=10.0.0.1",
        "scontrol update NodeName=train-0002 NodeAddr=10.0.0.2",
    ]


def test_domains_keep_their_names_together(scaler: Scaler) -> None:
    """Instances of one domain become nodes of one block, whatever the order in which they come."""
    nodes = scaler.root / "etc/slurm/cloud-nodes.conf"
    text = "NodeName=nvl-[0001-0002] Gres=gpu:4 Features=nvl Topology=network:root:off,scale-up:d1 State=CLOUD\n"
    nodes.write_text(text + text.replace("[0001-0002]", "[0003-0004]").replace(":d1", ":d2"))
    scaler.groups(("nvl-block", "nvl", 0, 4, 2, 0))
    up = "NodeName=nvl-000{} X=1 State=ALLOCATED+CLOUD+POWERING_UP Y=1\n"
    (scaler.cloud / "nodes").write_text("".join(up.format(number) for number in range(1, 5)))
    scaler.group("nvl-block", 4, "i-1 10.0.0.1", "i-2 10.0.0.2", "i-3 10.0.0.3", "i-4 10.0.0.4")
    domains = scaler.cloud / "domains-nvl-block"
    domains.write_text("i-1 A\ni-2 B\n")
    scaler.scale("pass")
    assert "the domain of instance i-3 is still unknown" in scaler.log
    domains.write_text("i-1 A\ni-2 B\ni-3 B\ni-4 A\n")
    scaler.scale("pass")
    got = {f"nvl-000{number}": scaler.record(f"nvl-000{number}").split()[1] for number in range(1, 5)}
    assert got == {"nvl-0001": "i-1", "nvl-0002": "i-4", "nvl-0003": "i-2", "nvl-0004": "i-3"}


def test_whole_domains_are_requested(scaler: Scaler) -> None:
    scaler.groups(("train-spot", "train", 0, 8, 2, 0))
    scaler.nodes(train_0001="ALLOCATED+CLOUD+POWERING_UP")
    assert scaler.scale("pass") == ["resize train-spot 2"]


def test_a_node_that_does_not_join_is_set_down(scaler: Scaler) -> None:
    up = "ALLOCATED+CLOUD+POWERING_UP"
    scaler.nodes(train_0001=up)
    scaler.group("train-spot", 1, "i-1 10.0.0.1")
    scaler.scale("pass")
    scaler.nodes(train_0001="DOWN+CLOUD+POWERED_DOWN")
    did = scaler.scale("fail", "train-0001")
    assert did[0] == (
        "scontrol update NodeName=train-0001 State=DOWN "
        "Reason=instance i-1 of train-spot did not join in time: see its boot.log"
    )
    assert did[1] == "terminate train-spot i-1"
    assert scaler.scale("pass") == []
    assert scaler.scale("pass", SCALE_PARDON="0") == ["scontrol update NodeName=train-0001 State=RESUME"]
    assert scaler.scale("pass", SCALE_PARDON="0") == []


def test_the_reason_is_the_same_if_a_pass_comes_first(scaler: Scaler) -> None:
    """Slurm sets a node down and calls resume-fail.sh; the loop may look in between."""
    scaler.nodes(train_0001="ALLOCATED+CLOUD+POWERING_UP")
    scaler.group("train-spot", 1, "i-1 10.0.0.1")
    scaler.scale("pass")
    scaler.nodes(train_0001="DOWN+CLOUD+POWERED_DOWN")
    assert scaler.scale("pass")[0] == "terminate train-spot i-1"
    assert "instance i-1 of train-spot did not join in time" in scaler.scale("fail", "train-0001")[0]
    # the next time it is another instance, or none
    scaler.nodes(train_0001="DOWN+CLOUD+POWERED_DOWN")
    assert "the cloud gave no instance in time" in scaler.scale("fail", "train-0001")[0]


def test_the_reason_names_why_the_cloud_started_no_instance(scaler: Scaler) -> None:
    """An image that does not exist any more is no lack of capacity: other groups would not help."""
    scaler.nodes(train_0001="DOWN+CLOUD+POWERED_DOWN")
    (scaler.cloud / "failed-train-spot").write_text("The image id '[ami-0a]' does not exist. Launching failed.\n")
    (did, *_) = scaler.scale("fail", "train-0001")
    assert "Reason=the cloud gave no instance in time: train-spot: The image id '[ami-0a]' does not exist." in did


def test_an_unresponsive_slurm_or_cloud_changes_nothing(scaler: Scaler) -> None:
    join_two(scaler)
    (scaler.cloud / "instances-train-spot").unlink()
    assert scaler.scale("pass") == [] and "train-spot: the cloud does not respond" in scaler.log
    scaler.fake("scontrol", 'echo "Unable to contact slurm controller"; exit 1')
    assert scaler.scale("pass") == [] and "slurmctld does not respond: Unable to contact" in scaler.log
    assert scaler.record("train-0001") == "train-spot i-1"


@pytest.mark.parametrize("arguments", [(), ("grow",), ("resume",), ("pass", "train-0001")])
def test_invalid_arguments_print_the_usage(scaler: Scaler, arguments: tuple[str, ...]) -> None:
    done = scaler.call(*arguments)
    assert done.returncode == 2 and "usage" in done.stderr and not scaler.asked
