"""Rendered files as a value, and the one place that writes them.

A :class:`Bundle` maps sorted paths to text. Writing is all or nothing: files go to a new folder beside the target,
which then takes the target's place; a folder is replaced only where every file in it is one that we wrote and nobody
changed since.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ..errors import OutputError, WorkError

__all__ = ["MANIFEST", "Bundle", "File"]

MANIFEST = ".supercloud-bundle.json"


@dataclass(frozen=True, slots=True)
class File:
    """A text and whether it is a program."""

    text: str
    executable: bool = False
    secret: bool = False
    """Readable by its owner only."""

    @property
    def mode(self) -> int:
        """Permission bits."""
        return (0o700 if self.secret else 0o755) if self.executable else (0o600 if self.secret else 0o644)


class Bundle(Mapping[str, str]):
    """Files of one rendering: path -> text, sorted by path. Paths are relative, with forward slashes."""

    def __init__(self, files: Mapping[str, File | str]):
        for path in files:
            pure = PurePosixPath(path)
            if pure.is_absolute() or ".." in pure.parts or not pure.parts or path == MANIFEST:
                raise ValueError(f"{path!r} is no path inside a bundle")
        self.files = {path: file if isinstance(file, File) else File(file) for path, file in sorted(files.items())}

    def __getitem__(self, path: str) -> str:
        return self.files[path].text

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __repr__(self) -> str:
        return f"<Bundle of {len(self)} files>"

    def under(self, folder: str) -> Bundle:
        """The same files inside a folder."""
        return Bundle({f"{folder}/{path}": file for path, file in self.files.items()})

    def __or__(self, other: Bundle) -> Bundle:
        return Bundle({**self.files, **other.files})

    def write(self, folder: str | os.PathLike[str], force: bool = False) -> None:
        """Make ``folder`` hold exactly these files.

        Raises :class:`OutputError` when the folder holds what we did not write, unless ``force``; whatever fails, the
        old folder stays whole.
        """
        target = Path(folder).absolute()
        if not force:
            _refuse_foreign(target)
        elif target.exists() and not target.is_dir():
            raise OutputError(f"{target} is no folder")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            fresh = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        except OSError as error:
            raise WorkError(f"cannot write beside {target}: {error.strerror or error}") from None
        try:
            self._fill(fresh)
            _swap(fresh, target)
        except OSError as error:
            raise WorkError(f"cannot write {target}: {error.strerror or error}; nothing was changed") from None
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def _fill(self, folder: Path) -> None:
        folder.chmod(0o755)
        for path, file in self.files.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(file.text, encoding="utf-8", newline="\n")
            place.chmod(file.mode)
        manifest = {"made-by": "supercloud", "files": {path: _digest(text.encode()) for path, text in self.items()}}
        (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _swap(fresh: Path, target: Path) -> None:
    """Put ``fresh`` in the place of ``target``; afterwards ``fresh`` is what is to be thrown away."""
    if not target.exists():
        fresh.rename(target)
        return
    old = fresh.with_name(fresh.name + ".old")
    target.rename(old)
    try:
        fresh.rename(target)
    except OSError:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _refuse_foreign(target: Path) -> None:
    if not target.exists() and not target.is_symlink():
        return
    if target.is_symlink() or not target.is_dir():
        raise OutputError(f"{target} is no folder; choose another output folder")
    present = sorted(str(path.relative_to(target).as_posix()) for path in target.rglob("*") if not path.is_dir())
    if not present:
        return
    if MANIFEST not in present:
        raise OutputError(f"{target} holds files that supercloud did not write ({_some(present)}); "
                          "choose another folder, or use --force to replace it")  # fmt: skip
    try:
        ours = json.loads((target / MANIFEST).read_text(encoding="utf-8"))["files"]
        foreign = [path for path in present if path not in ours and path != MANIFEST]
        edited = [path for path in present if path in ours and _digest((target / path).read_bytes()) != ours[path]]
    except (OSError, ValueError, KeyError, TypeError):
        raise OutputError(f"{target}/{MANIFEST} is damaged; use --force to replace the folder") from None
    if foreign:
        raise OutputError(f"{target} holds files that supercloud did not write ({_some(foreign)}); "
                          "move them away, or use --force to lose them")  # fmt: skip
    if edited:
        raise OutputError(f"{target} was changed by hand ({_some(edited)}); "
                          "put the change into the spec, or use --force to lose it")  # fmt: skip


def _some(paths: list[str]) -> str:
    return ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
