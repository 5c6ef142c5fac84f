"""Network access of a job's pods: ports of fabrics and their networks, NCCL's settings, and the channel by which nodes
of one scale-up domain share memory. A job on one node needs none of it and leaves it free for others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ....plan.build.kubernetes.fabrics import FabricAttachment, build_nccl_environment, list_attachments
from ....plan.build.kubernetes.names import (
    format_attachment_name,
    format_channel_claim_name,
    format_namespace_name,
    format_settings_name,
)
from ....plan.build.network.nccl import find_collectives_file
from ....plan.model.plan import Plan, PoolPlan

__all__ = ["PodLinks", "build_pod_links"]

_NETWORKS_ANNOTATION = "k8s.v1.cni.cncf.io/networks"  # of Multus


@dataclass(frozen=True)
class PodLinks:
    """Network access of one pod."""

    resources: tuple[tuple[str, int], ...] = ()
    """Ports and functions it requests, by resource name."""
    annotations: tuple[tuple[str, str], ...] = ()
    """Annotations that attach it to the networks of fabrics."""
    settings: str = ""
    """ConfigMap with the variables of the collective library."""
    settings_file: str = "nccl.conf"
    """The key of the ConfigMap that is the library's file in /etc; empty if it reads none."""
    channel: str = ""
    """ResourceClaimTemplate of the channel to its scale-up domain."""
    host_network: bool = False
    """Whether it uses the host network, as routed links have no other address."""
    locked: bool = False
    """Whether it pins memory, as RDMA does."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PodLinks:
        """Read from a JSON object."""
        known = {field.name: data[field.name] for field in fields(cls) if field.name in data}
        for name in ("resources", "annotations"):
            known[name] = tuple((key, value) for key, value in data.get(name, ()))
        return cls(**known)


def build_pod_links(plan: Plan, pool: PoolPlan, tenant: str | None, nodes: int, node_fraction: float) -> PodLinks:
    """Build it for pods that each take this fraction of a node's accelerators (1: the whole node)."""
    if nodes < 2:
        return PodLinks()
    used = [
        (reach, found)
        for reach in list_attachments(plan, pool)
        if (found := _compute_resources(reach, node_fraction)) is not None
    ]
    resources: dict[str, int] = {}
    for _, found in used:
        resources |= found
    return PodLinks(
        tuple(resources.items()),
        (*_iter_attached_networks(tenant, used), *_iter_provider_interfaces(plan, used)),
        format_settings_name(pool.name) if used and build_nccl_environment(plan, pool) else "",
        find_collectives_file(pool) or "",
        format_channel_claim_name(pool.name) if _can_share_memory(plan, pool) and node_fraction == 1 else "",
        any(reach.needs_host_network for reach, _ in used),
        any(reach.needs_locked_memory for reach, _ in used),
    )


_UsedFabrics = Sequence[tuple[FabricAttachment, Mapping[str, int]]]
"""Fabrics to which a pod is attached, with the resources that it requests on each."""


def _iter_attached_networks(tenant: str | None, used: _UsedFabrics) -> Iterator[tuple[str, str]]:
    """The annotation with the networks that Multus attaches, if any."""
    names: list[str] = []
    for reach, resources in used:
        if reach.mode != "provider-networks":
            networks = reach.networks if reach.has_named_ports else reach.networks[: sum(resources.values())]
            names += [format_attachment_name(format_namespace_name(tenant), network) for network in networks]
    if names:
        yield _NETWORKS_ANNOTATION, ",".join(names)


def _iter_provider_interfaces(plan: Plan, used: _UsedFabrics) -> Iterator[tuple[str, str]]:
    """The annotations with the interfaces that the provider's service attaches, after that of the pod network."""
    networks = [network for reach, _ in used if reach.mode == "provider-networks" for network in reach.networks]
    service = plan.scheduler.kubernetes.service if plan.scheduler.kubernetes else None
    if networks and service and service.pod_networks:
        interfaces = [
            {"interfaceName": f"eth{number}", "network": network}
            for number, network in enumerate(["default", *networks])
        ]
        yield service.pod_networks.default_annotation, "eth0"
        yield service.pod_networks.interfaces_annotation, json.dumps(interfaces)


def _compute_resources(reach: FabricAttachment, node_fraction: float) -> dict[str, int] | None:
    """The resources a pod requests on a fabric; None if its fraction of a node is too small.

    Ports that are allocated whole and by name belong to the pod that has the whole node: which of them are near the
    accelerators of a fraction is unknown.
    """
    if node_fraction == 1 or reach.mode in ("shared", "sr-iov"):
        return reach.resources
    if reach.has_named_ports:
        return None
    found = {name: int(number * node_fraction) for name, number in reach.resources.items()}
    return found if all(found.values()) else None


def _can_share_memory(plan: Plan, pool: PoolPlan) -> bool:
    """Whether the pool's nodes share memory by claims: a node has one channel, for the pod that has the whole node."""
    release = plan.scheduler.kubernetes.release if plan.scheduler.kubernetes else None
    return pool.has_imex and release is not None and release.abilities.devices is not None
