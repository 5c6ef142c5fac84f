"""Hosts of the scheduler that are no machine of the plan are named."""

from __future__ import annotations

from typing import Any

import pytest
from plan.test_resolve import planned, train

from supercloud.errors import Finding


def found(scheduler: dict[str, Any], **changes: Any) -> list[Finding]:
    plan = planned(
        scheduler={"kind": "slurm", "version": "25.11"} | scheduler, pools=train("dgx-h100", 4), fabrics=[],
        **({"facility": {"rack": {"type": "eia-48u"}}} | changes),
    )  # fmt: skip
    return [item for item in plan.findings if item.check == "service-machines"]


def test_controllers_without_a_machine_get_a_note() -> None:
    (note,) = found({"controllers": [{"name": "ctl1"}], "database": {"name": "db1"}})
    assert note.level == "note" and note.path == "scheduler.controllers[0]"
    assert note.problem.startswith("ctl1, db1 have no machines") and "scheduler.machine" in note.hint


MACHINES = {"rack": {"type": "eia-48u"}, "machines": [{"name": "mgmt", "machine": "management-server", "count": 2}]}


@pytest.mark.parametrize(
    ("scheduler", "changes"),
    [
        ({"controllers": [{"name": "ctl-01"}], "machine": "management-server"}, {}),
        ({"controllers": [{"name": "mgmt-02"}]}, {"facility": MACHINES}),
        ({"controllers": [{"name": "ctl1"}]}, {"facility": None}),
    ],
)
def test_controllers_with_a_machine_or_without_racks_get_none(
    scheduler: dict[str, Any], changes: dict[str, Any]
) -> None:
    assert found(scheduler, **changes) == []
