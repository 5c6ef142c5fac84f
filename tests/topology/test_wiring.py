"""What is true of every switched fabric, whatever the numbers."""

from collections import Counter, defaultdict, deque

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from supercloud.topology import Fabric, TopologyError
from topology.shapes import build_clos, build_fat_tree, build_rail_optimized, require_reason

pytestmark = pytest.mark.slow

radixes = st.integers(16, 48) | st.integers(2, 16)
several = settings(deadline=None, suppress_health_check=[HealthCheck.filter_too_much])  # most numbers make no fabric
ratios = st.sampled_from([0.5, 8 / 9, 1.0, 4 / 3, 2.0, 7.0])


def draw_seldom(strategy):
    """None three times out of four: every specified number is one more reason for a refusal."""
    return st.integers(0, 3).flatmap(lambda dice: st.none() if dice else strategy)


shared = {
    "radix": radixes | st.tuples(*[st.integers(12, 48)] * 3),
    "planes": st.integers(1, 3),
    "tiers": draw_seldom(st.integers(1, 3)),
    "oversubscription": st.just(1.0) | ratios | st.tuples(ratios, ratios),
    "reserved": st.just(0) | st.integers(0, 5),
    "uplinks": draw_seldom(st.integers(1, 20)),
}
rail = {
    "rails": st.integers(1, 9),
    "unit_nodes": draw_seldom(st.integers(1, 40)),
    "units": draw_seldom(st.integers(5, 20)),
    "down": draw_seldom(st.integers(1, 20)),
    "ports_per_rail": st.just(1) | st.integers(1, 2),
    "rails_per_leaf": st.just(1) | st.integers(1, 4),
    "pod": st.sampled_from(["su", "rail"]),
    "pod_units": draw_seldom(st.integers(1, 4)),
}
tree = {
    "nics": st.integers(1, 9),
    "down": draw_seldom(st.integers(1, 20)),
    "leaves": draw_seldom(st.integers(10, 40)),
    "pod_leaves": draw_seldom(st.integers(1, 8)),
}
racks = {
    "nics": st.integers(1, 4),
    "rack_nodes": st.integers(1, 4),
    "racks": draw_seldom(st.integers(20, 90)),
    "racks_per_pod": draw_seldom(st.integers(1, 8)),
}


def draw_built(builder, **numbers):
    return st.fixed_dictionaries({"nodes": st.integers(1, 150), **shared, **numbers}).map(lambda n: (builder, n))


recipes = (
    draw_built(build_rail_optimized, **rail) | draw_built(build_fat_tree, **tree) | draw_built(build_clos, **racks)
)


def build(recipe) -> Fabric:
    """The fabric, or another example where the numbers do not make one: the refusal has a reason and a hint."""
    builder, numbers = recipe
    try:
        fabric = builder(**numbers)
    except TopologyError as error:
        require_reason(error)
        assume(False)
    assume(sum(fabric.link_counts.values()) < 8_000)
    return fabric


def count_sizes(fabric):
    """Devices and ports by kind."""
    found = {tier.name: (tier.count, tier.radix) for tier in fabric.tiers}
    found["node"] = (fabric.nodes, fabric.node_ports)
    found["reserved"] = (fabric.link_counts.get("reserved-leaf", 0), 1)
    return found


@pytest.mark.exhaustive
@settings(several, max_examples=200)
@given(recipes)
def test_ports_are_used_once_and_counts_match(recipe):
    fabric = build(recipe)
    links = list(fabric.iter_links())
    assert len(links) == sum(fabric.link_counts.values())
    used = Counter()
    for link in links:
        used[link.source_kind, link.source, link.source_port] += 1
        used[link.target_kind, link.target, link.target_port] += 1
    assert max(used.values()) == 1, "a port is used twice"
    for kind, device, port in used:
        devices, ports = count_sizes(fabric)[kind]
        assert 0 <= device < devices and 0 <= port < ports
    assert sum(kind == "node" for kind, _, _ in used) == fabric.nodes * fabric.node_ports
    ups = Counter((link.source_kind, link.source) for link in links)
    downs = Counter((link.target_kind, link.target) for link in links if link.source_kind != "reserved")
    for tier in fabric.tiers:
        assert tier.spare_ports >= 0
        assert {ups[tier.name, i] for i in range(tier.count)} == {tier.up}
        assert max(downs[tier.name, i] for i in range(tier.count)) <= tier.down
    for link in links:
        for kind, device in ((link.source_kind, link.source), (link.target_kind, link.target)):
            if kind not in ("node", "reserved"):
                assert fabric.get_tier(kind).compute_coordinates(device)[0] == link.plane
        if link.source_kind == "node":
            assert link.source_port % fabric.planes == link.plane


@settings(several, max_examples=100)
@given(recipes)
def test_bulk_and_lazy_enumeration_are_equal(recipe):
    fabric = build(recipe)
    columns = fabric.build_columns()
    kinds = fabric.device_kinds
    rows = zip(*(column.tolist() for column in columns), strict=True)
    assert [(kinds[a], b, c, kinds[d], e, f, g) for a, b, c, d, e, f, g in rows] == list(fabric.iter_links())
    for group in fabric.link_groups:
        some = group.build_columns(2, 9)
        assert list(zip(*(column.tolist() for column in some), strict=True)) == [
            (link.source, link.source_port, link.target, link.target_port, link.plane)
            for link in group.iter_links(2, 9)
        ]
        assert len(group) == group.count


@settings(several, max_examples=100)
@given(recipes)
def test_every_leaf_reaches_every_spine_of_its_pod_equally(recipe):
    fabric = build(recipe)
    for group, upper in zip(fabric.link_groups[-len(fabric.tiers) + 1 :], fabric.tiers[1:], strict=False):
        if group.source_kind == "node":
            continue
        width = upper.axes[-1].size
        reached = defaultdict(Counter)
        for link in group:
            reached[link.source][link.target] += 1
        for switch, spines in reached.items():
            assert len(spines) == width and len(set(spines.values())) == 1
            assert {spine // width for spine in spines} == {group.find_group(switch)[0]}


@settings(several, max_examples=60)
@given(recipes, st.data())
def test_hops_are_the_shortest_path(recipe, data):
    fabric = build(recipe)
    around = defaultdict(set)
    for group in fabric.link_groups:
        if group.source_kind not in ("node", "reserved"):
            for link in group:
                around[link.source_kind, link.source].add((link.target_kind, link.target))
                around[link.target_kind, link.target].add((link.source_kind, link.source))
    nodes, rails = st.integers(0, fabric.nodes - 1), st.integers(0, fabric.rails - 1)
    one, other, out, back = (data.draw(strategy) for strategy in (nodes, nodes, rails, rails))
    assume(one != other)
    per_rail = -(-fabric.link_groups[0].nics // fabric.rails)
    assume(max(out, back) * per_rail < fabric.link_groups[0].nics)
    for plane in range(fabric.planes):
        start = ("leaf", fabric.get_node_link(one, out * per_rail, plane).target)
        goal = ("leaf", fabric.get_node_link(other, back * per_rail, plane).target)
        distance, queue = {start: 1}, deque([start])
        while queue:
            here = queue.popleft()
            for there in around[here] - distance.keys():
                distance[there] = distance[here] + 1
                queue.append(there)
        assert fabric.count_hops(one, other, (out, back)) == distance.get(goal)
    assert fabric.count_hops(one, one) == 0
    if fabric.shape != "rail-optimized":
        assert fabric.count_hops(one, other) is not None


@settings(several, max_examples=100)
@given(recipes)
def test_levels_partition_all_nodes_and_nest(recipe):
    fabric = build(recipe)
    assert fabric.levels[-1].name == "fabric" and fabric.levels[-1].count == 1
    for level in fabric.levels:
        domains = list(level)
        assert len(domains) == level.count == len(level)
        assert [node for domain in domains for node in domain] == list(range(fabric.nodes))
        for index, domain in enumerate(domains):
            assert {level.find_domain(node) for node in domain} == {index}
    for inner, outer in zip(fabric.levels, fabric.levels[1:], strict=False):
        assert inner.hops <= outer.hops
        assert all(outer.find_domain(domain[0]) == outer.find_domain(domain[-1]) for domain in inner)


@settings(several, max_examples=100)
@given(recipes)
def test_nodes_of_the_innermost_domain_share_their_leaves(recipe):
    fabric = build(recipe)
    leaves = defaultdict(set)
    for link in fabric.link_groups[0]:
        leaves[link.source].add(link.target)
    owner = {}
    for index, domain in enumerate(fabric.levels[0]):
        assert len({frozenset(leaves[node]) for node in domain}) == 1
        assert all(owner.setdefault(leaf, index) == index for leaf in leaves[domain[0]])


@settings(several, max_examples=100)
@given(recipes)
def test_non_blocking_means_full_bisection(recipe):
    builder, numbers = recipe
    numbers = numbers | {"oversubscription": 1.0, "uplinks": None}
    fabric = build((builder, numbers))
    assert fabric.bisection == 1
    below, above = Counter(), Counter()
    for group in fabric.link_groups:
        for link in group:
            if link.source_kind != "reserved":
                below[link.target_kind, link.target] += 1
                above[link.source_kind, link.source] += 1
    for tier in fabric.tiers[:-1]:
        for switch in range(tier.count):
            assert below[tier.name, switch] <= above[tier.name, switch]


@settings(several, max_examples=100)
@given(recipes)
def test_coordinates_of_switches_are_unique(recipe):
    fabric = build(recipe)
    for tier in fabric.tiers:
        places = [tier.compute_coordinates(index) for index in range(tier.count)]
        assert places == sorted(set(places))
        assert [tier.compute_index(*place) for place in places] == list(range(tier.count))
        with pytest.raises(IndexError):
            tier.compute_coordinates(tier.count)
        with pytest.raises(IndexError):
            tier.compute_index(*(axis.size for axis in tier.axes))


@given(radixes, st.integers(1, 40), st.integers(1, 9))
def test_more_nodes_never_need_fewer_switches(radix, nodes, rails):
    try:
        small, large = (build_rail_optimized(n, rails=rails, radix=radix) for n in (nodes, nodes + 1))
    except TopologyError:
        return
    assert sum(small.switch_counts.values()) <= sum(large.switch_counts.values())


def test_rails_of_a_node_have_a_name_and_a_port():
    fabric = build_rail_optimized(127, rails=8, radix=64)
    link = fabric.get_node_link(40, 3)
    assert link == ("node", 40, 3, "leaf", 11, 8, 0)
    assert fabric.get_tier("leaf").compute_coordinates(link.target) == (0, 1, 3, 0)
    up = next(iter(fabric.link_groups[1]))
    assert (up.source_port, up.target_port) == (32, 0), "uplinks are the last ports of a leaf"
    with pytest.raises(IndexError):
        fabric.get_node_link(127, 0)


def test_reserved_links_take_the_free_ports_of_the_short_unit():
    group = build_rail_optimized(127, rails=8, radix=64, reserved=4).link_groups[1]
    assert [(link.source, link.target, link.target_port) for link in group] == [(i, 24 + i, 31) for i in range(4)]


def test_a_node_with_more_nics_than_a_leaf_has_separate_leaves():
    fabric = build_fat_tree(6, nics=20, radix=16)
    assert fabric.rails == 3
    assert fabric.get_tier("leaf").axes[1:] == (("node", 6), ("leaf", 3))
    assert [fabric.get_node_link(1, nic).target for nic in range(20)] == [3] * 7 + [4] * 7 + [5] * 6


def test_a_small_fat_tree_is_one_switch():
    assert build_fat_tree(8, nics=8, radix=64).switch_counts == {"leaf": 1}
    assert build_fat_tree(8, nics=8, radix=64, reserved=1, leaves=3).switch_counts == {"leaf": 3, "spine": 2}


def test_units_can_be_built_before_their_nodes():
    assert build_rail_optimized(40, rails=8, radix=64, units=4).switch_counts == {"leaf": 32, "spine": 16}
