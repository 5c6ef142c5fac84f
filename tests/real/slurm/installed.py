"""An installed Slurm."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Slurm:
    """The root folder of an installed Slurm, and its version, such as "22.05.8"."""

    rootfs: Path
    version: str

    @property
    def release(self) -> tuple[int, int]:
        """(22, 5) for 22.05.8."""
        year, month = self.version.split(".")[:2]
        return int(year), int(month)


def find_slurm(rootfs: Path) -> Slurm:
    """The Slurm in a root folder."""
    output = subprocess.run(
        ["chroot", rootfs, "slurmctld", "-V"], capture_output=True, text=True, check=True, timeout=120
    ).stdout
    match = re.search(r"\d+\.\d+\.\d+", output)
    assert match, f"slurmctld -V in {rootfs} said {output!r}"
    return Slurm(rootfs, match[0])
