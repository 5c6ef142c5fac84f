"""The policy that counts how often Kueue lets a job begin: what a start's fencing token needs, and no pod can know.

Kueue suspends a job's JobSet to take its nodes back, and resumes it later. The API server adds one to the count in the
very write that resumes it, and puts it on the pods to come: no two starts of a job are ever told the same number.
"""

from __future__ import annotations

from ....plan.kubernetes.names import KEY, MANAGED_BY, PRODUCT, STARTS
from ....plan.model import Plan
from .given import facts_of
from .manifest import Object, obj

__all__ = ["objects"]

_NAME = "supercloud-starts"
_TEMPLATE = "spec.replicatedJobs[0].template.spec.template.metadata.annotations"


def objects(plan: Plan) -> list[Object]:
    """The policy and its binding; none where the release has no such policies.

    It touches nothing but JobSets that jobs were made of, in the one write that resumes them. Refusing that write is
    the safe side: the queue tries again, and a start without its number might undo the work of another.
    """
    served = facts_of(plan).changing_policies
    if served is None:
        return []
    api = f"admissionregistration.k8s.io/{served.version}"
    return [
        obj(api, "MutatingAdmissionPolicy", _NAME, spec={
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "matchConstraints": {
                "objectSelector": {"matchLabels": {MANAGED_BY: PRODUCT}},
                "resourceRules": [{"apiGroups": ["jobset.x-k8s.io"], "apiVersions": ["*"], "operations": ["UPDATE"],
                                   "resources": ["jobsets"]}],
            },
            "matchConditions": [
                {"name": "begins", "expression": f"{_suspended('oldObject')} && !({_suspended('object')})"},
                {"name": "is-a-job", "expression": f"has(object.metadata.annotations) && '{KEY}' in "
                                                   f"object.metadata.annotations && has(object.{_TEMPLATE})"},
            ],
            "variables": [
                {"name": "known", "expression": "has(oldObject.metadata.annotations) ? "
                                                f"oldObject.metadata.annotations[?'{STARTS}'].orValue('') : ''"},
                {"name": "starts", "expression": "string((variables.known.matches('^[0-9]{1,8}$') ? "
                                                 "int(variables.known) : 0) + 1)"},
            ],
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": "[" + ", ".join(
                f"JSONPatch{{op: 'add', path: '{path}', value: variables.starts}}"
                for path in (_pointer("metadata.annotations"), _pointer(_TEMPLATE))
            ) + "]"}}],
        }),
        obj(api, "MutatingAdmissionPolicyBinding", _NAME, spec={"policyName": _NAME}),
    ]  # fmt: skip


def _suspended(what: str) -> str:
    return f"has({what}.spec.suspend) && {what}.spec.suspend"


def _pointer(path: str) -> str:
    """The count below a path as JSON Patch writes it."""
    return "/".join(["", *path.replace("[", ".").replace("]", "").split("."), STARTS.replace("/", "~1")])
