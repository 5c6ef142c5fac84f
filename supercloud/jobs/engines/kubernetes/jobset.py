"""A job as a JobSet of one Indexed Job, queued with Kueue: one pod per node, started all or none."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ....plan.build.kubernetes.names import (
    HOSTNAME_LABEL,
    JOB_LABEL,
    KEY_ANNOTATION,
    MANAGED_BY_LABEL,
    MANAGER_NAME,
    NAME_ANNOTATION,
    OBJECT_LABEL,
    POOL_LABEL,
    QUEUE_LABEL,
    STARTS_ANNOTATION,
    TIME_LIMIT_ANNOTATION,
    format_namespace_name,
    format_priority_class_name,
    format_queue_name,
)
from ....spec import JobSpec
from ...placement.place import Placement
from ...placement.requests.kubernetes import KubernetesRequest
from ..retries import list_retried_exit_codes
from .container import CHANNEL_CLAIM, MAIN_CONTAINER, PodFields, build_container, build_volumes
from .names import ROLE, build_object_name

__all__ = ["API_VERSION", "TTL_AFTER_FINISHED", "DISRUPTION_TARGET", "build_jobset", "build_labels", "build_pod_spec"]

Json = dict[str, Any]

API_VERSION = "jobset.x-k8s.io/v1alpha2"
TTL_AFTER_FINISHED = 7 * 24 * 3600
"""Seconds that an object is kept after its job has ended; later queries do not find it."""
DISRUPTION_TARGET = "DisruptionTarget"
"""Condition of a pod that was terminated by its node or the control plane, not by its program."""

_POD_FIELDS = PodFields(
    "metadata.labels['batch.kubernetes.io/job-completion-index']",
    "metadata.labels['jobset.sigs.k8s.io/restart-attempt']",
    f"$(SUPERCLOUD_OBJECT)-{ROLE}-0-0.$(SUPERCLOUD_OBJECT)",
    f"metadata.annotations['{STARTS_ANNOTATION}']",
)
_KUEUE = "kueue.x-k8s.io"


def build_jobset(job: JobSpec, placement: Placement, request: KubernetesRequest, key: str) -> Json:
    """The object; for an array that of every task, except its name and index."""
    name = build_object_name(job.name, key)
    body = build_container(job, placement, request, key, _POD_FIELDS)
    limit = {"activeDeadlineSeconds": max(1, math.ceil(job.time_limit.to("s")))} if job.time_limit else {}
    return {
        "apiVersion": API_VERSION,
        "kind": "JobSet",
        "metadata": {
            "name": name,
            "namespace": format_namespace_name(job.tenant),
            "labels": build_labels(name)
            | {
                QUEUE_LABEL: format_queue_name(job.tenant),
                f"{_KUEUE}/priority-class": format_priority_class_name(job.priority),
            },
            "annotations": {KEY_ANNOTATION: key, NAME_ANNOTATION: job.name},
        },
        "spec": {
            "suspend": True,
            "ttlSecondsAfterFinished": TTL_AFTER_FINISHED,
            "failurePolicy": {
                "maxRestarts": job.retries,
                "restartStrategy": "BlockingRecreate",
                "rules": list(_build_restart_rules(job)),
            },
            "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
            "replicatedJobs": [
                {
                    "name": ROLE,
                    "replicas": 1,
                    "template": {
                        "spec": {
                            "completionMode": "Indexed",
                            "parallelism": placement.nodes,
                            "completions": placement.nodes,
                            "backoffLimit": 0,
                            "podFailurePolicy": {"rules": list(_build_failure_rules(job))},
                            **limit,
                            "template": {
                                "metadata": {
                                    "labels": build_labels(name) | {OBJECT_LABEL: name},
                                    "annotations": {
                                        NAME_ANNOTATION: job.name,
                                        **dict(request.links.annotations),
                                        **_build_queue_annotations(job, placement, request),
                                    },
                                },
                                "spec": build_pod_spec(placement, request, body),
                            },
                        }
                    },
                }
            ],
        },
    }


def build_labels(name: str) -> dict[str, str]:
    """The labels of all objects of a job."""
    return {MANAGED_BY_LABEL: MANAGER_NAME, JOB_LABEL: name}


def build_pod_spec(placement: Placement, request: KubernetesRequest, body: Json) -> Json:
    """Where pods may run, and that they run once: restarts are of the whole job."""
    spec: Json = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "nodeSelector": {POOL_LABEL: placement.pool},
        "containers": [body],
        "volumes": build_volumes(request),
    }
    if request.taints:
        spec["tolerations"] = [{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in request.taints]
    if request.links.channel:
        spec["resourceClaims"] = [{"name": CHANNEL_CLAIM, "resourceClaimTemplateName": request.links.channel}]
    if request.links.host_network:
        spec |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    if placement.hosts:
        wanted = {"key": HOSTNAME_LABEL, "operator": "In", "values": list(placement.hosts)}
        terms = [{"matchExpressions": [wanted]}]
        spec["affinity"] = {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        }
    return spec


def _build_queue_annotations(job: JobSpec, placement: Placement, request: KubernetesRequest) -> dict[str, str]:
    """The topology request to the queue: none for one node, which fits every level."""
    found: dict[str, str] = {}
    if job.time_limit:
        found[TIME_LIMIT_ANNOTATION] = str(math.ceil(job.time_limit.to("s")))
    if placement.nodes > 1 and request.level:
        found[f"{_KUEUE}/podset-{'required' if placement.locality.required else 'preferred'}-topology"] = request.level
    if placement.locality.segment > 1 and request.segment_level and placement.nodes % placement.locality.segment == 0:
        found[f"{_KUEUE}/podset-slice-required-topology"] = request.segment_level
        found[f"{_KUEUE}/podset-slice-size"] = str(placement.locality.segment)
    return found


def _build_failure_rules(job: JobSpec) -> Iterator[Json]:
    """The rules that fail a Job immediately, with a message that the rules of the JobSet match.

    Other failures are counted, and end it by the limit of 0. They are not listed here, because a suspended Job would
    then fail by the exit codes of the pods that it stops itself; those are not counted.
    """
    yield {"action": "FailJob", "onPodConditions": [{"type": DISRUPTION_TARGET, "status": "True"}]}
    if codes := list_retried_exit_codes(job):
        yield {
            "action": "FailJob",
            "onExitCodes": {"containerName": MAIN_CONTAINER, "operator": "In", "values": list(codes)},
        }


def _build_restart_rules(job: JobSpec) -> Iterator[Json]:
    """The rules for restarts, at most ``retries`` times: after the loss of a node, and for listed exit codes."""
    yield {
        "name": "lost",
        "action": "RestartJobSet",
        "onJobFailureReasons": ["PodFailurePolicy"],
        "onJobFailureMessagePatterns": [f"has condition {DISRUPTION_TARGET} "],
    }
    if codes := list_retried_exit_codes(job):
        yield {
            "name": "retried",
            "action": "RestartJobSet",
            "onJobFailureReasons": ["PodFailurePolicy"],
            "onJobFailureMessagePatterns": [f"exit code ({'|'.join(map(str, codes))}) "],
        }
    yield {"name": "ended", "action": "FailJobSet"}
