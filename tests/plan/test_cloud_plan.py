"""What a cloud site is decided to be: groups, interfaces, hosts, storage, cost, and how the plan is published."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from plan.clouds import (
    BLOCK,
    FABRICS,
    KUBERNETES,
    RESERVED,
    build_cloud,
    build_lustre,
    build_plan,
    build_pool,
    build_slurm,
)
from samples import EXAMPLES, ROOT

from supercloud.plan.build.kubernetes.quota import compute_node_resources
from supercloud.plan.publish.document import build_document
from supercloud.plan.publish.summary import build_rows
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load
from supercloud.targets import list_targets, render

AWS_EXAMPLES = [path for path in EXAMPLES if "aws" in path.parent.name]


@pytest.mark.parametrize(
    "machine, interfaces, fast, addresses",
    [
        ("p4d.24xlarge", 5, 4, 1),
        ("p5.48xlarge", 33, 32, 1),
        ("p5.4xlarge", 1, 1, 1),
        ("p5en.48xlarge", 17, 16, 1),
        ("p6-b200.48xlarge", 9, 8, 1),
        ("p6-b300.48xlarge", 17, 16, 1),
        ("trn1.32xlarge", 9, 8, 1),
        ("trn2.48xlarge", 17, 16, 1),
        ("g6e.48xlarge", 5, 4, 1),
        ("g5.48xlarge", 1, 1, 1),
    ],
)
def test_every_network_card_is_used(machine: str, interfaces: int, fast: int, addresses: int) -> None:
    (group,) = build_cloud(pools=[build_pool(machine=machine)]).groups
    assert len(group.interfaces) == interfaces
    assert sum(item.kind.startswith("efa") for item in group.interfaces) == fast
    assert sum(item.has_address for item in group.interfaces) == addresses
    assert group.interfaces[0].card == group.interfaces[0].device == 0 and group.interfaces[0].has_address


def test_a_gb200_instance_has_four_efa_only_cards() -> None:
    (group,) = build_cloud(pools=[build_pool(machine="p6e-gb200.36xlarge", nodes=18, capacity=[BLOCK])]).groups
    assert [item.card for item in group.interfaces if item.kind == "efa-only"] == [1, 5, 9, 13]
    assert group.interfaces[0].kind == "interface"


def test_without_a_fabric_there_is_one_interface() -> None:
    (group,) = build_cloud(pools=[build_pool(fabrics=[])], fabrics=[]).groups
    assert [(item.card, item.kind, item.has_address) for item in group.interfaces] == [(0, "interface", True)]


@pytest.mark.slow
def test_kinds_of_capacity_are_tried_in_order_with_stable_keys() -> None:
    ways = [
        RESERVED,
        {"kind": "reservation-group", "id": "arn:aws:resource-groups:us-east-1:123456789012:group/g"},
        BLOCK | {"id": "cr-1123456789abcdef0"},
        {"kind": "spot"},
        {"kind": "on-demand"},
    ]
    groups = build_cloud(pools=[build_pool(capacity=ways)]).groups
    assert [(group.key, group.rank, group.initial_nodes, group.has_placement_group) for group in groups] == [
        ("train-reserved", 0, 4, False),
        ("train-reserved-group", 1, 0, False),
        ("train-block", 2, 0, False),
        ("train-spot", 3, 0, True),
        ("train-on-demand", 4, 0, True),
    ]
    (alone,) = build_cloud(pools=[build_pool(capacity=[RESERVED])]).groups
    assert alone.key == "train-reserved"
    twice = build_cloud(pools=[build_pool(capacity=[RESERVED, RESERVED | {"id": "cr-2123456789abcdef0"}])]).groups
    assert [group.key for group in twice] == ["train-reserved", "train-reserved-2"]


@pytest.mark.slow
def test_a_reservation_has_a_placement_group_only_if_requested() -> None:
    assert build_cloud(pools=[build_pool(capacity=[RESERVED], placement="cluster")]).groups[0].has_placement_group
    assert not build_cloud(pools=[build_pool(capacity=[RESERVED])]).groups[0].has_placement_group
    assert not build_cloud(pools=[build_pool(placement="none")]).groups[0].has_placement_group


def test_a_fabric_stays_in_one_zone() -> None:
    site = {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a", "us-east-1b"]}
    pools = [
        build_pool(capacity=[RESERVED | {"zone": "us-east-1b"}, {"kind": "on-demand"}]),
        {"name": "cpu", "machine": "m6i.large", "nodes": 2},
    ]
    found = build_cloud(site=site, pools=pools)
    assert [group.zones for group in found.groups] == [("us-east-1b",), ("us-east-1b",), ("us-east-1a", "us-east-1b")]
    assert all(found.network.get_subnet(key).zone in group.zones for group in found.groups for key in group.subnets)


@pytest.mark.parametrize("nodes, wanted, domain", [(18, None, 18), (27, None, 9), (18, 9, 9), (36, 18, 18)])
def test_ultraservers_are_groups_of_whole_domains(nodes: int, wanted: int | None, domain: int) -> None:
    gb200 = build_pool(machine="p6e-gb200.36xlarge", nodes=nodes, capacity=[BLOCK]) | (
        {"domain": wanted} if wanted else {}
    )
    plan = build_plan(pools=[gb200])
    assert plan.errors == () and plan.cloud is not None
    assert plan.cloud.groups[0].domain_nodes == plan.pools[0].machine.domain_nodes == domain
    (blocks,) = [item for item in plan.localities if item.kind == "block"]
    assert len(blocks.levels[0].groups) == nodes // domain
    assert plan.pools[0].has_imex


def test_trainium_nodes_have_the_neuron_image() -> None:
    found = build_cloud(site={"kind": "aws", "region": "us-east-2"}, pools=[build_pool(machine="trn2.48xlarge")])
    assert found.groups[0].image == "slurm-neuron-x86" and "neuron" in found.images["slurm-neuron-x86"]
    ultra = build_cloud(pools=[build_pool(machine="trn2u.48xlarge", nodes=16, capacity=[BLOCK])])
    assert ultra.groups[0].domain_nodes == 4


def test_slurm_has_a_controller_with_state_and_logins() -> None:
    found = build_cloud(scheduler=build_slurm(login={"count": 2, "public": True}, database={"name": "db1"}))
    assert [(host.key, host.role, host.count, host.hosts, host.is_public) for host in found.hosts] == [
        ("ctl1", "controller", 1, ("ctl1",), False),
        ("db1", "database", 1, ("db1",), False),
        ("login", "login", 2, ("login1", "login2"), True),
    ]
    assert found.hosts[0].state_disk is not None and found.hosts[2].state_disk is None
    assert found.network.get_subnet(found.hosts[2].subnets[0]).is_public
    assert found.database is None


def test_hosts_are_reachable_by_name() -> None:
    plan = build_plan()
    assert [(host.name, host.address) for host in plan.scheduler.controllers] == [("ctl1", "ctl1.c.internal")]


def test_a_managed_database_has_no_host() -> None:
    found = build_cloud(scheduler=build_slurm(managed_database=True))
    assert found.database is not None and found.database.product == "rds"
    zones = {found.network.get_subnet(key).zone for key in found.database.subnets}
    assert len(zones) == 2 and found.zones[0] in zones


def test_many_nodes_get_a_larger_controller() -> None:
    small, large = (build_cloud(pools=[build_pool(nodes=nodes)]).hosts[0].machine.memory for nodes in (4, 1000))
    assert small is not None and large is not None and small < large


def test_arm_nodes_get_arm_hosts() -> None:
    found = build_cloud(pools=[build_pool(machine="p6e-gb200.36xlarge", nodes=18, capacity=[BLOCK])])
    assert {host.machine.instance.arch for host in found.hosts if host.machine.instance} == {"aarch64"}
    assert {host.image for host in found.hosts} == {"slurm-cpu-arm"}


def test_kubernetes_has_a_system_group_and_no_controller() -> None:
    found = build_cloud(scheduler=KUBERNETES)
    assert [(host.key, host.role, host.count) for host in found.hosts] == [("system", "system", 2)]
    assert len({item.zone for item in found.network.subnets if item.purpose == "control"}) == 2
    assert "/1.35/" in found.images["kubernetes-nvidia-x86"]


def test_images_can_be_declared() -> None:
    site: dict[str, Any] = {
        "kind": "aws",
        "region": "us-east-1",
        "zones": ["us-east-1a"],
        "images": {"slurm-nvidia-x86": "ami-1"},
    }
    assert build_cloud(site=site).images["slurm-nvidia-x86"] == "ami-1"
    site["images"] = {"slurm-nvidia-x86": {"id": "ami-2", "root": "/dev/nvme0n1", "user": "admin"}}
    found = build_cloud(site=site)
    assert found.images["slurm-nvidia-x86"] == "ami-2"
    assert (found.root_devices["slurm-nvidia-x86"], found.image_users) == (
        "/dev/nvme0n1",
        {"slurm-nvidia-x86": "admin"},
    )


@pytest.mark.parametrize(
    "changes, gib, per_tib, efa",
    [
        ({}, 19200, 250, True),
        ({"capacity": "18000 GiB"}, 19200, 250, True),
        ({"capacity": "12 TiB"}, 14400, 250, False),
        ({"capacity": "1 TiB"}, 1200, 250, False),
        ({"options": {"efa": False}}, 19200, 250, False),
    ],
)
def test_lustre_is_bought_in_steps(changes: dict[str, Any], gib: int, per_tib: int, efa: bool) -> None:
    (item,) = build_cloud(storage=[build_lustre(**changes)]).storage
    assert item.capacity is not None and item.per_tib is not None and item.throughput is not None
    assert (item.capacity.to("GiB"), item.per_tib.to("MB/s"), item.options["efa"]) == (gib, per_tib, efa)
    assert item.throughput.to("MB/s") == pytest.approx(per_tib * gib / 1024)


@pytest.mark.parametrize(
    "read, gib, per_tib", [("2 GB/s", 19200, 125), ("9 GB/s", 19200, 500), ("60 GB/s", 62400, 1000)]
)
def test_lustre_is_sized_by_throughput(read: str, gib: int, per_tib: int) -> None:
    storage = {"name": "s", "kind": "lustre", "capacity": "19200 GiB", "throughput": {"read": read}, "mount": "/fsx"}
    (item,) = build_cloud(storage=[storage]).storage
    assert item.capacity is not None and item.per_tib is not None
    assert (item.capacity.to("GiB"), item.per_tib.to("MB/s")) == (gib, per_tib)


def test_no_efa_to_lustre_without_a_fabric() -> None:
    (item,) = build_cloud(storage=[build_lustre()], pools=[build_pool(fabrics=[])], fabrics=[]).storage
    assert "efa" not in item.options


@pytest.mark.slow
def test_weka_runs_on_planned_servers() -> None:
    weka = {"name": "fast", "kind": "weka", "capacity": "500 TB", "mount": "/weka"}
    found = build_cloud(storage=[weka])
    (item,) = found.storage
    (servers,) = found.list_hosts("storage")
    assert (item.kind, servers.storage, servers.machine.name) == ("servers", "fast", "i3en.24xlarge")
    assert servers.count >= 6 and len(servers.hosts) == servers.count
    raw = servers.count * 8 * 7.5
    assert raw > 500
    fixed = build_cloud(storage=[weka | {"servers": {"machine": "i4i.32xlarge", "count": 10}}]).list_hosts("storage")[0]
    assert (fixed.machine.name, fixed.count) == ("i4i.32xlarge", 10)


def test_cost_counts_each_pool_once_and_lists_unknown_prices() -> None:
    found = build_cloud(
        pools=[build_pool(nodes=10, capacity=[RESERVED, {"kind": "on-demand"}])], storage=[build_lustre()]
    )
    line = next(item for item in found.cost.lines if item.item == "train-reserved")
    assert line.unit_price is not None and line.total_price is not None
    assert (line.unit_price.to("USD"), line.total_price.to("USD")) == (55.04, 550.4)
    assert "2026-07-20" in line.source
    assert "train-on-demand" not in {item.item for item in found.cost.lines}
    assert "scratch (fsx-lustre)" in found.cost.unpriced_items
    block = build_cloud(pools=[build_pool(capacity=[BLOCK])])
    assert "train-block" in block.cost.unpriced_items


def test_the_price_of_a_node_is_the_highest_of_its_sources() -> None:
    """Jobs are placed with it: it is unknown from which source a node will come."""

    def find(*capacity: dict[str, Any], machine: str = "p5.48xlarge") -> float | None:
        pool = build_pool(capacity=list(capacity)) | {"machine": machine}
        price = build_cloud(pools=[pool]).cost.node_prices.get("train")
        return None if price is None else price.to("USD")

    assert find(RESERVED, {"kind": "on-demand"}) == 55.04
    assert find(BLOCK) is None and find(BLOCK, {"kind": "on-demand"}) is None, "a source without a price"
    assert find({"kind": "spot"}) is None
    assert find({"kind": "spot"}, {"kind": "on-demand"}) == 55.04, "spot instances cost at most that"


def test_items_without_a_price_are_listed() -> None:
    found = build_cloud(site={"kind": "aws", "region": "sa-east-1"})
    assert "train-on-demand" in found.cost.unpriced_items


def test_the_published_document_has_the_cloud() -> None:
    plan = build_plan(
        pools=[build_pool(nodes=10, capacity=[RESERVED])], budget="1000000 USD", tags={"b": "2", "a": "1"}
    )
    published = build_document(plan).cloud
    assert published is not None
    assert published.cost.known_usd_h >= 550.4
    assert published.cost.known_usd_month == pytest.approx(published.cost.known_usd_h * 730, rel=1e-5)
    assert published.monthly_budget_usd == 1_000_000
    assert published.groups[0].interfaces == {"interface": 1, "efa-only": 32}
    assert list(published.tags) == ["a", "b"]
    # 80 accelerators of 700 W on a grid of 323.05 g/kWh
    assert published.accelerator_carbon_kg_h == pytest.approx(80 * 0.7 * 323.05 / 1000, rel=1e-3)
    assert build_document(plan).site.carbon_g_per_kwh == pytest.approx(323.05)


def test_the_summary_shows_the_cloud() -> None:
    text = "\n".join(
        " ".join(row) for row in build_rows(build_plan(pools=[build_pool(capacity=[RESERVED, {"kind": "on-demand"}])]))
    )
    for word in (
        "cr-0123456789abcdef0",
        "then on-demand",
        "33 network interfaces (1 standard, 32 efa-only)",
        "placement group",
        "USD an hour",
        "no price",
    ):
        assert word in text


@pytest.mark.parametrize("path", AWS_EXAMPLES, ids=lambda path: path.parent.name)
def test_cloud_examples_plan_and_render(path: Any) -> None:
    plan = resolve(load(path))
    assert not [finding for finding in plan.findings if finding.level != "note"]
    if plan.scheduler.kind == "slurm":
        assert "slurm" in list_targets(plan)
        assert "slurm.conf" in render(plan, "slurm")


def test_a_large_pool_has_groups_not_nodes() -> None:
    plan = build_plan(
        pools=[build_pool(nodes=12_500, capacity=[RESERVED, {"kind": "on-demand"}])], storage=[build_lustre()]
    )
    assert plan.errors == () and plan.cloud is not None and len(plan.cloud.groups) == 2
    assert len(plan.cloud.network.cidrs) == 2  # one slot of a /16 holds 8187, so a range is added


@pytest.mark.slow
def test_a_plan_of_a_cloud_loads_no_cloud_sdk() -> None:
    code = (
        "import sys; from supercloud.spec.loader import load; from supercloud.plan.resolve import resolve; "
        f"resolve(load({str(ROOT / 'examples/09-aws-slurm/cluster.yaml')!r})); "
        "print(sorted(name for name in sys.modules if name.split('.')[0].startswith('pulumi')))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_the_cloud_model_names_no_provider() -> None:
    plan = ROOT / "supercloud" / "plan"
    paths = [*plan.glob("build/cloud/*.py"), *plan.glob("model/cloud.py"), *plan.glob("publish/cloud_*.py")]
    assert len(paths) > 10
    for path in paths:
        words = path.read_text().lower()
        for word in ("ec2", "fsx", "eks", "boto", "import pulumi"):
            assert word not in words, f"{path.name} says {word}"


def test_a_cloud_without_fabrics_is_valid() -> None:
    assert FABRICS and build_plan(pools=[build_pool(machine="g5.xlarge", fabrics=[])], fabrics=[]).errors == ()


@pytest.mark.parametrize("machine, vcpus", [("m6i.8xlarge", 32), ("p6e-gb200.36xlarge", 144), ("p5.48xlarge", 192)])
def test_queues_count_processors_of_every_instance(machine: str, vcpus: int) -> None:
    nodes = build_pool(machine=machine, nodes=18, fabrics=[], capacity=[BLOCK] if machine.startswith("p") else [])
    plan = build_plan(scheduler=KUBERNETES, pools=[nodes], fabrics=[])
    assert compute_node_resources(plan.get_pool("train"))["cpu"] == vcpus
    assert not [item for item in plan.findings if item.check == "kubernetes-node-size"]
