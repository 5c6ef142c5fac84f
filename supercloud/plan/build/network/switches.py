"""Decisions about the switches of a fabric: management addresses, loopbacks, AS numbers and network systems."""

from __future__ import annotations

from ....catalog import NetworkOs
from ....catalog.roce_profile import RoceProfile
from ....errors import UnknownNameError
from ....primitives.addresses import AddressRun, Block
from ...model.network import SwitchRun
from ...model.plan import FabricPlan, SwitchTier
from ...model.subnet import Subnet
from ..inputs import BuildInputs

__all__ = ["build_switch_runs", "select_as_numbers"]

_MAX_FABRICS = 64


def select_as_numbers(inputs: BuildInputs, position: int, fabric: FabricPlan, profile: RoceProfile) -> tuple[int, int]:
    """First and last AS number of a routed fabric: the declared range, else a part of the private numbers."""
    declared, problems = inputs.spec.fabrics[position], inputs.problems
    part = (profile.asn_last - profile.asn_first + 1) // _MAX_FABRICS
    first = profile.asn_first + position * part
    last = first + part - 1
    path = f"fabrics[{position}].routing.asn_range"
    if declared.routing.asn_range:
        low, high = map(int, declared.routing.asn_range.split("-"))
        if not 1 <= low <= high <= 4294967294:
            problems.add_error(
                "network-asn",
                path,
                f"{declared.routing.asn_range} is not a valid range of AS numbers",
                "use numbers from 1 to 4294967294, the lower one first",
            )
            return first, last
        first, last = low, high
    needed = _count_as_numbers(fabric)
    if last - first + 1 < needed:
        counts = ", ".join(f"{tier.count} {tier.name}" for tier in fabric.tiers)
        problems.add_error(
            "network-asn",
            path,
            f"{first}-{last} has {last - first + 1} AS numbers, but {fabric.name} needs {needed} ({counts}: one "
            "for each leaf, for the spines of each pod, for the cores of each plane)",
            f"specify {needed} or more, such as {first}-{first + needed - 1}",
        )
    return first, last


def _count_as_numbers(fabric: FabricPlan) -> int:
    """AS numbers of a fabric: one for each leaf, for the spines of each pod, for the cores of each plane."""
    pods = sum(tier.count // tier.axes[-1].size for tier in fabric.require_wiring().tiers if tier.name == "spine")
    return fabric.count_switches("leaf") + pods + fabric.planes


def build_switch_runs(
    inputs: BuildInputs,
    position: int,
    fabric: FabricPlan,
    management_subnet: Subnet,
    loopbacks: Block | None,
    as_numbers: tuple[int, int],
) -> tuple[SwitchRun, ...]:
    """The switches of each tier; ``loopbacks`` and ``as_numbers`` are those of a routed fabric."""
    runs = []
    first, last = as_numbers
    for tier in fabric.tiers:
        wired = fabric.require_wiring().get_tier(tier.name)
        system = None if fabric.kind == "infiniband" else _find_network_os(inputs, position, tier)
        asn = {"leaf": (first + fabric.planes, 1), "spine": (last, -1), "core": (first, 1)}[tier.name]
        run = AddressRun(_select_tier_block(management_subnet.block, tier.name), 0, tier.count)
        own = AddressRun(_select_tier_block(loopbacks, tier.name), 0, tier.count) if loopbacks else None
        runs.append(
            SwitchRun(
                fabric=fabric.name,
                tier=wired,
                switch=tier.switch,
                network_os=system,
                management=run,
                subnet=management_subnet,
                loopbacks=own,
                as_numbers=asn if loopbacks else (0, 0),
                system_path=_format_system_path(inputs, position, tier),
            )
        )
    return tuple(runs)


def _select_tier_block(block: Block, tier: str) -> Block:
    """The part of a fabric's block for a tier."""
    half, other = block.subnets(prefixlen_diff=1)
    third, fourth = other.subnets(prefixlen_diff=1)
    return {"leaf": half, "spine": third, "core": fourth}[tier]


def _format_system_path(inputs: BuildInputs, position: int, tier: SwitchTier) -> str:
    """The field of the spec that selects the operating system of a tier."""
    return f"fabrics[{position}]." + (f"systems.{tier.name}" if inputs.spec.fabrics[position].systems else "os")


def _find_network_os(inputs: BuildInputs, position: int, tier: SwitchTier) -> NetworkOs | None:
    declared, catalog, problems = inputs.spec.fabrics[position], inputs.catalog, inputs.problems
    name = declared.os
    if declared.systems:
        of = declared.systems
        by_tier = {"leaf": of.leaf, "spine": of.spine or of.leaf, "core": of.core or of.spine or of.leaf}
        name = by_tier[tier.name]
    if name:
        try:
            return catalog.get(NetworkOs, name)
        except UnknownNameError as error:
            if declared.systems or tier.name == "leaf":
                problems.add_unknown_name(_format_system_path(inputs, position, tier), error)
            return None
    known = list(catalog.iter_entries(NetworkOs))
    return next((item for item in known if tier.switch.vendor in item.vendors), None) or next(
        (item for item in known if "*" in item.vendors), None
    )
