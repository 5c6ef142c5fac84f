"""A cluster spec is read; all its errors are reported together, each with its line and path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from spec.spec_texts import GOOD, list_problems

from supercloud.errors import SpecError
from supercloud.spec.loader import load, load_job, loads
from supercloud.spec.problems import _resolve_path


def test_several_default_partitions_have_the_path_of_the_second() -> None:
    """The path had the member of the union: scheduler.slurm."""
    text = """\
name: pod1
site: {kind: onprem, location: stockholm}
scheduler:
  kind: slurm
  version: "25.11"
  partitions:
    - {name: a, pools: [train], default: true}
    - {name: b, pools: [train]}
    - {name: c, pools: [train], default: true}
pools: [{name: train, machine: dgx-h100, nodes: 4}]
"""
    assert list_problems(text) == [
        (
            9,
            "scheduler.partitions[2].default",
            "c is the default partition in addition to a, at line 7",
            "keep default: true in one partition",
        )
    ]


def test_a_duplicate_level_has_its_path() -> None:
    text = """\
name: pod1
site: {kind: onprem, location: stockholm}
scheduler: {kind: kubernetes, version: "1.36", levels: [su, fabric, su]}
pools: [{name: train, machine: dgx-h100, nodes: 4}]
"""
    assert list_problems(text) == [(3, "scheduler.levels[2]", "duplicate level 'su', at line 3", "remove it")]


def test_a_path_has_no_member_of_a_union() -> None:
    """The location of an error that a validator of a whole model raises ends with the member of the union."""
    data = {"scheduler": {"kind": "slurm"}}
    assert _resolve_path(("scheduler", "slurm"), data, False) == ("scheduler",)
    assert _resolve_path(("scheduler", "slurm", "version"), data, True) == ("scheduler", "version")


def test_all_problems_are_reported_together_with_their_location() -> None:
    found = list_problems(
        """\
nam: pod1
site: {kind: onprm, location: stockholm}
scheduler: {kind: slurm, version: "22.05", controlers: []}
pools:
  - name: train
    machine: dgx-h100
    nodes: "127"
    spares: -1
    capacity: [{kind: spott}]
storage:
  - {name: scratch, kind: lustre, capacity: 2 PBB, throughput: {read: 3}}
facility: {cooling: {kind: direct-liquid, suply: 32 °C}}
tenants: [{name: llm, share: 1.5}, {name: LLM}]
"""
    )
    by_path = {path: (line, problem, hint) for line, path, problem, hint in found}
    assert by_path["nam"][0] == 1 and by_path["nam"][2] == "did you mean name?"
    assert "name" not in by_path
    assert by_path["site"][0] == 2 and by_path["site"][2] == "did you mean onprem?"
    assert by_path["scheduler.controlers"][2] == "did you mean controllers?"
    assert by_path["pools[0].nodes"] == (7, "'127' is not a whole number", "write 127")
    assert by_path["pools[0].spares"][0] == 8
    assert by_path["pools[0].capacity[0]"][2] == "did you mean spot?"
    assert by_path["storage[0].capacity"][0] == 11 and "PiB" in by_path["storage[0].capacity"][1]
    assert "no unit" in by_path["storage[0].throughput.read"][1]
    assert by_path["facility.cooling.suply"][2] == "did you mean supply?"
    assert by_path["tenants[0].share"][1] == "1.5 is not a whole number"
    assert by_path["tenants[1].name"][0] == 13
    assert [line for line, *_ in found] == sorted(line for line, *_ in found)


def test_a_release_is_text_and_not_a_number() -> None:
    assert loads(GOOD).model.scheduler.version == "24.10"


def test_names_are_unique() -> None:
    assert "duplicate name" in list_problems(GOOD + "  - {name: train, machine: b200, nodes: 1}\n")[0][2]
    twice = GOOD + "  - {name: other, machine: b200, nodes: 1, hostname: train}\n"
    assert "another hostname" in list_problems(twice)[0][2]


CONTROLLERS = (
    "{{name: a, site: {{kind: onprem, location: stockholm}}, pools: [{{name: t, machine: dgx-h100, nodes: 1}}], \
scheduler: {{kind: slurm, version: '25.11', controllers: {}}}}}"
)
AFTER = "{{name: a, script: echo, after: {}}}"


@pytest.mark.parametrize(
    "text, reader, value, hint",
    [
        (CONTROLLERS, load, "2", "write a list of mappings: [{name: …}]"),
        (CONTROLLERS, load, "ctl1 ctl2", "write [{name: ctl1}, {name: ctl2}]"),
        (CONTROLLERS, load, "{name: ctl1}", "write [{name: ctl1}]"),
        (AFTER, load_job, "7", 'write ["7"]'),
        (AFTER, load_job, "hello", "write [hello]"),
    ],
)
def test_suggested_values_are_accepted(
    tmp_path: Path, text: str, reader: Callable[[Path], object], value: str, hint: str
) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(text.format(value))
    with pytest.raises(SpecError) as caught:
        reader(file)
    assert [finding.hint for finding in caught.value.findings] == [hint]
    if hint.startswith("write ["):
        file.write_text(text.format(hint.removeprefix("write ")))
        reader(file)
