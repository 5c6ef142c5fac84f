"""Checks of a Kubernetes cluster: releases, sizes, names, levels, capacity."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...catalog import Catalog
from ...catalog.kubernetes import KubernetesRelease, KueueRelease
from ...catalog.kubernetes_service import KubernetesService
from ...errors import Finding
from ...spec.scheduler import KubernetesScheduler
from ..build.kubernetes.levels import build_topology_labels, list_level_names
from ..build.kubernetes.networks import build_cluster_networks
from ..build.kubernetes.quota import (
    CPU,
    TenantQuota,
    compute_node_resources,
    compute_pool_capacity,
    compute_tenant_quotas,
)
from ..build.kubernetes.releases import build_release_sort_key
from ..model.plan import Plan, TenantPlan
from . import kubernetes_charts, kubernetes_nodes
from .kubernetes_nodes import iter_kubernetes_plans
from .paths import find_pool_path

__all__ = ["CHECKS"]

_RESERVED_NAMESPACES = ("default", "supercloud-system", "flux-system", "argocd")


def _find_oldest_kueue(catalog: Catalog, predicate: Callable[[KueueRelease], bool]) -> str:
    """The name of the oldest release of Kueue that meets a condition."""
    found = [item for item in catalog.iter_entries(KueueRelease) if predicate(item)]
    return min(found, key=build_release_sort_key).name if found else ""


def kubernetes_addresses(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """No free private network that is large enough for pods and services."""
    for _ in iter_kubernetes_plans(plan):
        networks = build_cluster_networks(plan)
        if plan.site.kind == "onprem" and not (networks.pods and networks.services):
            what = "pods" if networks.pods is None else "services"
            yield Finding(
                "kubernetes-addresses",
                "error",
                "network.cidr",
                f"no private network is free for the {what} addresses of {plan.nodes} nodes",
                "set smaller networks in network.cidr, network.fabrics and network.management",
            )


def kubernetes_gitops(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A GitOps controller without the address of its repository."""
    for _ in iter_kubernetes_plans(plan):
        settings = plan.scheduler.settings
        declared = settings.gitops if isinstance(settings, KubernetesScheduler) else "none"
        if isinstance(declared, str) and declared != "none":
            yield Finding(
                "kubernetes-gitops",
                "note",
                "scheduler.gitops",
                f"{declared} has no repository: the rendered wrappers have a placeholder as its address",
                f"set gitops: {{kind: {declared}, url: ADDRESS, branch: main, path: FOLDER}}",
            )


def kubernetes_size(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """More nodes than the release is tested with, or a control plane that cannot lose a member."""
    for facts in iter_kubernetes_plans(plan):
        most = facts.release.max_nodes if facts.release else None
        if plan.site.kind != "onprem":
            continue
        if most and plan.nodes > most:
            yield Finding(
                "kubernetes-size",
                "warning",
                "pools",
                f"{plan.nodes} nodes in one cluster: Kubernetes is tested with at most {most}",
                "split it into several clusters of a fleet",
            )
        count = len(plan.scheduler.controllers)
        if count % 2 == 0 or count == 1:
            problem = f"{count} etcd members tolerate the loss of {(count - 1) // 2}"
            yield Finding("kubernetes-size", "warning", "scheduler.controllers", problem, "declare 3 or 5 controllers")


def kubernetes_queue_release(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A release of the queue that does not run on the requested Kubernetes release."""
    for facts in iter_kubernetes_plans(plan):
        queue = facts.kueue or facts.volcano
        least = queue.min_kubernetes if queue else None
        if (
            facts.release
            and queue
            and least
            and build_release_sort_key(facts.release) < tuple(map(int, least.split(".")))
        ):
            yield Finding(
                "kubernetes-queue-release",
                "error",
                "scheduler.queue_version",
                f"{queue.title} requires Kubernetes {least}, not {facts.release.name}",
                f"set scheduler.version to {least} or later, or use an older queue release",
            )


def kueue_slices(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Scale-up domains of several nodes with a Kueue release that cannot keep parts of a gang within one domain."""
    for facts in iter_kubernetes_plans(plan):
        for pool in plan.pools:
            if facts.kueue and not facts.kueue.abilities.slices and pool.machine.domain_nodes > 1:
                newer = _find_oldest_kueue(catalog, lambda release: release.abilities.slices)
                yield Finding(
                    "kueue-slices",
                    "warning",
                    "scheduler.queue_version",
                    f"{facts.kueue.title} cannot keep parts of a job within a scale-up domain of {pool.name}",
                    f"set scheduler.queue_version to {newer} or later",
                )


def kueue_starts(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Releases whose API server cannot count how often Kueue starts a job."""
    for facts in iter_kubernetes_plans(plan):
        if facts.kueue and facts.release and facts.mutating_policies is None:
            able = [
                item
                for item in catalog.iter_entries(KubernetesRelease)
                if (policies := item.abilities.changing_policies) and (facts.control_plane or not policies.gate)
            ]
            yield Finding(
                "kueue-starts",
                "note",
                "scheduler.version",
                f"Kubernetes {facts.release.name} cannot notify a job that Kueue evicted it and admitted it on "
                "other nodes: both starts have the same SUPERCLOUD_EPOCH, so processes left of the first may still "
                "commit checkpoints",
                f"set scheduler.version to {min(able, key=build_release_sort_key).name} or later" if able else "",
            )


def kueue_limits(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """More levels or pools than the release supports."""
    for facts in iter_kubernetes_plans(plan):
        if facts.kueue is None:
            continue
        for pool in plan.pools:
            place = build_topology_labels(plan, pool)
            most = facts.kueue.max_levels
            if most and len(place.labels) > most:
                yield Finding(
                    "kueue-limits",
                    "error",
                    find_pool_path(plan, pool),
                    f"{len(place.labels)} levels of topology: {facts.kueue.title} supports {most}",
                    f"list {most - 1} of them in scheduler.levels: the host is always added",
                )
        most = facts.kueue.max_flavors
        if most and len(plan.pools) > most:
            yield Finding(
                "kueue-limits",
                "error",
                "pools",
                f"{len(plan.pools)} pools: a queue of {facts.kueue.title} supports {most}",
                "merge pools of equal machines",
            )


def kubernetes_levels(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Levels for the queue that no pool has."""
    for _ in iter_kubernetes_plans(plan):
        there = list_level_names(plan)
        declared = plan.scheduler.settings
        for index, name in enumerate(declared.levels if isinstance(declared, KubernetesScheduler) else ()):
            if name not in there:
                known = f"available: {', '.join(there)}" if there else "there are no levels"
                yield Finding(
                    "kubernetes-levels",
                    "error",
                    f"scheduler.levels[{index}]",
                    f"unknown level {name!r}; {known}",
                    "use one of those, or omit 'levels'" if there else "omit 'levels'",
                )


def kubernetes_tenant_name(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Tenants named like a namespace that the cluster itself uses."""
    for facts in iter_kubernetes_plans(plan):
        taken = {*_RESERVED_NAMESPACES, *(chart.namespace for chart in facts.charts)}
        for index, tenant in enumerate(plan.tenants):
            if tenant.name in taken or tenant.name.startswith("kube-"):
                yield Finding(
                    "kubernetes-tenant-name",
                    "error",
                    f"tenants[{index}].name",
                    f"the namespace {tenant.name} is reserved by the cluster",
                    "choose another name",
                )


def kubernetes_tenant_limits(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Limits that a queue of Kubernetes cannot enforce, and tenants without a share of accelerators."""
    for facts in iter_kubernetes_plans(plan):
        shares = compute_tenant_quotas(plan)
        for index, tenant in enumerate(plan.tenants):
            path = f"tenants[{index}]"
            if tenant.limits.jobs is not None:
                yield Finding(
                    "kubernetes-tenant-limits",
                    "note",
                    f"{path}.limits.jobs",
                    f"Kubernetes queues do not count running jobs: the limit of {tenant.limits.jobs} for "
                    f"{tenant.name} is not enforced",
                    "limit accelerators, nodes or submitted jobs",
                )
            if tenant.limits.max_time and facts.volcano:
                yield Finding(
                    "kubernetes-tenant-limits",
                    "note",
                    f"{path}.limits.max_time",
                    "Volcano does not limit the run time of a tenant's jobs",
                    "use Kueue, or omit it",
                )
            for limit, parts, total in _iter_split_limits(plan, tenant, shares[tenant.name]) if facts.kueue else ():
                yield Finding(
                    "kubernetes-tenant-limits",
                    "note",
                    f"{path}.limits.{limit}",
                    f"a Kueue queue counts each pool separately, so each has a part of the limit of "
                    f"{tenant.name}: {parts}; a job that needs more of one pool is refused",
                    f"if that is too little, raise the limit (it is not divided from {total} on), merge "
                    "pools of equal machines, or set queue: volcano, which counts all pools together",
                )
            owned = {name: number for own in shares[tenant.name] for name, number in own.nominal.items() if number}
            if tenant.share and not any("/" in name or not plan.accelerators for name in owned):
                yield Finding(
                    "kubernetes-tenant-limits",
                    "warning",
                    f"{path}.share",
                    f"a share of {tenant.share} is less than one accelerator: {tenant.name} can only borrow",
                    "increase its share",
                )


def _iter_split_limits(plan: Plan, tenant: TenantPlan, shares: list[TenantQuota]) -> Iterator[tuple[str, str, int]]:
    """Limits that bind over several pools, their part in each pool, and the capacity of these pools."""
    for limit, most in (("accelerators", tenant.limits.accelerators), ("nodes", tenant.limits.nodes)):
        parts = _divide_limit(plan, tenant, shares, limit) if most else {}
        if len(parts) < 2:
            continue
        allowed, capacity = (sum(numbers) for numbers in zip(*parts.values(), strict=True))
        if allowed == most < capacity:
            yield limit, ", ".join(f"{own} of {total} on {name}" for name, (own, total) in parts.items()), capacity


def _divide_limit(plan: Plan, tenant: TenantPlan, shares: list[TenantQuota], limit: str) -> dict[str, tuple[int, int]]:
    """By pool: the tenant's part of a limit (accelerators or nodes), and the pool's capacity."""
    parts: dict[str, tuple[int, int]] = {}
    for pool, share in zip(plan.pools, shares, strict=True):
        name = CPU if limit == "nodes" else pool.accelerator.kubernetes if pool.accelerator else None
        capacity = compute_pool_capacity(pool)
        # a pool whose processors are all reserved has a separate error
        if name is None or not capacity.get(name) or (pool.tenants and tenant.name not in pool.tenants):
            continue
        per_node = compute_node_resources(pool)[name] if limit == "nodes" else 1
        own = share.nominal[name] + share.borrowing_limit.get(name, 0)
        parts[pool.name] = (own // per_node, capacity[name] // per_node)
    return parts


def kubernetes_capacity(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Capacity that starts when it becomes available, if Kueue cannot wait for it."""
    for facts in iter_kubernetes_plans(plan):
        if facts.kueue and facts.service and facts.service.provisioning_class:
            continue
        waiting = [item.title for item in catalog.iter_entries(KubernetesService) if item.provisioning_class]
        for index, pool in enumerate(plan.spec.pools):
            for position, item in enumerate(pool.capacity):
                if item.kind == "flex-start":
                    yield Finding(
                        "kubernetes-capacity",
                        "warning",
                        f"pools[{index}].capacity[{position}]",
                        f"only Kueue on {' or '.join(waiting)} waits for such capacity before it starts a job; "
                        "here nodes start one by one",
                        "use a reservation, or on-demand",
                    )


CHECKS = (
    *kubernetes_charts.CHECKS,
    *kubernetes_nodes.CHECKS,
    kubernetes_addresses,
    kubernetes_capacity,
    kubernetes_gitops,
    kubernetes_levels,
    kubernetes_queue_release,
    kubernetes_size,
    kubernetes_tenant_limits,
    kubernetes_tenant_name,
    kueue_limits,
    kueue_slices,
    kueue_starts,
)
