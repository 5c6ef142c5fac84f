"""Checks of the devices of Kubernetes nodes: plugins, slices, claims, classes and channels."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog
from ...catalog.kubernetes import KubernetesRelease
from ...catalog.kubernetes_parts import DeviceStack
from ...errors import Finding
from ...spec.pool import Slicing
from ...spec.scheduler import KubernetesScheduler
from ..build.kubernetes.releases import build_release_sort_key
from ..model.kubernetes import KubernetesPlan
from ..model.plan import Plan, PoolPlan
from .kubernetes_accessors import find_device_stack, iter_kubernetes_plans
from .paths import find_pool_path

__all__ = [
    "kubernetes_channels",
    "kubernetes_claims",
    "kubernetes_devices",
    "kubernetes_products",
    "kubernetes_visible_devices",
]


def kubernetes_devices(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Accelerators that nothing exposes to Kubernetes, or not in the requested way."""
    for facts in iter_kubernetes_plans(plan):
        for pool in plan.pools:
            if pool.accelerator is None:
                continue
            path, stack = find_pool_path(plan, pool), find_device_stack(facts, pool)
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
            if pool.slicing:
                yield from _check_slicing(plan, pool, pool.slicing, stack)
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


def _check_slicing(plan: Plan, pool: PoolPlan, slicing: Slicing, stack: DeviceStack) -> Iterator[Finding]:
    """Slices that the device plugin does not make, or not in this cluster, or not of a part of the accelerators."""
    path = f"{find_pool_path(plan, pool)}.slicing"
    if not (stack.sharing if slicing.shards else stack.slices):
        way, what = ("shards", "shared among pods") if slicing.shards else ("mig", "partitioned into instances")
        why = f": {stack.whole}" if stack.whole else ""
        yield Finding(
            "kubernetes-devices",
            "error",
            f"{path}.{way}",
            f"{stack.title}: accelerators cannot be {what}{why}",
            "remove 'slicing', or use NVIDIA GPUs for this pool",
        )
    elif "plugin" in stack.provided.get(plan.site.kind, ()):
        yield Finding(
            "kubernetes-devices",
            "warning",
            path,
            f"the device plugin of {plan.site.kind} partitions and shares accelerators only as configured in "
            "its node group: objects in the cluster cannot change it",
            "configure the same slicing in the node group at the provider",
        )
    elif slicing.shards and (slicing.accelerators or pool.accelerators_per_node) < pool.accelerators_per_node:
        yield Finding(
            "kubernetes-devices",
            "error",
            f"{path}.accelerators",
            "the device plugin shares all accelerators of a node or none, not "
            f"{slicing.accelerators} of {pool.accelerators_per_node}",
            "omit 'accelerators', or declare two pools",
        )


def kubernetes_visible_devices(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Container runtimes that expose accelerators without the device plugin, where no chart value prevents it."""
    for facts in iter_kubernetes_plans(plan):
        for resource, stack in facts.stacks.items():
            way, site = stack.visible_devices, plan.site.kind
            if way is None or (way.by_chart and "toolkit" not in stack.provided.get(site, ())) or not plan.tenants:
                continue
            pool = next(pool for pool in plan.pools if pool.accelerator and pool.accelerator.kubernetes == resource)
            images = f"; {way.images_with_setting[site]} have the setting" if site in way.images_with_setting else ""
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
    scheduler = plan.scheduler.settings
    for facts in iter_kubernetes_plans(plan):
        if not isinstance(scheduler, KubernetesScheduler) or scheduler.devices == "plugin":
            continue
        if any(stack.driver for stack in facts.stacks.values()):  # the others keep their device plugin
            yield from _check_claim_support(facts, catalog)
        for pool in plan.pools:
            stack = find_device_stack(facts, pool)
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


def _check_claim_support(facts: KubernetesPlan, catalog: Catalog) -> Iterator[Finding]:
    """A release of Kubernetes or Volcano that does not allocate devices of claims to pods that request a resource."""
    if facts.release and not facts.release.abilities.claimed_resources:
        able = [item for item in catalog.iter_entries(KubernetesRelease) if item.abilities.claimed_resources]
        yield Finding(
            "kubernetes-claims",
            "error",
            "scheduler.devices",
            f"Kubernetes {facts.release.name} does not allocate devices of claims to pods that request "
            "nvidia.com/gpu, as jobs do",
            f"set scheduler.version to {min(able, key=build_release_sort_key).name} or later, or devices: plugin",
        )
    if facts.volcano and not facts.volcano.abilities.claimed_resources:
        yield Finding(
            "kubernetes-claims",
            "error",
            "scheduler.devices",
            f"Volcano {facts.volcano.name} does not allocate devices of claims to pods that request "
            "nvidia.com/gpu, as jobs do",
            "use Kueue, or set devices: plugin",
        )


def kubernetes_products(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Accelerators that no device class can select, because the product name in their driver has no source."""
    for facts in iter_kubernetes_plans(plan):
        scheduler = plan.scheduler.settings
        claims = isinstance(scheduler, KubernetesScheduler) and scheduler.devices == "claims"
        for pool in plan.pools:
            stack = find_device_stack(facts, pool)
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
