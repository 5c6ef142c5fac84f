"""Specs of Kubernetes clusters that tests share, smallest first, and their bundles."""

from __future__ import annotations

from typing import Any

import yaml
from samples import ROOT

from supercloud.catalog import Catalog
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.primitives.bundle import Bundle
from supercloud.spec import ClusterSpec
from supercloud.spec.loader import load
from supercloud.targets import render

EXAMPLES = [
    path for path in sorted((ROOT / "examples").glob("[0-9]*/cluster.yaml")) if "kind: kubernetes" in path.read_text()
]

ONPREM: dict[str, Any] = {
    "name": "pod1",
    "site": {"kind": "onprem", "location": "stockholm"},
    "scheduler": {"kind": "kubernetes", "version": "1.36"},
    "pools": [{"name": "train", "machine": "dgx-h100", "nodes": 64, "fabrics": ["compute"]}],
    "fabrics": [{"name": "compute", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm9700"}],
    "facility": {"rack": {"type": "orv3-48u", "nodes": 4}},
    "storage": [{"name": "scratch", "kind": "lustre", "capacity": "1 PiB", "mount": "/scratch"}],
    "tenants": [
        {"name": "llm", "share": 70, "priority": "high", "users": ["ada"]},
        {"name": "vision", "share": 30, "users": ["grace"]},
    ],
}
H100 = {"name": "train", "machine": "dgx-h100", "nodes": 64, "fabrics": ["compute"]}
VARIANTS: dict[str, dict[str, Any]] = {
    "nobody": {"tenants": []},
    "volcano": {"scheduler": {"kind": "kubernetes", "version": "1.36", "queue": "volcano"}},
    "flux": {"scheduler": {"kind": "kubernetes", "version": "1.36", "gitops": "flux"}},
    "argocd": {"scheduler": {"kind": "kubernetes", "version": "1.35", "gitops": "argocd"}},
    "old": {"scheduler": {"kind": "kubernetes", "version": "1.31", "queue_version": "0.12"}},
    "nvl72": {"pools": [{"name": "train", "machine": "dgx-gb200", "nodes": 72, "fabrics": ["compute"]}]},
    "roce": {"fabrics": [{"name": "compute", "kind": "roce", "shape": "clos", "switch": "nvidia-sn5600", "su": 4}]},
    "claims": {
        "scheduler": {"kind": "kubernetes", "version": "1.36", "devices": "claims"},
        "pools": [
            {"name": "train", "machine": "dgx-h100", "nodes": 64, "fabrics": ["compute"]},
            {"name": "rack", "machine": "dgx-gb200", "nodes": 36},
        ],
    },
    "amd": {"pools": [{"name": "mi", "machine": "mi300x-8gpu", "nodes": 16}], "fabrics": []},
    "sliced": {
        "pools": [
            {
                "name": "train",
                "machine": "dgx-h100",
                "nodes": 8,
                "fabrics": ["compute"],
                "slicing": {"mig": {"1g.10gb": 7}, "accelerators": 4},
            },
            {"name": "shared", "machine": "dgx-h100", "nodes": 4, "slicing": {"shards": 4}},
        ]
    },
    "objects": {"storage": [{"name": "data", "kind": "object", "servers": {"machine": "dgx-h100", "count": 4}}]},
    "products": {
        "storage": [
            {"name": "fast", "kind": "weka", "capacity": "500 TiB", "mount": "/weka"},
            {"name": "deep", "kind": "storage-scale", "capacity": "1 PiB", "mount": "/gpfs"},
        ]
    },
    "limited": {
        "tenants": [
            {"name": "llm", "share": 50, "limits": {"accelerators": 64, "submitted": 10, "max_time": "1 d"}},
            {"name": "vision", "share": 50, "borrow": False},
        ]
    },
    "powered": {
        "facility": {"rack": {"type": "orv3-48u", "nodes": 4, "power": "45 kW"}, "power": {"budget": "2 MW"}},
    },
    "gaudi": {"pools": [{"name": "g", "machine": "gaudi3-8", "nodes": 16}], "fabrics": []},
    "levels": {
        "scheduler": {"kind": "kubernetes", "version": "1.36", "levels": ["scale-up", "su"]},
        "pools": [{"name": "train", "machine": "dgx-gb200", "nodes": 72, "fabrics": ["compute"]}],
    },
    "levels-volcano": {"scheduler": {"kind": "kubernetes", "version": "1.36", "queue": "volcano", "levels": ["su"]}},
    "neuron": {
        "site": {"kind": "aws", "region": "us-east-2", "zones": ["us-east-2a"]},
        "pools": [
            {"name": "train", "machine": "trn2.48xlarge", "nodes": 16, "fabrics": ["compute"]},
            {"name": "serve", "machine": "inf2.48xlarge", "nodes": 4},
        ],
        "fabrics": [{"name": "compute", "kind": "efa"}],
        "storage": [],
        "facility": None,
    },
    "aws": {
        "site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"]},
        "pools": [{"name": "train", "machine": "p5.48xlarge", "nodes": 16, "fabrics": ["compute"]}],
        "fabrics": [{"name": "compute", "kind": "efa"}],
        "storage": [
            {
                "name": "scratch",
                "kind": "lustre",
                "capacity": "62400 GiB",
                "throughput_per_tib": "250 MB/s",
                "mount": "/fsx",
            },
            {"name": "home", "kind": "nfs", "capacity": "1 TiB", "mount": "/home"},
            {"name": "data", "kind": "object"},
        ],
        "facility": None,
    },
}
VARIANTS["aws-volcano"] = VARIANTS["aws"] | VARIANTS["volcano"]


# clouds whose resources are not built: the tree for their managed Kubernetes is
GKE: dict[str, Any] = {
    "site": {"kind": "gcp", "region": "us-central1", "zones": ["us-central1-a"]},
    "storage": [],
    "facility": None,
}
ELSEWHERE: dict[str, dict[str, Any]] = {
    "gke": GKE
    | {
        "pools": [
            {
                "name": "train",
                "machine": "a3-ultragpu-8g",
                "nodes": 16,
                "fabrics": ["compute"],
                "capacity": [{"kind": "flex-start", "max_run": "7 d"}, {"kind": "on-demand"}],
            }
        ],
        "fabrics": [{"name": "compute", "kind": "roce"}],
    },
    "gke-tcpx": GKE
    | {
        "pools": [{"name": "train", "machine": "a3-megagpu-8g", "nodes": 16, "fabrics": ["compute"]}],
        "fabrics": [{"name": "compute", "kind": "gpudirect-tcpx"}],
    },
    "tpu": GKE | {"pools": [{"name": "train", "machine": "ct5p-hightpu-4t", "nodes": 16}], "fabrics": []},
    "aks": {
        "site": {"kind": "azure", "region": "eastus", "zones": ["1"]},
        "pools": [{"name": "train", "machine": "Standard_ND96isr_H100_v5", "nodes": 16, "fabrics": ["compute"]}],
        "fabrics": [{"name": "compute", "kind": "infiniband"}],
        "storage": [],
        "facility": None,
    },
}


def build_plan(changes: dict[str, Any] | None = None, catalog: Catalog | None = None) -> Plan:
    """The plan of ONPREM with some of its parts replaced."""
    return resolve(ClusterSpec.model_validate(ONPREM | (changes or {})), catalog)


def render_all() -> dict[str, tuple[Plan, Bundle]]:
    """Every example and every variant."""
    plans = {path.parent.name: resolve(load(path)) for path in EXAMPLES}
    plans |= {"onprem": build_plan(), **{name: build_plan(changes) for name, changes in VARIANTS.items()}}
    plans |= {name: build_plan(changes) for name, changes in ELSEWHERE.items()}
    return {name: (plan, render(plan, "kubernetes")) for name, plan in plans.items()}


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def list_bundle_objects(bundle: Bundle, *folders: str) -> list[dict[str, Any]]:
    """All objects of a bundle that are applied to a cluster, in the order of their application."""
    found: list[dict[str, Any]] = []
    top = yaml.load(bundle["kustomization.yaml"], _LOADER)["resources"]
    for folder in folders or ("namespaces", *top):
        for name in yaml.load(bundle[f"{folder}/kustomization.yaml"], _LOADER)["resources"]:
            found += [item for item in yaml.load_all(bundle[f"{folder}/{name}"], _LOADER) if item]
    return found


def render_objects(changes: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    return list_bundle_objects(render(build_plan(changes), "kubernetes"))


def select_kind(items: list[dict[str, Any]], kind: str) -> dict[str, dict[str, Any]]:
    """namespace/name (or name) -> object, of one kind."""
    return {
        "/".join(filter(None, (item["metadata"].get("namespace"), item["metadata"]["name"]))): item
        for item in items
        if item["kind"] == kind
    }


def read_quota(queue: dict[str, Any], flavor: str, resource: str, what: str = "nominalQuota") -> int | None:
    """The value of a ClusterQueue for a resource in a flavor; None if it has none."""
    [group] = queue["spec"]["resourceGroups"]
    [found] = [item for item in group["flavors"] if item["name"] == flavor]
    [number] = [item.get(what) for item in found["resources"] if item["name"] == resource]
    return None if number is None else int(str(number).removesuffix("Mi"))
