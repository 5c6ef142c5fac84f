"""A cluster of a fleet that is reached as a Pulumi stack says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from samples import EXAMPLES

from supercloud.errors import EngineError, InputError, SpecError
from supercloud.jobs.fleet import fleet_of
from supercloud.jobs.stacks import reached
from supercloud.spec.fleet import Connection

STACK = "acme/trainer/prod"


@pytest.fixture
def pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A command that says what a file beside it says, and notes what it was asked."""
    command = tmp_path / "bin" / "pulumi"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\ncat {tmp_path}/said\nexit $(cat {tmp_path}/code)\n')
    command.chmod(0o755)
    (tmp_path / "code").write_text("0")
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def test_a_fleet_reads_the_stack(pulumi: Path) -> None:
    (pulumi / "said").write_text('{"engine": "kubernetes", "context": "block"}')
    spec = next(path for path in EXAMPLES if path.parent.name == "01-minimal")
    (pulumi / "fleet.yaml").write_text(f"name: f\nclusters:\n  - {{spec: {spec}, connect: {{stack: {STACK}}}}}\n")
    (cluster,) = fleet_of(pulumi / "fleet.yaml").clusters
    assert cluster.member.connect == Connection(engine="kubernetes", context="block")
    assert (pulumi / "asked").read_text().split() == ["stack", "output", "connection", "--json", "--stack", STACK]


def test_two_stacks_that_say_the_same_context(pulumi: Path) -> None:
    """The file alone does not show it."""
    (pulumi / "said").write_text('{"engine": "kubernetes"}')
    specs = {
        name: next(path for path in EXAMPLES if path.parent.name == name) for name in ("01-minimal", "02-superpod")
    }
    members = "".join(f"  - {{spec: {spec}, connect: {{stack: {STACK}}}}}\n" for spec in specs.values())
    (pulumi / "fleet.yaml").write_text(f"name: f\nclusters:\n{members}")
    with pytest.raises(InputError, match="01-minimal.* and .*02-superpod.* the current context of the kubeconfig"):
        fleet_of(pulumi / "fleet.yaml")


def test_what_stands_beside_the_stack_wins(pulumi: Path) -> None:
    (pulumi / "said").write_text('{"engine": "slurm", "via": "ssh:10.0.0.5"}')
    assert reached(Connection(stack=STACK, via="ssh:login")) == Connection(engine="slurm", via="ssh:login")


@pytest.mark.parametrize(
    ("said", "code", "problem"),
    [
        ("error: no stack named 'prod' found", "255", "no stack named"),
        ("{}", "0", "name the engine"),
        ("null", "0", "no connection"),
        ('{"engine": "slurm", "via": "telnet:x"}', "0", "no connection"),
        ("not json", "0", "no connection"),
    ],
)
def test_stacks_that_say_nothing_of_use(pulumi: Path, said: str, code: str, problem: str) -> None:
    (pulumi / "said").write_text(said)
    (pulumi / "code").write_text(code)
    with pytest.raises(EngineError, match=problem) as raised:
        reached(Connection(stack=STACK))
    assert STACK in str(raised.value)


def test_without_pulumi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(EngineError, match="is Pulumi installed"):
        reached(Connection(stack=STACK))


def test_neither_engine_nor_stack(tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text("name: f\nclusters:\n  - {spec: a.yaml, connect: {context: x}}\n")
    with pytest.raises(SpecError, match="name the engine, or the stack"):
        fleet_of(tmp_path / "fleet.yaml")
