"""Secrets by reference: a job names them, and the machine it runs on reads them from files of its user.

``SUPERCLOUD_SECRETS`` (else ``~/.config/supercloud/secrets``) holds one file per secret, readable by its owner alone.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from ..errors import EngineError, InputError
from ..primitives.files import read_text

__all__ = ["NAME", "VARIABLE", "DEFAULT", "values"]

VARIABLE = "SUPERCLOUD_SECRETS"
DEFAULT = ".config/supercloud/secrets"
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")


def values(wanted: Mapping[str, str]) -> dict[str, str]:
    """Variable -> value for variable -> name of secret; raises :class:`EngineError` that names what is not there."""
    try:
        folder = Path(os.environ.get(VARIABLE) or Path.home() / DEFAULT)
    except RuntimeError:
        raise EngineError("where secrets lie is not known: neither HOME nor the password database names a home "
                          f"folder; set {VARIABLE} to their folder") from None  # fmt: skip
    found = {}
    for variable, name in wanted.items():
        if not NAME.fullmatch(name):
            raise EngineError(f"{name!r} is no name of a secret: write letters, digits, dots, dashes and underscores")
        path = folder / name
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
        except OSError:
            raise EngineError(
                f"there is no secret {path}; write it there, readable by its user only (chmod 600)"
            ) from None
        if mode & 0o077:
            raise EngineError(f"the secret {path} can be read by others (mode {mode:o}); run: chmod 600 {path}")
        try:
            found[variable] = read_text(path).rstrip("\n")
        except InputError as error:
            raise EngineError(f"the secret {path} cannot be read: {error}") from None
    return found
