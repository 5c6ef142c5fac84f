"""Power that nobody knows is called unknown in the plan's rows, and a sum without it a lower bound."""

from __future__ import annotations

from pathlib import Path

from halls import QM9700, hall

from supercloud.plan.summary import rows

CPU = "cpu-6740e"


def row(folder: Path, name: str, *pools: tuple[str, int], **facility: object) -> str:
    """The text of one row of a plan with these pools, without a fabric unless one is given."""
    declared = [{"name": f"pool{number}", "machine": machine, "nodes": nodes,
                 "fabrics": [item["name"] for item in facility.get("fabrics", [])]}  # type: ignore[attr-defined]
                for number, (machine, nodes) in enumerate(pools)]  # fmt: skip
    plan = hall(folder, pools=declared, **({"fabrics": []} | facility))
    return next(text for what, _, text in rows(plan) if what == name)


def test_power_is_unknown_where_that_of_all_machines_is(tmp_path: Path) -> None:
    price = {"price": "0.1 USD/kWh"}
    assert row(tmp_path, "power", (CPU, 64)).startswith("unknown (nodes unknown), ")
    assert row(tmp_path, "year", (CPU, 64)) == (
        "IT energy unknown, cost unknown (no energy price), carbon unknown, at full power"
    )
    assert row(tmp_path, "year", (CPU, 64), energy=price).startswith("IT energy unknown, cost unknown, carbon unknown")


def test_a_sum_without_the_power_of_some_machines_is_a_lower_bound(tmp_path: Path) -> None:
    assert row(tmp_path, "power", ("dgx-h100", 2), (CPU, 64)).startswith("at least 20.4 kW (nodes 20.4 kW), ")
    assert row(tmp_path, "year", ("dgx-h100", 2), (CPU, 64)).startswith("at least 178.704 MWh of IT energy, ")


def test_servers_of_unknown_power_are_named(tmp_path: Path) -> None:
    machines = [{"name": "login", "machine": CPU, "count": 2}]
    assert "(nodes 20.4 kW, servers unknown)" in row(tmp_path, "power", ("dgx-h100", 2), machines=machines)


def test_known_power_is_a_plain_number(tmp_path: Path) -> None:
    text = row(tmp_path, "power", ("dgx-h100", 4), fabrics=[QM9700])
    assert text == "42.52 kW (nodes 40.8 kW, switches 1.72 kW), air cooling"
