"""A small Slurm cluster for an emulated region: its machine type has few processors and no accelerators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from people import Person
from region import EmulatedRegion

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
  login: {{count: {logins}}}
  options: {{SlurmdParameters: config_overrides, SuspendTime: "{idle}", SuspendTimeout: "10"}}
network: {{cidr: {cidr}}}
pools:
  - {{name: cpu, machine: m6i.large, nodes: {nodes}, initial: 0, capacity: [{{kind: on-demand}}]}}
tenants: [{tenants}]
users: [{users}]
"""


def build_spec(
    region: EmulatedRegion, people: Mapping[str, Sequence[Person]], *, nodes: int = 2, logins: int = 0, idle: int = 30
) -> str:
    """The spec of a cluster with the people of each tenant; ``idle``: seconds until an idle node is terminated."""
    tenants = [
        f"{{name: {name}, users: [{', '.join(one.name for one in members)}]}}" for name, members in people.items()
    ]
    users = [one.entry for members in people.values() for one in members]
    return SPEC.format(
        cidr=region.cidr, nodes=nodes, logins=logins, idle=idle, tenants=", ".join(tenants), users=", ".join(users)
    )


def write_catalog(project: Path) -> None:
    """Add the machine type to the catalog of a project."""
    (project / "catalog" / "machines").mkdir(parents=True)
    (project / "catalog" / "machines" / "m6i.large.yaml").write_text(MACHINE)
