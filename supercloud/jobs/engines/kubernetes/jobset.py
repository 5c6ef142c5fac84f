"""A job as a JobSet of one Indexed Job, queued with Kueue: a pod for each node, all of them or none."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ....plan.build.kubernetes.names import (
    HOSTNAME,
    JOB,
    KEY,
    MANAGED_BY,
    NAME,
    OBJECT,
    POOL,
    PRODUCT,
    QUEUE,
    STARTS,
    TIME_LIMIT,
    namespace_of,
    priority_class_of,
    queue_of,
)
from ....spec import JobSpec
from ...placement.place import Placement
from ...placement.steps.pods import Pods
from ..retries import retried
from .container import CHANNEL_CLAIM, MAIN, Pod, container, volumes
from .names import ROLE, object_name

__all__ = ["API", "KEPT", "LOST", "jobset", "labels", "pod_spec"]

Json = dict[str, Any]

API = "jobset.x-k8s.io/v1alpha2"
KEPT = 7 * 24 * 3600
"""Seconds that an object stays after its job has ended; whoever asks later is told nothing."""
LOST = "DisruptionTarget"
"""Condition of a pod that its node or the control plane ended, not its program."""

_POD = Pod("metadata.labels['batch.kubernetes.io/job-completion-index']",
           "metadata.labels['jobset.sigs.k8s.io/restart-attempt']",
           f"$(SUPERCLOUD_OBJECT)-{ROLE}-0-0.$(SUPERCLOUD_OBJECT)", f"metadata.annotations['{STARTS}']")  # fmt: skip
_KUEUE = "kueue.x-k8s.io"


def jobset(job: JobSpec, at: Placement, pods: Pods, key: str) -> Json:
    """The object; of an array that of every task, but for its name and number."""
    name = object_name(job.name, key)
    body = container(job, at, pods, key, _POD)
    limit = {"activeDeadlineSeconds": max(1, math.ceil(job.time_limit.to("s")))} if job.time_limit else {}
    return {
        "apiVersion": API,
        "kind": "JobSet",
        "metadata": {
            "name": name,
            "namespace": namespace_of(job.tenant),
            "labels": labels(name) | {
                QUEUE: queue_of(job.tenant),
                f"{_KUEUE}/priority-class": priority_class_of(job.priority),
            },
            "annotations": {KEY: key, NAME: job.name},
        },
        "spec": {
            "suspend": True,
            "ttlSecondsAfterFinished": KEPT,
            "failurePolicy": {"maxRestarts": job.retries, "restartStrategy": "BlockingRecreate",
                              "rules": list(_restarts(job))},
            "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
            "replicatedJobs": [{
                "name": ROLE,
                "replicas": 1,
                "template": {"spec": {
                    "completionMode": "Indexed",
                    "parallelism": at.nodes,
                    "completions": at.nodes,
                    "backoffLimit": 0,
                    "podFailurePolicy": {"rules": list(_failures(job))},
                    **limit,
                    "template": {
                        "metadata": {"labels": labels(name) | {OBJECT: name},
                                     "annotations": {NAME: job.name, **dict(pods.links.annotations),
                                                     **_wishes(job, at, pods)}},
                        "spec": pod_spec(at, pods, body),
                    },
                }},
            }],
        },
    }  # fmt: skip


def labels(name: str) -> dict[str, str]:
    """What all objects of a job carry."""
    return {MANAGED_BY: PRODUCT, JOB: name}


def pod_spec(at: Placement, pods: Pods, body: Json) -> Json:
    """Where pods may run, and that they run once: starting anew is a matter of the whole job."""
    spec: Json = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "nodeSelector": {POOL: at.pool},
        "containers": [body],
        "volumes": volumes(pods),
    }
    if pods.taints:
        spec["tolerations"] = [{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in pods.taints]
    if pods.links.channel:
        spec["resourceClaims"] = [{"name": CHANNEL_CLAIM, "resourceClaimTemplateName": pods.links.channel}]
    if pods.links.host_network:
        spec |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    if at.hosts:
        wanted = {"key": HOSTNAME, "operator": "In", "values": list(at.hosts)}
        terms = [{"matchExpressions": [wanted]}]
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": terms}}}  # fmt: skip
    return spec


def _wishes(job: JobSpec, at: Placement, pods: Pods) -> dict[str, str]:
    """What the queue is asked of topology: nothing for one node, which every level holds."""
    found: dict[str, str] = {}
    if job.time_limit:
        found[TIME_LIMIT] = str(math.ceil(job.time_limit.to("s")))
    if at.nodes > 1 and pods.level:
        found[f"{_KUEUE}/podset-{'required' if at.near.required else 'preferred'}-topology"] = pods.level
    if at.near.segment > 1 and pods.segment_level and at.nodes % at.near.segment == 0:
        found[f"{_KUEUE}/podset-slice-required-topology"] = pods.segment_level
        found[f"{_KUEUE}/podset-slice-size"] = str(at.near.segment)
    return found


def _failures(job: JobSpec) -> Iterator[Json]:
    """What ends a Job at once with a message that says which: the rules of the JobSet read it.

    Whatever else fails is counted, and ends it by the limit of none. It is not named here, because a Job that is
    suspended would then fail by the exit codes of the pods it stops itself; those it does not count.
    """
    yield {"action": "FailJob", "onPodConditions": [{"type": LOST, "status": "True"}]}
    if codes := retried(job):
        yield {"action": "FailJob", "onExitCodes": {"containerName": MAIN, "operator": "In", "values": list(codes)}}


def _restarts(job: JobSpec) -> Iterator[Json]:
    """What is tried again, at most ``retries`` times: work whose node was lost, and exit codes that say so."""
    yield {"name": "lost", "action": "RestartJobSet", "onJobFailureReasons": ["PodFailurePolicy"],
           "onJobFailureMessagePatterns": [f"has condition {LOST} "]}  # fmt: skip
    if codes := retried(job):
        yield {"name": "retried", "action": "RestartJobSet", "onJobFailureReasons": ["PodFailurePolicy"],
               "onJobFailureMessagePatterns": [f"exit code ({'|'.join(map(str, codes))}) "]}  # fmt: skip
    yield {"name": "ended", "action": "FailJobSet"}
