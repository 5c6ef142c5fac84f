"""Secrets by reference: a job names them, and its machine reads them from files of the user.

``SUPERCLOUD_SECRETS`` (else ``~/.config/supercloud/secrets``) has one file per secret, readable only by its owner.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from ...errors import EngineConfigurationError, InputError
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


def read_secrets(names: Mapping[str, str], folder: Path | None = None) -> dict[str, str]:
    """Variable -> value for variable -> name of secret; raises :class:`EngineConfigurationError` for missing ones and
    those that cannot be the value of a variable.

    ``folder`` is that of the user who submitted the job; without it that of this process.
    """
    folder = folder or locate_folder()
    found = {}
    for variable, name in names.items():
        if not NAME_PATTERN.fullmatch(name):
            raise EngineConfigurationError(
                f"{name!r} is not a valid secret name: use letters, digits, dots, dashes and underscores"
            )
        if (value := find_secret(name, folder)) is None:
            raise EngineConfigurationError(
                f"secret {folder / name} not found; create it, readable only by its user (chmod 600)"
            )
        if "\0" in value:
            raise EngineConfigurationError(
                f"the secret {folder / name} has a NUL byte, which no variable can have; write it as text, for example "
                "in base64"
            )
        found[variable] = value
    return found


def locate_folder() -> Path:
    """The folder of the secrets. Raises :class:`EngineConfigurationError` if the home directory is unknown."""
    try:
        return Path(os.environ.get(FOLDER_VARIABLE) or Path.home() / DEFAULT_FOLDER)
    except RuntimeError:
        raise EngineConfigurationError(
            "the folder of secrets is unknown: neither HOME nor the password database specifies a home "
            f"directory; set {FOLDER_VARIABLE} to their folder"
        ) from None


def strip_line_end(text: str) -> str:
    """A text without the final line end that an editor or a command adds."""
    return text.removesuffix("\n").removesuffix("\r")


def find_secret(name: str, folder: Path | None = None) -> str | None:
    """A secret without the line end of its file; None if there is none. ``name`` is the file name.

    Raises :class:`EngineConfigurationError` if other users can read it, or it cannot be read.
    """
    path = (folder or locate_folder()) / name
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return None
    if mode & 0o077:
        raise EngineConfigurationError(
            f"the secret {path} is readable by other users (mode {mode:o}); run: chmod 600 {path}"
        )
    try:
        return strip_line_end(read_text(path))
    except InputError as error:
        raise EngineConfigurationError(f"the secret {path} cannot be read: {error}") from None
