"""Exchange of two files or directories in one step, so that neither is missing if the program is killed."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

__all__ = ["exchange_paths"]

# fcntl.h and linux/fs.h: paths relative to the working directory, and renameat2(2) with an exchange.
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def exchange_paths(first: Path, second: Path) -> bool:
    """Exchange two existing paths of one file system; False if the system or the file system cannot."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None)  # glibc 2.28
    if rename is None:
        return False
    paths = os.fsencode(first), os.fsencode(second)
    return int(rename(_AT_FDCWD, paths[0], _AT_FDCWD, paths[1], ctypes.c_uint(_RENAME_EXCHANGE))) == 0
