"""The checkout of the project and its interpreter, which are mounted in a lab at the same paths."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Product:
    checkout: Path
    venv: Path

    @property
    def command(self) -> Path:
        return self.venv / "bin" / "supercloud"

    def list_binds(self, rootfs: Path) -> list[Path]:
        """The folders and files that a lab over ``rootfs`` must mount."""
        if not self.venv.exists():
            return [self.checkout]
        folders = [self.checkout] if self.venv.is_relative_to(self.checkout) else [self.checkout, self.venv]
        settings = (self.venv / "pyvenv.cfg").read_text().splitlines()
        home = next(line.removeprefix("home = ") for line in settings if line.startswith("home = "))
        python = (Path(home) / "python3").resolve()
        if python.parent != Path("/usr/bin"):
            return [*folders, python.parents[1]]
        # The interpreter of the system: another root folder than / gets its program and library.
        return folders if rootfs == Path("/") else [*folders, python, Path("/usr/lib") / python.name]
