"""Several clusters as one queue: a manager that queues jobs and dispatches each to the first cluster that admits it.

The manager may be any cluster with Kueue; it needs no accelerators. Its queues have the names of the workers'
queues, so that a job is the same on both. Workers' kubeconfigs are Secrets of the manager, created after the workers.
"""

from __future__ import annotations

from collections.abc import Mapping

from ....catalog.kubernetes import KueueRelease
from ....catalog.kubernetes_parts import Chart
from ....errors import Finding, InputError
from ....plan.build.kubernetes.names import (
    IMEX_CHANNEL_RESOURCE,
    format_cluster_queue_name,
    format_flavor_name,
    format_namespace_name,
    format_priority_class_name,
    format_queue_name,
)
from ....plan.build.kubernetes.quota import MEMORY, compute_pool_capacity
from ....plan.build.kubernetes.releases import build_release_sort_key
from ....plan.model.plan import Plan
from ....primitives.bundle import Bundle
from ....primitives.templates import render_template
from ...header import format_header
from . import charts
from .accessors import list_channel_classes, list_tenant_names, require_kubernetes_plan
from .manifest import Object, build_object, format_yaml, render_documents, render_kustomization
from .queues import PRIORITY_VALUES, build_device_class_mappings, build_settings, list_uncounted_prefixes

__all__ = ["render_fleet"]

_MANAGER, _SYSTEM = "multikueue", "kueue-system"
_CONTROLLER = "kueue.x-k8s.io/multikueue"
_RBAC = "rbac.authorization.k8s.io"


def render_fleet(name: str, plans: Mapping[str, Plan]) -> Bundle:
    """Render the manager of a fleet and its permissions on the workers; ``plans`` in the order of preference.

    Raises :class:`InputError` if a cluster has no Kueue, or if there are more clusters than a manager supports.
    """
    _require_kueue(name, plans)
    manager = _build_manager_objects(name, plans)
    installed = _select_charts(plans)
    files = {"manager/kustomization.yaml": render_kustomization(name, [f"{part}.yaml" for part in manager])}
    files |= {
        f"manager/charts/{chart.name}.yaml": f"{format_header(name)}\n{format_yaml(_build_values(plans, chart))}"
        for chart in installed
    }
    files |= {f"manager/{part}.yaml": render_documents(name, objects) for part, objects in manager.items()}
    for cluster, plan in plans.items():
        files[f"workers/{cluster}/kustomization.yaml"] = render_kustomization(name, ["multikueue.yaml"])
        files[f"workers/{cluster}/multikueue.yaml"] = render_documents(name, _build_worker_objects(plan))
    about = {
        "charts": installed,
        "clusters": list(plans),
        "release": _select_newest_release(plans),
        "system": _SYSTEM,
        "account": _MANAGER,
    }
    files["INSTALL.md"] = render_template(
        "kubernetes/FLEET.md.j2", head=format_header(name).removeprefix("# "), name=name, **about
    )
    return Bundle(files)


def _require_kueue(name: str, plans: Mapping[str, Plan]) -> None:
    found = [
        Finding(
            "multikueue",
            "error",
            f"clusters[{index}]",
            f"{cluster} has no Kueue to dispatch jobs to",
            "set scheduler: {kind: kubernetes, queue: kueue}",
        )
        for index, (cluster, plan) in enumerate(plans.items())
        if _find_kueue_release(plan) is None
    ]
    if not plans:
        found.append(
            Finding(
                "multikueue",
                "error",
                "clusters",
                "no cluster has a Kueue to dispatch jobs to",
                "set scheduler: {kind: kubernetes, queue: kueue} in one of them",
            )
        )
    most = None if found else _select_newest_release(plans).max_clusters
    if most and len(plans) > most:
        found.append(
            Finding(
                "multikueue",
                "error",
                "clusters",
                f"{len(plans)} clusters, but a manager supports at most {most}",
                "split them into several fleets",
            )
        )
    if found:
        raise InputError(f"{name} cannot be one queue", found)


def _find_kueue_release(plan: Plan) -> KueueRelease | None:
    return plan.scheduler.kubernetes.kueue if plan.scheduler.kubernetes else None


def _select_newest_release(plans: Mapping[str, Plan]) -> KueueRelease:
    """Return the manager's release: the newest of the workers' releases."""
    return max((item for item in map(_find_kueue_release, plans.values()) if item), key=build_release_sort_key)


def _select_charts(plans: Mapping[str, Plan]) -> list[Chart]:
    """Return the manager's charts: Kueue, and the kinds of jobs that it dispatches."""
    newest = max(
        plans.values(),
        key=lambda plan: build_release_sort_key(require_kubernetes_plan(plan).kueue or _select_newest_release(plans)),
    )
    return [chart for chart in require_kubernetes_plan(newest).charts if chart.name in ("kueue", "jobset", "lws")]


def _build_values(plans: Mapping[str, Plan], chart: Chart) -> Object:
    """Build the values of Kueue, combined from its workers: the manager counts the same resources, for all tenants."""
    if chart.name != "kueue":
        return {}
    spaces = {format_namespace_name(tenant) for plan in plans.values() for tenant in list_tenant_names(plan)}
    excluded = list(dict.fromkeys(name for plan in plans.values() for name in list_uncounted_prefixes(plan)))
    classes: dict[str, list[str]] = {}
    for plan in plans.values():
        for resource, names in build_device_class_mappings(plan).items():
            known = classes.setdefault(resource, [])
            known += [name for name in names if name not in known]
    settings = build_settings(_select_newest_release(plans), spaces, excluded, classes)
    return charts.build_kueue_values(settings)


def _build_manager_objects(name: str, plans: Mapping[str, Plan]) -> dict[str, list[Object]]:
    apis = _select_newest_release(plans).apis
    api, clusters = f"kueue.x-k8s.io/{apis.queues}", f"kueue.x-k8s.io/{apis.clusters}"
    tenants = sorted({tenant for plan in plans.values() for tenant in list_tenant_names(plan)}, key=str)
    members = [
        build_object(
            clusters,
            "MultiKueueCluster",
            cluster,
            spec={"clusterSource": {"kubeConfig": {"locationType": "Secret", "location": f"{_MANAGER}-{cluster}"}}}
            if apis.clusters != "v1beta1"
            else {"kubeConfig": {"locationType": "Secret", "location": f"{_MANAGER}-{cluster}"}},
        )
        for cluster in plans
    ]
    config = build_object(clusters, "MultiKueueConfig", name, spec={"clusters": list(plans)})
    check = build_object(
        api,
        "AdmissionCheck",
        name,
        spec={
            "controllerName": _CONTROLLER,
            "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": name},
        },
    )
    flavor = build_object(api, "ResourceFlavor", format_flavor_name(name), spec={})
    priorities = [
        build_object(
            api,
            "WorkloadPriorityClass",
            format_priority_class_name(word),
            value=value,
            description=f"jobs of {word} priority",
        )
        for word, value in PRIORITY_VALUES.items()
    ]
    queues: list[Object] = []
    for tenant in tenants:
        if tenant:
            queues.append(build_object("v1", "Namespace", format_namespace_name(tenant)))
        queues.append(_build_cluster_queue(name, api, tenant, plans))
        queues.append(
            build_object(
                api,
                "LocalQueue",
                format_queue_name(tenant),
                format_namespace_name(tenant),
                spec={"clusterQueue": format_cluster_queue_name(tenant)},
            )
        )
    return {"clusters": [*members, config, check], "flavors": [flavor, *priorities], "queues": queues}


def _build_cluster_queue(name: str, api: str, tenant: str | None, plans: Mapping[str, Plan]) -> Object:
    """Build a queue with the size of all clusters together: the worker enforces a tenant's quota."""
    total: dict[str, int] = {}
    for plan in plans.values():
        for pool in plan.pools if tenant in list_tenant_names(plan) else ():
            for resource, number in compute_pool_capacity(pool).items():
                total[resource] = total.get(resource, 0) + number
            if pool.has_imex and list_channel_classes(plan):
                total[IMEX_CHANNEL_RESOURCE] = total.get(IMEX_CHANNEL_RESOURCE, 0) + pool.nodes
    resources = sorted(total)
    quotas = [
        {"name": item, "nominalQuota": f"{total[item]}Mi" if item == MEMORY else str(total[item])} for item in resources
    ]
    return build_object(
        api,
        "ClusterQueue",
        format_cluster_queue_name(tenant),
        spec={
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": format_namespace_name(tenant)}},
            "resourceGroups": [
                {"coveredResources": resources, "flavors": [{"name": format_flavor_name(name), "resources": quotas}]}
            ],
            "admissionChecksStrategy": {"admissionChecks": [{"name": name}]},
        },
    )


def _build_worker_objects(plan: Plan) -> list[Object]:
    """Build the manager's account on a worker: it creates and reads jobs and workloads in the namespaces of tenants."""
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
    return [
        build_object("v1", "ServiceAccount", _MANAGER, _SYSTEM),
        build_object(f"{_RBAC}/v1", "ClusterRole", f"supercloud-{_MANAGER}", rules=rules),
        build_object(
            f"{_RBAC}/v1",
            "ClusterRoleBinding",
            f"supercloud-{_MANAGER}",
            roleRef={"apiGroup": _RBAC, "kind": "ClusterRole", "name": f"supercloud-{_MANAGER}"},
            subjects=[{"kind": "ServiceAccount", "name": _MANAGER, "namespace": _SYSTEM}],
        ),
    ]
