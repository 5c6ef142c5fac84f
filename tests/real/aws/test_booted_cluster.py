"""From ``pulumi up`` to a finished job: Slurm in an emulated region whose instances boot and configure themselves.

Nothing is done by hand on a machine before the job is submitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from emulator import Emulator
from real.polling import wait_for
from real.pulumi.engine import Engine
from region import EmulatedRegion, wait_until_ready

Start = Callable[..., Engine]

MACHINE = """\
name: m6i.large
title: Amazon EC2 m6i.large
source: ["Amazon EC2, instance types: m6i.large has 2 vCPUs and 8 GiB"]
vendor: AWS
provider: aws
memory: 8 GiB
adapters:
  - {role: in-band, kind: ethernet, count: 1, speed: 12.5 Gb/s}
capacity_kinds: [on-demand, spot, reservation]
instance:
  {family: M6i, arch: x86_64, vcpus: 2, cards: 1, interfaces: 3, addresses_per_interface: 10, placement: [cluster]}
"""
# config_overrides: the processors of the test machine are not those of the instance type
SPEC = """\
name: booted
site: {{kind: aws, region: us-east-1, zones: [us-east-1a]}}
catalog: catalog
scheduler:
  kind: slurm
  version: "22.05"
  options: {{SlurmdParameters: config_overrides, SuspendTime: "30", SuspendTimeout: "10"}}
network: {{cidr: {cidr}}}
pools:
  - {{name: cpu, machine: m6i.large, nodes: 2, initial: 0, capacity: [{{kind: on-demand}}]}}
tenants: [{{name: llm, users: [ada]}}]
"""

pytestmark = pytest.mark.extended


@pytest.fixture(scope="module")
def region(emulator: Emulator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatedRegion]:
    with EmulatedRegion(emulator, tmp_path_factory.mktemp("region")) as found:
        yield found


def test_a_job_runs_on_nodes_that_the_scaler_started(region: EmulatedRegion, start: Start) -> None:
    def write_catalog(project: Path) -> None:
        (project / "catalog" / "machines").mkdir(parents=True)
        (project / "catalog" / "machines" / "m6i.large.yaml").write_text(MACHINE)

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
