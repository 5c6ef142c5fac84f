"""What runs a script: what its first line says, the same on every engine."""

from __future__ import annotations

__all__ = ["parse_shebang"]


def parse_shebang(script: str) -> tuple[str, ...]:
    """The program and its options, as the system would read them; empty where the script does not say.

    ``#!/usr/bin/env bash`` is ``bash``: found by its name.
    """
    if not script.startswith("#!"):
        return ()
    words = script.partition("\n")[0][2:].split()
    if words and words[0].endswith("/env"):
        words = [word for word in words[1:] if word != "-S"]
    return tuple(words)
