"""A spec with very many problems: their number in an answer, and the work for them, are bounded."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from samples import EXAMPLES

from supercloud.catalog import Catalog
from supercloud.cli.output import print_plan_findings
from supercloud.errors import Finding
from supercloud.plan.resolve import resolve
from supercloud.spec import ClusterSpec

AWS: dict[str, Any] = {
    "name": "a",
    "site": {"kind": "aws", "region": "us-west-2", "zones": ["us-west-2a"]},
    "scheduler": {"kind": "slurm", "version": "25.11"},
    "pools": [{"name": "train", "machine": "p5.48xlarge", "nodes": 2}],
}


def test_unknown_names_of_partitions_are_bounded() -> None:
    data = yaml.safe_load(EXAMPLES[0].read_text())
    data["scheduler"]["partitions"] = [
        {"name": "p", "pools": ["train", *(f"q{number}" for number in range(300))], "accounts": ["nobody"]}
    ]
    found = [item for item in resolve(ClusterSpec.model_validate(data), Catalog([])).errors if "unknown" in item.check]
    assert len(found) == 201 and found[-1].problem == "101 more unknown names of pools and tenants"
    assert found[0].path == "scheduler.partitions[0].pools[1]"


def test_only_unknown_names_that_are_listed_get_the_nearest_names() -> None:
    data = yaml.safe_load(EXAMPLES[0].read_text())
    data["pools"] = [
        {"name": f"p{at}", "machine": "dgx-h100", "nodes": 1, "fabrics": [f"compute{number}" for number in range(60)]}
        for at in range(4)
    ]
    plan = resolve(ClusterSpec.model_validate(data), Catalog([]))
    found = [finding for finding in plan.errors if finding.problem.startswith("unknown fabric")]
    assert len(found) == 240 and [bool(finding.hint) for finding in found] == [True] * 200 + [False] * 40


def test_a_cluster_in_more_zones_than_a_region_has_is_one_finding() -> None:
    zones = {f"p{pool}": [f"us-west-2-{pool}-{zone}" for zone in range(60)] for pool in range(2)}
    pools = [{"name": name, "machine": "p5.48xlarge", "nodes": 2, "zones": own} for name, own in zones.items()]
    plan = resolve(ClusterSpec.model_validate(AWS | {"pools": pools}), Catalog([]))
    assert [finding.path for finding in plan.errors if "at most 64" in finding.problem] == ["site.zones"]


def test_each_overlapping_range_is_one_finding() -> None:
    network = {"cidr": "10.0.0.0/16", "cidrs": ["10.1.0.0/16"] * 200}
    plan = resolve(ClusterSpec.model_validate(AWS | {"network": network}), Catalog([]))
    found = [finding for finding in plan.errors if "overlaps with" in finding.problem]
    assert [finding.path for finding in found] == [f"network.cidrs[{index}]" for index in range(1, 200)]
    assert {finding.problem for finding in found} == {"10.1.0.0/16 overlaps with 10.1.0.0/16 (network.cidrs[0])"}


def test_the_listed_findings_of_a_plan_are_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    findings = [Finding("a", "error", f"x[{at}]", "wrong") for at in range(201)]
    findings += [Finding("b", "note", f"x[{at}]", "strange") for at in range(1999)]
    print_plan_findings(findings)
    *listed, last = capsys.readouterr().out.splitlines()
    assert len(listed) == 200 and all(line.startswith("error: ") for line in listed)
    assert last == (
        "2,000 more findings, 1 error among them: fix these first, or list all with supercloud check --json"
    )
    print_plan_findings(findings[:200])
    assert len(capsys.readouterr().out.splitlines()) == 200
