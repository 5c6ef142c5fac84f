"""The published plan has every subnet, name, address and AS number, and ``diff`` reports what is renumbered."""

from __future__ import annotations

from typing import Any

import pytest
from samples import EXAMPLES, ROOT

from supercloud.plan.model.plan import Plan
from supercloud.plan.publish.diff import diff_plans
from supercloud.plan.publish.document import build_document
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load, loads

SMALL = ROOT / "examples" / "06-roce-small" / "cluster.yaml"
NETWORKS = ROOT / "examples" / "05-superpod-networks" / "cluster.yaml"


def list_impacts(path: Any, *changes: tuple[str, str]) -> dict[str, str]:
    text = path.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    plans = [resolve(loads(item, str(path))) for item in (path.read_text(), text)]
    assert not any(plan.errors for plan in plans)
    return {change.path: change.impact for change in diff_plans(*plans) if change.path.startswith("networks")}


def publish_networks(plan: Plan) -> dict[str, Any]:
    found = build_document(plan).model_dump()["networks"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    "path", [item for item in EXAMPLES if load(item).model.site.kind == "onprem"], ids=lambda path: path.parent.name
)
def test_the_document_has_every_run(path: Any) -> None:
    plan = resolve(load(path))
    assert plan.networks
    found = publish_networks(plan)
    assert [item["cidr"] for item in found["subnets"]] == [str(item.block) for item in plan.networks.subnets]
    assert len({item["name"] for item in found["subnets"]}) == len(found["subnets"])
    for item, run in zip(found["switches"], plan.networks.switches, strict=True):
        assert item["hosts"].startswith(f"{run.fabric}-{run.tier.name}-")
        assert run.get_management_address(0).rpartition(".")[0] in item["addresses"]


@pytest.mark.slow
def test_another_network_renumbers_its_addresses() -> None:
    found = list_impacts(SMALL, ("network: {domain", "network: {management: 100.80.0.0/16, domain"))
    assert found["networks.switches[compute/leaf].addresses"] == "replaces"
    assert found["networks.switches[compute/leaf].loopbacks.addresses"] == "replaces"
    assert found["networks.bmcs[train].addresses"] == found["networks.subnets[bmc-train].cidr"] == "replaces"
    assert not any("underlays" in path for path in found)


@pytest.mark.slow
def test_other_as_numbers_and_link_addresses_are_reported() -> None:
    found = list_impacts(SMALL, ("4200000000-4200000999", "4200001000-4200001999"))
    assert found["networks.switches[compute/leaf].asn_first"] == "replaces"
    assert set(found) == {"networks.underlays[compute].asn_range"} | {
        f"networks.switches[compute/{tier}].asn_first" for tier in ("leaf", "spine")
    }
    moved = list_impacts(SMALL, ("os: nvue ", "subnet: 192.168.0.0/16\n    os: nvue "))
    assert moved["networks.underlays[compute].cidr"] == "replaces"
    assert moved["networks.subnets[compute-p1-rail0].cidr"] == "replaces"


@pytest.mark.slow
def test_a_node_less_renumbers_nothing() -> None:
    found = list_impacts(NETWORKS, ("nodes: 127", "nodes: 126"))
    assert {path for path, impact in found.items() if impact != "changes"} == {"networks.bmcs[train].hosts"}
    assert set(found.values()) == {"changes", "removes"}
    assert "networks.subnets[in-band-train].used_addresses" in found


@pytest.mark.slow
def test_another_operating_system_is_a_change() -> None:
    assert list_impacts(SMALL, ("os: nvue ", "os: sonic ")) == {
        "networks.switches[compute/leaf].network_os": "changes",
        "networks.switches[compute/spine].network_os": "changes",
    }


@pytest.mark.slow
def test_documents_of_clouds_have_no_networks() -> None:
    clouds = [path for path in EXAMPLES if load(path).model.site.kind != "onprem"]
    assert all(build_document(resolve(load(path))).networks is None for path in clouds)
