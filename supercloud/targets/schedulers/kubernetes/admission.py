"""Policies of admission for jobs of tenants: the priority they may ask for, how long they may run, whose queue."""

from __future__ import annotations

from ....plan.model import Plan
from .given import declared_of
from .manifest import Object, obj
from .queues import PRIORITIES
from .tenants import PRIORITY_LABEL, TENANT_LABEL, TIME_LABEL

__all__ = ["objects"]

_API = "admissionregistration.k8s.io/v1"
_NAME = "supercloud-tenant-jobs"
_PRIORITY = "kueue.x-k8s.io/priority-class"
_TIME = "kueue.x-k8s.io/max-exec-time-seconds"


def objects(plan: Plan) -> list[Object]:
    """The policy and its binding to the namespaces of tenants."""
    if declared_of(plan).queue == "volcano":
        kinds = [{"apiGroups": ["batch.volcano.sh"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"],
                  "resources": ["jobs"]}]  # fmt: skip
        rules = [{
            "expression": "has(object.spec.queue) && object.spec.queue == namespaceObject.metadata.name",
            "message": "spec.queue must be the tenant's own queue, which is called like its namespace",
        }]  # fmt: skip
        variables = []
    else:
        kinds = [
            {"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["jobs"]},
            {"apiGroups": ["jobset.x-k8s.io"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"],
             "resources": ["jobsets"]},
            {"apiGroups": ["leaderworkerset.x-k8s.io"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"],
             "resources": ["leaderworkersets"]},
        ]  # fmt: skip
        ranks = "{" + ", ".join(f"'{name}': {value}" for name, value in PRIORITIES.items()) + "}"
        variables = [
            {"name": "labels", "expression": "has(object.metadata.labels) ? object.metadata.labels : {}"},
            {"name": "given", "expression": "namespaceObject.metadata.labels"},
            {"name": "ranks", "expression": ranks},
        ]
        rules = [
            {"expression": f"!('{_PRIORITY}' in variables.labels) || "
                           f"(variables.labels['{_PRIORITY}'] in variables.ranks && "
                f"variables.ranks[variables.labels['{_PRIORITY}']] <= "
                           f"variables.ranks[variables.given['{PRIORITY_LABEL}']])",
             "message": "the priority is higher than the tenant's highest, or there is none of this name"},
            {"expression": f"!('{TIME_LABEL}' in variables.given) || ('{_TIME}' in variables.labels && "
                           f"int(variables.labels['{_TIME}']) <= int(variables.given['{TIME_LABEL}']))",
             "message": f"the tenant's jobs have a longest time: set the label {_TIME} to it or to less"},
        ]  # fmt: skip
    spec: Object = {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": kinds}}
    if variables:
        spec["variables"] = variables
    spec["validations"] = rules
    owned = {"key": TENANT_LABEL, "operator": "Exists"}
    # the children of a job that passed carry no labels of their own
    if declared_of(plan).queue == "kueue":
        spec["matchConditions"] = [{
            "name": "not-a-child",
            "expression": "!has(object.metadata.ownerReferences) || "
                          "!object.metadata.ownerReferences.exists(o, has(o.controller) && o.controller)",
        }]  # fmt: skip
    return [
        obj(_API, "ValidatingAdmissionPolicy", _NAME, spec=spec),
        obj(_API, "ValidatingAdmissionPolicyBinding", _NAME, spec={
            "policyName": _NAME,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": {"matchExpressions": [owned]}},
        }),
    ]  # fmt: skip
