"""Pictures that can be read: few boxes, no text over another, every cable counted once."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest
from plan.test_resolve import build_pools, plan_spec
from samples import ROOT

from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load
from supercloud.targets import render
from supercloud.targets.pictures import draw_fabric
from supercloud.targets.pictures.cells import MAX_CELLS, build_rows

SVG = "{http://www.w3.org/2000/svg}"
ROCE = {"name": "compute", "kind": "roce", "shape": "rail-optimized", "switch": "nvidia-sn5600"}
PLANS: dict[str, Any] = {
    "2 switches": lambda: plan_spec(pools=build_pools("dgx-h100", 8), fabrics=[ROCE | {"rails": 2, "tiers": 1}]),
    "12": lambda: plan_spec(pools=build_pools("dgx-h100", 16)),
    "48": plan_spec,
    "512": lambda: plan_spec(pools=build_pools("dgx-h100", 1024)),
    "1,280": lambda: plan_spec(pools=build_pools("dgx-h100", 2048)),
    "two planes": lambda: resolve(load(ROOT / "examples/06-roce-small/cluster.yaml")),
    "many planes": lambda: plan_spec(pools=build_pools("dgx-h100", 200), fabrics=[ROCE | {"planes": 8}]),
    "clos": lambda: resolve(load(ROOT / "examples/04-roce-24k/cluster.yaml")),
    "disjoint rails": lambda: plan_spec(pools=build_pools("dgx-gb200", 72)),
    "one leaf": lambda: plan_spec(pools=build_pools("dgx-h100", 2), fabrics=[ROCE | {"shape": "fat-tree"}]),
}


def list_texts(svg: str) -> list[tuple[str, float, float, float, float]]:
    """(words, left, right, top, bottom) of every text; a letter is taken to be 0.6 of its size wide."""
    found = []
    for item in ElementTree.fromstring(svg).iter(f"{SVG}text"):
        size, x, y = (float(item.attrib[key]) for key in ("font-size", "x", "y"))
        width = 0.6 * size * len(item.text or "")
        left = x - width / 2 if item.attrib["text-anchor"] == "middle" else x
        found.append((item.text or "", left, left + width, y - 0.8 * size, y + 0.2 * size))
    return found


@pytest.mark.parametrize("name", sorted(PLANS))
def test_texts_do_not_overlap(name: str) -> None:
    plan: Plan = PLANS[name]()
    assert plan.fabrics, plan.findings
    svg = draw_fabric(plan, plan.fabrics[0])
    words = list_texts(svg)
    assert len(words) > 5
    for number, (text, left, right, top, bottom) in enumerate(words):
        assert left >= 0 and right <= 1201, text
        for other, other_left, other_right, other_top, other_bottom in words[:number]:
            apart = right <= other_left + 0.5 or other_right <= left + 0.5 or bottom <= other_top or other_bottom <= top
            assert apart, (text, other)
    sizes = [float(size) for size in re.findall(r'font-size="([\d.]+)"', svg)]
    assert min(sizes) >= 8
    boxes = [item for item in ElementTree.fromstring(svg).iter(f"{SVG}rect") if item.attrib.get("class") != "back"]
    assert 2 <= len(boxes) <= 4 * MAX_CELLS
    assert len(svg) < 100_000


@pytest.mark.parametrize("name", sorted(PLANS))
def test_every_cable_is_drawn_once(name: str) -> None:
    plan: Plan = PLANS[name]()
    wiring: Any = plan.fabrics[0].wiring
    rows, planes = build_rows(wiring)
    svg = draw_fabric(plan, plan.fabrics[0])
    drawn = sum(int(count) for count in re.findall(r"<title>(\d+) links</title>", svg))
    total = sum(count for group, count in wiring.link_counts.items() if "reserved" not in group)
    assert drawn * wiring.planes == total * planes
    for row in rows:
        count = wiring.nodes if row.kind == "node" else wiring.get_tier(row.kind).count * planes // wiring.planes
        assert sum(cell.count for cell in row.cells) == count


@pytest.mark.slow
def test_diagrams_have_light_and_dark_colours_and_are_deterministic() -> None:
    plan = plan_spec()
    one, other = render(plan, "diagram"), render(plan_spec(), "diagram")
    assert dict(one) == dict(other) and list(one) == ["compute.svg"]
    assert "prefers-color-scheme:dark" in one["compute.svg"]
