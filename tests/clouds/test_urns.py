"""No deployed resource is replaced: every recorded URN is still the URN of a resource, or the alias of one.

``pytest tests/clouds/test_urns.py --write-generated`` adds new URNs to the recorded ones and never removes any: a URN
that no resource has any more needs an alias (``context.build_options(aliases=[context.build_alias(…)])``). Without it
an update would delete the users' resource and create it again.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from offline.graph import Graph
from programs import AWS, record_spec, shorten_urn

# a generated SDK warns of each deprecated class when its module is loaded, used or not
pytestmark = pytest.mark.filterwarnings("ignore:.* has been deprecated in favor of:DeprecationWarning")
RECORDED = Path(__file__).parent / "urns.yaml"


def find_lost_urns(recorded: list[str], found: Graph) -> list[str]:
    """Return recorded URNs that are neither the URN nor an alias of a resource."""
    known = {shorten_urn(urn) for entry in found.values() for urn in (entry.urn, *entry.aliases)}
    return sorted(set(recorded) - known)


def read() -> dict[str, list[str]]:
    recorded: dict[str, list[str]] = yaml.safe_load(RECORDED.read_text())
    return recorded


@pytest.mark.parametrize("name", AWS)
def test_no_recorded_urn_is_lost(name: str, write_generated: bool) -> None:
    found = record_spec(name)
    recorded = read() if RECORDED.exists() else {}
    assert not find_lost_urns(recorded.get(name, []), found), "the resources that replace these need an alias"
    urns = {shorten_urn(urn) for urn in found}
    if write_generated:
        recorded[name] = sorted(urns.union(recorded.get(name, [])))
        RECORDED.write_text(yaml.safe_dump(dict(sorted(recorded.items())), width=200))
    assert urns <= set(recorded.get(name, [])), "new URNs: record them with --write-generated"


def test_a_lost_urn_is_reported_unless_it_is_an_alias() -> None:
    found = record_spec("10-aws-eks")
    urns = [shorten_urn(urn) for urn in found]
    dropped = "aws:ec2/vpc:Vpc::prod-vpc"
    without = Graph({urn: entry for urn, entry in found.items() if shorten_urn(urn) != dropped}, {})
    assert find_lost_urns(urns, without) == [dropped]
    vpc = found.one("aws:ec2/vpc:Vpc")
    new = replace(vpc, urn=vpc.urn.replace("prod-vpc", "prod-net"), aliases=(vpc.urn,))
    renamed = Graph({**without.entries, new.urn: new}, {})
    assert not find_lost_urns(urns, renamed)


@pytest.mark.parametrize(
    "old, new",
    [
        ("aws:ec2/securityGroup:SecurityGroup::prod-cluster-walls", "prod-cluster-sg"),
        (
            "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule::prod-cluster-among-in",
            "prod-cluster-internal-in",
        ),
        ("aws:ec2/volumeAttachment:VolumeAttachment::prod-ctl1-state-attached", "prod-ctl1-state-attachment"),
        (
            "aws:ec2/routeTableAssociation:RouteTableAssociation::prod-public-us-east-1a-routes-joined",
            "prod-public-us-east-1a-routes-association",
        ),
    ],
)
def test_renamed_resources_have_their_old_urn_as_alias(old: str, new: str) -> None:
    assert old in read()["09-aws-slurm"], "users may have deployed it under this name"
    kind, _, _ = old.partition("::")
    entry = record_spec("09-aws-slurm").one(kind, new)
    assert [shorten_urn(alias) for alias in entry.aliases] == [old]


def test_only_existing_examples_are_recorded() -> None:
    assert set(read()) == set(AWS)
