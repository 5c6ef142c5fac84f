"""Findings about storage: each has the number that is exceeded, and its hint removes it."""

from __future__ import annotations

from typing import Any

import pytest
from plan.sized_storage import GIVES, list_storage_checks, plan_storage
from plan.test_resolve import build_pools

from supercloud.catalog import Catalog

BAD = {
    "storage-minimum": ({"kind": "weka", "servers": {"machine": "flash-24", "count": 5}}, "3 too few"),
    "storage-capacity": ({"capacity": "10 PiB", "servers": {"machine": "flash-24", "count": 4}}, "PB short"),
    "storage-server-throughput": (
        {"tier": "best", "servers": {"machine": "flash-24", "count": 2, "throughput": GIVES}},
        "410 GB/s less than the required 500 GB/s",
    ),
    "storage-checkpoint": (
        {
            "throughput": {"read": "90 GB/s", "write": "60 GB/s"},
            "servers": {"machine": "flash-24"},
            "checkpoint": {"parameters": 405e9, "stall": "15 s"},
        },
        "318 GB/s more than the 60 GB/s",
    ),
    "storage-checkpoint-need": ({"checkpoint": {"parameters": 405e9}}, "one of 'stall' and 'interval'"),
    "storage-throughput-low": ({"throughput": {"read": "20 GB/s", "write": "30 GB/s"}}, "40 GB/s less than"),
    "storage-memory": (
        {"servers": {"machine": "flash-4", "count": 2}, "protection": {"data": 1, "parity": 1}},
        "GB less",
    ),
    "storage-limits": (
        {"servers": {"machine": "flash-24"}, "protection": {"data": 22, "parity": 2}, "capacity": "1 PiB"},
        "over the maximum of 256 TiB",
    ),
    "storage-servers": ({"servers": {"machine": "bare"}}, "and no count is set"),
    "storage-metadata": (
        {"capacity": "60 PiB", "servers": {"machine": "flash-24"}, "metadata": {"machine": "flash-4"}},
        "short of",
    ),
    "storage-value": ({"capacity": "-3 TB", "servers": {"machine": "flash-24"}}, "-3 TB is not above zero"),
    "storage-nfs": (
        {"kind": "nfs", "capacity": "1 PB", "servers": {"machine": "flash-24"}},
        "5 servers, but an export is on one server: clients mount the first, the others are standby; the first "
        "alone provides 245.8 TB of 1 PB",
    ),
    "storage-targets": (
        {"capacity": "1 PB", "servers": {"machine": "flash-24"}, "protection": {"data": 1, "parity": 1}},
        "12 object targets a server: 4 over the usual maximum of 8",
    ),
    "unknown-name": ({"servers": {"machine": "flash-25"}}, "flash-25"),
}


@pytest.mark.parametrize("check", sorted(BAD))
def test_bad_input_is_reported_with_the_exceeded_number_and_the_fix(catalog: Catalog, check: str) -> None:
    store, part = BAD[check]
    found = [finding for finding in plan_storage(catalog, store).findings if finding.check == check]
    assert found and part in found[0].problem, [finding.problem for finding in found]
    assert found[0].hint and found[0].path.startswith("storage[0]")


@pytest.mark.parametrize(
    "asked",
    [{"throughput": {"read": "1 GB/s", "write": "1 GB/s"}}, {"throughput_per_tib": "1 GB/s", "capacity": "1 TiB"}],
)
def test_the_suggested_throughput_is_enough(catalog: Catalog, asked: dict[str, Any]) -> None:
    """65 nodes read thirds of a GB/s: rounded down, the suggested value was reported as too small."""

    def look(store: dict[str, Any]) -> tuple[list[str], list[str]]:
        plan = plan_storage(catalog, store, pools=build_pools("dgx-b200", 65))
        return [one.hint for one in plan.findings if one.check == "storage-throughput-low"], list(map(str, plan.errors))

    hints, errors = look(asked)
    (way,) = (name for name in asked if name.startswith("throughput"))
    assert len(hints) == 2 and not errors and all(f"set tier: good instead of {way}" in hint for hint in hints)
    read, write = (" ".join(hint.replace(",", "").split()[1:3]) for hint in hints)
    assert look({"throughput": {"read": read, "write": write}}) == ([], [])
    assert look({"tier": "good"}) == ([], [])


def test_a_file_system_without_writes_gets_a_suggestion_of_throughput_only(catalog: Catalog) -> None:
    store = {"throughput": {"read": "1 GB/s", "write": "0 GB/s"}, "checkpoint": {"parameters": 1e9, "stall": "10 s"}}
    (finding,) = [item for item in plan_storage(catalog, store).findings if item.check == "storage-checkpoint"]
    assert finding.hint.startswith("set throughput: {write: ")


@pytest.mark.parametrize("check", ["storage-capacity", "storage-server-throughput", "storage-minimum"])
def test_the_suggested_fix_works(catalog: Catalog, check: str) -> None:
    store = dict(BAD[check][0])
    hints = [finding.hint for finding in plan_storage(catalog, store).findings if finding.check == check]
    count = max(int(word.strip(",")) for hint in hints for word in hint.split() if word.strip(",").isdigit())
    store["servers"] = store["servers"] | {"count": count}
    assert check not in list_storage_checks(plan_storage(catalog, store))


@pytest.mark.parametrize(
    "kind, capacity",
    [
        ("lustre", "10 PiB"),
        ("weka", "10 PiB"),
        ("storage-scale", "5 PiB"),
        ("nfs", "5 PB"),
    ],
)
def test_the_suggested_number_of_servers_is_minimal(catalog: Catalog, kind: str, capacity: str) -> None:
    """Usable space does not grow in proportion: spares of a stripe stay the same, and pairs come in twos."""

    def build_store(count: int) -> dict[str, Any]:
        return {"kind": kind, "capacity": capacity, "servers": {"machine": "flash-24", "count": count}}

    findings = [
        item.hint for item in plan_storage(catalog, build_store(8)).findings if item.check == "storage-capacity"
    ]
    advised = int(findings[0].split()[1])
    assert "storage-capacity" not in list_storage_checks(plan_storage(catalog, build_store(advised)))
    assert "storage-capacity" in list_storage_checks(
        plan_storage(catalog, build_store(advised - (2 if kind == "lustre" else 1)))
    )


def test_servers_without_free_addresses_are_an_error(catalog: Catalog) -> None:
    tight = plan_storage(catalog, {"servers": {"machine": "flash-24"}}, network={"cidr": "10.0.0.0/23"})
    assert any("no free block" in finding.problem for finding in tight.errors) and tight.servers == ()


@pytest.mark.parametrize("kind", ["lustre", "weka", "storage-scale", "nfs", "object"])
@pytest.mark.parametrize("way", ["data", "parity", "spares", "copies"])
def test_excessive_protection_is_handled_quickly(catalog: Catalog, kind: str, way: str) -> None:
    store = {"kind": kind, "capacity": "1 EiB", "servers": {"machine": "flash-24"}, "protection": {way: 10_000_000}}
    assert plan_storage(catalog, store).storage[0].name == "scratch"
