"""The servers of storage: which machines, how many, what they are called and where they are reached."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import cast

from ....catalog import Catalog, Machine, StorageProduct
from ....errors import UnknownName
from ....primitives.addresses import AddressRun, Block, addresses_for, room_of
from ....primitives.nodes import HostRange
from ....primitives.quantity import Duration, Rate, Size
from ....spec import Fabric, Storage
from ....spec.base import MOST_MACHINES, MOST_RATE, MOST_STORED
from ...model.plan import NetworkPlan, PoolPlan, StoragePlan
from ...model.storage import CheckpointNeed, LustreDesign, ServerGroup
from ..fabric.roles import client_adapter
from ..problems import Problems
from .designs import Needs, design_of

__all__ = ["Room", "check_server_count", "checkpoint_need", "placed"]

_HOST_DIGITS = 4
_ROOMY = 1024
# Part of the write throughput that checkpoints written beside training may take: the rest is the training's.
_BACKGROUND = Fraction(1, 2)
_ROLES = {"lustre": "oss", "weka": "backend", "storage-scale": "nsd", "nfs": "nfs", "object": "object"}


class Room:
    """Addresses for storage servers, from the top of a network downwards: no node or pool added renumbers them."""

    def __init__(self, whole: Block, taken: Sequence[Block] = ()) -> None:
        self.cidr = str(whole)
        self.end = int(whole.broadcast_address) + 1
        self.floor = max((int(block.broadcast_address) + 1 for block in taken), default=int(whole.network_address))

    @classmethod
    def beside(cls, network: NetworkPlan, pools: tuple[PoolPlan, ...]) -> Room:
        """On the ordinary network, above service hosts and pools."""
        try:
            whole = ipaddress.IPv4Network(network.cidr)
        except ValueError:  # said elsewhere
            whole = ipaddress.IPv4Network("0.0.0.0/0")
        return cls(whole, [network.management, *(pool.addresses.block for pool in pools)])

    def take(self, hosts: int) -> ipaddress.IPv4Network | None:
        """The next block for so many hosts; None where the network is full."""
        least = addresses_for(max(hosts, 1))
        for size in (max(least, _ROOMY), least):
            start = (self.end - size) // size * size
            if start >= self.floor:
                self.end = start
                return ipaddress.IPv4Network((start, 32 - (size.bit_length() - 1)))
        return None


def checkpoint_need(item: Storage, path: str, problems: Problems) -> CheckpointNeed | None:
    """Bytes = parameters x bytes each; written within the stall, or within the interval by half of the throughput."""
    asked = item.checkpoint
    if asked is None:
        return None
    if (asked.stall is None) == (asked.interval is None) or not asked.parameters or not asked.bytes_per_parameter:
        problems.error(
            "storage-checkpoint-need",
            f"{path}.checkpoint",
            "a checkpoint has parameters, and one of 'stall' and 'interval'",
            "stall: training waits so long; interval: it is written beside training within it",
        )
        return None
    window = cast(Duration, asked.interval if asked.stall is None else asked.stall)
    size = Size(Fraction(repr(asked.parameters)) * Fraction(repr(asked.bytes_per_parameter)), "B")
    write = Rate.of_base(size.base * 8 / window.base / (1 if asked.stall else _BACKGROUND))
    if size * asked.keep > MOST_STORED or write > MOST_RATE:
        problems.error(
            "storage-checkpoint-need",
            f"{path}.checkpoint",
            f"{size * asked.keep} of checkpoints, written at {write.bytes_text}, are more than {MOST_STORED} and "
            f"{MOST_RATE.bytes_text}, the most that is planned for",
            "correct parameters and bytes_per_parameter, keep fewer, or allow more time",
        )
        return None
    return CheckpointNeed(size, write, size * asked.keep, window, asked.stall is None)


def check_server_count(item: Storage, machine: Machine, count: int, path: str, problems: Problems) -> bool:
    """Whether a file system takes no more servers of a machine than can be planned; ``path`` is that of the storage."""
    if count <= MOST_MACHINES:
        return True
    problems.error(
        "storage-servers", f"{path}.servers",
        f"{item.name} would take {count} servers of {machine.name}, {MOST_MACHINES} is the most",
        "ask for less capacity or throughput, or take larger machines",
    )  # fmt: skip
    return False


def placed(
    plan: StoragePlan,
    item: Storage,
    path: str,
    rates: tuple[Rate | None, Rate | None],
    fabric: Fabric | None,
    catalog: Catalog,
    room: Room,
    problems: Problems,
) -> StoragePlan:
    """The plan with its design and its servers, as far as the machines are known."""
    if item.servers is None:
        return plan
    machine = _machine(item.servers.machine, f"{path}.servers.machine", catalog, problems)
    if machine is None:
        return plan
    kind = item.product or item.kind
    try:
        product = cast(StorageProduct, catalog.get("storage", kind))
    except UnknownName as error:
        problems.unknown(f"{path}.product", error)
        return plan
    metadata = machine
    if item.metadata:
        metadata = _machine(item.metadata.machine, f"{path}.metadata.machine", catalog, problems) or machine
    links, speed = _links(machine, fabric)
    ports = speed * links if speed else None
    kept = plan.checkpoint.kept if plan.checkpoint else Size(0, "B")
    capacity = max(filter(None, (item.capacity, kept)), default=None)
    needs = Needs(capacity, rates[0], rates[1], plan.checkpoint.write if plan.checkpoint else None)
    design = design_of(item, product, machine, needs, ports)
    count = item.servers.count or (design.servers if design else None)
    if count is None:
        return plan
    groups: list[tuple[str, Machine, int]] = [(_ROLES[item.kind], machine, count)]
    if isinstance(design, LustreDesign):
        groups.insert(0, ("mds", metadata, design.metadata_servers))
    elif item.kind == "lustre":
        groups.insert(0, ("mds", metadata, item.metadata.count if item.metadata and item.metadata.count else 2))
    largest = max(group[2] for group in groups)
    if not check_server_count(item, machine, largest, path, problems):
        return replace(plan, design=design)
    # every role has an equal part of the block, so that one more of the first renumbers none of the second
    block = room.take(len(groups) * largest)
    if block is None:
        problems.error(
            "addresses",
            "network.cidr",
            f"{room.cidr} has no block left for the {sum(group[2] for group in groups)} servers of {item.name}",
            "give a larger network",
        )
        return replace(plan, design=design)
    servers, part = [], room_of(block) // len(groups)
    for place, (role, of, number) in enumerate(groups):
        name = f"{item.name}-{role}"
        links, speed = _links(of, fabric)
        hosts = HostRange(f"{name}-", 1, number, max(_HOST_DIGITS, len(str(number))))
        run = AddressRun(block, place * part, number)
        servers.append(ServerGroup(name, item.name, role, of, number, hosts, run, links, speed))
    return replace(plan, design=design, servers=tuple(servers))


def _machine(name: str, path: str, catalog: Catalog, problems: Problems) -> Machine | None:
    try:
        machine = catalog.machine(name)
    except UnknownName as error:
        problems.unknown(path, error)
        return None
    if machine.provider != "onprem":
        problems.error(
            "machine-site", path, f"{machine.name} is a machine of {machine.provider}, the site is onprem",
            "take a machine of onprem: supercloud catalog machines",
        )  # fmt: skip
        return None
    return machine


def _links(machine: Machine, fabric: Fabric | None) -> tuple[int, Rate | None]:
    """Ports towards clients and the speed of each."""
    found = client_adapter(machine, fabric)
    return (found.count, found.speed) if found else (0, None)
