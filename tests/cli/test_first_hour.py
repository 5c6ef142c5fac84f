"""Hints for a first hour: a missing file of a fleet, a job without image, a misspelt location, whole racks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from samples import ROOT

pytestmark = pytest.mark.slow

Cli = Callable[..., tuple[int, str, str]]
MINIMAL = ROOT / "examples/01-minimal"


@pytest.mark.parametrize("command", ["render", "place"])
def test_every_missing_spec_of_a_fleet_is_reported_with_its_line(cli: Cli, tmp_path: Path, command: str) -> None:
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text("name: all\nclusters:\n  - {spec: a.yaml}\n  - {spec: b.yaml}\n")
    arguments = [fleet] if command == "render" else [MINIMAL / "job.yaml", "--on", fleet]
    code, _, err = cli(command, *arguments)
    assert code == 2
    for line, index, name in ((3, 0, "a.yaml"), (4, 1, "b.yaml")):
        assert f"{fleet}:{line}: clusters[{index}].spec: file not found: {tmp_path / name}" in err


def test_a_job_without_image_has_no_place_on_kubernetes(cli: Cli) -> None:
    job = MINIMAL / "job.yaml"
    code, out, _ = cli("place", job, "--on", ROOT / "examples/08-kubernetes/cluster.yaml")
    assert code == 2 and "the job has no image, and pods are containers; set image: REGISTRY/NAME:TAG" in out
    assert "image" not in cli("place", job, "--on", MINIMAL / "cluster.yaml")[2]


@pytest.mark.parametrize("location, hint", [("stokholm", "did you mean stockholm"), ("my-own-hall", "")])
def test_a_misspelt_location_is_suggested(cli: Cli, tmp_path: Path, location: str, hint: str) -> None:
    spec = yaml.safe_load((MINIMAL / "cluster.yaml").read_text())
    spec["site"]["location"] = location
    file = tmp_path / "cluster.yaml"
    file.write_text(yaml.safe_dump(spec))
    out = cli("check", file)[1]
    assert f"unknown carbon intensity of '{location}'" in out
    assert ("did you mean" in out) == bool(hint) and hint in out


def test_init_writes_a_whole_rack_of_a_machine_that_is_sold_as_one(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    assert cli("init", file, "--machine", "dgx-gb200")[0] == 0
    assert yaml.safe_load(file.read_text())["pools"][0]["nodes"] == 18
    assert "warning" not in cli("check", file)[1]


def test_paragraphs_of_help_are_wrapped_by_the_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = [line.strip() for line in cli("store", "--help")[1].splitlines()]
    text = lines[lines.index("", 4) :]
    short = [
        line for line, following in zip(text, text[1:], strict=False) if 0 < len(line) < 50 and following[:1].islower()
    ]
    assert not [line for line in short if not line.startswith(("│", "╭", "╰"))]
