"""No resource of an example is lost: a URN that was recorded is still there, or another resource names it as alias.

``pytest tests/clouds/test_urns.py --write-generated`` records the URNs anew; new ones are recorded, lost ones need an
alias (``context.build_options(aliases=[…])``) first: without it an update would delete what users have and make it
again.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from offline.graph import Graph
from programs import AWS, graph, short

# a generated SDK warns of each deprecated class when its module is loaded, used or not
pytestmark = pytest.mark.filterwarnings("ignore:.* has been deprecated in favor of:DeprecationWarning")
RECORDED = Path(__file__).parent / "urns.yaml"


def lost(recorded: list[str], found: Graph) -> list[str]:
    """Recorded URNs that nothing stands for any more."""
    known = {short(urn) for entry in found.values() for urn in (entry.urn, *entry.aliases)}
    return sorted(set(recorded) - known)


def read() -> dict[str, list[str]]:
    recorded: dict[str, list[str]] = yaml.safe_load(RECORDED.read_text())
    return recorded


@pytest.mark.parametrize("name", AWS)
def test_no_recorded_urn_is_lost(name: str, write_generated: bool) -> None:
    found = graph(name)
    recorded = read() if RECORDED.exists() else {}
    assert not lost(recorded.get(name, []), found), "give what replaces them an alias"
    if write_generated:
        recorded[name] = [short(urn) for urn in found]
        RECORDED.write_text(yaml.safe_dump(dict(sorted(recorded.items())), width=200))
    assert recorded.get(name) == [short(urn) for urn in found], "URNs came: record them with --write-generated"


def test_a_lost_urn_is_noticed_unless_something_names_it_as_alias() -> None:
    found = graph("10-aws-eks")
    urns = [short(urn) for urn in found]
    dropped = "aws:ec2/vpc:Vpc::prod-vpc"
    without = Graph({urn: entry for urn, entry in found.items() if short(urn) != dropped}, {})
    assert lost(urns, without) == [dropped]
    vpc = found.one("aws:ec2/vpc:Vpc")
    new = replace(vpc, urn=vpc.urn.replace("prod-vpc", "prod-net"), aliases=(vpc.urn,))
    renamed = Graph({**without.entries, new.urn: new}, {})
    assert not lost(urns, renamed)


def test_nothing_is_recorded_of_examples_that_are_gone() -> None:
    assert set(read()) == set(AWS)
