"""What the language bounds, and that every problem is said with its line, whatever else is wrong."""

from __future__ import annotations

import pytest
import yaml
from pydantic import ValidationError
from samples import EXAMPLES

from supercloud.errors import SpecError
from supercloud.spec import ClusterSpec, Fabric, Storage
from supercloud.spec.document import parse_yaml
from supercloud.spec.loader import loads

GOOD = EXAMPLES[0].read_text()


@pytest.mark.parametrize("opening", ["[", "- ", "{a: "])
def test_deep_nesting_does_not_end_the_process(opening: str) -> None:
    with pytest.raises(SpecError):
        parse_yaml("x:\n  " + opening * 100_000)


def test_of_very_many_problems_the_first_are_said() -> None:
    with pytest.raises(SpecError) as caught:
        loads(GOOD + "".join(f"key{number}: 1\n" for number in range(3000)))
    assert len(caught.value.findings) == 201 and "2800 more" in str(caught.value)


def test_a_name_and_a_key_that_occur_twice_are_said_beside_other_problems() -> None:
    pool = "{name: train, machine: dgx-h100, nodes: 1}"
    with pytest.raises(SpecError) as caught:
        loads(f"name: a\nname: b\nwrong: 1\npools:\n  - {pool}\n  - {pool}\n", "x.yaml")
    said = {(item.line, item.path) for item in caught.value.findings}
    assert {(2, "name"), (3, "wrong"), (6, "pools[1].name")} <= said


def test_a_time_of_nothing_is_refused() -> None:
    with pytest.raises(ValidationError, match="not more than 0"):
        Storage.model_validate({"name": "a", "kind": "nfs", "checkpoint": {"parameters": "1B", "stall": "0 s"}})


def test_ten_million_links_are_refused() -> None:
    with pytest.raises(ValidationError):
        Fabric.model_validate({"name": "a", "kind": "roce", "peer_links": 10_000_000})


@pytest.mark.parametrize("interface", ["ib0 $(id)", "ib0;id", "ib0\nib1", "a" * 16])
def test_an_interface_has_the_name_of_one(interface: str) -> None:
    with pytest.raises(ValidationError):
        Storage.model_validate({"name": "a", "kind": "nfs", "interface": interface})


def test_an_option_has_one_line() -> None:
    with pytest.raises(ValidationError):
        Storage.model_validate({"name": "a", "kind": "weka", "options": {"source": "https://x\nENV\nid"}})


def test_the_examples_are_within_the_bounds() -> None:
    for path in EXAMPLES:
        ClusterSpec.model_validate(yaml.safe_load(path.read_text()))
