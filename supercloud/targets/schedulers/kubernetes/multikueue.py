"""Several clusters as one queue: a manager that holds jobs and hands each to the first cluster that admits it.

The manager may be any cluster with Kueue; it needs no accelerators. Its queues are called like those of the workers,
so that a job is the same on both. Workers' kubeconfigs are Secrets of the manager, made when the workers are there.
"""

from __future__ import annotations

from collections.abc import Mapping

from ....catalog.kubernetes import KueueRelease
from ....catalog.kubernetes_parts import Chart
from ....errors import Finding, InputError
from ....plan.build.kubernetes.names import (
    CHANNEL,
    cluster_queue_of,
    flavor_of,
    namespace_of,
    priority_class_of,
    queue_of,
)
from ....plan.build.kubernetes.quota import MEMORY, pool_capacity
from ....plan.build.kubernetes.releases import age
from ....plan.model.plan import Plan
from ....primitives.bundle import Bundle
from ....primitives.templates import fill
from . import charts
from .given import channel_classes, facts_of, tenant_names
from .manifest import Object, documents, head, kustomization, obj, yaml_text
from .queues import PRIORITIES, device_classes, settings, uncounted

__all__ = ["render_fleet"]

_MANAGER, _SYSTEM = "multikueue", "kueue-system"
_CONTROLLER = "kueue.x-k8s.io/multikueue"
_RBAC = "rbac.authorization.k8s.io"


def render_fleet(name: str, plans: Mapping[str, Plan]) -> Bundle:
    """The manager of a fleet and what its workers grant it; ``plans`` in the order of preference.

    Raises :class:`InputError` where a cluster has no Kueue, or where there are more than a manager takes.
    """
    _check(name, plans)
    manager = _manager(name, plans)
    installed = _charts(plans)
    files = {"manager/kustomization.yaml": kustomization(name, [f"{part}.yaml" for part in manager])}
    files |= {f"manager/charts/{chart.name}.yaml": f"{head(name)}\n{yaml_text(_values(plans, chart))}"
              for chart in installed}  # fmt: skip
    files |= {f"manager/{part}.yaml": documents(name, objects) for part, objects in manager.items()}
    for cluster, plan in plans.items():
        files[f"workers/{cluster}/kustomization.yaml"] = kustomization(name, ["multikueue.yaml"])
        files[f"workers/{cluster}/multikueue.yaml"] = documents(name, _worker(plan))
    about = {
        "charts": installed,
        "clusters": list(plans),
        "release": _newest(plans),
        "system": _SYSTEM,
        "account": _MANAGER,
    }
    files["INSTALL.md"] = fill("kubernetes/FLEET.md.j2", head=head(name).removeprefix("# "), name=name, **about)
    return Bundle(files)


def _check(name: str, plans: Mapping[str, Plan]) -> None:
    found = [
        Finding("multikueue", "error", f"clusters[{index}]", f"{cluster} has no Kueue to hand jobs to",
                "set scheduler: {kind: kubernetes, queue: kueue}")
        for index, (cluster, plan) in enumerate(plans.items())
        if _kueue(plan) is None
    ]  # fmt: skip
    if not plans:
        found.append(Finding("multikueue", "error", "clusters", "no cluster has a Kueue to hand jobs to",
                             "set scheduler: {kind: kubernetes, queue: kueue} in one of them"))  # fmt: skip
    most = None if found else _newest(plans).max_clusters
    if most and len(plans) > most:
        found.append(Finding("multikueue", "error", "clusters", f"{len(plans)} clusters, a manager takes {most}",
                             "make several fleets"))  # fmt: skip
    if found:
        raise InputError(f"{name} cannot be one queue", found)


def _kueue(plan: Plan) -> KueueRelease | None:
    return plan.scheduler.kubernetes.kueue if plan.scheduler.kubernetes else None


def _newest(plans: Mapping[str, Plan]) -> KueueRelease:
    """The manager's release: as new as the newest worker's."""
    return max((item for item in map(_kueue, plans.values()) if item), key=age)


def _charts(plans: Mapping[str, Plan]) -> list[Chart]:
    """What the manager installs: its queue, and the kinds of jobs it hands on."""
    newest = max(plans.values(), key=lambda plan: age(facts_of(plan).kueue or _newest(plans)))
    return [chart for chart in facts_of(newest).charts if chart.name in ("kueue", "jobset", "lws")]


def _values(plans: Mapping[str, Plan], chart: Chart) -> Object:
    """Kueue's as its workers have them together: the manager counts what they count, for all their tenants."""
    if chart.name != "kueue":
        return {}
    spaces = {namespace_of(tenant) for plan in plans.values() for tenant in tenant_names(plan)}
    excluded = list(dict.fromkeys(name for plan in plans.values() for name in uncounted(plan)))
    classes: dict[str, list[str]] = {}
    for plan in plans.values():
        for resource, names in device_classes(plan).items():
            known = classes.setdefault(resource, [])
            known += [name for name in names if name not in known]
    said = settings(_newest(plans), spaces, excluded, classes)
    return charts.kueue_values(said)


def _manager(name: str, plans: Mapping[str, Plan]) -> dict[str, list[Object]]:
    apis = _newest(plans).apis
    api, clusters = f"kueue.x-k8s.io/{apis.queues}", f"kueue.x-k8s.io/{apis.clusters}"
    tenants = sorted({tenant for plan in plans.values() for tenant in tenant_names(plan)}, key=str)
    members = [
        obj(clusters, "MultiKueueCluster", cluster,
            spec={"clusterSource": {"kubeConfig": {"locationType": "Secret", "location": f"{_MANAGER}-{cluster}"}}}
            if apis.clusters != "v1beta1"
            else {"kubeConfig": {"locationType": "Secret", "location": f"{_MANAGER}-{cluster}"}})
        for cluster in plans
    ]  # fmt: skip
    config = obj(clusters, "MultiKueueConfig", name, spec={"clusters": list(plans)})
    check = obj(api, "AdmissionCheck", name, spec={
        "controllerName": _CONTROLLER,
        "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": name},
    })  # fmt: skip
    flavor = obj(api, "ResourceFlavor", flavor_of(name), spec={})
    priorities = [obj(api, "WorkloadPriorityClass", priority_class_of(word), value=value,
                      description=f"jobs of {word} priority") for word, value in PRIORITIES.items()]  # fmt: skip
    queues: list[Object] = []
    for tenant in tenants:
        if tenant:
            queues.append(obj("v1", "Namespace", namespace_of(tenant)))
        queues.append(_queue(name, api, tenant, plans))
        queues.append(obj(api, "LocalQueue", queue_of(tenant), namespace_of(tenant),
                          spec={"clusterQueue": cluster_queue_of(tenant)}))  # fmt: skip
    return {"clusters": [*members, config, check], "flavors": [flavor, *priorities], "queues": queues}


def _queue(name: str, api: str, tenant: str | None, plans: Mapping[str, Plan]) -> Object:
    """It is as large as all clusters together: what a tenant may have is decided where its job runs."""
    total: dict[str, int] = {}
    for plan in plans.values():
        for pool in plan.pools if tenant in tenant_names(plan) else ():
            for resource, number in pool_capacity(pool).items():
                total[resource] = total.get(resource, 0) + number
            if pool.imex and channel_classes(plan):
                total[CHANNEL] = total.get(CHANNEL, 0) + pool.nodes
    resources = sorted(total)
    quotas = [{"name": item, "nominalQuota": f"{total[item]}Mi" if item == MEMORY else str(total[item])}
              for item in resources]  # fmt: skip
    return obj(api, "ClusterQueue", cluster_queue_of(tenant), spec={
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace_of(tenant)}},
        "resourceGroups": [{"coveredResources": resources,
                            "flavors": [{"name": flavor_of(name), "resources": quotas}]}],
        "admissionChecksStrategy": {"admissionChecks": [{"name": name}]},
    })  # fmt: skip


def _worker(plan: Plan) -> list[Object]:
    """The manager's account on a worker: it makes jobs and workloads in the namespaces of tenants, and reads them."""
    verbs = ["get", "list", "watch", "create", "delete"]
    rules = [
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": verbs},
        {"apiGroups": ["batch"], "resources": ["jobs/status"], "verbs": ["get"]},
        {"apiGroups": ["jobset.x-k8s.io"], "resources": ["jobsets"], "verbs": verbs},
        {"apiGroups": ["jobset.x-k8s.io"], "resources": ["jobsets/status"], "verbs": ["get"]},
        {"apiGroups": ["leaderworkerset.x-k8s.io"], "resources": ["leaderworkersets"], "verbs": verbs},
        {"apiGroups": ["leaderworkerset.x-k8s.io"], "resources": ["leaderworkersets/status"], "verbs": ["get"]},
        {"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads"], "verbs": [*verbs, "patch", "update"]},
        {"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads/status"], "verbs": ["get", "patch", "update"]},
    ]
    found = [
        obj("v1", "ServiceAccount", _MANAGER, _SYSTEM),
        obj(f"{_RBAC}/v1", "ClusterRole", f"supercloud-{_MANAGER}", rules=rules),
        obj(f"{_RBAC}/v1", "ClusterRoleBinding", f"supercloud-{_MANAGER}",
            roleRef={"apiGroup": _RBAC, "kind": "ClusterRole", "name": f"supercloud-{_MANAGER}"},
            subjects=[{"kind": "ServiceAccount", "name": _MANAGER, "namespace": _SYSTEM}]),
    ]  # fmt: skip
    return found
