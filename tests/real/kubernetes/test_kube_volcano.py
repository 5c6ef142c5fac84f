"""Jobs of the command line with Volcano's controllers, scheduler and webhooks, and the rendered bundle."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml
from kube_world import SPEC, World

from supercloud.jobs.engines.kubernetes.api import ApiClient, ApiStatusError, ClusterTransport
from supercloud.jobs.engines.kubernetes.engine import KubernetesEngine
from supercloud.plan.build.kubernetes.levels import build_topology_labels, compute_label_tiers
from supercloud.plan.resolve import resolve
from supercloud.spec.fleet import Connection
from supercloud.spec.loader import loads
from supercloud.targets import render

H100, GB200 = {"type": "h100"}, {"type": "gb200"}
JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/{}/jobs"


@pytest.fixture(scope="module")
def volcano(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The cluster of the other tests, with Volcano as the queue."""
    spec = SPEC.replace('version: "1.36"}', 'version: "1.36", queue: volcano}')
    spec = spec.replace("  - {name: nvl,", "  - {name: nvl, imex: false,")
    spec = spec.replace(
        "fabrics:\n", "  - {name: bound, machine: dgx-gb200, nodes: 18, fabrics: [domains]}\nfabrics:\n", 1
    )
    people = {"ann": "supercloud:llm", "bob": "supercloud:vision"}
    with World(spec, tmp_path_factory.mktemp("volcano"), people) as started, pytest.MonkeyPatch.context() as here:
        here.setenv("KUBECONFIG", str(started.lab.kubeconfig))
        yield started


@pytest.fixture
def cluster(volcano: World) -> Iterator[World]:
    """The same cluster without jobs."""
    volcano.clear()
    return volcano


def test_a_gang_is_allocated_within_one_unit(cluster: World) -> None:
    first = cluster.submit(name="first", accelerators=H100 | {"count": 192}, place={"near": "leaf"})
    assert cluster.count_groups("su", cluster.wait_hosts(first)) in ({"compute-su1": 24}, {"compute-su2": 24})
    second = cluster.submit(name="second", accelerators=H100 | {"count": 128}, place={"near": "leaf"})
    (other,) = cluster.count_groups("su", cluster.wait_hosts(second))
    assert other not in cluster.count_groups("su", cluster.wait_hosts(first)), (
        "the first unit has 8 nodes left, 16 are needed"
    )
    cluster.wait_state(second, "RUNNING")


def test_tensor_groups_stay_in_their_scale_up_domain(cluster: World) -> None:
    """32 nodes in groups of 4, on two domains of 18: each takes a whole number of groups."""
    job = cluster.submit(name="slices", parallelism={"tensor": 16, "data": 8}, accelerators=GB200 | {"count": 128})
    parts = cluster.count_groups("scale-up", cluster.wait_hosts(job))
    assert sorted(parts.values()) == [16, 16]


def test_claims_of_channels_are_allocated(cluster: World) -> None:
    """Pods that claim a channel are placed with a preferred level; with a required level the job is refused."""
    job = cluster.submit(name="bound", accelerators=GB200 | {"count": 32}, place={"pools": ["bound"], "near": "any"})
    assert len(cluster.wait_hosts(job)) == 8
    claims = list(cluster.lab.api.iter_items("/apis/resource.k8s.io/v1/namespaces/llm/resourceclaims"))
    assert len(claims) == 8 and all(item["status"]["allocation"] for item in claims)
    groups = cluster.write_job(
        name="groups",
        parallelism={"tensor": 16, "data": 2},
        accelerators=GB200 | {"count": 32},
        place={"pools": ["bound"]},
    )
    output = cluster.run_supercloud(
        "submit", str(groups), "--on", str(cluster.spec), "--engine", "kubernetes", check=False
    )
    assert "does not support that for pods with a channel" in output


def test_a_job_that_does_not_fit_reports_the_reason_and_starts_later(cluster: World) -> None:
    fill = [
        cluster.submit(
            name=f"fill{number}", accelerators=H100 | {"count": 160}, place={"near": "leaf"}, tenant="vision"
        )
        for number in range(2)
    ]
    for number in fill:
        cluster.wait_hosts(number)
    job = cluster.submit(name="near", accelerators=H100 | {"count": 128}, place={"near": "leaf"})
    cluster.lab.wait_until(lambda: "Volcano reports" in cluster.get_record(job).reason)
    assert cluster.get_record(job).state == "QUEUED"
    assert not list(_iter_scheduled_hosts(cluster, job)), "either all pods of a gang are scheduled or none"
    assert (
        sum(
            item.nodes for item in KubernetesEngine(Connection(engine="kubernetes"), cluster.folder).list_waiting_jobs()
        )
        == 16
    )
    cluster.run_supercloud("cancel", str(fill[0]))
    assert len(cluster.count_groups("su", cluster.wait_hosts(job))) == 1
    cluster.wait_state(job, "RUNNING")


def _iter_scheduled_hosts(cluster: World, job: int) -> Iterator[str]:
    name = cluster.get_object(job)["metadata"]["name"]
    pods = cluster.lab.api.iter_items("/api/v1/namespaces/llm/pods", labelSelector=f"supercloud.dev/object={name}")
    yield from (pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName"))


def test_a_job_of_higher_priority_preempts_and_releases_nodes(cluster: World) -> None:
    low = cluster.submit(name="low", accelerators=H100 | {"count": 512}, priority="low", retries=2)
    cluster.wait_state(low, "RUNNING")
    high = cluster.submit(name="high", accelerators=H100 | {"count": 128}, priority="high")
    cluster.wait_state(high, "RUNNING")
    cluster.wait_state(low, "QUEUED")
    cluster.run_supercloud("cancel", str(high))
    assert cluster.wait_state(low, "RUNNING").attempt >= 2


def test_borrowed_capacity_returns_to_its_owner(cluster: World) -> None:
    borrower = cluster.submit(name="borrower", accelerators=H100 | {"count": 512}, retries=2)
    cluster.wait_state(borrower, "RUNNING")
    lender = cluster.submit(name="lender", accelerators=H100 | {"count": 128}, tenant="vision")
    cluster.wait_state(lender, "RUNNING")
    cluster.lab.wait_until(lambda: cluster.get_record(borrower).state == "QUEUED")


def test_exit_codes_are_retried_by_rule(cluster: World) -> None:
    rule = {"exit_codes": [42, 43], "action": "retry"}
    job = cluster.submit(name="again", command=["sh", "-c", "sleep 1; exit 42"], retries=2, retry_rules=[rule])
    ended = cluster.wait_state(job, "FAILED")
    assert (ended.exit_code, ended.attempt) == (42, 3)
    other = cluster.submit(name="never", command=["sh", "-c", "sleep 1; exit 3"], retries=2, retry_rules=[rule])
    ended = cluster.wait_state(other, "FAILED")
    assert (ended.exit_code, ended.reason, ended.attempt) == (3, "ended with exit code 3", 1)


def test_a_lost_node_restarts_the_whole_job_on_other_nodes(cluster: World) -> None:
    job = cluster.submit(name="gang", accelerators=H100 | {"count": 32}, retries=1)
    cluster.wait_state(job, "RUNNING")
    lost = cluster.wait_hosts(job)[0]
    with cluster.lab.lose_node(lost):
        cluster.wait_state(job, "RUNNING", attempt=2)
        hosts = cluster.wait_hosts(job)
        assert len(hosts) == 4 and lost not in hosts


def test_a_lost_node_ends_a_job_without_retries(cluster: World) -> None:
    job = cluster.submit(name="once", accelerators=H100 | {"count": 16})
    cluster.wait_state(job, "RUNNING")
    lost = cluster.wait_hosts(job)[1]
    with cluster.lab.lose_node(lost):
        assert cluster.wait_state(job, "NODE_FAIL").reason.startswith("its pods were evicted: a node")


def test_a_job_completes_has_logs_and_is_cancelled(cluster: World) -> None:
    job = cluster.submit(name="talk", command=["true"], accelerators={"count": 16}, array=2)
    assert cluster.wait_state(job, "COMPLETED").exit_code == 0
    assert cluster.run_supercloud("logs", str(job)).splitlines() == ["hello", "loss 2.5"] * 4
    gone = cluster.submit(name="gone", accelerators={"count": 16})
    cluster.wait_hosts(gone)
    assert cluster.run_supercloud("cancel", str(gone)).endswith("CANCELLED")


def _build_pod(**spec: str) -> dict[str, object]:
    main = {"name": "main", "image": "registry.example.com/a:1"}
    return {"containers": [main], "restartPolicy": "Never", **spec}


QUEUE = "scheduling.volcano.sh/queue-name"
ROADS = [
    ("another's queue", {QUEUE: "llm"}, _build_pod(schedulerName="volcano"), "own queue"),
    ("no annotation", {}, _build_pod(schedulerName="volcano"), "own queue"),
    ("no queue", {QUEUE: "vision"}, _build_pod(), "schedulerName must be volcano"),
    (
        "above all",
        {QUEUE: "vision"},
        _build_pod(schedulerName="volcano", priorityClassName="system-node-critical"),
        "priorityClassName",
    ),
    ("its own", {QUEUE: "vision"}, _build_pod(schedulerName="volcano"), ""),
]


@pytest.mark.parametrize("notes, spec, refusal", [road[1:] for road in ROADS], ids=[road[0] for road in ROADS])
def test_a_pod_may_use_only_the_queue_of_its_tenant(
    cluster: World, notes: dict[str, str], spec: dict[str, object], refusal: str
) -> None:
    bob = ApiClient(ClusterTransport(config_file=cluster.lab.write_kubeconfig("bob", "vision")))
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "road", "annotations": notes}, "spec": spec}
    if not refusal:
        bob.post("/api/v1/namespaces/vision/pods", pod, dryRun="All")
        return
    with pytest.raises(ApiStatusError, match=refusal):
        bob.post("/api/v1/namespaces/vision/pods", pod, dryRun="All")


def test_a_job_may_use_only_the_queue_and_namespace_of_its_tenant(cluster: World) -> None:
    number = cluster.submit(name="own", tenant="vision", kubeconfig=cluster.lab.write_kubeconfig("bob", "vision"))
    there = cluster.get_object(number)
    body = {"apiVersion": there["apiVersion"], "kind": "Job", "metadata": {"name": "thief"}, "spec": there["spec"]}
    bob = ApiClient(ClusterTransport(config_file=cluster.lab.write_kubeconfig("bob", "vision")))
    for changed, space, refusal in (
        ({"queue": "llm"}, "vision", "own queue"),
        ({}, "llm", "cannot create resource"),
        ({"priorityClassName": "system-node-critical"}, "vision", "priority"),
    ):
        with pytest.raises(ApiStatusError, match=refusal):
            bob.post(JOBS.format(space), body | {"spec": there["spec"] | changed}, dryRun="All")
    bob.post(JOBS.format("vision"), body, dryRun="All")


CLOUD = """\
name: cloud
site: {kind: aws, region: us-east-1, zones: [us-east-1a]}
scheduler: {kind: kubernetes, version: "1.36", queue: volcano}
pools: [{name: train, machine: p5.48xlarge, nodes: 4}]
"""


def test_levels_of_a_cloud_are_found_by_its_labels(volcano: World) -> None:
    """The controllers read their rendered configuration, and their tiers are those of the jobs. The last test, because
    it changes the levels of the cluster.
    """
    plan = resolve(loads(CLOUD))
    values = yaml.safe_load(render(plan, "kubernetes")["charts/volcano.yaml"])["custom"]["controller_config_override"]
    labels, tiers = build_topology_labels(plan, plan.pools[0]).labels[:-1], compute_label_tiers(plan)
    assert len(labels) == 3
    lab = volcano.lab
    for number, host in enumerate(list(volcano.plan.pools[0].hosts)[:4]):
        groups = {label: f"{level}-{number // 2 ** (2 - level)}" for level, label in enumerate(labels)}
        lab.api.patch(f"/api/v1/nodes/{host}", {"metadata": {"labels": groups}})
    lab.apply(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "data": {"volcano-controller.conf": yaml.safe_dump(values)},
            "metadata": {"name": "volcano-controller-configmap", "namespace": "volcano-system"},
        }
    )

    def read_tiers() -> dict[str, int]:
        nodes = lab.api.iter_items("/apis/topology.volcano.sh/v1alpha1/hypernodes")
        counted: dict[str, int] = {}
        for item in nodes:
            if item["spec"]["tierName"] in labels:
                counted[item["spec"]["tierName"]] = item["spec"]["tier"]
        return counted

    lab.wait_until(lambda: read_tiers() == tiers)
