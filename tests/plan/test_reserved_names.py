"""Names that Slurm reserves, pools without a partition, and routed in-band networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from supercloud.errors import Finding
from supercloud.plan.resolve import resolve
from supercloud.spec import ClusterSpec


def _find(name: str, **fields: Any) -> list[Finding]:
    spec: Mapping[str, Any] = {
        "name": "x",
        "site": {"kind": "onprem", "location": "stockholm"},
        "scheduler": {"kind": "slurm", "version": "25.11"},
        "pools": [{"name": "train", "machine": "dgx-h100", "nodes": 4}],
    }
    plan = resolve(ClusterSpec.model_validate(yaml.safe_load(yaml.safe_dump({**spec, **fields}))))
    return [finding for finding in plan.findings if finding.check == name]


SLURM = {"kind": "slurm", "version": "25.11"}
POOLS = [{"name": name, "machine": "dgx-h100", "nodes": 4} for name in ("all", "default", "train")]


@pytest.mark.parametrize(
    "fields, paths",
    [
        ({"pools": POOLS}, [0, 1]),
        ({"scheduler": SLURM | {"partitions": [{"name": "default", "pools": ["train"]}]}}, ["partitions"]),
        ({"scheduler": SLURM | {"partitions": [{"name": "all", "pools": ["train"]}]}}, []),
        ({"tenants": [{"name": "root", "users": ["a"]}, {"name": "roots", "users": ["b"]}]}, ["tenants[0].name"]),
        ({"tenants": [{"name": "root", "users": ["a"]}], "scheduler": {"kind": "kubernetes", "version": "1.36"}}, []),
    ],
)
def test_a_name_that_slurm_reserves_is_an_error(fields: dict[str, Any], paths: list[Any]) -> None:
    found = _find("slurm-reserved-name", **fields)
    assert len(found) == len(paths)
    assert all(str(part) in item.path and item.level == "error" for part, item in zip(paths, found, strict=True))


def test_a_pool_in_no_partition_is_reported() -> None:
    pools = [{"name": name, "machine": "dgx-h100", "nodes": 2} for name in ("a", "b")]
    for listed, paths in ((["a"], ["pools[1].name"]), (["a", "b"], [])):
        scheduler = {"kind": "slurm", "version": "25.11", "partitions": [{"name": "p", "pools": listed}]}
        assert [item.path for item in _find("slurm-pool-partition", scheduler=scheduler, pools=pools)] == paths
    assert not _find("slurm-pool-partition", pools=pools)


@pytest.mark.parametrize("kind, count", [("roce", 1), ("ethernet", 0)])
def test_an_in_band_network_that_is_routed_is_an_error(kind: str, count: int) -> None:
    pools = [{"name": "train", "machine": "dgx-h200", "nodes": 16, "fabrics": ["in-band"]}]
    fabrics = [{"name": "in-band", "kind": kind, "switch": "nvidia-sn4600c"}]
    found = _find("network-routed", pools=pools, fabrics=fabrics)
    assert len(found) == count and all(item.hint == "set kind: ethernet" for item in found)
