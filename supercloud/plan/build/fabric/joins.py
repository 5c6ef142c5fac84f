"""Networks that join others: the way from one up to the topmost."""

from __future__ import annotations

from collections.abc import Iterable

from ....spec import Fabric

__all__ = ["list_joined"]


def list_joined(fabrics: Iterable[Fabric], name: str) -> list[str]:
    """A network of ``fabrics``, the one it joins, the one that one joins, and so on, each once. It ends also
    where the spec declares a cycle, and at a network that is none of ``fabrics``."""
    fabrics = list(fabrics)
    above = {item.name: item.joins.fabric for item in fabrics if item.joins}
    known = {item.name for item in fabrics}
    way = [name]
    while (up := above.get(way[-1])) in known and up not in way:
        way.append(up)
    return way
