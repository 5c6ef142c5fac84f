"""Restrictions of a tenant's pods and services: the Pod Security level, and additional admission policies.

RDMA needs locked memory (IPC_LOCK), and RoCE with routed links the host network: the baseline level allows neither. If
a fabric requires them, the namespace has the privileged level, and the policies here forbid everything else that the
baseline forbids. They apply to all other namespaces of tenants too, since the baseline level of older releases checks
less than the current one, and no level restricts node names, other kinds of volumes, or services.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ....plan.build.kubernetes.fabrics import FabricAttachment, list_attachments
from ....plan.model.plan import Plan
from . import baseline, device_rules
from .manifest import Object, build_object

__all__ = ["select_security_level", "build_objects", "needs_host_network"]

_API_VERSION = "admissionregistration.k8s.io/v1"
_PODS, _SERVICES, _CLAIMS = "supercloud-tenant-pods", "supercloud-tenant-services", "supercloud-tenant-claims"
_ALLOWED_VOLUMES = ["configMap", "csi", "downwardAPI", "emptyDir", "persistentVolumeClaim", "projected", "secret"]
"""Not ``ephemeral``: the controller creates its claim, of any class and size, which the role of tenants may not
create."""
_SPEC_CHANGED_CONDITION = {
    "name": "not-the-same",  # objects admitted before a rule existed may still be labeled, finish and be deleted
    "expression": "request.operation != 'UPDATE' || object.spec != oldObject.spec",
}


def _list_attachments(plan: Plan) -> list[FabricAttachment]:
    return [reach for pool in plan.pools for reach in list_attachments(plan, pool)]


def needs_host_network(plan: Plan) -> bool:
    """Whether jobs use a fabric through the host network: each routed link has one address, the host's."""
    return any(reach.needs_host_network for reach in _list_attachments(plan))


def select_security_level(plan: Plan) -> Literal["baseline", "privileged"]:
    """Return the level that the namespaces of tenants enforce."""
    return "privileged" if any(reach.needs_locked_memory for reach in _list_attachments(plan)) else "baseline"


def build_objects(plan: Plan, label: str) -> list[Object]:
    """Policies for the namespaces that have a label."""
    more = ["IPC_LOCK"] if select_security_level(plan) == "privileged" else []
    volumes = " || ".join(f"has(v.{kind})" for kind in _ALLOWED_VOLUMES)
    pods = [
        *baseline.build_rules(more),
        (
            f"variables.pod.?volumes.orValue([]).all(v, {volumes})",
            f"volumes that may be used: {', '.join(_ALLOWED_VOLUMES)}",
        ),
        (
            "request.operation != 'CREATE' || variables.pod.?nodeName.orValue('') == ''",
            "nodeName is reserved for the scheduler: select nodes by nodeSelector or affinity",
        ),
        *_build_host_network_rules(plan),
        *device_rules.build_rules(plan),
    ]
    services = [
        ("object.spec.?externalIPs.orValue([]).size() == 0", "externalIPs are not allowed"),
        (
            "object.spec.?type.orValue('ClusterIP') in ['ClusterIP', 'ExternalName']",
            "services of type NodePort and LoadBalancer are not allowed: they open ports of nodes or of the site",
        ),
    ]
    # controllers create claims from templates in tenants' objects (StatefulSets, Volcano jobs) with the controllers'
    # permissions; administrators, and whatever applies these files, can also write quotas, which such controllers
    # cannot
    writer = "authorizer.group('').resource('resourcequotas').namespace(request.namespace).check('create').allowed()"
    claims = [
        (
            f"request.operation != 'CREATE' || {writer}",
            "only users who may create resource quotas here may create persistent volume claims",
        )
    ]
    words = [*baseline.POLICY_VARIABLES, *device_rules.build_variables(plan)]
    return [
        *_build_policy(_CLAIMS, ["persistentvolumeclaims"], [], claims, label),
        *_build_policy(_PODS, ["pods", "pods/ephemeralcontainers"], words, pods, label),
        *_build_policy(_SERVICES, ["services"], [], services, label),
    ]


def _build_host_network_rules(plan: Plan) -> Iterator[tuple[str, str]]:
    """Forbid the host network, except for pods that use a fabric whose links have the host's addresses."""
    asked = sorted({name for pool in plan.pools for name in _iter_host_network_resources(plan, pool.name)})
    if not asked:
        yield "!variables.pod.?hostNetwork.orValue(false)", "hostNetwork is not allowed"
        yield (
            baseline.build_container_rule("c.?ports.orValue([]).all(p, p.?hostPort.orValue(0) == 0)"),
            "hostPort is not allowed",
        )
        return
    yield (
        f"!variables.pod.?hostNetwork.orValue(false) || {device_rules.format_request_rule(asked)}",
        f"hostNetwork is allowed only for pods that request {' or '.join(asked)}",
    )
    # the API server sets hostPort to containerPort for pods on the host network
    yield (
        "variables.pod.?hostNetwork.orValue(false) || "
        f"({baseline.build_container_rule('c.?ports.orValue([]).all(p, p.?hostPort.orValue(0) == 0)')})",
        "hostPort is not allowed",
    )
    dropped = "c.?securityContext.?capabilities.?drop.orValue([]).exists(k, k in ['ALL', 'NET_RAW'])"
    yield (
        f"!variables.pod.?hostNetwork.orValue(false) || ({baseline.build_container_rule(dropped)})",
        "containers on the host network must drop the capability NET_RAW",
    )


def _iter_host_network_resources(plan: Plan, pool: str) -> Iterator[str]:
    """Yield the resources that pods on the host network of a pool request: its rails, or accelerators if rails have no
    name.
    """
    found = plan.get_pool(pool)
    for reach in list_attachments(plan, found):
        if reach.needs_host_network:
            own = found.accelerator.kubernetes if found.accelerator else None
            yield from reach.resources or ((own,) if own else ())


def _build_policy(
    name: str, resources: list[str], variables: list[Object], rules: list[tuple[str, str]], label: str
) -> list[Object]:
    spec: Object = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": resources},
            ]
        },
        "matchConditions": [_SPEC_CHANGED_CONDITION],
    }
    if variables:
        spec["variables"] = variables
    spec["validations"] = [{"expression": rule, "message": message} for rule, message in rules]
    return [
        build_object(_API_VERSION, "ValidatingAdmissionPolicy", name, spec=spec),
        build_object(
            _API_VERSION,
            "ValidatingAdmissionPolicyBinding",
            name,
            spec={
                "policyName": name,
                "validationActions": ["Deny"],
                "matchResources": {"namespaceSelector": {"matchExpressions": [{"key": label, "operator": "Exists"}]}},
            },
        ),
    ]
