"""A real Chromium, installed if it is missing, and the reports that it opens."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser

from supercloud.catalog import Catalog
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load, loads
from supercloud.targets.report import render_report

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[2] / "examples"


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if os.geteuid() != 0:
        pytest.fail("the report's test needs root: it installs Debian's Chromium")
    done = subprocess.run(
        [HERE / "install.sh"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900
    )
    if done.returncode:
        pytest.fail(f"install.sh failed:\n{done.stdout[-4000:]}")
    made = Browser(tmp_path_factory.mktemp("profile"))
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="session")
def plans() -> dict[str, Plan]:
    """Plans of a SuperPOD, NVL72 racks with a torus, a Clos of 24,576 GPUs, 16,384 GPUs, small clusters and clouds."""
    overlay = Catalog([HERE / "catalog"])
    names = (
        "01-minimal",
        "03-nvl72",
        "04-roce-24k",
        "05-superpod-networks",
        "07-storage",
        "08-kubernetes",
        "09-aws-slurm",
    )
    found = {name: resolve(load(EXAMPLES / name / "cluster.yaml")) for name in names}
    small = (EXAMPLES / "01-minimal" / "cluster.yaml").read_text()
    assert "nodes: 16" in small
    return {
        "one-switch": resolve(loads(small.replace("nodes: 16", "nodes: 8"))),
        "superpod": resolve(load(HERE / "superpod.yaml"), overlay),
        "site": resolve(load(HERE / "site.yaml"), overlay),
    } | found


@pytest.fixture(scope="session")
def pages(plans: dict[str, Plan], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    found = {}
    for name, plan in plans.items():
        assert not plan.errors, plan.errors
        found[name] = folder / f"{name}.html"
        found[name].write_text(render_report(plan))
    return found
