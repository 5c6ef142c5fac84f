"""The report is one well-formed page that fetches nothing, small, the same each time, and true to the plan."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import fields, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from plan.test_resolve import build_pools, plan_spec
from samples import EXAMPLES

from supercloud.errors import Finding
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load
from supercloud.targets.report import render_pictures, render_report
from supercloud.targets.report.data import PAGE_NAMES
from supercloud.targets.report.facts import render_findings
from supercloud.topology import Fabric as Wiring

VOID = {"meta", "input", "link", "br"}
HALL = {"rack": {"type": "orv3-48u", "nodes": 4}, "power": {"budget": "40 MW", "feeds": 2, "redundancy": "2N"}}


class Page(HTMLParser):
    """Counts elements, and fails where one is not closed by its own end."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.identities: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self.identities += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]


def read_data(page: str) -> dict[str, Any]:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return dict(json.loads(text))


@pytest.fixture(scope="module", params=EXAMPLES, ids=[path.parent.name for path in EXAMPLES])
def plan(request: pytest.FixtureRequest) -> Plan:
    return resolve(load(request.param))


@pytest.fixture(scope="module")
def page(plan: Plan) -> str:
    return render_report(plan)


@pytest.mark.slow
def test_the_page_is_well_formed_with_unique_ids(page: str) -> None:
    found = Page(page)
    assert len(found.identities) == len(set(found.identities))
    targets = [value[1:] for tag, name, value in found.attributes if (tag, name) == ("a", "href")]
    assert set(targets) <= set(found.identities)
    for svg in re.findall(r"<svg.*?</svg>", page.replace("\\u003c", "<"), re.S):
        ElementTree.fromstring(svg.replace('\\"', '"'))


def test_the_page_loads_nothing(page: str) -> None:
    assert set(re.findall(r"https?://[^\s\"\\<]*", page)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"@import|url\(|<iframe|<img|<object|fetch\(|XMLHttpRequest|import\(|WebSocket", page)
    found = Page(page)
    assert not [item for item in found.attributes if item[1] == "src"]
    assert [item[2] for item in found.attributes if item[:2] == ("link", "href")] == ["data:,"]


def test_rendering_is_deterministic(plan: Plan, page: str) -> None:
    assert render_report(plan) == page


def test_every_node_and_server_is_drawn_once(plan: Plan, page: str) -> None:
    if plan.layout is None:
        return
    drawn = "".join(rack["svg"] for rack in read_data(page)["racks"])
    nodes = Counter(re.findall(r'data-node="([^"]*)"', drawn))
    assert nodes == Counter(host for pool in plan.pools for host in pool.hosts)
    servers = Counter(re.findall(r'data-server="([^"]*)"', drawn))
    assert all(count == 1 for name, count in servers.items() if name.rpartition("-")[2].isdigit())
    switches = Counter(re.findall(r'data-switch="([^"]*)"', drawn))
    boxes = sum(-(-tier.count // tier.switch.chips) for fabric in plan.fabrics for tier in fabric.tiers)
    assert set(switches.values()) <= {1} and len(switches) in (0, boxes)


def test_links_are_the_rules_of_the_topology(plan: Plan, page: str) -> None:
    for fabric in read_data(page)["fabrics"]:
        wiring = next(item.wiring for item in plan.fabrics if item.name == fabric["name"])
        assert isinstance(wiring, Wiring)
        assert [group["count"] for group in fabric["groups"]] == [group.count for group in wiring.link_groups]
        assert {group["rule"] for group in fabric["groups"]} <= {"node", "reserved", "tier", "ring"}
        for given, group in zip(fabric["groups"], wiring.link_groups, strict=True):
            names = {PAGE_NAMES.get(field.name, field.name): field.name for field in fields(group)}
            for name, value in given.items():
                if name not in ("name", "source", "target", "rule", "count"):
                    field = getattr(group, names.get(name, "leaf_ports"))
                    assert value == (list(map(list, field)) if name == "places" else field)


def test_every_picture_is_a_separate_file(plan: Plan) -> None:
    found = render_pictures(plan)
    racks = plan.layout.racks if plan.layout else ()
    assert {f"racks/{rack.name}.svg" for rack in racks} <= set(found)
    for text in found.values():
        root = ElementTree.fromstring(text)
        assert root.tag.endswith("svg") and root.get("viewBox") and "prefers-color-scheme" in text
        assert "var(--ink)" in text and "--ink:" in text


def test_findings_are_shown_and_markup_in_them_is_text() -> None:
    suppress = [{"check": "power-budget", "reason": "</script><script>alert(1)</script><b>&"}]
    plan = plan_spec(facility={"power": {"budget": "1 MW"}}, suppress=suppress)
    page = render_report(plan)
    Page(page)
    assert "alert(1)" in page and "<script>alert" not in page and page.count("</script>") == 2
    for finding in plan.findings:
        assert finding.check != "x" and (finding.problem[:20].split("<")[0] in page)


def test_a_plan_with_errors_is_drawn_with_its_errors() -> None:
    page = render_report(plan_spec(pools=build_pools("dgx-h10", 4)))
    Page(page)
    assert 'class="finding error"' in page and "dgx-h10" in page


@pytest.mark.slow
def test_clouds_and_plans_without_racks_are_rendered() -> None:
    page = render_report(plan_spec(storage=[{"name": "s", "kind": "nfs", "mount": "/s"}]))
    Page(page)
    assert "set facility.rack" in page or 'id="racks"' in page
    cloud = plan_spec(site={"kind": "aws", "region": "us-east-1"}, fabrics=[{"name": "compute", "kind": "efa"}])
    Page(render_report(cloud))


def test_the_cost_of_a_cloud_is_that_of_the_plan() -> None:
    plan = resolve(load(next(path for path in EXAMPLES if path.parent.name == "09-aws-slurm")))
    page, cost = render_report(plan), plan.cloud.cost if plan.cloud else None
    assert cost is not None and cost.known_total
    assert f"{cost.known_total.to('USD'):,.0f} USD" in page and f"{(cost.known_total * 730).to('USD'):,.0f} USD" in page
    assert all(line.item in page for line in cost.lines) and all(group.key in page for group in plan.cloud.groups)
    assert not [pool for pool in plan.pools if str(pool.addresses) in page], "the cloud gives addresses, not the plan"


def test_unknown_values_are_not_drawn_as_zero() -> None:
    """MI300X is counted by a lower bound, Q3400 has no value: the row plan shows this in every rack that has one."""
    pools = [
        {"name": "some", "machine": "mi300x-8gpu", "nodes": 4},
        {"name": "rows", "machine": "dgx-gb300", "nodes": 36, "fabrics": ["compute"]},
    ]
    fabric = {"name": "compute", "kind": "infiniband", "shape": "fat-tree", "switch": "nvidia-q3400-ra"}
    plan = plan_spec(pools=pools, fabrics=[fabric], facility={"rack": {"type": "eia-48u", "nodes": 2}})
    assert plan.layout
    root = ElementTree.fromstring(render_pictures(plan)["rows.svg"])
    shown = [item.text for item in root.iter("{http://www.w3.org/2000/svg}text") if item.get("class") == "on"]
    assert len(shown) == len(plan.layout.racks) and shown.count("12+") == 2 and shown.count("142") == 2
    assert "?" in shown and "0.0" not in shown


def test_the_energy_bill_follows_the_mix_of_sources() -> None:
    sources = [{"name": "wind", "kind": "contract", "share": 0.6, "price": "0.07 USD/kWh", "carbon": "11 gCO2e/kWh"}]
    hall = HALL | {"energy": {"price": "0.12 USD/kWh", "carbon": "300 gCO2e/kWh", "sources": sources}}
    page = render_report(plan_spec(facility=hall))
    assert "0.09 USD/kWh" in page and "126.6 g CO₂e/kWh" in page  # 0.6 × 0.07 + 0.4 × 0.12; 0.6 × 11 + 0.4 × 300


def test_racks_power_and_cooling_are_shown_in_numbers() -> None:
    cooling = {"kind": "direct-liquid", "supply": "30 °C", "cdu": "nvidia-qualified", "rejection": "dry-cooler"}
    plan = plan_spec(
        pools=build_pools("dgx-gb200", 144),
        facility={
            "rack": {"type": "eia-48u"},
            "cooling": cooling,
            "power": {"redundancy": "2N", "ups": "double-conversion"},
        },
    )
    page = render_report(plan)
    # 8 × 132 kW × 0.87 at 1.5 L/min per kW; 30 °C less 4 K and 8 K; IT and its 5 % lost in the UPS
    for message in (
        "8 power shelves of 33 kW",
        "1,378 L/min",
        "172.3 L/min for 114.8 kW",
        "18 °C dry bulb",
        "building supply</th><td>26 °C",
    ):
        assert message in page, message


@pytest.mark.slow
def test_a_report_of_16384_accelerators_is_below_10_mb() -> None:
    plan = plan_spec(pools=build_pools("dgx-h100", 2048), facility=HALL)
    page = render_report(plan)
    assert len(page.encode()) <= 10_000_000 and len(read_data(page)["racks"]) > 512


@pytest.mark.slow
def test_the_report_command_writes_its_files(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "supercloud", "report", str(EXAMPLES[1])]
    ran = subprocess.run(
        [*command, "-o", str(tmp_path / "r.html"), "--svg", str(tmp_path / "svg")], capture_output=True, text=True
    )
    assert ran.returncode == 0 and ran.stdout.strip() == str(tmp_path / "r.html") and "next: open" in ran.stderr
    Page((tmp_path / "r.html").read_text())
    assert (tmp_path / "svg" / "rows.svg").is_file() and (tmp_path / "svg" / "racks" / "r01-01.svg").is_file()
    ran = subprocess.run([*command, "-o", str(tmp_path), "--json"], capture_output=True, text=True)
    assert ran.returncode == 2 and "is a directory" in ran.stderr and "Traceback" not in ran.stderr
    (tmp_path / "file").write_text("")
    ran = subprocess.run([*command, "-o", str(tmp_path / "file" / "r.html")], capture_output=True, text=True)
    assert ran.returncode == 1 and "cannot write" in ran.stderr and "Traceback" not in ran.stderr


@pytest.mark.parametrize("count, is_collapsed", [(1, False), (3, False), (4, True)])
def test_each_note_is_shown_once_and_many_are_collapsed(count: int, is_collapsed: bool) -> None:
    notes = [Finding("x", "note", f"facility.machines[{index}]", f"note {index}.") for index in range(count)]
    plan = replace(plan_spec(), findings=(Finding("x", "warning", "name", "a warning."), *notes))
    text = render_findings(plan)
    assert [text.count(item.problem) for item in plan.findings] == [1] * (count + 1)
    assert ("<details>" in text) is is_collapsed and (f"<summary>{count} notes</summary>" in text) is is_collapsed
