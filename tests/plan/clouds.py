"""A small cluster on AWS, with changes, for the tests of cloud sites."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from supercloud.catalog import Catalog
from supercloud.plan.model.cloud import CloudPlan
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import loads

RESERVED = {"kind": "reservation", "id": "cr-0123456789abcdef0", "zone": "us-east-1a"}
BLOCK = RESERVED | {"kind": "capacity-block"}
FABRICS = [{"name": "compute", "kind": "efa"}]
OHIO = {"kind": "aws", "region": "us-east-2", "zones": ["us-east-2a"]}
TWO = {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a", "us-east-1b"]}
DALLAS = "us-east-1-dfw-2a"
NFS = {"name": "home", "kind": "nfs", "capacity": "1 TiB", "mount": "/home", "throughput": {"read": "160 MB/s"}}
EFS = {"name": "home", "kind": "nfs", "product": "efs", "mount": "/home"}
WEKA = {"name": "scratch", "kind": "weka", "capacity": "200 TB", "mount": "/scratch"}


def build_pool(**changes: Any) -> dict[str, Any]:
    return {"name": "train", "machine": "p5.48xlarge", "nodes": 4, "fabrics": ["compute"]} | changes


def build_lustre(**changes: Any) -> dict[str, Any]:
    return {
        "name": "scratch",
        "kind": "lustre",
        "capacity": "19200 GiB",
        "throughput_per_tib": "250 MB/s",
        "mount": "/fsx",
    } | changes


def build_slurm(**changes: Any) -> dict[str, Any]:
    return {"kind": "slurm", "version": "25.11"} | changes


def build_existing_network(*zones: str | None) -> dict[str, Any]:
    """A network of the user's, with a private subnet in each of these zones (None: the zone is not specified)."""
    subnets = [{"id": f"subnet-{number}"} | ({"zone": zone} if zone else {}) for number, zone in enumerate(zones, 1)]
    return {"id": "vpc-1", "subnets": subnets}


KUBERNETES = {"kind": "kubernetes", "version": "1.35"}


def overlay_catalog(folder: Path, kind: str, name: str, text: str) -> Catalog:
    """The catalog with fields of one entry replaced, or removed where the text has null."""
    path = folder / kind / f"{name}.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return Catalog([folder])


def build_plan(catalog: Catalog | None = None, **changes: Any) -> Plan:
    spec = {
        "name": "c",
        "site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"]},
        "scheduler": build_slurm(),
        "pools": [build_pool()],
        "fabrics": FABRICS,
    } | changes
    return resolve(loads(yaml.safe_dump(spec)), catalog)


def build_cloud(**changes: Any) -> CloudPlan:
    plan = build_plan(**changes)
    assert plan.cloud is not None, [str(finding) for finding in plan.findings]
    return plan.cloud
