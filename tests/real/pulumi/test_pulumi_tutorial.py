"""The Pulumi project of the tutorial for ML engineers, as its page has it, is created and removed."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine import Engine
from samples import ROOT

TUTORIAL = ROOT / "docs/tutorials/ml-engineer.md"
FILES = re.compile(r"<!-- file: (\S+) -->\n```.*?\n(.*?)```\n", re.S)
INIT = re.compile(r"^\$ supercloud (init cluster\.yaml .+)$", re.M)


@pytest.fixture
def engine(pulumi_program: Path, tmp_path: Path) -> Iterator[Engine]:
    text = TUTORIAL.read_text()
    folder = tmp_path / "tutorial"
    project = folder / "project"
    project.mkdir(parents=True)
    for name, content in FILES.findall(text):
        (project / name).write_text(content)
    init = INIT.search(text)
    assert init
    subprocess.run([sys.executable, "-m", "supercloud", *init[1].split()], cwd=project, check=True)
    with Engine(pulumi_program, folder, project, ["aws"]) as started:
        started.init({})
        yield started


def test_the_project_of_the_tutorial_is_created_and_removed(engine: Engine) -> None:
    engine.up()
    assert "ssm start-session" in engine.run("stack", "output", "commands").out
    assert "slurm" in engine.run("stack", "output", "connection", "--json", "--stack", "organization/pod1/dev").out
    created = engine.cloud.objects().keys()
    refused = engine.run("destroy", "--yes", code=None)
    assert refused.code and "it is protected" in refused.text
    assert engine.cloud.objects().keys() == created
    engine.run("config", "set", "protect", "false")
    engine.up()
    engine.run("destroy", "--yes")
    assert not engine.cloud.objects()
