"""Machines of a cloud: regions, zones, capacity, scale-up domains, placement, images, disks, prices."""

from __future__ import annotations

from typing import Any

from plan.clouds import BLOCK, DALLAS, KUBERNETES, OHIO, RESERVED, TWO, build_pool, build_slurm

CASES: list[tuple[str, str, str, str, dict[str, Any]]] = [
    (
        "cloud-machine-region",
        "error",
        "pools[0].machine",
        "P6-B300",
        {"site": OHIO, "pools": [build_pool(machine="p6-b300.48xlarge")]},
    ),
    (
        "cloud-machine-region",
        "note",
        "pools[0].machine",
        "unknown",
        {"site": OHIO, "pools": [build_pool(machine="trn2u.48xlarge", capacity=[BLOCK | {"zone": "us-east-2a"}])]},
    ),
    (
        "cloud-machine-region",
        "warning",
        "pools[0].zones",
        "is listed for us-east-1-dfw-2a only; its nodes are planned in us-east-1a",
        {"pools": [build_pool(machine="p6e-gb200.36xlarge", nodes=18, capacity=[BLOCK])]},
    ),
    (
        "cloud-local-zone",
        "note",
        "site.zones[0]",
        "nodes of train are there; gateways, hosts and file systems are in us-east-1a",
        {
            "site": TWO | {"zones": [DALLAS]},
            "pools": [
                build_pool(machine="p6e-gb200.36xlarge", nodes=18, capacity=[BLOCK | {"zone": DALLAS}]),
            ],
        },
    ),
    (
        "cloud-capacity-size",
        "warning",
        "pools[0].capacity",
        "36 nodes, but its capacity has at most 18 (18)",
        {
            "site": TWO | {"zones": [DALLAS]},
            "pools": [
                build_pool(machine="p6e-gb200.36xlarge", nodes=36, capacity=[BLOCK | {"zone": DALLAS}]),
            ],
        },
    ),
    (
        "cloud-zone",
        "error",
        "site.zones[0]",
        "us-west-2a",
        {"site": {"kind": "aws", "region": "us-east-1", "zones": ["us-west-2a"]}},
    ),
    (
        "cloud-zone",
        "warning",
        "site.zones[0]",
        "us-east-1-nyc-2a",
        {"site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1-nyc-2a"]}},
    ),
    (
        "cloud-zone",
        "error",
        "site.zones",
        "duplicate",
        {"site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a", "us-east-1a"]}},
    ),
    (
        "cloud-capacity-kind",
        "error",
        "pools[0].capacity[0].kind",
        "flex-start",
        {"pools": [build_pool(capacity=[{"kind": "flex-start"}])]},
    ),
    (
        "cloud-capacity-kind",
        "error",
        "pools[0].capacity[0].kind",
        "spot",
        {"pools": [build_pool(machine="trn2u.48xlarge", capacity=[{"kind": "spot"}])]},
    ),
    (
        "cloud-capacity-kind",
        "error",
        "pools[0].capacity",
        "on demand",
        {"pools": [build_pool(machine="trn2u.48xlarge")]},
    ),
    (
        "cloud-capacity-id",
        "error",
        "pools[0].capacity[0].id",
        "my-reservation",
        {"pools": [build_pool(capacity=[RESERVED | {"id": "my-reservation"}])]},
    ),
    (
        "cloud-capacity-id",
        "error",
        "pools[0].capacity[1].id",
        "duplicate",
        {"pools": [build_pool(capacity=[RESERVED, RESERVED])]},
    ),
    (
        "cloud-capacity-id",
        "error",
        "pools[0].capacity[0].id",
        "eu-west-1",
        {
            "pools": [
                build_pool(
                    capacity=[
                        {"kind": "reservation-group", "id": "arn:aws:resource-groups:eu-west-1:123456789012:group/odcr"}
                    ]
                )
            ]
        },
    ),
    (
        "cloud-capacity-zone",
        "error",
        "pools[0].capacity[0].zone",
        "us-east-1c",
        {"pools": [build_pool(capacity=[RESERVED | {"zone": "us-east-1c"}])]},
    ),
    (
        "cloud-capacity-zone",
        "warning",
        "pools[0].capacity",
        "us-east-1b",
        {
            "site": TWO,
            "pools": [build_pool(capacity=[RESERVED, RESERVED | {"id": "cr-1123456789abcdef0", "zone": "us-east-1b"}])],
        },
    ),
    (
        "cloud-domain",
        "error",
        "pools[0].nodes",
        "20 nodes",
        {"pools": [build_pool(machine="p6e-gb200.36xlarge", nodes=20, capacity=[BLOCK])]},
    ),
    (
        "cloud-domain",
        "error",
        "pools[0].domain",
        "not of 12",
        {"pools": [build_pool(machine="p6e-gb200.36xlarge", nodes=24, domain=12, capacity=[BLOCK])]},
    ),
    (
        "cloud-domain",
        "error",
        "pools[0].initial",
        "4 initial nodes",
        {"pools": [build_pool(machine="p6e-gb200.36xlarge", nodes=18, initial=4, capacity=[BLOCK])]},
    ),
    (
        "cloud-fabric-kind",
        "error",
        "fabrics[0].kind",
        "does not offer InfiniBand",
        {"fabrics": [{"name": "compute", "kind": "infiniband"}]},
    ),
    (
        "cloud-fabric-zones",
        "error",
        "pools[0].zones",
        "2 zones",
        {"pools": [build_pool(zones=["us-east-1a", "us-east-1b"])]},
    ),
    ("cloud-fabric-unused", "warning", "pools[0].fabrics", "32", {"pools": [build_pool(fabrics=[])], "fabrics": []}),
    (
        "cloud-placement",
        "error",
        "pools[0].placement",
        "UltraCluster",
        {"pools": [build_pool(capacity=[BLOCK], placement="cluster")]},
    ),
    (
        "cloud-placement",
        "error",
        "pools[0].placement",
        "p6e-gb200",
        {"pools": [build_pool(machine="p6e-gb200.36xlarge", nodes=18, capacity=[BLOCK], placement="cluster")]},
    ),
    (
        "cloud-placement",
        "error",
        "pools[0].placement",
        "one zone",
        {"site": TWO, "pools": [build_pool(machine="m6i.8xlarge", fabrics=[], placement="cluster")], "fabrics": []},
    ),
    (
        "cloud-placement-missing",
        "warning",
        "pools[0].placement",
        "on-demand",
        {"pools": [build_pool(placement="none")]},
    ),
    (
        "cloud-image",
        "error",
        "site.images.slurm-intel-x86",
        "slurm-intel-x86",
        {"pools": [build_pool(machine="dl1.24xlarge", fabrics=[])], "fabrics": []},
    ),
    (
        "cloud-image-arch",
        "error",
        "site.images.slurm-nvidia-x86",
        "is an image for aarch64; machines that use slurm-nvidia-x86 are x86_64",
        {
            "site": TWO
            | {
                "images": {
                    "slurm-nvidia-x86": {
                        "id": "/aws/service/deeplearning/ami/arm64/base-ubuntu-24.04/latest/ami-id",
                        "root": "/dev/sda1",
                    }
                }
            }
        },
    ),
    (
        "cloud-image-arch",
        "error",
        "site.images.slurm-cpu-x86",
        "ami-0a is also that of slurm-cpu-arm: machines that use slurm-cpu-x86 are x86_64",
        {
            "site": TWO | {"images": {"slurm-cpu-x86": "ami-0a", "slurm-cpu-arm": "ami-0a"}},
            "pools": [build_pool(), {"name": "arm", "machine": "m7g.16xlarge", "nodes": 1}],
        },
    ),
    (
        "cloud-identifier-region",
        "error",
        "pools[0].capacity[0].id",
        "is in us-east-2, the cluster in us-east-1",
        {
            "pools": [
                build_pool(
                    capacity=[
                        {
                            "kind": "reservation-group",
                            "id": "arn:aws:resource-groups:us-east-2:111122223333:group/h100",
                        }
                    ]
                )
            ]
        },
    ),
    (
        "cloud-image-root",
        "warning",
        "site.images.slurm-nvidia-x86",
        "the root device of ami-0123456789abcdef0 is not set, and /dev/",
        {"site": TWO | {"images": {"slurm-nvidia-x86": {"id": "ami-0123456789abcdef0", "user": "admin"}}}},
    ),
    (
        "cloud-image",
        "warning",
        "site.images.slurm-nvidia-arm",
        "no machine",
        {"site": TWO | {"images": {"slurm-nvidia-arm": "ami-0"}}},
    ),
    ("cloud-arch", "error", "scheduler.machine", "aarch64", {"scheduler": build_slurm(machine="m7g.2xlarge")}),
    (
        "cloud-arch",
        "warning",
        "pools",
        "aarch64",
        {"pools": [build_pool(), {"name": "arm", "machine": "m7g.16xlarge", "nodes": 1}]},
    ),
    (
        "cloud-controller-memory",
        "error",
        "scheduler.machine",
        "8 GiB",
        {"scheduler": build_slurm(machine="m6i.large"), "pools": [build_pool(nodes=300)]},
    ),
    (
        "cloud-spot-price",
        "note",
        "pools[0].capacity[0].max_price",
        "55.04",
        {"pools": [build_pool(capacity=[{"kind": "spot", "max_price": "60 USD/h"}])]},
    ),
    (
        "cloud-spot-price",
        "error",
        "pools[0].capacity[0].max_price",
        "0 USD/h",
        {"pools": [build_pool(capacity=[{"kind": "spot", "max_price": "0 USD/h"}])]},
    ),
    ("cloud-disk", "error", "pools[0].disk", "100 TiB", {"pools": [build_pool(disk="100 TiB")]}),
    ("cloud-disk", "error", "scheduler.login.disk", "1 PiB", {"scheduler": build_slurm(login={"disk": "1 PiB"})}),
    (
        "cloud-capacity-shared",
        "error",
        "pools[1].capacity[0].id",
        "a reservation of m6i.large",
        {
            "pools": [
                build_pool(capacity=[RESERVED]),
                {"name": "b", "machine": "m6i.large", "nodes": 1, "capacity": [RESERVED]},
            ]
        },
    ),
    (
        "cloud-capacity-shared",
        "error",
        "pools[1].capacity[0].id",
        "a capacity-block of p5.48xlarge",
        {"pools": [build_pool(capacity=[RESERVED]), build_pool(name="b", capacity=[BLOCK])]},
    ),
    (
        "cloud-capacity-zone-missing",
        "warning",
        "pools[0].capacity[0]",
        "us-east-1a",
        {
            "site": {"kind": "aws", "region": "us-east-1"},
            "pools": [build_pool(capacity=[{"kind": "reservation", "id": "cr-0123456789abcdef0"}])],
        },
    ),
    (
        "cloud-capacity-size",
        "warning",
        "pools[0].capacity",
        "at most 64",
        {"pools": [build_pool(nodes=65, capacity=[BLOCK])]},
    ),
    (
        "cloud-managed-nodes",
        "error",
        "site.images.kubernetes-nvidia-x86",
        "/my/parameter",
        {"scheduler": KUBERNETES, "site": TWO | {"images": {"kubernetes-nvidia-x86": "/my/parameter"}}},
    ),
    (
        "cloud-managed-nodes",
        "error",
        "scheduler.system.count",
        "every pool",
        {"scheduler": KUBERNETES | {"system": {"count": 0}}, "site": TWO},
    ),
    (
        "cloud-local-disks",
        "error",
        "pools[0].local",
        "nodeadm",
        {"scheduler": KUBERNETES, "site": TWO, "pools": [build_pool(local="/scratch")]},
    ),
    (
        "cloud-spot-limit",
        "error",
        "pools[0].capacity[0].max_price",
        "would not be enforced",
        {
            "scheduler": KUBERNETES,
            "site": TWO,
            "pools": [build_pool(capacity=[{"kind": "spot", "max_price": "40 USD/h"}])],
        },
    ),
    (
        "cloud-capacity-unused",
        "note",
        "pools[0].capacity",
        "train-on-demand stays empty",
        {"scheduler": KUBERNETES, "site": TWO, "pools": [build_pool(capacity=[RESERVED, {"kind": "on-demand"}])]},
    ),
]
