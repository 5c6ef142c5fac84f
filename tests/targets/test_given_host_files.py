"""Files of a cluster whose hosts have names of another scheme: every one has these names, and none of the plan's."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from samples import ROOT

from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load
from supercloud.targets import list_targets, render

pytestmark = pytest.mark.slow

CASES = {
    "03-nvl72": {"train": "r[1-4]n[01-18]", "torus": ["mi[8-30]", "mi[41-49]"]},
    "06-roce-small": {"train": "b[01-08]a,c[1-8]"},
    "07-storage": {"train": "gpu[001-020,101-110],athena"},
    "08-kubernetes": {"train": "gpu[1-40,51-73]", "dev": "zeus,hera,gpu[90-91]"},
}
# The number of a host in its pool, in scripts that find it by the name.
NUMBERS = re.compile(r"key=\S+/\$place$|prefix=\S+/ |^\S+/\+\(\[0-9\]\)\)|\$\{key#")


def plan_given(example: str, **changes: Any) -> Plan:
    """The plan of an example with other host names."""
    spec = yaml.safe_load((ROOT / "examples" / example / "cluster.yaml").read_text())
    for pool in spec["pools"]:
        pool["hosts"] = {"names": CASES[example][pool["name"]]}
    file = ROOT / "examples" / example / "given.yaml"
    try:
        file.write_text(yaml.safe_dump(spec | changes))
        return resolve(load(file))
    finally:
        file.unlink()


@pytest.mark.parametrize("example", CASES)
def test_no_file_has_a_name_of_the_plans_scheme(example: str) -> None:
    plan = plan_given(example)
    pools = "|".join(pool.name for pool in plan.pools)
    strange = re.compile(rf"(?<![\w/.-])(bmc-)?({pools})(/|-\[?)\d|({pools})/\+?[\d(]")
    found = [
        (target, path, line)
        for target in list_targets(plan)
        for path, file in render(plan, target).files.items()
        for line in (file if isinstance(file, str) else file.text).splitlines()
        if strange.search(line) and not NUMBERS.search(line)
    ]
    assert found == []


def run_script(folder: Path, text: str, *arguments: str) -> str:
    file = folder / "script.sh"
    file.write_text(text)
    found = subprocess.run(["bash", file, *arguments], capture_output=True, text=True, check=False)
    return found.stdout + found.stderr


def test_scripts_find_a_host_by_its_name(tmp_path: Path) -> None:
    storage = plan_given("07-storage")
    assert storage.networks is not None
    (links,) = storage.networks.list_pool_links("storage")
    script = str(render(storage, "infiniband")["storage/ipoib.sh"])
    for index, name in ((0, "gpu001"), (20, "gpu101"), (30, "athena")):
        assert f" {links.get_address(index)}/" in run_script(tmp_path, script, "show", name)
    for wrong in ("gpu021", "train-0001", "gpu1"):
        assert "is not a host of storage" in run_script(tmp_path, script, "show", wrong)
    clusters = plan_given("03-nvl72")
    script = str(render(clusters, "slurm")["imex-config.sh"])
    pool = clusters.pools[0]
    assert run_script(tmp_path, script, "show", "r2n01").split() == [pool.addresses[number] for number in range(18, 36)]
    roce = plan_given("06-roce-small")
    assert roce.networks is not None
    (links,) = roce.networks.nodes
    script = str(render(roce, "roce")["compute/nodes/train/roce-rails.sh"])
    assert links.get_address(9) in run_script(tmp_path, script, "show", "c2")


def test_slurm_reads_the_names_with_their_addresses() -> None:
    plan = plan_given("07-storage")
    files = render(plan, "slurm")
    assert "NodeName=gpu[001-020,101-110],athena NodeAddr=10.1.0.[1-31]" in str(files["slurm.conf"])
    assert "NodeSet=train Nodes=gpu[001-020,101-110],athena" in str(files["slurm.conf"])
    assert "train gpu 101-110 8" in str(files["node-facts.txt"])


@pytest.mark.parametrize(
    "host, pool", [("gpu001", "8"), ("gpu110", "8"), ("athena", "8"), ("gpu021", "0"), ("gpu1", "0")]
)
def test_the_health_check_finds_the_row_of_a_node(tmp_path: Path, host: str, pool: str) -> None:
    files = render(plan_given("07-storage"), "slurm")
    (tmp_path / "node-facts.txt").write_text(str(files["node-facts.txt"]))
    text = str(files["health-check.sh"])
    start, end = text.index("is_between()"), text.index("check_devices()")
    program = f"here={tmp_path} node={host}\n{text[start:end]}\nfind_facts; echo $count"
    assert run_script(tmp_path, program) == f"{pool}\n"
