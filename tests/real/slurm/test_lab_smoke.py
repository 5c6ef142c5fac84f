"""The lab itself works, on both Slurms, with four nodes of a hand-written bundle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import Slurm
from lab import Lab, LabError

SLURM_CONF = """\
ClusterName=tiny
SlurmctldHost=head(172.16.0.1)
SlurmUser=slurm
AuthType=auth/{auth}
CredType=cred/{auth}
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup,task/affinity
PrologFlags=Alloc,Contain
Prolog=/etc/slurm/prolog.sh
ReturnToService=2
SelectType=select/cons_tres
GresTypes=gpu
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=books
AccountingStorageEnforce=associations,limits,qos,safe
NodeName=tiny[1-4] NodeAddr=10.9.8.[11-14] Sockets=2 CoresPerSocket=32 RealMemory=500000 Gres=gpu:8
PartitionName=batch Nodes=ALL Default=YES
"""
FILES = {
    "gres.conf": "NodeName=tiny[1-4] Name=gpu File=/dev/nvidia[0-7]\n",
    "cgroup.conf": "ConstrainCores=yes\nConstrainDevices=yes\n",
    "slurmdbd.conf": """\
AuthType=auth/{auth}
DbdHost=books
SlurmUser=slurm
LogFile=/var/log/slurm/slurmdbd.log
PidFile=/run/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=books
StorageUser=slurm
StoragePass=it-is-$ecret
StorageLoc=slurm_acct_db
""",
    "accounts.sh": """\
set -e
sacctmgr -i add cluster tiny
sacctmgr -i add account research
sacctmgr -i add user lab account=research
""",
    "prolog.sh": "#!/bin/sh\ntouch /home/lab/prolog-$SLURMD_NODENAME\n",
}


def bundle(folder: Path, slurm: Slurm) -> Path:
    auth = "munge" if slurm.release == (22, 5) else "slurm"
    conf = SLURM_CONF.replace("CredType=cred/slurm", "CredType=auth/slurm")
    for name, text in {"slurm.conf": conf, **FILES}.items():
        (folder / name).write_text(text.replace("{auth}", auth).replace("cred/slurm", "auth/slurm"))
        (folder / name).chmod(0o755 if name.endswith(".sh") else 0o644)
    return folder


@pytest.fixture(params=["slurm_2205", "slurm_new"])
def slurm(request: pytest.FixtureRequest) -> Slurm:
    found: Slurm = request.getfixturevalue(request.param)
    return found


def leftovers() -> list[Path]:
    return list(Path("/sys/fs/cgroup").glob("*/supercloud-lab-*"))


def test_a_job_gets_its_nodes_and_only_its_gpus(slurm: Slurm, tmp_path: Path) -> None:
    with Lab(bundle(tmp_path, slurm), slurm.rootfs) as lab:
        lab.start()
        lab.wait_nodes("tiny[1-4]", 4)
        names = lab.run("srun -N4 --gpus-per-node=8 hostname | sort", user="lab").stdout.split()
        assert names == ["tiny1", "tiny2", "tiny3", "tiny4"]
        opened = lab.run("srun -w tiny2 --gpus-per-node=1 cat /dev/nvidia0 /dev/nvidia1", user="lab", check=False)
        assert "/dev/nvidia0: No such device or address" in opened.stderr
        assert "/dev/nvidia1: Operation not permitted" in opened.stderr
        assert lab.run("ls /home/lab/prolog-*").stdout.count("tiny") == 4
        assert lab.on("tiny3", "hostname && ip -br -4 addr show eth0").stdout.split()[0::3] == [
            "tiny3",
            "10.9.8.13/32",
        ]


def test_a_killed_node_requeues_its_job(slurm: Slurm, tmp_path: Path) -> None:
    with Lab(bundle(tmp_path, slurm), slurm.rootfs, overlay_lines=["SlurmdTimeout=6"]) as lab:
        lab.start()
        lab.wait_nodes("tiny[1-4]", 4)
        job = lab.run("sbatch --parsable --requeue -N2 -w tiny[1-2] --wrap 'srun sleep 600'", user="lab").stdout.strip()
        # a node that dies while a step is being launched makes srun, and so the job, fail instead
        lab.wait_for("the step", lambda: ("tiny2", "sleep") in [row[:2] for row in lab.processes()])
        lab.kill_node("tiny2")
        lab.wait_for("a requeue", lambda: "Restarts=1" in lab.run(f"scontrol show job {job}").stdout, timeout=90)
        lab.start_nodes("tiny2")
        lab.wait_nodes("tiny2", 1)


def test_labs_with_nodes_of_the_same_names_run_side_by_side(slurm: Slurm, slurm_2205: Slurm, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with (
        Lab(bundle(tmp_path / "one", slurm), slurm.rootfs) as one,
        Lab(bundle(tmp_path / "two", slurm_2205)) as two,
    ):
        for lab in (one, two):
            lab.start("tiny[1-2]")
        for lab in (one, two):
            lab.wait_nodes("tiny[1-2]", 2)
            lab.run("srun -N2 --gpus-per-node=8 true", user="lab")


def test_a_key_that_slurm_does_not_know_is_told_at_once(slurm: Slurm, tmp_path: Path) -> None:
    with Lab(bundle(tmp_path, slurm), slurm.rootfs, overlay_lines=["NoSuchKey=1"]) as lab:
        with pytest.raises(LabError, match="(?i)nosuchkey"):
            lab.start()


def test_a_dead_daemon_ends_the_wait(slurm_2205: Slurm, tmp_path: Path) -> None:
    with Lab(bundle(tmp_path, slurm_2205)) as lab:
        lab.start(nodes="")
        lab.run("pkill -9 slurmctld")
        with pytest.raises(LabError, match="slurmctld died while the lab waited for: 1 of tiny1 idle"):
            lab.wait_nodes("tiny1", 1)


def test_placements_need_no_slurmd(slurm: Slurm, tmp_path: Path) -> None:
    with Lab(bundle(tmp_path, slurm), slurm.rootfs, cloud_nodes=True) as lab:
        lab.start(nodes="")
        job = lab.run("sbatch --parsable -N3 --exclusive --wrap true", user="lab").stdout.strip()
        lab.wait_for("a placement", lambda: lab.run(f"squeue -h -j {job} -o %N").stdout.strip() == "tiny[1-3]")


def test_nothing_outlives_a_driver_that_is_killed(slurm_2205: Slurm, tmp_path: Path) -> None:
    code = f"from lab import Lab\nlab = Lab({str(bundle(tmp_path, slurm_2205))!r}).__enter__()\n"
    code += "lab.start('tiny1')\nprint(lab.pid, flush=True)\ninput()\n"
    driver = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert driver.stdin and driver.stdout
    with driver:
        pid = int(driver.stdout.readline())
        assert "supercloud-lab-" in Path(f"/proc/{pid}/cgroup").read_text()
        os.kill(driver.pid, signal.SIGKILL)
    end = time.monotonic() + 20
    while Path(f"/proc/{pid}").exists() or leftovers():
        assert time.monotonic() < end
        time.sleep(0.1)
