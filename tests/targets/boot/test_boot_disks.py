"""Internal disks of nodes: found by model or link, joined, formatted only if they are blank, and mounted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from boot_machines import BootMachine, build_plan

from supercloud.catalog.local_disks import LocalDisks
from supercloud.plan.model.plan import Plan

AWS = LocalDisks(name="x", title="x", source=("x",), model="Amazon EC2 NVMe Instance Storage")
GCP = LocalDisks(name="x", title="x", source=("x",), links="google-local-nvme-ssd-")


def build_local_plan(disks: LocalDisks = AWS, count: int = 2) -> Plan:
    plan = build_plan()
    assert plan.cloud is not None
    groups = tuple(replace(group, local_disk_mount="/local") for group in plan.cloud.groups)
    pools = tuple(
        replace(
            pool,
            machine=pool.machine.model_copy(
                update={"disks": tuple(one.model_copy(update={"count": count}) for one in pool.machine.disks)}
            ),
        )
        for pool in plan.pools
    )
    return replace(plan, pools=pools, cloud=replace(plan.cloud, groups=groups, local_disks=disks))


def start_node(folder: Path, models: dict[str, str], disks: LocalDisks = AWS, count: int = 2) -> BootMachine:
    """A node with block devices of these models; those of $CLOUD/contents-NAME are not blank."""
    machine = BootMachine(folder, "train-spot", build_local_plan(disks, count))
    for name, model in models.items():
        (machine.root / "sys/block" / name / "device").mkdir(parents=True)
        (machine.root / "sys/block" / name / "device/model").write_text(f"{model}      \n")
        (machine.root / "dev").mkdir(exist_ok=True)
        (machine.root / "dev" / name).touch()
    machine.fake("wipefs", 'cat "$CLOUD/contents-${!###*/}" 2>/dev/null || true')
    for name in ("mkfs.xfs", "chmod"):
        machine.fake(name)
    machine.fake("mdadm", '[ "$1" != --create ] || [ ! -e "$CLOUD/refuses" ] || { echo "busy"; exit 1; }')
    machine.fake("systemctl", '[ "$1" != cat ]')
    return machine


INSTANCE_STORE = "Amazon EC2 NVMe Instance Storage"
DISKS = {"nvme0n1": "Amazon Elastic Block Store", "nvme1n1": INSTANCE_STORE, "nvme2n1": INSTANCE_STORE}


def read_places(machine: BootMachine) -> str:
    return (machine.root / "etc/supercloud/mount-state-disks").read_text()


def test_several_disks_are_joined_without_redundancy(tmp_path: Path) -> None:
    machine = start_node(tmp_path, DISKS)
    done = machine.steps("disks")
    assert done.returncode == 0 and "FAILED" not in done.stderr, done.stdout + done.stderr
    root = machine.root
    (created,) = machine.calls("mdadm")
    assert created == (
        "--create /dev/md/sc-local --run --level=0 --raid-devices=2 --homehost=any --name=sc-local "
        f"{root}/dev/nvme1n1 {root}/dev/nvme2n1"
    )
    assert machine.calls("mkfs.xfs") == ["-q -K -L sc-local /dev/md/sc-local"]
    assert machine.calls("mount") == [f"-t xfs -o noatime /dev/md/sc-local {root}/local"]
    assert f"1777 {root}/local" in machine.calls("chmod") and read_places(machine) == "/local\n"


def test_one_disk_is_formatted_as_it_is(tmp_path: Path) -> None:
    machine = start_node(tmp_path, {"nvme1n1": INSTANCE_STORE}, count=1)
    assert machine.steps("disks").returncode == 0
    assert machine.calls("mkfs.xfs") == [f"-q -K -L sc-local {machine.root}/dev/nvme1n1"] and not machine.calls("mdadm")


def test_disks_are_found_by_their_links(tmp_path: Path) -> None:
    machine = start_node(tmp_path, {"nvme0n1": "any"}, GCP, 1)
    links = machine.root / "dev/disk/by-id"
    links.mkdir(parents=True)
    for name in ("google-local-nvme-ssd-0", "google-persistent-disk-0", "google-local-nvme-ssd-0-part1"):
        (links / name).symlink_to(machine.root / "dev/nvme0n1")
    assert machine.steps("disks").returncode == 0
    assert machine.calls("mkfs.xfs") == [f"-q -K -L sc-local {machine.root}/dev/nvme0n1"]


def test_a_restart_mounts_the_same_array_without_formatting(tmp_path: Path) -> None:
    machine = start_node(tmp_path, DISKS)
    for name in ("nvme1n1", "nvme2n1"):
        (machine.cloud / f"contents-{name}").write_text("linux_raid_member any:sc-local\n")
    (machine.cloud / "contents-sc-local").write_text("xfs sc-local\n")
    assert machine.steps("disks").returncode == 0
    assert machine.calls("mdadm")[0].startswith("--assemble /dev/md/sc-local ") and not machine.calls("mkfs.xfs")
    # the system may have started it under another name
    (machine.root / "sys/block/nvme1n1/holders/md127").mkdir(parents=True)
    (machine.cloud / "contents-md127").write_text("xfs sc-local\n")
    assert machine.steps("disks").returncode == 0
    assert machine.calls("mount")[-1] == f"-t xfs -o noatime {machine.root}/dev/md127 {machine.root}/local"


def test_an_array_with_a_replaced_disk_is_made_again(tmp_path: Path) -> None:
    machine = start_node(tmp_path, DISKS)
    (machine.cloud / "contents-nvme1n1").write_text("linux_raid_member any:sc-local\n")
    assert machine.steps("disks").returncode == 0
    assert f"-q --all {machine.root}/dev/nvme1n1" in machine.calls("wipefs")
    assert machine.calls("mdadm")[-1].startswith("--create ") and machine.calls("mkfs.xfs")


@pytest.mark.parametrize(
    "contents",
    ["ext4 data\n", "gpt \n", "LVM2_member \n", "gpt \nPMBR \n", "xfs data\n", "linux_raid_member other:md0\n"],
)
def test_a_disk_with_contents_of_others_is_left_as_it_is(tmp_path: Path, contents: str) -> None:
    machine = start_node(tmp_path, DISKS)
    (machine.cloud / "contents-nvme2n1").write_text(contents)
    done = machine.steps("disks", "mounts")
    assert done.returncode == 0
    output = f"{machine.root}/dev/nvme2n1 is neither blank nor was formatted here, and is left as it is: "
    assert f"FAILED disks: /local: {output}{contents.split(maxsplit=1)[0]}" in done.stderr
    assert not machine.calls("mkfs.xfs") and not machine.calls("mdadm")
    assert not [line for line in machine.calls("wipefs") if "--all" in line]
    assert read_places(machine).startswith(f"/local {output}")


@pytest.mark.parametrize(
    "models, why",
    [
        ({"nvme0n1": "Amazon Elastic Block Store"}, "no internal disks were found (model Amazon EC2 NVMe"),
        ({"nvme1n1": INSTANCE_STORE}, "1 of 2 internal disks were found: "),
    ],
)
def test_missing_disks_drain_the_node(tmp_path: Path, models: dict[str, str], why: str) -> None:
    machine = start_node(tmp_path, models)
    machine.fake("scontrol", 'echo "NodeName=train-0003 NodeAddr=10.0.0.9 State=IDLE+CLOUD"')
    machine.fake("systemctl")
    machine.steps("identity", "bundle")
    done = machine.steps("identity", "disks", "mounts", "join")
    assert done.returncode == 0 and f"FAILED disks: /local: {why}" in done.stderr, done.stdout + done.stderr
    (drained,) = [line for line in machine.calls("scontrol") if "State=DRAIN" in line]
    assert f"Reason=mount /local: {why}" in drained


def test_disks_that_the_image_has_mounted_are_used(tmp_path: Path) -> None:
    prepared = AWS.model_validate({**AWS.model_dump(), "prepared": {"unit": "own-nvme.service", "mount": "/opt/nvme"}})
    machine = start_node(tmp_path, DISKS, prepared)
    machine.fake("systemctl")
    machine.fake("mountpoint", "[[ ${!#} == */opt/nvme ]]")
    assert machine.steps("disks").returncode == 0
    assert "start own-nvme.service" in machine.calls("systemctl")
    assert machine.calls("mount") == [f"--bind {machine.root}/opt/nvme {machine.root}/local"]
    assert not machine.calls("mkfs.xfs")


def test_pools_without_a_mount_point_leave_their_disks(tmp_path: Path) -> None:
    machine = BootMachine(tmp_path, "train-spot", build_plan())
    assert machine.steps("disks").returncode == 0
    assert read_places(machine) == "" and not machine.calls("wipefs")
