"""The objects of a job, and what is refused before any is sent."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from jobs.engines.kubernetes_jobs import PLAN, find_job, find_main_container, read_env
from samples import ROOT

from supercloud.errors import EngineError
from supercloud.jobs.engines.kubernetes.arrays import build_task
from supercloud.jobs.engines.kubernetes.names import JobRef, build_object_name
from supercloud.jobs.placement.place import Placement, Refusal, place, why_not
from supercloud.jobs.placement.requests.pod_links import PodLinks, build_pod_links
from supercloud.jobs.placement.suggestions import apply_change
from supercloud.plan.build.kubernetes.names import build_topology, format_resource_name
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec import JobSpec
from supercloud.spec.loader import loads
from supercloud.targets import render

sys.path.append(str(ROOT / "tests" / "targets" / "kubernetes"))

from kube_specs import ELSEWHERE, VARIANTS, build_plan, list_bundle_objects, select_kind  # noqa: E402


def test_a_gang_is_submitted_to_the_queue_of_its_tenant(made: Callable[..., dict[str, Any]]) -> None:
    body = made(
        accelerators={"type": "h100", "count": 64},
        priority="high",
        time_limit="2 h",
        retries=3,
        retry_rules=[{"exit_codes": [42, 7], "action": "retry"}],
    )
    labels = body["metadata"]["labels"]
    assert (body["metadata"]["namespace"], labels["kueue.x-k8s.io/queue-name"]) == ("llm", "llm")
    assert labels["kueue.x-k8s.io/priority-class"] == "high" and body["spec"]["suspend"] is True
    job = find_job(body)
    assert (job["parallelism"], job["completions"], job["backoffLimit"]) == (8, 8, 0)
    assert job["activeDeadlineSeconds"] == 7200
    rails = {f"nvidia.com/compute-rail{rail}": "1" for rail in range(8)}
    assert find_main_container(body)["resources"] == {"limits": {"nvidia.com/gpu": "8"} | rails}
    assert job["template"]["spec"]["nodeSelector"] == {"supercloud.dev/pool": "train"}
    assert job["template"]["metadata"]["annotations"]["kueue.x-k8s.io/podset-preferred-topology"] == (
        "topology.supercloud.dev/su"
    )
    rules = body["spec"]["failurePolicy"]
    assert rules["maxRestarts"] == 3 and [rule["action"] for rule in rules["rules"]] == [
        "RestartJobSet",
        "RestartJobSet",
        "FailJobSet",
    ]
    assert rules["rules"][1]["onJobFailureMessagePatterns"] == ["exit code (7|42) "]
    assert job["podFailurePolicy"]["rules"][1]["onExitCodes"]["values"] == [7, 42]


def test_only_named_exit_codes_end_a_job_by_rule(made: Callable[..., dict[str, Any]]) -> None:
    """Pods that the queue preempts end with an exit code, and their job continues later."""
    rules = find_job(made())["podFailurePolicy"]["rules"]
    assert [list(rule) for rule in rules] == [["action", "onPodConditions"]]


def test_groups_stay_in_their_domains(made: Callable[..., dict[str, Any]]) -> None:
    body = made(parallelism={"tensor": 16, "data": 8}, accelerators={"type": "gb200", "count": 128})
    wishes = find_job(body)["template"]["metadata"]["annotations"]
    assert wishes["kueue.x-k8s.io/podset-slice-required-topology"] == "topology.supercloud.dev/scale-up"
    assert wishes["kueue.x-k8s.io/podset-slice-size"] == "4"


def test_pods_of_multi_node_jobs_get_rails(made: Callable[..., dict[str, Any]], kubernetes: Plan) -> None:
    body = made(accelerators={"type": "h100", "count": 16})
    job, main = find_job(body)["template"], find_main_container(body)
    joined = job["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"].split(",")
    items = list_bundle_objects(render(kubernetes, "kubernetes"))
    attached = select_kind(items, "HostDeviceNetwork")
    assert len(joined) == 8 and all(attached[name]["spec"]["networkNamespace"] == "llm" for name in joined)
    given = {f"nvidia.com/{attached[name]['spec']['resourceName']}" for name in joined}
    assert given == set(main["resources"]["limits"]) - {"nvidia.com/gpu"}
    assert main["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}
    [settings] = [item["configMapRef"]["name"] for item in main["envFrom"]]
    assert "nccl.conf" in select_kind(items, "ConfigMap")[f"llm/{settings}"]["data"]
    assert {"name": "nccl", "mountPath": "/etc/nccl.conf", "subPath": "nccl.conf"} in main["volumeMounts"]
    alone = made(accelerators={"type": "h100", "count": 8})
    assert find_main_container(alone)["resources"] == {
        "limits": {"nvidia.com/gpu": "8"}
    } and "envFrom" not in find_main_container(alone)


def test_pods_of_one_domain_claim_its_channel(made: Callable[..., dict[str, Any]], kubernetes: Plan) -> None:
    body = made(accelerators={"type": "gb200", "count": 32})
    spec, main = find_job(body)["template"]["spec"], find_main_container(body)
    [claim] = spec["resourceClaims"]
    assert main["resources"]["claims"] == [{"name": claim["name"]}]
    domains = select_kind(list_bundle_objects(render(kubernetes, "kubernetes")), "ComputeDomain")
    channel = domains["llm/nvl-nvlink"]["spec"]["channel"]["resourceClaimTemplate"]["name"]
    assert claim["resourceClaimTemplateName"] == channel
    rails = {name for name in main["resources"]["limits"] if name.startswith("nvidia.com/domains-")}
    assert rails == {f"nvidia.com/domains-rail{number}" for number in range(4)}, "its adapters are known by name"


ROCE = """
  - {name: compute, kind: roce, shape: clos, switch: nvidia-sn5600, su: 4}
  - {name: domains"""
INFINIBAND = """
  - {name: compute, kind: infiniband, shape: rail-optimized, switch: nvidia-qm9700}
  - {name: domains"""


@pytest.mark.slow
def test_pods_on_routed_links_use_the_network_of_the_host(made: Callable[..., dict[str, Any]]) -> None:
    body = made(resolve(loads(PLAN.replace(INFINIBAND, ROCE))), accelerators={"type": "h100", "count": 16})
    spec = find_job(body)["template"]["spec"]
    assert (spec["hostNetwork"], spec["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    assert find_main_container(body)["resources"]["limits"]["rdma/compute"] == "1"


@pytest.mark.slow
def test_pods_on_the_network_of_the_host_cannot_send_raw_packets(made: Callable[..., dict[str, Any]]) -> None:
    body = made(resolve(loads(PLAN.replace(INFINIBAND, ROCE))), accelerators={"type": "h100", "count": 16})
    assert find_main_container(body)["securityContext"]["capabilities"] == {"add": ["IPC_LOCK"], "drop": ["NET_RAW"]}
    alone = made(resolve(loads(PLAN.replace(INFINIBAND, ROCE))), accelerators={"type": "h100", "count": 8})
    assert "hostNetwork" not in find_job(alone)["template"]["spec"], "one node needs no fabric"


@pytest.mark.slow
def test_a_share_of_a_node_gets_its_share_of_the_adapters() -> None:
    plan = build_plan(VARIANTS["aws"])
    whole, half = (
        build_pod_links(plan, plan.pools[0], "llm", 2, 1.0),
        build_pod_links(plan, plan.pools[0], "llm", 2, 0.5),
    )
    assert whole.resources == (("vpc.amazonaws.com/efa", 32),) and half.resources == (("vpc.amazonaws.com/efa", 16),)
    named = build_plan()
    assert build_pod_links(named, named.pools[0], "llm", 2, 0.5) == PodLinks(), "rails go to whoever has the whole node"
    shared = build_plan(
        {"pools": [{"name": "t", "machine": "dgx-h100", "nodes": 8, "fabrics": ["compute"], "slicing": {"shards": 2}}]}
    )
    functions = build_pod_links(shared, shared.pools[0], "vision", 2, 0.5)
    assert dict(functions.resources) == {f"nvidia.com/compute-vf{rail}": 1 for rail in range(8)}
    assert dict(functions.annotations)["k8s.v1.cni.cncf.io/networks"].startswith("vision-compute-vf0,")


@pytest.mark.slow
def test_pods_on_gke_use_the_networks_of_gke() -> None:
    plan = build_plan(ELSEWHERE["gke"])
    notes = dict(build_pod_links(plan, plan.pools[0], "llm", 2, 1.0).annotations)
    interfaces = json.loads(notes["networking.gke.io/interfaces"])
    assert interfaces[0] == {"interfaceName": "eth0", "network": "default"} and len(interfaces) == 9
    assert {item["network"] for item in interfaces[1:]} == set(
        select_kind(list_bundle_objects(render(plan, "kubernetes")), "Network")
    )


def test_a_required_locality_is_a_required_topology(made: Callable[..., dict[str, Any]]) -> None:
    body = made(accelerators={"type": "h100", "count": 64}, place={"near": "leaf"})
    wishes = find_job(body)["template"]["metadata"]["annotations"]
    assert wishes["kueue.x-k8s.io/podset-required-topology"] == "topology.supercloud.dev/su"


def test_tasks_get_a_rendezvous_address(made: Callable[..., dict[str, Any]]) -> None:
    env = read_env(made(accelerators={"type": "h100", "count": 16}))
    first = "$(SUPERCLOUD_OBJECT)-workers-0-0.$(SUPERCLOUD_OBJECT)"
    assert env["MASTER_ADDR"] == env["PET_MASTER_ADDR"] == first
    assert env["JAX_COORDINATOR_ADDRESS"] == f"{first}:{env['MASTER_PORT']}"
    assert (env["NNODES"], env["WORLD_SIZE"], env["PET_NNODES"], env["JAX_NUM_PROCESSES"]) == ("2",) * 4
    assert env["PET_NPROC_PER_NODE"] == "8"
    names = list(env)
    assert names.index("SUPERCLOUD_OBJECT") < names.index("MASTER_ADDR"), "only earlier variables are filled in"


def test_pods_request_instances_or_whole_cpu_nodes(made: Callable[..., dict[str, Any]]) -> None:
    body = made(accelerators={"count": 1, "profile": "1g.10gb"})
    assert find_main_container(body)["resources"] == {"limits": {"nvidia.com/mig-1g.10gb": "1"}}
    cpus = made(nodes=2)
    assert find_main_container(cpus)["resources"] == {"requests": {"cpu": "49"}}, (
        "a second pod does not fit on 96 threads"
    )
    assert format_resource_name("nvidia.com/gpu", "mig", "1g.10gb+me") == "nvidia.com/mig-1g.10gb.me"


def test_secrets_are_references_and_nodes_can_be_pinned(made: Callable[..., dict[str, Any]]) -> None:
    body = made(
        secrets=[{"env": "TOKEN", "name": "hub.token"}], accelerators={"count": 8}, place={"nodes": ["train-0007"]}
    )
    reference = next(item for item in find_main_container(body)["env"] if item["name"] == "TOKEN")
    assert reference["valueFrom"] == {"secretKeyRef": {"name": "supercloud-secrets", "key": "hub.token"}}
    affinity = find_job(body)["template"]["spec"]["affinity"]["nodeAffinity"]
    terms = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert terms[0]["matchExpressions"][0]["values"] == ["train-0007"]


def test_tasks_of_an_array_have_their_index(made: Callable[..., dict[str, Any]]) -> None:
    body = build_task(made(array=3), 2, "job-x-2")
    labels = find_job(body)["template"]["metadata"]["labels"]
    assert (labels["supercloud.dev/object"], labels["supercloud.dev/array-index"]) == ("job-x-2", "2")
    assert labels["supercloud.dev/job"] == body["metadata"]["labels"]["supercloud.dev/job"] != "job-x-2"


VOLCANO = PLAN.replace('version: "1.36"}', 'version: "1.36", queue: volcano}')
ALONE = VOLCANO.replace("name: nvl,", "name: nvl, imex: false,")


@pytest.mark.slow
def test_placement_rejects_claims_within_a_level_under_volcano(made: Callable[..., dict[str, Any]]) -> None:
    """Release 1.14 forgets what it chose for a HyperNode as soon as it tries the next one."""
    gb200 = {"type": "gb200", "count": 32}
    defaults = {"name": "job", "command": ["train"], "image": "registry.example.com/a:1", "accelerators": gb200}
    for fields in ({}, {"parallelism": {"tensor": 16, "data": 2}}, {"place": {"near": "scale-up"}}):
        refused = place(JobSpec.model_validate(defaults | fields), resolve(loads(VOLCANO)))
        assert "does not support that for pods with a channel" in str(refused)
    spec = made(resolve(loads(VOLCANO)), accelerators=gb200, place={"near": "any"})["spec"]
    assert spec["tasks"][0]["template"]["spec"]["resourceClaims"]
    assert spec["networkTopology"]["mode"] == "soft"
    whole = made(resolve(loads(ALONE)), accelerators=gb200)["spec"]["networkTopology"]
    assert whole == {"mode": "hard", "highestTierAllowed": 1}, "one domain holds it, and must"


@pytest.mark.slow
def test_high_priority_jobs_specify_no_preferred_locality_under_volcano(made: Callable[..., dict[str, Any]]) -> None:
    """Release 1.14 preempts for no job that has a networkTopology; a wish for nearness must not undo a priority."""
    fields: dict[str, Any] = {"accelerators": {"type": "h100", "count": 128}, "priority": "high"}
    assert "networkTopology" not in made(resolve(loads(VOLCANO)), **fields)["spec"]
    near = made(resolve(loads(VOLCANO)), place={"near": "leaf"}, **fields)["spec"]["networkTopology"]
    assert near == {"mode": "hard", "highestTierAllowed": 2}


def test_pods_tolerate_their_nodes_under_volcano(made: Callable[..., dict[str, Any]]) -> None:
    """Kueue's flavors give tolerations to admitted pods; here the pods have them."""
    pod = made(resolve(loads(VOLCANO)), nodes=1, place={"pools": ["train"]})["spec"]["tasks"][0]["template"]["spec"]
    assert pod["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]


def test_a_job_is_translated_for_volcano(made: Callable[..., dict[str, Any]]) -> None:
    body = made(
        resolve(loads(ALONE)),
        parallelism={"tensor": 16, "data": 8},
        retries=1,
        accelerators={"type": "gb200", "count": 128},
        time_limit="1 h",
    )
    spec = body["spec"]
    assert (spec["schedulerName"], spec["queue"], spec["minAvailable"]) == ("volcano", "llm", 32)
    (group,) = spec["tasks"]
    assert group["partitionPolicy"] == {
        "totalPartitions": 8,
        "partitionSize": 4,
        "minPartitions": 8,
        "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
    }
    assert spec["priorityClassName"] == "supercloud-normal" and spec["maxRetry"] == 2, "two starts are one retry"
    assert spec["networkTopology"] == {"mode": "soft", "highestTierAllowed": 3}, "its name is looked up too late"
    assert group["template"]["spec"]["activeDeadlineSeconds"] == 3600


@pytest.mark.slow
@pytest.mark.parametrize("retries", [0, 3])
def test_volcano_never_restarts_a_part_of_a_gang(made: Callable[..., dict[str, Any]], retries: int) -> None:
    """Its controller fails a job at ``retryCount >= maxRetry``, and takes a maxRetry of 0 for 3."""
    spec = made(resolve(loads(VOLCANO)), retries=retries, accelerators={"type": "h100", "count": 16})["spec"]
    assert spec["maxRetry"] == retries + 1
    assert spec["policies"][0] == {"event": "PodEvicted", "action": "RestartJob"}


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"script": "srun x", "nodes": 2}, "nothing starts the other tasks; use"),
        ({"script": "x" * 130_000}, "put it into the image"),
        ({"deadline": "1 d"}, "which is not supported on Kubernetes; omit"),
        ({"after": ["1"]}, "does not support job dependencies"),
        ({"array": 1001}, "at most 1000"),
    ],
)
def test_unsupported_fields_are_refused(
    made: Callable[..., dict[str, Any]], fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(EngineError, match=message):
        made(**fields)


def test_a_cluster_with_slurm_is_rejected(made: Callable[..., dict[str, Any]], plan: Plan) -> None:
    with pytest.raises(EngineError, match="not planned for Kubernetes"):
        made(plan, accelerators={"count": 8})


def test_a_checkpoint_must_be_on_a_file_system(made: Callable[..., dict[str, Any]], kubernetes: Plan) -> None:
    body = made(checkpoint={"path": "/scratch/ckpt"})
    assert {"name": "fs-scratch", "mountPath": "/scratch"} in find_main_container(body)["volumeMounts"]
    lost = JobSpec.model_validate({"name": "j", "command": ["x"], "checkpoint": {"path": "/scratchy"}})
    answers = place(lost, kubernetes)
    assert isinstance(answers, tuple) and "is not on a file system" in answers[0].reason


def test_names_follow_from_keys_and_leave_room_for_suffixes_of_pods() -> None:
    name = build_object_name("a" * 40, "key")
    assert name == build_object_name("a" * 40, "key") != build_object_name("a" * 40, "key.e1")
    assert len(f"{name}-workers-0-99999-abcde") <= 63
    ref = JobRef("jobset", "llm", name, 1795226340, 3)
    assert JobRef.parse(str(ref)) == ref and ref.object_names == (f"{name}-0", f"{name}-1", f"{name}-2")
    assert JobRef.parse("4711") is None


def test_one_topology_per_flavor_has_every_level_once(kubernetes: Plan) -> None:
    """Where fabrics of several depths meet, a level's name comes twice in the plan."""
    labels = build_topology(kubernetes, kubernetes.get_pool("nvl")).labels
    assert len(set(labels)) == len(labels)
    assert labels[-2:] == ("topology.supercloud.dev/scale-up", "kubernetes.io/hostname")


ULTRA = {
    "aws": {
        "site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1-dfw-2a"]},
        "facility": None,
        "storage": [],
        "fabrics": [{"name": "compute", "kind": "efa"}],
        "pools": [
            {
                "name": "nvl",
                "machine": "p6e-gb200.36xlarge",
                "nodes": 36,
                "fabrics": ["compute"],
                "capacity": [{"kind": "capacity-block", "id": "cr-0123456789abcdef0"}],
            }
        ],
    },
    "gcp": ELSEWHERE["gke"]
    | {"pools": [{"name": "nvl", "machine": "a4x-highgpu-4g", "nodes": 36, "fabrics": ["compute"]}]},
    "azure": ELSEWHERE["aks"]
    | {"pools": [{"name": "nvl", "machine": "Standard_ND128isr_NDR_GB200_v6", "nodes": 36, "fabrics": ["compute"]}]},
}


@pytest.mark.parametrize(
    "cloud, levels, near",
    [
        ("aws", 5, "topology.k8s.aws/network-node-layer-3"),
        ("gcp", 5, "cloud.google.com/gce-topology-subblock"),
        ("azure", 3, "kubernetes.azure.com/agentpool"),
    ],
)
def test_scale_up_domains_of_a_cloud_are_levels(
    made: Callable[..., dict[str, Any]], cloud: str, levels: int, near: str
) -> None:
    """Providers label switches and hosts; NVLink domains are labels of device discovery (clique)."""
    plan = build_plan(ULTRA[cloud])
    assert not plan.errors, plan.errors
    items = list_bundle_objects(render(plan, "kubernetes"))
    [topology] = select_kind(items, "Topology").values()
    names = [level["nodeLabel"] for level in topology["spec"]["levels"]]
    assert len(names) == levels and "nvidia.com/gpu.clique" in names and names[-1] == "kubernetes.io/hostname"
    [flavor] = select_kind(items, "ResourceFlavor").values()
    assert flavor["spec"]["topologyName"] == topology["metadata"]["name"]

    def read_request(**fields: Any) -> dict[str, str]:
        found: dict[str, str] = find_job(made(plan, **fields))["template"]["metadata"]["annotations"]
        return {key.removeprefix("kueue.x-k8s.io/podset-"): value for key, value in found.items()}

    one = read_request(accelerators={"type": "gb200", "count": 72})
    assert (one["slice-required-topology"], one["slice-size"]) == ("nvidia.com/gpu.clique", "18")
    both = read_request(accelerators={"type": "gb200", "count": 144}, parallelism={"tensor": 8, "data": 18})
    assert (both["slice-required-topology"], both["slice-size"]) == ("nvidia.com/gpu.clique", "2")
    assert both["preferred-topology"] == near, "no single host, and no one domain"


def test_a_pod_gets_one_share_of_a_shared_device(made: Callable[..., dict[str, Any]]) -> None:
    """The plugin refuses a pod that asks for more (failRequestsGreaterThanOne): two shares are no larger one."""
    plan = build_plan(
        {"pools": [{"name": "cut", "machine": "dgx-a100", "nodes": 4, "slicing": {"shards": 4}}], "fabrics": []}
    )
    [config] = [
        item for item in list_bundle_objects(render(plan, "kubernetes")) if item["metadata"]["name"] == "device-plugin"
    ]
    assert "failRequestsGreaterThanOne: true" in config["data"]["cut"]
    for count in (1, 3):
        job = find_job(made(plan, accelerators={"count": count, "fraction": 0.25}))
        assert job["parallelism"] == count
        [main] = job["template"]["spec"]["containers"]
        assert main["resources"]["limits"]["nvidia.com/gpu"] == "1"
    for wish, reason in (
        ({"count": 1, "fraction": 0.5}, "the job needs 2"),
        ({"count": 8}, "pods get shares"),
        ({"count": 5, "fraction": 0.25}, "the pool has 4"),
        ({"count": 1, "profile": "1g.10gb"}, "shared in 4 shards"),
    ):
        asked = JobSpec.model_validate({"name": "j", "command": ["x"], "image": "a/b:1", "accelerators": wish})
        [answer] = why_not(asked, plan).values()
        assert isinstance(answer, Refusal) and reason in answer.reason, answer
        better = why_not(apply_change(asked, answer.change), plan)["cut"]
        assert isinstance(better, Placement), better
