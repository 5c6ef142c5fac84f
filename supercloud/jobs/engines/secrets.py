"""Secrets by reference: a job names them, and the machine it runs on reads them from files of its user.

``SUPERCLOUD_SECRETS`` (else ``~/.config/supercloud/secrets``) holds one file per secret, readable by its owner alone.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from ...errors import InputError, UnusableEngine
from ...primitives.files import read_text

__all__ = ["NAME", "VARIABLE", "DEFAULT", "find", "folder", "values", "without_line_end"]

VARIABLE = "SUPERCLOUD_SECRETS"
DEFAULT = ".config/supercloud/secrets"
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")


def values(wanted: Mapping[str, str]) -> dict[str, str]:
    """Variable -> value for variable -> name of secret; raises :class:`UnusableEngine` that names what is not there."""
    found = {}
    for variable, name in wanted.items():
        if not NAME.fullmatch(name):
            raise UnusableEngine(
                f"{name!r} is no name of a secret: write letters, digits, dots, dashes and underscores"
            )
        if (value := find(name)) is None:
            raise UnusableEngine(f"there is no secret {folder() / name}; write it there, readable by its user only "
                              "(chmod 600)")  # fmt: skip
        found[variable] = value
    return found


def folder() -> Path:
    """Where the files of the secrets are. Raises :class:`UnusableEngine` where no home folder is known."""
    try:
        return Path(os.environ.get(VARIABLE) or Path.home() / DEFAULT)
    except RuntimeError:
        raise UnusableEngine("where secrets lie is not known: neither HOME nor the password database names a home "
                          f"folder; set {VARIABLE} to their folder") from None  # fmt: skip


def without_line_end(text: str) -> str:
    """A text without the one line end that an editor or a command leaves behind it."""
    return text.removesuffix("\n").removesuffix("\r")


def find(name: str) -> str | None:
    """A secret without the line end of its file; None where there is none. ``name`` is that of a file.

    Raises :class:`UnusableEngine` where others may read it, or where it cannot be read.
    """
    path = folder() / name
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return None
    if mode & 0o077:
        raise UnusableEngine(f"the secret {path} can be read by others (mode {mode:o}); run: chmod 600 {path}")
    try:
        return without_line_end(read_text(path))
    except InputError as error:
        raise UnusableEngine(f"the secret {path} cannot be read: {error}") from None
