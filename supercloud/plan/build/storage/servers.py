"""The servers of storage: their machines, number, names and addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

from ....catalog import Machine, StorageProduct
from ....errors import UnknownNameError
from ....primitives.addresses import AddressRun, Block, count_block_hosts
from ....primitives.nodes import HostRange
from ....primitives.quantity import Duration, Rate, Size
from ....spec import Fabric, Storage
from ....spec.base import MAX_MACHINES, MAX_RATE, MAX_STORED
from ...model.plan import StoragePlan
from ...model.problems import Problems
from ...model.storage import CheckpointRequirement, LustreDesign, ServerGroup, StorageDesign
from ..fabric.roles import find_client_adapter
from ..inputs import BuildInputs
from ..network.address_allocator import AddressAllocator
from ..site_machines import find_site_machine
from .designs import StorageRequirements, build_design

__all__ = ["require_server_count", "compute_checkpoint_need", "with_servers"]

_HOST_DIGITS = 4
_METADATA_PAIR = 2
# Maximum fraction of the write throughput for checkpoints written during training: the rest is for training.
_BACKGROUND_SHARE = Fraction(1, 2)
# Part of the names of servers, if it is not the kind.
_SERVER_ROLES = {"lustre": "oss", "weka": "backend", "storage-scale": "nsd"}


def compute_checkpoint_need(storage: Storage, path: str, problems: Problems) -> CheckpointRequirement | None:
    """Bytes = parameters x bytes per parameter; written within the stall, or within the interval at half throughput."""
    asked = storage.checkpoint
    if asked is None:
        return None
    if (asked.stall is None) == (asked.interval is None) or not asked.parameters or not asked.bytes_per_parameter:
        problems.add_error(
            "storage-checkpoint-need",
            f"{path}.checkpoint",
            "a checkpoint requires 'parameters' and one of 'stall' and 'interval'",
            "stall: time that training waits; interval: time to write during training",
        )
        return None
    window = cast(Duration, asked.interval if asked.stall is None else asked.stall)
    size = Size(Fraction(repr(asked.parameters)) * Fraction(repr(asked.bytes_per_parameter)), "B")
    write = Rate.from_base(size.base * 8 / window.base / (1 if asked.stall else _BACKGROUND_SHARE))
    if size * asked.keep > MAX_STORED or write > MAX_RATE:
        problems.add_error(
            "storage-checkpoint-need",
            f"{path}.checkpoint",
            f"{size * asked.keep} of checkpoints, written at {write.bytes_text}, exceed the limits of {MAX_STORED} and "
            f"{MAX_RATE.bytes_text}",
            "correct parameters and bytes_per_parameter, keep fewer, or allow more time",
        )
        return None
    return CheckpointRequirement(size, write, size * asked.keep, window, asked.stall is None)


def require_server_count(storage: Storage, machine: Machine, count: int, path: str, problems: Problems) -> bool:
    """Check that a file system does not need more servers of a machine than the limit; ``path`` is that of the
    storage.
    """
    if count <= MAX_MACHINES:
        return True
    problems.add_error(
        "storage-servers",
        f"{path}.servers",
        f"{storage.name} would need {count} servers of {machine.name}, the maximum is {MAX_MACHINES}",
        "reduce the capacity or throughput, or use larger machines",
    )
    return False


def with_servers(
    plan: StoragePlan,
    storage: Storage,
    path: str,
    rates: tuple[Rate | None, Rate | None],
    fabric: Fabric | None,
    allocator: AddressAllocator,
    inputs: BuildInputs,
) -> StoragePlan:
    """The storage with its design and its servers, if the machines are known."""
    catalog, problems = inputs.catalog, inputs.problems
    if storage.servers is None:
        return plan
    machine = find_site_machine(storage.servers.machine, f"{path}.servers.machine", "onprem", catalog, problems)
    if machine is None:
        return plan
    kind = storage.product or storage.kind
    try:
        product = catalog.get(StorageProduct, kind)
    except UnknownNameError as error:
        problems.add_unknown_name(f"{path}.product", error)
        return plan
    metadata = _find_metadata_machine(storage, path, inputs) or machine
    links, speed = _find_client_ports(machine, fabric)
    needs = _compute_requirements(plan, storage, rates)
    design = build_design(storage, product, machine, needs, speed * links if speed else None)
    count = storage.servers.count or (design.servers if design else None)
    if count is None:
        return plan
    roles = [_ServerRole(_SERVER_ROLES.get(storage.kind, storage.kind), machine, count)]
    if storage.kind == "lustre":
        roles.insert(0, _ServerRole("mds", metadata, _count_metadata_servers(storage, design)))
    plan = replace(plan, design=design)
    largest = max(role.count for role in roles)
    if not require_server_count(storage, machine, largest, path, problems):
        return plan
    # every role has an equal part of the block, so that adding a server of the first renumbers none of the second
    block = allocator.allocate(len(roles) * largest)
    if block is None:
        problems.add_error(
            "addresses",
            "network.cidr",
            f"{allocator.cidr} has no free block for the {sum(role.count for role in roles)} servers of {storage.name}",
            "specify a larger network",
        )
        return plan
    return replace(plan, servers=_build_server_groups(storage, roles, block, fabric))


def _find_metadata_machine(storage: Storage, path: str, inputs: BuildInputs) -> Machine | None:
    """The declared machine of metadata servers."""
    if storage.metadata is None:
        return None
    return find_site_machine(
        storage.metadata.machine, f"{path}.metadata.machine", "onprem", inputs.catalog, inputs.problems
    )


@dataclass(frozen=True)
class _ServerRole:
    """Equal servers of a storage."""

    name: str
    machine: Machine
    count: int


def _compute_requirements(
    plan: StoragePlan, storage: Storage, rates: tuple[Rate | None, Rate | None]
) -> StorageRequirements:
    """Capacity for data and for the checkpoints that are kept, and the throughputs."""
    checkpoint = plan.checkpoint
    kept = checkpoint.kept_size if checkpoint else Size(0, "B")
    capacity = max(filter(None, (storage.capacity, kept)), default=None)
    return StorageRequirements(capacity, rates[0], rates[1], checkpoint.write if checkpoint else None)


def _count_metadata_servers(storage: Storage, design: StorageDesign | None) -> int:
    """Metadata servers of Lustre: those of the design, else the declared ones, else a pair."""
    if isinstance(design, LustreDesign):
        return design.metadata_servers
    declared = storage.metadata.count if storage.metadata else None
    return declared or _METADATA_PAIR


def _build_server_groups(
    storage: Storage, roles: Sequence[_ServerRole], block: Block, fabric: Fabric | None
) -> tuple[ServerGroup, ...]:
    servers, part = [], count_block_hosts(block) // len(roles)
    for place, role in enumerate(roles):
        name = f"{storage.name}-{role.name}"
        links, speed = _find_client_ports(role.machine, fabric)
        hosts = HostRange(f"{name}-", 1, role.count, max(_HOST_DIGITS, len(str(role.count))))
        run = AddressRun(block, place * part, role.count)
        servers.append(ServerGroup(name, storage.name, role.name, role.machine, role.count, hosts, run, links, speed))
    return tuple(servers)


def _find_client_ports(machine: Machine, fabric: Fabric | None) -> tuple[int, Rate | None]:
    """Client ports and the speed of each."""
    found = find_client_adapter(machine, fabric)
    return (found.count, found.speed) if found else (0, None)
