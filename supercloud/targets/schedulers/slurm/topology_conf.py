"""topology.conf: one topology for the whole cluster, a tree of switches or equal blocks."""

from __future__ import annotations

from collections.abc import Iterator

from ....plan.model.plan import Locality
from .conf import Lines
from .topology import block_sizes, blocks_of, folded

__all__ = ["children_of", "leaves_of", "topology_conf_lines"]


def topology_conf_lines(locality: Locality, lines: Lines) -> Iterator[str]:
    """Lines of topology.conf."""
    if locality.kind == "block":
        yield from _block(locality, lines)
    elif locality.kind == "tree":
        for name, hosts in leaves_of(locality):
            yield lines.record("topology", {"SwitchName": name, "Nodes": hosts})
        for name, children in children_of(locality):
            yield lines.record("topology", {"SwitchName": name, "Switches": folded(children)})


def leaves_of(locality: Locality) -> Iterator[tuple[str, str]]:
    """Innermost groups with their nodes."""
    return ((group.name, str(group.hosts)) for group in locality.levels[0].groups if len(group.hosts))


def children_of(locality: Locality) -> Iterator[tuple[str, list[str]]]:
    """Groups of all outer levels with the groups inside each, inside first."""
    for inner, outer in zip(locality.levels, locality.levels[1:], strict=False):
        members: list[list[str]] = [[] for _ in outer.groups]
        for group in inner.groups:
            if group.parent is not None and len(group.hosts):
                members[group.parent].append(group.name)
        yield from ((group.name, names) for group, names in zip(outer.groups, members, strict=True) if names)


def _block(locality: Locality, lines: Lines) -> Iterator[str]:
    blocks = blocks_of(locality, lines.release)
    for group in blocks:
        yield lines.record("topology", {"BlockName": group.name, "Nodes": str(group.hosts)})
    key = lines.release.abilities.block_sizes_key
    assert key is not None, "a block topology for a release without blocks"
    sizes = block_sizes(locality, len(blocks))
    # 23.11 counts doublings, later releases count nodes
    yield lines.record("topology", {key: list(map(str, range(len(sizes)) if key == "BlockLevels" else sizes))})
