"""One node more in the first pool: everything else keeps its name, its address and its place, or ``diff`` reports
that it does not.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from supercloud.plan.build.kubernetes.networks import build_cluster_networks
from supercloud.plan.model.plan import Plan
from supercloud.plan.publish.diff import Change, diff_plans
from supercloud.plan.resolve import resolve
from supercloud.spec import ClusterSpec
from supercloud.targets import render

IB, ETHERNET, ROUTED = "nvidia-qm9700", "nvidia-sn4600c", "nvidia-sn5600"
COMPUTE = {"name": "compute", "kind": "infiniband", "shape": "rail-optimized", "switch": IB}
STORAGE = {"name": "storage", "kind": "infiniband", "shape": "fat-tree", "switch": IB}
ROCE = {"name": "compute", "kind": "roce", "shape": "rail-optimized", "switch": ROUTED, "os": "sonic"}
ROCE_STORAGE = {"name": "storage", "kind": "roce", "shape": "fat-tree", "switch": ROUTED, "os": "sonic"}
IN_BAND = {"name": "in-band", "kind": "ethernet", "shape": "fat-tree", "switch": ETHERNET}
MANAGEMENT = {"name": "management", "kind": "ethernet", "shape": "fat-tree", "switch": "nvidia-sn2201"}
MACHINES = {"name": "gateway", "links": 8, "count": 4}

# Fabrics, nodes of each pool, and what else the spec has.
SPECS: dict[str, tuple[list[dict[str, Any]], list[int], dict[str, Any]]] = {
    "storage": ([STORAGE], [4, 4], {}),
    "rails": ([COMPUTE | {"services": [MACHINES]}, STORAGE], [31, 9, 40], {}),
    "kubernetes": ([COMPUTE, STORAGE], [32, 31], {"scheduler": {"kind": "kubernetes", "version": "1.34"}}),
    "many-pools": ([STORAGE], [40, 3, 300, 7, 20], {}),
    "full-room": ([COMPUTE | {"subnet": "172.20.0.0/20"}], [250, 4], {}),
    "small-subnet": ([STORAGE | {"subnet": "172.20.0.0/23"}], [60, 40, 30], {}),
    "full-subnet": ([STORAGE | {"subnet": "172.20.0.0/23"}], [120, 100, 29], {}),
    "roce": ([ROCE], [4, 4], {}),
    "roce-leaves": ([ROCE, ROCE_STORAGE | {"services": [MACHINES]}], [64, 33], {}),
    "roce-planes": ([ROCE | {"planes": 2, "shape": "fat-tree"}], [63, 20], {}),
    "bridged": ([IN_BAND | {"services": [MACHINES]}, MANAGEMENT], [32, 8], {}),
}
# InfiniBand and bridged networks: the address is the node's own and does not follow its cable.
STABLE = ("storage", "rails", "kubernetes", "many-pools", "small-subnet", "bridged")


@cache
def build_plan(name: str, more: int = 0) -> Plan:
    fabrics, nodes, others = SPECS[name]
    joined = [item["name"] for item in fabrics]
    pools = [
        {
            "name": "abcdef"[number],
            "machine": "dgx-h100",
            "nodes": count + (more if number == 0 else 0),
            "fabrics": joined,
        }
        for number, count in enumerate(nodes)
    ]
    spec = {
        "name": "grows",
        "site": {"kind": "onprem", "location": "paris"},
        "pools": pools,
        "fabrics": fabrics,
        "scheduler": {"kind": "slurm", "version": "25.11"},
        "facility": {"rack": {"type": "eia-48u"}},
    }
    plan = resolve(ClusterSpec.model_validate(spec | others))
    assert not plan.errors, plan.errors
    return plan


def iter_facts(plan: Plan) -> Iterator[tuple[tuple[str, object], object]]:
    """((what diff calls it, which one), its name, address or place)."""
    networks, layout = plan.networks, plan.layout
    assert networks and layout
    for pool in plan.pools:
        yield from (
            ((f"pools[{pool.name}].addresses", host), pool.addresses[index]) for index, host in enumerate(pool.hosts)
        )
    for bmcs in networks.bmcs:
        yield from (
            ((f"networks.bmcs[{bmcs.group}]", host), (name, bmcs.addresses[index]))
            for index, (host, name) in enumerate(zip(bmcs.owners, bmcs.names, strict=True))
        )
    for links in networks.nodes:
        ports = links.rails.node_links.nics * links.rails.node_links.planes if links.rails else len(links.runs)
        yield from (
            ((f"networks.nodes[{links.fabric}/{links.pool}]", (host, port)), links.get_address(node, port))
            for node, host in enumerate(links.hosts)
            for port in range(ports)
        )
    for run in networks.switches:
        for number in range(run.tier.count):
            known = run.get_loopback(number) if run.loopbacks else "", run.get_as_number(number)
            yield (
                (f"networks.switches[{run.fabric}/{run.tier.name}]", run.find_position(number)),
                (run.format_name(number), run.get_management_address(number), known),
            )
    for served in networks.servers:
        yield from (
            ((f"networks.servers[{served.fabric}/{served.name}]", (server, port)), served.get_address(server, port))
            for server in range(len(served.hosts))
            for port in range(served.ports)
        )
    for machines in networks.machines:
        yield (f"networks.machines[{machines.name}]", 0), machines.addresses and machines.addresses[0]
    for rack in layout.racks:
        for item in rack.items:
            of = item.group if item.kind in ("node", "switch", "server") else item.kind
            yield from (
                ((f"facility.places[{of}]", item.first + index), (rack.name, item.unit, index))
                for index in range(item.count)
            )
    for subnet in networks.subnets:
        yield (f"networks.subnets[{subnet.name}]", 0), subnet.block
    if plan.scheduler.kind == "kubernetes":
        ranges = build_cluster_networks(plan)
        yield ("networks.kubernetes", 0), (ranges.pods, ranges.services, ranges.endpoint)


def find_moved(old: Plan, new: Plan) -> set[str]:
    """Names in diff of the items of both plans that have another name, address or place."""
    before, after = dict(iter_facts(old)), dict(iter_facts(new))
    return {key[0] for key in before.keys() & after.keys() if before[key] != after[key]}


def find_reported(changes: list[Change]) -> set[str]:
    return {change.path for change in changes if change.impact in ("replaces", "recables")}


@pytest.mark.slow
@pytest.mark.parametrize("name", SPECS)
def test_growth_renumbers_no_node_or_diff_reports_it(name: str) -> None:
    old, new = build_plan(name), build_plan(name, 1)
    moved, reported = find_moved(old, new), find_reported(diff_plans(old, new))
    unreported = {path for path in moved if not any(item.startswith(path) for item in reported)}
    assert not unreported
    nodes = {path for path in moved if path.startswith(("networks.nodes", "pools", "networks.bmcs"))}
    assert {path for path in reported if path.startswith("networks.nodes")} == {
        item for item in reported if any(item.startswith(path) for path in nodes)
    }
    if name in STABLE:
        assert not nodes and not any(path.startswith("networks") for path in reported)
    else:
        assert nodes or name.startswith("roce-"), "this case is here because something moves"


@pytest.mark.parametrize("name", [name for name in SPECS if name not in STABLE])
def test_only_pools_after_the_growing_pool_move(name: str) -> None:
    moved = find_moved(build_plan(name), build_plan(name, 1))
    assert not any("/a]" in path or path.startswith("pools[a]") for path in moved)


@pytest.mark.parametrize("name", SPECS)
def test_node_addresses_are_unique(name: str) -> None:
    found = [
        value
        for key, value in iter_facts(build_plan(name))
        if key[0].startswith(("networks.nodes", "networks.servers"))
    ]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    "name, fabric, script",
    [
        ("rails", "compute", "infiniband:compute/ipoib.sh"),
        ("small-subnet", "storage", "infiniband:storage/ipoib.sh"),
        ("roce", "compute", "roce:compute/nodes/b/roce-rails.sh"),
    ],
)
def test_host_scripts_set_the_addresses_of_the_plan(name: str, fabric: str, script: str) -> None:
    plan = build_plan(name)
    assert plan.networks
    links = next(item for item in plan.networks.list_pool_links(fabric) if item.pool == "b")
    target, _, path = script.partition(":")
    text = str(render(plan, target)[path])
    done = subprocess.run(
        ["bash", "-s", "--", "show", "b-0003"], input=text, capture_output=True, text=True, check=True
    )
    ports = links.rails.node_links.nics if links.rails else len(links.runs)
    assert all(f" {links.get_address(2, port)}/" in done.stdout for port in range(ports))


def test_nodes_that_move_to_the_next_pool_move_cables() -> None:
    """The wiring is the same one, with other nodes at its ends."""
    old = build_plan("storage")
    spec = old.spec.model_dump(exclude_unset=True)
    spec["pools"][0]["nodes"], spec["pools"][1]["nodes"] = 5, 3
    new = resolve(ClusterSpec.model_validate(spec))
    assert old.fabrics[0].wiring == new.fabrics[0].wiring
    assert "fabrics[storage].node_links" in find_reported(diff_plans(old, new))
