"""Pulumi's command line for tests."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
BUILD_SECONDS = 3600


@cache
def build_pulumi() -> Path:
    """The program on PATH, or one built into the cache; if the build fails, the tests fail and are not skipped."""
    done = subprocess.run(
        [HERE / "build.sh"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=BUILD_SECONDS
    )
    if done.returncode:
        pytest.fail(f"build.sh failed:\n{done.stdout[-4000:]}")
    return Path(done.stdout.splitlines()[-1])
