"""``install.sh`` of the images on bare machines: real packages of the distribution, run twice, and its check.

Packages of vendors are stand-ins (``image_roots.STAND_INS``), as their archives are not reachable from every test
machine; the fabric's installer is fetched over https with its digest.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from https_files import serve_files
from image_roots import CPU, GPU, STAND_INS, build_fabric_installer, build_plan, build_stand_ins, build_tests
from real.machines.machines import Machine, Machines

from supercloud.targets import render

RELEASE = "22.05"  # of Debian 12
PUBLISHED = "ca-certificates curl kmod"
"""What bare roots of debootstrap lack and all published images have."""
DAEMONS = ("slurmctld", "slurmdbd", "slurmd", "munge")


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with Machines() as machines:
        yield machines


def boot(machines: Machines, name: str, number: int, folder: Path) -> Machine:
    """A bare machine with the rendered images, and what published images have."""
    render(build_plan(RELEASE, slurm=RELEASE), "images").write(folder / "images")
    machine = machines.boot(name, number)
    machine.run(f"apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q {PUBLISHED}", timeout=900)
    machine.run("rm -rf /var/lib/apt/lists/*")  # images have none
    machine.copy_in(folder / "images", "/root/images")
    return machine


def list_packages(machine: Machine) -> str:
    """Installed packages with their versions and states."""
    return machine.run("dpkg-query -W -f '${Package} ${Version} ${db:Status-Abbrev}\\n'").stdout


def list_steps(output: str) -> list[str]:
    """Messages of a run without their dates."""
    return [line.split(" ", 1)[1] for line in output.splitlines() if line.startswith("20")]


@pytest.fixture(scope="module")
def host(machines: Machines, tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A machine with the image for machines without accelerators."""
    machine = boot(machines, "host", 10, tmp_path_factory.mktemp("host"))
    done = machine.run(["/root/images/slurm-cpu-x86/install.sh", "check"], check=False)
    assert done.returncode and "FAILED check: not installed: clients slurm" in done.stderr
    machine.run([f"/root/images/{CPU}/install.sh"], timeout=1800)
    return machine


def test_slurm_and_the_client_of_nfs_come_from_the_archive(host: Machine) -> None:
    assert host.run(f"/root/images/{CPU}/install.sh check").stdout.endswith(
        "check: installed: clients slurm containers\n"
    )
    assert host.run("slurmd -V").stdout.startswith(f"slurm-wlm {RELEASE}.")
    assert host.run("command -v mount.nfs mount.nfs4 munged sacctmgr").returncode == 0
    assert host.run("find /lib/ -name pam_slurm_adopt.so").stdout


def test_no_daemon_starts_with_the_image_and_no_key_is_in_it(host: Machine) -> None:
    for name in DAEMONS:
        assert host.run(["systemctl", "is-enabled", name], check=False).stdout == "disabled\n", name
        assert host.run(["systemctl", "is-active", name], check=False).stdout == "inactive\n", name
    assert host.run("ls /etc/munge/munge.key", check=False).returncode


def test_a_second_run_installs_nothing(host: Machine) -> None:
    before = list_packages(host)
    host.run("rm -rf /var/lib/apt/lists/*")
    done = host.run(f"/root/images/{CPU}/install.sh")
    assert [line for line in list_steps(done.stdout) if "already installed" not in line] == [
        "end: this machine is ready to become an image"
    ]
    assert list_packages(host) == before
    assert not host.run("ls /var/lib/apt/lists").stdout, "it fetched lists of packages"
    assert host.run("ls -d /tmp/tmp.*", check=False).returncode, "it left a temporary folder"


def test_parts_of_vendors_are_required_and_installed(machines: Machines, tmp_path: Path) -> None:
    """The image of machines with accelerators: nothing is installed until all inputs are there."""
    machine = boot(machines, "node", 11, tmp_path)
    kernel = machine.run("uname -r").stdout.strip()
    script = f"/root/images/{GPU}/install.sh"
    before = list_packages(machine)
    refused = machine.run([script], check=False)
    assert (
        refused.returncode
        and "FAILED inputs: set these variables in the environment: DRIVER_PACKAGES" in refused.stderr
    )
    assert list_packages(machine) == before

    served = tmp_path / "served"
    served.mkdir()
    inputs = {}
    for part, package in build_stand_ins(tmp_path, kernel).items():
        machine.copy_in(package, "/root/")
        inputs[{"containers": "CONTAINER"}.get(part, part.upper()) + "_PACKAGES"] = f"/root/{package.name}"
    archive, digest = build_fabric_installer(tmp_path, kernel)
    archive.rename(served / archive.name)
    tests, tests_digest = build_tests(tmp_path)
    tests.rename(served / tests.name)
    with serve_files(served, machines.gateway, tmp_path) as (url, certificate):
        machine.copy_in(certificate, "/usr/local/share/ca-certificates/files.crt")
        machine.run("update-ca-certificates")
        inputs |= {"FABRIC_INSTALLER": f"{url}/{archive.name}"}
        inputs |= {"TESTS_SOURCE": f"{url}/{tests.name}", "TESTS_SHA256": tests_digest}
        wrong = machine.run([script], env={**inputs, "FABRIC_INSTALLER_SHA256": "0" * 64}, check=False, timeout=1800)
        assert f"was not run: its SHA-256 digest is {digest}, FABRIC_INSTALLER_SHA256 is 000" in wrong.stderr
        done = machine.run([script], env={**inputs, "FABRIC_INSTALLER_SHA256": digest}, timeout=1800)
    steps = list_steps(done.stdout)
    assert "driver: already installed" in steps, "a run that failed is continued"
    assert {f"{part}: finished" for part in (*STAND_INS, "clients", "slurm")} - {"driver: finished"} <= {*steps}
    # the job runs what was built, with the MPI of the distribution
    job = machine.run(
        "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 SLURM_NTASKS=2; "
        "sed 's/ -N 8 / --oversubscribe /' /root/images/nccl-tests/train.sh | bash"
    )
    assert job.stdout == "sum 1\n"
    # the installed machine needs no inputs
    assert "already installed" in machine.run([script]).stdout
    machine.run([script, "check"])
