"""A cloud site in general: fields without effect, tags, budgets, names, limits of services."""

from __future__ import annotations

from typing import Any

from plan.clouds import KUBERNETES, TWO, WEKA, build_lustre, build_pool, build_slurm

CASES: list[tuple[str, str, str, str, dict[str, Any]]] = [
    (
        "cloud-boot-script",
        "error",
        "site.scripts[0].source",
        "'ftp://example.com/a' is not a valid location",
        {"site": TWO | {"scripts": [{"source": "ftp://example.com/a", "sha256": "0" * 64}]}},
    ),
    (
        "cloud-boot-script",
        "error",
        "site.scripts[0]",
        "nodes of the managed Kubernetes do not run it",
        {
            "site": TWO | {"scripts": [{"source": "https://example.com/a", "sha256": "0" * 64}]},
            "scheduler": KUBERNETES,
        },
    ),
    (
        "cloud-boot-script",
        "error",
        "site.scripts[1].sha256",
        "the same program as site.scripts[0]",
        {"site": TWO | {"scripts": [{"source": f"https://example.com/{name}", "sha256": "0" * 64} for name in "ab"]}},
    ),
    (
        "cloud-identifier",
        "error",
        "site.policies",
        "'licenses' is not a valid policies of aws",
        {"site": TWO | {"policies": ["licenses"]}},
    ),
    (
        "cloud-identifier-region",
        "error",
        "site.kms_key",
        "is in eu-west-1, the cluster in us-east-1",
        {"site": TWO | {"kms_key": "arn:aws:kms:eu-west-1:111122223333:key/0a1b2c3d"}},
    ),
    ("cloud-metadata-hops", "warning", "site.metadata_hops", "2 hops", {"site": TWO | {"metadata_hops": 2}}),
    (
        "cloud-metadata-hops",
        "warning",
        "site.metadata_hops",
        "pods",
        {"site": TWO | {"metadata_hops": 2}, "scheduler": KUBERNETES},
    ),
    (
        "cloud-fields",
        "warning",
        "pools[0].placement",
        "placement",
        {
            "site": {"kind": "onprem", "location": "stockholm"},
            "pools": [build_pool(machine="dgx-h100", fabrics=[], placement="cluster")],
            "fabrics": [],
        },
    ),
    ("cloud-fields", "warning", "facility", "facility", {"facility": {"rack": {"type": "orv3-48u", "nodes": 4}}}),
    (
        "cloud-fields",
        "warning",
        "fabrics[0].switch",
        "switch",
        {"fabrics": [{"name": "compute", "kind": "efa", "switch": "nvidia-qm9700"}]},
    ),
    (
        "cloud-fields",
        "warning",
        "storage[0].protection",
        "protection",
        {"storage": [build_lustre(protection={"data": 8, "parity": 2})]},
    ),
    (
        "cloud-fields",
        "warning",
        "scheduler.controllers[0].address",
        "address",
        {"scheduler": build_slurm(controllers=[{"name": "ctl1", "address": "10.0.0.9"}])},
    ),
    (
        "slurm-option-reserved",
        "error",
        "scheduler.options.ResumeProgram",
        "ResumeProgram",
        {"scheduler": build_slurm(options={"ResumeProgram": "/bin/true"})},
    ),
    ("cloud-tags", "error", "tags.aws:x", "aws:", {"tags": {"aws:x": "1"}}),
    ("cloud-tags", "error", "tags.k", "256", {"tags": {"k": "v" * 300}}),
    ("cloud-tags", "error", "tags", "50", {"tags": {f"k{number}": "v" for number in range(47)}}),
    ("cloud-tags", "error", "tags.Name", "is reserved", {"tags": {"Name": "mine"}}),
    ("cloud-tags", "error", "tags.supercloud:pool", "is reserved", {"tags": {"supercloud:pool": "mine"}}),
    ("cloud-tags", "error", "tags.name", "is reserved", {"tags": {"name": "mine"}}),  # roles know no capitals
    ("cloud-tags", "error", "tags.owner", "Owner", {"tags": {"Owner": "a", "owner": "b"}}),
    ("cloud-budget", "warning", "budget", "161,277 USD", {"budget": "1000 USD"}),
    (
        "cloud-budget",
        "error",
        "budget",
        "CNY",
        {
            "site": {"kind": "aws", "region": "cn-north-1"},
            "budget": "1 USD",
            "fabrics": [],
            "pools": [build_pool(machine="g4dn.xlarge", fabrics=[])],
        },
    ),
    (
        "cloud-budget",
        "error",
        "budget",
        "standard account",
        {"site": {"kind": "aws", "region": "us-gov-west-1"}, "budget": "1 USD"},
    ),
    ("cloud-budget", "error", "budget", "must be greater than 0", {"budget": "0 USD"}),
    # the largest item has no price: 1000 USD seemed enough for 16 machines of 55 USD an hour
    (
        "cloud-budget",
        "warning",
        "budget",
        "unknown whether the budget of 1,000 USD is enough",
        {"budget": "1000 USD", "pools": [build_pool(capacity=[{"kind": "spot"}])]},
    ),
    (
        "cloud-identifier",
        "error",
        "network.id",
        "'my network'",
        {"network": {"id": "my network", "subnets": ["subnet-1"]}},
    ),
    ("cloud-identifier", "error", "network.subnets[0]", "'vpc-1'", {"network": {"id": "vpc-1", "subnets": ["vpc-1"]}}),
    (
        "cloud-identifier",
        "error",
        "site.images.slurm-cpu-x86",
        "'ubuntu'",
        {"site": TWO | {"images": {"slurm-cpu-x86": "ubuntu"}}},
    ),
    (
        "cloud-name-clash",
        "error",
        "scheduler.controllers[0].name",
        "duplicate name login: a login",
        {"scheduler": build_slurm(controllers=[{"name": "login"}])},
    ),
    (
        "cloud-name-clash",
        "error",
        "storage[0].name",
        "a server of ctl",
        {"scheduler": build_slurm(controllers=[{"name": "ctl-2"}]), "storage": [WEKA | {"name": "ctl"}]},
    ),
    (
        "cloud-name-clash",
        "error",
        "storage[0].name",
        "configuration",
        {"storage": [{"name": "state", "kind": "object"}]},
    ),
    (
        "cloud-limits",
        "error",
        "network.access",
        "41",
        {"site": TWO, "scheduler": KUBERNETES, "network": {"access": [f"198.51.100.{n}/32" for n in range(41)]}},
    ),
    (
        "cloud-limits",
        "warning",
        "pools[0].nodes",
        "450",
        {"site": TWO, "scheduler": KUBERNETES, "pools": [build_pool(nodes=500)]},
    ),
    ("cloud-provider", "warning", "site.kind", "not supported yet", {"site": {"kind": "gcp", "region": "us-central1"}}),
]
