"""Starts of pools in the subnet of an InfiniBand rail: far apart, without overlap, and quickly for many pools."""

from __future__ import annotations

import random
from itertools import pairwise

from supercloud.plan.build.network import pool_starts


def test_each_pool_starts_in_the_middle_of_a_remaining_gap() -> None:
    assert pool_starts._spread_starts([10, 10, 10, 10], 1000) == (0, 500, 250, 750)


def test_pools_do_not_overlap_and_the_first_free_place_is_used() -> None:
    source = random.Random(1)
    for _ in range(200):
        hosts = source.choice([254, 1_000, 16_000])
        nodes = [source.randint(1, source.choice([3, 40, 400])) for _ in range(source.randint(1, 25))]
        starts = pool_starts._spread_starts(nodes, hosts)
        if starts is None:
            continue
        ranges = sorted(zip(starts, nodes, strict=True))
        assert all(start + count <= following for (start, count), (following, _) in pairwise(ranges))
        assert ranges[-1][0] + ranges[-1][1] <= hosts


def test_more_pools_than_places_follow_each_other() -> None:
    assert pool_starts._spread_starts([1] * 2_000, 65_000) is None
