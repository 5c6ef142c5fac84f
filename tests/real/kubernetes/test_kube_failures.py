"""The end and restart of jobs: exit codes, lost nodes, time limits, canceling, arrays; with a real control plane."""

from __future__ import annotations

from kube_world import World

PODS = "/api/v1/namespaces/llm/pods"


def test_an_exit_code_ends_the_job_and_is_reported(cluster: World) -> None:
    job = cluster.submit(name="bad", command=["sh", "-c", "exit 3"], accelerators={"count": 16})
    ended = cluster.wait_state(job, "FAILED")
    assert (ended.exit_code, ended.reason, ended.attempt) == (3, "ended with exit code 3", 1)


def test_exit_codes_are_retried_by_rule(cluster: World) -> None:
    rule = {"exit_codes": [42, 43], "action": "retry"}
    job = cluster.submit(name="again", command=["sh", "-c", "exit 42"], retries=2, retry_rules=[rule])
    ended = cluster.wait_state(job, "FAILED")
    assert (ended.exit_code, ended.attempt) == (42, 3)
    other = cluster.submit(name="never", command=["sh", "-c", "exit 1"], retries=2, retry_rules=[rule])
    ended = cluster.wait_state(other, "FAILED")
    assert (ended.exit_code, ended.attempt) == (1, 1)


def test_a_time_limit_ends_a_job(cluster: World) -> None:
    job = cluster.submit(name="slow", time_limit="3 s")
    assert cluster.wait_state(job, "TIMEOUT").reason == "it exceeded its time limit"


def test_a_lost_node_restarts_the_whole_job_on_other_nodes(cluster: World) -> None:
    job = cluster.submit(name="gang", accelerators={"type": "h100", "count": 32}, retries=1)
    cluster.wait_state(job, "RUNNING")
    lost = cluster.wait_hosts(job)[0]
    with cluster.lab.lose_node(lost):
        cluster.wait_state(job, "RUNNING", attempt=2)
        hosts = cluster.wait_hosts(job)
        assert len(hosts) == 4 and lost not in hosts


def test_a_lost_node_ends_a_job_without_retries(cluster: World) -> None:
    job = cluster.submit(name="once", accelerators={"type": "h100", "count": 16})
    cluster.wait_state(job, "RUNNING")
    lost = cluster.wait_hosts(job)[1]
    with cluster.lab.lose_node(lost):
        assert cluster.wait_state(job, "NODE_FAIL").reason == "a node of the job was lost"


def test_a_cancelled_job_leaves_nothing(cluster: World) -> None:
    job = cluster.submit(name="gone", accelerators={"count": 16})
    cluster.wait_hosts(job)
    assert cluster.run_supercloud("cancel", str(job)).endswith("CANCELLED")
    cluster.lab.wait_until(lambda: not list(cluster.lab.api.iter_items(PODS)))
    assert cluster.get_record(job).state == "CANCELLED"


def test_an_array_is_one_job_with_tasks(cluster: World) -> None:
    job = cluster.submit(name="many", command=["true"], array=5, accelerators={"count": 8})
    assert cluster.wait_state(job, "COMPLETED").exit_code == 0
    numbers = {pod["metadata"]["labels"]["supercloud.dev/array-index"] for pod in cluster.lab.api.iter_items(PODS)}
    assert numbers == {"0", "1", "2", "3", "4"}


def test_logs_of_all_pods_are_read(cluster: World) -> None:
    job = cluster.submit(name="talk", command=["true"], accelerators={"count": 16})
    cluster.wait_state(job, "COMPLETED")
    assert cluster.run_supercloud("logs", str(job)).splitlines() == ["hello", "loss 2.5"] * 2


def test_the_same_key_is_the_same_object(cluster: World) -> None:
    path = cluster.write_job(name="once")
    words = ("submit", str(path), "--on", str(cluster.spec), "--engine", "kubernetes", "--key", "mine")
    assert cluster.run_supercloud(*words) == cluster.run_supercloud(*words)
    # a user who lost the store gets an error about the object, and no second job
    (cluster.folder / "state" / "jobs.db").unlink()
    assert "already exists, for another job" in cluster.run_supercloud(*words, check=False)
    assert len(list(cluster.lab.api.iter_items("/apis/jobset.x-k8s.io/v1alpha2/jobsets"))) == 1
