"""The library of bare machines: they boot, reach the archive and each other, and are removed completely."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from real.machines.machines import Machine, MachineError, Machines, get_cache_folder
from real.polling import wait_for

TESTS = Path(__file__).resolve().parents[2]
KILLED = """
from real.machines.machines import Machines
with Machines() as machines:
    machines.boot("short", 9)
    print(machines.slot, flush=True)
    input()
"""


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    with Machines() as group:
        group.boot_all({"one": 11, "two": 12})
        yield group


@pytest.fixture(scope="module")
def one(machines: Machines) -> Machine:
    return machines.machines["one"]


def list_remains(slot: int) -> dict[str, str]:
    """What exists of a slot: processes, mounts, bridge, rule, cgroups, folder."""
    folder = get_cache_folder() / "slots" / str(slot)
    seen = {
        "processes": subprocess.run(
            ["pgrep", "-fa", f"systemd-nspawn.* -M sc{slot}-"], capture_output=True, text=True
        ).stdout,
        "mounts": "\n".join(line for line in Path("/proc/mounts").read_text().splitlines() if str(folder) in line),
        "bridge": subprocess.run(["ip", "-o", "link", "show", f"sc-mach{slot}"], capture_output=True, text=True).stdout,
        "rule": "\n".join(
            rule
            for rule in subprocess.run(
                ["iptables", "-w", "-t", "nat", "-S"], capture_output=True, text=True
            ).stdout.splitlines()
            if f"10.77.{slot}.0/24" in rule
        ),
        "cgroups": "\n".join(str(path) for path in Path("/sys/fs/cgroup").glob(f"*/supercloud-machine-{slot}-*")),
        "folder": str(folder) if folder.exists() else "",
    }
    return {kind: text for kind, text in seen.items() if text}


def test_a_machine_boots_without_a_failed_unit(one: Machine) -> None:
    assert one.run("systemctl is-system-running").stdout == "running\n", one.run("systemctl --failed").stdout
    assert one.run("hostname").stdout == "one\n"


def test_a_machine_installs_packages_from_the_archive_and_starts_their_services(one: Machine) -> None:
    one.run("apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends munge")
    one.wait("systemctl is-active munge")
    one.run("munge -n | unmunge")


def test_a_slot_whose_network_is_routed_elsewhere_is_skipped(machines: Machines) -> None:
    with Machines() as free:
        slot = free.slot
    bridge = f"other{os.getpid() % 10**6}"
    subprocess.run(["ip", "link", "add", bridge, "type", "bridge"], check=True)
    try:
        subprocess.run(["ip", "addr", "add", f"10.77.{slot}.1/24", "dev", bridge], check=True)
        subprocess.run(["ip", "link", "set", bridge, "up"], check=True)
        with Machines() as other:
            assert other.slot != slot
            other.boot("three", 13).run("getent ahostsv4 deb.debian.org")
    finally:
        subprocess.run(["ip", "link", "del", bridge], check=True)


def test_machines_reach_each_other_and_run_separate_units(machines: Machines, one: Machine) -> None:
    two = machines.machines["two"]
    one.run(f"exec 3<>/dev/tcp/{one.ip}/1 || true")
    two.run("systemd-run --unit=answer bash -c 'exec sleep infinity'")
    assert one.run("systemctl is-active answer", check=False).stdout == "inactive\n"
    assert two.run("systemctl is-active answer").stdout == "active\n"
    address = two.run("ip -4 -o addr show dev host0").stdout
    assert f"inet {two.ip}/24" in address
    one.run("apt-get install -yq --no-install-recommends iputils-ping")
    one.run(["ping", "-c", "1", "-W", "60", two.ip])


def test_an_address_that_the_host_has_on_another_bridge_belongs_to_the_machine(
    machines: Machines, one: Machine
) -> None:
    two = machines.machines["two"]
    bridge = f"other{os.getpid() % 10**6}"
    subprocess.run(["ip", "link", "add", bridge, "type", "bridge"], check=True)
    try:
        subprocess.run(["ip", "addr", "add", "10.231.0.1/24", "dev", bridge], check=True)
        two.run("ip addr add 10.231.0.1/24 dev host0")
        one.run("ip addr add 10.231.0.2/24 dev host0")
        one.run("exec 3<>/dev/tcp/10.231.0.1/1 || true")
        link = two.run("cat /sys/class/net/host0/address").stdout.strip()
        assert f"lladdr {link} " in one.run("ip neigh show 10.231.0.1").stdout
    finally:
        subprocess.run(["ip", "link", "del", bridge], check=True)


def test_commands_run_as_a_user_with_variables_and_input(one: Machine) -> None:
    one.run("useradd --create-home ada")
    done = one.run('echo "$USER $HOME $PWD $COLOR"; cat', user="ada", env={"COLOR": "blue"}, input="in\n")
    assert done.stdout == "ada /home/ada /home/ada blue\nin\n"
    with pytest.raises(MachineError, match="exit code 3: exit 3"):
        one.run("exit 3")
    with pytest.raises(MachineError, match="not finished within 1 s"):
        one.run("sleep 100", timeout=1)


def test_files_and_folders_are_copied_with_owner_root(one: Machine, tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "tool.sh").write_text("echo it works\n")
    (folder / "deep" / "tool.sh").chmod(0o750)
    one.copy_in(folder, "/srv/")
    assert one.run("stat -c '%U %a' /srv/bundle/deep/tool.sh").stdout == "root 750\n"
    one.copy_in(folder / "deep" / "tool.sh", "/usr/local/bin/tool")
    assert one.run("bash /usr/local/bin/tool").stdout == "it works\n"


def test_two_groups_of_machines_are_isolated(machines: Machines, one: Machine) -> None:
    with Machines() as others:
        twin = others.boot("one", 11)
        assert others.slot != machines.slot and twin.ip != one.ip
        assert list_remains(others.slot).keys() >= {"processes", "mounts", "bridge", "rule", "cgroups", "folder"}
    assert list_remains(others.slot) == {}
    one.run("true")


@contextmanager
def start_other_run() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Another process with a group of machines, and its slot."""
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    with subprocess.Popen(
        [sys.executable, "-c", KILLED], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        yield run, int(run.stdout.readline())


def test_a_killed_run_leaves_no_processes() -> None:
    with start_other_run() as (run, slot):
        assert list_remains(slot)
        run.send_signal(signal.SIGKILL)
    wait_for("nothing remains", lambda: not list_remains(slot), show=lambda: list_remains(slot))


def test_remains_of_a_run_whose_guard_was_killed_are_removed_by_the_next() -> None:
    with start_other_run() as (run, slot):
        guard = subprocess.run(["pgrep", "-P", str(run.pid), "-f", "guard"], capture_output=True, text=True, check=True)
        os.killpg(int(guard.stdout), signal.SIGKILL)
        run.kill()
    assert list_remains(slot)
    with Machines():
        assert not list_remains(slot)


@pytest.mark.extended
@pytest.mark.parametrize("suite", ["trixie", "sid"])
def test_later_debian_releases_boot(machines: Machines, suite: str) -> None:
    later = machines.boot(suite, 20, suite)
    assert later.run("systemctl is-system-running").stdout == "running\n", later.run("systemctl --failed").stdout
    assert "VERSION_CODENAME" in later.run("cat /etc/os-release").stdout
    machines.stop(later)
