"""Unknown power is shown as unknown in the plan's rows, and a sum without it as a lower bound."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

from halls import QM9700, build_hall, list_problems
from plan.test_resolve import build_pools, plan_spec

from supercloud.plan.publish.document import build_document
from supercloud.plan.publish.summary import build_rows
from supercloud.targets import render
from supercloud.targets.report.hall import render_power, render_racks
from supercloud.targets.report.rows import draw_row_plan

CPU = "cpu-6740e"


def get_row(folder: Path, name: str, *pools: tuple[str, int], **facility: object) -> str:
    """The text of one row of a plan with these pools, without a fabric unless one is given."""
    declared = [
        {
            "name": f"pool{number}",
            "machine": machine,
            "nodes": nodes,
            "fabrics": [item["name"] for item in facility.get("fabrics", [])],
        }  # type: ignore[attr-defined]
        for number, (machine, nodes) in enumerate(pools)
    ]
    plan = build_hall(folder, pools=declared, **({"fabrics": []} | facility))
    return next(text for what, _, text in build_rows(plan) if what == name)


def test_power_is_unknown_if_that_of_all_machines_is(tmp_path: Path) -> None:
    price = {"price": "0.1 USD/kWh"}
    assert get_row(tmp_path, "power", (CPU, 64)).startswith("unknown (nodes unknown), ")
    assert get_row(tmp_path, "year", (CPU, 64)) == (
        "IT energy unknown, cost unknown (no energy price), carbon unknown, at full power"
    )
    assert get_row(tmp_path, "year", (CPU, 64), energy=price).startswith(
        "IT energy unknown, cost unknown, carbon unknown"
    )


def test_a_sum_without_the_power_of_some_machines_is_a_lower_bound(tmp_path: Path) -> None:
    assert get_row(tmp_path, "power", ("dgx-h100", 2), (CPU, 64)).startswith("at least 20.4 kW (nodes 20.4 kW), ")
    assert get_row(tmp_path, "year", ("dgx-h100", 2), (CPU, 64)).startswith("at least 178.704 MWh of IT energy, ")


def test_servers_of_unknown_power_are_listed(tmp_path: Path) -> None:
    machines = [{"name": "login", "machine": CPU, "count": 2}]
    assert "(nodes 20.4 kW, servers unknown)" in get_row(tmp_path, "power", ("dgx-h100", 2), machines=machines)


def test_known_power_is_a_plain_number(tmp_path: Path) -> None:
    text = get_row(tmp_path, "power", ("dgx-h100", 4), fabrics=[QM9700])
    assert text == "42.52 kW (nodes 40.8 kW, switches 1.72 kW), air cooling"


def test_racks_of_switches_of_unknown_power_have_no_headroom() -> None:
    """143 trays and 12 switches whose power nobody published: nothing says 0 kW, and nothing is left over."""
    plan = plan_spec(
        pools=build_pools("dgx-gb300", 143),
        fabrics=[{"name": "compute", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-q3400-ra"}],
        facility={
            "rack": {"type": "eia-48u", "power": "45.3 kW"},
            "power": {"budget": "2 MW"},
            "cooling": {"kind": "direct-liquid"},
        },
    )
    switches = next(group for group in plan.facility.racks if group.kind == "network")
    assert switches.power_limit and switches.is_power_lower_bound and switches.headroom is None
    assert next(text for what, name, text in build_rows(plan) if (what, name) == ("racks", "network")).endswith(
        "unknown"
    )
    published = build_document(plan).facility
    group = next(item for item in published.rack_groups if item.kind == "network")
    assert group.kw_is_lower_bound and group.headroom_kw is None and published.headroom_kw is None
    listed = list(csv.DictReader(io.StringIO(render(plan, "racks")["racks.csv"])))
    assert {row["headroom_kw"] for row in listed if row["kind"] == "network"} == {""}
    assert {(row["kw"], row["at_least"]) for row in listed if row["kind"] == "network"} == {("", "yes")}
    cells = re.findall(r">([^<>]+)<", render_racks(plan).split("switches, services")[1])
    assert "0 kW" not in cells and cells.count("unknown") == 2 and "power unknown" in draw_row_plan(plan).render_file()
    assert "not known" in render_power(plan).split("headroom of the hall")[1]


def test_typical_power_of_a_switch_is_a_lower_bound(tmp_path: Path) -> None:
    """Budgets and circuits have to bear the maximum, which the manufacturer of this switch does not publish."""
    fabric = {"name": "compute", "kind": "roce", "switch": "nvidia-sn5600"}
    assert get_row(tmp_path, "power", ("dgx-h100", 16), fabrics=[fabric]).startswith("at least ")
    plan = build_hall(tmp_path, fabrics=[fabric])
    assert list_problems(plan, "power-unknown") == [
        "unknown: maximum power of nvidia-sn5600, counted as 940 W, its typical power"
    ]


def test_heat_of_an_unknown_split_is_a_lower_bound_in_the_air(tmp_path: Path) -> None:
    cooling = {"kind": "direct-liquid"}
    text = get_row(tmp_path, "cooling", ("dgx-gb300", 18), rack={"type": "gb300-nvl72"}, cooling=cooling)
    assert text.startswith("up to ") and "to liquid, at least 0 W to air" in text


def test_racks_with_a_part_of_unknown_power_draw_at_least_the_rest(tmp_path: Path) -> None:
    machines = [{"name": "login", "machine": CPU, "count": 2}]
    text = get_row(tmp_path, "racks", ("dgx-h100", 4), machines=machines, rack={"type": "eia-48u"})
    assert "at least" not in text, "racks of nodes whose power is known"
    plan = build_hall(
        tmp_path,
        pools=[{"name": "a", "machine": "dgx-h100", "nodes": 4, "fabrics": ["compute"]}],
        fabrics=[QM9700],
        machines=machines,
        rack={"type": "eia-48u"},
    )
    shared = next(text for what, name, text in build_rows(plan) if (what, name) == ("racks", "network"))
    assert "at least 1.72 kW" in shared


def test_files_of_racks_mark_numbers_that_are_lower_bounds(tmp_path: Path) -> None:
    plan = build_hall(
        tmp_path,
        pools=[{"name": "a", "machine": "dgx-h100", "nodes": 4, "fabrics": ["compute"]}],
        fabrics=[QM9700],
        machines=[{"name": "login", "machine": CPU, "count": 2}],
        rack={"type": "eia-48u"},
        power={"circuit": "32 A", "voltage": "400 V"},
    )
    files = render(plan, "racks")
    for name, key in (("racks.csv", "kw"), ("circuits.csv", "load_kw"), ("rows.csv", "kw")):
        listed = list(csv.DictReader(io.StringIO(files[name])))
        assert all(row[key] for row in listed) and listed[-1].keys() >= {"at_least"}
        shared = {row["rack"] for row in csv.DictReader(io.StringIO(files["contents.csv"])) if row["what"] == "server"}
        for row in listed:
            assert (row["at_least"] == "yes") == (name == "rows.csv" or row["rack"] in shared), (name, row)
