"""The two releases of Slurm: 22.05 of Debian 12, and the newest packaged one, in a Debian sid root in a cache."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from bundles import Declared, declare_example
from installed import Slurm, find_slurm
from lab import Lab
from layers import CACHE

HERE = Path(__file__).resolve().parent


def _run_script(*command: str | Path) -> str:
    """Run a script and return its last line; if it fails, the tests fail and are not skipped."""
    if os.geteuid() != 0:
        pytest.fail("the real-Slurm tests need root: they make namespaces and install Debian packages")
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1800)
    if done.returncode:
        pytest.fail(f"{command[0]} failed:\n{done.stdout[-4000:]}")
    return (done.stdout.splitlines() or [""])[-1]


@pytest.fixture(scope="session")
def slurm_2205() -> Slurm:
    """Slurm 22.05 of Debian 12, installed on this machine if it is missing."""
    _run_script(HERE / "install.sh")
    slurm = find_slurm(Path("/"))
    assert slurm.release == (22, 5), f"this machine has Slurm {slurm.version}; the tests need Debian 12's 22.05"
    return slurm


@pytest.fixture(scope="session")
def slurm_new(slurm_2205: Slurm) -> Slurm:
    """The newest packaged Slurm, 26.05 or later; install.sh installs the tools that create its root."""
    slurm = find_slurm(Path(_run_script(HERE / "sid-chroot.sh", CACHE)))
    assert slurm.release >= (26, 5), f"Debian sid has Slurm {slurm.version}; the tests need 26.05 or later"
    return slurm


@pytest.fixture(scope="session")
def superpod(tmp_path_factory: pytest.TempPathFactory) -> Declared:
    """The 127-node DGX H100 SuperPOD."""
    return declare_example("02-superpod", tmp_path_factory.mktemp("rendered"))


@pytest.fixture(scope="session")
def superpod_lab(superpod: Declared, slurm_2205: Slurm) -> Iterator[Lab]:
    """The running SuperPOD: 127 slurmds that fetch their configuration from the controllers, as in INSTALL.md."""
    with Lab(superpod.folder, slurm_2205.rootfs) as lab:
        lab.start(nodes="")
        lab.start_nodes(configless=True)
        lab.wait_nodes(superpod.get_pool("train").hosts, 127)
        yield lab
