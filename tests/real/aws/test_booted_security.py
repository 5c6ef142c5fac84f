"""What a user of a cluster reaches from a login host and from a job: no key, no role, nothing of other tenants."""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from attacks import COMMANDS, build_search
from booted import build_spec, write_catalog
from people import Person
from real.machines.machines import Machine
from real.polling import wait_for
from real.pulumi.engine import Engine
from region import EmulatedRegion, wait_until_ready

Start = Callable[..., Engine]
CANARY = "canary-9f1c7d"

pytestmark = pytest.mark.extended


def read_secrets(controller: Machine) -> list[bytes]:
    """The keys of the daemons and, if there are any, of the tokens."""
    jwt = re.findall(r"jwt_key=([^,\s]+)", controller.run("cat /etc/slurm/slurm.conf").stdout)
    return [base64.b64decode(controller.run(f"base64 -w0 {path}").stdout) for path in ("/etc/munge/munge.key", *jwt)]


def show_successes(run: Callable[[str], CompletedProcess[str]], **values: object) -> str:
    """The commands that succeed, with their output."""
    found = ""
    for what, commands in COMMANDS.items():
        for command in (text.format(**values) for text in commands):
            done = run(command)
            if done.returncode == 0:
                found += f"{what}: {command}\n{done.stdout[:400]}{done.stderr[:400]}\n"
    return found


def test_users_reach_no_key_no_role_and_nothing_of_other_tenants(
    region: EmulatedRegion, start: Start, tmp_path: Path
) -> None:
    ada, eve = (Person.create(name, uid, tmp_path / name) for name, uid in (("ada", 2001), ("eve", 2002)))
    engine = start(build_spec(region, {"llm": [ada], "vision": [eve]}, logins=1, idle=1800), write_catalog)
    engine.up()
    controller, login = region.wait_for_machine("ctl1"), region.wait_for_machine("login")
    wait_until_ready(controller)
    wait_until_ready(login)
    controller.run("sbatch -N 2 -D /tmp -o /dev/null --wrap true")
    controller.wait("sacct -n -X -o state | grep -q COMPLETED", timeout=900)
    wait_for("both nodes run", lambda: len(region.find("cpu-on-demand")) == 2, seconds=60)
    nodes = region.find("cpu-on-demand")

    script = f"#!/bin/bash\n# {CANARY}\nexport SECRET={CANARY}\nsleep 3600\n"
    submit = "sbatch --parsable -w cpu-0002 -D /tmp -o /dev/null"
    other = login.run(submit, user="eve", input=script).stdout.strip()
    controller.wait(f"squeue -h -j {other} -o %T | grep -qx RUNNING")
    port = re.search(r"keys\.py (\d+)", controller.run("cat /etc/systemd/system/supercloud-keys.service").stdout)
    assert port
    values = {"other": other, "name": "eve", "port": port[1]}

    def run_on_login(command: str) -> CompletedProcess[str]:
        return login.run(command, user="ada", check=False)

    def run_in_job(command: str) -> CompletedProcess[str]:
        words = f"srun -Q -w cpu-0001 -D /tmp bash -c {shlex.quote(command)}"
        return login.run(words, user="ada", check=False)

    assert run_on_login("true").returncode == run_in_job("true").returncode == 0
    for run in (run_on_login, run_in_job):
        found = show_successes(run, **values)
        assert not found, found
    assert controller.run(f"squeue -h -j {other} -o %T").stdout == "RUNNING\n"

    search = build_search(*read_secrets(controller), CANARY.encode())
    for machine in (controller, login, *nodes):
        found = machine.run("python3 -", input=search).stdout
        assert "/etc/munge/munge.key" in found, "root finds it"
        assert machine.run("python3 -", input=search, user="ada").stdout == ""
    assert "slurmd" in nodes[1].run("python3 -", input=search).stdout, "root finds the script of the other job"
    assert login.run("srun -Q -w cpu-0001 -D /tmp python3 -", input=search, user="ada").stdout == ""
    assert not region.errors
