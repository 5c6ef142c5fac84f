"""Fixtures of this folder."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from slurm_hosts import SMI, Host
from slurm_plans import build_plan


@pytest.fixture
def node(tmp_path: Path) -> Host:
    """A healthy node: eight devices, a driver that sees them, eight links."""
    found = build_plan()
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


# --- prolog.sh, epilog.sh, task-prolog.sh


@pytest.fixture
def job(node: Host) -> Host:
    """The node, with the folders of jobs somewhere we may write."""
    for name in ("prolog.sh", "task-prolog.sh", "epilog.sh"):
        path = node.etc / name
        path.write_text(path.read_text().replace("/var/spool/slurmd/scratch", str(node.folder / "scratch")))
    node.env |= {"SLURM_JOB_ID": "7", "SLURM_JOB_UID": str(os.getuid()), "SLURM_JOB_GID": str(os.getgid())}
    return node
