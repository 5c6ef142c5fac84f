"""Texts that match a regular expression."""

from __future__ import annotations

import random
import re._parser as regex  # type: ignore[import-not-found]  # the parser of the standard library, Python 3.11 and later
from typing import Any


def make_matching_text(pattern: str, chance: random.Random) -> str:
    """A text that a pattern matches, of the parts that the project's patterns use."""
    return _make_parts(regex.parse(pattern), chance)


def _make_parts(parsed: Any, chance: random.Random) -> str:
    text = ""
    for kind, part in parsed:
        match str(kind):
            case "LITERAL":
                text += chr(part)
            case "NOT_LITERAL" | "ANY":
                text += chance.choice("ab 1")
            case "IN":
                text += _choose_member(part, chance)
            case "MAX_REPEAT" | "MIN_REPEAT":
                least, most, inner = part
                times = chance.randint(least, min(int(most), least + 6))
                text += "".join(_make_parts(inner, chance) for _ in range(times))
            case "SUBPATTERN":
                text += _make_parts(part[-1], chance)
            case "BRANCH":
                text += _make_parts(chance.choice(part[1]), chance)
    return text


_ODD = "aZ09 _-.,:;/\\'\"$`(){}[]<>|&!#%=+*?~^@äß中🖧\u00a0\u202e"


def _choose_member(members: Any, chance: random.Random) -> str:
    if str(members[0][0]) == "NEGATE":
        refused = list(members[1:])
        return chance.choice([item for item in _ODD if not any(_holds(member, item) for member in refused)] or ["a"])
    kind, part = chance.choice(members)
    match str(kind):
        case "LITERAL":
            return chr(part)
        case "RANGE":
            return chr(chance.randint(part[0], min(part[1], 0x10FFFF)))
        case "CATEGORY":
            return chance.choice("0123456789") if "DIGIT" in str(part) else chance.choice("ab-_./")
    return "a"


def _holds(member: tuple[Any, Any], letter: str) -> bool:
    match str(member[0]):
        case "LITERAL":
            return ord(letter) == int(member[1])
        case "RANGE":
            return bool(member[1][0] <= ord(letter) <= member[1][1])
        case "CATEGORY":
            return letter.isspace() if "SPACE" in str(member[1]) else letter.isdigit()
    return False
