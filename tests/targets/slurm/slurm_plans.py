"""Clusters that Slurm is rendered for, and a reader of Slurm's lines that shares nothing with the writer."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

from supercloud.catalog import Catalog
from supercloud.plan.model.plan import Group, Level, Locality, Plan
from supercloud.plan.resolve import resolve
from supercloud.primitives.nodes import HostRange, HostSet
from supercloud.spec import ClusterSpec

RELEASES = ("22.05", "23.02", "23.11", "24.05", "24.11", "25.05", "25.11", "26.05")
CATALOG = Catalog()


def build_h100_pool(name: str = "train", nodes: int = 127, **more: Any) -> dict[str, Any]:
    return {"name": name, "machine": "dgx-h100", "nodes": nodes, "fabrics": ["compute"], **more}


def build_gb200_pool(name: str = "nvl", nodes: int = 72, **more: Any) -> dict[str, Any]:
    return {"name": name, "machine": "dgx-gb200", "nodes": nodes, "fabrics": ["compute"], **more}


def build_spec(version: str = "22.05", pools: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    scheduler = {"kind": "slurm", "version": version, **more.pop("scheduler", {})}
    fabric = {"name": "compute", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm9700"}
    return {
        "name": "pod1",
        "site": {"kind": "onprem", "location": "stockholm"},
        "scheduler": scheduler,
        "pools": pools or [build_h100_pool()],
        "fabrics": [fabric],
        **more,
    }


def build_plan(version: str = "22.05", pools: list[dict[str, Any]] | None = None, **more: Any) -> Plan:
    return resolve(ClusterSpec.model_validate(build_spec(version, pools, **more)), CATALOG)


TENANTS = [
    {"name": "llm", "share": 70, "priority": "high", "users": ["ada", "bob"], "limits": {"jobs": 10, "nodes": 64}},
    {"name": "vision", "share": 30, "users": ["cy"], "borrow": False},
    {"name": "guests", "share": 0, "priority": "low", "limits": {"max_time": "2 d", "submitted": 5}},
]

VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "tenants": {"tenants": TENANTS, "pools": [build_h100_pool(spares=2)]},
    "no-accounting": {"scheduler": {"accounting": False}},
    "no-preemption": {"scheduler": {"preemption": False, "health_check_interval": "0 s"}, "tenants": TENANTS},
    "two-controllers": {"scheduler": {"controllers": [{"name": "a"}, {"name": "b"}], "database": {"name": "db"}}},
    "options": {"scheduler": {"options": {"returntoservice": "1", "SlurmctldDebug": "debug", "MailDomain": "a b#2"}}},
    "nvl72": {"pools": [build_gb200_pool(), build_h100_pool(nodes=3, fabrics=[])]},
    "short-domain": {"pools": [build_gb200_pool(nodes=70)]},
    "reserve": {"pools": [build_h100_pool(reserve={"cores": 4, "memory": "64 GiB"}), build_h100_pool("more", 5)]},
    "mig": {
        "pools": [build_h100_pool(slicing={"mig": {"1g.10gb": 7}, "accelerators": 2}), build_h100_pool("whole", 8)]
    },
    "shards": {
        "pools": [
            build_h100_pool(slicing={"shards": 8}),
            build_h100_pool("some", 4, slicing={"shards": 4, "accelerators": 1}),
        ]
    },
    "amd": {"pools": [{"name": "amd", "machine": "mi300x-8gpu", "nodes": 4}]},
    "gaudi": {"pools": [{"name": "gaudi", "machine": "gaudi3-8", "nodes": 4}]},
    "mixed": {
        "pools": [build_h100_pool(), {"name": "login", "machine": "management-server", "nodes": 2}],
        "scheduler": {
            "max_time": "3 d",
            "partitions": [
                {"name": "batch", "pools": ["train"], "priority": 10, "accounts": ["llm"], "max_nodes": 64},
                {"name": "all", "pools": ["train", "login"], "default": True, "max_time": "1 h"},
                {"name": "plain", "pools": ["login"], "exclusive": True},
            ],
        },
        "tenants": TENANTS,
    },
}


@cache
def build_variant(version: str, name: str) -> Plan:
    """A plan to render: what the release cannot grant is a warning, whatever else is left out."""
    found = build_plan(version, **dict(VARIANTS[name].items()))
    return replace(found, findings=tuple(item for item in found.findings if not item.check.startswith("slurm-")))


def build_tree(nodes: int, leaf: int, prefix: str = "train-", width: int = 4) -> Locality:
    """Leaves of ``leaf`` nodes under one root."""
    hosts = HostRange(prefix, 1, nodes, width)
    starts = range(0, nodes, leaf)
    leaves = tuple(
        Group(f"su{number}", HostSet((hosts.slice(start, min(start + leaf, nodes)),)), 0)
        for number, start in enumerate(starts, start=1)
    )
    return Locality("fabric", "tree", (Level("su", leaves), Level("fabric", (Group("compute", HostSet((hosts,))),))))


_PAIR = re.compile(r'(\w+)=("[^"]*"|\S*)')


def parse_records(text: str) -> list[dict[str, str]]:
    """Lines of a configuration file as mappings, keys in lower case."""
    lines = [re.sub(r"(?<!\\)#.*", "", line) for line in text.splitlines()]
    return [{key.lower(): value for key, value in _PAIR.findall(line)} for line in lines if line.strip()]


def get_setting(text: str, key: str) -> str | None:
    """The value of a key that has a separate line."""
    found = [record[key.lower()] for record in parse_records(text) if list(record) == [key.lower()]]
    assert len(found) < 2, f"{key} is set twice"
    return found[0] if found else None


def list_records(text: str, key: str) -> list[dict[str, str]]:
    """Records that begin with a key, without DEFAULT."""
    return [item for item in parse_records(text) if next(iter(item)) == key.lower() and item[key.lower()] != "DEFAULT"]
