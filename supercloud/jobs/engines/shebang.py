"""The interpreter of a script from its first line, the same on every engine."""

from __future__ import annotations

__all__ = ["parse_shebang"]


def parse_shebang(script: str) -> tuple[str, ...]:
    """The program and its options, as the system parses them; empty without a shebang line.

    ``#!/usr/bin/env bash`` is ``bash``, searched in PATH.
    """
    if not script.startswith("#!"):
        return ()
    words = script.partition("\n")[0][2:].split()
    if words and words[0].endswith("/env"):
        words = [word for word in words[1:] if word != "-S"]
    return tuple(words)
