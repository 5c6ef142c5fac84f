"""Rendered files as a value, and the only code that writes them.

A :class:`Bundle` maps sorted paths to text. Writing is all or nothing: files are written to a new directory next to the
target, which then replaces the target; the replaced files must be rendered from the same spec and must not be
modified since.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ..errors import OperationError, OutputError
from .exchange import exchange_paths

__all__ = ["MANIFEST", "Bundle", "File", "render_sums"]

MANIFEST = ".supercloud-bundle.json"


@dataclass(frozen=True, slots=True)
class File:
    """A text and whether it is a program."""

    text: str
    executable: bool = False
    secret: bool = False
    """Whether only its owner can read it."""

    @property
    def mode(self) -> int:
        """Permission bits."""
        return (0o700 if self.secret else 0o755) if self.executable else (0o600 if self.secret else 0o644)


class Bundle(Mapping[str, str]):
    """Files of one rendering: path -> text, sorted by path. Paths are relative, with forward slashes.

    Args:
        files: Texts or files by path.

    Raises:
        ValueError: If a path is absolute or leaves the bundle.
    """

    def __init__(self, files: Mapping[str, File | str]):
        for path in files:
            pure = PurePosixPath(path)
            if pure.is_absolute() or ".." in pure.parts or not pure.parts or path == MANIFEST:
                raise ValueError(f"{path!r} is not a valid path inside a bundle")
        self.files = {path: file if isinstance(file, File) else File(file) for path, file in sorted(files.items())}

    def __getitem__(self, path: str) -> str:
        return self.files[path].text

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __repr__(self) -> str:
        return f"<Bundle of {len(self)} files>"

    def with_prefix(self, folder: str) -> Bundle:
        """The same files inside a directory.

        Args:
            folder: The directory, relative, with forward slashes.
        """
        return Bundle({f"{folder}/{path}": file for path, file in self.files.items()})

    def __or__(self, other: Bundle) -> Bundle:
        return Bundle({**self.files, **other.files})

    def write(
        self,
        folder: str | os.PathLike[str],
        force: bool = False,
        *,
        source: str | os.PathLike[str] | None = None,
        subfolders: Collection[str] = (),
    ) -> None:
        """Write a directory so that it contains exactly these files. On any failure the old directory remains intact.

        Args:
            folder: The directory; one that exists is replaced.
            force: Whether to discard files that were not rendered, that were modified, or that come from another
                source. A directory that contains the source, the working directory, the home directory or a repository
                is never replaced, also not with ``force``.
            source: The file that the bundle was rendered from; it is recorded in the directory.
            subfolders: Replace only these subfolders of it; empty means all.

        Raises:
            OutputError: If files would be lost and ``force`` is not set.
            OperationError: If the directory cannot be written.
        """
        target = Path(folder).absolute()
        if target.exists() and not target.is_dir():
            raise OutputError(f"{target} is not a directory; choose another output directory")
        # relative, so that it is equal in another checkout with both
        origin = os.path.relpath(os.path.realpath(source), os.path.realpath(target)) if source is not None else ""
        if force:
            _refuse_protected(target, source)
        else:
            _refuse_foreign(target, origin, subfolders)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            fresh = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        except OSError as error:
            raise OperationError(f"cannot write next to {target}: {error.strerror or error}") from None
        try:
            kept = _keep_unselected(target, fresh, origin, subfolders)
            own = {path: _compute_digest(text.encode()) for path, text in self.items()}
            self._write_files(fresh, _Manifest(own | kept, origin))
            _replace_folder(fresh, target)
        except OSError as error:
            raise OperationError(f"cannot write {target}: {error.strerror or error}; nothing was changed") from None
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def _write_files(self, folder: Path, manifest: _Manifest) -> None:
        folder.chmod(0o755)
        for path, file in self.files.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(file.text, encoding="utf-8", newline="\n")
            place.chmod(file.mode)
        (folder / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class _Manifest:
    """The record of a rendering in its directory."""

    files: Mapping[str, str] = field(default_factory=dict)
    """Path -> digest of the rendered content."""
    origin: str = ""
    """The spec, relative to the directory; empty if unknown."""

    def to_json(self) -> str:
        """The text of the file, with sorted paths."""
        header = {"made-by": "supercloud", **({"spec": self.origin} if self.origin else {})}
        return json.dumps({**header, "files": dict(sorted(self.files.items()))}, indent=1) + "\n"


def _read_manifest(target: Path) -> _Manifest | None:
    """None if there is none, or if it cannot be read."""
    try:
        data = json.loads((target / MANIFEST).read_text(encoding="utf-8"))
        return _Manifest(dict(data["files"]), str(data.get("spec") or ""))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _is_inside(path: str, subfolders: Collection[str]) -> bool:
    return any(path == part or path.startswith(f"{part}/") for part in subfolders)


def _keep_unselected(target: Path, fresh: Path, origin: str, subfolders: Collection[str]) -> dict[str, str]:
    """Copy what is outside the subfolders, if it is of the same source; returns the digests of its files."""
    old = _read_manifest(target) if subfolders else None
    if old is None or old.origin not in ("", origin):
        return {}
    _copy_unselected(target, fresh, subfolders)
    return {path: digest for path, digest in old.files.items() if not _is_inside(path, subfolders)}


def _copy_unselected(target: Path, fresh: Path, subfolders: Collection[str]) -> None:
    """Copy all but the parts and the manifest."""

    def list_ignored(folder: str, names: list[str]) -> list[str]:
        inside = Path(folder).relative_to(target)
        return [name for name in names if _is_inside((inside / name).as_posix(), (*subfolders, MANIFEST))]

    try:
        shutil.copytree(target, fresh, symlinks=True, ignore=list_ignored, dirs_exist_ok=True)
    except shutil.Error as error:  # a list of (from, to, why)
        raise OSError(str(error.args[0][0][2])) from None


def render_sums(files: Mapping[str, File | str]) -> str:
    """The digests of files, in the format of ``sha256sum``."""
    return "".join(f"{_compute_digest(text.encode())}  {path}\n" for path, text in Bundle(files).items())


def _compute_digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _replace_folder(fresh: Path, target: Path) -> None:
    """Replace ``target`` with ``fresh``; afterwards ``fresh`` is to be deleted."""
    if not target.exists():
        fresh.rename(target)
        return
    if exchange_paths(fresh, target):
        return
    old = fresh.with_name(fresh.name + ".old")
    target.rename(old)
    try:
        fresh.rename(target)
    except BaseException:  # also when the program is to end
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _refuse_protected(target: Path, source: str | os.PathLike[str] | None) -> None:
    """Raise if the directory to replace is more than an output directory, also with ``force``."""
    places = {"the working directory": Path.cwd(), **({"the spec": Path(source)} if source is not None else {})}
    with contextlib.suppress(RuntimeError):  # the home directory is unknown
        places["the home directory"] = Path.home()
    real = os.path.realpath(target)
    held = [what for what, place in places.items() if Path(os.path.realpath(place)).is_relative_to(real)]
    if (target / ".git").exists():
        held.append("a repository (.git)")
    if held:
        raise OutputError(
            f"{target} contains {' and '.join(held)} and is never replaced; choose another output directory"
        )


def _refuse_foreign(target: Path, origin: str, subfolders: Collection[str]) -> None:
    """Raise where writing (with ``subfolders``: these subfolders) would lose files that were not rendered or are of
    another origin.
    """
    if target.is_symlink():
        raise OutputError(f"{target} is a symbolic link; choose another output directory")
    if not target.exists():
        return
    present = sorted(str(path.relative_to(target).as_posix()) for path in target.rglob("*") if not path.is_dir())
    if not present:
        return
    manifest = _require_manifest(target, present)
    if manifest.origin and manifest.origin != origin:
        raise OutputError(
            f"{target} was rendered from {os.path.normpath(target / manifest.origin)}; "
            "choose another directory (--out), or use --force to replace it"
        )
    lost = [path for path in present if path != MANIFEST and (not subfolders or _is_inside(path, subfolders))]
    _refuse_changed(target, manifest, lost)


def _require_manifest(target: Path, present: list[str]) -> _Manifest:
    if MANIFEST not in present:
        raise OutputError(
            f"{target} contains files that supercloud did not write ({_format_paths(present)}); "
            "choose another directory, or use --force to replace it"
        )
    manifest = _read_manifest(target)
    if manifest is None:
        raise OutputError(f"{target}/{MANIFEST} is damaged; use --force to replace the directory")
    return manifest


def _refuse_changed(target: Path, manifest: _Manifest, paths: list[str]) -> None:
    """Raise if one of the files was not rendered, or was modified since."""
    try:
        digests = {path: _compute_digest((target / path).read_bytes()) for path in paths if path in manifest.files}
    except OSError as error:
        raise OutputError(f"{target} cannot be read: {error}; use --force to replace the directory") from None
    if foreign := [path for path in paths if path not in manifest.files]:
        raise OutputError(
            f"{target} contains files that supercloud did not write ({_format_paths(foreign)}); "
            "move them, or use --force to discard them"
        )
    if edited := [path for path, digest in digests.items() if digest != manifest.files[path]]:
        raise OutputError(
            f"{target} was modified by hand ({_format_paths(edited)}); "
            "apply the change to the spec, or use --force to discard it"
        )


def _format_paths(paths: list[str]) -> str:
    return ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
