"""Servers of a store are on the network that clients come over, and pools that are not are not its clients."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml
from plan.test_resolve import plan_spec

from supercloud.catalog import Catalog, Machine
from supercloud.errors import Finding
from supercloud.jobs.placement.answer import Refusal
from supercloud.jobs.placement.place import why_not
from supercloud.jobs.placement.steps.mounts import list_used_storage
from supercloud.plan.build.kubernetes.labels import build_pool_labels
from supercloud.plan.build.storage.clients import list_routed_pools
from supercloud.plan.checks import pool_networks, storage_networks
from supercloud.plan.checks.rebuild import replan
from supercloud.plan.checks.storage_networks import storage_disconnected, storage_in_band
from supercloud.plan.model.plan import Plan
from supercloud.spec import ClusterSpec, JobSpec
from supercloud.targets import render

COMPUTE = {"name": "compute", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm9700"}
STORAGE = {"name": "storage", "kind": "infiniband", "shape": "fat-tree", "switch": "nvidia-qm9700"}
EXTERNAL = {"external_links": 2}
IN_BAND = {"name": "in-band", "kind": "ethernet", "shape": "fat-tree", "switch": "nvidia-sn4600c"} | EXTERNAL
MANAGEMENT = {
    "name": "management",
    "kind": "ethernet",
    "shape": "fat-tree",
    "switch": "nvidia-sn2201",
    "upstream": {"fabric": "in-band", "links": 2},
}
NODES = {"name": "a", "machine": "dgx-b200", "nodes": 12, "fabrics": ["compute", "storage", "in-band"]}
LOGIN = {"name": "c", "machine": "cpu-6740e", "nodes": 4, "fabrics": ["in-band"]}
BLUE = {"tenant": "blue", "hosts": "a-[0001-0012]"}


def build_store(kind: str = "lustre", machine: str = "management-server", **changes: Any) -> dict[str, Any]:
    return {
        "name": "scratch",
        "kind": kind,
        "capacity": "20 TiB",
        "mount": "/scratch",
        "fabric": "storage",
        "servers": {"machine": machine, "count": 8},
    } | changes


def build_site(*stores: Any, fabrics: Any = (COMPUTE, STORAGE, IN_BAND), pools: Any = (NODES,), **more: Any) -> Plan:
    return plan_spec(pools=list(pools), fabrics=list(fabrics), storage=list(stores), **more)


def list_findings(plan: Plan, check: str) -> list[Finding]:
    return [item for item in plan.findings if item.check == check]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["lustre", "nfs"])
def test_servers_on_another_network_than_their_clients_are_an_error(kind: str) -> None:
    """A port on the in-band network is none on the fabric of the store. What is advised has no such error."""
    wrong = build_store(kind, "cpu-6740e")
    (found,) = list_findings(build_site(wrong), "storage-disconnected")
    assert (found.level, found.path) == ("error", "storage[0].fabric")
    assert "has no port for storage (it has in-band: 2 × 200 Gb/s ethernet)" in found.problem
    assert found.hint == "set storage[0].fabric: in-band, or use management-server"
    for fixed in (wrong | {"fabric": "in-band"}, build_store(kind)):
        plan = build_site(fixed)
        assert not list_findings(plan, "storage-disconnected") and not plan.errors
    alone = build_site(wrong, fabrics=(COMPUTE, STORAGE), pools=[NODES | {"fabrics": ["compute", "storage"]}])
    assert [item.hint for item in list_findings(alone, "storage-disconnected")] == ["use management-server"]


@pytest.mark.slow
def test_servers_without_a_port_for_the_in_band_network_are_an_error() -> None:
    """No fabric is named, so that clients come over the in-band network; machines with unknown ports are warned of."""
    facts = Catalog.load_default()
    plan = build_site(build_store(fabric=None))
    ports = facts.get(Machine, "dgx-b200").adapters[:1]
    for adapters, level in ((ports, "error"), ((), "")):
        machine = facts.get(Machine, "management-server").model_copy(update={"adapters": adapters})
        server = replace(plan.storage[0].servers[0], machine=machine, name="other")
        changed = replace(plan, storage=(replace(plan.storage[0], servers=(server,)),))
        assert [item.level for item in storage_disconnected(changed, facts)] == [level] * bool(level)
        assert list(storage_in_band(changed, facts))


@pytest.mark.parametrize("fabrics", [["compute", "in-band", "management"], ["compute", "in-band"]])
def test_storage_on_the_management_network_is_an_error(fabrics: list[str]) -> None:
    """The management network joins management ports, and serves no file systems, whether a pool is on it or not."""
    plan = build_site(
        build_store(fabric="management"), fabrics=(COMPUTE, IN_BAND, MANAGEMENT), pools=[NODES | {"fabrics": fabrics}]
    )
    (found,) = list_findings(plan, "storage-disconnected")
    assert "connects management ports only" in found.problem and found.hint == "set storage[0].fabric: in-band"


def test_storage_on_a_fabric_without_pools_is_an_error() -> None:
    (found,) = list_findings(
        build_site(build_store(), pools=[NODES | {"fabrics": ["compute", "in-band"]}]), "storage-disconnected"
    )
    assert found.level == "error" and found.problem.startswith("no pool is on storage, so it has no switches")
    assert found.hint == "set storage[0].fabric: in-band, or add storage to 'fabrics' of the pools that are its clients"


@pytest.mark.slow
def test_a_partitioned_fabric_without_servers_is_reported_with_what_is_missing() -> None:
    divided = (COMPUTE, STORAGE | {"partitions": [BLUE]}, IN_BAND)
    hints = {}
    for name, item in (
        ("ports", build_store(machine="cpu-6740e")),
        ("machines", build_store(servers=None)),
        ("name", build_store(fabric=None)),
    ):
        (found,) = (
            one
            for one in list_findings(build_site(item, fabrics=divided), "subnet-reach")
            if "no server" in one.problem
        )
        hints[name] = found.hint
    assert "see storage-disconnected" in hints["ports"]
    assert hints["machines"].startswith("set storage[0].servers")
    assert hints["name"].startswith("set the fabric in storage[].fabric")


def build_mixed_site(*stores: dict[str, Any], **changes: Any) -> Plan:
    return build_site(*stores, pools=[NODES, LOGIN], **changes)


@pytest.mark.slow
def test_a_pool_that_does_not_reach_storage_causes_a_warning() -> None:
    kinds = ("lustre", "weka", "storage-scale", "nfs")
    plan = build_mixed_site(*(build_store(kind, name=kind, mount=f"/{kind}", servers=None) for kind in kinds))
    found = list_findings(plan, "storage-clients")
    assert [(item.level, item.path) for item in found] == [("warning", "pools[1].fabrics")] * len(kinds)
    assert "4 nodes of c are not on storage" in found[0].problem and "not mounted at /lustre" in found[0].problem
    assert found[0].hint.startswith("set storage[0].fabric: in-band, or suppress this")
    fixed = build_mixed_site(build_store(fabric="in-band"))
    assert not list_findings(fixed, "storage-clients") and not fixed.errors


@pytest.mark.slow
def test_a_pool_gets_a_suggestion_with_which_it_reaches_the_storage() -> None:
    """Another network that only others are on lets the store have more clients, and this pool none."""
    own = {"name": "own", "kind": "infiniband", "shape": "fat-tree", "switch": "nvidia-qm9700", "role": "storage"}
    more = NODES | {"name": "b", "nodes": 4, "fabrics": ["compute", "in-band", "storage", "own"]}
    plan = build_site(build_store(fabric="own"), fabrics=(COMPUTE, STORAGE, own, IN_BAND), pools=[NODES, more, LOGIN])
    hints = {item.path: item.hint for item in list_findings(plan, "storage-clients")}
    assert "set storage[0].fabric: storage" in hints["pools[0].fabrics"]
    assert hints["pools[2].fabrics"].startswith("set storage[0].fabric: in-band, or suppress")


SECOND = STORAGE | {"name": "second", "role": "storage"}


@pytest.mark.slow
def test_suggestions_take_no_storage_from_a_pool() -> None:
    """Two small pools would gain by another network, and the large one would lose the store."""
    small = [NODES | {"name": name, "nodes": 2, "fabrics": ["compute", "second", "in-band"]} for name in "bc"]
    first = STORAGE | {"role": "storage"}
    plan = build_site(build_store(), fabrics=(COMPUTE, first, SECOND, IN_BAND), pools=[NODES, *small])
    hints = [item.hint for item in list_findings(plan, "storage-clients")]
    assert len(hints) == 2 and all("set storage[0].fabric: in-band" in hint and "second" not in hint for hint in hints)
    # servers that need another network get one that disconnects no pool: all pools are on in-band
    wrong = build_store(machine="cpu-6740e")
    (found,) = list_findings(
        build_site(wrong, fabrics=(COMPUTE, first, SECOND, IN_BAND), pools=[NODES, *small]), "storage-disconnected"
    )
    assert found.hint.startswith("set storage[0].fabric: in-band")


@pytest.mark.slow
def test_suggestions_for_a_storage_are_independent_of_others() -> None:
    """One of two stores on a network has servers without a port there: it is not reached with that network either."""
    near = build_store(name="near", mount="/near")
    far = build_store(machine="cpu-6740e", name="far", mount="/far")
    apart = NODES | {"name": "b", "nodes": 4, "fabrics": ["compute", "in-band"]}
    hints = []
    for stores in ((near, far), (far, near)):
        found = list_findings(build_site(*stores, pools=[NODES, apart]), "storage-clients")
        hints.append({item["name"]: "add storage" in one.hint for item, one in zip(stores, found, strict=True)})
    assert hints == [{"near": True, "far": False}] * 2


@pytest.mark.slow
def test_a_pool_keeps_its_suggestion_if_another_pool_does_not_fit() -> None:
    """12 nodes and 8 servers take 20 ports or more of the only switch: 4 nodes fit beside them, 100 do not."""
    full = STORAGE | {"tiers": 1}
    small, large = (
        NODES | {"name": name, "nodes": nodes, "fabrics": ["compute", "in-band"]}
        for name, nodes in (("b", 4), ("c", 100))
    )
    plan = build_site(build_store(), fabrics=(COMPUTE, full, IN_BAND), pools=[NODES, large, small])
    hints = {item.path: item.hint for item in list_findings(plan, "storage-clients")}
    assert hints["pools[2].fabrics"].startswith("add storage to pools[2].fabrics")
    assert "add storage" not in hints["pools[1].fabrics"]
    fixed = small | {"fabrics": ["compute", "storage", "in-band"]}
    assert not build_site(build_store(), fabrics=(COMPUTE, full, IN_BAND), pools=[NODES, large, fixed]).errors


@pytest.mark.slow
def test_suggestions_for_pools_of_two_machines_work_together() -> None:
    """The only switch has ports for 4 more nodes of one machine or for 6 of another, not for both."""
    full = STORAGE | {"tiers": 1, "manager": {"links": 2}}
    nodes, *others = (
        {"name": name, "machine": machine, "nodes": count, "fabrics": ["compute"]}
        for name, machine, count in (("a", "dgx-h100", 20), ("b", "dgx-h100", 4), ("d", "dgx-h200", 6))
    )
    joined = [item | {"fabrics": ["compute", "storage"]} for item in (nodes, *others)]
    for known in (others, [others[0]], [others[1]]):
        found = list_findings(
            build_site(build_store(), fabrics=(COMPUTE, full), pools=[joined[0], *known]), "storage-clients"
        )
        assert ["add storage" in item.hint for item in found] == [True, False][: len(known)]
    assert build_site(build_store(), fabrics=(COMPUTE, full), pools=joined).errors


@pytest.mark.slow
def test_pools_that_lack_the_same_network_are_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def count(plan: Plan, catalog: Catalog, spec: ClusterSpec) -> tuple[Plan, list[Finding]]:
        made.append(1)
        return replan(plan, catalog, spec)

    for module in (storage_networks, pool_networks):
        monkeypatch.setattr(module, "replan", count)
    pools = [{"name": f"b{number}", "machine": "dgx-b200", "nodes": 4, "fabrics": ["compute"]} for number in range(9)]
    plan = build_site(build_store(), pools=[NODES, *pools])
    assert len(list_findings(plan, "storage-clients")) == len(list_findings(plan, "pool-in-band")) == 9
    assert len(made) <= 3  # storage for all, the store on in-band (which they are not on either), in-band for all
    fixed = [item | {"fabrics": ["compute", "storage", "in-band"]} for item in pools]
    assert not build_site(build_store(), pools=[NODES, *fixed]).errors


def test_suggestions_that_cannot_help_are_not_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan of a large hall takes a while: what is not reached is known from the declaration."""
    made: list[int] = []

    def count(plan: Plan, catalog: Catalog, spec: ClusterSpec) -> tuple[Plan, list[Finding]]:
        made.append(1)
        return replan(plan, catalog, spec)

    monkeypatch.setattr(storage_networks, "replan", count)
    found = list_findings(build_mixed_site(build_store()), "storage-clients")
    assert len(found) == 1 and len(made) == 1  # of in-band; c is not on compute either


NO_WAY = "no network of the plan connects them to the servers"
ETHERNET = {"name": "storage", "kind": "ethernet", "shape": "fat-tree", "switch": "nvidia-sn4600c"}


@pytest.mark.parametrize(
    "kind, fabric, change, unreached",
    [
        ("nfs", ETHERNET, {}, "nor on a network connected to it"),
        ("nfs", ETHERNET, {"upstream": {"fabric": "in-band", "links": 2}}, ""),
        ("nfs", ETHERNET, EXTERNAL, ""),  # over the routers of the building
        ("lustre", ETHERNET, EXTERNAL, ""),
        ("nfs", ETHERNET, {"kind": "roce", "external_links": 2}, ""),
        (
            "lustre",
            ETHERNET,
            {"kind": "roce", "external_links": 2},
            "clients of lustre over RoCE name RDMA interfaces of storage",
        ),
        ("storage-scale", ETHERNET, EXTERNAL, "storage-scale identifies its clients by their names on storage"),
    ],
)
def test_ethernet_storage_is_reached_over_cables_and_routers(
    kind: str, fabric: dict[str, Any], change: dict[str, Any], unreached: str
) -> None:
    plan = build_mixed_site(build_store(kind), fabrics=(COMPUTE, fabric | change, IN_BAND))
    assert [pool.name for pool in list_routed_pools(plan, 0)] == ["c"] * (not unreached)
    assert [unreached in item.problem for item in list_findings(plan, "storage-clients")] == [True] * bool(unreached)
    if unreached:  # the page gives the same reason
        page = render(plan, "storage").files["INSTALL.md"].text
        assert f"Not `c-[0001-0004]`: {NO_WAY if unreached.startswith('nor') else unreached}" in page


@pytest.mark.slow
def test_pools_that_do_not_reach_a_storage_are_excluded_from_rendered_files() -> None:
    plan = build_mixed_site(build_store(), build_store("nfs", name="home", mount="/home", fabric="in-band"))
    slurm = render(plan, "slurm").files["INSTALL.md"].text
    assert "- /scratch is mounted on a-[0001-0012], and on login hosts that have a port on storage too: " in slurm
    assert "- /home is mounted on nodes and login hosts: `health-check.sh` drains a node without it." in slurm
    page = render(plan, "storage").files["INSTALL.md"].text
    assert "Not `c-[0001-0004]`: no network of the plan connects them to the servers" in page
    assert "Clients: `a-[0001-0012]`, `c-[0001-0004]`." in page and "Clients: `a-[0001-0012]`." in page


KUBERNETES = {"kind": "kubernetes", "version": "1.34"}


def render_volumes(plan: Plan, kind: str = "PersistentVolume") -> list[Any]:
    made = yaml.safe_load_all(render(plan, "kubernetes").files["storage/volumes.yaml"].text)
    return [item for item in made if item["kind"] == kind]


@pytest.mark.slow
def test_pods_with_a_volume_stay_off_nodes_that_do_not_mount_it() -> None:
    plan = build_mixed_site(build_store(), build_store("object", name="bucket", mount=None), scheduler=KUBERNETES)
    (volume,) = render_volumes(plan)
    (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "mounts.supercloud.dev/scratch", "operator": "In", "values": ["true"]}]
    given = {pool.name: build_pool_labels(plan, pool) for pool in plan.pools}
    mounts = {
        name: {key: value for key, value in labels.items() if key.startswith("mounts.")}
        for name, labels in given.items()
    }
    # one that does not mount it has a value too: the job that labels nodes removes no label
    assert mounts == {"a": {"mounts.supercloud.dev/scratch": "true"}, "c": {"mounts.supercloud.dev/scratch": "false"}}


@pytest.mark.slow
def test_volumes_do_not_change_when_other_pools_reach_their_storage() -> None:
    """The API server refuses a change of nodeAffinity in a PersistentVolume."""
    more = NODES | {"name": "b", "nodes": 4}
    plans = [
        build_mixed_site(build_store(), scheduler=KUBERNETES),
        build_site(build_store(), pools=[NODES, LOGIN, more], scheduler=KUBERNETES),
        build_site(build_store(), scheduler=KUBERNETES),
        build_mixed_site(build_store(fabric="in-band"), scheduler=KUBERNETES),
    ]
    assert all(render_volumes(plan) == render_volumes(plans[0]) for plan in plans)


@pytest.mark.slow
def test_drivers_of_dynamic_volumes_run_where_their_storage_is_mounted() -> None:
    """They report no topology that names the store, so the pods that use such volumes have to ask for its nodes."""
    stores = [build_store("weka", name="fast", mount="/fast"), build_store("storage-scale", name="deep", mount="/deep")]
    files = render(build_mixed_site(*stores, scheduler=KUBERNETES), "kubernetes").files
    values = yaml.safe_load(files["charts/csi-wekafs.yaml"].text)
    assert values["nodeSelector"] == {"mounts.supercloud.dev/fast": "true"}
    assert {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"} in values["nodePluginTolerations"]
    script = files["install.sh"].text  # which waits for the driver's pods
    assert 0 < script.index("-k nodes\n") < script.index("csi-wekafs")
    page = files["INSTALL.md"].text
    assert all(f'with the label `mounts.supercloud.dev/{name}: "true"`' in page for name in ("fast", "deep"))
    everywhere = render(build_site(*stores, scheduler=KUBERNETES), "kubernetes").files
    assert yaml.safe_load(everywhere["charts/csi-wekafs.yaml"].text)["nodeSelector"] == {}
    assert "Not all nodes mount" not in everywhere["INSTALL.md"].text


@pytest.mark.slow
def test_weka_file_systems_that_no_node_mounts_both_of_are_an_error() -> None:
    """One driver serves all of them, so that its pods would find no node, and install.sh would wait in vain."""
    own = NODES | {"name": "b", "nodes": 4, "fabrics": ["compute", "second", "in-band"]}
    stores = (build_store("weka"), build_store("weka", name="other", mount="/other", fabric="second"))
    fabrics = (COMPUTE, STORAGE, SECOND, IN_BAND)
    plan = build_site(*stores, fabrics=fabrics, pools=[NODES, own], scheduler=KUBERNETES)
    (found,) = list_findings(plan, "kubernetes-weka-driver")
    assert found.level == "error" and "no pool mounts scratch and other" in found.problem
    assert found.hint == "set one network in 'fabric' of storage[0] and storage[1]"
    together = tuple(item | {"fabric": "storage"} for item in stores)
    assert not build_site(*together, fabrics=fabrics, pools=[NODES, own], scheduler=KUBERNETES).errors
    both = own | {"fabrics": [*own["fabrics"], "storage"]}
    for pools, used in (([NODES, both], stores), ([NODES, own], stores[:1])):
        assert not list_findings(
            build_site(*used, fabrics=fabrics, pools=pools, scheduler=KUBERNETES), "kubernetes-weka-driver"
        )


def test_claims_of_a_storage_can_grow_with_it() -> None:
    """Of a class that allows no expansion, the API server refuses a claim that asks for more."""
    plan = build_mixed_site(build_store(), scheduler=KUBERNETES)
    assert [item["allowVolumeExpansion"] for item in render_volumes(plan, "StorageClass")] == [True]


@pytest.mark.parametrize(
    "scheduler", [{"kind": "slurm", "version": "25.11"}, {"kind": "kubernetes", "version": "1.34"}]
)
@pytest.mark.parametrize(
    "uses",
    [
        {"workdir": "/scratch/run"},
        {"place": {"data": ["scratch"]}},
        {"checkpoint": {"path": "/scratch/saved"}},
        {"image": "//home/../scratch/x.sif"},
        {"image": "docker-archive:///scratch/x.tar"},
        {"image": "../scratch/x.sqsh", "workdir": "/home"},
    ],
)
def test_jobs_are_not_placed_where_their_files_are_not_mounted(scheduler: dict[str, Any], uses: dict[str, Any]) -> None:
    job = {"name": "job", "command": ["true"], "nodes": 2}
    refused = why_not(
        JobSpec.model_validate(job | uses), build_mixed_site(build_store(), scheduler=scheduler), Catalog.load_default()
    )["c"]
    assert isinstance(refused, Refusal) and "scratch is not mounted at /scratch in c" in refused.reason


@pytest.mark.parametrize(
    "image", ["scratch/x:1", "docker://scratch/x", "nvcr.io/scratch/x:1", "/scratch2/x.sif", "./scratch/x.sif"]
)
def test_jobs_whose_image_is_elsewhere_are_placed_anywhere(image: str) -> None:
    job = JobSpec.model_validate({"name": "job", "command": ["true"], "nodes": 2, "image": image})
    assert not list_used_storage(job, build_mixed_site(build_store()))
