"""Counts of the rules in a cloud's security groups."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.cloud import CloudStorage
from ...model.plan import Plan

__all__ = ["count_security_rules"]

# All traffic from and to the group itself, as a fabric requires.
_SELF_RULES = 1


def count_security_rules(plan: Plan) -> Iterator[tuple[str, int, str]]:
    """(protected resource, rules in the direction with more rules, path in the spec) of each group.

    Machines communicate with each other and, if the network is isolated, with each service and file system by a
    separate rule. Servers of a parallel file system communicate with each other and with the machines.
    """
    cloud = plan.cloud
    if cloud is None:
        return
    if plan.scheduler.kind == "slurm":
        yield "hosts that users log in to", len(cloud.network.access), "network.access"
    guarded = [item for item in cloud.storage if item.kind in ("parallel", "nfs")]
    back = sum(len(item.ports) for item in guarded if item.kind == "parallel")
    out = 1  # to any address
    if cloud.network.is_isolated:
        kinds = list(cloud.network.endpoints.values())
        out = ("interface" in kinds) + kinds.count("gateway") + (cloud.database is not None)
        out += sum(len(item.ports) for item in guarded)
    yield "machines of the cluster", _SELF_RULES + max(back, out), "storage"
    for item in guarded:
        yield f"the file system {item.name}", _count_ports(item), "storage"


def _count_ports(storage: CloudStorage) -> int:
    """From machines and, for a parallel file system, from its own servers."""
    return len(storage.ports) * (2 if storage.kind == "parallel" else 1)
