"""Packages that a lab has in addition to its root folder, which is not changed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from installed import Slurm
from lab import Lab

__all__ = ["CACHE", "build_layer", "copy_over_root"]

HERE = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("SUPERCLOUD_CACHE") or Path.home() / ".cache" / "supercloud")


def build_layer(slurm: Slurm, cache: Path, *packages: str) -> Path:
    """A folder with the files of these packages that the root folder lacks; fetched once."""
    command = [HERE / "layer.sh", slurm.rootfs, cache, *packages]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return Path(done.stdout.splitlines()[-1])


def copy_over_root(lab: Lab, folder: Path) -> None:
    """Copy a folder over the lab's root."""
    archive = subprocess.run(["tar", "-c", "-C", folder, "."], capture_output=True, check=True)
    lab.run("tar -x --keep-directory-symlink -C /", input=archive.stdout)
