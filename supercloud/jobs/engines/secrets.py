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

__all__ = [
    "NAME_PATTERN",
    "FOLDER_VARIABLE",
    "DEFAULT_FOLDER",
    "find_secret",
    "locate_folder",
    "read_secrets",
    "strip_line_end",
]

FOLDER_VARIABLE = "SUPERCLOUD_SECRETS"
DEFAULT_FOLDER = ".config/supercloud/secrets"
NAME_PATTERN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")


def read_secrets(names: Mapping[str, str]) -> dict[str, str]:
    """Variable -> value for variable -> name of secret; raises :class:`UnusableEngine` that names what is not there."""
    found = {}
    for variable, name in names.items():
        if not NAME_PATTERN.fullmatch(name):
            raise UnusableEngine(
                f"{name!r} is no name of a secret: write letters, digits, dots, dashes and underscores"
            )
        if (value := find_secret(name)) is None:
            raise UnusableEngine(
                f"there is no secret {locate_folder() / name}; write it there, readable by its user only (chmod 600)"
            )
        found[variable] = value
    return found


def locate_folder() -> Path:
    """Where the files of the secrets are. Raises :class:`UnusableEngine` where no home folder is known."""
    try:
        return Path(os.environ.get(FOLDER_VARIABLE) or Path.home() / DEFAULT_FOLDER)
    except RuntimeError:
        raise UnusableEngine(
            "where secrets lie is not known: neither HOME nor the password database names a home "
            f"folder; set {FOLDER_VARIABLE} to their folder"
        ) from None


def strip_line_end(text: str) -> str:
    """A text without the one line end that an editor or a command leaves behind it."""
    return text.removesuffix("\n").removesuffix("\r")


def find_secret(name: str) -> str | None:
    """A secret without the line end of its file; None where there is none. ``name`` is that of a file.

    Raises :class:`UnusableEngine` where others may read it, or where it cannot be read.
    """
    path = locate_folder() / name
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return None
    if mode & 0o077:
        raise UnusableEngine(f"the secret {path} can be read by others (mode {mode:o}); run: chmod 600 {path}")
    try:
        return strip_line_end(read_text(path))
    except InputError as error:
        raise UnusableEngine(f"the secret {path} cannot be read: {error}") from None
