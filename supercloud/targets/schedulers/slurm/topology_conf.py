"""topology.conf: one topology for the whole cluster, a tree of switches or equal blocks."""

from __future__ import annotations

from collections.abc import Iterator

from ....plan.model.plan import Locality
from .conf import ConfigWriter
from .topology import compute_block_sizes, fold_names, select_blocks

__all__ = ["iter_children", "iter_leaves", "render_topology_conf"]


def render_topology_conf(locality: Locality, writer: ConfigWriter) -> Iterator[str]:
    """Lines of topology.conf."""
    if locality.kind == "block":
        yield from _render_blocks(locality, writer)
    elif locality.kind == "tree":
        for name, hosts in iter_leaves(locality):
            yield writer.format_record("topology", {"SwitchName": name, "Nodes": hosts})
        for name, children in iter_children(locality):
            yield writer.format_record("topology", {"SwitchName": name, "Switches": fold_names(children)})


def iter_leaves(locality: Locality) -> Iterator[tuple[str, str]]:
    """Innermost groups with their nodes."""
    return ((group.name, str(group.hosts)) for group in locality.levels[0].groups if len(group.hosts))


def iter_children(locality: Locality) -> Iterator[tuple[str, list[str]]]:
    """Yield groups of all outer levels with the groups inside each, inner levels first."""
    for inner, outer in zip(locality.levels, locality.levels[1:], strict=False):
        members: list[list[str]] = [[] for _ in outer.groups]
        for group in inner.groups:
            if group.parent is not None and len(group.hosts):
                members[group.parent].append(group.name)
        yield from ((group.name, names) for group, names in zip(outer.groups, members, strict=True) if names)


def _render_blocks(locality: Locality, writer: ConfigWriter) -> Iterator[str]:
    blocks = select_blocks(locality, writer.release)
    for group in blocks:
        yield writer.format_record("topology", {"BlockName": group.name, "Nodes": str(group.hosts)})
    key = writer.release.abilities.block_sizes_key
    assert key is not None, "a block topology for a release without blocks"
    sizes = compute_block_sizes(locality, len(blocks))
    # 23.11 counts doublings, later releases count nodes
    yield writer.format_record("topology", {key: list(map(str, range(len(sizes)) if key == "BlockLevels" else sizes))})
