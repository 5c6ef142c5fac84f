"""The columns of a bridge domain give what IEEE 802.1D's tree gives, walked switch by switch."""

from __future__ import annotations

from collections import Counter, deque

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from supercloud.plan.checks.bridge_domain import BridgeDomain

SIZES = {("edge", "leaf"): 5, ("core", "leaf"): 4, ("core", "spine"): 3}
SWITCHES = st.integers(0, sum(SIZES.values()) - 1)
LINKS = st.lists(st.tuples(st.sampled_from(["core", "edge"]), SWITCHES, SWITCHES), max_size=60)


def walk(links: list[tuple[str, int, int]], root: int) -> Counter[str]:
    near: dict[int, set[int]] = {}
    for _, one, other in links:
        if one != other:
            near.setdefault(one, set()).add(other)
            near.setdefault(other, set()).add(one)
    parent, waiting = {root: root}, deque([root])
    while waiting:
        place = waiting.popleft()
        for other in sorted(near.get(place, ())):
            if other not in parent:
                parent[other] = place
                waiting.append(other)
    return Counter(
        network
        for network, one, other in links
        if one != other and one in parent and parent[one] != other and parent[other] != one
    )


@given(links=LINKS, root=SWITCHES)
def test_blocked_links_match_a_spanning_tree(links: list[tuple[str, int, int]], root: int) -> None:
    domain = BridgeDomain(SIZES)
    for network, one, other in links:
        domain.add_links(network, np.array([one]), np.array([other]))
    assert domain.count_blocked(root) == dict(walk(links, root))


def test_switches_are_numbered_by_network_and_tier() -> None:
    domain = BridgeDomain(SIZES)
    assert [domain.get_first(*key) for key in (("core", "leaf"), ("core", "spine"), ("edge", "leaf"))] == [0, 4, 7]
