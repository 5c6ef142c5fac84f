"""How free a tenant's pods and services are: the level of Pod Security, and policies of admission beside it.

RDMA needs memory that stays where it is (IPC_LOCK), and RoCE with routed links the host's network: both are beyond the
baseline level. Where a fabric asks for them the namespace is privileged in name, and the policies here forbid all else
that the baseline forbids. They hold in every other namespace of tenants as well, since the baseline level of an
older release knows less than that of today, and none says anything of nodes, volumes of other kinds, and services.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ....plan.build.kubernetes.fabrics import FabricAttachment, list_attachments
from ....plan.model.plan import Plan
from . import baseline, device_rules
from .manifest import Object, build_object

__all__ = ["select_security_level", "build_objects", "needs_host_network"]

_RDMA_FABRICS = ("infiniband", "roce", "efa")
_API_VERSION = "admissionregistration.k8s.io/v1"
_PODS, _SERVICES, _CLAIMS = "supercloud-tenant-pods", "supercloud-tenant-services", "supercloud-tenant-claims"
_ALLOWED_VOLUMES = ["configMap", "csi", "downwardAPI", "emptyDir", "persistentVolumeClaim", "projected", "secret"]
"""Not ``ephemeral``: the controller makes its claim, of any class and size, which the role of tenants may not make."""
_SPEC_CHANGED_CONDITION = {
    "name": "not-the-same",  # what was admitted before a rule came may still be labelled, finish and be deleted
    "expression": "request.operation != 'UPDATE' || object.spec != oldObject.spec",
}


def _list_attachments(plan: Plan) -> list[FabricAttachment]:
    return [reach for pool in plan.pools for reach in list_attachments(plan, pool)]


def needs_host_network(plan: Plan) -> bool:
    """Whether jobs reach a fabric through the host's own network: each routed link has one address, the host's."""
    return any(reach.needs_host_network for reach in _list_attachments(plan))


def select_security_level(plan: Plan) -> Literal["baseline", "privileged"]:
    """The level that the namespaces of tenants enforce."""
    return "privileged" if any(reach.fabric.kind in _RDMA_FABRICS for reach in _list_attachments(plan)) else "baseline"


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
            "nodeName is for the scheduler: choose nodes by nodeSelector or affinity",
        ),
        *_build_host_network_rules(plan),
        *device_rules.rules(plan),
    ]
    services = [
        ("object.spec.?externalIPs.orValue([]).size() == 0", "externalIPs are not allowed"),
        (
            "object.spec.?type.orValue('ClusterIP') in ['ClusterIP', 'ExternalName']",
            "services of type NodePort and LoadBalancer are not allowed: they open ports of nodes or of the site",
        ),
    ]
    # controllers make claims from templates in what tenants write (StatefulSets, jobs of Volcano), with rights of their
    # own; administrators and what applies these files also write quotas, which no such controller does
    writer = "authorizer.group('').resource('resourcequotas').namespace(request.namespace).check('create').allowed()"
    claims = [
        (
            f"request.operation != 'CREATE' || {writer}",
            "claims of volumes are made only by those who may create resource quotas here",
        )
    ]
    words = [*baseline.POLICY_VARIABLES, *device_rules.variables(plan)]
    return [
        *_build_policy(_CLAIMS, ["persistentvolumeclaims"], [], claims, label),
        *_build_policy(_PODS, ["pods", "pods/ephemeralcontainers"], words, pods, label),
        *_build_policy(_SERVICES, ["services"], [], services, label),
    ]


def _build_host_network_rules(plan: Plan) -> Iterator[tuple[str, str]]:
    """None, but for pods that use a fabric whose links have the host's addresses."""
    asked = sorted({name for pool in plan.pools for name in _iter_host_network_resources(plan, pool.name)})
    if not asked:
        yield "!variables.pod.?hostNetwork.orValue(false)", "hostNetwork is not allowed"
        yield (
            baseline.build_container_rule("c.?ports.orValue([]).all(p, p.?hostPort.orValue(0) == 0)"),
            "hostPort is not allowed",
        )
        return
    yield (
        f"!variables.pod.?hostNetwork.orValue(false) || {device_rules.asks_for(asked)}",
        f"hostNetwork is only for pods that ask for {' or '.join(asked)}",
    )
    # the API server itself sets hostPort to containerPort where the host's network is used
    yield (
        "variables.pod.?hostNetwork.orValue(false) || "
        f"({baseline.build_container_rule('c.?ports.orValue([]).all(p, p.?hostPort.orValue(0) == 0)')})",
        "hostPort is not allowed",
    )
    dropped = "c.?securityContext.?capabilities.?drop.orValue([]).exists(k, k in ['ALL', 'NET_RAW'])"
    yield (
        f"!variables.pod.?hostNetwork.orValue(false) || ({baseline.build_container_rule(dropped)})",
        "containers on the host's network must drop the capability NET_RAW",
    )


def _iter_host_network_resources(plan: Plan, pool: str) -> Iterator[str]:
    """What pods of a pool ask for that use the host's network: its rails, or accelerators where rails have no name."""
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
