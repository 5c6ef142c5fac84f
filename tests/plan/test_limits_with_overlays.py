"""Checks whose limits or missing facts are those of an overlay of the catalog: each reports one step beyond its limit,
and nothing at it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from catalog.test_reader import write_overlay
from halls import DGX, build_hall
from samples import ROOT
from targets.kubernetes.kube_specs import build_plan as build_kubernetes_plan

from supercloud.catalog import Catalog
from supercloud.plan.build.facility.electricity import build_circuits
from supercloud.plan.model.plan import Plan
from supercloud.plan.model.problems import Problems
from supercloud.plan.resolve import resolve
from supercloud.spec import ClusterSpec
from supercloud.spec.facility import Facility


def list_findings(plan: Plan, check: str) -> list[tuple[str, str, str]]:
    return [(item.level, item.path, item.hint) for item in plan.findings if item.check == check]


def build_hall_with(folder: Path, kind: str, name: str, text: str, **facility: Any) -> Plan:
    """A hall with an overlay of one entry of the catalog."""
    declared = build_hall(folder, nodes=32, **facility).spec
    return resolve(declared, Catalog([write_overlay(folder, kind, name, text)]))


def build_limits(value: int) -> dict[str, Any]:
    """A facility whose limits all have one value."""
    return {
        "max_cable_length": f"{value} m",
        "floor_load": f"{value} kg",
        "door": f"{value} m",
        "rack": {"type": "eia-48u", "power": f"{value} kW"},
        "management": {"type": "eia-48u", "power": f"{value} kW"},
        "power": {
            "budget": f"{value} kW",
            "voltage": f"{value} V",
            "circuit": f"{value} A",
            "feed": f"{value} kW",
            "row": f"{value} kW",
            "swing_limit": f"{value} kW",
        },
        "cooling": {"flow": f"{value} L/min", "fans": f"{value - 1} kW"},
        "energy": {"sources": [{"name": "sun", "kind": "on-site", "share": 0.1, "power": f"{value} MW"}]},
    }


def test_values_of_the_hall_are_above_their_minimum(tmp_path: Path) -> None:
    found = list_findings(build_hall(tmp_path, nodes=32, **build_limits(0)), "facility-value")
    assert {level for level, _, _ in found} == {"error"} and all(hint.startswith("set ") for _, _, hint in found)
    assert {path.removeprefix("facility.") for _, path, _ in found} == {
        *("max_cable_length", "floor_load", "door", "rack.power", "management.power", "cooling.flow", "cooling.fans"),
        *(f"power.{name}" for name in ("budget", "voltage", "circuit", "feed", "row", "swing_limit")),
        "energy.sources[0].power",
    }
    assert not list_findings(build_hall(tmp_path, nodes=32, **build_limits(1)), "facility-value")


def test_a_rack_draws_at_most_the_power_of_its_distribution(tmp_path: Path) -> None:
    facility = {"rack": {"type": "eia-48u", "nodes": 4, "power": "50 kW"}}
    low = build_hall_with(tmp_path, "racks", "eia-48u", "max_power: 40 kW\n", **facility)
    ((level, path, hint),) = list_findings(low, "rack-power")
    assert (level, path) == ("error", "facility.rack") and "nodes: 3" in hint
    enough = build_hall_with(tmp_path, "racks", "eia-48u", "max_power: 41 kW\n", **facility)
    assert not list_findings(enough, "rack-power")


def test_a_rack_of_switches_weighs_at_most_the_load_of_its_frame(tmp_path: Path) -> None:
    facility = {"rack": {"type": "orv3-44ou", "nodes": 4}, "management": {"type": "eia-48u", "racks": 1}}
    weak = build_hall_with(tmp_path, "racks", "eia-48u", "max_load: 60 kg\n", **facility)
    ((level, path, hint),) = list_findings(weak, "rack-weight")
    assert (level, path) == ("error", "facility.management") and "management.racks above 1" in hint
    strong = build_hall_with(tmp_path, "racks", "eia-48u", "max_load: 6000 kg\n", **facility)
    assert not list_findings(strong, "rack-weight")


def test_circuits_of_unknown_capacity_are_reported(tmp_path: Path) -> None:
    rack = DGX | {"pdus": 2}
    found = list_findings(build_hall(tmp_path, nodes=32, rack=rack), "power-circuit-unknown")
    assert ("note", "facility.rack") in [item[:2] for item in found] and "circuit" in found[0][2]
    known = {"voltage": "415 V", "circuit": "63 A"}
    assert not list_findings(build_hall(tmp_path, nodes=32, rack=rack, power=known), "power-circuit-unknown")


@pytest.mark.parametrize(
    "facts, level, hint", [("gres: null\n", "error", "accelerators/gres"), ("devices: null\n", "warning", "devices")]
)
def test_accelerators_have_a_name_and_device_files_in_slurm(tmp_path: Path, facts: str, level: str, hint: str) -> None:
    plan = build_hall(tmp_path, nodes=32)
    assert not list_findings(plan, "slurm-gres")
    changed = resolve(plan.spec, Catalog([write_overlay(tmp_path, "accelerators", "h100-sxm", facts)]))
    ((found, path, fix),) = list_findings(changed, "slurm-gres")
    assert (found, path) == (level, "pools[0].machine") and hint in fix


def test_rails_of_unnamed_devices_cannot_be_distinguished(tmp_path: Path) -> None:
    adapters = "adapters:\n- {role: compute, kind: infiniband, count: 8, speed: 400 Gb/s, model: ConnectX-7}\n"
    unnamed = Catalog([write_overlay(tmp_path, "machines", "dgx-h100", adapters)])
    ((level, path, hint),) = list_findings(build_kubernetes_plan(catalog=unnamed), "kubernetes-rails")
    assert (level, path) == ("note", "pools[0].machine") and "adapters.devices" in hint
    assert not list_findings(build_kubernetes_plan(), "kubernetes-rails")


def test_a_queue_runs_on_its_oldest_kubernetes_release_or_later(tmp_path: Path) -> None:
    for least, expected in (("1.37", [("error", "scheduler.queue_version")]), ("1.36", [])):
        folder = tmp_path / least
        folder.mkdir()
        overlay = Catalog([write_overlay(folder, "kueue", "0.19", f'min_kubernetes: "{least}"\n')])
        scheduler = {"scheduler": {"kind": "kubernetes", "version": "1.36", "queue_version": "0.19"}}
        found = list_findings(build_kubernetes_plan(scheduler, overlay), "kubernetes-queue-release")
        assert [item[:2] for item in found] == expected
        assert all("scheduler.version to 1.37" in item[2] for item in found)


def test_an_accelerator_without_a_product_name_has_no_device_class(tmp_path: Path) -> None:
    unnamed = Catalog([write_overlay(tmp_path, "accelerators", "h100-sxm", "product_names: []\n")])
    for devices, expected in (("plugin", "note"), ("claims", "warning")):
        scheduler = {"scheduler": {"kind": "kubernetes", "version": "1.36", "devices": devices}}
        ((level, path, hint),) = list_findings(build_kubernetes_plan(scheduler, unnamed), "kubernetes-products")
        assert (level, path) == (expected, "pools[0].machine") and "product_names" in hint
        assert not list_findings(build_kubernetes_plan(scheduler), "kubernetes-products")


def plan_cloud(catalog: Catalog | None = None, **more: Any) -> Plan:
    """The smallest cluster on a cloud."""
    spec = {
        "name": "small",
        "site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"]},
        "scheduler": {"kind": "slurm", "version": "25.11", "managed_database": True},
        "pools": [{"name": "cpu", "machine": "m6i.8xlarge", "nodes": 2}],
    } | more
    return resolve(ClusterSpec.model_validate(spec), catalog)


def test_a_managed_database_is_one_that_the_provider_has(tmp_path: Path) -> None:
    without = Catalog([write_overlay(tmp_path, "providers", "aws", "database: null\n")])
    assert [item[:2] for item in list_findings(plan_cloud(without), "cloud-database")] == [
        ("error", "scheduler.managed_database")
    ]
    assert not list_findings(plan_cloud(), "cloud-database")


def test_the_region_is_one_of_the_provider_of_the_site(tmp_path: Path) -> None:
    region = (ROOT / "supercloud/catalog/data/regions/us-east-1.yaml").read_text().replace("us-east-1", "north-1")
    other = region.replace("provider: aws", "provider: azure")
    assert region != other
    site = {"site": {"kind": "aws", "region": "north-1", "zones": ["north-1a"]}}
    for text, expected in ((other, [("error", "site.region")]), (region, [])):
        found = plan_cloud(Catalog([write_overlay(tmp_path, "regions", "north-1", text)]), **site)
        assert [item[:2] for item in list_findings(found, "cloud-region")] == expected


@pytest.mark.parametrize("phases, kw", [(1, 5.888), (3, 10.198), (None, 10.198)])  # 0.8 · 230 V · 32 A, · √3
def test_a_distribution_unit_has_its_number_of_phases(tmp_path: Path, phases: int | None, kw: float) -> None:
    text = "name: own-pdu\ntitle: Own PDU\nsource: [own]\nvoltage: 230 V\ncurrent: 32 A\n"
    text += f"phases: {phases}\n" if phases else ""
    catalog = Catalog([write_overlay(tmp_path, "pdus", "own-pdu", text)])
    facility, problems = Facility.model_validate({"rack": {"type": "eia-48u"}}), Problems()
    built = build_circuits("own-pdu", 2, "facility.rack", facility, catalog, problems)
    assert built is not None and built[0].circuit_power is not None
    assert built[0].circuit_power.to("kW") == pytest.approx(kw, abs=0.001)
