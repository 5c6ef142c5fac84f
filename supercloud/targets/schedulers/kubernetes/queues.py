"""Kueue: topologies, a flavor for each pool, a queue with its quota for each tenant, and the cohort they share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ....catalog.kubernetes import KueueApis, KueueRelease
from ....plan.build.kubernetes.fabrics import reaches
from ....plan.build.kubernetes.levels import place_of
from ....plan.build.kubernetes.names import (
    CHANNEL,
    POOL,
    cluster_queue_of,
    flavor_of,
    namespace_of,
    priority_class_of,
    queue_of,
)
from ....plan.build.kubernetes.quota import MEMORY, Allotment, allotments, covered, pool_capacity
from ....plan.model.plan import Plan
from ....spec.tenant import Priority
from .given import channel_classes, claimed_classes, facts_of, tenant_names, tolerations_of
from .manifest import Object, obj
from .provisioning import check_name, queued_pools

__all__ = ["PRIORITIES", "configuration", "device_classes", "files", "settings", "uncounted"]

PRIORITIES: dict[Priority, int] = {"low": 0, "normal": 500, "high": 1000}
"""What a job of each priority is worth; only the order matters."""

_GROUP = "kueue.x-k8s.io"


def files(plan: Plan) -> dict[str, list[Object]]:
    """Everything of Kueue, in the order of its dependence."""
    release = facts_of(plan).kueue
    assert release is not None, "a plan whose Kueue release is unknown has an error finding"
    return {
        "topologies": list(_topologies(plan, release.apis)),
        "flavors": list(_flavors(plan, release.apis)),
        "priorities": list(_priorities(release.apis)),
        "cluster-queues": list(_cluster_queues(plan, release.apis)),
        "local-queues": list(_local_queues(plan, release.apis)),
    }


def configuration(plan: Plan, release: KueueRelease) -> Object:
    """The configuration of Kueue's manager, which its chart takes as a text."""
    spaces = [namespace_of(tenant) for tenant in tenant_names(plan)]
    found = settings(release, spaces, uncounted(plan), device_classes(plan))
    if plan.tenants:
        found["fairSharing"] = {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]}
        if release.apis.configuration == "v1beta1":
            found["fairSharing"] = {"enable": True, **found["fairSharing"]}
    return found


def uncounted(plan: Plan) -> list[str]:
    """Beginnings of the names of resources that no quota is for: of what not every pool knows, and of ports."""
    counted = covered(plan)
    left_out = [name for name in ("cpu", MEMORY) if name not in counted]
    links = {
        name.rstrip("0123456789") for pool in plan.pools for reach in reaches(plan, pool) for name in reach.resources
    }
    return [*left_out, "ephemeral-storage", "hugepages-", *sorted(links)]


def device_classes(plan: Plan) -> dict[str, list[str]]:
    """What claims of device classes count as."""
    return claimed_classes(plan) | ({CHANNEL: names} if (names := channel_classes(plan)) else {})


def settings(
    release: KueueRelease, namespaces: Iterable[str], excluded: Sequence[str], classes: Mapping[str, Sequence[str]]
) -> Object:
    """What a manager is told that looks after these namespaces."""
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
            "matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "In",
                 "values": sorted(namespaces)}
            ]
        },
        "integrations": {
            "frameworks": ["batch/job", "jobset.x-k8s.io/jobset", "leaderworkerset.x-k8s.io/leaderworkerset", "pod"]
        },
        "resources": {"excludeResourcePrefixes": list(excluded)},
    }  # fmt: skip
    if classes:
        found["resources"]["deviceClassMappings"] = [
            {"name": name, "deviceClassNames": list(names)} for name, names in classes.items()
        ]
    if gates:
        found["featureGates"] = gates
    return found


def _api(version: str) -> str:
    return f"{_GROUP}/{version}"


def _topologies(plan: Plan, apis: KueueApis) -> Iterator[Object]:
    """Every topology once; several pools may share one."""
    places = {place.name: place for place in (place_of(plan, pool) for pool in plan.pools)}
    for name, place in sorted(places.items()):
        levels = [{"nodeLabel": label} for label in place.labels]
        yield obj(_api(apis.topologies), "Topology", name, spec={"levels": levels})


def _flavors(plan: Plan, apis: KueueApis) -> Iterator[Object]:
    for pool in plan.pools:
        spec: Object = {"nodeLabels": {POOL: pool.name}, "topologyName": place_of(plan, pool).name}
        if tolerations := tolerations_of(plan, pool):
            spec["tolerations"] = tolerations
        yield obj(_api(apis.queues), "ResourceFlavor", flavor_of(pool.name), spec=spec)


def _priorities(apis: KueueApis) -> Iterator[Object]:
    for name, value in PRIORITIES.items():
        yield obj(_api(apis.queues), "WorkloadPriorityClass", priority_class_of(name), value=value,
                  description=f"jobs of {name} priority")  # fmt: skip


def _cluster_queues(plan: Plan, apis: KueueApis) -> Iterator[Object]:
    resources = covered(plan)
    if not plan.tenants:
        own = [Allotment(pool_capacity(pool), {}) for pool in plan.pools]
        yield _cluster_queue(plan, apis, None, [_flavor(plan, resources, own)], {})
        return
    shares = allotments(plan)
    left = []
    for index, pool in enumerate(plan.pools):
        given = [shares[tenant.name][index].nominal for tenant in plan.tenants]
        left.append(
            Allotment({name: number - sum(item.get(name, 0) for item in given)
                       for name, number in pool_capacity(pool).items()}, {})
        )  # fmt: skip
    spare = any(number for item in left for name, number in item.nominal.items() if name in resources)
    yield obj(_api(apis.cohorts), "Cohort", plan.name,
              spec={"resourceGroups": [_flavor(plan, resources, left)]} if spare else {})  # fmt: skip
    for tenant in plan.tenants:
        more = {apis.cohort_field: plan.name, "fairSharing": {"weight": str(tenant.share)}}
        yield _cluster_queue(plan, apis, tenant.name, [_flavor(plan, resources, shares[tenant.name])], more)


def _cluster_queue(
    plan: Plan, apis: KueueApis, tenant: str | None, groups: list[Object], more: Mapping[str, Any]
) -> Object:
    spec: Object = {
        **more,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace_of(tenant)}},
        "queueingStrategy": "BestEffortFIFO",
        "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
        if tenant
        else {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": groups,
    }
    if queued := queued_pools(plan):
        spec["admissionChecksStrategy"] = {
            "admissionChecks": [{"name": check_name(pool), "onFlavors": [flavor_of(pool.name)]} for pool in queued]
        }
    return obj(_api(apis.queues), "ClusterQueue", cluster_queue_of(tenant), spec=spec)


def _flavor(plan: Plan, resources: Iterable[str], own: list[Allotment]) -> Object:
    """The resource group: a flavor for each pool; all of them name all resources."""
    names = list(resources)
    channels = bool(channel_classes(plan))
    flavors = []
    for pool, allotment in zip(plan.pools, own, strict=True):
        quotas = []
        for name in names:
            quota: Object = {"name": name, "nominalQuota": _quantity(name, allotment.nominal.get(name, 0))}
            if name in allotment.borrow:
                quota["borrowingLimit"] = _quantity(name, allotment.borrow[name])
            quotas.append(quota)
        if channels:  # one a node, so whoever has the node's accelerators has room for it
            quotas.append({"name": CHANNEL, "nominalQuota": str(pool.nodes if pool.imex else 0)})
        flavors.append({"name": flavor_of(pool.name), "resources": quotas})
    return {"coveredResources": [*names, CHANNEL] if channels else names, "flavors": flavors}


def _quantity(resource: str, number: int) -> str:
    return f"{number}Mi" if resource == MEMORY and number else str(number)


def _local_queues(plan: Plan, apis: KueueApis) -> Iterator[Object]:
    for tenant in tenant_names(plan):
        yield obj(_api(apis.queues), "LocalQueue", queue_of(tenant), namespace_of(tenant),
                  spec={"clusterQueue": cluster_queue_of(tenant)})  # fmt: skip
