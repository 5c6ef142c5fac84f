"""Files with a path from user input: read up to a size, only regular files, never waiting for a writer.

A path may come from an untrusted spec. A device has no end, a pipe blocks forever, and a message that quotes a
file of another kind exposes what only its owner can read: callers of :func:`read_text` report problems of a file
without its contents, unless it has the expected form.
"""

from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path

from ..errors import InputError

__all__ = ["MAX_FILE_SIZE", "FileReadError", "read_bytes", "read_text"]

MAX_FILE_SIZE = 16 * 2**20
"""Bytes. The hours of a year in EPW are 2 MB, a spec of 4,096 pools less than 4 MB."""

_FILE_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class FileReadError(InputError):
    """A file cannot be read; the text is the reason, without the path."""


def read_bytes(path: Path, max_size: int = MAX_FILE_SIZE) -> bytes:
    """The bytes of a regular file. Raises :class:`FileReadError` for anything else and for more than ``max_size``
    bytes.
    """
    try:
        # without these flags a pipe without a writer would block, and a terminal would become the controlling one
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise FileReadError("file not found") from None
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise FileReadError(str(getattr(error, "strerror", None) or "this is not a valid path")) from None
    try:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            raise FileReadError(
                f"it is {next((name for is_it, name in _FILE_KINDS if is_it(mode)), 'a special file')}, not a "
                "regular file"
            )
        with open(handle, "rb", closefd=False) as file:
            data = file.read(max_size + 1)
        if data is None:  # a kernel file without data at the moment
            raise FileReadError("it cannot be read to its end")
    except OSError as error:
        raise FileReadError(str(error.strerror or error)) from None
    finally:
        os.close(handle)
    if len(data) > max_size:
        raise FileReadError(f"it has more than {_format_size(max_size)}")
    return data


def read_text(path: Path, max_size: int = MAX_FILE_SIZE) -> str:
    """The text of a regular file in UTF-8, with or without a byte order mark.

    Raises :class:`FileReadError` for anything else and for more than ``max_size`` bytes.
    """
    data = read_bytes(path, max_size)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise FileReadError(
            f"it is not UTF-8 text (line {line}, byte {error.start}): {_suggest_encoding(data)}"
        ) from None


_BYTE_ORDER_MARKS = (
    ("UTF-32", codecs.BOM_UTF32_LE),
    ("UTF-32", codecs.BOM_UTF32_BE),
    ("UTF-16", codecs.BOM_UTF16_LE),
    ("UTF-16", codecs.BOM_UTF16_BE),
)


def _suggest_encoding(data: bytes) -> str:
    """How to convert a file to UTF-8, by its byte order mark."""
    for name, mark in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return f"it is {name}; save it as UTF-8, for example with iconv -f {name} -t UTF-8"
    if b"\0" in data[:1024]:
        return "it looks like a program or an archive; use a text file"
    return "save it as UTF-8"


def _format_size(size: int) -> str:
    return f"{size // 2**20} MiB" if size >= 2**20 else f"{size} bytes"
