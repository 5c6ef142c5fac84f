"""Pools that are off the plan's in-band or management network are found: no cable leads to the addresses they have."""

from __future__ import annotations

from typing import Any

import pytest
from plan.test_resolve import plan_spec
from plan.test_storage_networks import COMPUTE, IN_BAND, MANAGEMENT

from supercloud.errors import Finding
from supercloud.plan.checks import rebuild
from supercloud.plan.model.plan import Plan

TEN = {"name": "b", "machine": "dgx-h200", "nodes": 10}


def build_site(*fabrics: dict[str, Any], joined: list[str], a: list[str] | None = None, **b: Any) -> Plan:
    """Pool b on some networks, and pool a on all of them unless specified."""
    nodes = {"name": "a", "machine": "dgx-h100", "nodes": 20, "fabrics": a or [item["name"] for item in fabrics]}
    return plan_spec(pools=[nodes, TEN | {"fabrics": joined} | b], fabrics=list(fabrics))


def list_findings(plan: Plan) -> list[Finding]:
    return [item for item in plan.findings if item.check in ("pool-in-band", "pool-management")]


def test_nodes_without_a_port_on_the_in_band_network_are_an_error() -> None:
    """They are in slurm.conf with addresses that no network carries. The suggestion fixes it."""
    (finding,) = list_findings(build_site(COMPUTE, IN_BAND, joined=["compute"]))
    assert (finding.check, finding.level, finding.path) == ("pool-in-band", "error", "pools[1].fabrics")
    assert "the 10 nodes of b is on in-band" in finding.problem and "(10.2.0.[1-10])" in finding.problem
    assert finding.hint.startswith("add in-band to pools[1].fabrics, or suppress")
    fixed = build_site(COMPUTE, IN_BAND, joined=["compute", "in-band"])
    assert not list_findings(fixed) and not fixed.errors


@pytest.mark.slow
def test_management_controllers_without_a_cable_are_a_warning() -> None:
    (finding,) = list_findings(build_site(COMPUTE, IN_BAND, MANAGEMENT, joined=["compute", "in-band"]))
    assert (finding.check, finding.level, finding.path) == ("pool-management", "warning", "pools[1].fabrics")
    assert "bmc-b-[0001-0010] (100.65.0.[1-10])" in finding.problem
    assert finding.hint.startswith("add management to pools[1].fabrics, or suppress")
    assert not list_findings(build_site(COMPUTE, IN_BAND, MANAGEMENT, joined=["compute", "in-band", "management"]))


def test_unknown_ports_are_reported() -> None:
    """They may be there, so it is no error; any machine has one for management."""
    plan = build_site(COMPUTE, IN_BAND, MANAGEMENT, joined=["compute"], machine="mi300x-8gpu")
    in_band, management = list_findings(plan)
    assert in_band.level == "warning"
    assert in_band.hint.startswith("add the ports of mi300x-8gpu to a catalog overlay (adapters, role: in-band)")
    assert management.hint.startswith("add management to pools[1].fabrics")


def test_a_full_network_is_not_suggested() -> None:
    """By hand: 30 nodes take 60 of the 64 ports of the only switch, 23 links to the building the others and 19 more."""
    full = IN_BAND | {"tiers": 1, "external_links": 23}
    (finding,) = list_findings(build_site(COMPUTE, full, joined=["compute"]))
    assert finding.hint.startswith("declare a network with role: in-band for b")


@pytest.mark.slow
def test_pools_that_do_not_fit_together_are_tried_in_parts() -> None:
    """With 20 nodes the switch has ports for a few more: those of the small pool, not of 100. What is advised works."""
    small = TEN | {"name": "c", "nodes": 2, "fabrics": ["compute"]}
    nodes = {"name": "a", "machine": "dgx-h100", "nodes": 20, "fabrics": ["compute", "in-band"]}
    fabrics = [COMPUTE, IN_BAND | {"tiers": 1}]
    large = TEN | {"nodes": 100, "fabrics": ["compute"]}
    findings = list_findings(plan_spec(pools=[nodes, large, small], fabrics=fabrics))
    assert [item.hint.split(",")[0] for item in findings] == [
        "declare a network with role: in-band for b",
        "add in-band to pools[2].fabrics",
    ]
    followed = plan_spec(pools=[nodes, large, small | {"fabrics": ["compute", "in-band"]}], fabrics=fabrics)
    assert [item.path for item in list_findings(followed)] == ["pools[1].fabrics"] and len(followed.errors) == 1


@pytest.mark.slow
def test_suggestions_for_pools_of_two_machines_work_together() -> None:
    """The switch has ports for 10 more nodes: those of one machine or those of the other."""
    nodes = {"name": "a", "machine": "dgx-h100", "nodes": 20, "fabrics": ["compute", "in-band"]}
    others = [
        {"name": name, "machine": machine, "nodes": 10, "fabrics": ["compute"]}
        for name, machine in (("b", "dgx-h100"), ("d", "dgx-h200"))
    ]
    fabrics = [COMPUTE, IN_BAND | {"tiers": 1, "external_links": 2}]
    hints = [item.hint for item in list_findings(plan_spec(pools=[nodes, *others], fabrics=fabrics))]
    assert hints[0].startswith("add in-band to pools[1].fabrics")
    assert hints[1].startswith("declare a network with role: in-band for d")
    followed = plan_spec(pools=[nodes, others[0] | {"fabrics": ["compute", "in-band"]}, others[1]], fabrics=fabrics)
    assert [item.path for item in followed.errors] == ["pools[2].fabrics"]


def test_if_the_smallest_pool_does_not_fit_no_more_parts_are_tried() -> None:
    """Nor after as many as are tried over a check: each takes a plan."""
    plan = plan_spec(pools=[TEN | {"name": f"b{number}", "nodes": 9 + number} for number in range(20)])
    tried: list[list[str]] = []

    def try_changes(added: dict[str, str]) -> bool:
        tried.append(sorted(added))
        return False

    budget = rebuild.TrialBudget()
    assert rebuild.assign_working(plan, plan.pools, ["in-band"], try_changes, budget, {}) == ({}, True)
    assert [len(names) for names in tried] == [20, 1] and tried[1] == ["b0"]
    for _ in range(20):
        rebuild.assign_working(plan, plan.pools, ["in-band"], try_changes, budget, {})
    assert len(tried) == 21 + 16 and budget.parts == 0
    assert rebuild.assign_working(plan, plan.pools, ["in-band"], try_changes, budget, {}) == ({}, False)


@pytest.mark.slow
def test_an_untested_network_is_not_excluded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan of more nodes than are planned for a hint is made once: of the first network, which is full."""
    monkeypatch.setattr(rebuild, "_NODES", 1)
    full, other = IN_BAND | {"tiers": 1, "external_links": 23}, IN_BAND | {"name": "other", "role": "in-band"}
    (finding,) = list_findings(build_site(COMPUTE, full, other, joined=["compute"]))
    assert finding.hint.startswith(
        "try in-band or other in pools[1].fabrics (not all were tested because the plan is large)"
    )
    monkeypatch.undo()
    (finding,) = list_findings(build_site(COMPUTE, full, other, joined=["compute"]))
    assert finding.hint.startswith("add other to pools[1].fabrics")


@pytest.mark.parametrize(
    "fabrics, joined",
    [
        ([COMPUTE], ["compute"]),
        ([COMPUTE, MANAGEMENT | {"upstream": None}], ["compute", "management"]),
        ([COMPUTE, IN_BAND, IN_BAND | {"name": "other", "role": "in-band"}], ["other"]),
    ],
    ids=["no such network", "no in-band network", "one each"],
)
def test_pools_on_all_available_networks_have_no_findings(fabrics: list[dict[str, Any]], joined: list[str]) -> None:
    plan = build_site(*fabrics, joined=joined, a=[item["name"] for item in fabrics if item["name"] != "other"])
    assert len(plan.fabrics) == len(fabrics) and not list_findings(plan)


@pytest.mark.slow
def test_leaves_that_join_need_uplink_ports() -> None:
    """All ports of other switches are for nodes. Their findings are correct, and one network for both is enough."""
    own = IN_BAND | {
        "name": "own",
        "role": "in-band",
        "external_links": 0,
        "upstream": {"fabric": "in-band", "links": 2},
    }
    plan = build_site(COMPUTE, IN_BAND, own, joined=["compute", "own"], a=["compute", "in-band"])
    (error,) = plan.errors
    assert (
        "has 2 links to in-band, and nvidia-sn4600c has no uplink ports in addition to the 64 for nodes"
        in error.problem
    )
    assert "or connect the pools to the upstream fabric" in error.hint
    assert not build_site(COMPUTE, IN_BAND, joined=["compute", "in-band"]).errors


@pytest.mark.slow
def test_more_links_than_uplink_ports_are_reported_with_the_number_that_fits() -> None:
    """An SN2201 has 4: with fewer links there is no finding. Omitting the management network is not a fix."""

    def look(links: int) -> Plan:
        management = MANAGEMENT | {"upstream": {"fabric": "in-band", "links": links}}
        joined = ["compute", "in-band", "management"]
        return build_site(COMPUTE, IN_BAND, management, joined=joined)

    (error,) = look(5).errors
    assert "has 5 links to in-band, and nvidia-sn2201 has 4 uplink ports" in error.problem
    assert error.hint == (
        "set upstream: {fabric: in-band, links: 4}, or use a switch with 5 of them (uplink_ports in the catalog)"
    )
    assert not look(4).errors
