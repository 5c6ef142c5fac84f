"""The impact of a change of a cloud site on running resources: looked up in the provider's table, never guessed."""

from __future__ import annotations

import re
from typing import Any, Literal

from ..model.cloud import CloudPlan

__all__ = ["Impact", "find_impact"]

Impact = Literal["adds", "removes", "changes", "recables", "replaces"]

_NAME_PATTERN = re.compile(r"\[[^\]]*\]")


def find_impact(cloud: CloudPlan, path: str, old: Any, new: Any) -> tuple[Impact, str] | None:
    """The impact of a change at a path of the published plan, and the resources that are replaced; None without a
    matching row.

    A row ``grows`` means that only a larger value is possible in place.
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
