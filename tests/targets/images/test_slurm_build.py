"""The script that builds packages of Slurm: a digest is required, and its result is what images install."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from image_machines import Machine, compute_digest, pack

# compressed with gzip: a bare Debian has no bzip2
SOURCE = pack({"slurm-25.11.2/META": "  Name:\t\tslurm\n  Version:\t25.11.2\n", "slurm-25.11.2/debian/control": ""})


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    found = Machine(tmp_path)
    (tmp_path / "slurm.tar.bz2").write_bytes(SOURCE)
    return found


def test_built_packages_are_those_that_images_install(machine: Machine) -> None:
    done = machine.run("build-slurm.sh", "slurm.tar.bz2", compute_digest(SOURCE))
    assert done.returncode == 0, done.stderr
    assert machine.said == [
        "apt-get install build-essential fakeroot devscripts equivs",
        "mk-build-deps -i -t apt-get -y --no-install-recommends debian/control",
        "debuild --no-lintian -b -uc -us",
    ]
    with tarfile.open(machine.folder / "packages.tar.gz") as tar:
        names = [Path(name).name for name in tar.getnames()]
    assert "SHA256SUMS" in names
    assert "slurm-smd-slurmctld_25.11.2-1_amd64.deb" in names
    assert "slurm-smd-torque_25.11.2-1_amd64.deb" not in names
    done = machine.install(**machine.inputs)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "words, reason",
    [
        ((), "FAILED begin: usage: build-slurm.sh SOURCE SHA256"),
        (("slurm.tar.bz2", "abc"), "FAILED begin: 'abc' is not a SHA-256 digest"),
        (("slurm.tar.bz2", "0" * 64), "FAILED source: the SHA-256 digest of slurm.tar.bz2 is"),
        (("missing", "0" * 64), "FAILED source: the file missing does not exist"),
        (("slurm.tar.bz2", "0" * 64, "nowhere"), "FAILED begin: the folder"),
    ],
)
def test_bad_arguments_build_nothing(machine: Machine, words: tuple[str, ...], reason: str) -> None:
    done = machine.run("build-slurm.sh", *words)
    assert done.returncode == 1
    assert reason in done.stderr
    assert machine.said == []


def test_the_source_of_another_release_is_refused(machine: Machine) -> None:
    other = pack({"slurm/META": "  Version:\t24.11.1\n"})
    (machine.folder / "slurm.tar.bz2").write_bytes(other)
    done = machine.run("build-slurm.sh", "slurm.tar.bz2", compute_digest(other))
    assert "FAILED source: slurm.tar.bz2 is Slurm 24.11, the cluster has 25.11" in done.stderr


def test_a_build_that_fails_leaves_its_log_and_no_packages(machine: Machine) -> None:
    (machine.folder / "packages.tar.gz").unlink()
    (machine.folder / "state/no-build").touch()
    done = machine.run("build-slurm.sh", "slurm.tar.bz2", compute_digest(SOURCE))
    assert "FAILED build: debuild failed, see" in done.stderr
    assert (machine.folder / "build-slurm.log").read_text() == "undefined reference\n"
    assert not (machine.folder / "packages.tar.gz").exists()
