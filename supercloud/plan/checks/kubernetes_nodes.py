"""Checks of the nodes of a Kubernetes cluster: devices, rails, sizes, labels."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...catalog import Catalog
from ...catalog.kubernetes import KubernetesRelease
from ...errors import Finding
from ...spec.scheduler import KubernetesScheduler
from ..build.kubernetes.fabrics import compute_pod_blocks, find_pool_adapter, list_attachments
from ..build.kubernetes.names import build_topology
from ..build.kubernetes.quota import CPU, MEMORY, compute_node_resources
from ..build.kubernetes.releases import build_release_sort_key
from ..model.kubernetes import KubernetesPlan
from ..model.plan import Plan, PoolPlan

__all__ = ["CHECKS", "iter_kubernetes_plans", "find_pool_path"]

_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?\Z")


def iter_kubernetes_plans(plan: Plan) -> Iterator[KubernetesPlan]:
    """The Kubernetes plan, if Kubernetes is the scheduler."""
    if plan.scheduler.kubernetes:
        yield plan.scheduler.kubernetes


def find_pool_path(plan: Plan, pool: PoolPlan) -> str:
    """Path of a pool in the spec: ``pools[0]``."""
    return f"pools[{[item.name for item in plan.spec.pools].index(pool.name)}]"


def kubernetes_devices(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Accelerators that nothing exposes to Kubernetes, or not in the requested way."""
    for facts in iter_kubernetes_plans(plan):
        for pool in plan.pools:
            if pool.accelerator is None:
                continue
            path = find_pool_path(plan, pool)
            stack = facts.stacks.get(pool.accelerator.kubernetes or "")
            if stack is None:
                yield Finding(
                    "kubernetes-devices",
                    "warning",
                    f"{path}.machine",
                    f"unknown device plugin for {pool.accelerator.name} on a site of kind "
                    f"{plan.site.kind}: pods cannot request it",
                    "add device-stacks and accelerators/kubernetes to a catalog overlay",
                )
                continue
            slicing = pool.slicing
            if slicing and not (stack.sharing if slicing.shards else stack.slices):
                way, what = ("shards", "shared among pods") if slicing.shards else ("mig", "partitioned into instances")
                why = f": {stack.whole}" if stack.whole else ""
                yield Finding(
                    "kubernetes-devices",
                    "error",
                    f"{path}.slicing.{way}",
                    f"{stack.title}: accelerators cannot be {what}{why}",
                    "remove 'slicing', or use NVIDIA GPUs for this pool",
                )
            elif slicing and "plugin" in stack.provided.get(plan.site.kind, ()):
                yield Finding(
                    "kubernetes-devices",
                    "warning",
                    f"{path}.slicing",
                    f"the device plugin of {plan.site.kind} partitions and shares accelerators only as configured in "
                    "its node group: objects in the cluster cannot change it",
                    "configure the same slicing in the node group at the provider",
                )
            elif (
                slicing
                and slicing.shards
                and (slicing.accelerators or pool.accelerators_per_node) < pool.accelerators_per_node
            ):
                yield Finding(
                    "kubernetes-devices",
                    "error",
                    f"{path}.slicing.accelerators",
                    "the device plugin shares all accelerators of a node or none, not "
                    f"{slicing.accelerators} of {pool.accelerators_per_node}",
                    "omit 'accelerators', or declare two pools",
                )
            able = facts.release.abilities.devices if facts.release else "v1"
            if pool.has_imex and stack.device_class and able is None:
                newer = _find_oldest_with_devices(catalog)
                yield Finding(
                    "kubernetes-devices",
                    "warning",
                    "scheduler.version",
                    f"without dynamic resource allocation jobs on {pool.name} cannot share memory over scale-up "
                    "domains",
                    f"set scheduler.version to {newer} or later",
                )


def kubernetes_visible_devices(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Container runtimes that expose accelerators without the device plugin, where no chart value prevents it."""
    for facts in iter_kubernetes_plans(plan):
        for resource, stack in facts.stacks.items():
            way, site = stack.visible_devices, plan.site.kind
            if way is None or (way.by_chart and "toolkit" not in stack.provided.get(site, ())) or not plan.tenants:
                continue
            pool = next(pool for pool in plan.pools if pool.accelerator and pool.accelerator.kubernetes == resource)
            images = f"; {way.closed[site]} have the setting" if site in way.closed else ""
            yield Finding(
                "kubernetes-visible-devices",
                "note" if images else "warning",
                f"{find_pool_path(plan, pool)}.machine",
                f"a container without privileges that sets {way.variable} to all gets every accelerator of "
                f"its node, those of other tenants too, unless {way.file} on the nodes has the line "
                f"'{way.setting}': the bundle does not set it{images}",
                "check the line on a node before tenants use it; in images without it, write it at "
                "boot, or build images that have it",
            )


def kubernetes_claims(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Claims for GPUs where the release, the kind of GPU or its slicing does not allow them."""
    scheduler = plan.scheduler.spec
    for facts in iter_kubernetes_plans(plan):
        if not isinstance(scheduler, KubernetesScheduler) or scheduler.devices == "plugin":
            continue
        driven = any(stack.driver for stack in facts.stacks.values())  # the others keep their device plugin
        if driven and facts.release and not facts.release.abilities.claimed_resources:
            able = [item for item in catalog.iter_entries(KubernetesRelease) if item.abilities.claimed_resources]
            yield Finding(
                "kubernetes-claims",
                "error",
                "scheduler.devices",
                f"Kubernetes {facts.release.name} does not allocate devices of claims to pods that request "
                "nvidia.com/gpu, as jobs do",
                f"set scheduler.version to {min(able, key=build_release_sort_key).name} or later, or devices: plugin",
            )
        if driven and facts.volcano and not facts.volcano.abilities.claimed_resources:
            yield Finding(
                "kubernetes-claims",
                "error",
                "scheduler.devices",
                f"Volcano {facts.volcano.name} does not allocate devices of claims to pods that request "
                "nvidia.com/gpu, as jobs do",
                "use Kueue, or set devices: plugin",
            )
        for pool in plan.pools:
            stack = facts.stacks.get(pool.accelerator.kubernetes or "") if pool.accelerator else None
            if stack and not stack.driver:
                yield Finding(
                    "kubernetes-claims",
                    "warning",
                    f"{find_pool_path(plan, pool)}.machine",
                    f"{stack.title} has no driver for claims on this site: {pool.name} keeps its device plugin",
                    "accept it, or set scheduler.devices: plugin",
                )
            elif stack and pool.slicing:
                yield Finding(
                    "kubernetes-claims",
                    "error",
                    f"{find_pool_path(plan, pool)}.slicing",
                    "instances and shares are allocated by the device plugin, which is disabled with claims",
                    "remove 'slicing', or set scheduler.devices: plugin",
                )


def kubernetes_products(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Accelerators that no device class can select, because the product name in their driver has no source."""
    for facts in iter_kubernetes_plans(plan):
        scheduler = plan.scheduler.spec
        claims = isinstance(scheduler, KubernetesScheduler) and scheduler.devices == "claims"
        for pool in plan.pools:
            stack = facts.stacks.get(pool.accelerator.kubernetes or "") if pool.accelerator else None
            if not (pool.accelerator and stack and stack.driver and facts.release and facts.release.abilities.devices):
                continue
            if not pool.accelerator.product_names:
                yield Finding(
                    "kubernetes-products",
                    "warning" if claims else "note",
                    f"{find_pool_path(plan, pool)}.machine",
                    f"unknown product name of {pool.accelerator.name} in its driver: {pool.name} has no device class",
                    "add accelerators.product_names to a catalog overlay, as nvidia-smi prints it",
                )


def kubernetes_channels(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Channels of scale-up domains with a Volcano release that cannot place claims within a level."""
    for facts in iter_kubernetes_plans(plan):
        volcano = facts.volcano
        for pool in plan.pools:
            if volcano and pool.has_imex and not volcano.abilities.claims_in_levels:
                yield Finding(
                    "kubernetes-channels",
                    "warning",
                    f"{find_pool_path(plan, pool)}.imex",
                    f"Volcano {volcano.name} cannot place pods with a claim within a required level: jobs "
                    f"on {pool.name} whose groups share scale-up domains are rejected",
                    "use Kueue, or set imex: false and start IMEX manually",
                )


def _find_oldest_with_devices(catalog: Catalog) -> str:
    found = [item for item in catalog.iter_entries(KubernetesRelease) if item.abilities.devices]
    return min(found, key=build_release_sort_key).name


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
