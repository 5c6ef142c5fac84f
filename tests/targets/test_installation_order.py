"""The page above the folders lists every folder that is installed."""

from __future__ import annotations

import re

import pytest
from samples import ROOT

import supercloud.targets as registry
from supercloud.plan.build.fabric.partitions import list_manager_hosts
from supercloud.plan.resolve import resolve
from supercloud.primitives.nodes import fold
from supercloud.spec.loader import load
from supercloud.targets.installation import render_order

EXAMPLES = [path for path in sorted((ROOT / "examples").glob("0[1-6]*/cluster.yaml")) if "onprem" in path.read_text()]


def list_folders(page: str) -> list[str]:
    return [name for line in page.splitlines() if line.startswith("| ") for name in re.findall(r"`([a-z]+)/", line)]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_each_target_of_an_example_is_a_step(path: object) -> None:
    plan = resolve(load(str(path)))
    page = render_order(plan).files["INSTALL.md"].text
    assert set(registry.list_targets(plan)) - set(list_folders(page)) <= {"diagram"}
    assert list_folders(page)[-1] == plan.scheduler.kind


def test_a_target_that_is_added_to_the_registry_is_a_step_before_the_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = resolve(load(EXAMPLES[0]))
    before = list_folders(render_order(plan).files["INSTALL.md"].text)
    monkeypatch.setitem(registry.TARGETS, "licenses", "supercloud.targets.licenses:render")
    after = list_folders(render_order(plan).files["INSTALL.md"].text)
    assert after == [*before[:-1], "licenses", before[-1]]


def test_hosts_of_the_subnet_manager_get_an_operating_system_first() -> None:
    """Later steps install OpenSM on them; the hosts of schedulers and servers are listed once."""
    plan = resolve(load(str(ROOT / "examples" / "02-superpod" / "cluster.yaml")))
    rows = render_order(plan).files["INSTALL.md"].text.splitlines()
    hosts = ", ".join(line.split(" | ")[2] for line in rows if "an operating system" in line)
    assert hosts.count(fold(list_manager_hosts(plan.fabrics[0]))) == 1
