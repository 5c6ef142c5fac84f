from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from samples import EXAMPLES

from supercloud.catalog import Catalog
from supercloud.errors import EngineConfigurationError, EngineError, InputError, SpecError
from supercloud.jobs.fleet.loading import load_fleet_state
from supercloud.jobs.fleet.state import (
    Cluster,
    ListsNodes,
    ListsQueue,
    NodeState,
    ObservationCache,
    WaitingJobs,
)
from supercloud.jobs.placement.place import Placement, Refusal, place, why_not
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec import JobSpec
from supercloud.spec.loader import loads

CATALOG = Catalog.load_default()
Make = Callable[..., JobSpec]
NOW = 1_000_000.0
H100 = {"type": "h100"}


def build_observed_cluster(plan: Plan, waiting: Sequence[WaitingJobs] = (), **states: NodeState) -> Cluster:
    """All nodes idle but those named (``n3`` is train-0003)."""
    nodes = [NodeState(host) for pool in plan.pools for host in pool.hosts]
    changed = {state.host: state for state in states.values()}
    return Cluster.from_plan(plan).with_observations([changed.get(node.host, node) for node in nodes], NOW, waiting)


def build_states(
    numbers: Sequence[int], state: str = "up", in_use: int = 0, until: float | None = None
) -> dict[str, NodeState]:
    return {f"n{n}": NodeState(f"train-{n:04}", state, in_use, until) for n in numbers}  # type: ignore[arg-type]


def test_long_names_of_nodes_are_ignored_in_linear_time(plan: Plan) -> None:
    start = time.process_time()
    names = ("1" * 60_000 + "x", "x" * 60_000, "1x" * 30_000, "x" + "9" * 60_000)
    cluster = Cluster.from_plan(plan).with_observations([NodeState(name) for name in names], NOW)
    assert time.process_time() - start < 1 and cluster.observed_at == NOW


def test_a_planned_cluster_has_all_nodes_free(job: Make, plan: Plan) -> None:
    cluster = Cluster.from_plan(plan)
    for count in (0, 1, 8, 64, 512, 992):
        asked = job(accelerators={"count": count})
        assert place(asked, cluster, CATALOG) == place(asked, plan, CATALOG)
        assert why_not(asked, cluster, CATALOG) == why_not(asked, plan, CATALOG)


@pytest.mark.slow
def test_drained_nodes_are_not_used(job: Make, plan: Plan) -> None:
    cluster = build_observed_cluster(plan, **build_states(range(1, 11), "drained"))
    assert cluster.observed_at == NOW and cluster.pools["train"].healthy.count(0) == 10
    answer = why_not(job(accelerators=H100 | {"count": 992}), cluster, CATALOG)["train"]
    assert isinstance(answer, Refusal)
    assert answer.reason == "the job needs 124 nodes, only 117 of 127 are healthy"
    assert answer.suggestion.startswith("request at most 936 accelerators")
    assert isinstance(place(job(accelerators=H100 | {"count": 936}), cluster, CATALOG), Placement)


def test_spares_replace_broken_nodes(job: Make, plan: Plan) -> None:
    cluster = build_observed_cluster(plan, **build_states(range(1, 4), "down"))
    at = place(job(accelerators=H100 | {"count": 992}), cluster, CATALOG)
    assert isinstance(at, Placement) and at.fits_now


def test_nodes_that_the_engine_does_not_list_are_down(job: Make, plan: Plan) -> None:
    cluster = Cluster.from_plan(plan).with_observations(
        [NodeState("train-0005"), NodeState("strange"), NodeState("x-0001")], NOW
    )
    assert cluster.pools["train"].healthy.count(8) == 1
    assert isinstance(place(job(accelerators=H100 | {"count": 16}), cluster, CATALOG), tuple)


def test_a_job_waits_for_nodes_in_use(job: Make, plan: Plan) -> None:
    busy = build_states(range(1, 101), "up", 8, NOW + 3600) | build_states(range(101, 121), "up", 8, NOW + 7200)
    cluster = build_observed_cluster(plan, **busy)
    now = place(job(accelerators=H100 | {"count": 32}), cluster, CATALOG)
    later = place(job(accelerators=H100 | {"count": 256}), cluster, CATALOG)
    last = place(job(accelerators=H100 | {"count": 992}), cluster, CATALOG)
    assert isinstance(now, Placement) and now.fits_now and now.wait == 0
    assert isinstance(later, Placement) and not later.fits_now and later.wait == 3600
    assert isinstance(last, Placement) and last.wait == 7200
    silent = build_observed_cluster(plan, **build_states(range(1, 128), "up", 8))
    unknown = place(job(accelerators=H100 | {"count": 8}), silent, CATALOG)
    assert isinstance(unknown, Placement) and not unknown.fits_now and unknown.wait is None
    # a part of a node is enough for a small job, not for a large one
    half = build_observed_cluster(plan, **build_states(range(1, 128), "up", 4, NOW + 60))
    assert why_not(job(accelerators=H100 | {"count": 4}), half, CATALOG)["train"].fits_now  # type: ignore[union-attr]
    assert not why_not(job(accelerators=H100 | {"count": 8}), half, CATALOG)["train"].fits_now  # type: ignore[union-attr]


def test_jobs_that_wait_already_come_first(job: Make, plan: Plan) -> None:
    queue = [WaitingJobs("batch", 100), WaitingJobs("cpus", 5)]
    cluster = build_observed_cluster(plan, queue, **build_states(range(1, 51), "up", 8, NOW + 600))
    assert cluster.pools["train"].queued_nodes == 100
    at = why_not(job(accelerators=H100 | {"count": 8}), cluster, CATALOG)["train"]
    assert isinstance(at, Placement) and not at.fits_now and at.wait == 600


def test_locality_counts_healthy_nodes_only(job: Make, plan: Plan) -> None:
    """Each unit of 32 has lost two nodes or more."""
    lost = [1, 2, 33, 34, 65, 66, 97, 98]
    cluster = build_observed_cluster(plan, **build_states(lost, "drained"))
    asked = job(accelerators=H100 | {"count": 256}, place={"near": "leaf"})
    assert isinstance(place(asked, plan, CATALOG), Placement)
    answer = why_not(asked, cluster, CATALOG)["train"]
    assert isinstance(answer, Refusal)
    assert answer.reason == "the job must fit in one su, the largest has 30 healthy nodes, it needs 32"
    assert answer.suggestion == "request at most 240 accelerators, or omit place.near"
    softly = place(job(accelerators=H100 | {"count": 256}), cluster, CATALOG)
    assert isinstance(softly, Placement) and softly.locality.level == "fabric" and softly.locality.switches == 2
    assert [count for _, count in softly.domains] == [16, 16]


def test_free_nodes_that_are_too_far_apart_are_reported(job: Make, plan: Plan) -> None:
    busy = build_states([n for n in range(1, 128) if n % 2], "up", 8, NOW + 60)
    at = place(
        job(accelerators=H100 | {"count": 256}, place={"near": "leaf"}), build_observed_cluster(plan, **busy), CATALOG
    )
    assert isinstance(at, Placement) and not at.fits_now and at.wait is None


def test_pinned_nodes_wait_or_are_refused(job: Make, plan: Plan) -> None:
    asked = job(accelerators=H100 | {"count": 16}, place={"nodes": ["train-[0001-0002]"]})
    busy = place(asked, build_observed_cluster(plan, **build_states([2], "up", 8, NOW + 90)), CATALOG)
    assert isinstance(busy, Placement) and busy.wait == 90
    broken = why_not(asked, build_observed_cluster(plan, **build_states([2], "down")), CATALOG)["train"]
    assert isinstance(broken, Refusal) and "train-0002 is not schedulable" in broken.reason


class Engine:
    def __init__(self, plan: Plan):
        self.plan, self.asked = plan, 0

    def list_nodes(self) -> Sequence[NodeState]:
        self.asked += 1
        return [NodeState(host) for pool in self.plan.pools for host in pool.hosts]

    def list_waiting_jobs(self) -> Sequence[WaitingJobs]:
        return [WaitingJobs("batch", 3)]


def test_observations_are_cached(plan: Plan) -> None:
    engine, cluster, time = Engine(plan), Cluster.from_plan(plan), [NOW]
    assert isinstance(engine, ListsNodes) and isinstance(engine, ListsQueue)
    watch = ObservationCache(30, lambda: time[0])
    first = watch.observe(cluster, engine)
    assert (first.observed_at, first.pools["train"].queued_nodes) == (NOW, 3)
    time[0] += 29
    assert watch.observe(cluster, engine) is first and engine.asked == 1
    assert watch.observe(cluster, engine, refresh=True).observed_at == NOW + 29 and engine.asked == 2
    time[0] += 31
    assert watch.observe(cluster, engine).observed_at == NOW + 60 and engine.asked == 3
    assert watch.observe(cluster, object()) is cluster


CLUSTER = """
name: {name}
site: {{kind: onprem, location: {place}}}
scheduler: {{kind: slurm, version: "25.11"}}
pools: [{{name: train, machine: dgx-h100, nodes: 4}}]
storage: [{{name: scratch, kind: nfs, capacity: 100 TiB, mount: /scratch}}]
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, place_ in (("a", "stockholm"), ("b", "warsaw")):
        (tmp_path / f"{name}.yaml").write_text(CLUSTER.format(name=name, place=place_))
    (tmp_path / "fleet.yaml").write_text(
        "name: all\nclusters: [{spec: a.yaml, connect: {engine: fake}}, {spec: b.yaml}]\n"
        "data: [{name: corpus, size: 300 TB, at: [a/scratch]}]\n"
    )
    return tmp_path


@pytest.mark.slow
def test_a_fleet_is_read_from_its_file(files: Path, job: Make) -> None:
    fleet = load_fleet_state(files / "fleet.yaml")
    assert [cluster.plan.name for cluster in fleet.clusters] == ["a", "b"]
    answers = why_not(job(accelerators={"count": 64}), fleet)
    assert list(answers) == ["a/train", "b/train"]
    assert str(answers["a/train"]).startswith("a/train: 64 accelerators are 8 nodes")
    alone = load_fleet_state(files / "a.yaml")
    assert isinstance(place(job(accelerators={"count": 8}), alone), Placement)
    asked: list[str] = []
    load_fleet_state(files / "fleet.yaml", lambda connection: asked.append(connection.engine))
    assert asked == ["fake"]


@pytest.mark.parametrize(
    "change, message",
    [
        (("b.yaml", "a2.yaml"), "duplicate cluster name 'a' in a2.yaml and a.yaml \\(line"),
        (("name: all", "name: all\npolicy: {failures: meta-rsc}"), "meta-rsc-1"),
        (("a/scratch", "a/scrtch"), "not a storage of the fleet"),
        (("name: all", "name: all\nbudgets: [{tenant: lmm, limit: 1 USD}]"), "budgets: unknown tenant 'lmm'"),
        (("name: all", "name: all\ntenants: [{name: lmm}]"), "tenants: unknown tenant 'lmm'"),
    ],
)
def test_an_invalid_fleet_is_rejected(files: Path, change: tuple[str, str], message: str) -> None:
    (files / "a2.yaml").write_text((files / "a.yaml").read_text())
    text = (files / "fleet.yaml").read_text().replace(*change)
    (files / "fleet.yaml").write_text(text)
    with pytest.raises(InputError, match=message):
        load_fleet_state(files / "fleet.yaml")


NVL = """
name: nvl
site: {kind: onprem, location: finland}
scheduler: {kind: slurm, version: "26.05"}
pools: [{name: train, machine: dgx-gb200, nodes: 72, fabrics: [compute]}]
fabrics: [{name: compute, kind: infiniband, shape: rail-optimized, switch: nvidia-qm9700}]
"""


def test_segments_are_requested_only_if_racks_have_them(job: Make) -> None:
    plan = resolve(loads(NVL))

    def build_racks(broken: int, busy: int = 0) -> Cluster:
        return Cluster.from_plan(plan).with_observations(
            [
                NodeState(host, "drained" if n % 18 < broken else "up", 4 if n % 18 < broken + busy else 0)
                for n, host in enumerate(plan.pools[0].hosts)
            ],
            NOW,
        )

    asked = job(parallelism={"data": 192, "expert": 64})
    usual, less, taken = (place(asked, where, CATALOG) for where in (build_racks(2), build_racks(3), build_racks(2, 1)))
    assert isinstance(usual, Placement) and isinstance(less, Placement) and isinstance(taken, Placement)
    assert (usual.locality.segment, usual.fits_now, [count for _, count in usual.domains]) == (16, True, [16, 16, 16])
    assert (less.locality.segment, less.fits_now) == (0, True)  # a segment of 16 would wait for ever
    assert next(span.worst for span in less.spans if span.axis == "expert") == 2
    assert (taken.locality.segment, taken.fits_now) == (16, False)  # they come free again


KUBECONFIG = """
current-context: here
contexts:
  - {name: here, context: {cluster: one, user: ann}}
  - {name: admin, context: {cluster: one, user: root}}
  - {name: alias, context: {cluster: same, user: ann}}
  - {name: other, context: {cluster: two, user: ann}}
  - {name: proxied, context: {cluster: proxied, user: ann}}
  - {name: proxied-too, context: {cluster: proxied-too, user: root}}
  - {name: named, context: {cluster: named, user: ann}}
  - {name: renamed, context: {cluster: renamed, user: ann}}
clusters:
  - {name: one, cluster: {server: "https://API.example.com"}}
  - {name: same, cluster: {server: "https://api.example.com:443/"}}
  - {name: two, cluster: {server: "https://api.example.com:6443"}}
  - {name: proxied, cluster: {server: "https://api.example.com", proxy-url: "http://site-b.example.com:3128"}}
  - {name: proxied-too, cluster: {server: "https://api.example.com", proxy-url: "http://site-b.example.com:3128/"}}
  - {name: named, cluster: {server: "https://api.example.com", tls-server-name: b.teleport.example.com}}
  - {name: renamed, cluster: {server: "https://api.example.com", tls-server-name: API.example.com}}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "first, second, same",
    [
        ("", ", context: here", True),
        (", context: admin", "", True),
        (", context: alias", ", context: admin", True),
        (", context: other", "", False),
        (", context: unknown", ", context: here", False),
        (", context: proxied", "", False),
        (", context: named", "", False),
        (", context: renamed", "", True),
        (", context: proxied", ", context: proxied-too", True),
    ],
)
def test_contexts_of_one_api_server_are_one_scheduler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, second: str, same: bool
) -> None:
    (tmp_path / "config").write_text(KUBECONFIG)
    (tmp_path / "empty").write_text("")
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/empty:{tmp_path}/config:{tmp_path}/missing")
    example = next(path for path in EXAMPLES if path.parent.name == "08-kubernetes").read_text()
    lines = []
    for name, connect in (("a", first), ("b", second)):
        (tmp_path / f"{name}.yaml").write_text(re.sub(r"(?m)^name: .*", f"name: {name}", example))
        lines.append(f"  - {{spec: {name}.yaml, connect: {{engine: kubernetes{connect}}}}}\n")
    (tmp_path / "fleet.yaml").write_text("name: f\nclusters:\n" + "".join(lines))
    if not same:
        assert len(load_fleet_state(tmp_path / "fleet.yaml").clusters) == 2
        return
    with pytest.raises(
        SpecError, match=r"fleet.yaml:4: clusters\[1\].connect: .* is the same scheduler .*, at line 3"
    ) as raised:
        load_fleet_state(tmp_path / "fleet.yaml")
    assert "compared by the server, proxy-url and tls-server-name" in raised.value.findings[0].hint


@pytest.mark.parametrize(
    "error, reason, fix",
    [
        (EngineError("ctl is not reached"), ": ctl is not reached", "later: wait, or omit place.clusters"),
        (
            EngineConfigurationError("no token for ctl; get one"),
            ": no token for ctl; get one",
            "waiting does not help, or omit",
        ),
        (KeyError("nodes"), ": its engine failed with KeyError: 'nodes'; please report it", "waiting does not help"),
    ],
)
def test_a_cluster_that_is_down_is_reported_and_the_others_are_used(
    files: Path, error: Exception, reason: str, fix: str
) -> None:
    def open_engine(connection: object) -> object:
        class Down:
            def list_nodes(self) -> Sequence[NodeState]:
                raise error

        return Down()

    there = load_fleet_state(files / "fleet.yaml", open_engine)
    asked = {"name": "j", "command": ["true"], "accelerators": {"count": 8}, "place": {"clusters": ["a"]}}
    answers = why_not(JobSpec.model_validate(asked), there, CATALOG)
    refusal = answers["a/train"]
    assert isinstance(refusal, Refusal)
    assert refusal.reason == f"it cannot be queried now{reason}"
    assert fix in refusal.suggestion and not refusal.change
