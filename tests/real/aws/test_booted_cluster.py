"""From ``pulumi up`` to a finished job: Slurm in an emulated region whose instances boot and configure themselves.

Nothing is done by hand on a machine before the job is submitted.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from booted import SPEC, write_catalog
from real.polling import wait_for
from real.pulumi.engine import Engine
from region import EmulatedRegion, wait_until_ready

Start = Callable[..., Engine]

pytestmark = pytest.mark.extended


def test_a_job_runs_on_nodes_that_the_scaler_started(region: EmulatedRegion, start: Start) -> None:
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

    wait_for("idle nodes are terminated", lambda: not region.find("cpu-on-demand"), seconds=600)
    assert not region.errors
