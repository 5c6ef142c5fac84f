"""Texts of findings: articles, singular and plural, and no double spaces."""

from __future__ import annotations

import pytest
from plan.test_resolve import build_pools, plan_spec

from supercloud.errors import QuantityError, SpecError
from supercloud.primitives.counts import format_indefinite
from supercloud.primitives.quantity import Energy, Money
from supercloud.spec.loader import loads


@pytest.mark.parametrize("noun, text", [("eia-48u", "an eia-48u"), ("rack", "a rack"), ("on-demand", "an on-demand")])
def test_the_article_fits_the_noun(noun: str, text: str) -> None:
    assert format_indefinite(noun) == text


def test_quantities_have_their_article() -> None:
    for kind in (Money, Energy):
        with pytest.raises(QuantityError, match=" an (amount of money|energy)"):
            kind("many")


def test_racks_have_their_article() -> None:
    facility = {"rack": {"type": "eia-48u", "nodes": 30}}
    (finding,) = [item for item in plan_spec(facility=facility).errors if item.check == "rack-fit"]
    assert " in an eia-48u: " in finding.problem


def test_equal_mounts_are_called_the_same() -> None:
    storage = [{"name": name, "kind": "nfs", "mount": "/home"} for name in ("home", "users")]
    found = [item.problem for item in plan_spec(storage=storage).findings if item.check == "storage-mount"]
    assert found == ["users and home have the same mount /home"]


def test_lists_of_fields_have_single_spaces() -> None:
    text = "name: a\nsite: {kind: onprem, location: paris}\nscheduler: {kind: slurm, version: '25.11'}\n"
    with pytest.raises(SpecError) as error:
        loads(text + "pools: [{name: a, machine: dgx-h100, nodes: 1}]\nsuppress: [power-budget]\n")
    assert "valid fields: check, path, reason" in error.value.findings[0].hint


def test_other_cooling_methods_are_listed_with_single_spaces() -> None:
    facility = {"rack": {"type": "eia-52u", "nodes": 6}}
    hints = [
        item.hint
        for item in plan_spec(pools=build_pools("dgx-b200", 32), facility=facility).findings
        if item.check == "cooling-density"
    ]
    assert hints and not [hint for hint in hints if "  " in hint]


def test_one_circuit_is_singular() -> None:
    power = {"voltage": "415 V", "circuit": "16 A", "feeds": 1}
    facility = {"rack": {"type": "eia-48u", "nodes": 4, "pdus": 1}, "power": power}
    problems = [item.problem for item in plan_spec(facility=facility).errors if item.check == "power-circuit"]
    assert problems and problems[0].endswith(" of its circuit")
