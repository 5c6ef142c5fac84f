"""Scale-up domains."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supercloud.topology import TopologyError, build_mesh_scale_up, build_switched_scale_up, build_torus_scale_up


def check(domains):
    """No port twice, all links within one domain, bulk and lazy agree."""
    ports, seen = Counter(), []
    for group in domains.link_groups:
        rows = zip(*(column.tolist() for column in group.build_columns()), strict=True)
        links = list(group)
        assert [(a.source, a.source_port, a.target, a.target_port, a.plane) for a in links] == list(rows)
        seen += links
    for link in seen:
        ports[link.source_kind, link.source, link.source_port] += 1
        ports[link.target_kind, link.target, link.target_port] += 1
        domain = link.source // domains.domain_accelerators
        per_domain = domains.switches if link.target_kind == "switch" else domains.domain_accelerators
        assert link.target // per_domain == domain
    assert not ports or max(ports.values()) == 1
    assert len(seen) == domains.link_count
    return seen


def test_an_nvlink_72_domain_has_18_switches():
    """GB200: 18 trays of 4 GPUs, 18 switch chips, one link from each GPU to each chip."""
    domains = build_switched_scale_up(144, accelerators=4, links_per_accelerator=18, switches=18, domain_nodes=18)
    assert domains.domain_accelerators == 72
    assert domains.level.count == 8
    assert domains.switch_count == 8 * 18
    assert domains.link_count == 576 * 18
    pairs = {(link.source, link.target) for link in check(domains)}
    assert len(pairs) == 576 * 18


@pytest.mark.slow
def test_an_nvlink_8_domain_has_four_switches():
    domains = build_switched_scale_up(127, accelerators=8, links_per_accelerator=18, switches=4)
    assert domains.switch_count == 127 * 4
    assert domains.link_count == 127 * 8 * 18
    assert sorted(Counter(link.target for link in check(domains) if link.source == 0).values()) == [4, 4, 5, 5]


def test_an_infinity_fabric_domain_is_a_full_mesh():
    domains = build_mesh_scale_up(16, accelerators=8)
    assert domains.link_count == 16 * 8 * 7 // 2
    pairs = {frozenset((link.source, link.target)) for link in check(domains)}
    assert len(pairs) == 16 * 28


def test_a_trn2_ultraserver_is_a_torus():
    """Trn2 UltraServer: 4 instances of a 4x4 torus, joined in rings."""
    domains = build_torus_scale_up(8, accelerators=16, dims=(4, 4, 4))
    assert domains.level.size == 4
    assert domains.level.count == 2
    assert domains.link_count == 2 * 3 * 64
    check(domains)


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(1, 30), st.integers(1, 6), st.integers(1, 6), st.integers(1, 9), st.integers(1, 5))
def test_any_scale_up_domain_is_consistent(nodes, accelerators, domain, links, switches):
    switched = build_switched_scale_up(
        nodes, accelerators=accelerators, links_per_accelerator=links, switches=switches, domain_nodes=domain
    )
    assert len(check(switched)) == nodes * accelerators * links
    mesh = build_mesh_scale_up(nodes, accelerators=accelerators, domain_nodes=domain, parallel_links=min(links, 3))
    full, short = divmod(nodes, domain)
    pairs = sum(n * (n - 1) // 2 for n in [domain * accelerators] * full + [short * accelerators])
    assert len(check(mesh)) == pairs * min(links, 3)
    assert len({frozenset((link.source, link.target)) for group in mesh.link_groups for link in group}) == pairs
    for domains in (switched, mesh):
        assert domains.level.count == -(-nodes // domain)


def test_invalid_dimensions_are_refused():
    with pytest.raises(TopologyError, match="do not form whole tori of 64; use a multiple of 4 nodes"):
        build_torus_scale_up(6, accelerators=16, dims=(4, 4, 4))
    with pytest.raises(TopologyError, match="use dims that contain whole nodes"):
        build_torus_scale_up(6, accelerators=5, dims=(4, 4))
    with pytest.raises(TopologyError, match="links is 0"):
        build_switched_scale_up(6, accelerators=5, links_per_accelerator=0, switches=1)
