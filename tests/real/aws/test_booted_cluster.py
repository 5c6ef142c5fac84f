"""From ``pulumi up`` to a finished job: Slurm in an emulated region whose instances boot and configure themselves.

Nothing is done by hand on a machine before the job is submitted.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from booted import SPEC, write_catalog
from real.machines.machines import Machine
from real.polling import wait_for
from real.pulumi.engine import Engine
from region import EmulatedRegion, wait_until_ready

Start = Callable[..., Engine]

pytestmark = pytest.mark.extended


def test_a_job_runs_on_nodes_that_the_scaler_started(region: EmulatedRegion, start: Start, tmp_path: Path) -> None:
    engine = start(SPEC.format(cidr=region.cidr), write_catalog)
    engine.up()

    controller = region.wait_for_machine("ctl1")
    wait_until_ready(controller)
    controller.run("sbatch --parsable --wrap 'srun hostname >/tmp/names' -N 2 -o /tmp/out")
    wait_for("both nodes run", lambda: len(region.find("cpu-on-demand")) == 2, seconds=600)
    first, _ = region.find("cpu-on-demand")
    controller.wait("squeue -h | wc -l | grep -qx 0", timeout=900)
    assert controller.run("sacct -X -n -o state%20").stdout.split() == ["COMPLETED"]
    assert sorted(first.run("cat /tmp/names").stdout.split()) == ["cpu-0001", "cpu-0002"]
    check_logins(controller, first, tmp_path)

    wait_for("idle nodes are terminated", lambda: not region.find("cpu-on-demand"), seconds=600)
    assert not region.errors


def check_logins(controller: Machine, node: Machine, folder: Path) -> None:
    """A user logs in to a node only while one of the user's jobs runs there."""
    key = folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    options = [f"-o{text}" for text in ("BatchMode=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null")]
    for name, number in (("ada", 2001), ("eve", 2002)):
        for machine in (controller, node):
            machine.run(f"useradd -m -u {number} -s /bin/sh -p '*' {name} && install -d -o {name} /home/{name}/.ssh")
            machine.run(f"cat >/home/{name}/.ssh/authorized_keys", input=key.with_suffix(".pub").read_text())

    def log_in(name: str) -> bool:
        words = ["ssh", "-i", str(key), *options, f"{name}@{node.ip}", "id -un"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        assert done.stdout == (f"{name}\n" if not done.returncode else ""), done.stderr
        return not done.returncode

    assert not log_in("ada") and not log_in("eve"), "no job runs"
    # slurmctld looks up the user IDs of associations when it starts
    controller.run("systemctl restart slurmctld")
    controller.wait("scontrol ping | grep -q UP")
    job = controller.run("sbatch --parsable -w cpu-0001 -D /tmp -o /dev/null --wrap 'sleep 300'", user="ada").stdout
    controller.wait(f"squeue -h -j {job.strip()} -o %T | grep -qx RUNNING")
    assert log_in("ada") and not log_in("eve")
    controller.run(f"scancel {job.strip()}")
    controller.wait("squeue -h | wc -l | grep -qx 0")
    assert not log_in("ada")
