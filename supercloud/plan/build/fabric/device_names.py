"""Names of switches and service machines."""

from __future__ import annotations

__all__ = ["list_service_names", "list_switch_names"]

# Names of switches have at least so many digits, so that a growing tier renames none.
_SWITCH_DIGITS = 3


def list_switch_names(fabric: str, tier: str, count: int) -> list[str]:
    """Host names of the switches of a tier, in the order of the topology: ``compute-leaf-001`` …"""
    width = max(_SWITCH_DIGITS, len(str(count)))
    return [f"{fabric}-{tier}-{number:0{width}d}" for number in range(1, count + 1)]


def list_service_names(name: str, count: int) -> list[str]:
    """Names of machines that are neither nodes nor servers of storage: ``mgmt-01`` …"""
    width = max(2, len(str(count)))
    return [f"{name}-{number:0{width}d}" for number in range(1, count + 1)]
