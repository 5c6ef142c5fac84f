"""Subnets large enough for nodes times addresses, and the private endpoints.

New networks: with one range, its first quarter is for public subnets, the second for the control plane, the upper half
for private subnets in slots of equal size, so that an additional zone renumbers nothing. If further ranges are
declared, private subnets are in those, public ones in the lower half of the first. A zone that needs more addresses
than its slot contains gets whole further ranges.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence

from ....catalog.provider import Endpoints
from ....primitives.addresses import suggest_network
from ....spec.cluster import ExistingSubnet
from ...model.cloud import CloudNetwork, SubnetPlan
from .inputs import CloudInputs

__all__ = ["build_network"]

Network = ipaddress.IPv4Network
_SUBNET_SLOTS = 4
_DEFAULT_CIDR = "10.0.0.0/16"
# Number of bits -> the longest prefix of a range that is divided by them.
_MAX_DIVIDED_PREFIX = {1: 30, 2: 28}


def build_network(inputs: CloudInputs, zones: Sequence[str], address_needs: Mapping[str, int]) -> CloudNetwork:
    """Build the network for these zones; ``address_needs`` is the number of addresses per zone for nodes and hosts."""
    declared = inputs.spec.network
    access = declared.access
    if declared.id or declared.subnets:
        return CloudNetwork(
            (),
            declared.id,
            declared.isolated,
            _build_existing_subnets(inputs),
            _build_endpoints(inputs, is_new=False),
            access,
            declared.zone,
            declared.endpoints,
        )
    cidrs, ours = _parse_ranges(inputs)
    if not cidrs:
        return CloudNetwork((), None, declared.isolated, (), _build_endpoints(inputs, is_new=True), access)
    served = [zone for zone in zones if inputs.region.find_local_zone(zone) is None]
    public = () if declared.isolated else tuple(served if inputs.has_managed_kubernetes else served[:1])
    subnets, more = _build_new_subnets(inputs, cidrs, ours, zones, public, address_needs)
    ranges = tuple(map(str, (*cidrs, *more)))
    endpoints = _build_endpoints(inputs, is_new=True)
    return CloudNetwork(ranges, None, declared.isolated, subnets, endpoints, access, declared.zone)


def _parse_ranges(inputs: CloudInputs) -> tuple[list[Network], bool]:
    """The ranges of the network, and whether the user specified further ones. An invalid range is a problem."""
    declared = inputs.spec.network
    found: list[Network] = []
    blocks = declared.blocks
    texts = [("network.cidr", declared.cidr or _DEFAULT_CIDR)]
    texts += [(f"network.cidrs[{index}]", text) for index, text in enumerate(declared.cidrs)]
    for name in ("public", "private", "control"):
        texts += [(f"network.blocks.{name}[{i}]", text) for i, text in enumerate(getattr(blocks, name))]
    good = True
    for path, text in texts:
        try:
            net = ipaddress.IPv4Network(text)
        except ValueError as error:
            inputs.problems.add_error(
                "cloud-network-range",
                path,
                f"{text!r} is not a valid IPv4 network: {error}",
                suggest_network(text, "10.0.0.0/16"),
            )
            good = False
            continue
        if not path.startswith("network.blocks"):
            found.append(net)
    return (found if good else []), bool(declared.cidrs)


def _build_new_subnets(
    inputs: CloudInputs,
    cidrs: list[Network],
    has_further_ranges: bool,
    zones: Sequence[str],
    public: tuple[str, ...],
    address_needs: Mapping[str, int],
) -> tuple[tuple[SubnetPlan, ...], list[Network]]:
    """All subnets of a new network, and the ranges that were added."""
    private = _assign_private_ranges(inputs, cidrs, has_further_ranges, zones)
    more: list[Network] = []
    if not has_further_ranges and not inputs.spec.network.blocks.private:
        more = _add_spare_ranges(inputs, private, cidrs, address_needs)
    found = (
        *_build_public_subnets(inputs, cidrs[0], has_further_ranges, public),
        *_build_control_subnets(inputs, cidrs[0], has_further_ranges, zones),
        *(
            SubnetPlan(
                f"private-{zone}" + (f"-{number}" if number > 1 else ""),
                zone,
                False,
                str(net),
                is_local=inputs.region.find_local_zone(zone) is not None,
            )
            for zone, own in private.items()
            for number, net in enumerate(own, start=1)
        ),
    )
    return found, more


def _build_public_subnets(
    inputs: CloudInputs, primary: Network, has_further_ranges: bool, zones: tuple[str, ...]
) -> list[SubnetPlan]:
    """Those in the first quarter of the first range, or in its lower half, which has no slots for further zones."""
    block, slots = _divide_range(primary, 2)[0], _SUBNET_SLOTS
    if has_further_ranges:
        block, slots = _divide_range(primary, 1)[0], 1
    nets = _assign_subnets(zones, inputs.spec.network.blocks.public, block, slots)
    return [SubnetPlan(f"public-{zone}", zone, True, str(net), purpose="public") for zone, net in nets]


def _build_control_subnets(
    inputs: CloudInputs, primary: Network, has_further_ranges: bool, zones: Sequence[str]
) -> list[SubnetPlan]:
    """Those of a managed control plane, if the provider requires them."""
    rule, declared = inputs.provider.network, inputs.spec.network.blocks.control
    if not rule.control_prefix or not inputs.has_managed_kubernetes:
        return []
    used = [zone for zone in zones if inputs.region.find_local_zone(zone) is None][: rule.control_zones]
    room = _divide_range(primary, 1 if has_further_ranges else 2)[1]
    nets = [ipaddress.IPv4Network(text) for text in declared]
    nets = nets or _list_first_subnets(room, rule.control_prefix, len(used))
    return [
        SubnetPlan(f"control-{zone}", zone, False, str(net), purpose="control")
        for zone, net in zip(used, nets, strict=False)
    ]


def _divide_range(block: Network, bits: int) -> list[Network]:
    """Halves or quarters of a range; a range too small for subnets (a finding) is repeated."""
    return list(block.subnets(bits)) if block.prefixlen <= _MAX_DIVIDED_PREFIX[bits] else [block] * (1 << bits)


def _add_spare_ranges(
    inputs: CloudInputs, private: dict[str, list[Network]], cidrs: list[Network], address_needs: Mapping[str, int]
) -> list[Network]:
    """Add whole further ranges to zones whose slot has too few addresses; returns the ranges."""
    rule = inputs.provider.network
    spares = _list_spare_ranges(rule.secondary, cidrs[0])
    added: list[Network] = []
    for zone, own in private.items():
        while sum(net.num_addresses - rule.reserved for net in own) < address_needs.get(zone, 0):
            taken = (*cidrs, *added)
            spare = next((net for net in spares if not any(net.overlaps(other) for other in taken)), None)
            if spare is None:
                break
            added.append(spare)
            own.append(spare)
    return added


def _list_spare_ranges(secondary: Mapping[str, Sequence[str]], primary: Network) -> list[Network]:
    """Ranges that may be added to a network: they depend on the block that contains its first range."""
    inside = (spares for text, spares in secondary.items() if primary.subnet_of(ipaddress.IPv4Network(text)))
    return [ipaddress.IPv4Network(text) for text in next(inside, ())]


def _assign_subnets(
    zones: Sequence[str], blocks: Sequence[str], block: Network, slots: int
) -> list[tuple[str, Network]]:
    if blocks:
        return list(zip(zones, map(ipaddress.IPv4Network, blocks), strict=False))
    return list(zip(zones, _split_range(block, max(len(zones), slots)), strict=False))


def _split_range(block: Network, count: int) -> list[Network]:
    """Equal parts of a range, of the maximum size for their number; a range too small for that (a finding) is
    repeated.
    """
    bits = max(count - 1, 0).bit_length()
    return list(block.subnets(bits)) if block.prefixlen + bits <= 32 else [block] * count


def _list_first_subnets(block: Network, prefix: int, count: int) -> list[Network]:
    if block.prefixlen > prefix:
        return [block] * count
    start = int(block.network_address)
    size = 1 << (32 - prefix)
    return [ipaddress.IPv4Network((start + index * size, prefix)) for index in range(count)]


def _assign_private_ranges(
    inputs: CloudInputs, cidrs: list[Network], has_further_ranges: bool, zones: Sequence[str]
) -> dict[str, list[Network]]:
    """Zone -> its private ranges before any are added."""
    blocks = inputs.spec.network.blocks.private
    found: dict[str, list[Network]] = {zone: [] for zone in zones}
    if blocks:
        for index, text in enumerate(blocks):
            found[zones[index % len(zones)]].append(ipaddress.IPv4Network(text))
        return found
    if not has_further_ranges:
        half = list(cidrs[0].subnets(1))[-1] if cidrs[0].prefixlen < 32 else cidrs[0]
        slots = _split_range(half, max(_SUBNET_SLOTS, len(zones)))
        for zone, net in zip(zones, slots, strict=False):
            found[zone].append(net)
        return found
    further = cidrs[1:]
    for index, zone in enumerate(zones):
        own = [net for number, net in enumerate(further) if number % len(zones) == index]
        if len(further) >= len(zones):
            found[zone] = own
        else:
            home = further[index % len(further)]
            sharing = [number for number in range(len(zones)) if number % len(further) == index % len(further)]
            found[zone] = [_split_range(home, len(sharing))[sharing.index(index)]]
    return found


def _build_existing_subnets(inputs: CloudInputs) -> tuple[SubnetPlan, ...]:
    """The user's subnets, with their specified properties."""
    found = []
    for number, item in enumerate(inputs.spec.network.subnets, start=1):
        known = item if isinstance(item, ExistingSubnet) else ExistingSubnet(id=item)
        found.append(
            SubnetPlan(
                f"given-{number}",
                known.zone,
                known.public,
                None,
                known.id,
                purpose="public" if known.public else "nodes",
                is_local=known.zone is not None and inputs.region.find_local_zone(known.zone) is not None,
            )
        )
    return tuple(found)


def _build_endpoints(inputs: CloudInputs, is_new: bool) -> Endpoints:
    """Gateway endpoints in every new network; private endpoints of the services in an isolated network."""
    rule = inputs.provider.network
    found: Endpoints = dict(rule.endpoints) if is_new else {}
    if inputs.spec.network.isolated:
        found |= {} if is_new else rule.existing_endpoints
        found |= rule.closed_endpoints.get("all", {})
        found |= rule.closed_endpoints.get(inputs.spec.scheduler.kind, {})
        if inputs.has_managed_kubernetes and any(pool.can_grow for pool in inputs.pools):
            found |= rule.closed_endpoints.get("autoscaler", {})
    return {name: kind for name, kind in sorted(found.items()) if is_new or name not in inputs.spec.network.endpoints}
