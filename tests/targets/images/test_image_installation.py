"""The script that installs an image, run in a folder: its order, its repetition, and what ends it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from image_machines import INSTALLER, TESTS, Machine, build_plan, compute_digest, pack, pack_packages

from supercloud.targets import render


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


DISABLED = [f"systemctl disable -q --now {name}" for name in ("slurmctld", "slurmdbd", "slurmd", "munge")]


def test_parts_are_installed_in_order(machine: Machine) -> None:
    done = machine.install(**machine.inputs)
    assert done.returncode == 0, done.stderr
    built = " ".join(
        f"slurm-smd{name}_25.11.2-1_amd64.deb"
        for name in ("", "-client", "-slurmctld", "-slurmdbd", "-slurmd", "-libpam-slurm-adopt")
    )
    key = "https://fsx-lustre-client-repo-public-keys.s3.amazonaws.com/fsx-ubuntu-public-key.asc"
    assert machine.said == [
        "apt-get install driver-580",
        "curl https://example.com/efa.tar.gz",
        "efa_installer.sh -y",
        f"curl {key}",
        "apt-get install lustre-client-modules-6.8.0-1",
        "apt-get install nfs-common",
        f"apt-get install {built} munge",
        *DISABLED,
        "apt-get install dcgm",
        "curl https://example.com/tests.tar.gz",
        "apt-get install build-essential",
        f"make -C tests -j{os.cpu_count()} MPI=1 MPI_HOME={machine.folder}/root/opt/amazon/openmpi "
        f"CUDA_HOME={machine.folder}/root/usr/local/cuda NCCL_HOME={machine.folder}/root/usr",
        "apt-get install enroot enroot+caps",
    ]
    assert (machine.folder / "root/opt/nccl-tests/all_reduce_perf").stat().st_mode & 0o777 == 0o755
    assert machine.install("check", **machine.inputs).returncode == 0
    source = machine.folder / "root/etc/apt/sources.list.d/supercloud-lustre.list"
    assert "signed-by=" in source.read_text()


def test_a_second_run_installs_nothing(machine: Machine) -> None:
    machine.install(**machine.inputs)
    (machine.folder / "said").unlink()
    done = machine.install()
    assert done.returncode == 0, done.stderr
    assert machine.said == []
    assert "slurm: already installed" in done.stdout


def test_parts_of_the_published_image_need_no_inputs(machine: Machine) -> None:
    for name in ("nvidia", "efa", "lustre"):
        (machine.folder / "state" / name).touch()
    machine.folder.joinpath("root/opt/amazon/efa/bin").mkdir(parents=True)
    tool = machine.folder / "root/opt/amazon/efa/bin/fi_info"
    tool.touch(mode=0o755)
    inputs = dict.fromkeys(machine.inputs, "none") | {"SLURM_PACKAGES": machine.inputs["SLURM_PACKAGES"]}
    done = machine.install(**{**inputs, "MONITORING_PACKAGES": "dcgm", "TESTS_SOURCE": "skip"})
    assert done.returncode == 0, done.stderr
    assert [line.split()[2] for line in machine.said if line.startswith("apt-get install")] == [
        "nfs-common",
        "slurm-smd_25.11.2-1_amd64.deb",
        "dcgm",
    ]


def test_all_missing_inputs_are_listed_and_nothing_is_installed(machine: Machine) -> None:
    done = machine.install()
    assert done.returncode == 1
    assert machine.said == []
    assert "FAILED inputs: set these variables in the environment: DRIVER_PACKAGES (" in done.stderr
    for name in ("FABRIC_INSTALLER", "FABRIC_INSTALLER_SHA256", "SLURM_PACKAGES", "MONITORING_PACKAGES"):
        assert f"; {name} (" in done.stderr
    assert "CONTAINER_PACKAGES" not in done.stderr


def test_packages_that_do_not_exist_are_reported_before_the_installation(machine: Machine) -> None:
    done = machine.install(**{**machine.inputs, "SLURM_PACKAGES": "/missing"})
    assert "SLURM_PACKAGES (/missing does not exist)" in done.stderr
    assert machine.said == []


@pytest.mark.parametrize(
    "lacks, part, reason",
    [
        ("driver", "driver", "driver-580 cannot be installed: E: Unable to locate package driver-580"),
        ("lustre", "clients", "lustre-client-modules-6.8.0-1 cannot be installed: E: Unable to locate package"),
        ("smd-slurmdbd", "slurm", "Slurm cannot be installed: E: Unable to locate package"),
        ("dcgm", "monitoring", "dcgm cannot be installed: E: Unable to locate package dcgm"),
    ],
)
def test_a_part_that_fails_ends_the_run_and_can_be_repeated(
    machine: Machine, lacks: str, part: str, reason: str
) -> None:
    (machine.folder / "state/lacks").write_text(lacks)
    done = machine.install(**machine.inputs)
    assert done.returncode == 1
    assert done.stderr.count("FAILED") == 1
    assert f"FAILED {part}: {reason}" in done.stderr
    assert "enroot" not in "".join(machine.said)
    (machine.folder / "state/lacks").unlink()
    assert machine.install(**machine.inputs).returncode == 0


def test_a_driver_whose_module_is_not_there_after_the_installation_ends_the_run(machine: Machine) -> None:
    done = machine.install(**{**machine.inputs, "DRIVER_PACKAGES": "other"})
    assert "FAILED driver: it is not usable after its installation" in done.stderr


def test_an_installer_with_another_digest_is_not_run(machine: Machine) -> None:
    done = machine.install(**{**machine.inputs, "FABRIC_INSTALLER_SHA256": "0" * 64})
    assert done.returncode == 1
    assert f"its SHA-256 digest is {compute_digest(INSTALLER)}, FABRIC_INSTALLER_SHA256 is 000" in done.stderr
    assert not [line for line in machine.said if line.startswith("efa_installer.sh")]


def test_an_installer_that_fails_ends_the_run(machine: Machine) -> None:
    (machine.folder / "state/no-efa").touch()
    done = machine.install(**machine.inputs)
    assert "FAILED fabric: efa_installer.sh failed" in done.stderr
    assert "the kernel is not supported" in done.stdout


def test_packages_with_wrong_sums_or_without_a_package_are_not_installed(machine: Machine) -> None:
    file = machine.folder / "packages.tar.gz"
    file.write_bytes(
        pack({"slurm-smd_25.11.2-1_amd64.deb": "x", "SHA256SUMS": f"{'0' * 64}  slurm-smd_25.11.2-1_amd64.deb\n"})
    )
    assert "FAILED slurm: the sums of" in machine.install(**machine.inputs).stderr
    file.write_bytes(pack_packages("slurm-smd"))
    assert "has no package slurm-smd-client: build it again" in machine.install(**machine.inputs).stderr
    file.write_text("no archive")
    assert "packages.tar.gz cannot be read" in machine.install(**machine.inputs).stderr


def test_packages_of_another_release_end_the_run(machine: Machine) -> None:
    done = machine.install(**machine.inputs, RELEASE="24.11")
    assert "FAILED slurm: the installed packages are not of the release 25.11" in done.stderr


def test_the_archive_of_the_distribution_is_used_if_it_has_the_release(tmp_path: Path) -> None:
    machine = Machine(tmp_path, render(build_plan("23.11"), "images"))
    done = machine.run("slurm-cpu-x86/install.sh", RELEASE="23.11")
    assert done.returncode == 0, done.stderr
    assert any(line.startswith("apt-get install slurm-client slurmctld slurmdbd slurmd") for line in machine.said)


def test_slurm_that_signs_itself_is_installed_with_its_daemon(tmp_path: Path) -> None:
    machine = Machine(tmp_path, render(build_plan(auth="slurm"), "images"))
    done = machine.install(**machine.inputs)
    assert done.returncode == 0, done.stderr
    assert any(line.endswith("slurm-smd-sackd_25.11.2-1_amd64.deb") for line in machine.said)
    assert "systemctl disable -q --now sackd" in machine.said


def test_the_key_that_a_package_makes_is_not_in_the_image(machine: Machine) -> None:
    key = machine.folder / "root/etc/munge/munge.key"
    key.parent.mkdir()
    key.touch()
    assert machine.install(**machine.inputs).returncode == 0
    assert not key.exists()


def test_another_system_or_architecture_is_refused(machine: Machine) -> None:
    done = machine.install(**machine.inputs, MACHINE="aarch64")
    assert "this machine has the architecture aarch64, the image is for x86_64" in done.stderr
    system = machine.folder / "root/etc/os-release"
    system.write_text("ID=debian\nVERSION_ID=12\n")
    assert "this machine has the system debian 12, the image is for ubuntu 24.04" in machine.install().stderr
    system.unlink()
    assert "this machine has the system unknown" in machine.install().stderr
    assert machine.said == []


def test_check_lists_what_is_not_installed(machine: Machine) -> None:
    done = machine.install("check")
    assert done.returncode == 1
    assert "FAILED check: not installed: driver fabric clients slurm monitoring tests" in done.stderr
    assert machine.said == []


def test_tests_of_accelerators_are_only_built_from_a_source_with_the_digest(machine: Machine) -> None:
    done = machine.install(**{**machine.inputs, "TESTS_SHA256": "0" * 64})
    assert (
        f"FAILED tests: https://example.com/tests.tar.gz was not built: its SHA-256 digest is {compute_digest(TESTS)}"
        in (done.stderr)
    )
    # the digest of the catalog is that of its own source only
    done = machine.install(**{**machine.inputs, "TESTS_SHA256": ""})
    assert "FAILED inputs: set these variables in the environment: TESTS_SHA256 (" in done.stderr
    assert not [line for line in machine.said if line.startswith("make")]
    done = machine.install(**{**machine.inputs, "TESTS_SOURCE": "skip", "TESTS_SHA256": ""})
    assert done.returncode == 0 and "tests: already installed" in done.stdout


def test_tests_that_cannot_be_built_end_the_run_with_the_reason(machine: Machine) -> None:
    (machine.folder / "state/no-tests").touch()
    assert (
        "FAILED tests: the tests cannot be built: nccl.h: no such function" in machine.install(**machine.inputs).stderr
    )
    (machine.folder / "root/usr/include/nccl.h").unlink()
    assert "NCCL has no nccl.h in" in machine.install(**machine.inputs).stderr
    (machine.folder / "root/usr/local/cuda/bin/nvcc").unlink()
    assert "usr/local/cuda/bin/nvcc does not exist: set CUDA_HOME" in machine.install(**machine.inputs).stderr


def test_without_the_mpi_of_the_fabric_that_of_the_distribution_is_used(machine: Machine) -> None:
    (machine.folder / "root/opt/amazon/openmpi/bin/mpirun").unlink()
    assert machine.install(**machine.inputs).returncode == 0
    assert "apt-get install libopenmpi-dev openmpi-bin" in machine.said
    assert f"MPI_HOME={machine.folder}/root/usr/lib/x86_64-linux-gnu/openmpi" in " ".join(machine.said)
