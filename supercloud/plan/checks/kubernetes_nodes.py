"""Checks of the nodes of a Kubernetes cluster: rails, sizes, labels."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...catalog import Catalog
from ...errors import Finding
from ..build.kubernetes.fabrics import compute_pod_blocks, find_pool_adapter, list_attachments
from ..build.kubernetes.names import build_topology
from ..build.kubernetes.quota import CPU, MEMORY, compute_node_resources
from ..model.plan import Plan
from .kubernetes_accessors import iter_kubernetes_plans
from .kubernetes_devices import (
    kubernetes_channels,
    kubernetes_claims,
    kubernetes_devices,
    kubernetes_products,
    kubernetes_visible_devices,
)
from .paths import find_pool_path

__all__ = ["CHECKS", "iter_kubernetes_plans"]

_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?\Z")


def kubernetes_rails(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Rails that cannot be distinguished, because the devices of the machine have no source."""
    for _ in iter_kubernetes_plans(plan):
        for pool in plan.pools:
            for reach in list_attachments(plan, pool):
                adapter = find_pool_adapter(pool, reach.fabric)
                if reach.mode in ("host-device", "shared") and not reach.has_named_ports and plan.site.kind == "onprem":
                    yield Finding(
                        "kubernetes-rails",
                        "note",
                        f"{find_pool_path(plan, pool)}.machine",
                        f"the devices of the {adapter.count if adapter else 0} adapters of "
                        f"{pool.machine.name} on {reach.fabric.name} are unknown: pods get them in any "
                        "order",
                        "add adapters.devices to a catalog overlay",
                    )


def kubernetes_adapters(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Adapters of a vendor whose operator is not in the bundle."""
    for _ in iter_kubernetes_plans(plan):
        for pool in plan.pools:
            for reach in list_attachments(plan, pool):
                adapter = find_pool_adapter(pool, reach.fabric)
                if reach.mode == "host" and adapter:
                    yield Finding(
                        "kubernetes-adapters",
                        "note",
                        f"{find_pool_path(plan, pool)}.machine",
                        f"no device plugin in the bundle exposes {adapter.model}, its adapters on {reach.fabric.name}: "
                        "pods of several nodes use them over the host's network, with the host's driver",
                        "add the device plugin of the vendor if pods need the RDMA devices themselves",
                    )


def kubernetes_host_network(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Fabrics that tenants' pods use over the host's network, where network policies have no effect."""
    for _ in iter_kubernetes_plans(plan):
        names = {
            reach.fabric.name
            for pool in plan.pools
            for reach in list_attachments(plan, pool)
            if reach.needs_host_network
        }
        for index, fabric in enumerate(plan.spec.fabrics):
            if fabric.name in names and plan.tenants:
                yield Finding(
                    "kubernetes-host-network",
                    "warning",
                    f"fabrics[{index}].kind",
                    f"routed links of {fabric.name} have the addresses of nodes, so jobs of several nodes "
                    "use the network of their hosts: network policies do not apply to such pods, and they reach "
                    "all that the node reaches, including its management network",
                    "block access from the nodes' addresses to BMCs and switches by rules of the switches or of the "
                    "hosts, or use InfiniBand for tenants who do not trust each other",
                )


def kubernetes_rail_addresses(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Rails whose subnet has no free addresses for pods."""
    for _ in iter_kubernetes_plans(plan):
        ways = {
            (reach.fabric.name, reach.mode, reach.has_named_ports): reach
            for pool in plan.pools
            for reach in list_attachments(plan, pool)
            if reach.mode in ("host-device", "sr-iov")
        }
        full = {reach.fabric.name: reach for reach in ways.values() if not all(compute_pod_blocks(plan, reach))}
        for reach in full.values():
            index = [fabric.name for fabric in plan.spec.fabrics].index(reach.fabric.name)
            yield Finding(
                "kubernetes-rail-addresses",
                "warning",
                f"fabrics[{index}].subnet",
                f"the rails of {reach.fabric.name} have no free addresses besides those of nodes and servers "
                "for pods: they get ports without an address, which is enough for RDMA but not for IP",
                "set a larger network, or omit subnet",
            )


def kubernetes_node_size(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Processors or memory that queues do not count."""
    for _ in iter_kubernetes_plans(plan):
        for pool in plan.pools:
            lacking = [name for name in (CPU, MEMORY) if name not in compute_node_resources(pool)]
            if lacking:
                yield Finding(
                    "kubernetes-node-size",
                    "note",
                    f"{find_pool_path(plan, pool)}.machine",
                    f"unknown {' and '.join(lacking)} of {pool.machine.name}: queues do not count them",
                    "add them to a catalog overlay",
                )


def kubernetes_reserve(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A reserve that leaves nothing for pods: kubelet does not start with one."""
    for _ in iter_kubernetes_plans(plan):
        for pool in plan.pools:
            path, offers = f"{find_pool_path(plan, pool)}.reserve", compute_node_resources(pool)
            if offers.get(CPU, 1) <= 0:
                yield Finding(
                    "kubernetes-reserve",
                    "error",
                    f"{path}.cores",
                    f"{pool.reserved_cores} cores are reserved: all cores of {pool.machine.name}",
                    "leave cores for pods",
                )
            if offers.get(MEMORY, 1) <= 0:
                yield Finding(
                    "kubernetes-reserve",
                    "error",
                    f"{path}.memory",
                    f"{pool.reserved_memory} of {pool.machine.memory} is reserved",
                    "leave memory for pods",
                )


def kubernetes_labels(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Features and groups whose names are not valid label values."""
    for _ in iter_kubernetes_plans(plan):
        for index, declared in enumerate(plan.spec.pools):
            for position, name in enumerate(declared.features):
                if not name or not _LABEL_VALUE.match(name):
                    yield Finding(
                        "kubernetes-labels",
                        "error",
                        f"pools[{index}].features[{position}]",
                        f"{name!r} is not a valid label value: at most 63 characters that start and end with a "
                        "letter or digit",
                        "rename it",
                    )
        for pool in plan.pools:
            for level in build_topology(plan, pool).levels:
                for group in level.groups:
                    if not _LABEL_VALUE.match(group.name):
                        yield Finding(
                            "kubernetes-labels",
                            "error",
                            f"{find_pool_path(plan, pool)}.fabrics",
                            f"the group {group.name!r} of level {level.name} is longer than a label value (63)",
                            "shorten the name of the fabric",
                        )
                        break


CHECKS = (
    kubernetes_channels,
    kubernetes_claims,
    kubernetes_devices,
    kubernetes_labels,
    kubernetes_node_size,
    kubernetes_products,
    kubernetes_rails,
    kubernetes_reserve,
    kubernetes_adapters,
    kubernetes_host_network,
    kubernetes_rail_addresses,
    kubernetes_visible_devices,
)
