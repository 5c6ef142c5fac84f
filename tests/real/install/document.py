"""INSTALL.md as a program: its code blocks in order, each with the hosts of the line above it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_ON = re.compile(r"^On \*\*(.+)\*\*:$")
_EVERY = re.compile(r"every (.+)$")


@dataclass(frozen=True)
class Block:
    """Commands and their hosts: names, or ``every node``, ``every login host``."""

    line: int
    hosts: tuple[str, ...]
    commands: str


def list_blocks(text: str) -> list[Block]:
    """All code blocks; a block without a line with its hosts is an error."""
    found: list[Block] = []
    output: tuple[str, ...] = ()
    inside: list[str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            if inside is None:
                if not output:
                    raise ValueError(f"INSTALL.md:{number}: a block without a line 'On **hosts**:' above it")
                inside = []
            else:
                found.append(Block(number - len(inside), output, "\n".join(inside) + "\n"))
                output, inside = (), None
        elif inside is not None:
            inside.append(line)
        elif match := _ON.match(line):
            output = tuple(match[1].split(", "))
        elif line.strip():
            output = ()
    if inside is not None:
        raise ValueError("INSTALL.md: the last block is not closed")
    return found


def list_hosts(block: Block, groups: Mapping[str, Sequence[str]]) -> list[str]:
    """The hosts of a block without duplicates; ``groups`` has the hosts of ``node``, ``login host`` and ``host``."""
    hosts: list[str] = []
    for word in block.hosts:
        every = _EVERY.match(word)
        hosts += groups[every[1]] if every else [word]
    return list(dict.fromkeys(hosts))
