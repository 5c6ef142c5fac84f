from __future__ import annotations

import pytest
from plan.test_resolve import build_pools, plan_spec

from supercloud.plan.publish.diff import diff_plans


def list_impacts(**changes: object) -> dict[str, str]:
    return {change.path: change.impact for change in diff_plans(plan_spec(), plan_spec(**changes))}


def test_equal_specs_have_no_differences() -> None:
    assert list_impacts() == {}


@pytest.mark.slow
def test_growth_renames_no_node() -> None:
    found = list_impacts(pools=build_pools("dgx-h100", 128))
    assert found["pools[train].nodes"] == "changes" and "replaces" not in found.values()
    assert found["pools[train].hosts"] == "changes"


def test_another_machine_replaces_the_pool() -> None:
    found = list_impacts(pools=build_pools("dgx-b200", 127))
    assert found["pools[train].machine"] == "replaces"


@pytest.mark.slow
def test_added_and_removed_items_are_reported() -> None:
    pools = [*build_pools("dgx-h100", 127), {"name": "more", "machine": "dgx-h100", "nodes": 2}]
    assert list_impacts(pools=pools)["pools[more]"] == "adds"
    assert list_impacts(tenants=[{"name": "a"}])["tenants[a]"] == "adds"
    assert {
        change.impact for change in diff_plans(plan_spec(pools=pools), plan_spec()) if change.path == "pools[more]"
    } == {"removes"}


def test_another_host_name_replaces_the_hosts() -> None:
    assert (
        list_impacts(pools=[build_pools("dgx-h100", 127)[0] | {"hostname": "dgx"}])["pools[train].hosts"] == "replaces"
    )
