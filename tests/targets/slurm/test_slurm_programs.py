"""The programs of the bundle, run: against a database that is a file, and a node that is a folder."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from slurm_plans import RELEASES, TENANTS, VARIANTS, h100, plan, variant

from supercloud.catalog import Catalog
from supercloud.catalog.kubernetes_parts import XidTable
from supercloud.plan.model.plan import Plan
from supercloud.targets import render

HERE = Path(__file__).parent


class Host:
    """A host with a rendered bundle, whose outside world is scripts."""

    def __init__(self, folder: Path, plan: Plan):
        self.folder, self.etc, self.bin = folder, folder / "etc", folder / "bin"
        render(plan, "slurm").write(self.etc, force=True)
        self.bin.mkdir(exist_ok=True)
        self.said = folder / "said"
        self.env = {"PATH": f"{self.bin}:/usr/bin:/bin", "SAID": str(self.said), "HEALTH_ROOT": str(folder / "root")}

    def fake(self, name: str, script: str) -> None:
        path = self.bin / name
        path.write_text(f'#!/bin/bash\necho {name} "$@" >>"$SAID"\n{script}\n')
        path.chmod(0o755)

    def run(self, program: str, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.etc / program, *args], env={**self.env, **env}, capture_output=True, text=True, timeout=60
        )

    @property
    def asked(self) -> list[str]:
        return self.said.read_text().splitlines() if self.said.exists() else []


@pytest.mark.slow
def test_shellcheck(tmp_path: Path) -> None:
    programs = []
    for number, name in enumerate(VARIANTS):
        folder = tmp_path / str(number)
        render(variant("22.05" if number % 2 else "26.05", name), "slurm").write(folder)
        programs += sorted(folder.glob("*.sh"))
    shellcheck = Path(sys.executable).with_name("shellcheck")
    done = subprocess.run([shellcheck, "--external-sources", *programs], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_programs_are_the_same_for_every_release() -> None:
    texts = [dict(render(variant(release, "tenants"), "slurm")) for release in RELEASES]
    for name in ("accounts.sh", "health-check.sh", "prolog.sh", "epilog.sh", "reserve-spares.sh"):
        assert len({text[name] for text in texts}) == 1


# --- accounts.sh


@pytest.fixture
def database(tmp_path: Path) -> Host:
    host = Host(tmp_path, plan(tenants=TENANTS))
    host.env["FAKE_SACCTMGR"] = str(tmp_path / "database.json")
    host.fake("sacctmgr", f'exec {sys.executable} -S -E "{HERE / "fake_sacctmgr.py"}" "$@"')
    return host


def _data(host: Host) -> dict[str, dict[str, dict[str, str]]]:
    found: dict[str, dict[str, dict[str, str]]] = json.loads(Path(host.env["FAKE_SACCTMGR"]).read_text())
    return found


@pytest.mark.slow
def test_accounts_twice(database: Host) -> None:
    first = database.run("accounts.sh")
    assert first.returncode == 0, first.stderr
    assert "vision: the limit on accelerators cannot be set yet" in first.stderr
    second = database.run("accounts.sh")
    assert (second.returncode, second.stdout) == (0, "nothing changed\n")
    path = Path(database.env["FAKE_SACCTMGR"])  # slurmctld has registered
    path.write_text(json.dumps({**json.loads(path.read_text()), "gpus": True}))
    third = database.run("accounts.sh")
    assert third.stdout.splitlines() == [
        "modify account where name=vision cluster=pod1 set fairshare=30 grptres=gres/gpu=304,node=-1 grpjobs=-1 "
        "grpsubmitjobs=-1 maxwall=-1 qos=low,normal defaultqos=normal"
    ]
    assert third.stderr == ""
    assert database.run("accounts.sh").stdout == "nothing changed\n"
    data = _data(database)
    assert data["qos"]["high"] == {"priority": "1000", "preempt": "low,normal", "flags": "DenyOnLimit"}
    assert data["accounts"]["llm"]["qos"] == "high,low,normal"
    assert (
        data["accounts"]["guests"] | {"maxwall": "2-00:00:00", "grpsubmitjobs": "5", "fairshare": "0"}
        == (data["accounts"]["guests"])
    )
    assert list(data["users"]) == [["ada", "llm"], ["bob", "llm"], ["cy", "vision"]]


@pytest.mark.slow
def test_accounts_follow_the_spec(database: Host, tmp_path: Path) -> None:
    """A lifted limit is lifted, preemption that is off is taken back, what is gone from the spec stays."""
    database.run("accounts.sh")
    changed = [{"name": "llm", "share": 10, "priority": "low"}]
    render(plan(tenants=changed, scheduler={"preemption": False}), "slurm").write(database.etc)
    done = database.run("accounts.sh")
    assert done.returncode == 0, done.stderr
    data = _data(database)
    assert data["accounts"]["llm"]["grpjobs"] == "-1" and data["accounts"]["llm"]["defaultqos"] == "low"
    assert data["qos"]["high"]["preempt"] == ""
    assert set(data["accounts"]) == {"llm", "vision", "guests"} and len(data["users"]) == 3
    assert database.run("accounts.sh").stdout == "nothing changed\n"


def test_accounts_says_what_failed(database: Host) -> None:
    database.fake(
        "sacctmgr", 'case "$*" in *"add qos"*) echo "no database" >&2; exit 1 ;; *show*tres*) echo "cpu|" ;; esac'
    )
    done = database.run("accounts.sh")
    assert done.returncode == 1 and "no database" in done.stderr and "add qos low: failed" in done.stderr


# --- health-check.sh

SMI = 'case $1 in -L) for n in 0 1 2 3 4 5 6 7; do echo "GPU $n: H100"; done ;; *) %s ;; esac'


@pytest.fixture
def node(tmp_path: Path) -> Host:
    """A healthy node: eight devices, a driver that sees them, eight links."""
    found = plan()
    pool = found.pools[0]
    adapter = pool.machine.adapters[0].model_copy(update={"devices": ("mlx5_0", "mlx5_1")})
    machine = pool.machine.model_copy(update={"adapters": (adapter,)})
    host = Host(tmp_path, replace(found, pools=(replace(pool, machine=machine),)))
    root = tmp_path / "root"
    for number in range(8):
        (root / "proc/driver/nvidia/gpus" / f"0000:{number}").mkdir(parents=True)
        (root / "dev").mkdir(exist_ok=True)
        (root / f"dev/nvidia{number}").touch()
    for device in ("mlx5_0", "mlx5_1"):
        (root / f"sys/class/infiniband/{device}/ports/1").mkdir(parents=True)
        (root / f"sys/class/infiniband/{device}/ports/1/state").write_text("4: ACTIVE\n")
    (root / "run").mkdir()
    host.fake("scontrol", '[ "$1" = update ] || echo "NodeName=x State=IDLE ThreadsPerCore=2"')
    host.fake("dmesg", "true")
    host.fake("df", 'echo head; echo "disk 100 50 50 50% /"')
    host.fake("nvidia-smi", SMI % 'seq 0 7 | sed "s/$/, 0/"')
    host.env["SLURMD_NODENAME"] = "train-0005"
    return host


def _reason(host: Host) -> str:
    [update] = [line for line in host.asked if line.startswith("scontrol update")]
    assert "NodeName=train-0005 State=DRAIN Reason=health-check: " in update
    return update.split("health-check: ")[1]


def test_healthy(node: Host) -> None:
    done = node.run("health-check.sh")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not any(line.startswith("scontrol") for line in node.asked)


def test_bare_machine_is_healthy(node: Host) -> None:
    """Device files without a driver, no RDMA, no tools: what a machine for tests looks like."""
    for gone in ("proc", "sys"):
        shutil.rmtree(node.folder / "root" / gone)
    (node.bin / "nvidia-smi").unlink()
    assert node.run("health-check.sh").returncode == 0


@pytest.mark.slow
def test_other_hosts_are_not_judged(node: Host) -> None:
    shutil.rmtree(node.folder / "root/dev")
    for name in ("ctl1", "train-005", "train-00055", "xtrain-0005"):
        assert node.run("health-check.sh", SLURMD_NODENAME=name).returncode == 0
    assert node.run("health-check.sh").returncode == 1
    (node.etc / "pool").write_text("train\n")
    assert node.run("health-check.sh", SLURMD_NODENAME="ip-10-0-0-7").returncode == 1


def test_missing_device(node: Host) -> None:
    (node.folder / "root/dev/nvidia3").unlink()
    assert node.run("health-check.sh", "quick").returncode == 1
    assert _reason(node) == "7 of 8 accelerators: no /dev/nvidia3"


def test_device_files_in_steps_are_looked_for_where_the_driver_has_them(node: Host) -> None:
    """AMD's driver has eight render nodes for each MI300X; those between are of its partitions and no accelerators."""
    facts = node.etc / "node-facts.txt"
    facts.write_text(facts.read_text().replace(" /dev/nvidia 0 1 ", " /dev/dri/renderD 128 8 "))
    (node.folder / "root/dev/dri").mkdir()
    for number in range(128, 192, 8):
        (node.folder / f"root/dev/dri/renderD{number}").touch()
    assert node.run("health-check.sh").returncode == 0
    (node.folder / "root/dev/dri/renderD152").rename(node.folder / "root/dev/dri/renderD129")
    assert node.run("health-check.sh", "quick").returncode == 1
    assert _reason(node) == "7 of 8 accelerators: no /dev/dri/renderD152"


def test_device_off_the_bus(node: Host) -> None:
    (node.folder / "root/proc/driver/nvidia/gpus/0000:3").rmdir()
    assert node.run("health-check.sh", "quick").returncode == 1
    assert _reason(node) == "the driver sees 7 of 8 accelerators"


def test_memory_errors(node: Host) -> None:
    node.fake("nvidia-smi", SMI % 'echo "2, 3"; echo "3, [N/A]"')
    node.run("health-check.sh")
    assert _reason(node) == "accelerator 2: 3 uncorrectable memory errors"


@pytest.mark.slow
def test_memory_errors_are_reported_once_each(node: Host) -> None:
    """The counter stays until the driver is loaded again: who resumed the node has seen it; further errors are new."""
    for errors, code in (("2, 3", 1), ("2, 3", 0), ("2, 4", 1), ("2, 4", 0)):
        node.fake("nvidia-smi", SMI % f'echo "{errors}"')
        assert node.run("health-check.sh").returncode == code, errors


@pytest.mark.slow
def test_busy_nodes_are_looked_at(node: Host) -> None:
    """Except their disks, which a job may fill and empty again."""
    text = render(plan(), "slurm")["slurm.conf"]
    assert "HealthCheckNodeState=ANY,CYCLE\n" in text
    node.fake("df", 'echo head; echo "disk 100 99 1 99% /tmp"')
    step = node.folder / "root/proc/77"
    step.mkdir()
    (step / "cmdline").write_bytes(b"slurmstepd: [7.batch]\0\0\0")
    assert node.run("health-check.sh").returncode == 0
    (step / "cmdline").write_bytes(b"/usr/sbin/slurmstepd\0infinity\0")  # the one of slurmd's scope has no job
    assert node.run("health-check.sh").returncode == 1
    assert _reason(node) == "/tmp is 99% full"
    node.said.unlink()
    (step / "cmdline").write_bytes(b"slurmstepd: [7.batch]\0\0\0")
    node.fake("dmesg", "echo '[ 200.5] NVRM: Xid (PCI:0000:3b:00): 79, x'")
    assert node.run("health-check.sh").returncode == 1
    assert _reason(node) == "the driver reported Xid 79"


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
def test_only_cgroups_of_slurmd_spare_a_process(job: Host, tmp_path: Path, line: str, inside: bool) -> None:
    """A user names cgroups of their own as they like."""
    text = (job.etc / "epilog.sh").read_text()
    function = re.search(r"^in_a_job\(\) \{.*?^\}\n", text, re.M | re.S)
    assert function is not None
    (tmp_path / "4").mkdir()
    (tmp_path / "4/cgroup").write_text(f"1:name=systemd:/user.slice/user-1000.slice\n{line}\n")
    script = function[0].replace("/proc/", f"{tmp_path}/") + "in_a_job 4\n"
    assert (subprocess.run(["bash", "-c", script], check=False).returncode == 0) == inside


def test_xid_is_reported_once(node: Host) -> None:
    node.fake(
        "dmesg",
        "echo '[ 123.4] NVRM: Xid (PCI:0000:3b:00): 31, pid=1'; echo '[  200.5] NVRM: Xid (PCI:0000:3b:00): 79, x'",
    )
    assert node.run("health-check.sh").returncode == 1
    assert _reason(node) == "the driver reported Xid 79"
    assert node.run("health-check.sh").returncode == 0


@pytest.mark.parametrize("code", [46, 48, 54, 109, 142, 151, 158, 43, 45, 74, 94, 149, 154, 4])
def test_a_node_is_drained_for_the_codes_of_the_catalog(node: Host, code: int) -> None:
    """As Kubernetes is; a code that ends like another one is another one."""
    node.fake("dmesg", f"echo '[ 200.5] NVRM: Xid (PCI:0000:3b:00): {code}, pid=1'")
    fatal = code in Catalog().get(XidTable, "nvidia").list_codes("critical")
    assert node.run("health-check.sh").returncode == int(fatal)
    if fatal:
        assert _reason(node) == f"the driver reported Xid {code}"


def test_links(node: Host) -> None:
    (node.folder / "root/sys/class/infiniband/mlx5_1/ports/1/state").write_text("1: DOWN\n")
    assert node.run("health-check.sh").returncode == 1
    assert _reason(node) == "adapter mlx5_1: link is DOWN"


def test_full_disk(node: Host) -> None:
    node.fake("df", 'echo head; echo "disk 100 99 1 99% /"; echo "disk 100 99 1 99% /"')
    node.run("health-check.sh")
    assert _reason(node) == "/ is 99% full"


def test_a_reason_is_not_overwritten(node: Host) -> None:
    (node.folder / "root/dev/nvidia0").unlink()
    node.fake("scontrol", 'echo "NodeName=x State=IDLE+DRAIN Reason=by hand"')
    assert node.run("health-check.sh").returncode == 1
    assert not any("update" in line for line in node.asked)


# --- prolog.sh, epilog.sh, task-prolog.sh


@pytest.fixture
def job(node: Host) -> Host:
    """The node, with the folders of jobs somewhere we may write."""
    for name in ("prolog.sh", "task-prolog.sh", "epilog.sh"):
        path = node.etc / name
        path.write_text(path.read_text().replace("/var/spool/slurmd/scratch", str(node.folder / "scratch")))
    node.env |= {"SLURM_JOB_ID": "7", "SLURM_JOB_UID": str(os.getuid()), "SLURM_JOB_GID": str(os.getgid())}
    return node


def test_a_job_has_a_folder(job: Host) -> None:
    assert job.run("task-prolog.sh").stdout == ""
    assert job.run("prolog.sh").returncode == 0
    folder = job.folder / "scratch/7"
    assert folder.stat().st_mode & 0o777 == 0o700 and folder.parent.stat().st_mode & 0o777 == 0o755
    assert job.run("task-prolog.sh").stdout == f"export TMPDIR={folder}\n"
    (folder / "left").touch()
    assert job.run("epilog.sh", SLURM_JOB_UID="0").returncode == 0
    assert not folder.exists() and folder.parent.exists()


def test_a_broken_node_is_refused(job: Host) -> None:
    (job.folder / "root/dev/nvidia7").unlink()
    assert job.run("prolog.sh").returncode == 1
    assert job.run("epilog.sh", SLURM_JOB_UID="0").returncode == 1


def test_epilog_removes_nothing_else(job: Host) -> None:
    (job.folder / "scratch/7").mkdir(parents=True)
    job.run("epilog.sh", SLURM_JOB_ID="../scratch", SLURM_JOB_UID="0")
    assert (job.folder / "scratch/7").exists()


def test_epilog_lists_the_list_processes_a_user(job: Host) -> None:
    function = re.search(r"^list_processes\(\) \{.*\}\n", (job.etc / "epilog.sh").read_text(), re.M)
    assert function is not None

    def list_processes(user: int) -> list[int]:
        script = f"{function[0]}list_processes {user}\n"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        assert not done.stderr
        return list(map(int, done.stdout.split()))

    assert os.getpid() in list_processes(os.geteuid()) and os.getpid() not in list_processes(4_000_000_000)


@pytest.mark.slow
def test_epilog_ends_what_is_left(job: Host) -> None:
    """Only processes outside jobs, and only when the user has no other job here."""
    # no other user is to be had here: the list of processes alone is another's
    lists = "-slE) [ ! -e /proc/$VICTIM/ns ] || echo /proc/$VICTIM/status"
    job.fake("grep", f'case $1 in {lists} ;; *) exec /bin/grep "$@" ;; esac')
    for answer, ends in (("echo 7; echo 8", False), ("exit 1", False), ("echo 7", True)):
        victim = subprocess.Popen(["sleep", "60"])
        try:
            job.fake("squeue", answer)
            job.run("epilog.sh", SLURM_JOB_UID="12345", VICTIM=str(victim.pid))
            if ends:
                assert victim.wait(5) == -15
            else:
                assert victim.poll() is None
        finally:
            victim.kill()
            victim.wait()


# --- reserve-spares.sh


@pytest.mark.slow
def test_spares(tmp_path: Path) -> None:
    host = Host(tmp_path, plan(pools=[h100(spares=2)]))
    host.fake("sinfo", 'cat "$SAID.broken" 2>/dev/null; true')
    host.fake("scontrol", '[ "$2" = show ] && { cat "$SAID.held" 2>/dev/null || exit 1; }; true')
    broken, held = Path(f"{host.said}.broken"), Path(f"{host.said}.held")

    def acts() -> list[str]:
        host.said.unlink(missing_ok=True)
        assert host.run("reserve-spares.sh").returncode == 0
        return [line for line in host.asked if line.startswith("scontrol") and "show" not in line]

    [create] = acts()
    assert "create reservation ReservationName=spares-train PartitionName=train Features=train NodeCnt=2" in create
    assert "Flags=REPLACE_DOWN" in create
    held.write_text("ReservationName=spares-train Nodes=train-[0001-0002] NodeCnt=2 CoreCnt=224\n")
    assert acts() == []
    broken.write_text("train-0009\ntrain-0009\n")
    assert acts() == ["scontrol update ReservationName=spares-train NodeCnt=1"]
    broken.write_text("train-0009\ntrain-0010\ntrain-0011\n")
    assert acts() == ["scontrol delete ReservationName=spares-train"]
    held.unlink()
    assert acts() == []
    assert "reserve-spares.sh" not in render(plan(), "slurm")
