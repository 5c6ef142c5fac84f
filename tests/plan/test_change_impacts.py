"""What `diff` says about a running cluster: what cannot be changed in place, and what is removed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from plan.clouds import build_plan as build_cloud_plan
from plan.clouds import build_slurm
from plan.test_resolve import build_pools, plan_spec
from samples import ROOT

from supercloud.catalog import Catalog
from supercloud.plan.model.plan import Plan
from supercloud.plan.publish import impact_rules
from supercloud.plan.publish.diff import Change, diff_plans
from supercloud.plan.publish.document import build_document
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load

FABRIC = {"name": "compute", "kind": "infiniband", "switch": "nvidia-qm9700"}
BASE: dict[str, Any] = {
    "site": {"kind": "onprem", "location": "stockholm"},
    "pools": build_pools("dgx-h100", 15),
    "fabrics": [FABRIC],
    "facility": {"rack": {"type": "eia-48u"}},
    "scheduler": {"kind": "slurm", "version": "25.11"},
}
TABLES = {name: table for name in impact_rules.__all__ if isinstance(table := getattr(impact_rules, name), tuple)}


def diff_specs(**changes: Any) -> dict[str, Change]:
    return {item.path: item for item in diff_plans(plan_spec(**BASE), plan_spec(**BASE | changes))}


@pytest.mark.parametrize(
    "changes, paths",
    [
        (
            {"fabrics": [FABRIC | {"switch": "nvidia-qm9790"}]},
            ["fabrics[compute].switch_models.leaf", "fabrics[compute].switch_models.spine", "fabrics[compute].switch"],
        ),
        ({"site": {"kind": "onprem", "location": "frankfurt"}}, ["site.location"]),
        (
            {"facility": {"rack": {"type": "eia-52u"}}},
            ["facility.rack_groups[train].rack", "facility.rack.type"],
        ),
        ({"scheduler": {"kind": "slurm", "version": "22.05"}}, ["scheduler.version"]),
        ({"pools": build_pools("dgx-b200", 15)}, ["pools[train].machine", "pools[train].accelerator"]),
    ],
)
def test_another_product_site_or_older_release_is_a_replacement(changes: dict[str, Any], paths: list[str]) -> None:
    found = diff_specs(**changes)
    assert {path: found[path].impact for path in paths} == dict.fromkeys(paths, "replaces")


def test_fewer_nodes_are_removed_and_more_are_not() -> None:
    found = diff_specs(pools=build_pools("dgx-h100", 14))
    removed = {path for path, item in found.items() if item.impact == "removes"}
    assert {"pools[train].nodes", "pools[train].hosts", "networks.bmcs[train].hosts"} <= removed
    assert not any("addresses" in path for path in removed) and found["pools[train].addresses"].impact == "changes"
    grown = diff_plans(plan_spec(**BASE | {"pools": build_pools("dgx-h100", 14)}), plan_spec(**BASE))
    assert not {item.path for item in grown if item.impact in ("removes", "replaces")}


def test_a_smaller_storage_is_a_replacement() -> None:
    store = {"name": "scratch", "kind": "nfs", "mount": "/scratch"}
    plans = [plan_spec(storage=[store | {"capacity": size}]) for size in ("2 PiB", "900 TiB")]
    impacts = [{item.path: item.impact for item in diff_plans(*pair)} for pair in (plans, plans[::-1])]
    for path in ("storage[scratch].capacity_bytes", "storage[scratch].capacity"):
        assert [item[path] for item in impacts] == ["replaces", "changes"]


def find_release_change(old: str, new: str, build: Any = plan_spec, **more: Any) -> Change | None:
    plans = [build(**more, scheduler={"kind": "slurm", "version": version}) for version in (old, new)]
    return next((item for item in diff_plans(*plans) if item.path == "scheduler.version"), None)


def test_a_release_is_changed_in_place_only_if_it_reads_the_saved_state() -> None:
    later, skipped = find_release_change("24.11", "25.11"), find_release_change("23.11", "25.11")
    assert later and later.impact == "changes"
    assert skipped and skipped.impact == "replaces" and "24.05 and later" in skipped.why


def test_a_release_in_a_cloud_replaces_the_controller() -> None:
    plans = [build_cloud_plan(scheduler=build_slurm(version=version)) for version in ("23.11", "25.05")]
    found = next(item for item in diff_plans(*plans) if item.path == "scheduler.version")
    assert found.impact == "replaces" and "controller" in found.why


def test_kubernetes_is_not_set_back() -> None:
    plans = [plan_spec(scheduler={"kind": "kubernetes", "version": version}) for version in ("1.36", "1.35")]
    impacts = [{item.path: item.impact for item in diff_plans(*pair)} for pair in (plans, plans[::-1])]
    assert [item["scheduler.version"] for item in impacts] == ["replaces", "changes"]


def iter_leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a document with their paths, ``[*]`` for the key of an item."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from iter_leaves(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        for item in value:
            yield from iter_leaves(item, f"{path}[*]")
    else:
        yield path, value


@cache
def list_example_leaves() -> list[tuple[str, Any]]:
    plans: list[Plan] = [resolve(load(file)) for file in sorted(ROOT.glob("examples/*/cluster.yaml"))]
    return [
        leaf
        for plan in plans
        for data in (build_document(plan).model_dump(), plan.spec.model_dump(mode="json"))
        for leaf in iter_leaves(data)
    ]


def list_model_paths(model: dict[str, Any]) -> set[str]:
    """Paths of all fields of a JSON Schema."""
    found: set[str] = set()

    def collect(node: dict[str, Any], path: str) -> None:
        while "$ref" in node:
            node = model["$defs"][node["$ref"].rpartition("/")[2]]
        found.add(path)
        for part in [*node.get("anyOf", ()), *node.get("oneOf", ())]:
            collect(part, path)
        for name, part in node.get("properties", {}).items():
            collect(part, f"{path}.{name}" if path else name)
        if isinstance(node.get("items"), dict):
            collect(node["items"], f"{path}[*]")

    collect(model, "")
    return found


@pytest.mark.slow
def test_every_entry_of_a_table_is_a_path() -> None:
    """Of a published plan of the examples; what none of them has is a field of a plan or of a spec."""
    from supercloud.plan.publish.document import PlanDocument
    from supercloud.spec import ClusterSpec

    seen = {path for path, _ in list_example_leaves()}
    declared = list_model_paths(PlanDocument.model_json_schema()) | list_model_paths(ClusterSpec.model_json_schema())
    wrong = {
        (name, entry)
        for name, table in TABLES.items()
        for entry in table
        if entry not in declared and not any(path == entry or path.startswith(f"{entry}.") for path in seen)
    }
    assert not wrong
    matched = {entry for table in TABLES.values() for entry in table for path in seen if path.startswith(entry)}
    assert len(matched) > 60


@pytest.mark.slow
def test_another_value_of_each_replacing_path_is_a_replacement() -> None:
    """With the values that the published plans have there, so that an entry cannot be one that is never compared."""
    values = {path: value for path, value in list_example_leaves() if isinstance(value, str) and value}
    for entry in impact_rules.REPLACING + impact_rules.MODELS:
        for path, value in values.items():
            if path == entry or path.startswith(f"{entry}."):
                assert impact_rules.classify_impact(path.replace("*", "one"), value, f"{value}x") == "replaces", path


@pytest.mark.slow
def test_every_value_that_is_a_machine_switch_or_rack_is_in_the_table() -> None:
    catalog = Catalog.load_default()
    names = {name for kind in ("machines", "switches", "racks", "pdus", "cdus") for name in catalog.list_names(kind)}
    cloud = re.compile(r"^cloud\.|^findings|^suppressed")
    missing = {
        path
        for path, value in list_example_leaves()
        if isinstance(value, str)
        and value in names
        and not cloud.match(path)
        and impact_rules.classify_impact(path, value, f"{value}x") != "replaces"
    }
    assert not missing
