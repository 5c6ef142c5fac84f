"""The programs of the control plane and the files that belong to them, built on first use."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent


@cache
def build_module(module: str = ".") -> Path:
    """Build a module (this folder, ``tools`` or ``volcano``) once; return its folder with ``bin`` and ``manifests``."""
    done = subprocess.run([HERE / "build.sh", module], capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, f"build.sh {module} failed:\n{done.stderr[-4000:]}"
    return Path(done.stdout.splitlines()[-1])
