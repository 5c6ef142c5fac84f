"""The built wheel, installed into a fresh environment, plans, renders and has types without the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from samples import EXAMPLES, ROOT

pytestmark = pytest.mark.slow

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


def run(*command: object, **options: object) -> str:
    ran = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)  # type: ignore[call-overload]
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return str(ran.stdout)


def test_the_wheel_has_all_files_and_renders(tmp_path: Path) -> None:
    run(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    inside = zipfile.ZipFile(wheel).namelist()
    assert "supercloud/templates/init/cluster.yaml.j2" in inside
    assert "supercloud/catalog/data/machines/dgx-h100.yaml" in inside
    assert "supercloud/spec/schemas/cluster.schema.json" in inside
    assert not [name for name in inside if name.startswith(("tests/", "examples/"))]
    # a fresh environment: the wheel is installed into it, its dependencies are borrowed from this one
    venv = tmp_path / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", venv)
    pip = (sys.executable, "-m", "pip", "--python", venv / "bin/python")
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, env=os.environ | {"PIP_FIND_LINKS": ""})
    (packages,) = venv.glob("lib/python*/site-packages")
    borrowed = [path for path in sys.path if path.endswith("site-packages")]
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    env["PYTHONPATH"] = os.pathsep.join([str(packages), *borrowed])
    code = "import supercloud; print(supercloud.__file__)"
    assert str(packages) in run(venv / "bin/python", "-c", code, env=env, cwd=tmp_path)
    out = tmp_path / "out"
    run(venv / "bin/supercloud", "render", EXAMPLES[0], "--out", out, env=env, cwd=tmp_path)
    assert (out / "slurm" / "slurm.conf").is_file()
    (packages / "borrowed.pth").write_text("\n".join(borrowed))
    (tmp_path / "user.py").write_text(_PROGRAM)
    (tmp_path / "mypy.ini").write_text("[mypy]\nplugins = pydantic.mypy\n")
    types = [sys.executable, "-m", "mypy", "--strict", "--python-executable", venv / "bin/python", "user.py"]
    checked = subprocess.run([str(part) for part in types], capture_output=True, text=True, cwd=tmp_path)
    wrong = [line for line in checked.stdout.splitlines() if ": error: " in line]
    assert 'user.py:8: error: Unexpected keyword argument "pth"' in wrong[0], checked.stdout
    assert all(line.startswith("user.py:9: error: ") for line in wrong[1:]), checked.stdout
    assert any('Unexpected keyword argument "nme"' in line for line in wrong[1:]), checked.stdout
