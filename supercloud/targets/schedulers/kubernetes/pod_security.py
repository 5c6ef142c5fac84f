"""How free a tenant's pods are: the level of Pod Security, and policies of admission where a level says too little.

RDMA needs memory that stays where it is (IPC_LOCK), and RoCE with routed links the host's network: both are beyond the
baseline level. Where a fabric asks for them the namespace is privileged in name, and policies of our own forbid
everything else that the baseline forbids.
"""

from __future__ import annotations

from typing import Literal

from ....plan.model import Plan
from .manifest import Object, obj

__all__ = ["level_of", "objects", "uses_host_network"]

_RDMA = ("infiniband", "roce", "efa")
_API = "admissionregistration.k8s.io/v1"
# Capabilities the baseline level allows to add: kubernetes.io/docs/concepts/security/pod-security-standards.
_BASELINE = ["AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP",
             "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"]  # fmt: skip
_VOLUMES = ["configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"]


def _kinds(plan: Plan) -> set[str]:
    joined = {name for pool in plan.pools for name in pool.fabrics}
    return {fabric.kind for fabric in plan.fabrics if fabric.name in joined}


def uses_host_network(plan: Plan) -> bool:
    """Whether jobs reach a fabric through the host's own network: each routed link has one address, the host's."""
    return plan.site.kind == "onprem" and "roce" in _kinds(plan)


def level_of(plan: Plan) -> Literal["baseline", "privileged"]:
    """The level that the namespaces of tenants enforce."""
    return "privileged" if _kinds(plan) & set(_RDMA) else "baseline"


def objects(plan: Plan, label: str) -> list[Object]:
    """Policies for the namespaces that have a label; none where the level says it all."""
    if level_of(plan) == "baseline":
        return []
    name = "supercloud-tenant-pods"
    allowed = [*_BASELINE, "IPC_LOCK"]
    rules = [
        (_each("!has(c.securityContext) || !has(c.securityContext.privileged) || !c.securityContext.privileged"),
         "privileged containers are not allowed"),
        (_each("!has(c.securityContext) || !has(c.securityContext.capabilities) || "
               "!has(c.securityContext.capabilities.add) || "
               f"c.securityContext.capabilities.add.all(k, k in {_list(allowed)})"),
         f"capabilities that may be added: {', '.join(allowed)}"),
        (_each("!has(c.securityContext) || !has(c.securityContext.procMount) || "
               "c.securityContext.procMount == 'Default'"), "procMount must be Default"),
        ("(!has(variables.pod.hostPID) || !variables.pod.hostPID) && "
         "(!has(variables.pod.hostIPC) || !variables.pod.hostIPC)",
         "hostPID and hostIPC are not allowed"),
        (f"!has(variables.pod.volumes) || variables.pod.volumes.all(v, {_any_volume()})",
         f"volumes that may be used: {', '.join(_VOLUMES)}"),
    ]  # fmt: skip
    if not uses_host_network(plan):
        rules.append(("!has(variables.pod.hostNetwork) || !variables.pod.hostNetwork", "hostNetwork is not allowed"))
        rules.append(
            (_each("!has(c.ports) || c.ports.all(p, !has(p.hostPort) || p.hostPort == 0)"), "hostPort is not allowed")
        )
    policy = obj(_API, "ValidatingAdmissionPolicy", name, spec={
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
             "resources": ["pods", "pods/ephemeralcontainers"]},
        ]},
        "variables": [
            {"name": "pod", "expression": "object.spec"},
            {"name": "containers", "expression":
             "object.spec.containers + (has(object.spec.initContainers) ? object.spec.initContainers : [])"},
            {"name": "debuggers", "expression":
             "has(object.spec.ephemeralContainers) ? object.spec.ephemeralContainers : []"},
        ],
        "validations": [{"expression": rule, "message": message} for rule, message in rules],
    })  # fmt: skip
    binding = obj(_API, "ValidatingAdmissionPolicyBinding", name, spec={
        "policyName": name,
        "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": {"matchExpressions": [{"key": label, "operator": "Exists"}]}},
    })  # fmt: skip
    return [policy, binding]


def _each(rule: str) -> str:
    """A rule on a container ``c``, for all of a pod's containers."""
    return f"variables.containers.all(c, {rule}) && variables.debuggers.all(c, {rule})"


def _list(items: list[str]) -> str:
    return "[" + ", ".join(f"'{item}'" for item in items) + "]"


def _any_volume() -> str:
    return " || ".join(f"has(v.{kind})" for kind in _VOLUMES)
