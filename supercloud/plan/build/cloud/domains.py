"""Scale-up domains that a cloud offers in several sizes."""

from __future__ import annotations

from ....catalog import Machine

__all__ = ["select_domain_nodes"]


def select_domain_nodes(machine: Machine, nodes: int, requested: int | None) -> int:
    """Nodes of a scale-up domain: the requested size, else the largest offered size that divides the nodes."""
    sizes = [domain.nodes for domain in machine.instance.domains] if machine.instance else []
    if not sizes:
        return machine.domain_nodes
    return requested or next((size for size in sorted(sizes, reverse=True) if nodes % size == 0), max(sizes))
