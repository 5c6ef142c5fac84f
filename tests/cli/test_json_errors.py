"""With --json a program reads stdout: errors of a file are there too, in the form of other findings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from samples import ROOT

Cli = Callable[..., tuple[int, str, str]]
SPEC = ROOT / "examples/01-minimal/cluster.yaml"


@pytest.fixture
def invalid(tmp_path: Path) -> Path:
    file = tmp_path / "invalid.yaml"
    file.write_text(SPEC.read_text() + "unknown_field: 1\n")
    return file


def test_check_prints_a_list(cli: Cli, invalid: Path) -> None:
    code, out, err = cli("check", "--json", invalid)
    (finding,) = json.loads(out)
    assert code == 2 and finding["path"] == "unknown_field" and finding["line"] and "unknown_field" in err


@pytest.mark.parametrize(
    "command",
    [
        ("plan",),
        ("render",),
        ("report",),
        ("diff", SPEC),
        ("place", "JOB", "--on"),
        ("why-not", "JOB", "--on"),
        ("submit", "--dry-run", "JOB", "--on"),
    ],
)
def test_other_commands_print_findings(cli: Cli, invalid: Path, tmp_path: Path, command: tuple[object, ...]) -> None:
    job = tmp_path / "job.yaml"
    job.write_text("{name: hello, command: [hostname], accelerators: {count: 8}}")
    words = [job if word == "JOB" else word for word in command]
    code, out, _ = cli(words[0], "--json", *words[1:], invalid)
    assert code == 2 and [item["path"] for item in json.loads(out)["findings"]] == ["unknown_field"]


def test_an_invalid_job_is_a_finding(cli: Cli, tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text("{name: hello, comand: [hostname]}")
    code, out, _ = cli("place", "--json", job, "--on", SPEC)
    assert code == 2 and "comand" in {item["path"] for item in json.loads(out)["findings"]}


def test_a_missing_file_is_a_finding(cli: Cli, tmp_path: Path) -> None:
    code, out, _ = cli("plan", "--json", tmp_path / "none.yaml")
    assert code == 2 and "file not found" in json.loads(out)["findings"][0]["problem"]


def test_without_the_option_nothing_is_printed_on_stdout(cli: Cli, invalid: Path) -> None:
    cli("check", "--json", invalid)
    assert cli("check", invalid)[1] == ""


def test_an_overlay_that_does_not_exist_is_reported_with_its_line(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text("catalog: mine\n" + SPEC.read_text())
    code, out, err = cli("check", file, "--json")
    [finding] = json.loads(out)
    assert code == 2 and (finding["path"], finding["file"], finding["line"]) == ("catalog", str(file), 1)
    assert "mine' is not a directory" in finding["problem"] and str(tmp_path) in finding["hint"]
    assert f"{file}:1: catalog: " in err


@pytest.mark.parametrize("command", [("place",), ("why-not",), ("submit", "--dry-run")])
def test_errors_of_job_rules_have_the_line_in_the_file(cli: Cli, tmp_path: Path, command: tuple[str, ...]) -> None:
    job = tmp_path / "job.yaml"
    job.write_text("name: train\ncommand: [-c, x]\nimage: My Image\naccelerators: {count: 8}\n")
    code, _, err = cli(*command, job, "--on", SPEC)
    assert code == 2 and f"{job}:2: command[0]: " in err and f"{job}:3: image: " in err
