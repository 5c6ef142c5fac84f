"""Checks of the addresses of nodes that exist."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from ...catalog import Catalog
from ...errors import Finding
from ...primitives.addresses import AddressRun
from ..model.plan import Plan
from ..model.subnet import Subnet

__all__ = ["CHECKS"]

_ROLES = {"in_band": "in-band", "bmc": "bmc"}
_MANAGEMENT = ("bmc", "switch", "loopback")


def given_addresses(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Addresses of nodes that are outside of their subnet, reserved or used twice; subnets that overlap others."""
    owners: dict[int, str] = {}
    for path, owner, role, run in _iter_given_runs(plan):
        own = next((item for item in _list_subnets(plan) if (item.role, item.block) == (role, run.block)), None)
        problem = _find_wrong_address(run, owner, own, owners)
        if problem:
            yield Finding("given-addresses", "error", f"{path}.addresses", problem, "correct the list")
        for other in _list_subnets(plan):
            if role == "bmc" and other.role not in _MANAGEMENT:
                continue  # network-overlap
            if other is not own and other.block.overlaps(run.block):
                fix = "network.management" if other.role in _MANAGEMENT else "network.cidr"
                yield Finding(
                    "given-addresses",
                    "error",
                    f"{path}.subnet",
                    f"{run.block} overlaps {other.block}, the subnet {other.name}",
                    f"correct it, or set {fix} so that the plan assigns other addresses",
                )
                break


def _list_subnets(plan: Plan) -> tuple[Subnet, ...]:
    return plan.networks.subnets if plan.networks else ()


def _iter_given_runs(plan: Plan) -> Iterator[tuple[str, str, str, AddressRun]]:
    """Path, owner, role of the network and addresses of each list of the spec."""
    places = {pool.name: index for index, pool in enumerate(plan.spec.pools)}
    for pool in plan.pools:
        if pool.addresses.given:
            yield f"pools[{places[pool.name]}].hosts.in_band", pool.name, _ROLES["in_band"], pool.addresses
    for run in plan.networks.bmcs if plan.networks else ():
        if run.addresses.given:
            yield f"pools[{places[run.group]}].hosts.bmc", f"the BMCs of {run.group}", _ROLES["bmc"], run.addresses


def _find_wrong_address(run: AddressRun, owner: str, subnet: Subnet | None, owners: dict[int, str]) -> str:
    """The first problem of a list, whose addresses are added to those that are in use; empty if there is none."""
    low, high = int(run.block.network_address), int(run.block.broadcast_address)
    gateway = subnet.gateway if subnet else None
    problem = ""
    if gateway and ipaddress.IPv4Address(gateway) not in run.block:
        problem = f"the gateway {gateway} is not in {run.block}"
    for first, count in run.list_runs():
        for number in range(first, first + count):
            if not problem:
                problem = _explain_address(number, (low, high), gateway, owners)
            owners.setdefault(number, owner)
    return problem


def _explain_address(number: int, bounds: tuple[int, int], gateway: str | None, owners: dict[int, str]) -> str:
    """Why a node cannot have an address; empty if it can."""
    address, (low, high) = ipaddress.IPv4Address(number), bounds
    if not low < number < high:
        return f"{address} is not an address for hosts in {ipaddress.IPv4Address(low)}-{ipaddress.IPv4Address(high)}"
    if str(address) == gateway:
        return f"{address} is the gateway of the subnet"
    return f"{address} is also an address of {owners[number]}" if number in owners else ""


CHECKS = (given_addresses,)
