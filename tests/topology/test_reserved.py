"""Reserved leaf ports: each once, whole cages where they are asked for, splitters apart as long as there is room."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from supercloud.topology import TopologyError
from supercloud.topology.reserved import (
    PortRequest,
    ReservedLinks,
    assign_reserved_ports,
    check_reserved,
    count_free_ports,
)
from topology.shapes import build_fat_tree, build_rail_optimized, require_reason

pytestmark = pytest.mark.slow

asks = st.lists(
    st.builds(
        lambda cages, kind: PortRequest(cages, True, 2) if kind == 2 else PortRequest(cages, kind == 1),
        st.integers(1, 18),
        st.integers(0, 2),
    ),
    min_size=1,
    max_size=4,
)


@settings(deadline=None)
@given(st.integers(1, 140), asks, st.sampled_from([None, 20, 24, 25]), st.booleans())
def test_reserved_ports_are_free_and_separate_by_kind(nodes, reserved, uplinks, rails):
    build = build_rail_optimized if rails else build_fat_tree
    shape = {"rails": 2} if rails else {"nics": 2}
    try:
        fabric = build(nodes, radix=64, down=32, uplinks=uplinks, reserved=reserved, cage_ports=2, tiers=2, **shape)
    except TopologyError as error:
        require_reason(error)
        assume(False)
    group = next(group for group in fabric.link_groups if group.source_kind == "reserved")
    places = [(link.target, link.target_port) for link in group]
    assert len(places) == sum(ask.ports for ask in reserved) == len(set(places))
    leaf = fabric.get_tier("leaf")
    other = {(link.target, link.target_port) for link in fabric.link_groups[0]}
    other |= {(number, port) for number in range(leaf.count) for port in range(leaf.radix - leaf.up, leaf.radix)}
    assert not other & set(places)
    start = 0
    owners = {}
    for index, ask in enumerate(reserved):
        mine = places[start : start + ask.ports]
        owners |= dict.fromkeys(mine, index)
        if ask.ports_per_cage == 2:
            for one, two in zip(mine[::2], mine[1::2], strict=False):
                assert one[0] == two[0] and one[1] // 2 == two[1] // 2 and one[1] % 2 == 0
            unused = {(leaf, port ^ 1) for leaf, port in mine} - set(mine)
            assert len(unused) == ask.ports % 2 and not unused & {*places, *other}, "the other end of its last cable"
        start += ask.ports
    # a splitter shares a cage with nothing straight while a clean cage is left anywhere
    taken = other | set(places)
    clean = [
        (number, port)
        for number in range(leaf.count)
        for port in range(0, leaf.radix - leaf.up - 1, 2)
        if not {(number, port), (number, port + 1)} & taken
    ]
    for (number, port), index in owners.items():
        neighbor = (number, port ^ 1)
        if reserved[index] == PortRequest(reserved[index].ports, True) and neighbor in other:
            assert not clean, "it had to share"


def test_splitters_of_one_request_are_spread_or_in_one_cage():
    spread, packed = (
        [
            (link.target, link.target_port)
            for link in build_rail_optimized(
                126, rails=2, radix=64, down=32, uplinks=24, reserved=[ask], cage_ports=2
            ).link_groups[1]
        ]
        for ask in (PortRequest(2, True), PortRequest(2, True, 2))
    )
    assert len({leaf for leaf, _ in spread}) == 2
    assert packed[0][0] == packed[1][0] and packed[0][1] // 2 == packed[1][1] // 2


def test_cables_that_need_a_whole_cage_are_refused_if_none_is_free():
    """Six leaves with one port left on each."""
    numbers = {"rails": 1, "radix": 64, "unit_nodes": 31, "down": 31, "uplinks": 32, "cage_ports": 2}
    with pytest.raises(TopologyError, match="3 cages of 2 ports are required for cables that occupy a cage, 3"):
        build_rail_optimized(186, reserved=[PortRequest(6, True, 2)], **numbers)
    assert build_rail_optimized(186, reserved=6, **numbers).link_counts["reserved-leaf"] == 6


@settings(deadline=None)
@given(st.integers(1, 400), st.sampled_from([None, 20, 24, 25]), st.booleans(), st.integers(0, 30), st.integers(0, 9))
def test_the_count_of_free_ports_is_exact(nodes, uplinks, rails, first, kept):
    build = build_rail_optimized if rails else build_fat_tree
    shape = {"rails": 2} if rails else {"nics": 2}
    try:
        fabric = build(nodes, radix=64, down=32, uplinks=uplinks, reserved=[PortRequest(1)], tiers=2, **shape)
    except TopologyError:
        assume(False)
    group = next(group for group in fabric.link_groups if isinstance(group, ReservedLinks))
    ports = group.ports._replace(kept=range(first, first + kept))
    leaf = fabric.get_tier("leaf")
    every = {(number, port) for number in range(leaf.count) for port in set(range(ports.room)) - set(ports.kept)}
    assert count_free_ports(ports) == len(every - {(link.target, link.target_port) for link in fabric.link_groups[0]})


@settings(deadline=None)
@given(
    st.integers(1, 140),
    st.sampled_from([None, 20, 24, 25]),
    st.booleans(),
    st.integers(0, 30),
    st.integers(0, 9),
    st.lists(
        st.builds(PortRequest, st.integers(1, 60), st.just(True), st.sampled_from([2, 4])), min_size=1, max_size=3
    ),
    st.sampled_from([2, 4]),
)
def test_counted_cages_are_found(nodes, uplinks, rails, first, kept, wanted, cage):
    """Whether there are enough is counted for many sizes of a fabric; they are placed once, and then each is there."""
    build = build_rail_optimized if rails else build_fat_tree
    shape = {"rails": 2} if rails else {"nics": 2}
    try:
        fabric = build(
            nodes, radix=64, down=32, uplinks=uplinks, reserved=[PortRequest(1)], cage_ports=cage, tiers=2, **shape
        )
    except TopologyError:
        assume(False)
    group = next(group for group in fabric.link_groups if isinstance(group, ReservedLinks))
    asks = tuple(ask for ask in wanted if ask.ports_per_cage <= cage)
    ports = group.ports._replace(asks=asks, kept=range(first, first + kept) if kept else range(0))
    needed = sum(-(-ask.ports // ask.ports_per_cage) * ask.ports_per_cage for ask in asks)
    assume(asks and count_free_ports(ports) >= needed)

    def get_refusal(ask):
        try:
            ask(ports)
        except TopologyError as error:
            return str(error)
        return ""

    assert get_refusal(check_reserved) == get_refusal(assign_reserved_ports)
