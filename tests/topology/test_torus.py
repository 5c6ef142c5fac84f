"""Tori and their geometry."""

from collections import Counter, defaultdict, deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supercloud.topology import Grid, TopologyError, build_torus, count_surface_links

boxes = st.lists(st.tuples(st.integers(1, 5), st.booleans()), min_size=2, max_size=3)


@pytest.mark.slow
@settings(deadline=None)
@given(boxes)
def test_links_neighbours_and_distances_are_consistent(box):
    dims, wrap = zip(*box, strict=True)
    fabric = build_torus(dims, wrap=wrap)
    around = defaultdict(set)
    ports = Counter()
    links = list(fabric.iter_links())
    for link in links:
        around[link.source].add(link.target)
        around[link.target].add(link.source)
        ports[link.source, link.source_port] += 1
        ports[link.target, link.target_port] += 1
    assert len(links) == sum(fabric.link_counts.values())
    assert not ports or max(ports.values()) == 1
    assert all(0 <= port < fabric.node_ports for _, port in ports)
    assert len({frozenset((link.source, link.target)) for link in links}) == len(links), "two links for one pair"
    for node in range(fabric.nodes):
        assert set(fabric.grid.list_neighbors(node)) == around[node]
        assert fabric.grid.compute_index(fabric.grid.compute_coordinates(node)) == node
    distance, queue = {0: 0}, deque([0])
    while queue:
        here = queue.popleft()
        for there in around[here] - distance.keys():
            distance[there] = distance[here] + 1
            queue.append(there)
    assert [fabric.count_hops(0, node) for node in range(fabric.nodes)] == [distance[n] for n in range(fabric.nodes)]
    assert fabric.levels[0].hops >= max(distance.values())


@pytest.mark.parametrize(
    "dims, links",
    [
        ((16, 16), 2 * 256),  # TPU v5e and v6e
        ((16, 16, 16), 3 * 4096),  # TPU v4
        ((16, 20, 28), 3 * 8960),  # TPU v5p
        ((4, 4), 32),  # Trainium2 in an instance
        ((2, 2, 1), 4),
        ((2, 2, 2), 12),
        ((1, 1), 0),
        ((1, 3), 3),
    ],
)
def test_a_torus_has_the_expected_number_of_links(dims, links):
    fabric = build_torus(dims)
    assert sum(fabric.link_counts.values()) == links
    assert len(fabric.build_columns().source) == links


def test_a_mesh_has_no_wraparound():
    fabric = build_torus((4, 4), wrap=False)
    assert sum(fabric.link_counts.values()) == 24
    assert fabric.count_hops(0, 15) == 6
    assert build_torus((4, 4)).count_hops(0, 15) == 2
    assert fabric.grid.bisection_links == 4
    assert build_torus((4, 4)).grid.bisection_links == 8
    with pytest.raises(IndexError):
        fabric.grid.compute_index((4, 0))


def test_bisection_cuts_the_weakest_axis():
    fabric = build_torus((16, 20, 28))
    assert fabric.grid.bisection_links == 2 * 16 * 20
    assert fabric.bisection == pytest.approx(640 / (4480 * 6))
    assert build_torus((1, 1)).bisection == 1


def test_tpu_v4_cubes_have_96_optical_links():
    """TPU v4: 64 cubes of 4x4x4, 96 optical links each, 6,144 in all before a switch joins them in pairs."""
    grid = build_torus((16, 16, 16)).grid
    cube = (4, 4, 4)
    blocks = grid.build_block_grid(cube)
    assert blocks.nodes == 64
    assert count_surface_links(cube) == 96
    assert blocks.nodes * count_surface_links(cube) == 6_144
    nodes = list(grid.iter_block_nodes(5, cube))
    assert len(nodes) == 64 and {grid.find_block(node, cube) for node in nodes} == {5}


@pytest.mark.slow
@given(st.sampled_from([(4, 6), (8, 4, 4), (3, 5, 2)]), st.data())
def test_blocks_tile_the_grid(dims, data):
    grid = Grid(dims, (True,) * len(dims))
    shape = tuple(data.draw(st.sampled_from([s for s in range(1, d + 1) if d % s == 0])) for d in dims)
    blocks = grid.build_block_grid(shape)
    nodes = [node for block in range(blocks.nodes) for node in grid.iter_block_nodes(block, shape)]
    assert sorted(nodes) == list(range(grid.nodes))


def test_block_shapes_are_the_most_cubic_first():
    grid = Grid((4, 4, 8), (True, True, True))
    assert list(grid.iter_block_shapes(8))[:2] == [(2, 2, 2), (1, 2, 4)]
    assert list(grid.iter_block_shapes(3)) == []
    with pytest.raises(TopologyError, match="do not tile"):
        grid.build_block_grid((3, 1, 1))
