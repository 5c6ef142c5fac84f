"""Properties of the lab: labs are isolated, an ended daemon is detected at once, no process outlives the driver."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from bundles import declare_text
from complaints import list_complaints
from installed import Slurm
from lab import Lab, LabError
from real.polling import wait_for

SPEC = """\
name: tiny
site: {{kind: onprem, location: stockholm}}
scheduler: {{kind: slurm, version: "{release[0]:02d}.{release[1]:02d}", accounting: false}}
pools: [{{name: tiny, machine: dgx-h100, nodes: 2}}]
"""

# With a linger of 0 s closing sends a reset, as when a process ends with unread data.
RESET = """\
import socket, struct, sys
client = socket.create_connection((sys.argv[1], int(sys.argv[2])))
client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
client.close()
"""


def render_bundle(folder: Path, slurm: Slurm) -> Path:
    return declare_text(SPEC.format(release=slurm.release), folder).folder


def test_labs_with_nodes_of_the_same_names_run_side_by_side(
    slurm_2205: Slurm, slurm_new: Slurm, tmp_path: Path
) -> None:
    with (
        Lab(render_bundle(tmp_path / "one", slurm_2205)) as one,
        Lab(render_bundle(tmp_path / "two", slurm_new), slurm_new.rootfs) as two,
    ):
        for lab in (one, two):
            lab.start()
        for lab in (one, two):
            lab.wait_nodes("tiny-[0001-0002]", 2)
            names = lab.run("srun -N2 --gpus-per-node=8 hostname | sort", user="lab").stdout.split()
            assert names == ["tiny-0001", "tiny-0002"]


def test_messages_about_disconnected_clients_are_known(slurm_2205: Slurm, tmp_path: Path) -> None:
    """Before its request, and before the answer: complaints.py ignores these messages as those of an ended command."""
    text = SPEC.replace(", accounting: false", "").format(release=slurm_2205.release)
    with Lab(declare_text(text, tmp_path).folder) as lab:
        lab.start(nodes="")
        host = lab.run("scontrol show config | sed -n 's/^SlurmctldHost.* = \\([^ (]*\\).*/\\1/p'").stdout.split()[0]
        lab.run(f"bash -c 'exec 3<>/dev/tcp/{host}/6817; exec 3>&-'")
        lab.wait_for(
            "the message about a connection without a request",
            lambda: "Zero Bytes were transmitted or received" in lab.read_log("slurmctld"),
        )
        lab.run("pkill -STOP slurmctld; timeout -s KILL 1 scontrol ping; pkill -CONT slurmctld", check=False)
        lab.wait_for(
            "the message about a lost connection",
            lambda: "msg_type=8001: Unexpected missing socket error" in lab.read_log("slurmctld"),
        )
        lab.run(["python3", "-c", RESET, host, "6819"])
        lab.wait_for(
            "the message about a reset", lambda: "error[104]: Connection reset by peer" in lab.read_log("slurmdbd")
        )
        assert not list_complaints(lab)


def test_a_terminated_daemon_ends_the_wait(slurm_2205: Slurm, tmp_path: Path) -> None:
    with Lab(render_bundle(tmp_path, slurm_2205)) as lab:
        lab.start(nodes="")
        lab.run("pkill -9 slurmctld")
        with pytest.raises(LabError, match="slurmctld died while the lab waited for: 1 of tiny-0001 idle"):
            lab.wait_nodes("tiny-0001", 1)


def test_nothing_outlives_a_driver_that_is_killed(slurm_2205: Slurm, tmp_path: Path) -> None:
    code = f"from lab import Lab\nlab = Lab({str(render_bundle(tmp_path, slurm_2205))!r}).__enter__()\n"
    code += "lab.start('tiny-0001')\nprint(lab.pid, flush=True)\ninput()\n"
    driver = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parent,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert driver.stdin and driver.stdout
    with driver:
        pid = int(driver.stdout.readline())
        world = Path(f"/proc/{pid}/cgroup").read_text().split("supercloud-lab-")[1].split()[0]
        os.kill(driver.pid, signal.SIGKILL)

    def list_left() -> list[Path]:
        groups = Path("/sys/fs/cgroup").glob(f"*/supercloud-lab-{world}")
        return [path for path in (Path(f"/proc/{pid}"), *groups) if path.exists()]

    wait_for("nothing of the lab is left", lambda: not list_left(), show=list_left)
