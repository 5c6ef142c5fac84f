"""The fabric's row names the boxes that the bill of materials has, where a product holds several switches."""

from __future__ import annotations

from pathlib import Path

import pytest
from halls import QM9700, build_hall

from supercloud.plan.model.plan import Plan
from supercloud.plan.publish.summary import build_rows
from supercloud.targets.site.bom.items import build_items

RACK = {"type": "eia-48u"}


def get_fabric_row(plan: Plan) -> str:
    return next(text for what, _, text in build_rows(plan) if what == "fabric")


@pytest.mark.parametrize("nodes, boxes", [(72, "32 leaf + 18 spine in 25 boxes: 16 leaf + 9 spine"), (3, None)])
def test_boxes_of_switches_match_the_bill_of_materials(tmp_path: Path, nodes: int, boxes: str | None) -> None:
    plan = build_hall(tmp_path, "dgx-b300", nodes, fabrics=[QM9700 | {"switch": "nvidia-q3200-ra"}], rack=RACK)
    text = get_fabric_row(plan)
    assert boxes is None or boxes in text
    (line,) = [item for item in build_items(plan) if item.section == "switches"]
    assert f" in {line.count} box{'es' * (line.count > 1)}: {line.note} (nvidia-q3200-ra)" in text


def test_switches_in_separate_boxes_have_no_count_of_boxes(tmp_path: Path) -> None:
    assert "box" not in get_fabric_row(build_hall(tmp_path, "dgx-h100", 40, rack=RACK))
