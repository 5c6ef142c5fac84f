"""The bill orders what the plan counts: every machine, rack and switch once."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from samples import EXAMPLES

from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load
from supercloud.targets.site.bom.items import BomItem, build_items


@pytest.fixture(params=EXAMPLES, ids=lambda path: path.parent.name)
def onprem(request: pytest.FixtureRequest) -> Plan:
    path: Path = request.param
    plan = resolve(load(path))
    if plan.site.kind != "onprem":
        pytest.skip("no machines are bought on a cloud")
    return plan


def test_every_group_of_machines_is_ordered_once_and_in_full(onprem: Plan) -> None:
    lines = [item for item in build_items(onprem) if item.section == "machines"]
    names = Counter(_parse_name(item) for item in lines)
    assert max(names.values()) == 1, names
    groups = {pool.name: pool.nodes for pool in onprem.pools}
    groups |= {group.name: group.count for group in onprem.servers}
    groups |= {group.name: group.count for group in (onprem.facility.service_groups if onprem.facility else ())}
    ordered = {_parse_name(item): item.count for item in lines}
    services = {
        service.name: service.count for fabric in onprem.fabrics for service in fabric.services if service.is_managed
    }
    assert {name: ordered.get(name) for name in groups} == groups
    assert {name: count for name, count in ordered.items() if services.get(name) != count}.keys() <= groups.keys()


def test_every_switch_and_rack_of_the_plan_is_ordered_once(onprem: Plan) -> None:
    items = build_items(onprem)
    boxes: Counter[str] = Counter()
    for fabric in onprem.fabrics:
        for tier in fabric.tiers:
            boxes[tier.switch.name] += -(-tier.count // tier.switch.chips)
    ordered: Counter[str] = Counter()
    for item in items:
        ordered[item.product] += item.count if item.section == "switches" else 0
    assert {name: ordered[name] for name in boxes} == dict(boxes)
    racks = sum(group.count for group in onprem.facility.racks) if onprem.facility else 0
    bought = (item for item in items if item.section == "racks" and not item.item.startswith("power distribution"))
    assert sum(item.count for item in bought) == racks


def _parse_name(item: BomItem) -> str:
    found = re.search(r"\(([^()]+)\)$", item.item)
    assert found, item
    return found[1]
