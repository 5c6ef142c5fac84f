"""Names of a bounded length: stable, readable, and different wherever their parts differ."""

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
    """What a service accepts as a name."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    max: int
    """Most characters."""
    min: int = 1
    characters: _Letters = "A-Za-z0-9-"
    """What a name is made of, as inside the brackets of a regular expression."""
    starts: _Letters = "A-Za-z0-9"
    ends: _Letters = "A-Za-z0-9"
    separator: _Letters = "-"
    doubled: bool = True
    """Whether two separators may follow each other."""
    refused: tuple[_Letters, ...] = ()
    """What a name must not begin with."""
    refused_end: tuple[_Letters, ...] = ()
    """What a name must not end with."""
    refused_all: _Letters | None = None
    """A whole name that matches this is refused."""

    def find_problem(self, name: str) -> str:
        """Why a name is refused, with the value and the limit; empty where it is accepted."""
        if not self.min <= len(name) <= self.max:
            return f"{name!r} has {len(name)} characters, {self.min} to {self.max} are accepted"
        if not name:
            return ""
        strange = sorted(set(re.sub(f"[{self.characters}]", "", name)))
        if strange:
            return f"{name!r} has {', '.join(map(repr, strange))}, names are made of {self.characters}"
        for place, char, allowed in (("begins", name[0], self.starts), ("ends", name[-1], self.ends)):
            if not re.fullmatch(f"[{allowed}]", char):
                return f"{name!r} {place} with {char!r}, it has to be one of {allowed}"
        if not self.doubled and self.separator * 2 in name:
            return f"{name!r} has {self.separator * 2!r} inside"
        for part in self.refused:
            if name.startswith(part):
                return f"{name!r} begins with {part!r}"
        for part in self.refused_end:
            if name.endswith(part):
                return f"{name!r} ends with {part!r}"
        if self.refused_all and re.fullmatch(self.refused_all, name):
            return f"{name!r} looks like {self.refused_all}"
        return ""


def build_bounded_name(parts: Sequence[str], rule: NameRule) -> str:
    """The parts as one name that the rule accepts; the same parts always give the same name.

    A name that is refused or too long is changed: letters become small where the rule has no capitals, whatever is
    neither letter nor digit becomes its separator, what is too long loses its beginning, since the last parts tell
    most, and a digest of all parts ends it, so that different parts never share a name.

    Raises :class:`InputError` where nothing that is left of the parts is accepted.
    """
    plain = rule.separator.join(parts)
    if not rule.find_problem(plain):
        return plain
    text = plain if re.search("A-Z", rule.characters) else plain.lower()
    text = re.sub("[^A-Za-z0-9]+", rule.separator, text)
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_DIGEST_LENGTH]
    room = rule.max - len(rule.separator) - _DIGEST_LENGTH
    if room < 1:
        raise InputError(f"no name can be made of {plain!r}: {rule.max} characters have no room for it and its digest")
    kept = re.sub(f"^[^{rule.starts}]+", "", text[-room:]).rstrip(rule.separator)
    name = f"{kept}{rule.separator}{digest}" if kept else digest
    if not re.match(f"[{rule.starts}]", name):
        name = f"n{name}"
    if rule.find_problem(name):
        raise InputError(f"no name can be made of {plain!r}: {rule.find_problem(name)}")
    return name
