"""The policy that counts how often Kueue lets a job begin: what a start's fencing token needs, and no pod can know.

Kueue suspends a job's JobSet to take its nodes back, and resumes it later. The API server adds one to the count in the
very write that resumes it, and puts it on the pods to come: no two starts of a job are ever told the same number.
"""

from __future__ import annotations

from ....plan.build.kubernetes.names import KEY, MANAGED_BY, PRODUCT, STARTS
from ....plan.model.plan import Plan
from .given import facts_of
from .manifest import Object, obj

__all__ = ["objects"]

_NAME = "supercloud-starts"
_OWN = "metadata.annotations"
_TEMPLATE = "spec.replicatedJobs[0].template.spec.template.metadata.annotations"


def objects(plan: Plan) -> list[Object]:
    """The policy and its binding; none where the release has no such policies.

    It touches nothing but JobSets that jobs were made of: in the write that resumes one, and in a write by anybody that
    would change the count, which stays what it was. Refusing a resumption is the safe side: the queue tries again, and
    a start without its number might undo the work of another.
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
                {"name": "begins-or-is-told-otherwise",
                 "expression": f"({_BEGINS}) || {_count('object')} != {_count('oldObject')}"},
                {"name": "is-a-job", "expression": f"has(object.metadata.annotations) && '{KEY}' in "
                                                   f"object.metadata.annotations && has(object.{_TEMPLATE})"},
            ],
            "variables": [
                {"name": "begins", "expression": _BEGINS},
                {"name": "known", "expression": _count("oldObject")},
                {"name": "starts", "expression": "string((variables.known.matches('^[0-9]{1,8}$') ? "
                                                 "int(variables.known) : 0) + (variables.begins ? 1 : 0))"},
            ],
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {
                "expression": f"variables.begins ? [{_set(_OWN)}, {_set(_TEMPLATE)}] : [{_set(_OWN)}]",
            }}],
        }),
        obj(api, "MutatingAdmissionPolicyBinding", _NAME, spec={"policyName": _NAME}),
    ]  # fmt: skip


def _suspended(what: str) -> str:
    return f"has({what}.spec.suspend) && {what}.spec.suspend"


def _count(what: str) -> str:
    return f"(has({what}.{_OWN}) ? {what}.{_OWN}[?'{STARTS}'].orValue('') : '')"


def _set(path: str) -> str:
    """The count put below a path, which JSON Patch writes in its own way."""
    pointer = "/".join(["", *path.replace("[", ".").replace("]", "").split("."), STARTS.replace("/", "~1")])
    return f"JSONPatch{{op: 'add', path: '{pointer}', value: variables.starts}}"


_BEGINS = f"{_suspended('oldObject')} && !({_suspended('object')})"
