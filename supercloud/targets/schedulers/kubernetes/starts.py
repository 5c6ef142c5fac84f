"""The policy that counts how often Kueue starts a job: fencing tokens need the number, and pods cannot determine it.

Kueue suspends a job's JobSet to reclaim its nodes, and resumes it later. The API server increments the count in the
same write that resumes it, and sets it on the new pods: no two starts of a job get the same number.
"""

from __future__ import annotations

from ....plan.build.kubernetes.names import KEY_ANNOTATION, MANAGED_BY_LABEL, MANAGER_NAME, STARTS_ANNOTATION
from ....plan.model.plan import Plan
from .accessors import require_kubernetes_plan
from .manifest import Object, build_object

__all__ = ["build_objects"]

_POLICY_NAME = "supercloud-starts"
_ANNOTATIONS_PATH = "metadata.annotations"
_TEMPLATE_ANNOTATIONS_PATH = "spec.replicatedJobs[0].template.spec.template.metadata.annotations"


def build_objects(plan: Plan) -> list[Object]:
    """Build the policy and its binding; none if the release does not support mutating policies.

    It changes only JobSets of submitted jobs: in the write that resumes one, and in any other write that would change
    the count, which is kept. Rejecting a resumption is safe: the queue retries, whereas a start without its number
    might overwrite the data of another.
    """
    served = require_kubernetes_plan(plan).mutating_policies
    if served is None:
        return []
    api = f"admissionregistration.k8s.io/{served.version}"
    return [
        build_object(
            api,
            "MutatingAdmissionPolicy",
            _POLICY_NAME,
            spec={
                "failurePolicy": "Fail",
                "reinvocationPolicy": "Never",
                "matchConstraints": {
                    "objectSelector": {"matchLabels": {MANAGED_BY_LABEL: MANAGER_NAME}},
                    "resourceRules": [
                        {
                            "apiGroups": ["jobset.x-k8s.io"],
                            "apiVersions": ["*"],
                            "operations": ["UPDATE"],
                            "resources": ["jobsets"],
                        }
                    ],
                },
                "matchConditions": [
                    {
                        "name": "begins-or-is-told-otherwise",
                        "expression": f"({_IS_RESUMED}) || {_build_count_expression('object')} != "
                        f"{_build_count_expression('oldObject')}",
                    },
                    {
                        "name": "is-a-job",
                        "expression": f"has(object.metadata.annotations) && '{KEY_ANNOTATION}' in "
                        f"object.metadata.annotations && has(object.{_TEMPLATE_ANNOTATIONS_PATH})",
                    },
                ],
                "variables": [
                    {"name": "begins", "expression": _IS_RESUMED},
                    {"name": "known", "expression": _build_count_expression("oldObject")},
                    {
                        "name": "starts",
                        "expression": "string((variables.known.matches('^[0-9]{1,8}$') ? "
                        "int(variables.known) : 0) + (variables.begins ? 1 : 0))",
                    },
                ],
                "mutations": [
                    {
                        "patchType": "JSONPatch",
                        "jsonPatch": {
                            "expression": f"variables.begins ? [{_build_patch_expression(_ANNOTATIONS_PATH)}, "
                            f"{_build_patch_expression(_TEMPLATE_ANNOTATIONS_PATH)}] : "
                            f"[{_build_patch_expression(_ANNOTATIONS_PATH)}]",
                        },
                    }
                ],
            },
        ),
        build_object(api, "MutatingAdmissionPolicyBinding", _POLICY_NAME, spec={"policyName": _POLICY_NAME}),
    ]


def _build_suspended_expression(variable: str) -> str:
    return f"has({variable}.spec.suspend) && {variable}.spec.suspend"


def _build_count_expression(variable: str) -> str:
    path = f"{variable}.{_ANNOTATIONS_PATH}"
    return f"(has({path}) ? {path}[?'{STARTS_ANNOTATION}'].orValue('') : '')"


def _build_patch_expression(path: str) -> str:
    """Build the patch that adds the count at a path, in JSON Pointer notation."""
    pointer = "/".join(["", *path.replace("[", ".").replace("]", "").split("."), STARTS_ANNOTATION.replace("/", "~1")])
    return f"JSONPatch{{op: 'add', path: '{pointer}', value: variables.starts}}"


_IS_RESUMED = f"{_build_suspended_expression('oldObject')} && !({_build_suspended_expression('object')})"
