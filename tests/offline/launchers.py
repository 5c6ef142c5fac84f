"""The programs that the engine looks for on PATH, written as scripts that start ours."""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).parent.parent


def write_provider(folder: Path, package: str, cloud: Path) -> Path:
    """``pulumi-resource-<package>``, whose cloud is the files of a folder."""
    call = f"from offline.provider import main\nfrom pathlib import Path\nmain({package!r}, Path({str(cloud)!r}))"
    return _write_script(folder / f"pulumi-resource-{package}", call)


def write_language_host(folder: Path) -> Path:
    """``pulumi-language-python``."""
    return _write_script(folder / "pulumi-language-python", "from offline.language_host import main\nmain()")


def _write_script(path: Path, call: str) -> Path:
    path.write_text(f"#!{sys.executable}\nimport sys\nsys.path.insert(1, {str(TESTS)!r})\n{call}\n")
    path.chmod(0o755)
    return path
