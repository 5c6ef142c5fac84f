"""From ``pulumi up`` to a finished job: Slurm in an emulated region whose instances boot and configure themselves.

Nothing is done by hand on a machine before a user logs in and submits a job.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from booted import SPEC, Person, write_catalog
from real.polling import wait_for
from real.pulumi.engine import Engine
from region import EmulatedRegion, wait_until_ready

Start = Callable[..., Engine]

pytestmark = pytest.mark.extended


def test_a_user_logs_in_and_runs_a_job(region: EmulatedRegion, start: Start, tmp_path: Path) -> None:
    ada, eve = Person("ada", 20001, tmp_path), Person("eve", 20002, tmp_path)

    def write_spec(*users: Person) -> str:
        return SPEC.format(cidr=region.cidr, users=json.dumps([user.declared for user in users]))

    engine = start(write_spec(ada), write_catalog)
    engine.up()
    controller, login = region.wait_for_machine("ctl1"), region.wait_for_machine("login")
    wait_until_ready(controller)
    wait_until_ready(login)
    assert ada.run(login.address, "id -u; pwd; stat -c %a .").split() == ["20001", "/home/ada", "700"]
    eve.run(login.address, "true", code=255)

    job = ada.run(
        login.address, "sbatch --parsable -N 2 -o /tmp/out --wrap 'srun sh -c \"hostname; id -u\" >/tmp/names'"
    )
    wait_for("both nodes run", lambda: len(region.find("cpu-on-demand")) == 2, seconds=600)
    first, second = region.find("cpu-on-demand")
    controller.wait("squeue -h | wc -l | grep -qx 0", timeout=900)
    assert controller.run("sacct -X -n -o jobid,state%20,user").stdout.split() == [job.strip(), "COMPLETED", "ada"]
    assert sorted(first.run("cat /tmp/names").stdout.split()) == ["20001", "20001", "cpu-0001", "cpu-0002"]
    ada.run(second.address, "true", code=255)  # none of her jobs runs there

    (engine.project / "cluster.yaml").write_text(write_spec(eve))
    assert set(engine.up()) <= {"same", "update"}
    login.run("systemctl start supercloud-update", timeout=300)
    assert eve.run(login.address, "id -u").strip() == "20002"
    ada.run(login.address, "true", code=255)
    assert login.run("test -d /home/ada && getent passwd ada").stdout.startswith("ada:")

    wait_for("idle nodes are terminated", lambda: not region.find("cpu-on-demand"), seconds=600)
    assert not region.errors
