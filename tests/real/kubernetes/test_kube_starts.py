"""Every start of a job has a higher epoch than the one before, also after a preemption by Kueue."""

from __future__ import annotations

from typing import Any

import pytest
from kube_pods import list_variables, run
from kube_world import World

from supercloud.jobs.engines.kubernetes.api import ApiStatusError

PODS = "/api/v1/namespaces/llm/pods"
JOBSETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/llm/jobsets"
QUEUE = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/llm"
H100 = {"type": "h100"}
# KWOK simulates a running program because of the sleep; run on this machine it only prints the epoch
TELLS = ["sh", "-c", 'echo "$SUPERCLOUD_EPOCH"; exit $? # sleep 600']


def list_live_pods(cluster: World, job: int) -> list[dict[str, Any]]:
    """The pods of a job that are on a node and not being deleted."""
    name = cluster.get_object(job)["metadata"]["name"]
    return [
        pod
        for pod in cluster.lab.api.iter_items(PODS, labelSelector=f"supercloud.dev/object={name}")
        if pod["spec"].get("nodeName") and not pod["metadata"].get("deletionTimestamp")
    ]


def list_pods(cluster: World, job: int) -> list[dict[str, Any]]:
    """All pods of a running job, and none of an earlier start."""
    count = len(cluster.wait_hosts(job))
    found = list_live_pods(cluster, job)
    assert len(found) == count
    return found


def read_epoch(cluster: World, job: int) -> int:
    """The epoch in the environment of all pods of a job."""
    (epoch,) = {run(pod) for pod in list_pods(cluster, job)}
    return int(epoch)


def test_a_preempted_and_resumed_job_has_a_higher_epoch(cluster: World) -> None:
    low = cluster.submit(name="low", command=TELLS, accelerators=H100 | {"count": 512}, priority="low", retries=1)
    cluster.wait_state(low, "RUNNING")
    epochs = [read_epoch(cluster, low)]
    for round_ in range(2):
        high = cluster.submit(name=f"high{round_}", accelerators=H100 | {"count": 128}, priority="high")
        cluster.wait_state(high, "RUNNING")
        assert cluster.wait_state(low, "QUEUED").attempt == round_ + 2
        cluster.run_supercloud("cancel", str(high))
        assert cluster.wait_state(low, "RUNNING").attempt == round_ + 2
        epochs.append(read_epoch(cluster, low))
    assert epochs == [1, 2, 3]
    lost = cluster.wait_hosts(low)[0]
    with cluster.lab.lose_node(lost):  # the JobSet restarts, and needs all nodes
        cluster.lab.wait_until(lambda: cluster.get_record(low).attempt >= 4)

    def read_settled_epoch() -> int:
        """The epoch if it is the same in the store and in all pods, else 0."""
        found = cluster.get_record(low)
        reported = [int(run(pod)) for pod in list_live_pods(cluster, low)] if found.state == "RUNNING" else []
        return found.attempt if len(reported) == 64 and set(reported) == {found.attempt} else 0

    # 5 if Kueue also evicted the job because of the node: one more start
    assert cluster.lab.wait_until(read_settled_epoch) in (4, 5)


def test_tasks_of_an_array_are_counted_separately(cluster: World) -> None:
    job = cluster.submit(name="many", command=TELLS, array=3, accelerators=H100 | {"count": 160}, priority="low")
    sets = [item["metadata"]["name"] for item in cluster.lab.api.iter_items(JOBSETS)]

    def read_epochs() -> dict[str, int]:
        found = {}
        for name in sets:
            live = [
                pod
                for pod in cluster.lab.api.iter_items(PODS, labelSelector=f"supercloud.dev/object={name}")
                if pod["spec"].get("nodeName") and not pod["metadata"].get("deletionTimestamp")
            ]
            if len(live) == 20:
                (found[name],) = {int(run(pod)) for pod in live}
        return found

    assert set(cluster.lab.wait_until(lambda: len(read_epochs()) == 3 and read_epochs()).values()) == {1}
    high = cluster.submit(name="high", accelerators=H100 | {"count": 128}, priority="high")
    cluster.wait_state(high, "RUNNING")
    cluster.run_supercloud("cancel", str(high))
    again = cluster.lab.wait_until(lambda: len(now := read_epochs()) == 3 and 2 in now.values() and now)
    assert sorted(again.values()).count(2) < 3, "tasks that were not preempted keep their epoch"
    assert cluster.get_record(job).state == "RUNNING"


def test_a_hold_and_a_resumption_never_repeat_an_epoch(cluster: World) -> None:
    """The test changes the same fields as Kueue: no epoch is repeated or skipped."""
    job = cluster.submit(name="often", command=TELLS, accelerators=H100 | {"count": 8})
    cluster.wait_state(job, "RUNNING")
    path = f"{JOBSETS}/{cluster.get_object(job)['metadata']['name']}"
    cluster.lab.api.patch(QUEUE, {"spec": {"stopPolicy": "HoldAndDrain"}})
    try:
        cluster.lab.wait_until(lambda: cluster.lab.api.get(path)["spec"]["suspend"])
        cluster.wait_state(job, "QUEUED")
        cluster.lab.api.patch(QUEUE, {"spec": {"stopPolicy": "None"}})
        cluster.wait_state(job, "RUNNING")
        assert read_epoch(cluster, job) == 2
    finally:
        cluster.lab.api.patch(QUEUE, {"spec": {"stopPolicy": "None"}})


@pytest.mark.parametrize("message", ["7000", "-3", "x[$(touch /tmp/hacked)]", "99999999999999999999", ""])
def test_only_the_api_server_increments_the_count(cluster: World, message: str) -> None:
    """Other values of the annotation are not kept, neither in this job nor in another one."""
    first = cluster.submit(name="mine", command=TELLS, accelerators=H100 | {"count": 8}, priority="low")
    other = cluster.submit(name="other", command=TELLS, accelerators=H100 | {"count": 8}, priority="low")
    cluster.wait_state(first, "RUNNING")
    cluster.wait_state(other, "RUNNING")
    name = cluster.get_object(first)["metadata"]["name"]
    cluster.lab.api.patch(f"{JOBSETS}/{name}", {"metadata": {"annotations": {"supercloud.dev/starts": message}}})
    cluster.lab.api.patch(QUEUE, {"spec": {"stopPolicy": "HoldAndDrain"}})
    try:
        cluster.wait_state(first, "QUEUED")
        cluster.wait_state(other, "QUEUED")
    finally:
        cluster.lab.api.patch(QUEUE, {"spec": {"stopPolicy": "None"}})
    cluster.wait_state(first, "RUNNING")
    cluster.wait_state(other, "RUNNING")
    assert read_epoch(cluster, other) == read_epoch(cluster, first) == 2


def test_objects_of_others_are_not_changed(cluster: World) -> None:
    cluster.lab.api.patch(QUEUE, {"spec": {"stopPolicy": "Hold"}})  # an admitted object has been changed by its queue
    try:
        job = cluster.submit(name="ours", command=["true"], accelerators=H100 | {"count": 8})
        body = cluster.get_object(job)
        body["metadata"] = {"name": "theirs", "namespace": "llm", "labels": {"kueue.x-k8s.io/queue-name": "llm"}}
        body.pop("status", None)
        cluster.lab.api.post(JOBSETS, body)
    finally:
        cluster.lab.api.patch(QUEUE, {"spec": {"stopPolicy": "None"}})
    theirs = cluster.lab.wait_until(
        lambda: (item := cluster.lab.api.get(f"{JOBSETS}/theirs")) and not item["spec"]["suspend"] and item
    )
    assert "supercloud.dev/starts" not in theirs["metadata"].get("annotations", {})


def test_starts_have_epochs_without_the_policy(cluster: World) -> None:
    path = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings/supercloud-starts"
    cluster.lab.api.delete(path, {})
    try:
        cluster.lab.wait_until(lambda: _is_deleted(cluster, path))
        job = cluster.submit(name="bare", command=TELLS, accelerators=H100 | {"count": 8})
        cluster.wait_state(job, "RUNNING")
        (pod,) = list_pods(cluster, job)
        assert (list_variables(pod)["SUPERCLOUD_STARTS"], read_epoch(cluster, job)) == ("", 1)
    finally:
        cluster.apply()


def _is_deleted(cluster: World, path: str) -> bool:
    try:
        cluster.lab.api.get(path)
    except ApiStatusError as refusal:
        return refusal.code == 404
    return False
