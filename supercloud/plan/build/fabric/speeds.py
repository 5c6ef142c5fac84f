"""Speeds of a fabric: its switches run all ports at one speed, and each pool's links at the maximum of both ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ....catalog import Switch
from ....catalog.machine import Adapter
from ....primitives.quantity import Rate
from ....spec import Fabric
from ...model.problems import Problems

__all__ = ["FabricSpeeds", "compute_speeds"]


@dataclass(frozen=True)
class FabricSpeeds:
    """Speeds of ports and links."""

    port_speed: Rate
    """Speed of the switches' ports, and of the links between them."""
    pool_speeds: Mapping[str, Rate]
    """Pool -> speed of its links, if lower than that of the ports."""


def compute_speeds(
    fabric: Fabric, path: str, adapters: Mapping[str, Adapter], switches: Sequence[Switch], problems: Problems
) -> FabricSpeeds | None:
    """The highest speed, up to that of the fastest ``adapters`` (of each pool), at which every switch runs all its
    ports, and the speed of the links of pools with slower adapters. None if links cannot run, which is a problem.
    """
    given = max(adapter.speed for adapter in adapters.values())
    limit = min(fabric.speed, given) if fabric.speed else given
    common = set.intersection(*({mode.speed for mode in switch.modes} for switch in switches))
    usable = [speed for speed in common if speed <= limit]
    if fabric.speed and not _check_declared_speed(fabric.speed, path, adapters, common, problems):
        return None
    if not usable:
        problems.add_error(
            "fabric-speed",
            path,
            f"adapters of {given} and ports of {_format_speeds(common)} have no speed in common",
            "use other switches",
        )
        return None
    pool_speeds = _find_pool_speeds(path, max(usable), adapters, switches[0], problems)
    return None if pool_speeds is None else FabricSpeeds(max(usable), pool_speeds)


def _find_pool_speeds(
    path: str, ports: Rate, adapters: Mapping[str, Adapter], leaf: Switch, problems: Problems
) -> dict[str, Rate] | None:
    """Pool -> speed of its links, where lower than that of the leaf's ``ports``; None if a pool has no link."""
    fastest = max(adapters, key=lambda name: adapters[name].speed)
    runs = {mode.speed for mode in leaf.modes if mode.speed <= ports}
    links = {name: min(adapter.speed, ports) for name, adapter in adapters.items()}
    lost = next((name for name in links if links[name] not in runs), None)
    if lost is not None:
        problems.add_error(
            "fabric-speed",
            path,
            f"pool {fastest} has adapters of {adapters[fastest].speed}, for which ports of {leaf.name} run at {ports}; "
            f"pool {lost} has adapters of {adapters[lost].speed}, which these ports do not support "
            f"({_format_speeds(runs)})",
            f"declare a fabric for pool {lost}, or use leaves whose ports support both",
        )
        return None
    return {name: speed for name, speed in links.items() if speed < ports}


def _check_declared_speed(
    speed: Rate, path: str, adapters: Mapping[str, Adapter], common: set[Rate], problems: Problems
) -> bool:
    """Check that all adapters and switches, whose ``common`` speeds these are, support the declared speed."""
    given = max(adapter.speed for adapter in adapters.values())
    slowest = min(adapters, key=lambda name: adapters[name].speed)
    least = adapters[slowest].speed
    if speed in common and speed <= least:
        return True
    of = "" if least == given else f" to {least} (pool {slowest})"
    problems.add_error(
        "fabric-speed",
        f"{path}.speed",
        f"no link at {speed}: adapters support {given}{of}, switches {_format_speeds(common)}",
        "omit 'speed', or use other switches",
    )
    return False


def _format_speeds(speeds: set[Rate]) -> str:
    return ", ".join(str(speed) for speed in sorted(speeds)) or "an unknown speed"
