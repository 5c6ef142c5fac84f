"""A copy of the package in a temporary folder, to which a proof adds what a row of CONTRIBUTING.md lists."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from samples import ROOT

_COPIED = ("supercloud", "templates")
_IMPORT = re.compile(r"(from \S+ )?import ")


class PackageCopy:
    """A copy of the package, with a record of what was changed."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "copy"
        self.work = folder / "work"
        self.work.mkdir()
        for name in _COPIED:
            shutil.copytree(ROOT / name, self.root / name)
        self.added: set[str] = set()
        self.lines: dict[str, int] = {}
        """Files with lines for the new thing, and their number; imports are not counted."""
        self.functions: set[str] = set()

    def add(self, path: str, text: str) -> None:
        """Add a file."""
        found = self.root / path
        assert not found.exists(), path
        found.parent.mkdir(parents=True, exist_ok=True)
        found.write_text(text)
        self.added.add(path)

    def clone(self, path: str, name: str, *changes: tuple[str, str]) -> None:
        """Add a file with the text of another one in its folder; in the catalog, with another name."""
        source = self.root / path
        text = source.read_text()
        if source.suffix == ".yaml":
            text, count = re.subn(rf'^name: "?{re.escape(source.stem)}"?$', f'name: "{name}"', text, flags=re.M)
            assert count == 1, path
        for old, new in changes:
            assert old in text, (path, old)
            text = text.replace(old, new)
        self.add(str(Path(path).with_name(name + source.suffix)), text)

    def line(self, path: str, below: str, line: str) -> None:
        """Add a line below another one."""
        self._edit(path, below, f"{below}\n{line}")
        if not _IMPORT.match(line):
            self.lines[path] = self.lines.get(path, 0) + 1

    def change(self, path: str, old: str, new: str) -> None:
        """Change a line, such as a list of names."""
        assert "\n" not in old + new
        self._edit(path, old, new)
        self.lines[path] = self.lines.get(path, 0) + 1

    def function(self, path: str, before: str, text: str) -> None:
        """Add a function to a file."""
        self._edit(path, before, f"{text}\n\n{before}")
        self.functions.add(path)

    def write(self, name: str, text: str) -> None:
        """Write a file of a user into the folder in which commands run."""
        (self.work / name).write_text(text)

    def run(self, *args: str, status: int = 0) -> str:
        """Run the command line of the copy, and return what it prints."""
        return self._run(["-m", "supercloud", *args], status)

    def python(self, code: str) -> str:
        """Run a program that uses the copy, and return what it prints."""
        return self._run(["-c", code], 0)

    def list_broken_contracts(self) -> str:
        """Check the contracts of import-linter, and return the report; empty if all are kept."""
        shutil.copy(ROOT / "pyproject.toml", self.root)
        ran = subprocess.run(
            [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache"],
            cwd=self.root,
            env=os.environ | {"PYTHONPATH": str(self.root), "COLUMNS": "300"},
            capture_output=True,
            text=True,
            timeout=120,
        )
        return ran.stdout + ran.stderr if ran.returncode else ""

    def _edit(self, path: str, old: str, new: str) -> None:
        text = (self.root / path).read_text()
        assert text.count(old) == 1, (path, old, text.count(old))
        (self.root / path).write_text(text.replace(old, new))

    def _run(self, args: list[str], status: int) -> str:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SUPERCLOUD"))}
        state = {"SUPERCLOUD_STATE": str(self.work / ".state"), "NO_COLOR": "1", "COLUMNS": "200"}
        paths = os.pathsep.join([str(self.root), str(self.work)])
        ran = subprocess.run(
            [sys.executable, *args],
            cwd=self.work,
            env=kept | state | {"PYTHONPATH": paths},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert ran.returncode == status, ran.stdout + ran.stderr
        return ran.stdout + ran.stderr
