"""A small Slurm cluster for an emulated region: its machine type has few processors and no accelerators."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

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
tenants: [{{name: llm, users: [ada, eve]}}]
users: {users}
"""


def write_catalog(project: Path) -> None:
    """Add the machine type to the catalog of a project."""
    (project / "catalog" / "machines").mkdir(parents=True)
    (project / "catalog" / "machines" / "m6i.large.yaml").write_text(MACHINE)


class Person:
    """A user with a key: ``declared`` is the user in a spec, :meth:`run` logs in by SSH."""

    def __init__(self, name: str, uid: int, folder: Path):
        self.name, self.uid, self.key = name, uid, folder / f"key-{name}"
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", self.key]
        subprocess.run(command, check=True)

    @property
    def declared(self) -> dict[str, Any]:
        """The user as a spec declares it."""
        return {"name": self.name, "uid": self.uid, "keys": [self.key.with_suffix(".pub").read_text().strip()]}

    def run(self, address: str, command: str, code: int | None = 0) -> str:
        """The output of a command on a machine; ``code`` is the expected exit code (255: the login is refused)."""
        options = ["BatchMode=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "ConnectTimeout=20"]
        options += ["IdentitiesOnly=yes", "LogLevel=ERROR"]
        words = ["ssh", "-i", str(self.key), *(f"-o{option}" for option in options), f"{self.name}@{address}", command]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120)
        assert code in (None, done.returncode), f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout
