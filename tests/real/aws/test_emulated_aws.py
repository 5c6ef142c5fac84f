"""The examples on AWS, created by the real Pulumi engine in an emulated AWS that has its own rules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from emulator import Emulator
from inventory import has_operation, list_left
from real.pulumi.engine import Engine, select_changes
from samples import EXAMPLES

Start = Callable[..., Engine]

SPECS = {
    path.parent.name: path.read_text() for path in EXAMPLES if yaml.safe_load(path.read_text())["site"]["kind"] == "aws"
}


def create_software(emulator: Emulator) -> None:
    """Create the bucket and the secret that an example names."""
    assert has_operation(emulator, "s3.create_bucket", {"Bucket": "example-software"})
    secret = {"Name": "weka/get-token", "SecretString": "token"}
    assert has_operation(emulator, "secretsmanager.create_secret", secret)


@pytest.mark.parametrize("name", SPECS)
def test_an_example_is_created_kept_and_deleted(name: str, start: Start, emulator: Emulator) -> None:
    engine, region = start(SPECS[name]), yaml.safe_load(SPECS[name])["site"]["region"]
    if name == "11-aws-ultraserver":
        create_software(emulator)
    before = list_left(emulator, region)
    created = engine.up()
    assert set(select_changes(created)) == {"create"} and created["create"] > 30
    assert select_changes(engine.up()) == {}
    found = list_left(emulator, region)
    assert found["ec2.describe_volumes"] or found["eks.list_clusters"]

    engine.configure({"supercloud:protect": "false"})
    engine.up()
    engine.run("destroy", "--yes", "--skip-preview")
    assert list_left(emulator, region) == before


def test_overlapping_subnets_are_rejected_by_the_emulator(start: Start) -> None:
    engine = start(SPECS["09-aws-slurm"])
    (engine.project / "stacks" / "__main__.py").write_text(
        "import pulumi_aws as aws\n"
        "vpc = aws.ec2.Vpc('v', cidr_block='10.0.0.0/16')\n"
        "first = aws.ec2.Subnet('a', vpc_id=vpc.id, cidr_block='10.0.0.0/20')\n"
        "aws.ec2.Subnet('b', vpc_id=first.vpc_id, cidr_block='10.0.8.0/21')\n"
    )
    failed = engine.run("up", "--yes", "--skip-preview", code=None)
    assert failed.code and "InvalidSubnet.Conflict" in failed.text


def test_types_that_the_emulator_lacks_are_listed_and_are_lacking(emulator: Emulator) -> None:
    """A type that the emulator has gained must leave the list."""
    missing = yaml.safe_load((Path(__file__).parent / "resources.yaml").read_text())["missing"]
    gained = [token for token, row in missing.items() if has_operation(emulator, row["call"], row["parameters"])]
    print(f"recorded only, as the emulator has no {', '.join(row['call'] for row in missing.values())}")
    assert not gained
