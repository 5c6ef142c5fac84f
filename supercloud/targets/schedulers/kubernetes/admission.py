"""Admission policies for jobs of tenants: the priority they may request, how long they may run, and their queue.

A queue ignores objects owned by an admitted job, and the cluster's default scheduler has no queues: both would allow
bypassing a tenant's quota. So only controllers may set owners, and pods must use the queue too.
"""

from __future__ import annotations

from typing import Any

from ....plan.build.kubernetes.names import format_scheduling_class_name
from ....plan.model.plan import Plan
from .accessors import require_kubernetes_spec
from .manifest import Object, build_object
from .queues import PRIORITY_VALUES
from .tenants import MAX_PRIORITY_LABEL, MAX_TIME_LABEL, TENANT_LABEL

__all__ = ["build_objects"]

_API_VERSION = "admissionregistration.k8s.io/v1"
_JOBS, _PODS, _OWNERS = "supercloud-tenant-jobs", "supercloud-tenant-queue", "supercloud-tenant-owners"
_BARE_POD_POLICY = "supercloud-tenant-bare-pods"
_KUEUE_PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
_KUEUE_TIME_LABEL = "kueue.x-k8s.io/max-exec-time-seconds"
_VOLCANO_QUEUE_ANNOTATION = "scheduling.volcano.sh/queue-name"
_HAS_CONTROLLER = (
    "(has(object.metadata.ownerReferences) && "
    "object.metadata.ownerReferences.exists(o, has(o.controller) && o.controller))"
)
# controllers, kubelets and administrators; service accounts of a tenant's namespace act for the tenant
_IS_CLUSTER_REQUEST = (
    "('system:masters' in request.userInfo.groups || (request.userInfo.username.startsWith('system:') && "
    "!request.userInfo.username.startsWith('system:serviceaccount:' + request.namespace + ':')))"
)
_POD_KINDS = [("", "v1", "pods")]
_JOB_KINDS = [
    ("batch", "v1", "jobs"),
    ("jobset.x-k8s.io", "*", "jobsets"),
    ("leaderworkerset.x-k8s.io", "*", "leaderworkersets"),
]
_NO_CLASS = "(!has({0}.priorityClassName) || {0}.priorityClassName == '')"
_LWS_TEMPLATE = "object.spec.leaderWorkerTemplate"
_TEMPLATE_RULES = {
    "jobs": _NO_CLASS.format("object.spec.template.spec"),
    "jobsets": "(!has(object.spec.replicatedJobs) || object.spec.replicatedJobs.all(job, "
    + _NO_CLASS.format("job.template.spec.template.spec")
    + "))",
    "leaderworkersets": f"(!has({_LWS_TEMPLATE}.leaderTemplate) || "
    + _NO_CLASS.format(f"{_LWS_TEMPLATE}.leaderTemplate.spec")
    + ") && "
    + _NO_CLASS.format(f"{_LWS_TEMPLATE}.workerTemplate.spec"),
}
"""Resource -> rule: without the label, Kueue takes the priority of the class in the template of the pods."""
_VOLCANO_KINDS = [("batch.volcano.sh", "*", "jobs")]
_NAMESPACE_LABELS = {"name": "given", "expression": "namespaceObject.metadata.labels"}


def build_objects(plan: Plan) -> list[Object]:
    """Build the policies and their bindings to the namespaces of tenants."""
    volcano = require_kubernetes_spec(plan).queue == "volcano"
    jobs = _build_volcano_job_policies() if volcano else _build_kueue_job_policies()
    kinds = [*_POD_KINDS, *_JOB_KINDS, *(_VOLCANO_KINDS if volcano else ())]
    return [*jobs, *_build_pod_policies(volcano), *_build_owner_policies(kinds)]


def _build_kueue_job_policies() -> list[Object]:
    """Build the policies for jobs, and for pods without a job, which a queue treats as jobs with their own priority.

    Pods of a job have neither label nor time limit: their job has them.
    """
    known, asked = (
        _build_rank_variable({name: name for name in PRIORITY_VALUES}),
        f"variables.labels['{_KUEUE_PRIORITY_LABEL}']",
    )
    priority = (
        f"!('{_KUEUE_PRIORITY_LABEL}' in variables.labels) || {_build_priority_rule(asked)}",
        "the priority is unknown or higher than the tenant's maximum",
    )
    job_rules = [
        priority,
        (
            f"!('{MAX_TIME_LABEL}' in variables.given) || ('{_KUEUE_TIME_LABEL}' in variables.labels && "
            f"int(variables.labels['{_KUEUE_TIME_LABEL}']) <= int(variables.given['{MAX_TIME_LABEL}']))",
            f"the tenant's jobs have a time limit: set the label {_KUEUE_TIME_LABEL} to it or to less",
        ),
    ]
    labels = {"name": "labels", "expression": "has(object.metadata.labels) ? object.metadata.labels : {}"}
    # objects created by an admitted job have no labels of their own
    child = {"name": "not-a-child", "expression": f"!({_HAS_CONTROLLER} && {_IS_CLUSTER_REQUEST})"}
    # the policy of owners ensures that an owner is genuine; users with permission may label its pods
    owned = {"name": "not-of-a-controller", "expression": f"!{_HAS_CONTROLLER}"}
    # the queue's manager must be able to update pods created before this policy, and to remove its finalizer
    kept = {
        "name": "not-kept-by-the-cluster",
        "expression": f"!(request.operation == 'UPDATE' && {_IS_CLUSTER_REQUEST})",
    }
    pod_rules = [
        priority,
        (
            f"!('{MAX_TIME_LABEL}' in variables.given) || (has(object.spec.activeDeadlineSeconds) && "
            f"object.spec.activeDeadlineSeconds <= int(variables.given['{MAX_TIME_LABEL}']))",
            "the tenant's jobs have a time limit: set spec.activeDeadlineSeconds of the pod to it or to less",
        ),
    ]
    return [
        *_build_policy(_JOBS, _JOB_KINDS, [labels, _NAMESPACE_LABELS, known], job_rules, matchConditions=[child]),
        *_build_template_policies([child, kept]),
        *_build_policy(
            _BARE_POD_POLICY, _POD_KINDS, [labels, _NAMESPACE_LABELS, known], pod_rules, matchConditions=[owned, kept]
        ),
    ]


def _build_template_policies(conditions: list[Object]) -> list[Object]:
    """Build a policy for each kind of job: the server checks the types of a rule for the kinds of its policy."""
    message = (
        f"priorityClassName is not allowed in the template of pods: set the label {_KUEUE_PRIORITY_LABEL} of the job"
    )
    return [
        item
        for kind in _JOB_KINDS
        for item in _build_policy(
            f"supercloud-tenant-{kind[2].removesuffix('s')}-templates",
            [kind],
            [],
            [(_TEMPLATE_RULES[kind[2]], message)],
            matchConditions=conditions,
        )
    ]


def _build_volcano_job_policies() -> list[Object]:
    known = _build_rank_variable({name: format_scheduling_class_name(name) for name in PRIORITY_VALUES})
    rules = [
        (
            "has(object.spec.queue) && object.spec.queue == namespaceObject.metadata.name",
            "spec.queue must be the tenant's own queue, which has the name of its namespace",
        ),
        (
            f"!has(object.spec.priorityClassName) || {_build_priority_rule('object.spec.priorityClassName')}",
            "the priority is unknown or higher than the tenant's maximum",
        ),
    ]
    return _build_policy(_JOBS, _VOLCANO_KINDS, [_NAMESPACE_LABELS, known], rules)


def _build_pod_policies(has_volcano: bool) -> list[Object]:
    """Build the policies for pods: a priority class of the system would put a pod above those of all tenants."""
    free = (
        "!has(object.spec.priorityClassName) || object.spec.priorityClassName == '' || "
        "(has(object.spec.priority) && object.spec.priority <= 0)"
    )
    refused = "this priorityClassName is not allowed for the tenant's pods"
    if not has_volcano:
        return _build_policy(_PODS, _POD_KINDS, [], [(free, refused)])
    rules = [(f"{free} || {_build_priority_rule('object.spec.priorityClassName')}", refused)]
    notes = "variables.notes"
    job = (
        "object.metadata.ownerReferences.exists(o, has(o.controller) && o.controller && "
        "o.apiVersion.startsWith('batch.volcano.sh/'))"
    )
    rules += [
        (
            "has(object.spec.schedulerName) && object.spec.schedulerName == 'volcano'",
            "schedulerName must be volcano, so that a queue counts the pod",
        ),
        (
            f"'{_VOLCANO_QUEUE_ANNOTATION}' in {notes} ? {notes}['{_VOLCANO_QUEUE_ANNOTATION}'] == "
            "namespaceObject.metadata.name : "
            f"(has(object.metadata.ownerReferences) && {job})",
            f"the annotation {_VOLCANO_QUEUE_ANNOTATION} must be the tenant's own queue, which has the name of its "
            "namespace",
        ),
    ]
    annotations = {"name": "notes", "expression": "has(object.metadata.annotations) ? object.metadata.annotations : {}"}
    known = _build_rank_variable({name: format_scheduling_class_name(name) for name in PRIORITY_VALUES})
    return _build_policy(_PODS, _POD_KINDS, [_NAMESPACE_LABELS, known, annotations], rules)


def _build_owner_policies(kinds: list[tuple[str, str, str]]) -> list[Object]:
    kept = (
        "(request.operation == 'UPDATE' && has(oldObject.metadata.ownerReferences) && "
        "oldObject.metadata.ownerReferences == object.metadata.ownerReferences)"
    )
    rule = f"!{_HAS_CONTROLLER} || {_IS_CLUSTER_REQUEST} || {kept}"
    return _build_policy(
        _OWNERS, kinds, [], [(rule, "only controllers may set a controller in ownerReferences: remove ownerReferences")]
    )


def _build_rank_variable(names: dict[Any, str]) -> Object:
    """Build the variable with the value of each priority, by the name in the object and by the tenant's label."""
    worth = {own: PRIORITY_VALUES[name] for name, own in names.items()} | {
        name: PRIORITY_VALUES[name] for name in names
    }
    entries = "{" + ", ".join(f"'{name}': {value}" for name, value in worth.items()) + "}"
    return {"name": "ranks", "expression": entries}


def _build_priority_rule(name: str) -> str:
    return (
        f"({name} in variables.ranks && "
        f"variables.ranks[{name}] <= variables.ranks[variables.given['{MAX_PRIORITY_LABEL}']])"
    )


def _build_policy(
    name: str,
    kinds: list[tuple[str, str, str]],
    variables: list[Object],
    rules: list[tuple[str, str]],
    **spec_fields: Any,
) -> list[Object]:
    resources = [
        {"apiGroups": [group], "apiVersions": [version], "operations": ["CREATE", "UPDATE"], "resources": [resource]}
        for group, version, resource in kinds
    ]
    spec: Object = {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": resources}}
    if variables:
        spec["variables"] = variables
    spec["validations"] = [{"expression": rule, "message": message} for rule, message in rules]
    owned = {"key": TENANT_LABEL, "operator": "Exists"}
    return [
        build_object(_API_VERSION, "ValidatingAdmissionPolicy", name, spec=spec | spec_fields),
        build_object(
            _API_VERSION,
            "ValidatingAdmissionPolicyBinding",
            name,
            spec={
                "policyName": name,
                "validationActions": ["Deny"],
                "matchResources": {"namespaceSelector": {"matchExpressions": [owned]}},
            },
        ),
    ]
