"""Subnets large enough for nodes times addresses, and the private endpoints.

New networks: with one range, its first quarter is for public subnets, the second for the control plane, the upper half
for private subnets in slots of equal size, so that another zone renumbers nothing. Where further ranges are declared,
private subnets are in those, public ones in the lower half of the first. A zone that needs more addresses than its slot
has gets whole further ranges.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence

from ....catalog.provider import Endpoints
from ....spec.cluster import GivenSubnet
from ...model.cloud import CloudNetwork, SubnetPlan
from .given import Given

__all__ = ["network_of", "usable"]

Net = ipaddress.IPv4Network
_SLOTS = 4
_DEFAULT = "10.0.0.0/16"


def usable(cidr: str, reserved: int) -> int:
    """Addresses of a subnet that instances can have."""
    return ipaddress.IPv4Network(cidr).num_addresses - reserved


def network_of(given: Given, zones: Sequence[str], needs: Mapping[str, int]) -> CloudNetwork:
    """The network for these zones; ``needs`` is how many addresses each zone must have for nodes and hosts."""
    declared = given.spec.network
    access = declared.access
    if declared.id or declared.subnets:
        return CloudNetwork((), declared.id, declared.closed, _given(given), _endpoints(given, new=False), access)
    cidrs, ours = _ranges(given)
    if not cidrs:
        return CloudNetwork((), None, declared.closed, (), _endpoints(given, new=True), access)
    public = () if declared.closed else tuple(zones if given.kubernetes else zones[:1])
    subnets, more = _new(given, cidrs, ours, zones, public, needs)
    ranges = tuple(map(str, (*cidrs, *more)))
    return CloudNetwork(ranges, None, declared.closed, subnets, _endpoints(given, new=True), access)


def _ranges(given: Given) -> tuple[list[Net], bool]:
    """The ranges of the network, and whether the user gave further ones. A text that is none is a problem."""
    declared = given.spec.network
    found: list[Net] = []
    blocks = declared.blocks
    texts = [("network.cidr", declared.cidr or _DEFAULT)]
    texts += [(f"network.cidrs[{index}]", text) for index, text in enumerate(declared.cidrs)]
    for name in ("public", "private", "control"):
        texts += [(f"network.blocks.{name}[{i}]", text) for i, text in enumerate(getattr(blocks, name))]
    good = True
    for path, text in texts:
        try:
            net = ipaddress.IPv4Network(text)
        except ValueError as error:
            given.problems.error("cloud-network-range", path, f"{text!r} is no IPv4 network: {error}",
                                 "write it like 10.0.0.0/16")  # fmt: skip
            good = False
            continue
        if not path.startswith("network.blocks"):
            found.append(net)
    return (found if good else []), bool(declared.cidrs)


def _new(
    given: Given, cidrs: list[Net], ours: bool, zones: Sequence[str], public: tuple[str, ...], needs: Mapping[str, int]
) -> tuple[tuple[SubnetPlan, ...], list[Net]]:
    """All subnets of a new network, and the ranges that had to be added."""
    rule, blocks = given.provider.network, given.spec.network.blocks
    primary = cidrs[0]
    control_zones = tuple(zones[: rule.control_zones]) if given.kubernetes else ()
    quarters = list(primary.subnets(2)) if primary.prefixlen <= 28 else [primary] * 4
    halves = list(primary.subnets(1)) if primary.prefixlen <= 30 else [primary] * 2
    found = [
        SubnetPlan(f"public-{zone}", zone, True, str(net), purpose="public")
        for zone, net in _cut(public, blocks.public, halves[0] if ours else quarters[0], 1 if ours else _SLOTS)
    ]
    if rule.control_prefix:
        room = halves[1] if ours else quarters[1]
        nets = [ipaddress.IPv4Network(text) for text in blocks.control] or _first(
            room, rule.control_prefix, len(control_zones)
        )
        found += [
            SubnetPlan(f"control-{zone}", zone, False, str(net), purpose="control")
            for zone, net in zip(control_zones, nets, strict=False)
        ]
    private = _private(given, cidrs, ours, zones)
    more: list[Net] = []
    taken = [*cidrs]
    spares = _spares(rule.secondary, primary)
    for zone in zones:
        own = private.get(zone, [])
        fixed = ours or blocks.private
        while not fixed and sum(net.num_addresses - rule.reserved for net in own) < needs.get(zone, 0):
            spare = next((net for net in spares if not any(net.overlaps(other) for other in taken)), None)
            if spare is None:
                break
            more.append(spare)
            taken.append(spare)
            own.append(spare)
        for number, net in enumerate(own, start=1):
            key = f"private-{zone}" + (f"-{number}" if number > 1 else "")
            found.append(SubnetPlan(key, zone, False, str(net)))
    return tuple(found), more


def _spares(secondary: Mapping[str, Sequence[str]], primary: Net) -> list[Net]:
    """Ranges that may be added to a network: which ones depends on the range that its first is in."""
    inside = (spares for text, spares in secondary.items() if primary.subnet_of(ipaddress.IPv4Network(text)))
    return [ipaddress.IPv4Network(text) for text in next(inside, ())]


def _cut(zones: Sequence[str], blocks: Sequence[str], room: Net, slots: int) -> list[tuple[str, Net]]:
    if blocks:
        return list(zip(zones, map(ipaddress.IPv4Network, blocks), strict=False))
    return list(zip(zones, _split(room, max(len(zones), slots)), strict=False))


def _split(room: Net, count: int) -> list[Net]:
    """Equal parts of a range, as large as so many allow; a range too small for that (a finding) again and again."""
    bits = max(count - 1, 0).bit_length()
    return list(room.subnets(bits)) if room.prefixlen + bits <= 32 else [room] * count


def _first(room: Net, prefix: int, count: int) -> list[Net]:
    if room.prefixlen > prefix:
        return [room] * count
    start = int(room.network_address)
    size = 1 << (32 - prefix)
    return [ipaddress.IPv4Network((start + index * size, prefix)) for index in range(count)]


def _private(given: Given, cidrs: list[Net], ours: bool, zones: Sequence[str]) -> dict[str, list[Net]]:
    """Zone -> its private ranges before any are added."""
    blocks = given.spec.network.blocks.private
    found: dict[str, list[Net]] = {zone: [] for zone in zones}
    if blocks:
        for index, text in enumerate(blocks):
            found[zones[index % len(zones)]].append(ipaddress.IPv4Network(text))
        return found
    if not ours:
        half = list(cidrs[0].subnets(1))[-1] if cidrs[0].prefixlen < 32 else cidrs[0]
        slots = _split(half, max(_SLOTS, len(zones)))
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
            found[zone] = [_split(home, len(sharing))[sharing.index(index)]]
    return found


def _given(given: Given) -> tuple[SubnetPlan, ...]:
    """The user's subnets, as far as they are described."""
    found = []
    for number, item in enumerate(given.spec.network.subnets, start=1):
        known = item if isinstance(item, GivenSubnet) else GivenSubnet(id=item)
        found.append(
            SubnetPlan(f"given-{number}", known.zone, known.public, None, known.id,
                       purpose="public" if known.public else "nodes")
        )  # fmt: skip
    return tuple(found)


def _endpoints(given: Given, new: bool) -> Endpoints:
    """Gateways in every new network; the services' private endpoints where there is no way to the internet."""
    rule = given.provider.network
    found: Endpoints = dict(rule.endpoints) if new else {}
    if given.spec.network.closed:
        found |= {} if new else rule.given_endpoints
        found |= rule.closed_endpoints.get("all", {})
        found |= rule.closed_endpoints.get(given.spec.scheduler.kind, {})
    return dict(sorted(found.items()))
