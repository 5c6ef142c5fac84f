"""Plan, published plan, report, cable list, guide and bill have the same numbers of links and of pieces of cable."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from samples import EXAMPLES

from supercloud.plan.build.cabling.counts import count_cables
from supercloud.plan.publish.document import build_document
from supercloud.plan.publish.summary import build_rows
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load
from supercloud.targets import render
from supercloud.targets.report.glance import render_overview
from supercloud.targets.site.bom.items import build_items


@pytest.mark.slow
@pytest.mark.parametrize("name", ["01-minimal", "05-superpod-networks", "07-storage"])
def test_all_outputs_have_the_same_numbers_of_links_and_cables(name: str) -> None:
    path: Path = next(item for item in EXAMPLES if item.parent.name == name)
    plan = resolve(load(path))
    files = dict(render(plan, "cabling").items())
    bill = build_items(plan)
    published = {item.name: item for item in build_document(plan).fabrics}
    lines = {thing: text for what, thing, text in build_rows(plan) if what == "fabric"}
    for fabric in plan.fabrics:
        listed = list(csv.DictReader(io.StringIO(files[f"{fabric.name}.csv"])))
        links, pieces = len(listed), len({row["cable"] for row in listed})
        assert count_cables(plan, [fabric]) == (links, pieces)
        assert (published[fabric.name].links, published[fabric.name].cable_pieces) == (links, pieces)
        found = re.search(r"(\d+) cables(?: \((\d+) links\))?", lines[fabric.name])
        assert found and int(found[1]) == pieces and int(found[2] or found[1]) == links
        ordered = sum(item.count for item in bill if item.section == f"cables of {fabric.name}" and " to " in item.item)
        assert ordered == pieces
    total = count_cables(plan)
    assert f"<b>{total.pieces:,}</b> <span>cables</span>" in render_overview(plan)
    assert total.pieces == total.links or f"<dt>links</dt><dd>{total.links:,}</dd>" in render_overview(plan)


def test_fabrics_without_planned_cables_count_the_links_of_their_shape() -> None:
    plan = resolve(load(next(item for item in EXAMPLES if item.parent.name == "03-nvl72")))
    torus = next(fabric for fabric in plan.fabrics if fabric.shape == "torus")
    assert count_cables(plan, [torus]).links == torus.link_counts["node_node"] > 0
