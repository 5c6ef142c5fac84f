"""Secrets by reference: a job names them, and the machine it runs on reads them from files of its user.

``SUPERCLOUD_SECRETS`` (else ``~/.config/supercloud/secrets``) holds one file per secret, readable by its owner alone.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from ..errors import EngineError
from ..primitives.files import read_text

__all__ = ["NAME", "VARIABLE", "DEFAULT", "values"]

VARIABLE = "SUPERCLOUD_SECRETS"
DEFAULT = ".config/supercloud/secrets"
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")


def values(wanted: Mapping[str, str]) -> dict[str, str]:
    """Variable -> value for variable -> name of secret; raises :class:`EngineError` that names what is not there."""
    folder = Path(os.environ.get(VARIABLE) or Path.home() / DEFAULT)
    found = {}
    for variable, name in wanted.items():
        path = folder / name
        try:
            if not NAME.fullmatch(name) or stat.S_IMODE(path.stat().st_mode) & 0o077:
                raise PermissionError
            found[variable] = read_text(path).rstrip("\n")
        except (OSError, ValueError):
            raise EngineError(f"there is no secret {path} that only its user can read") from None
    return found
