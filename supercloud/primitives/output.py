"""Atomic writing of one file, never through a symbolic link."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ..errors import OperationError, OutputError

__all__ = ["write_file"]

_FILE_MODE = 0o644


def write_file(path: str | os.PathLike[str], text: str) -> None:
    """Write ``text`` to a file; its directory is created if missing.

    It is written to a new file next to the old one, which then replaces it with its permissions. Raises
    :class:`OutputError` for a symbolic link and for anything but a regular file, :class:`OperationError` if the disk
    write fails; on any failure the old file remains intact.
    """
    target = Path(path)
    if target.is_symlink():
        raise OutputError(f"{target} is a symbolic link to {os.readlink(target)}; use that file, or remove the link")
    if target.exists() and not target.is_file():
        raise OutputError(f"{target} is not a regular file; choose another name")
    fresh = ""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o777 if target.exists() else _FILE_MODE & ~_read_umask()
        handle, fresh = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(fresh, target)
        fresh = ""
    except OSError as error:
        raise OperationError(f"cannot write {target}: {error.strerror or error}; nothing was changed") from None
    finally:
        if fresh:
            Path(fresh).unlink(missing_ok=True)


def _read_umask() -> int:
    """The mask of the process; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
