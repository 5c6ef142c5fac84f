"""Kueue: topologies, a flavor for each pool, a queue with its quota for each tenant, and the cohort they share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ....catalog.kubernetes import KueueApis, KueueRelease
from ....plan.build.kubernetes.fabrics import list_attachments
from ....plan.build.kubernetes.levels import build_topology_labels
from ....plan.build.kubernetes.names import (
    IMEX_CHANNEL_RESOURCE,
    POOL_LABEL,
    format_cluster_queue_name,
    format_flavor_name,
    format_namespace_name,
    format_priority_class_name,
    format_queue_name,
)
from ....plan.build.kubernetes.quota import (
    MEMORY,
    TenantQuota,
    compute_pool_capacity,
    compute_tenant_quotas,
    list_covered_resources,
)
from ....plan.model.plan import Plan
from ....spec.tenant import Priority
from .accessors import (
    build_claimed_classes,
    build_tolerations,
    list_channel_classes,
    list_tenant_names,
    require_kubernetes_plan,
)
from .manifest import Object, build_object
from .provisioning import format_check_name, list_queued_pools

__all__ = [
    "PRIORITY_VALUES",
    "build_configuration",
    "build_device_class_mappings",
    "build_files",
    "build_settings",
    "list_uncounted_prefixes",
]

PRIORITY_VALUES: dict[Priority, int] = {"low": 0, "normal": 500, "high": 1000}
"""Value of each priority; only the order matters."""

_API_GROUP = "kueue.x-k8s.io"


def build_files(plan: Plan) -> dict[str, list[Object]]:
    """Build all objects of Kueue, in the order of their dependencies."""
    release = require_kubernetes_plan(plan).kueue
    assert release is not None, "a plan whose Kueue release is unknown has an error finding"
    return {
        "topologies": list(_build_topologies(plan, release.apis)),
        "flavors": list(_build_flavors(plan, release.apis)),
        "priorities": list(_build_priorities(release.apis)),
        "cluster-queues": list(_build_cluster_queues(plan, release.apis)),
        "local-queues": list(_build_local_queues(plan, release.apis)),
    }


def build_configuration(plan: Plan, release: KueueRelease) -> Object:
    """Build the configuration of Kueue's manager, which its chart takes as text."""
    spaces = [format_namespace_name(tenant) for tenant in list_tenant_names(plan)]
    found = build_settings(release, spaces, list_uncounted_prefixes(plan), build_device_class_mappings(plan))
    if plan.tenants:
        found["fairSharing"] = {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]}
        if release.apis.configuration == "v1beta1":
            found["fairSharing"] = {"enable": True, **found["fairSharing"]}
    return found


def list_uncounted_prefixes(plan: Plan) -> list[str]:
    """Return prefixes of resource names without quota: resources that not every pool has, and ports."""
    counted = list_covered_resources(plan)
    left_out = [name for name in ("cpu", MEMORY) if name not in counted]
    links = {
        name.rstrip("0123456789")
        for pool in plan.pools
        for reach in list_attachments(plan, pool)
        for name in reach.resources
    }
    return [*left_out, "ephemeral-storage", "hugepages-", *sorted(links)]


def build_device_class_mappings(plan: Plan) -> dict[str, list[str]]:
    """Return the resources as which claims of device classes are counted."""
    return build_claimed_classes(plan) | (
        {IMEX_CHANNEL_RESOURCE: names} if (names := list_channel_classes(plan)) else {}
    )


def build_settings(
    release: KueueRelease, namespaces: Iterable[str], excluded: Sequence[str], classes: Mapping[str, Sequence[str]]
) -> Object:
    """Build the settings of a manager for these namespaces."""
    gates = {} if release.abilities.topology else {"TopologyAwareScheduling": True}
    found: Object = {
        "apiVersion": f"config.kueue.x-k8s.io/{release.apis.configuration}",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": {"bindAddress": ":8443", "enableClusterQueueResources": True},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
        "clientConnection": {"qps": 300, "burst": 500},
        "manageJobsWithoutQueueName": True,
        "managedJobsNamespaceSelector": {
            "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": sorted(namespaces)}]
        },
        "integrations": {
            "frameworks": ["batch/job", "jobset.x-k8s.io/jobset", "leaderworkerset.x-k8s.io/leaderworkerset", "pod"]
        },
        "resources": {"excludeResourcePrefixes": list(excluded)},
    }
    if classes:
        found["resources"]["deviceClassMappings"] = [
            {"name": name, "deviceClassNames": list(names)} for name, names in classes.items()
        ]
    if gates:
        found["featureGates"] = gates
    return found


def _format_api_version(version: str) -> str:
    return f"{_API_GROUP}/{version}"


def _build_topologies(plan: Plan, apis: KueueApis) -> Iterator[Object]:
    """Yield each topology once; several pools may share one."""
    places = {place.name: place for place in (build_topology_labels(plan, pool) for pool in plan.pools)}
    for name, place in sorted(places.items()):
        levels = [{"nodeLabel": label} for label in place.labels]
        yield build_object(_format_api_version(apis.topologies), "Topology", name, spec={"levels": levels})


def _build_flavors(plan: Plan, apis: KueueApis) -> Iterator[Object]:
    for pool in plan.pools:
        spec: Object = {"nodeLabels": {POOL_LABEL: pool.name}, "topologyName": build_topology_labels(plan, pool).name}
        if tolerations := build_tolerations(plan, pool):
            spec["tolerations"] = tolerations
        yield build_object(_format_api_version(apis.queues), "ResourceFlavor", format_flavor_name(pool.name), spec=spec)


def _build_priorities(apis: KueueApis) -> Iterator[Object]:
    for name, value in PRIORITY_VALUES.items():
        yield build_object(
            _format_api_version(apis.queues),
            "WorkloadPriorityClass",
            format_priority_class_name(name),
            value=value,
            description=f"jobs of {name} priority",
        )


def _build_cluster_queues(plan: Plan, apis: KueueApis) -> Iterator[Object]:
    resources = list_covered_resources(plan)
    if not plan.tenants:
        own = [TenantQuota(compute_pool_capacity(pool), {}) for pool in plan.pools]
        yield _build_cluster_queue(plan, apis, None, [_build_resource_group(plan, resources, own)], {})
        return
    shares = compute_tenant_quotas(plan)
    left = []
    for index, pool in enumerate(plan.pools):
        given = [shares[tenant.name][index].nominal for tenant in plan.tenants]
        left.append(
            TenantQuota(
                {
                    name: number - sum(item.get(name, 0) for item in given)
                    for name, number in compute_pool_capacity(pool).items()
                },
                {},
            )
        )
    spare = any(number for item in left for name, number in item.nominal.items() if name in resources)
    yield build_object(
        _format_api_version(apis.cohorts),
        "Cohort",
        plan.name,
        spec={"resourceGroups": [_build_resource_group(plan, resources, left)]} if spare else {},
    )
    for tenant in plan.tenants:
        more = {apis.cohort_field: plan.name, "fairSharing": {"weight": str(tenant.share)}}
        yield _build_cluster_queue(
            plan, apis, tenant.name, [_build_resource_group(plan, resources, shares[tenant.name])], more
        )


def _build_cluster_queue(
    plan: Plan, apis: KueueApis, tenant: str | None, groups: list[Object], spec_fields: Mapping[str, Any]
) -> Object:
    spec: Object = {
        **spec_fields,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": format_namespace_name(tenant)}},
        "queueingStrategy": "BestEffortFIFO",
        "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
        if tenant
        else {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": groups,
    }
    if queued := list_queued_pools(plan):
        spec["admissionChecksStrategy"] = {
            "admissionChecks": [
                {"name": format_check_name(pool), "onFlavors": [format_flavor_name(pool.name)]} for pool in queued
            ]
        }
    return build_object(_format_api_version(apis.queues), "ClusterQueue", format_cluster_queue_name(tenant), spec=spec)


def _build_resource_group(plan: Plan, resources: Iterable[str], quotas_by_pool: list[TenantQuota]) -> Object:
    """Build the resource group: a flavor for each pool; all flavors list all resources."""
    names = list(resources)
    channels = bool(list_channel_classes(plan))
    flavors = []
    for pool, allotment in zip(plan.pools, quotas_by_pool, strict=True):
        quotas = []
        for name in names:
            quota: Object = {"name": name, "nominalQuota": _format_quantity(name, allotment.nominal.get(name, 0))}
            if name in allotment.borrowing_limit:
                quota["borrowingLimit"] = _format_quantity(name, allotment.borrowing_limit[name])
            quotas.append(quota)
        if channels:  # one per node, so that a job with the node's accelerators always has quota for it
            quotas.append({"name": IMEX_CHANNEL_RESOURCE, "nominalQuota": str(pool.nodes if pool.has_imex else 0)})
        flavors.append({"name": format_flavor_name(pool.name), "resources": quotas})
    return {"coveredResources": [*names, IMEX_CHANNEL_RESOURCE] if channels else names, "flavors": flavors}


def _format_quantity(resource: str, number: int) -> str:
    return f"{number}Mi" if resource == MEMORY and number else str(number)


def _build_local_queues(plan: Plan, apis: KueueApis) -> Iterator[Object]:
    for tenant in list_tenant_names(plan):
        yield build_object(
            _format_api_version(apis.queues),
            "LocalQueue",
            format_queue_name(tenant),
            format_namespace_name(tenant),
            spec={"clusterQueue": format_cluster_queue_name(tenant)},
        )
