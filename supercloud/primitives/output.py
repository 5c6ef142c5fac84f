"""One file written whole or not at all, and never through a link."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ..errors import OperationError, OutputError

__all__ = ["write_file"]

_FILE_MODE = 0o644


def write_file(path: str | os.PathLike[str], text: str) -> None:
    """Put ``text`` into a file, whose folder is made where it is not there.

    It goes to a new file beside the old one, which then takes its place and its permissions. Raises
    :class:`OutputError` for a symbolic link and for what is no ordinary file, :class:`OperationError` where the disk
    refuses; whatever fails, the old file stays whole.
    """
    target = Path(path)
    if target.is_symlink():
        raise OutputError(f"{target} is a symbolic link to {os.readlink(target)}; name that file, or remove the link")
    if target.exists() and not target.is_file():
        raise OutputError(f"{target} is no ordinary file; choose another name")
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
