"""Folders and files that only their user can write: their contents are trusted, including results of functions."""

from __future__ import annotations

import errno
import os
import pwd
import stat
import threading
from pathlib import Path

from ...errors import EngineError, StoreError

__all__ = [
    "create_private_folder",
    "create_private_file",
    "read_own_file",
    "require_own_folder",
    "write",
    "write_atomically",
]

_OTHERS_WRITE, _OTHERS = 0o022, 0o077


def require_own_folder(folder: Path) -> None:
    """Create a folder if it is missing; raises :class:`StoreError` if another user owns it or can write to it."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = folder.stat()
    except OSError as error:
        raise StoreError(f"{folder}: {error.strerror}; set SUPERCLOUD_STATE to a writable folder") from None
    if found.st_uid != os.geteuid():
        raise StoreError(
            f"{folder} belongs to {_describe_user(found.st_uid)}: its contents cannot be trusted; set "
            "SUPERCLOUD_STATE to a folder that you own"
        )
    if found.st_mode & _OTHERS_WRITE:
        raise StoreError(
            f"{folder} is writable by other users (mode {stat.S_IMODE(found.st_mode):04o}): its contents cannot be "
            f"trusted; chmod go-w {folder}, or set SUPERCLOUD_STATE to another folder"
        )


def create_private_folder(folder: Path) -> None:
    """Create a private folder of an engine; the permissions of an existing one are restricted to the user.

    Raises :class:`EngineError` if it belongs to another user, who could forge logs, results and exit codes.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = folder.stat()
    if found.st_uid != os.geteuid():
        raise EngineError(
            f"{folder} belongs to {_describe_user(found.st_uid)}: its contents cannot be trusted; remove "
            "it, or set SUPERCLOUD_STATE to a folder that you own"
        )
    if found.st_mode & _OTHERS:
        if folder.is_symlink():  # never change the permissions of a folder elsewhere
            raise EngineError(
                f"{folder} is a symbolic link to a folder that other users can read: chmod 700 {folder.resolve()}"
            )
        folder.chmod(0o700)


def create_private_file(path: Path) -> None:
    """Create a file that only its user can read and write; the permissions of an existing one are restricted.

    Raises :class:`StoreError` if it belongs to another user, or is not a regular file: with a symbolic link, the
    permissions of another file would change.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise StoreError(
            f"{path} is a symbolic link to {os.readlink(path)}: move it away, or put the file there"
        ) from None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise StoreError(f"{path} is not a regular file: move it away")
        if found.st_uid != os.geteuid():
            raise StoreError(
                f"{path} belongs to {_describe_user(found.st_uid)}: set SUPERCLOUD_STATE to a folder that you own"
            )
        if found.st_mode & _OTHERS:
            os.fchmod(handle, 0o600)
    finally:
        os.close(handle)


def write(path: Path, text: str) -> None:
    """Write a file that only its user can read and write."""
    create_private_file(path)
    path.write_text(text)


def write_atomically(path: Path, text: str) -> None:
    """Write a file that only its user can read and write; its readers get the old or the new text, never a part."""
    new = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.new")
    write(new, text)
    new.replace(path)


def read_own_file(path: Path, offset: int, size: int) -> bytes:
    """A part of a file; empty if the file does not exist. Raises :class:`EngineError` if it is a link, not a file, or
    belongs to another user: files of the user's own jobs do not.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise EngineError(f"{path} cannot be read: {error.strerror}") from None
    with open(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise EngineError(f"{path} was not read: it is not a file")
        if found.st_uid != os.geteuid():
            raise EngineError(
                f"{path} was not read: it belongs to {_describe_user(found.st_uid)}, not to the submitting user"
            )
        try:
            file.seek(offset)
            return file.read(size)
        except OSError as error:
            raise EngineError(f"{path} cannot be read: {error.strerror}") from None


def _describe_user(user: int) -> str:
    try:
        return f"user {pwd.getpwuid(user).pw_name}"
    except KeyError:
        return f"user {user}"
