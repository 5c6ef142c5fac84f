"""Addresses of nodes that exist: runs of the addresses that the spec gives."""

from __future__ import annotations

from typing import Literal

from ...primitives.address_lists import GivenAddresses
from ...primitives.addresses import AddressRun, Block, suggest_network
from ...spec import ClusterSpec
from ...spec.hosts import HostAddresses, list_addresses
from ..model.problems import Problems

__all__ = ["find_given_gateway", "list_given_runs"]

Network = Literal["in_band", "bmc"]


def list_given_runs(spec: ClusterSpec, network: Network, problems: Problems) -> dict[str, AddressRun]:
    """Pool -> the addresses of its nodes, for pools whose addresses are given; on-prem only."""
    found: dict[str, AddressRun] = {}
    for index, pool in enumerate(spec.pools if spec.site.kind == "onprem" else ()):
        given: HostAddresses | None = getattr(pool.hosts, network)
        if given is None:
            continue
        try:
            block = Block(given.subnet)
        except ValueError as error:
            path = f"pools[{index}].hosts.{network}.subnet"
            problems.add_error(
                "addresses",
                path,
                f"{given.subnet!r} is not a valid IPv4 network: {error}",
                suggest_network(given.subnet, "10.1.4.0/22"),
            )
            continue
        addresses = list_addresses(given)
        found[pool.name] = AddressRun(block, 0, len(addresses), GivenAddresses.from_addresses(addresses))
    return found


def find_given_gateway(spec: ClusterSpec, network: Network, block: Block) -> str | None:
    """The gateway that the spec gives for a subnet; None if it gives none."""
    declared: list[HostAddresses | None] = [getattr(pool.hosts, network) for pool in spec.pools]
    return next((item.gateway for item in declared if item and item.gateway and item.subnet == str(block)), None)
