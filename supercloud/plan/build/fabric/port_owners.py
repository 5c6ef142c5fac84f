"""A port of a node is on one network: fabrics that need ports of another fabric are refused."""

from __future__ import annotations

from ....catalog import Machine
from ....catalog.machine import Adapter
from ....primitives.quantity import Rate
from ....spec import ClusterSpec, Fabric
from ...model.plan import PoolPlan
from ...model.problems import Problems
from .roles import can_join_fabric, find_adapter, get_fabric_role, has_same_ports

__all__ = ["check_port_conflicts"]

_ANY_SPEED = Rate(1, "b/s")


def check_port_conflicts(spec: ClusterSpec, pools: tuple[PoolPlan, ...], problems: Problems) -> None:
    """Report an error at every fabric that needs ports of a machine which an earlier fabric of the same pool uses.

    In clouds the provider shares interfaces between networks, so only on-prem sites are checked.
    """
    if spec.site.kind != "onprem":
        return
    found: dict[tuple[int, str, str], list[str]] = {}
    for pool in pools:
        taken: list[tuple[str, Adapter]] = []
        for index, fabric in enumerate(spec.fabrics):
            if fabric.name not in pool.fabrics:
                continue
            own = _find_ports(pool.machine, fabric)
            first = next((name for name, other in taken if own and has_same_ports(own, other)), None)
            if first is not None:
                found.setdefault((index, first, pool.machine.name), []).append(pool.name)
            elif own is not None:  # a machine without such ports is refused by the fabric itself
                taken.append((fabric.name, own))
    machines = {pool.machine.name: pool.machine for pool in pools}
    for (index, first, machine), names in found.items():
        _report_conflict(spec, index, first, machines[machine], names, problems)


def _find_ports(machine: Machine, fabric: Fabric) -> Adapter | None:
    """The ports that a fabric uses; an unknown port speed is ignored here."""
    return find_adapter(machine, get_fabric_role(fabric), fabric.kind, _ANY_SPEED)


def _report_conflict(
    spec: ClusterSpec, index: int, first_fabric: str, machine: Machine, pools: list[str], problems: Problems
) -> None:
    fabric = spec.fabrics[index]
    role = get_fabric_role(fabric)
    own = _find_ports(machine, fabric)
    known = own is not None and own in machine.adapters
    ports = " ".join(filter(None, (f"{own.count} × {own.speed}", own.model))) if own and known else "1 port"
    of = f"pool{'s' * (len(pools) > 1)} {', '.join(pools)}"
    free = [
        item.role
        for item in machine.adapters
        if can_join_fabric(item, fabric.kind)
        and not any(has_same_ports(item, other) for other in _list_used_ports(spec, machine, pools, index))
    ]
    more = (
        f"set a role of {fabric.name} whose ports are free ({', '.join(free)})"
        if free
        else (f"add ports to {machine.name} in a catalog overlay")
    )
    problems.add_error(
        "fabric-ports",
        f"fabrics[{index}]",
        f"{fabric.name} needs the {role} ports of {machine.name} ({ports}; {of}), which are already on {first_fabric}: "
        "a port is on one network",
        f"remove {fabric.name} or {first_fabric} from 'fabrics' of {of}, or {more}",
    )


def _list_used_ports(spec: ClusterSpec, machine: Machine, pools: list[str], index: int) -> list[Adapter]:
    """Ports of a machine that the fabrics of its pools use, without those of the fabric at ``index``."""
    names = {name for pool in spec.pools if pool.name in pools for name in pool.fabrics}
    found = (_find_ports(machine, item) for at, item in enumerate(spec.fabrics) if at != index and item.name in names)
    return [item for item in found if item]
