"""What a job requests of Kubernetes in addition to nodes: a resource, topology levels, file systems, fabric access."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from .pod_links import PodLinks

__all__ = ["KubernetesRequest"]


@dataclass(frozen=True)
class KubernetesRequest:
    """What the pods of a job need from their cluster."""

    queue: str
    """kueue or volcano."""
    resource: str = ""
    """Resource name of their accelerators."""
    cpus: int = 0
    """On nodes without accelerators: so many that a second pod does not fit on the node."""
    level: str = ""
    """Node label of the level that should hold the whole job."""
    tier: int = 0
    """The same level, as Volcano numbers them from the innermost, which is 1."""
    segment_level: str = ""
    """Node label of the level that must hold each of its segments."""
    volumes: tuple[tuple[str, str], ...] = ()
    """Claims and their mount paths."""
    segment_tier: int = 0
    """The level of its segments, numbered the same way."""
    taints: tuple[str, ...] = ()
    """Keys of the taints that keep other pods off the nodes."""
    links: PodLinks = PodLinks()
    kind: Literal["kubernetes"] = field(default="kubernetes", init=False)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> KubernetesRequest:
        """Read from a JSON object of this or another version."""
        known = {item.name: data[item.name] for item in fields(cls) if item.init and item.name in data}
        return cls(
            **known
            | {
                "volumes": tuple((claim, mount) for claim, mount in data.get("volumes", ())),
                "taints": tuple(data.get("taints", ())),
                "links": PodLinks.from_json(data.get("links", {})),
            }
        )
