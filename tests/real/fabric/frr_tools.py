"""Installation of missing components: Debian packages, and Python programs in a separate environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path


@cache
def install_debian_packages(*programs_and_packages: tuple[str, str]) -> None:
    """Install the packages of missing programs; each argument is (path or name of a program, package)."""
    there = (shutil.which(program) or Path(program).exists() for program, _ in programs_and_packages)
    missing = [package for (_, package), found in zip(programs_and_packages, there, strict=True) if not found]
    if missing:
        program = Path(__file__).resolve().parents[1] / "packages.sh"
        subprocess.run([program, *missing], check=True, stdout=subprocess.DEVNULL)


@cache
def install_python_tools() -> Path:
    """Install ansible-core and pyavd in an environment in the cache; return its folder of programs."""
    place = Path(os.environ.get("SUPERCLOUD_CACHE") or Path.home() / ".cache" / "supercloud") / "fabric-tools"
    if not (place / ".ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        subprocess.run(
            [
                str(place / "bin" / "pip"),
                "install",
                "-q",
                "--disable-pip-version-check",
                "ansible-core>=2.16,<2.20",
                "pyavd>=6.4,<6.5",
            ],
            check=True,
        )
        (place / ".ready").touch()
    return place / "bin"
