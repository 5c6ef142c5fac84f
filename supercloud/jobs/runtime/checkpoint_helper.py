"""The small program that commits checkpoints, for machines without supercloud."""

from __future__ import annotations

import tempfile
from functools import cache
from importlib.resources import files
from pathlib import Path

__all__ = ["FILE_NAME", "install", "read_script"]

FILE_NAME = ".checkpoint"
"""Its file name in a folder of jobs: no key starts with a dot."""


@cache
def read_script() -> str:
    """``checkpoint.sh``."""
    return files(__package__).joinpath("checkpoint.sh").read_text()


def install(path: Path) -> None:
    """Write it, unless it exists; jobs that run the previous version continue with that."""
    if path.exists() and path.read_text() == read_script():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as new:
        new.write(read_script())
    Path(new.name).chmod(0o755)
    Path(new.name).replace(path)
