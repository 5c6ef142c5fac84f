"""Plans with storage on machines that a catalog of the tests declares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from plan.test_resolve import build_pools

from supercloud.catalog import Catalog
from supercloud.plan.model.plan import Plan, StoragePlan
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import loads

SERVER = """\
name: flash-24
title: Storage server with 24 NVMe drives, declared for tests
source: [declared for tests]
vendor: any
provider: onprem
cpu: {arch: x86_64, sockets: 2, cores_per_socket: 32, threads_per_core: 2}
memory: 512 GB
adapters:
  - {role: storage, kind: vpi, count: 2, speed: 400 Gb/s}
  - {role: in-band, kind: ethernet, count: 2, speed: 100 Gb/s}
disks: [{role: scratch, kind: nvme, count: 24, size: 15.36 TB}]
power: 1.6 kW
body: {units: 2, weight: 40 kg}
"""
GIVES = {"read": "45 GB/s", "write": "30 GB/s"}


def plan_storage(catalog: Catalog, *stores: dict[str, Any], nodes: int = 127, **changes: Any) -> Plan:
    spec = {
        "name": "pod1",
        "site": {"kind": "onprem", "location": "stockholm"},
        "scheduler": {"kind": "slurm", "version": "22.05"},
        "pools": build_pools("dgx-h100", nodes),
        "fabrics": [{"name": "compute", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm9700"}],
        "storage": [{"name": "scratch", "kind": "lustre", "mount": "/scratch"} | store for store in stores],
    } | changes
    return resolve(loads(yaml.safe_dump(spec)), catalog)


def build_storage(catalog: Catalog, **store: Any) -> StoragePlan:
    (item,) = plan_storage(catalog, {"servers": {"machine": "flash-24", "throughput": GIVES}} | store).storage
    return item


def list_storage_checks(plan: Plan) -> dict[str, str]:
    return {finding.check: finding.problem for finding in plan.findings if finding.check.startswith("storage")}


def build_catalog(folder: Path) -> Catalog:
    """The catalog with three machines for storage: two sizes with drives, and one without."""
    (folder / "machines").mkdir()
    (folder / "machines" / "flash-24.yaml").write_text(SERVER)
    small = SERVER.replace("flash-24", "flash-4").replace("count: 24", "count: 4").replace("512 GB", "4 GB")
    (folder / "machines" / "flash-4.yaml").write_text(small)
    bare = SERVER.replace("flash-24", "bare").replace("disks:", "# disks:")
    (folder / "machines" / "bare.yaml").write_text(bare)
    return Catalog([folder])
