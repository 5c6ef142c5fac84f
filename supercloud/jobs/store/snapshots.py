"""Copies of an SQLite file while processes write to it."""

from __future__ import annotations

import errno
import os
import sqlite3

from .unwritable import UNWRITABLE_ERRORS, get_error_name

__all__ = ["copy_pages"]


def copy_pages(connection: sqlite3.Connection, destination: sqlite3.Connection) -> None:
    """Copy a consistent snapshot.

    Raises :class:`OSError` if the destination cannot be written, as SQLite does not report whose error it is, and
    :class:`sqlite3.Error` for errors of the source.
    """
    connection.execute("SELECT 1 FROM sqlite_master").fetchone()  # SQLite opens a file when it is first read
    try:
        connection.backup(destination)
    except sqlite3.OperationalError as error:
        name = get_error_name(error)
        if not name.startswith(UNWRITABLE_ERRORS) or name.startswith("SQLITE_IOERR_READ"):
            raise
        number = errno.ENOSPC if name == "SQLITE_FULL" else errno.EIO
        raise OSError(number, os.strerror(number)) from error
