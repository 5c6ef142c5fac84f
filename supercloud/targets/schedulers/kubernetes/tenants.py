"""Tenants as namespaces: who may do what in them, how much they hold, and how far their pods reach.

Isolation is rendered, not assumed: a tenant's users have rights in its namespace only, its queue takes jobs of its
namespace only, its volumes are bound to it by name, and its pods talk among themselves and to the outside.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....plan.build.kubernetes.egress import closed_blocks
from ....plan.build.kubernetes.names import namespace_of
from ....plan.model.plan import Plan, TenantPlan
from ....primitives.addresses import Block
from .given import declared_of, facts_of
from .manifest import Object, obj
from .pod_security import level_of

__all__ = ["CLOSED_NOTE", "PRIORITY_LABEL", "ROLE", "TENANT_LABEL", "TIME_LABEL", "files", "shared"]

ROLE = "supercloud-tenant"
_VIEW = "supercloud-view"
TENANT_LABEL = "supercloud.dev/tenant"
PRIORITY_LABEL = "supercloud.dev/highest-priority"
TIME_LABEL = "supercloud.dev/longest-seconds"
CLOSED_NOTE = "supercloud.dev/not-reached"
"""Annotation of a network policy: what is in each range that it leaves out."""
_EVERYTHING = Block("0.0.0.0/0")
_RBAC = "rbac.authorization.k8s.io"
_READ = ["get", "list", "watch"]
_ALL = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]


def files(plan: Plan) -> dict[str, list[Object]]:
    """A file for each tenant."""
    return {tenant.name: list(_tenant(plan, tenant)) for tenant in plan.tenants}


def shared(plan: Plan) -> list[Object]:
    """Roles that all tenants' users are bound to."""
    queue = [
        # the priority of a workload stands in it: who may write it has any
        {"apiGroups": ["kueue.x-k8s.io"], "resources": ["localqueues", "workloads"], "verbs": _READ},
    ]
    if declared_of(plan).queue == "volcano":
        queue = [
            {"apiGroups": ["batch.volcano.sh"], "resources": ["jobs"], "verbs": _ALL},
            {"apiGroups": ["bus.volcano.sh"], "resources": ["commands"], "verbs": _ALL},
            {"apiGroups": ["scheduling.volcano.sh"], "resources": ["podgroups"], "verbs": _READ},
        ]
    seen = ["topologies", "resourceflavors", "clusterqueues", "cohorts", "workloadpriorityclasses"]
    roles = [
        obj(f"{_RBAC}/v1", "ClusterRole", ROLE, rules=[
            {"apiGroups": [""], "resources": ["pods", "configmaps", "secrets", "services"], "verbs": _ALL},
            {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
            {"apiGroups": [""], "resources": ["pods/exec", "pods/portforward"], "verbs": ["create", "get"]},
            {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": _READ},
            # claims are rendered: one that a tenant makes could bind another's volume
            {"apiGroups": [""], "resources": ["persistentvolumeclaims", "resourcequotas"], "verbs": _READ},
            {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": _ALL},
            {"apiGroups": ["jobset.x-k8s.io"], "resources": ["jobsets"], "verbs": _ALL},
            {"apiGroups": ["leaderworkerset.x-k8s.io"], "resources": ["leaderworkersets"], "verbs": _ALL},
            {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims", "resourceclaimtemplates"],
             "verbs": _ALL},
            {"apiGroups": ["resource.nvidia.com"], "resources": ["computedomains"], "verbs": _ALL},
            *queue,
        ]),
        obj(f"{_RBAC}/v1", "ClusterRole", _VIEW, rules=[
            {"apiGroups": [""], "resources": ["nodes"], "verbs": _READ},
            {"apiGroups": ["kueue.x-k8s.io"], "resources": seen, "verbs": _READ}
            if declared_of(plan).queue == "kueue"
            else {"apiGroups": ["topology.volcano.sh", "scheduling.volcano.sh"],
                  "resources": ["hypernodes", "queues"], "verbs": _READ},
        ]),
    ]  # fmt: skip
    subjects = [_group(tenant) for tenant in plan.tenants]
    subjects += [_user(name) for name in sorted({name for tenant in plan.tenants for name in tenant.users})]
    return [*roles, obj(f"{_RBAC}/v1", "ClusterRoleBinding", _VIEW, roleRef=_role(_VIEW), subjects=subjects)]


def _role(name: str) -> Object:
    return {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name}


def _group(tenant: TenantPlan) -> Object:
    """What the identity provider calls the tenant's users together."""
    return {"apiGroup": _RBAC, "kind": "Group", "name": f"supercloud:{tenant.name}"}


def _user(name: str) -> Object:
    return {"apiGroup": _RBAC, "kind": "User", "name": name}


def _tenant(plan: Plan, tenant: TenantPlan) -> Iterator[Object]:
    namespace = namespace_of(tenant.name)
    release = facts_of(plan).release
    assert release is not None, "a plan whose Kubernetes release is unknown has an error finding"
    labels = {TENANT_LABEL: tenant.name, PRIORITY_LABEL: tenant.priority}
    if tenant.limits.max_time:
        labels[TIME_LABEL] = str(tenant.limits.max_time.floor("s"))
    for mode, level in (("enforce", level_of(plan)), ("audit", "restricted"), ("warn", "restricted")):
        labels[f"pod-security.kubernetes.io/{mode}"] = level
        labels[f"pod-security.kubernetes.io/{mode}-version"] = f"v{release.name}"
    yield obj("v1", "Namespace", namespace, labels=labels)
    if quota := _quota(plan, tenant):
        yield obj("v1", "ResourceQuota", "tenant", namespace, spec={"hard": quota})
    yield obj(f"{_RBAC}/v1", "RoleBinding", "tenant", namespace, roleRef=_role(ROLE),
              subjects=[_group(tenant), *map(_user, tenant.users)])  # fmt: skip
    yield from _network(plan, namespace)


def _quota(plan: Plan, tenant: TenantPlan) -> Object:
    """What the namespace may hold at one time, whatever queue it came through."""
    limits = tenant.limits
    hard: Object = {}
    if limits.accelerators is not None:
        for resource in facts_of(plan).stacks:
            hard[f"requests.{resource}"] = str(limits.accelerators)
    if limits.submitted is not None:
        hard["count/jobs.batch"] = str(limits.submitted)
        hard["count/jobsets.jobset.x-k8s.io"] = str(limits.submitted)
        if declared_of(plan).queue == "volcano":
            hard["count/jobs.batch.volcano.sh"] = str(limits.submitted)
    return hard


def _network(plan: Plan, namespace: str) -> Iterator[Object]:
    """Nothing in or out, but among the tenant's own pods, to name service, and out of the cluster."""
    api = "networking.k8s.io/v1"
    own: list[Object] = [{"podSelector": {}}]
    yield obj(api, "NetworkPolicy", "default-deny", namespace,
              spec={"podSelector": {}, "policyTypes": ["Ingress", "Egress"]})  # fmt: skip
    yield obj(api, "NetworkPolicy", "own-pods", namespace, spec={
        "podSelector": {}, "policyTypes": ["Ingress", "Egress"], "ingress": [{"from": own}], "egress": [{"to": own}],
    })  # fmt: skip
    platform = facts_of(plan).platform
    yield obj(api, "NetworkPolicy", "names", namespace, spec={
        "podSelector": {},
        "policyTypes": ["Egress"],
        "egress": [{
            "to": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
                    "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}}},
                   *({"ipBlock": {"cidr": text}} for text in (platform.names if platform else ()))],
            "ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}],
        }],
    })  # fmt: skip
    closed = closed_blocks(plan)
    if _EVERYTHING not in closed:  # no exception may be as large as the rule
        # IPv6 has no rule of its own: default-deny holds for all of it
        rule = {"ipBlock": {"cidr": str(_EVERYTHING), "except": [str(block) for block in closed]}}
        note = "; ".join(f"{block} ({', '.join(names)})" for block, names in closed.items())
        yield obj(api, "NetworkPolicy", "outside", namespace, annotations={CLOSED_NOTE: note}, spec={
            "podSelector": {}, "policyTypes": ["Egress"], "egress": [{"to": [rule]}],
        })  # fmt: skip
