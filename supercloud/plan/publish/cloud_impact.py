"""What a change of a cloud site does to what runs there: looked up in the provider's table, never guessed."""

from __future__ import annotations

import re
from typing import Any, Literal

from ..model.cloud import CloudPlan

__all__ = ["Impact", "find_impact"]

Impact = Literal["adds", "removes", "changes", "recables", "replaces"]

_NAME_PATTERN = re.compile(r"\[[^\]]*\]")


def find_impact(cloud: CloudPlan, path: str, old: Any, new: Any) -> tuple[Impact, str] | None:
    """The impact of a change at a path of the published plan, and what is made again; None where no row is about it.

    A row ``grows`` says that only a larger value can be had in place.
    """
    plain = _NAME_PATTERN.sub("[*]", path)
    for row in cloud.impacts:
        if plain != row.path and not plain.startswith(f"{row.path}."):
            continue
        if row.impact != "grows":
            return row.impact, row.what
        grown = isinstance(old, int | float) and isinstance(new, int | float) and new > old
        return ("changes", "") if grown else ("replaces", row.what)
    return None
