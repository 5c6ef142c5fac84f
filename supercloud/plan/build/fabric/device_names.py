"""Names of switches and service machines."""

from __future__ import annotations

__all__ = ["list_service_names", "list_switch_names"]

# Switch names have at least this number of digits, so that growth of a tier renames none.
_SWITCH_DIGITS = 3


def list_switch_names(fabric: str, tier: str, count: int) -> list[str]:
    """Host names of the switches of a tier, in the order of the topology, such as ``compute-leaf-001``."""
    width = max(_SWITCH_DIGITS, len(str(count)))
    return [f"{fabric}-{tier}-{number:0{width}d}" for number in range(1, count + 1)]


def list_service_names(name: str, count: int) -> list[str]:
    """Names of machines other than nodes and storage servers, such as ``mgmt-01``."""
    width = max(2, len(str(count)))
    return [f"{name}-{number:0{width}d}" for number in range(1, count + 1)]
