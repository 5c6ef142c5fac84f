"""Names of a bounded length: stable, readable, and unique for different parts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import ConfigDict, Field

from ..errors import InputError

__all__ = ["NameRule", "build_bounded_name"]

_DIGEST_LENGTH = 8
_Letters = Annotated[str, Field(pattern=r"^[ -~]*$")]


@dataclass(frozen=True)
class NameRule:
    """The names that a service accepts."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    max: int
    """Maximum number of characters."""
    min: int = 1
    characters: _Letters = "A-Za-z0-9-"
    """Allowed characters, as inside the brackets of a regular expression."""
    starts: _Letters = "A-Za-z0-9"
    ends: _Letters = "A-Za-z0-9"
    separator: _Letters = "-"
    doubled: bool = True
    """Whether consecutive separators are allowed."""
    refused: tuple[_Letters, ...] = ()
    """Prefixes that are not allowed."""
    refused_end: tuple[_Letters, ...] = ()
    """Suffixes that are not allowed."""
    refused_all: _Letters | None = None
    """Pattern of whole names that are not allowed."""

    def find_problem(self, name: str) -> str:
        """Why a name is rejected, with the value and the limit; empty if it is accepted."""
        if not self.min <= len(name) <= self.max:
            return f"{name!r} has {len(name)} characters: {self.min} to {self.max} are allowed"
        if not name:
            return ""
        strange = sorted(set(re.sub(f"[{self.characters}]", "", name)))
        if strange:
            return f"{name!r} contains {', '.join(map(repr, strange))}: allowed are {self.characters}"
        for place, char, allowed in (("starts", name[0], self.starts), ("ends", name[-1], self.ends)):
            if not re.fullmatch(f"[{allowed}]", char):
                return f"{name!r} {place} with {char!r}: allowed are {allowed}"
        if not self.doubled and self.separator * 2 in name:
            return f"{name!r} contains {self.separator * 2!r}"
        for part in self.refused:
            if name.startswith(part):
                return f"{name!r} starts with {part!r}"
        for part in self.refused_end:
            if name.endswith(part):
                return f"{name!r} ends with {part!r}"
        if self.refused_all and re.fullmatch(self.refused_all, name):
            return f"{name!r} matches the reserved pattern {self.refused_all}"
        return ""


def build_bounded_name(parts: Sequence[str], rule: NameRule) -> str:
    """The parts as one name that the rule accepts; the same parts always give the same name.

    A name that is rejected or too long is changed: letters become lower-case if the rule has no capitals, any other
    character than a letter or digit becomes the separator, a long name loses its start, as the last parts are the most
    specific, and a digest of all parts is appended, so that different parts never share a name.

    Raises :class:`InputError` if no name of the parts is accepted.
    """
    plain = rule.separator.join(parts)
    if not rule.find_problem(plain):
        return plain
    text = plain if re.search("A-Z", rule.characters) else plain.lower()
    text = re.sub("[^A-Za-z0-9]+", rule.separator, text)
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_DIGEST_LENGTH]
    room = rule.max - len(rule.separator) - _DIGEST_LENGTH
    if room < 1:
        raise InputError(f"no valid name for {plain!r}: {rule.max} characters are too few for it and its digest")
    kept = re.sub(f"^[^{rule.starts}]+", "", text[-room:]).rstrip(rule.separator)
    name = f"{kept}{rule.separator}{digest}" if kept else digest
    if not re.match(f"[{rule.starts}]", name):
        name = f"n{name}"
    if rule.find_problem(name):
        raise InputError(f"no valid name for {plain!r}: {rule.find_problem(name)}")
    return name
