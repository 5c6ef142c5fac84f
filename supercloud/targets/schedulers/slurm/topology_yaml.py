"""topology.yaml: all topologies of the cluster.

Slurm silently ignores misspelt keys in this file, so that its content is validated with a schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, model_validator

from ....catalog import SlurmRelease
from ....plan.model.plan import Locality, Plan
from ....spec.base import Model
from .accessors import require_slurm_release
from .topology import compute_block_sizes, fold_names, list_supported_localities, select_blocks, select_default_locality
from .topology_conf import iter_children, iter_leaves

__all__ = ["Topology", "validate_topologies", "render_topology_yaml"]

NodeList = Annotated[str, Field(min_length=1)]
PositiveInt = Annotated[int, Field(ge=1)]


class Block(Model):
    """A scale-up domain."""

    block: str
    nodes: NodeList


class BlockTopology(Model):
    """Scale-up domains and the sizes of aggregated blocks."""

    block_sizes: Annotated[list[PositiveInt], Field(min_length=1, max_length=16)]
    blocks: Annotated[list[Block], Field(min_length=1)]

    @model_validator(mode="after")
    def _check_block_sizes(self) -> BlockTopology:
        ratios = [size / self.block_sizes[0] for size in self.block_sizes]
        if any(not ratio.is_integer() or int(ratio).bit_count() != 1 for ratio in ratios):
            raise ValueError(f"block_sizes {self.block_sizes}: each must be a power of two times the first")
        return self


class Switch(Model):
    """A group of nodes, or of other groups."""

    switch: str
    nodes: NodeList | None = None
    children: NodeList | None = None

    @model_validator(mode="after")
    def _check_members(self) -> Switch:
        if (self.nodes is None) == (self.children is None):
            raise ValueError(f"switch {self.switch}: requires either nodes or children")
        return self


class TreeTopology(Model):
    """Switches under one root."""

    switches: Annotated[list[Switch], Field(min_length=1)]


class TorusDimensions(Model):
    """Dimensions of a box."""

    x: PositiveInt
    y: PositiveInt
    z: PositiveInt


class TorusPlacement(Model):
    """A box that can be allocated to jobs."""

    dims: TorusDimensions


class Torus(Model):
    """A box of nodes wired as a torus."""

    name: str
    dims: TorusDimensions
    nodes: NodeList
    placements: Annotated[list[TorusPlacement], Field(min_length=1)]


class TorusTopology(Model):
    """Boxes."""

    toruses: Annotated[list[Torus], Field(min_length=1)]


class Topology(Model):
    """One topology under its name."""

    topology: str
    cluster_default: bool
    block: BlockTopology | None = None
    tree: TreeTopology | None = None
    torus3d: TorusTopology | None = None
    flat: bool | None = None

    @model_validator(mode="after")
    def _check_kind(self) -> Topology:
        if sum(value is not None for value in (self.block, self.tree, self.torus3d, self.flat)) != 1:
            raise ValueError(f"topology {self.topology}: exactly one of block, tree, torus3d, flat")
        return self


_FILE_ADAPTER: TypeAdapter[list[Topology]] = TypeAdapter(list[Topology])


def validate_topologies(data: Any) -> list[Topology]:
    """Validate the file's content; raises ValueError for errors that Slurm would ignore or fail on."""
    topologies = _FILE_ADAPTER.validate_python(data)
    names = [item.topology for item in topologies]
    if len(set(names)) != len(names):
        raise ValueError(f"duplicate topology name: {names}")
    if sum(item.cluster_default for item in topologies) != 1:
        raise ValueError("exactly one topology must be the cluster's default")
    return topologies


def render_topology_yaml(plan: Plan) -> list[str]:
    """Lines of topology.yaml."""
    default, release = select_default_locality(plan), require_slurm_release(plan)
    data = [
        {
            "topology": locality.name,
            "cluster_default": locality == default,
            locality.kind: _build_topology(locality, release),
        }
        for locality in list_supported_localities(plan)
    ]
    validate_topologies(data)
    return list(_render_topologies(data))


def _build_topology(locality: Locality, release: SlurmRelease) -> Any:
    if locality.kind == "block":
        blocks = [{"block": group.name, "nodes": str(group.hosts)} for group in select_blocks(locality, release)]
        return {"block_sizes": compute_block_sizes(locality, len(blocks)), "blocks": blocks}
    if locality.kind == "tree":
        inner = [{"switch": name, "nodes": hosts} for name, hosts in iter_leaves(locality)]
        outer = [{"switch": name, "children": fold_names(names)} for name, names in iter_children(locality)]
        return {"switches": [*inner, *outer]}
    if locality.kind == "torus3d":
        return {"toruses": [_build_torus(locality)]}
    return True


def _build_torus(locality: Locality) -> dict[str, Any]:
    boxes = [{"dims": _build_dimensions(box)} for box in _iter_boxes(locality.dims)]
    return {
        "name": locality.name,
        "dims": _build_dimensions(locality.dims),
        "nodes": str(locality.hosts),
        "placements": boxes,
    }


def _build_dimensions(lengths: tuple[int, ...]) -> dict[str, int]:
    """Return dimensions under Slurm's names: its nodes are numbered along x first, the plan's along the last
    dimension.
    """
    return dict(zip("xyz", (*reversed(lengths), 1, 1), strict=False))


def _iter_boxes(lengths: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the whole box and the boxes from repeatedly halving its longest side: the sizes that jobs may have."""
    box = list(lengths)
    while True:
        yield tuple(box)
        longest = max(range(len(box)), key=lambda side: box[side])
        if box[longest] == 1:
            return
        divisor = next(number for number in range(2, box[longest] + 1) if box[longest] % number == 0)
        box[longest] //= divisor


def _render_topologies(topologies: list[dict[str, Any]]) -> Iterator[str]:
    for topology in topologies:
        for number, (key, value) in enumerate(topology.items()):
            lead = "  " if number else "- "
            if isinstance(value, dict):
                yield f"{lead}{key}:"
                for inner, items in value.items():
                    if inner == "block_sizes":
                        yield f"    {inner}: {_format_flow_value(items)}"
                        continue
                    yield f"    {inner}:"
                    yield from (f"      - {_format_flow_value(item)}" for item in items)
            else:
                yield f"{lead}{key}: {_format_flow_value(value)}"


def _format_flow_value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_format_flow_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_format_flow_value, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)
