"""Packing against every choice there is."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supercloud.jobs.fleet.domains import Domain, DomainAllocation, Domains, allocate_domains, build_domains
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import loads


def build_tree(pods: list[list[int]]) -> Domains:
    """Leaves with so many nodes, in pods, under one root."""
    sizes = [size for pod in pods for size in pod]
    starts = [sum(sizes[:index]) for index in range(len(sizes) + 1)]
    leaves = tuple(Domain(f"leaf{n}", ((starts[n], starts[n + 1]),), (n, n + 1)) for n in range(len(sizes)))
    ends = [sum(len(pod) for pod in pods[:index]) for index in range(len(pods) + 1)]
    middle = tuple(
        Domain(f"pod{n}", ((starts[ends[n]], starts[ends[n + 1]]),), (ends[n], ends[n + 1])) for n in range(len(pods))
    )
    root = (Domain("root", ((0, starts[-1]),), (0, len(sizes))),)
    return Domains(("leaf", "pod", "fabric"), (leaves, middle, root))


def find_optimum(domains: Domains, free: list[int], nodes: int) -> tuple[int, int, int] | None:
    """Level, pods and leaves of the best choice of leaves, by trying all of them."""
    best = None
    for count in range(1, len(free) + 1):
        for chosen in combinations(range(len(free)), count):
            if sum(free[leaf] for leaf in chosen) < nodes:
                continue
            pods = len(
                {
                    pod
                    for leaf in chosen
                    for pod, item in enumerate(domains.levels[1])
                    if item.innermost[0] <= leaf < item.innermost[1]
                }
            )
            level = 0 if count == 1 else 1 if pods == 1 else 2
            rank = (level, pods, count)
            best = rank if best is None or rank < best else best
    return best


PODS = st.lists(st.lists(st.integers(1, 11), min_size=1, max_size=4), min_size=1, max_size=3)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(pods=PODS, nodes=st.integers(1, 60), broken=st.lists(st.integers(0, 11), min_size=12, max_size=12))
def test_the_innermost_level_with_the_fewest_domains_is_selected(
    pods: list[list[int]], nodes: int, broken: list[int]
) -> None:
    domains = build_tree(pods)
    free = [max(0, size - lost) for size, lost in zip((s for pod in pods for s in pod), broken, strict=False)]
    found, best = allocate_domains(domains, free, nodes), find_optimum(domains, free, nodes)
    assert (found is None) == (best is None) == (sum(free) < nodes)
    if found is None or best is None:
        return
    check(found, free, nodes)
    inside = {
        pod
        for leaf, _ in found.parts
        for pod, item in enumerate(domains.levels[1])
        if item.innermost[0] <= leaf < item.innermost[1]
    }
    assert (found.level, len(inside), len(found.parts)) == best
    # what is left over in the domains it breaks up: no more than the optimum and one domain
    least = min(
        (
            sum(free[leaf] for leaf in some) - nodes
            for some in combinations(range(len(free)), len(found.parts))
            if sum(free[leaf] for leaf in some) >= nodes
        ),
        default=0,
    )
    if found.level == len(domains.levels) - 1 or len(domains.levels[1]) == 1:
        assert found.leftover_nodes <= least + max(free)
    assert allocate_domains(domains, free, nodes) == found


def check(found: DomainAllocation, free: list[int], nodes: int) -> None:
    """The nodes are free, and evenly divided: no domain has more than another with free nodes."""
    assert sum(count for _, count in found.parts) == nodes
    assert all(0 < count <= free[leaf] and count % found.block_size == 0 for leaf, count in found.parts)
    for leaf, count in found.parts:
        for other, more in found.parts:
            room = free[leaf] // found.block_size * found.block_size
            assert more <= count + found.block_size or count == room, (found, free, other)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(pods=PODS, unit=st.integers(2, 4), groups=st.integers(1, 12))
def test_communication_groups_are_kept_together(pods: list[list[int]], unit: int, groups: int) -> None:
    domains, free = build_tree(pods), [size for pod in pods for size in pod]
    found = allocate_domains(domains, free, unit * groups, [unit], largest_firm_block=unit)
    possible = sum(size // unit for size in free) >= groups
    if found is None:
        assert sum(free) < unit * groups
        return
    check(found, free, unit * groups)
    # a job in one domain is together anyway; otherwise whole groups lie in each, if that can be at all
    assert found.block_size == unit or found.level == 0 or not possible


def test_uneven_leaves_are_filled_with_whole_groups() -> None:
    """64 nodes in 15 uneven groups, as reported from a real fabric: only two have eight."""
    sizes = [1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 11]
    assert sum(sizes) == 64 and len(sizes) == 15
    found = allocate_domains(build_tree([sizes]), sizes, 8)
    assert found and found.level == 0 and found.domain == "leaf13"
    without = [0 if size in (8, 11) else size for size in sizes]
    split = allocate_domains(build_tree([sizes]), without, 8)
    assert split and [count for _, count in split.parts] in ([4, 4], [2, 6], [3, 5], [1, 7])


NVL = """
name: nvl
site: {kind: onprem, location: finland}
scheduler: {kind: slurm, version: "26.05"}
pools: [{name: train, machine: dgx-gb200, nodes: 288, fabrics: [compute]}]
fabrics: [{name: compute, kind: infiniband, shape: rail-optimized, switch: nvidia-qm9700}]
"""


def test_racks_with_16_of_18_trays_have_whole_blocks() -> None:
    plan = resolve(loads(NVL))
    domains = build_domains(plan, plan.get_pool("train"))
    assert domains.names[:2] == ("scale-up", "su") and domains.get_largest_size(0) == 18
    broken = [16] * 16
    found = allocate_domains(domains, broken, 64, [16], largest_firm_block=16)
    assert found and [count for _, count in found.parts] == [16] * 4 and found.block_size == 16
    assert found.domain.startswith("su") and found.leftover_nodes == 0
    one_worse = [15, *broken[1:]]
    assert allocate_domains(domains, one_worse, 240, [16], largest_firm_block=16) is not None
    none = allocate_domains(domains, one_worse, 256, [16], largest_firm_block=16)
    assert none is None  # 255 trays are there


def test_domains_follow_the_plan(plan: Plan) -> None:
    domains = build_domains(plan, plan.get_pool("train"))
    assert domains.names == ("su", "fabric") and [item.nodes for item in domains.levels[0]] == [32, 32, 32, 31]
    assert build_domains(plan, plan.get_pool("cpu")).levels[-1][0].nodes == 3
