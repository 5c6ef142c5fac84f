"""Existing placement groups of a cloud, threads of machines, load balancers of login machines."""

from __future__ import annotations

from typing import Any

from plan.clouds import BLOCK, build_pool, build_slurm

CASES: list[tuple[str, str, str, str, dict[str, Any]]] = [
    (
        "cloud-balancer",
        "error",
        "scheduler.login.balancer",
        "there is one login machine",
        {"scheduler": build_slurm(login={"balancer": True})},
    ),
    (
        "cloud-existing-placement",
        "error",
        "pools[0].placement_group",
        "capacity of train-block cannot be used with a placement group",
        {"pools": [build_pool(capacity=[BLOCK], placement_group="ours")]},
    ),
    (
        "cloud-existing-placement",
        "error",
        "pools[0].placement_group",
        "'placement' is cluster too",
        {"pools": [build_pool(placement="cluster", placement_group="ours")]},
    ),
    (
        "cloud-threads",
        "error",
        "pools[0].threads_per_core",
        "the catalog has no number of cores of m6i.8xlarge",
        {"pools": [build_pool(machine="m6i.8xlarge", fabrics=[], threads_per_core=1)]},
    ),
    (
        "cloud-threads",
        "error",
        "pools[0].threads_per_core",
        "cores of m7g.16xlarge have one thread",
        {"pools": [build_pool(machine="m7g.16xlarge", fabrics=[], threads_per_core=2)]},
    ),
]
