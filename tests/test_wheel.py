"""The built wheel, installed into a fresh environment, plans, renders and has types without the repository."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from samples import EXAMPLES, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

_PROGRAM = """\
import supercloud as sc

plan = sc.resolve(sc.load("cluster.yaml"))
nodes: int = plan.nodes
sc.render(plan, target="slurm").write("out")
job = sc.JobSpec(name="hello", command=["hostname"], time_limit="2 h", accelerators={"count": 8})
print(sc.submit(job, plan, engine="local").result())
sc.load(pth="cluster.yaml")
sc.JobSpec(nme="hello")
"""
"""Of a user, with two misspelt arguments at the end."""
_FUNCTIONS = """\
import supercloud as sc

def train(seed: int, rate: float = 0.1) -> str:
    return str(seed)

def run(executor: sc.Executor) -> list[str]:
    calls = [executor.submit(train, seed, rate=0.2) for seed in range(4)]
    done: list[str] = [call.result() for call in sc.as_completed(calls)]
    ended, left = sc.wait(calls)
    done += [call.result() for call in ended] + list(executor.map(train, range(4)))
    print(calls[0].record.state, left)
    executor.submit(train, "one")
    number: int = calls[0].result()
    return done
"""
"""Its lines 12 and 13 have a wrong argument and a wrong type of the result."""
_BLOCK = re.compile(r"^```(?:python|\{code-block\} python)\n(.*?)^```$", re.S | re.M)
_MODULES_OF_THE_PACKAGE = {"cloud.md", "dialect.md"}
"""Pages whose blocks are parts of modules of the package; tests/test_contributing.py adds them to a copy of it."""


@dataclass(frozen=True)
class Installation:
    """An environment into which the wheel is installed."""

    wheel: Path
    venv: Path
    packages: Path
    borrowed: list[str]
    """Folders of the dependencies, which are those of this environment."""

    def check_types(self, folder: Path, plugins: str = "") -> list[str]:
        """Lines with errors that mypy reports for the programs of a user in this folder."""
        settings = [f"plugins = {plugins}"] if plugins else []
        (folder / "mypy.ini").write_text("\n".join(["[mypy]", "strict = true", *settings, ""]))
        programs = sorted(path.name for path in folder.glob("*.py"))
        command = [sys.executable, "-m", "mypy", "--python-executable", self.venv / "bin/python", *programs]
        checked = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=folder)
        assert checked.returncode in (0, 1), checked.stdout + checked.stderr
        assert not checked.stderr, checked.stderr
        return [line for line in checked.stdout.splitlines() if ": error: " in line]


def run(*command: object, **options: object) -> str:
    ran = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)  # type: ignore[call-overload]
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return str(ran.stdout)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """A fresh environment: the wheel is installed into it, its dependencies are borrowed from this one."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT)
    (wheel,) = folder.glob("*.whl")
    venv = folder / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", venv)
    pip = (sys.executable, "-m", "pip", "--python", venv / "bin/python")
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, env=os.environ | {"PIP_FIND_LINKS": ""})
    (packages,) = venv.glob("lib/python*/site-packages")
    borrowed = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "borrowed.pth").write_text("\n".join(borrowed))
    return Installation(wheel, venv, packages, borrowed)


def test_the_wheel_has_all_files_and_renders(installed: Installation, tmp_path: Path) -> None:
    inside = zipfile.ZipFile(installed.wheel).namelist()
    assert "supercloud/templates/init/cluster.yaml.j2" in inside
    assert "supercloud/catalog/data/machines/dgx-h100.yaml" in inside
    assert "supercloud/spec/schemas/cluster.schema.json" in inside
    assert not [name for name in inside if name.startswith(("tests/", "examples/"))]
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    env["PYTHONPATH"] = os.pathsep.join([str(installed.packages), *installed.borrowed])
    code = "import supercloud; print(supercloud.__file__)"
    assert str(installed.packages) in run(installed.venv / "bin/python", "-c", code, env=env, cwd=tmp_path)
    out = tmp_path / "out"
    run(installed.venv / "bin/supercloud", "render", EXAMPLES[0], "--out", out, env=env, cwd=tmp_path)
    assert (out / "slurm" / "slurm.conf").is_file()


def test_misspelt_arguments_of_a_program_are_type_errors(installed: Installation, tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(_PROGRAM)
    wrong = installed.check_types(tmp_path, plugins="pydantic.mypy")
    assert 'user.py:8: error: Unexpected keyword argument "pth"' in wrong[0], wrong
    assert all(line.startswith("user.py:9: error: ") for line in wrong[1:]), wrong
    assert any('Unexpected keyword argument "nme"' in line for line in wrong[1:]), wrong


def test_types_of_functions_are_those_of_their_jobs(installed: Installation, tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(_FUNCTIONS)
    found = installed.check_types(tmp_path)
    assert [line.split(" error: ")[0] for line in found if " error: " in line] == ["user.py:12:", "user.py:13:"], found


def test_python_of_the_pages_has_no_type_errors_without_a_plugin(installed: Installation, tmp_path: Path) -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    count = 0
    for page in pages:
        if page.parent.name == "reference" or page.name in _MODULES_OF_THE_PACKAGE:
            continue
        for number, block in enumerate(_BLOCK.findall(page.read_text())):
            (tmp_path / f"{page.parent.name}_{page.stem}_{number}.py".replace("-", "_")).write_text(block)
            count += 1
    assert count >= 10
    assert installed.check_types(tmp_path) == []
