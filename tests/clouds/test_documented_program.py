"""The Pulumi program of the documentation, unchanged, in a network of another stack."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pulumi
import pulumi_aws as aws
import pytest
from offline.recorder import record
from samples import EXAMPLES, ROOT

pytestmark = pytest.mark.slow


def test_the_documented_program_creates_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```{code-block} python\n(.*?)```", (ROOT / "docs/how-to/aws.md").read_text(), re.S)
    spec = next(path for path in EXAMPLES if path.parent.name == "10-aws-eks")
    assert code.count('"cluster.yaml"') == 1

    def program() -> None:
        vpc = aws.ec2.Vpc("vpc", cidr_block="10.0.0.0/16")
        a, b = (
            aws.ec2.Subnet(name, vpc_id=vpc.id, cidr_block=f"10.0.{start}.0/18")
            for name, start in (("a", 0), ("b", 64))
        )
        # the recorder has no other stacks
        outputs = {"vpc": vpc.id, "private_subnet": a.id, "public_subnet": b.id}
        monkeypatch.setattr(pulumi, "StackReference", lambda name: SimpleNamespace(require_output=outputs.__getitem__))
        exec(code.replace("cluster.yaml", str(spec)), {})

    graph = record(program, preview=False)
    assert graph.exports["connection"] == {"engine": "kubernetes", "context": "block"}
    assert [entry.name for entry in graph.of_type("aws:ec2/vpc:Vpc")] == ["vpc"]
