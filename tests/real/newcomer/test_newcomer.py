"""The README's two commands as a new user runs them: a booted bare Debian with python3 and make, an ordinary user, an
empty environment, stdout and stderr in one pipe.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from real.machines.machines import Machine, Machines

pytestmark = pytest.mark.extended  # runs the whole suite again: CI runs it in an empty environment too

ROOT = Path(__file__).resolve().parents[3]
SUITES = ["bookworm", "trixie", "sid"]
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"  # written by machines.py; without a proxy they are those of Debian
HOURS = 3600.0


def list_left_out(folder: str, names: list[str]) -> set[str]:
    """Generated folders, which a clone does not have."""
    top = {"out", "dist"} if Path(folder) == ROOT else set()
    return {
        name
        for name in names
        if name == "__pycache__" or name.endswith("_cache") or name in top | {".venv", ".git", ".hypothesis"}
    }


@pytest.fixture(params=SUITES, scope="module")
def machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """The machine of a new user, with the project in the home directory."""
    copy = tmp_path_factory.mktemp("clone") / "project"
    shutil.copytree(ROOT, copy, ignore=list_left_out)
    with Machines() as machines:
        booted = machines.boot("newcomer", 10, request.param)
        install = "apt-get install -yq --no-install-recommends python3 make"
        update = "apt-get -o Acquire::Check-Valid-Until=false update -q"  # mirrors of sid may not be updated for weeks
        booted.run(f"{update} && DEBIAN_FRONTEND=noninteractive {install}", timeout=1200)
        booted.run("useradd --create-home ada")
        booted.copy_in(copy, "/home/ada/project")
        booted.run("chown -R ada: /home/ada/project")
        yield booted


def make(machine: Machine, target: str) -> str:
    """Run a target as the user; the environment has only the variables that the package index requires."""
    kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    kept |= {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "SSL_CERT_FILE": CERTIFICATES, "PIP_CERT": CERTIFICATES}
    variables = shlex.join(f"{name}={value}" for name, value in kept.items())
    command = f"cd ~/project && exec env -i HOME=$HOME {variables} make {target} 2>&1"
    done = machine.run(command, user="ada", check=False, timeout=HOURS)
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


def test_the_two_commands_of_the_readme_run_for_a_new_user(machine: Machine) -> None:
    shown = make(machine, "demo")
    page = (ROOT / "docs/demo.md").read_text()
    assert (
        shown.strip()
        == page.split("<!-- demo:begin -->\n```console\n$ make demo\n", 1)[1]
        .split("\n```\n<!-- demo:end -->", 1)[0]
        .strip()
    )
    assert re.search(r"\d passed(, \d+ skipped)? in ", make(machine, "test").splitlines()[-1])
