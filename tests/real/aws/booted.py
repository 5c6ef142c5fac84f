"""A small Slurm cluster for an emulated region: its machine type has few processors and no accelerators."""

from __future__ import annotations

from pathlib import Path

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


def write_catalog(project: Path) -> None:
    """Add the machine type to the catalog of a project."""
    (project / "catalog" / "machines").mkdir(parents=True)
    (project / "catalog" / "machines" / "m6i.large.yaml").write_text(MACHINE)
