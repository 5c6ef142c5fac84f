"""The real Pulumi command line, and new stacks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from engine import Engine
from program import build_pulumi
from subjects import SUBJECTS, Subject, write_program

Start = Callable[..., Engine]


@pytest.fixture(scope="session")
def pulumi_program() -> Path:
    """Pulumi's command line."""
    return build_pulumi()


@pytest.fixture
def start(pulumi_program: Path, tmp_path: Path) -> Iterator[Start]:
    """``start(subject, attached=True)``: a new, configured stack of a project on an empty cloud."""
    with ExitStack() as started:

        def open_engine(subject: Subject, attached: bool = True) -> Engine:
            folder = tmp_path / f"{subject.name}-engine"
            folder.mkdir()
            project = subject.install(folder)
            engine = started.enter_context(Engine(pulumi_program, folder, project, subject.packages, attached))
            engine.init(subject.config, subject.secrets)
            return engine

        yield open_engine


@pytest.fixture(params=SUBJECTS, ids=[subject.name for subject in SUBJECTS])
def subject(request: pytest.FixtureRequest) -> Subject:
    """Each project."""
    found = request.param
    assert isinstance(found, Subject)
    return found


@pytest.fixture
def engine(start: Start, subject: Subject) -> Engine:
    """Each project in a new stack."""
    return start(subject)


@pytest.fixture
def program(pulumi_program: Path, tmp_path: Path) -> Iterator[Callable[..., Engine]]:
    """``program(text, "aws", …)``: a new stack of a program with this text, attached to these packages."""
    with ExitStack() as started:

        def open_engine(text: str, *packages: str) -> Engine:
            folder = tmp_path / "small-engine"
            folder.mkdir()
            project = write_program(folder / "project", text)
            engine = started.enter_context(Engine(pulumi_program, folder, project, packages))
            engine.init({})
            return engine

        yield open_engine
