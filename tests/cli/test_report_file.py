"""``supercloud report -o``: the page replaces a page, and never the spec or another file."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from samples import ROOT

pytestmark = pytest.mark.slow

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    return Path(shutil.copy(ROOT / "examples/01-minimal/cluster.yaml", tmp_path))


def test_a_page_is_replaced(cli: Cli, spec: Path) -> None:
    page = spec.with_name("page.html")
    page.write_text("<!DOCTYPE html>\n<p>previous page")
    assert cli("report", spec, "-o", page)[0] == 0
    assert "previous page" not in page.read_text()


@pytest.mark.parametrize("name", ["cluster.yaml", "../{}/cluster.yaml"])
def test_the_spec_is_never_replaced(cli: Cli, spec: Path, name: str) -> None:
    text = spec.read_text()
    out = spec.parent / name.format(spec.parent.name)
    code, _, err = cli("report", spec, "-o", out, "--force")
    assert code == 2 and "is the spec" in err and spec.read_text() == text


def test_another_file_is_replaced_only_by_force(cli: Cli, spec: Path) -> None:
    other = spec.with_name("notes.txt")
    other.write_text("notes")
    code, _, err = cli("report", spec, "-o", other)
    assert code == 2 and "--force" in err and other.read_text() == "notes"
    assert cli("report", spec, "-o", other, "--force")[0] == 0


def test_errors_are_printed_as_by_plan(cli: Cli, spec: Path) -> None:
    spec.write_text(spec.read_text().replace("dgx-h100", "dgx-h10"))
    page = spec.with_name("page.html")
    code, out, err = cli("report", spec, "-o", page)
    assert code == 2 and out == f"{page}\n" and "unknown machine 'dgx-h10'" in err and "next: open" not in err
    code, out, _ = cli("report", "--json", spec, "-o", page)
    assert code == 2 and json.loads(out)["errors"][0]["check"] == "unknown-name"


@pytest.mark.parametrize("command", ["plan", "report", "check"])
def test_the_exit_code_is_in_the_help(cli: Cli, command: str) -> None:
    assert "Exits 2 if there are errors" in " ".join(cli(command, "--help")[1].split())
