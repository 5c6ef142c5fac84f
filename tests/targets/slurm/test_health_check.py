"""health-check.sh: which nodes are drained, and with which reason."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from slurm_hosts import SMI, Host
from slurm_plans import build_plan

from supercloud.catalog import Catalog
from supercloud.catalog.kubernetes_parts import XidTable
from supercloud.targets import render


def _get_reason(host: Host) -> str:
    [update] = [line for line in host.asked if line.startswith("scontrol update")]
    assert "NodeName=train-0005 State=DRAIN Reason=health-check: " in update
    return update.split("health-check: ")[1]


def test_a_healthy_node_has_no_reason(node: Host) -> None:
    done = node.run("health-check.sh")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not any(line.startswith("scontrol") for line in node.asked)


def test_a_machine_without_devices_is_healthy(node: Host) -> None:
    """Device files without a driver, no RDMA, no tools: what a machine for tests looks like."""
    for gone in ("proc", "sys"):
        shutil.rmtree(node.folder / "root" / gone)
    (node.bin / "nvidia-smi").unlink()
    assert node.run("health-check.sh").returncode == 0


@pytest.mark.slow
def test_hosts_that_are_not_nodes_are_not_checked(node: Host) -> None:
    shutil.rmtree(node.folder / "root/dev")
    for name in ("ctl1", "train-005", "train-00055", "xtrain-0005"):
        assert node.run("health-check.sh", SLURMD_NODENAME=name).returncode == 0
    assert node.run("health-check.sh").returncode == 1
    (node.etc / "pool").write_text("train\n")
    assert node.run("health-check.sh", SLURMD_NODENAME="ip-10-0-0-7").returncode == 1


def test_a_missing_device_file_drains_the_node(node: Host) -> None:
    (node.folder / "root/dev/nvidia3").unlink()
    assert node.run("health-check.sh", "quick").returncode == 1
    assert _get_reason(node) == "7 of 8 accelerators: no /dev/nvidia3"


def test_device_files_may_be_numbered_in_steps(node: Host) -> None:
    """AMD's driver has eight render nodes for each MI300X; those between are of its partitions and no accelerators."""
    facts = node.etc / "node-facts.txt"
    facts.write_text(facts.read_text().replace(" /dev/nvidia 0 1 ", " /dev/dri/renderD 128 8 "))
    (node.folder / "root/dev/dri").mkdir()
    for number in range(128, 192, 8):
        (node.folder / f"root/dev/dri/renderD{number}").touch()
    assert node.run("health-check.sh").returncode == 0
    (node.folder / "root/dev/dri/renderD152").rename(node.folder / "root/dev/dri/renderD129")
    assert node.run("health-check.sh", "quick").returncode == 1
    assert _get_reason(node) == "7 of 8 accelerators: no /dev/dri/renderD152"


def test_a_device_off_the_bus_drains_the_node(node: Host) -> None:
    (node.folder / "root/proc/driver/nvidia/gpus/0000:3").rmdir()
    assert node.run("health-check.sh", "quick").returncode == 1
    assert _get_reason(node) == "the driver sees 7 of 8 accelerators"


def test_memory_errors_drain_the_node(node: Host) -> None:
    node.fake("nvidia-smi", SMI % 'echo "2, 3"; echo "3, [N/A]"')
    node.run("health-check.sh")
    assert _get_reason(node) == "accelerator 2: 3 uncorrectable memory errors"


@pytest.mark.slow
def test_memory_errors_are_reported_once_each(node: Host) -> None:
    """The counter stays until the driver is loaded again: who resumed the node has seen it; further errors are new."""
    for errors, code in (("2, 3", 1), ("2, 3", 0), ("2, 4", 1), ("2, 4", 0)):
        node.fake("nvidia-smi", SMI % f'echo "{errors}"')
        assert node.run("health-check.sh").returncode == code, errors


@pytest.mark.slow
def test_busy_nodes_are_checked(node: Host) -> None:
    """Except their disks, which a job may fill and empty again."""
    text = render(build_plan(), "slurm")["slurm.conf"]
    assert "HealthCheckNodeState=ANY,CYCLE\n" in text
    node.fake("df", 'echo head; echo "disk 100 99 1 99% /tmp"')
    step = node.folder / "root/proc/77"
    step.mkdir()
    (step / "cmdline").write_bytes(b"slurmstepd: [7.batch]\0\0\0")
    (step / "status").write_text("Name:\tslurmstepd\nUid:\t0\t0\t0\t0\n")
    assert node.run("health-check.sh").returncode == 0
    (step / "status").write_text("Name:\tsleep\nUid:\t1000\t1000\t1000\t1000\n")  # a user took the name
    assert node.run("health-check.sh").returncode == 1
    node.call_log.unlink()
    (step / "status").write_text("Name:\tslurmstepd\nUid:\t0\t0\t0\t0\n")
    (step / "cmdline").write_bytes(b"/usr/sbin/slurmstepd\0infinity\0")  # the one of slurmd's scope has no job
    assert node.run("health-check.sh").returncode == 1
    assert _get_reason(node) == "/tmp is 99% full"
    node.call_log.unlink()
    (step / "cmdline").write_bytes(b"slurmstepd: [7.batch]\0\0\0")
    node.fake("dmesg", "echo '[ 200.5] NVRM: Xid (PCI:0000:3b:00): 79, x'")
    assert node.run("health-check.sh").returncode == 1
    assert _get_reason(node) == "the driver reported Xid 79"


@pytest.mark.parametrize(
    "line, inside",
    [
        ("0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0", True),
        ("0::/system.slice/train-0005_slurmstepd.scope/job_7/step_extern", True),
        ("5:memory:/slurm/uid_1000/job_7/step_batch", True),
        ("5:memory:/slurm_train-0005/uid_1000/job_7", True),
        ("0::/user.slice/user-1000.slice/user@1000.service/job_7", False),
        ("0::/user.slice/user-1000.slice/user@1000.service/slurmstepd.scope/job_7/step_0", False),
        ("0::/system.slice/slurm-exporter.service", False),
        ("0::/user.slice/user-1000.slice/session-3.scope", False),
    ],
)
def test_only_processes_in_cgroups_of_slurmd_are_kept(job: Host, tmp_path: Path, line: str, inside: bool) -> None:
    """Users can give their cgroups any name."""
    text = (job.etc / "epilog.sh").read_text()
    function = re.search(r"^in_a_job\(\) \{.*?^\}\n", text, re.M | re.S)
    assert function is not None
    (tmp_path / "4").mkdir()
    (tmp_path / "4/cgroup").write_text(f"1:name=systemd:/user.slice/user-1000.slice\n{line}\n")
    script = function[0].replace("/proc/", f"{tmp_path}/") + "in_a_job 4\n"
    assert (subprocess.run(["bash", "-c", script], check=False).returncode == 0) == inside


def test_an_xid_is_reported_once(node: Host) -> None:
    node.fake(
        "dmesg",
        "echo '[ 123.4] NVRM: Xid (PCI:0000:3b:00): 31, pid=1'; echo '[  200.5] NVRM: Xid (PCI:0000:3b:00): 79, x'",
    )
    assert node.run("health-check.sh").returncode == 1
    assert _get_reason(node) == "the driver reported Xid 79"
    assert node.run("health-check.sh").returncode == 0


@pytest.mark.parametrize("code", [46, 48, 54, 109, 142, 151, 158, 43, 45, 74, 94, 149, 154, 4])
def test_a_node_is_drained_for_the_codes_of_the_catalog(node: Host, code: int) -> None:
    """As Kubernetes is; a code that ends like another one is another one."""
    node.fake("dmesg", f"echo '[ 200.5] NVRM: Xid (PCI:0000:3b:00): {code}, pid=1'")
    fatal = code in Catalog().get(XidTable, "nvidia").list_codes("critical")
    assert node.run("health-check.sh").returncode == int(fatal)
    if fatal:
        assert _get_reason(node) == f"the driver reported Xid {code}"


def test_a_link_that_is_down_is_reported(node: Host) -> None:
    (node.folder / "root/sys/class/infiniband/mlx5_1/ports/1/state").write_text("1: DOWN\n")
    assert node.run("health-check.sh").returncode == 1
    assert _get_reason(node) == "adapter mlx5_1: link is DOWN"


def test_users_cannot_write_errors_of_the_driver(node: Host) -> None:
    """The kernel reports a crash with the names of the process and of its file, which a user chooses."""
    crash = "segfault at 0 ip 0000560f sp 00007ffe error 6 in"
    lines = [
        f"[74658.053657] NVRM: Xid ([18772]: {crash} x): 79[115b,560f+1000]",
        f"[76306.360111] NVRM: Xid (PCI:[22590]: {crash} NVRM: Xid (PCI:0000:3b:00): 79, b[115b,55f6+1000]",
        f"[76306.360112] demo[22590]: {crash} x",
        "               [ 200.5] NVRM: Xid (PCI:0000:3b:00): 79, a[115b,559f+1000]",
    ]
    node.fake("dmesg", "cat <<'E'\n" + "\n".join(lines) + "\nE")
    assert node.run("health-check.sh").returncode == 0
    node.fake("dmesg", "echo '[ 200.5] NVRM: Xid (PCI:0000:3b:00 GPU-I:05): 79, x'")
    assert node.run("health-check.sh").returncode == 1


def test_devices_that_udev_has_renamed_are_reported_once(node: Host) -> None:
    folder = node.folder / "root/sys/class/infiniband"
    for number, device in enumerate(sorted(folder.iterdir())):
        device.rename(folder / f"ibp{number + 24}s0")
    assert node.run("health-check.sh").returncode == 1
    reason = _get_reason(node)
    assert reason.startswith("missing adapters: mlx5_") and "udev has renamed ibp" in reason and ";" in reason


def test_a_full_disk_drains_the_node(node: Host) -> None:
    node.fake("df", 'echo head; echo "disk 100 99 1 99% /"; echo "disk 100 99 1 99% /"')
    node.run("health-check.sh")
    assert _get_reason(node) == "/ is 99% full"


def test_a_reason_is_not_overwritten(node: Host) -> None:
    (node.folder / "root/dev/nvidia0").unlink()
    node.fake("scontrol", 'echo "NodeName=x State=IDLE+DRAIN Reason=by hand"')
    assert node.run("health-check.sh").returncode == 1
    assert not any("update" in line for line in node.asked)


def test_a_node_without_a_file_system_of_the_spec_is_drained(tmp_path: Path) -> None:
    """A job that wrote to the empty directory filled the system disk."""
    mounts = [("scratch", "/scratch"), ("home", "/home")]
    stores = [{"name": name, "kind": "nfs", "capacity": "10 TiB", "mount": mount} for name, mount in mounts]
    pools = [{"name": "train", "machine": "cpu-6740e", "nodes": 8}]
    objects = {"name": "objects", "kind": "object", "capacity": "10 TiB"}
    plan = build_plan("24.11", pools, storage=[*stores, objects], fabrics=[])
    node = Host(tmp_path, plan)
    node.env["SLURMD_NODENAME"] = "train-0005"
    node.fake("scontrol", 'echo "NodeName=x State=IDLE"')
    proc = tmp_path / "root/proc"
    proc.mkdir(parents=True)
    (proc / "mounts").write_text("fs:/ /home nfs rw 0 0\nfs:/scratch /scratch nfs rw 0 0\n")
    assert node.run("health-check.sh", "quick").returncode == 0
    (proc / "mounts").write_text("fs:/ /home nfs rw 0 0\n")
    assert node.run("health-check.sh", "quick").returncode == 1
    assert _get_reason(node) == "mount /scratch: it is not mounted"


def test_a_node_of_a_cloud_without_its_file_systems_is_drained(node: Host) -> None:
    """The boot lists the places that jobs need; one that could not be mounted has a reason."""
    boot, proc = node.folder / "root/etc/supercloud", node.folder / "root/proc"
    boot.mkdir(parents=True)
    (boot / "mount-state-mounts").write_text("/home\n/scratch/\n")
    (boot / "mount-state-disks").write_text("/local\n")
    (proc / "mounts").write_text(
        "fs:/ /home nfs rw 0 0\nfs@tcp:/x /scratch lustre rw 0 0\n/dev/md0 /local xfs rw 0 0\n"
    )
    assert node.run("health-check.sh", "quick").returncode == 0
    (boot / "mount-state-mounts").write_text("/home fs:/ cannot be mounted: no route\n/scratch\n")
    (proc / "mounts").write_text("fs:/ /homes nfs rw 0 0\n/dev/md0 /local xfs rw 0 0\n")
    assert node.run("health-check.sh", "quick").returncode == 1
    assert _get_reason(node) == ("mount /home: fs:/ cannot be mounted: no route;mount /scratch: it is not mounted")
