"""The two real Slurms: 22.05 of Debian 12, and the newest packaged, in a Debian sid root kept in a cache."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("SUPERCLOUD_CACHE") or Path.home() / ".cache" / "supercloud")


@dataclass(frozen=True)
class Slurm:
    """An installed Slurm: the root folder it is in, and the version it says it is, as in "22.05.8"."""

    rootfs: Path
    version: str

    @property
    def release(self) -> tuple[int, int]:
        """(22, 5) for 22.05.8."""
        year, month = self.version.split(".")[:2]
        return int(year), int(month)


def _installed(rootfs: Path) -> Slurm:
    said = subprocess.run(
        ["chroot", rootfs, "slurmctld", "-V"], capture_output=True, text=True, check=True, timeout=30
    ).stdout
    match = re.search(r"\d+\.\d+\.\d+", said)
    assert match, f"slurmctld -V in {rootfs} said {said!r}"
    return Slurm(rootfs, match[0])


def _make(*command: str | Path) -> str:
    """The last line a script prints; a script that fails, fails the tests: they never skip."""
    if os.geteuid() != 0:
        pytest.fail("the real-Slurm tests need root: they make namespaces and install Debian packages")
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1800)
    if done.returncode:
        pytest.fail(f"{command[0]} failed:\n{done.stdout[-4000:]}")
    return (done.stdout.splitlines() or [""])[-1]


@pytest.fixture(scope="session")
def slurm_2205() -> Slurm:
    """Slurm 22.05 of Debian 12, installed on this machine if it is missing."""
    _make(HERE / "install.sh")
    slurm = _installed(Path("/"))
    assert slurm.release == (22, 5), f"this machine has Slurm {slurm.version}; the tests need Debian 12's 22.05"
    return slurm


@pytest.fixture(scope="session")
def slurm_new(slurm_2205: Slurm) -> Slurm:
    """The newest packaged Slurm, 26.05 or later; install.sh brings what builds it and what any lab needs."""
    slurm = _installed(Path(_make(HERE / "sid-chroot.sh", CACHE)))
    assert slurm.release >= (26, 5), f"Debian sid has Slurm {slurm.version}; the tests need 26.05 or later"
    return slurm
