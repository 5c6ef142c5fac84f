"""A cluster of a fleet whose connection is an output of a Pulumi stack."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from samples import EXAMPLES

from supercloud.cli import main
from supercloud.errors import EngineError, InputError, SpecError
from supercloud.jobs import api
from supercloud.jobs.fleet.loading import load_fleet_state
from supercloud.jobs.fleet.stack_outputs import read_connection_from_stack
from supercloud.plan.model.plan import Plan
from supercloud.spec import JobSpec
from supercloud.spec.fleet import Connection

STACK = "acme/trainer/prod"


@pytest.fixture
def pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A command that prints a file, and records its arguments."""
    command = tmp_path / "bin" / "pulumi"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\ncat {tmp_path}/said\nexit $(cat {tmp_path}/code)\n')
    command.chmod(0o755)
    (tmp_path / "code").write_text("0")
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def test_a_fleet_reads_its_connection_from_the_stack(pulumi: Path) -> None:
    (pulumi / "said").write_text('{"engine": "kubernetes", "context": "block"}')
    spec = next(path for path in EXAMPLES if path.parent.name == "01-minimal")
    (pulumi / "fleet.yaml").write_text(f"name: f\nclusters:\n  - {{spec: {spec}, connect: {{stack: {STACK}}}}}\n")
    (cluster,) = load_fleet_state(pulumi / "fleet.yaml").clusters
    assert cluster.member.connect == Connection(engine="kubernetes", context="block")
    assert (pulumi / "asked").read_text().split() == ["stack", "output", "connection", "--json", "--stack", STACK]


@pytest.mark.slow
def test_two_stacks_with_the_same_context_are_rejected(pulumi: Path) -> None:
    """The file alone does not show it."""
    (pulumi / "said").write_text('{"engine": "kubernetes"}')
    specs = {
        name: next(path for path in EXAMPLES if path.parent.name == name) for name in ("01-minimal", "02-superpod")
    }
    members = "".join(f"  - {{spec: {spec}, connect: {{stack: {STACK}}}}}\n" for spec in specs.values())
    (pulumi / "fleet.yaml").write_text(f"name: f\nclusters:\n{members}")
    with pytest.raises(
        InputError, match="02-superpod.*, the current context of the kubeconfig, is the same .*01-minimal"
    ):
        load_fleet_state(pulumi / "fleet.yaml")


def test_explicit_fields_override_the_stack(pulumi: Path) -> None:
    (pulumi / "said").write_text('{"engine": "slurm", "via": "ssh:10.0.0.5"}')
    assert read_connection_from_stack(Connection(stack=STACK, via="ssh:login")) == Connection(
        engine="slurm", via="ssh:login"
    )


@pytest.mark.parametrize(
    "message, code, problem",
    [
        ("error: no stack named 'prod' found", "255", "no stack named"),
        ("{}", "0", "set the engine"),
        ("null", "0", "is not valid"),
        ('{"engine": "slurm", "via": "telnet:x"}', "0", "is not valid"),
        ("not json", "0", "is not valid"),
        (
            '{"engine": "slurm", "via": "http://ctl1:6820"}',
            "0",
            "plain http.*token is sent.*only on request.*--via http://ctl1:6820",
        ),
    ],
)
def test_stacks_without_a_connection_are_rejected(pulumi: Path, message: str, code: str, problem: str) -> None:
    (pulumi / "said").write_text(message)
    (pulumi / "code").write_text(code)
    with pytest.raises(EngineError, match=problem) as raised:
        read_connection_from_stack(Connection(stack=STACK))
    assert STACK in str(raised.value)


def test_a_missing_pulumi_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(EngineError, match="is Pulumi installed"):
        read_connection_from_stack(Connection(stack=STACK))


def test_a_connection_needs_an_engine_or_a_stack(tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text("name: f\nclusters:\n  - {spec: a.yaml, connect: {context: x}}\n")
    with pytest.raises(SpecError, match="set the engine, or a stack"):
        load_fleet_state(tmp_path / "fleet.yaml")


@pytest.fixture
def sbatch(pulumi: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for sbatch: the stack specifies Slurm as the engine."""
    (pulumi / "said").write_text('{"engine": "slurm"}')
    command = pulumi / "bin" / "sbatch"
    command.write_text(f'#!/bin/sh\necho "$@" > {pulumi}/submitted\ncat > /dev/null\necho 41\n')
    command.chmod(0o755)
    monkeypatch.setenv("SUPERCLOUD_STATE", str(pulumi / "state"))
    return pulumi


def call(monkeypatch: pytest.MonkeyPatch, *words: object) -> int | str | None:
    monkeypatch.setattr(sys, "argv", ["supercloud", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


SPEC = next(path for path in EXAMPLES if path.parent.name == "01-minimal")


@pytest.mark.slow
@pytest.mark.parametrize("engine", [(), ("--engine", "slurm")])
def test_submit_uses_the_connection_of_a_stack(
    sbatch: Path, monkeypatch: pytest.MonkeyPatch, engine: tuple[str, ...]
) -> None:
    (sbatch / "job.yaml").write_text("{name: hello, command: ['true']}")
    assert not call(monkeypatch, "submit", sbatch / "job.yaml", "--on", SPEC, "--via", f"stack:{STACK}", *engine)
    assert (sbatch / "asked").read_text().split()[-1] == STACK
    assert "--comment=supercloud:" in (sbatch / "submitted").read_text()


def test_serve_uses_the_connection_of_a_stack(
    sbatch: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not call(monkeypatch, "serve", SPEC, "--via", f"stack:{STACK}", "--unit")
    assert (sbatch / "asked").read_text().split()[-1] == STACK
    assert f"--via stack:{STACK}" in capsys.readouterr().out


def test_a_stack_can_be_used_from_python(sbatch: Path, plan: Plan) -> None:
    assert (
        "sbatch" in api.prepare(JobSpec(name="hello", command=("true",)), plan, engine=Connection(stack=STACK))[1].argv
    )


@pytest.mark.slow
def test_an_unknown_engine_is_reported_with_the_engines_for_users(
    sbatch: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (sbatch / "job.yaml").write_text("{name: hello, command: ['true']}")
    for engine in ("slrm", "No Engine", "fake"):
        assert call(monkeypatch, "submit", sbatch / "job.yaml", "--on", SPEC, "--engine", engine) == 2
        captured = capsys.readouterr().err
        assert "slurm" in captured and "fake" not in captured.removeprefix("supercloud: unknown engine 'fake'")


@pytest.mark.slow
@pytest.mark.parametrize("via", ["ssh:login", "https://ctl1", "context:a", f"stack:{STACK}"])
def test_a_local_engine_rejects_a_connection(
    sbatch: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], plan: Plan, via: str
) -> None:
    (sbatch / "job.yaml").write_text("{name: hello, command: ['true']}")
    assert call(monkeypatch, "submit", sbatch / "job.yaml", "--on", SPEC, "--engine", "local", "--via", via) == 2
    assert "is not used by engine local: omit it" in capsys.readouterr().err
    assert not (sbatch / "state").exists()
    with pytest.raises(InputError, match="is not used by engine local"):
        api.submit(JobSpec(name="a", command=("true",)), plan, engine=Connection(engine="local", via="ssh:login"))
