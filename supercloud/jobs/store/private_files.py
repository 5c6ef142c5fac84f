"""Folders and files that only their user may write: what is read from them is trusted, also results of functions."""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path

from ...errors import EngineError, StoreError

__all__ = ["create_private_folder", "create_private_file", "read_own_file", "require_own_folder", "write"]

_OTHERS_WRITE, _OTHERS = 0o022, 0o077


def require_own_folder(folder: Path) -> None:
    """Make a folder if it is missing; raises :class:`StoreError` where it is not the user's, or others may write it."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = folder.stat()
    except OSError as error:
        raise StoreError(f"{folder}: {error.strerror}; set SUPERCLOUD_STATE to a folder you can write") from None
    if found.st_uid != os.geteuid():
        raise StoreError(
            f"{folder} belongs to {_describe_user(found.st_uid)}: what lies there is not to be trusted; set "
            "SUPERCLOUD_STATE to a folder of your own"
        )
    if found.st_mode & _OTHERS_WRITE:
        raise StoreError(
            f"{folder} may be written by others (mode {stat.S_IMODE(found.st_mode):04o}): what lies there is not to be "
            f"trusted; chmod go-w {folder}, or set SUPERCLOUD_STATE to another folder"
        )


def create_private_folder(folder: Path) -> None:
    """Make a folder of an engine that is ours alone; one that is there is closed to others.

    Raises :class:`EngineError` where it belongs to somebody else, who could plant logs, results and exit codes.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = folder.stat()
    if found.st_uid != os.geteuid():
        raise EngineError(
            f"{folder} belongs to {_describe_user(found.st_uid)}: what lies there is not to be trusted; remove "
            "it, or set SUPERCLOUD_STATE to a folder of your own"
        )
    if found.st_mode & _OTHERS:
        folder.chmod(0o700)


def create_private_file(path: Path) -> None:
    """Make a file that only its user may read and write; one that is there is closed to others."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        found = os.fstat(handle)
        if found.st_uid != os.geteuid():
            raise StoreError(
                f"{path} belongs to {_describe_user(found.st_uid)}: set SUPERCLOUD_STATE to a folder of your own"
            )
        if found.st_mode & _OTHERS:
            os.fchmod(handle, 0o600)
    finally:
        os.close(handle)


def write(path: Path, text: str) -> None:
    """Write a file that only its user may read and write."""
    create_private_file(path)
    path.write_text(text)


def read_own_file(path: Path, offset: int, size: int) -> bytes:
    """A piece of a file; nothing where there is none. Raises :class:`EngineError` where it is a link, or another
    user's: what a job of ours left is ours.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise EngineError(f"{path} is not read: {error.strerror}") from None
    with open(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            raise EngineError(
                f"{path} is not read: it belongs to {_describe_user(found.st_uid)}, not to who submitted the job"
            )
        try:
            file.seek(offset)
            return file.read(size)
        except OSError as error:
            raise EngineError(f"{path} is not read: {error.strerror}") from None


def _describe_user(user: int) -> str:
    try:
        return f"user {pwd.getpwuid(user).pw_name}"
    except KeyError:
        return f"user {user}"
