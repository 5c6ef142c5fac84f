"""Files of fleets are read, and two connections to one scheduler are found."""

from __future__ import annotations

from pathlib import Path

import pytest
from spec.spec_texts import GOOD

from supercloud.errors import SpecError
from supercloud.spec.loader import load_fleet


def test_a_cluster_is_a_fleet_of_one(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(GOOD)
    fleet = load_fleet(file).model
    assert fleet.name == "pod1" and [member.spec for member in fleet.clusters] == ["cluster.yaml"]
    file.write_text(
        "name: company\nclusters:\n  - {spec: pod1.yaml, connect: {engine: slurm, via: 'ssh:login.example.com'}}\n"
        "budgets: [{tenant: llm, per: month, limit: 400000 USD}]\n"
        "data: [{name: corpus, size: 300 TB, at: [pod1/scratch, trainer/data]}]\n"
        "policy: {minimize: cost, weights: {carbon: 0.2, wait: 0.3}}\n"
    )
    assert load_fleet(file).model.clusters[0].connect is not None


def format_connection(via: str) -> str:
    return f"{{engine: slurm, via: '{via}'}}"


SAME = [
    ("{engine: kubernetes}", "{engine: kubernetes}"),
    ("{engine: kubernetes, context: a}", "{engine: kubernetes, context: a}"),
    ("{engine: slurm}", "{engine: slurm}"),
    ("{engine: slurm}", format_connection("ssh:localhost")),
    (format_connection("ssh:x"), format_connection("ssh:x")),
    (format_connection("ssh:login.example.com"), format_connection("ssh:ann@Login.Example.com.")),
    (format_connection("ssh:x"), format_connection("ssh:bob@x:22")),
    (format_connection("https://Ctl1:443/"), format_connection("https://ctl1")),
    (format_connection("https://ctl1:6820"), format_connection("http://CTL1.:6820//")),
    (format_connection("http://127.0.0.1:6820"), format_connection("http://localhost:6820")),
    (format_connection("https://[2001:db8::1]:6820"), format_connection("https://[2001:0DB8:0::1]:6820")),
]
DIFFERENT = [
    ("{engine: kubernetes, context: a}", "{engine: kubernetes, context: b}"),
    ("{engine: kubernetes, context: a}", "{engine: kubernetes}"),
    ("{engine: kubernetes}", "{engine: slurm}"),
    ("{engine: kubernetes, stack: a/b/c}", "{engine: kubernetes, stack: a/b/d}"),
    ("{engine: fake}", "{engine: fake}"),
    (format_connection("ssh:gate:2201"), format_connection("ssh:gate:2202")),
    (format_connection("https://gate/one"), format_connection("https://gate/two")),
    (format_connection("ssh:localhost:2201"), "{engine: slurm}"),
]


@pytest.mark.parametrize("first, second", [*SAME, *DIFFERENT])
def test_two_clusters_of_a_fleet_with_the_same_scheduler_are_rejected(tmp_path: Path, first: str, second: str) -> None:
    """Its nodes would be allocated twice: both lines are reported, with the field that distinguishes them."""
    file = tmp_path / "fleet.yaml"
    file.write_text(
        f"name: f\nclusters:\n  - {{spec: a.yaml, connect: {first}}}\n  - {{spec: mid.yaml}}\n"
        f"  - {{spec: b.yaml, connect: {second}}}\n"
    )
    if (first, second) in DIFFERENT:
        assert len(load_fleet(file).model.clusters) == 3
        return
    with pytest.raises(SpecError) as caught:
        load_fleet(file)
    [finding] = caught.value.findings
    assert (finding.path, finding.line) == ("clusters[2].connect", 5)
    assert all(part in str(finding) for part in ("(a.yaml)", "(b.yaml)", "at line 3", "set a different connect."))


@pytest.mark.parametrize(
    "connect, field",
    [
        ("{engine: local, via: 'ssh:x'}", "via"),
        ("{engine: local, context: a}", "context"),
        ("{engine: local, stack: a/b/c}", "stack"),
        ("{engine: slurm, context: a}", "context"),
        ("{engine: kubernetes, via: 'https://x'}", "via"),
    ],
)
def test_a_connection_has_only_fields_of_its_engine(tmp_path: Path, connect: str, field: str) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_text(f"name: f\nclusters:\n  - {{spec: a.yaml}}\n  - {{spec: b.yaml, connect: {connect}}}\n")
    with pytest.raises(SpecError) as caught:
        load_fleet(file)
    [finding] = caught.value.findings
    assert (finding.path, finding.line) == (f"clusters[1].connect.{field}", 4) and "is not used by" in finding.problem
