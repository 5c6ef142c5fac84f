"""The lock that makes a process the only broker of a store."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from ...errors import OperationError
from ..store.private_files import require_own_folder

__all__ = ["acquire_broker_lock"]


@contextlib.contextmanager
def acquire_broker_lock(folder: Path) -> Iterator[None]:
    """Hold the broker lock of a store; a second broker fails immediately.

    Raises :class:`OperationError` if another process holds it, or if the file system does not support locks.
    """
    require_own_folder(folder)
    path = folder / "broker.lock"
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise OperationError(
            f"{path} cannot be created: {error.strerror}; without it two brokers could run at the same "
            "time: free some space, or set SUPERCLOUD_STATE to another folder"
        ) from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            other = os.read(handle, 32).decode(errors="replace").strip() or "unknown"
            raise OperationError(f"process {other} already serves {folder}; stop it first") from None
        except OSError as error:
            raise OperationError(
                f"{path} cannot be locked: {error.strerror}; two brokers could run at the same time: set "
                "SUPERCLOUD_STATE to a folder on a file system with file locks"
            ) from None
        with contextlib.suppress(OSError):  # the disk is full: the lock is held, only its process ID is not recorded
            os.ftruncate(handle, 0)
            os.write(handle, str(os.getpid()).encode())
        yield
    finally:
        os.close(handle)
