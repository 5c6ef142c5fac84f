"""What the pods of a job are given to reach each other: ports of fabrics and their networks, NCCL's settings, and the
channel by which nodes of one scale-up domain share memory. A job on one node needs none of it and leaves it to others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ....plan.build.fabric.nccl import collectives_file
from ....plan.build.kubernetes.fabrics import Reach, nccl_of, reaches
from ....plan.build.kubernetes.names import attachment_of, channel_claim_of, namespace_of, settings_of
from ....plan.model.plan import Plan, PoolPlan

__all__ = ["Links", "links_of"]

_NETWORKS = "k8s.v1.cni.cncf.io/networks"  # of Multus
_GKE = "networking.gke.io/"
_RDMA = ("infiniband", "roce", "efa")


@dataclass(frozen=True)
class Links:
    """Of one pod."""

    resources: tuple[tuple[str, int], ...] = ()
    """Ports and functions it asks for, by resource name."""
    annotations: tuple[tuple[str, str], ...] = ()
    """What makes it join the networks of fabrics."""
    settings: str = ""
    """ConfigMap with the variables of the collective library."""
    settings_file: str = "nccl.conf"
    """The key of the ConfigMap that is the library's file in /etc; empty where it reads none."""
    channel: str = ""
    """ResourceClaimTemplate of the channel to its scale-up domain."""
    host_network: bool = False
    """Whether it uses the host's own network, as routed links have no other address."""
    locked: bool = False
    """Whether it pins memory, as RDMA does."""

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Links:
        """From its fields as JSON has them."""
        known = {field.name: data[field.name] for field in fields(cls) if field.name in data}
        for name in ("resources", "annotations"):
            known[name] = tuple((key, value) for key, value in data.get(name, ()))
        return cls(**known)


def links_of(plan: Plan, pool: PoolPlan, tenant: str | None, nodes: int, part: float) -> Links:
    """For pods that each take this part of a node's accelerators (1: the whole node)."""
    if nodes < 2:
        return Links()
    resources: dict[str, int] = {}
    joined: list[str] = []
    interfaces: list[dict[str, str]] = []
    used = [(reach, found) for reach in reaches(plan, pool) if (found := _resources(reach, part)) is not None]
    for reach, found in used:
        resources |= found
        if reach.way == "gke":
            start = len(interfaces) + 1
            interfaces += [{"interfaceName": f"eth{number}", "network": network}
                           for number, network in enumerate(reach.networks, start=start)]  # fmt: skip
        else:
            networks = reach.networks if reach.named else reach.networks[: sum(found.values())]
            joined += [attachment_of(namespace_of(tenant), network) for network in networks]
    annotations: dict[str, str] = {_NETWORKS: ",".join(joined)} if joined else {}
    if interfaces:
        first = {"interfaceName": "eth0", "network": "default"}
        annotations |= {f"{_GKE}default-interface": "eth0", f"{_GKE}interfaces": json.dumps([first, *interfaces])}
    return Links(
        tuple(resources.items()),
        tuple(annotations.items()),
        settings_of(pool.name) if used and nccl_of(plan, pool) else "",
        collectives_file(pool) or "",
        channel_claim_of(pool.name) if _shares_memory(plan, pool) and part == 1 else "",
        any(reach.host_network for reach, _ in used),
        any(reach.fabric.kind in _RDMA for reach, _ in used),
    )


def _resources(reach: Reach, part: float) -> dict[str, int] | None:
    """What a pod asks for on a fabric; None where its part of a node is too small for any of it.

    Ports that are handed out whole and by name belong to whoever has the whole node: which of them lie near the
    accelerators of a part nobody can say.
    """
    if part == 1 or reach.way in ("shared", "sr-iov"):
        return reach.resources
    if reach.way == "gke" or reach.named:
        return None
    found = {name: int(number * part) for name, number in reach.resources.items()}
    return found if all(found.values()) else None


def _shares_memory(plan: Plan, pool: PoolPlan) -> bool:
    """Whether the pool's nodes share memory by claims: a node has one channel, for whoever has the whole node."""
    release = plan.scheduler.kubernetes.release if plan.scheduler.kubernetes else None
    return pool.imex and release is not None and release.abilities.devices is not None
