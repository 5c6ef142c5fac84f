"""Places of jobs on a booted machine: a client from the archive, a timer that mounts later, a loop device as disk.

The kernel of test machines may have neither NFS nor md. A helper of mount stands in for a network file system: it
fails until its server is there. Arrays of several disks are tested with commands that are scripts (tests/targets/boot).
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from real.machines.machines import Machine, Machines

from supercloud.catalog.local_disks import LocalDisks
from supercloud.catalog.storage_service import MountRule
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec import ClusterSpec
from supercloud.targets import render
from supercloud.targets.boot import render_boot_bundle

HELPER = """#!/bin/sh
[ -e /srv/served ] || { echo "mount.labfs: no route to $1" >&2; exit 32; }
exec mount -i -t tmpfs labfs "$2"
"""
LINKS = "lab-disk-"


def build_plan(mount: str = "labfs", disks: int = 1) -> Plan:
    declared = ClusterSpec.model_validate(
        {
            "name": "cloudy",
            "site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"]},
            "scheduler": {"kind": "slurm", "version": "25.11"},
            "pools": [{"name": "train", "machine": "i3en.3xlarge", "nodes": 2, "local": "/local"}],
            "storage": [{"name": "scratch", "kind": "nfs", "capacity": "1 TiB", "mount": "/scratch"}],
        }
    )
    plan = resolve(declared)
    assert not plan.errors and plan.cloud is not None, plan.errors
    storage = tuple(replace(one, mount_rule=MountRule(type=mount, options="rw")) for one in plan.cloud.storage)
    found = LocalDisks(name="lab", title="loop devices", source=("losetup",), links=LINKS)
    pool = plan.pools[0]
    own = tuple(one.model_copy(update={"count": disks}) for one in pool.machine.disks)
    pool = replace(pool, machine=pool.machine.model_copy(update={"disks": own}))
    return replace(plan, pools=(pool,), cloud=replace(plan.cloud, storage=storage, local_disks=found))


def install_boot(machine: Machine, plan: Plan) -> None:
    """Copy the bundle to where the user data of a node puts it."""
    bundle = render_boot_bundle(plan, "cloud_ready() { :; }")
    text = next(bundle[path] for path in bundle if path.startswith("user-data/train"))
    environment = text.split("<<'ENV'\n")[1].split("\nENV\n")[0].replace("@{source_scratch}", "server:/scratch")
    with tempfile.TemporaryDirectory() as folder:
        bundle.write(Path(folder) / "boot")
        render(plan, "settings").write(Path(folder) / "settings")
        machine.run(
            "rm -rf /opt/supercloud/{boot,settings} /etc/supercloud/mount-state-*; "
            "mkdir -p /etc/supercloud /var/log/supercloud"
        )
        machine.copy_in(Path(folder) / "boot", "/opt/supercloud/")
        machine.copy_in(Path(folder) / "settings", "/opt/supercloud/")
    machine.run("cat >/etc/supercloud/env", input=environment + "\n")
    machine.run("touch /opt/supercloud/cloud.sh")


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A loop device of 400 MB; XFS needs 300."""
    image = tmp_path_factory.mktemp("disk") / "image"
    with image.open("wb") as file:
        file.truncate(400 * 10**6)
    device = subprocess.run(
        ["losetup", "--find", "--show", image], check=True, capture_output=True, text=True
    ).stdout.strip()
    yield device
    subprocess.run(["losetup", "--detach", device], check=True)


@pytest.fixture(scope="module")
def machine(loop: str) -> Iterator[Machine]:
    with Machines() as machines:
        found = machines.boot("node", 21, show=[loop])
        found.run(f"mkdir -p /dev/disk/by-id && ln -s {loop} /dev/disk/by-id/{LINKS}0")
        found.run("cat >/sbin/mount.labfs && chmod 755 /sbin/mount.labfs", input=HELPER)
        yield found
        found.run("umount /local", check=False)


def run_steps(machine: Machine, *steps: str, **environment: str) -> str:
    """The log of these steps."""
    done = machine.run(
        ["/opt/supercloud/boot/boot.sh", *steps], env={"BOOT_PAUSE": "1", "BOOT_RETRY": "2", **environment}
    )
    return done.stdout + done.stderr


def test_the_client_of_nfs_is_installed_from_the_archive(machine: Machine) -> None:
    install_boot(machine, build_plan("nfs4"))
    assert machine.run("command -v mount.nfs4", check=False).returncode
    output = run_steps(machine, "mounts")
    assert "mounts: installing nfs-common" in output and machine.run("command -v mount.nfs4").stdout
    # there is no such server
    assert "FAILED mounts: /scratch: server:/scratch cannot be mounted: " in output and "mount.nfs" in output
    machine.run("systemctl disable --now supercloud-mounts.timer")


def test_a_timer_mounts_what_was_not_there_at_boot(machine: Machine) -> None:
    install_boot(machine, build_plan())
    machine.run("rm -f /etc/supercloud/node; umount /scratch || true")
    output = run_steps(machine, "disks", "mounts")
    assert (
        "FAILED mounts: /scratch: server:/scratch cannot be mounted: mount.labfs: no route to server:/scratch" in output
    )
    # also after a restart of the machine
    assert machine.run("systemctl is-enabled supercloud-mounts.timer").stdout == "enabled\n"
    machine.wait("systemctl show -P ExecMainStartTimestampMonotonic supercloud-mounts | grep -v '^0$'")
    assert machine.run("mountpoint -q /scratch", check=False).returncode
    machine.run("touch /srv/served")
    machine.wait("mountpoint -q /scratch")
    machine.wait("! systemctl is-enabled supercloud-mounts.timer && ! systemctl is-active supercloud-mounts.timer")
    log = machine.run("cat /var/log/supercloud/boot.log").stdout.splitlines()
    assert [line.split(" ", 1)[1] for line in log] == ["/scratch is mounted now"]
    assert machine.run("cat /etc/supercloud/mount-state-mounts").stdout == "/scratch\n"


def test_an_internal_disk_is_formatted_once(machine: Machine, loop: str) -> None:
    install_boot(machine, build_plan())
    machine.run(f"umount /local || true; wipefs -qa {loop}")
    assert f"formatting {loop}: it is blank" in run_steps(machine, "disks")
    assert machine.run("stat -c %a /local").stdout == "1777\n"
    assert machine.run(f"blkid -p -o value -s LABEL {loop}").stdout == "sc-local\n"
    machine.run("echo kept >/local/file")
    assert "/local is already mounted" in run_steps(machine, "disks")
    # after a restart
    machine.run("umount /local")
    assert "formatting" not in run_steps(machine, "disks")
    assert machine.run("cat /local/file").stdout == "kept\n"
    # after a stop and start the provider gives a blank disk
    machine.run(f"umount /local && wipefs -qa {loop}")
    assert "formatting" in run_steps(machine, "disks")
    assert machine.run("ls /local").stdout == ""


@pytest.mark.parametrize(
    "make, found",
    [
        ("mkfs.ext4 -q -F -L data {}", "ext4 data"),
        ("apt-get install -yq fdisk && echo label:gpt | sfdisk -q {}", "gpt"),
        ("mkfs.xfs -q -f -L data {}", "xfs data"),
        ("mkswap {}", "swap"),
    ],
)
def test_a_disk_of_others_is_never_formatted(machine: Machine, loop: str, make: str, found: str) -> None:
    install_boot(machine, build_plan())
    machine.run(f"umount /local || true; wipefs -qa {loop}; {make.format(loop)}")
    before = machine.run(f"sha256sum {loop}").stdout
    output = run_steps(machine, "disks")
    assert (
        f"FAILED disks: /local: {loop} is neither blank nor was formatted here, and is left as it is: {found}" in output
    )
    assert machine.run(f"sha256sum {loop}").stdout == before
    assert machine.run("mountpoint -q /local", check=False).returncode


def test_a_missing_disk_is_a_reason(machine: Machine) -> None:
    install_boot(machine, build_plan(disks=2))
    machine.run("umount /local || true")
    assert "FAILED disks: /local: 1 of 2 internal disks were found: /dev/loop" in run_steps(machine, "disks")
