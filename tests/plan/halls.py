"""Specs of halls that the tests of racks, power and cooling share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load

DGX = {"type": "eia-48u", "nodes": 4}
LIQUID = {"kind": "direct-liquid", "supply": "32 °C"}
QM9700 = {"name": "compute", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm9700"}


def build_hall(folder: Path, machine: str = "dgx-h100", nodes: int = 127, **facility: Any) -> Plan:
    """A pool and a fabric in a hall; ``fabrics`` and ``pools`` replace those."""
    pools = facility.pop("pools", [{"name": "train", "machine": machine, "nodes": nodes, "fabrics": ["compute"]}])
    fabrics = facility.pop("fabrics", [QM9700])
    location = facility.pop("location", "stockholm")
    storage = facility.pop("storage", [])
    spec = {
        "name": "pod1",
        "site": {"kind": "onprem", "location": location},
        "scheduler": {"kind": "slurm", "version": "25.11"},
        "pools": pools,
        "fabrics": fabrics,
        "storage": storage,
        "facility": facility,
    }
    file = folder / "cluster.yaml"
    file.write_text(yaml.safe_dump(spec))
    return resolve(load(file))


def list_problems(plan: Plan, check: str) -> list[str]:
    """Problems that a check reported."""
    return [finding.problem for finding in plan.findings if finding.check == check]
