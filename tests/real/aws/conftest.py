"""An emulated AWS, and stacks of the real Pulumi engine whose resources are created in it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from emulator import Emulator, install
from real.pulumi.engine import Engine
from real.pulumi.program import build_pulumi
from region import EmulatedRegion
from samples import ROOT

HERE = Path(__file__).resolve().parent

Start = Callable[..., Engine]


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    """The emulated AWS."""
    with Emulator(install(), tmp_path_factory.mktemp("emulator") / "log") as running:
        yield running


@pytest.fixture(scope="module")
def region(emulator: Emulator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatedRegion]:
    """A region of the emulated AWS whose instances boot."""
    with EmulatedRegion(emulator, tmp_path_factory.mktemp("region")) as found:
        yield found


@pytest.fixture
def start(emulator: Emulator, tmp_path: Path) -> Iterator[Start]:
    """``start(spec)``: a new stack of the repository's project, with a spec, on an empty account.

    A second argument adds files to the folder of the project.
    """
    pulumi = build_pulumi()
    with ExitStack() as started:

        def open_engine(spec: str, prepare: Callable[[Path], None] = lambda _: None) -> Engine:
            emulator.reset()
            folder = tmp_path / "engine"
            project = folder / "project"
            shutil.copytree(ROOT / "stacks", project / "stacks")
            shutil.copy(ROOT / "Pulumi.yaml", project)
            (project / "cluster.yaml").write_text(spec)
            prepare(project)
            engine = Engine(pulumi, folder, project, ("aws",), attached=False, write_provider=write_provider)
            started.enter_context(engine)
            (engine.folder / "cloud" / "endpoint").write_text(emulator.endpoint)
            engine.init({"supercloud:specFile": "cluster.yaml", "supercloud:name": "lab"})
            return engine

        def write_provider(folder: Path, package: str, cloud: Path) -> None:
            path = folder / f"pulumi-resource-{package}"
            path.write_text(
                f"#!{emulator.python}\nimport sys\nsys.path.insert(1, {str(ROOT / 'tests')!r})\n"
                f"from pathlib import Path\nfrom real.aws.aws_provider import main\nmain(Path({str(cloud)!r}))\n"
            )
            path.chmod(0o755)

        yield open_engine
