"""Rows of the listings that Slurm's commands print.

A command that prints something else with exit code 0, such as a wrapper or a login shell with a message, has not
answered. To read that as an empty list would mean that Slurm has no job, and a job would be submitted twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ....errors import EngineError
from ....primitives.responses import iter_lines

__all__ = ["iter_rows"]


def iter_rows(text: str, program: str, pattern: re.Pattern[str], content: str = "jobs") -> Iterator[str]:
    """The lines of a listing that match ``pattern``; lines after the first one that do not are the rest of a multi-line
    comment or command of a job.

    ``content`` is what the program lists. Raises :class:`EngineError` if another line comes first.
    """
    is_listing = False
    for line in iter_lines(text, program):
        if pattern.match(line):
            is_listing = True
            yield line
        elif not is_listing and line.strip():
            raise EngineError(
                f"{program}'s answer is not a list of {content}: it begins with {line.strip()[:80]!r}; if a wrapper of "
                "the command or the login shell prints this, write it to stderr there"
            )
