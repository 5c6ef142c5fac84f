"""From ``pulumi up`` to a finished job: Slurm in an emulated region whose instances boot and configure themselves.

Nothing is done by hand on a machine before a user logs in and submits a job.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from booted import build_spec, write_catalog
from emulator import Emulator
from people import Person
from real.machines.machines import Machine
from real.polling import wait_for
from real.pulumi.engine import Engine
from region import EmulatedRegion, wait_until_ready

Start = Callable[..., Engine]

JOB = """\
name: hello
command: [id, -u]
nodes: 1
time_limit: 5 min
"""

pytestmark = pytest.mark.extended


@pytest.fixture(scope="module")
def region(emulator: Emulator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatedRegion]:
    with EmulatedRegion(emulator, tmp_path_factory.mktemp("region"), has_shared_homes=True) as found:
        yield found


def test_users_submit_jobs_to_nodes_that_the_scaler_starts(
    region: EmulatedRegion, start: Start, tmp_path: Path
) -> None:
    ada, grace, new = (
        Person.create(name, uid, tmp_path / "people" / name)
        for name, uid in (("ada", 2001), ("grace", 2002), ("new", 2003))
    )
    engine = start(build_spec(region, {"llm": [ada, grace]}, logins=1), write_catalog)
    engine.up()

    controller, login = region.wait_for_machine("ctl1"), region.wait_for_machine("login")
    wait_until_ready(controller)
    wait_until_ready(login)
    assert ada.ssh(login, "id -u; pwd; stat -c %a .").stdout.split() == ["2001", "/home/ada", "700"]
    assert ada.ssh(controller, "true").returncode, "with a login host, only administrators log in to the controller"
    assert new.ssh(login, "true").returncode

    submitted = ada.ssh(
        login, "sbatch --parsable -N 2 -o out --wrap 'srun bash -c \"hostname; id -u\" >names; sleep 60'"
    )
    assert submitted.returncode == 0, submitted.stderr
    wait_for("both nodes run", lambda: len(region.find("cpu-on-demand")) == 2, seconds=600)
    first, second = region.find("cpu-on-demand")
    controller.wait("squeue -h -t running | wc -l | grep -qx 1", timeout=900)
    for node in (first, second):
        assert ada.ssh(node, "id -u").stdout == "2001\n", "she logs in where her job runs"
        assert grace.ssh(node, "true").returncode
        assert "you have no active jobs on this node" in node.run("journalctl --no-pager -t pam_slurm_adopt").stdout
    controller.wait("squeue -h | wc -l | grep -qx 0", timeout=300)
    assert controller.run("sacct -X -n -o state%20,user%20").stdout.split() == ["COMPLETED", "ada"]
    assert sorted(first.run("cat /home/ada/names").stdout.split()) == ["2001", "2001", "cpu-0001", "cpu-0002"]
    assert_logs_in_during_jobs(ada, grace, login, controller, first)

    assert_submits_from_outside(engine, ada, login, tmp_path)
    assert_changes_apply(engine, region, (ada, new), grace, login, controller)

    wait_for("idle nodes are terminated", lambda: not region.find("cpu-on-demand"), seconds=600)
    assert not region.errors


def assert_logs_in_during_jobs(user: Person, other: Person, login: Machine, controller: Machine, node: Machine) -> None:
    """A user logs in to a node only while one of the user's jobs runs there."""
    assert user.ssh(node, "true").returncode and other.ssh(node, "true").returncode, "no job runs"
    job = user.ssh(login, "sbatch --parsable -w cpu-0001 -o /dev/null --wrap 'sleep 300'").stdout.strip()
    controller.wait(f"squeue -h -j {job} -o %T | grep -qx RUNNING")
    assert user.ssh(node, "id -un").stdout == f"{user.name}\n"
    assert other.ssh(node, "true").returncode
    assert user.ssh(login, f"scancel {job}").returncode == 0
    controller.wait("squeue -h | wc -l | grep -qx 0")
    assert user.ssh(node, "true").returncode


def assert_submits_from_outside(engine: Engine, person: Person, login: Machine, folder: Path) -> None:
    """A job of ``supercloud submit`` on the test host runs as the user of its connection."""
    (folder / "job.yaml").write_text(JOB)
    environment = {**os.environ, "PATH": f"{person.folder}/bin:{os.environ['PATH']}", "HOME": str(folder)}
    for words in (
        ["submit", "job.yaml", "--on", str(engine.project / "cluster.yaml"), "--via", f"ssh:{login.ip}"],
        ["wait", "1"],
    ):
        command = [sys.executable, "-m", "supercloud", *words]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
    login.wait(f"sacct -X -n -a --name hello -o user%20,state%20 | grep -q '{person.name} *COMPLETED'")


def assert_changes_apply(
    engine: Engine,
    region: EmulatedRegion,
    people: tuple[Person, ...],
    removed: Person,
    login: Machine,
    controller: Machine,
) -> None:
    """Users that an update adds and removes: no machine is replaced or restarted, the timer's service applies them."""
    hosts = [item for item in region.list_instances() if not region.is_in_group(item, "cpu-on-demand")]
    before = {item["InstanceId"] for item in hosts}  # nodes may be idle for long enough to be terminated
    assert len(before) == 2
    (engine.project / "cluster.yaml").write_text(build_spec(region, {"llm": people}, logins=1))
    engine.up()
    for machine in (controller, login):
        assert "supercloud-users.timer" in machine.run("systemctl list-timers --no-pager").stdout
        machine.run("systemctl start supercloud-users.service supercloud-update.service")
    assert people[-1].ssh(login, "id -u").stdout == f"{people[-1].uid}\n"
    assert removed.ssh(login, "true").returncode
    assert removed.name in login.run("ls /home").stdout
    submitted = people[-1].ssh(login, "sbatch --parsable -o out --wrap 'id -u'")
    assert submitted.returncode == 0, submitted.stderr
    controller.wait("squeue -h | wc -l | grep -qx 0", timeout=900)
    assert "COMPLETED" in controller.run(f"sacct -X -n -j {submitted.stdout.strip()} -o state%20").stdout
    assert {item["InstanceId"] for item in region.list_instances()} & before == before
