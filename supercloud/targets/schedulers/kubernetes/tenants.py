"""Tenants as namespaces: their roles, quotas, and network policies.

A tenant's users have permissions in its namespace only, its queue accepts jobs of its namespace only, its volumes are
bound to it by name, and its pods communicate only with each other and with addresses outside the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....plan.build.kubernetes.egress import compute_blocked_cidrs
from ....plan.build.kubernetes.names import format_group_name, format_namespace_name
from ....plan.model.plan import Plan, TenantPlan
from ....primitives.addresses import Block
from .accessors import require_kubernetes_plan, require_kubernetes_spec
from .manifest import Object, build_object
from .pod_security import select_security_level

__all__ = [
    "BLOCKED_RANGES_ANNOTATION",
    "MAX_PRIORITY_LABEL",
    "TENANT_ROLE",
    "TENANT_LABEL",
    "MAX_TIME_LABEL",
    "build_files",
    "build_shared_roles",
]

TENANT_ROLE = "supercloud-tenant"
_VIEW_ROLE = "supercloud-view"
TENANT_LABEL = "supercloud.dev/tenant"
MAX_PRIORITY_LABEL = "supercloud.dev/highest-priority"
MAX_TIME_LABEL = "supercloud.dev/longest-seconds"
BLOCKED_RANGES_ANNOTATION = "supercloud.dev/not-reached"
"""Annotation of a network policy: the contents of each excluded range."""
_ALL_ADDRESSES = Block("0.0.0.0/0")
_RBAC = "rbac.authorization.k8s.io"
_READ_VERBS = ["get", "list", "watch"]
_ALL_VERBS = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]


def build_files(plan: Plan) -> dict[str, list[Object]]:
    """Build a file for each tenant."""
    return {tenant.name: list(_build_tenant_objects(plan, tenant)) for tenant in plan.tenants}


def build_shared_roles(plan: Plan) -> list[Object]:
    """Build the roles that all tenants' users are bound to."""
    queue = [
        # a workload contains its priority: write access would allow any priority
        {"apiGroups": ["kueue.x-k8s.io"], "resources": ["localqueues", "workloads"], "verbs": _READ_VERBS},
    ]
    if require_kubernetes_spec(plan).queue == "volcano":
        queue = [
            {"apiGroups": ["batch.volcano.sh"], "resources": ["jobs"], "verbs": _ALL_VERBS},
            {"apiGroups": ["bus.volcano.sh"], "resources": ["commands"], "verbs": _ALL_VERBS},
            {"apiGroups": ["scheduling.volcano.sh"], "resources": ["podgroups"], "verbs": _READ_VERBS},
        ]
    seen = ["topologies", "resourceflavors", "clusterqueues", "cohorts", "workloadpriorityclasses"]
    roles = [
        build_object(
            f"{_RBAC}/v1",
            "ClusterRole",
            TENANT_ROLE,
            rules=[
                {"apiGroups": [""], "resources": ["pods", "configmaps", "secrets", "services"], "verbs": _ALL_VERBS},
                {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
                {"apiGroups": [""], "resources": ["pods/exec", "pods/portforward"], "verbs": ["create", "get"]},
                {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": _READ_VERBS},
                # claims are rendered: a claim that a tenant creates could bind another tenant's volume
                {"apiGroups": [""], "resources": ["persistentvolumeclaims", "resourcequotas"], "verbs": _READ_VERBS},
                {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": _ALL_VERBS},
                {"apiGroups": ["jobset.x-k8s.io"], "resources": ["jobsets"], "verbs": _ALL_VERBS},
                {"apiGroups": ["leaderworkerset.x-k8s.io"], "resources": ["leaderworkersets"], "verbs": _ALL_VERBS},
                {
                    "apiGroups": ["resource.k8s.io"],
                    "resources": ["resourceclaims", "resourceclaimtemplates"],
                    "verbs": _ALL_VERBS,
                },
                {"apiGroups": ["resource.nvidia.com"], "resources": ["computedomains"], "verbs": _ALL_VERBS},
                *queue,
            ],
        ),
        build_object(
            f"{_RBAC}/v1",
            "ClusterRole",
            _VIEW_ROLE,
            rules=[
                {"apiGroups": [""], "resources": ["nodes"], "verbs": _READ_VERBS},
                {"apiGroups": ["kueue.x-k8s.io"], "resources": seen, "verbs": _READ_VERBS}
                if require_kubernetes_spec(plan).queue == "kueue"
                else {
                    "apiGroups": ["topology.volcano.sh", "scheduling.volcano.sh"],
                    "resources": ["hypernodes", "queues"],
                    "verbs": _READ_VERBS,
                },
            ],
        ),
    ]
    subjects = [_build_group_subject(tenant) for tenant in plan.tenants]
    subjects += [
        _build_user_subject(name) for name in sorted({name for tenant in plan.tenants for name in tenant.users})
    ]
    return [
        *roles,
        build_object(
            f"{_RBAC}/v1",
            "ClusterRoleBinding",
            _VIEW_ROLE,
            roleRef=_build_role_reference(_VIEW_ROLE),
            subjects=subjects,
        ),
    ]


def _build_role_reference(name: str) -> Object:
    return {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name}


def _build_group_subject(tenant: TenantPlan) -> Object:
    """Build the subject for the tenant's group in the identity provider."""
    return {"apiGroup": _RBAC, "kind": "Group", "name": format_group_name(tenant.name)}


def _build_user_subject(name: str) -> Object:
    return {"apiGroup": _RBAC, "kind": "User", "name": name}


def _build_tenant_objects(plan: Plan, tenant: TenantPlan) -> Iterator[Object]:
    namespace = format_namespace_name(tenant.name)
    release = require_kubernetes_plan(plan).release
    assert release is not None, "a plan whose Kubernetes release is unknown has an error finding"
    labels = {TENANT_LABEL: tenant.name, MAX_PRIORITY_LABEL: tenant.priority}
    if tenant.limits.max_time:
        labels[MAX_TIME_LABEL] = str(tenant.limits.max_time.floor("s"))
    for mode, level in (("enforce", select_security_level(plan)), ("audit", "restricted"), ("warn", "restricted")):
        labels[f"pod-security.kubernetes.io/{mode}"] = level
        labels[f"pod-security.kubernetes.io/{mode}-version"] = f"v{release.name}"
    yield build_object("v1", "Namespace", namespace, labels=labels)
    if quota := _build_quota(plan, tenant):
        yield build_object("v1", "ResourceQuota", "tenant", namespace, spec={"hard": quota})
    yield build_object(
        f"{_RBAC}/v1",
        "RoleBinding",
        "tenant",
        namespace,
        roleRef=_build_role_reference(TENANT_ROLE),
        subjects=[_build_group_subject(tenant), *map(_build_user_subject, tenant.users)],
    )
    yield from _build_network_policies(plan, namespace)


def _build_quota(plan: Plan, tenant: TenantPlan) -> Object:
    """Build the quota of the namespace, independent of queues."""
    limits = tenant.limits
    hard: Object = {}
    if limits.accelerators is not None:
        for resource in require_kubernetes_plan(plan).stacks:
            hard[f"requests.{resource}"] = str(limits.accelerators)
    if limits.submitted is not None:
        hard["count/jobs.batch"] = str(limits.submitted)
        hard["count/jobsets.jobset.x-k8s.io"] = str(limits.submitted)
        if require_kubernetes_spec(plan).queue == "volcano":
            hard["count/jobs.batch.volcano.sh"] = str(limits.submitted)
    return hard


def _build_network_policies(plan: Plan, namespace: str) -> Iterator[Object]:
    """Yield policies: no traffic except between the tenant's pods, to DNS, and to outside the cluster."""
    api = "networking.k8s.io/v1"
    own: list[Object] = [{"podSelector": {}}]
    yield build_object(
        api, "NetworkPolicy", "default-deny", namespace, spec={"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    )
    yield build_object(
        api,
        "NetworkPolicy",
        "own-pods",
        namespace,
        spec={
            "podSelector": {},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": own}],
            "egress": [{"to": own}],
        },
    )
    platform = require_kubernetes_plan(plan).platform_ranges
    yield build_object(
        api,
        "NetworkPolicy",
        "names",
        namespace,
        spec={
            "podSelector": {},
            "policyTypes": ["Egress"],
            "egress": [
                {
                    "to": [
                        {
                            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
                            "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
                        },
                        *({"ipBlock": {"cidr": text}} for text in (platform.names if platform else ())),
                    ],
                    "ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}],
                }
            ],
        },
    )
    blocked = compute_blocked_cidrs(plan)
    if _ALL_ADDRESSES not in blocked:  # an exception must be smaller than the rule
        # IPv6 has no rule: default-deny applies to all of it
        rule = {"ipBlock": {"cidr": str(_ALL_ADDRESSES), "except": [str(block) for block in blocked]}}
        note = "; ".join(f"{block} ({', '.join(names)})" for block, names in blocked.items())
        yield build_object(
            api,
            "NetworkPolicy",
            "outside",
            namespace,
            annotations={BLOCKED_RANGES_ANNOTATION: note},
            spec={
                "podSelector": {},
                "policyTypes": ["Egress"],
                "egress": [{"to": [rule]}],
            },
        )
