"""The autoscaler: values of its chart, the type of provisioning requests, and the permissions for them."""

from __future__ import annotations

from collections.abc import Iterator

from ....plan.build.kubernetes.growth import find_autoscaler, list_resized_groups
from ....plan.model.plan import Plan
from .accessors import require_kubernetes_plan
from .manifest import Object, build_object

__all__ = ["build_objects", "build_values"]

_GROUP = "autoscaling.x-k8s.io"
_APPROVAL = "https://github.com/kubernetes/autoscaler/pull/5848"
"""Review of the type, without which API servers reject names of this group."""
_RBAC = "rbac.authorization.k8s.io"
_ROLE = "supercloud-autoscaler"
_FIRST_PRIORITY = 100
"""Priority of the source of capacity that is tried first; the others follow in steps of one."""
_IDLE_TIME = "10m"
"""Time for which a node must be unneeded before it is removed."""


def build_values(plan: Plan) -> Object:
    """Build the values of its chart. It finds its groups by their tag, as their names exist only after creation."""
    scaler, release = find_autoscaler(plan), require_kubernetes_plan(plan).release
    assert scaler is not None and plan.cloud is not None and release is not None
    priorities: dict[str, list[str]] = {}
    for group in list_resized_groups(plan):
        priorities.setdefault(str(_FIRST_PRIORITY - group.rank), []).append(f".*-{group.key}-[0-9a-f]+-.*")
    return {
        "cloudProvider": scaler.cloud,
        scaler.region_key: plan.cloud.region,
        "autoDiscovery": {"clusterName": plan.name, "tags": [f"{scaler.group_tag}={plan.name}"]},
        "image": {"repository": scaler.image, "tag": f"v{release.name}.0"},
        "rbac": {"serviceAccount": {"name": scaler.account}},
        "expanderPriorities": priorities,
        "extraArgs": {
            "expander": "priority,least-waste",
            "enable-provisioning-requests": require_kubernetes_plan(plan).kueue is not None,
            "skip-nodes-with-local-storage": False,
            "scale-down-unneeded-time": _IDLE_TIME,
        },
    }


def build_objects(plan: Plan) -> Iterator[Object]:
    """Yield what must exist before the queue and the autoscaler start; nothing without both."""
    scaler, facts = find_autoscaler(plan), require_kubernetes_plan(plan)
    if scaler is None or facts.kueue is None:
        return
    yield build_object(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        f"provisioningrequests.{_GROUP}",
        annotations={"api-approved.kubernetes.io": _APPROVAL},
        spec={
            "group": _GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": "ProvisioningRequest",
                "listKind": "ProvisioningRequestList",
                "plural": "provisioningrequests",
                "singular": "provisioningrequest",
                "shortNames": ["provreq", "provreqs"],
            },
            "versions": [_build_version("v1", is_stored=True), _build_version("v1beta1", is_stored=False)],
        },
    )
    requests = {"apiGroups": [_GROUP], "resources": ["provisioningrequests", "provisioningrequests/status"]}
    templates = {"apiGroups": [""], "resources": ["podtemplates"], "verbs": ["get", "list", "watch"]}
    verbs = ["get", "list", "watch", "update", "patch"]
    yield build_object(f"{_RBAC}/v1", "ClusterRole", _ROLE, rules=[{**requests, "verbs": verbs}, templates])
    chart = facts.find_chart(scaler.chart)
    assert chart is not None
    yield build_object(
        f"{_RBAC}/v1",
        "ClusterRoleBinding",
        _ROLE,
        roleRef={"apiGroup": _RBAC, "kind": "ClusterRole", "name": _ROLE},
        subjects=[{"kind": "ServiceAccount", "name": scaler.account, "namespace": chart.namespace}],
    )


def _build_version(name: str, *, is_stored: bool) -> Object:
    """Build a version of the type: the fields of upstream's definition, whose texts are not repeated."""
    text: Object = {"type": "string"}
    texts: Object = {"type": "object", "additionalProperties": text}
    pod_set: Object = {
        "type": "object",
        "required": ["count", "podTemplateRef"],
        "properties": {
            "count": {"type": "integer", "format": "int32", "minimum": 1},
            "podTemplateRef": {"type": "object", "required": ["name"], "properties": {"name": text}},
        },
    }
    spec: Object = {
        "type": "object",
        "required": ["podSets", "provisioningClassName"],
        "properties": {
            "parameters": {**texts, "maxProperties": 100},
            "podSets": {"type": "array", "minItems": 1, "maxItems": 32, "items": pod_set},
            "provisioningClassName": {**text, "maxLength": 253},
        },
        "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "Value is immutable"}],
    }
    condition: Object = {
        "type": "object",
        "required": ["lastTransitionTime", "message", "reason", "status", "type"],
        "properties": {
            "lastTransitionTime": {**text, "format": "date-time"},
            "message": text,
            "observedGeneration": {"type": "integer", "format": "int64"},
            "reason": text,
            "status": {**text, "enum": ["True", "False", "Unknown"]},
            "type": text,
        },
    }
    conditions: Object = {"type": "array", "items": condition}
    conditions |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    status: Object = {"type": "object", "properties": {"conditions": conditions, "provisioningClassDetails": texts}}
    schema: Object = {"type": "object", "required": ["spec"], "properties": {"spec": spec, "status": status}}
    return {
        "name": name,
        "served": True,
        "storage": is_stored,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
