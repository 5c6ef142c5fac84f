"""Storage is sized and checked for the pools that reach it."""

from __future__ import annotations

from typing import Any

import pytest
from plan.sized_storage import GIVES, list_storage_checks, plan_storage

from supercloud.catalog import Catalog
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import loads
from supercloud.targets import render


def build_divided_plan(catalog: Catalog, *stores: dict[str, Any], others: int = 300) -> Plan:
    """A pool of 27 nodes on the network of the stores, and another that is not, where there is one."""
    fabric = {"name": "storage", "kind": "infiniband", "shape": "fat-tree", "switch": "nvidia-qm9700"}
    pools = [{"name": "near", "machine": "dgx-h100", "nodes": 27, "fabrics": ["storage"]}]
    pools += [{"name": "far", "machine": "dgx-h100", "nodes": others}] * bool(others)
    return plan_storage(catalog, *(store | {"fabric": "storage"} for store in stores), pools=pools, fabrics=[fabric])


SIZED: list[dict[str, Any]] = [
    {"kind": "lustre", "tier": "best", "capacity": "1 PiB", "servers": {"machine": "flash-24", "throughput": GIVES}},
    {
        "kind": "weka",
        "capacity": "1 PiB",
        "servers": {"machine": "flash-24", "throughput": {"read": "5 GB/s", "write": "4 GB/s"}},
    },
]


@pytest.mark.parametrize("store", SIZED, ids=["tier", "floor"])
def test_storage_is_sized_for_its_clients_only(catalog: Catalog, store: dict[str, Any]) -> None:
    """300 nodes that do not reach it took a store for 27 nodes from 6 servers to 32."""
    alone, shared = (build_divided_plan(catalog, store, others=others).storage[0] for others in (0, 300))
    assert (shared.read, shared.write, shared.design) == (alone.read, alone.write, alone.design)
    assert [group.count for group in shared.servers] == [group.count for group in alone.servers]


def test_storage_scale_is_created_for_the_number_of_clients(catalog: Catalog) -> None:
    plan = build_divided_plan(catalog, SIZED[0] | {"kind": "storage-scale"})
    script = render(plan, "storage").files["scratch/create.sh"].text
    assert f" -n {27 + plan.storage[0].servers[0].count} " in script


def test_only_clients_count_for_throughput(catalog: Catalog) -> None:
    """Throughput is judged, and a tier recommended, by the pools that reach a store; so are numbers of clients."""
    lowest = build_divided_plan(catalog, {"tier": "good"})
    enough = {"throughput": {"read": str(lowest.storage[0].read), "write": str(lowest.storage[0].write)}}
    assert "storage-throughput-low" not in list_storage_checks(build_divided_plan(catalog, enough))
    (low,) = [
        item
        for item in build_divided_plan(catalog, enough | {"throughput": {"read": "1 GB/s", "write": "1 TB/s"}}).findings
        if item.check == "storage-throughput-low"
    ]
    assert low.problem.startswith("216 accelerators of near get 1 GB/s to read")
    # two stores, of which a pool reaches one: the other does not make up for what is lacking there
    rich = {"name": "rich", "mount": "/rich", "throughput": {"read": "1 TB/s", "write": "1 TB/s"}}
    poor = {"fabric": "storage", "throughput": {"read": "1 GB/s", "write": "1 TB/s"}}
    fabrics = [
        {"name": name, "kind": "infiniband", "shape": "fat-tree", "switch": "nvidia-qm9700", "role": role}
        for name, role in (("storage", "storage"), ("other", "compute"))
    ]
    pools = [
        {"name": name, "machine": "dgx-h100", "nodes": 32, "fabrics": networks}
        for name, networks in (("both", ["storage", "other"]), ("one", ["storage"]))
    ]
    plan = plan_storage(catalog, poor, rich | {"fabric": "other"}, pools=pools, fabrics=fabrics)
    lacking = [item.problem for item in plan.findings if item.check == "storage-throughput-low"]
    assert len(lacking) == 1 and lacking[0].startswith("256 accelerators of one get 1 GB/s")
    tierless = plan_storage(
        catalog,
        poor | {"throughput": None, "tier": "good"},
        fabrics=fabrics,
        pools=[
            pools[0] | {"fabrics": ["other"]},
            {"name": "login", "machine": "management-server", "nodes": 4, "fabrics": ["storage"]},
        ],
    )
    assert "its clients have no accelerators" in str([item.problem for item in tierless.errors])


@pytest.mark.parametrize("machine", ["dgx-h100", "dgx-gb200", "dgx-gb300"])
def test_only_tiers_of_the_reference_are_suggested(catalog: Catalog, machine: str) -> None:
    """For a GB300 'good' was refused by an error and recommended by a note, and no rate was low."""

    def look(more: str) -> Plan:
        return resolve(
            loads(f"""
name: one
site: {{kind: onprem, location: stockholm}}
scheduler: {{kind: slurm, version: "25.11"}}
pools: [{{name: train, machine: {machine}, nodes: 36}}]
storage: [{{name: fast, kind: lustre, capacity: 1 PiB, mount: /fast{more}}}]
"""),
            catalog,
        )

    (unknown,) = [item.hint for item in look("").findings if item.check == "storage-throughput-unknown"]
    named = [tier for tier in ("good", "better", "best") if tier in unknown]
    for tier in ("good", "better", "best"):
        plan = look(f", tier: {tier}")
        refused = [item.hint for item in plan.errors if item.check == "storage-tier"]
        assert bool(refused) == (tier not in named) and (plan.storage[0].read is None) == bool(refused)
        assert refused in ([], [f"set tier to {' or '.join(named)}, or set 'throughput' instead"])
        assert "storage-throughput-unknown" not in list_storage_checks(plan)
    (low, _) = [
        item
        for item in look(", throughput: {read: 1 GB/s, write: 1 GB/s}").findings
        if item.check == "storage-throughput-low"
    ]
    assert low.hint.endswith(f"set tier: {named[0]} instead of throughput")
