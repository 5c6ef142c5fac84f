from __future__ import annotations

import pytest
from plan.test_resolve import planned, train

from supercloud.plan.publish.diff import diff_plans


def impacts(**changes: object) -> dict[str, str]:
    return {change.path: change.impact for change in diff_plans(planned(), planned(**changes))}


def test_nothing() -> None:
    assert impacts() == {}


@pytest.mark.slow
def test_growing_renames_nobody() -> None:
    found = impacts(pools=train("dgx-h100", 128))
    assert found["pools[train].nodes"] == "changes" and "replaces" not in found.values()
    assert found["pools[train].hosts"] == "changes"


def test_another_machine_replaces() -> None:
    found = impacts(pools=train("dgx-b200", 127))
    assert found["pools[train].machine"] == "replaces"


@pytest.mark.slow
def test_things_come_and_go() -> None:
    pools = [*train("dgx-h100", 127), {"name": "more", "machine": "dgx-h100", "nodes": 2}]
    assert impacts(pools=pools)["pools[more]"] == "adds"
    assert impacts(tenants=[{"name": "a"}])["tenants[a]"] == "adds"
    assert {
        change.impact for change in diff_plans(planned(pools=pools), planned()) if change.path == "pools[more]"
    } == {"removes"}


def test_another_host_name_replaces() -> None:
    assert impacts(pools=[train("dgx-h100", 127)[0] | {"hostname": "dgx"}])["pools[train].hosts"] == "replaces"
