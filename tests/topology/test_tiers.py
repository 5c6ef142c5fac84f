"""The rules one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supercloud.topology.tiers import (
    compute_max_down,
    compute_uplinks,
    expand_oversubscription,
    expand_radix,
    find_least_divisor,
)

ratios = st.sampled_from([0.5, 8 / 9, 1.0, 1.25, 4 / 3, 5 / 3, 2.0, 3.0, 7.0])


@pytest.mark.slow
@given(st.integers(1, 1024), ratios)
def test_the_maximum_of_downlinks_is_exact(radix, ratio):
    down = compute_max_down(radix, ratio)
    if ratio == int(ratio) and radix > ratio:
        assert down == ratio * compute_uplinks(down, ratio) and down + compute_uplinks(down, ratio) > radix - ratio - 1
    else:
        assert down == max(d for d in range(radix + 1) if d + compute_uplinks(d, ratio) <= radix)


def test_half_the_radix_is_non_blocking():
    assert [compute_max_down(radix) for radix in (64, 63, 2, 1)] == [32, 31, 1, 0]


def test_uplinks_are_rounded_up():
    assert compute_uplinks(32, 4 / 3) == 24
    assert compute_uplinks(33, 4 / 3) == 25
    assert compute_uplinks(16, 8 / 9) == 18
    assert compute_uplinks(192, 7) == 28


@pytest.mark.slow
@given(st.integers(1, 512), st.data())
def test_the_least_divisor_is_found(number, data):
    floor = data.draw(st.integers(0, number))
    found = find_least_divisor(number, floor)
    assert number % found == 0 and found >= floor
    assert not any(number % d == 0 for d in range(max(1, floor), found))


def test_a_number_can_be_specified_for_each_tier():
    assert expand_radix(64) == (64, 64, 64)
    assert expand_radix((64, 576, 400)) == (64, 576, 400)
    assert expand_oversubscription(2.0) == (2.0, 1.0)
    assert expand_oversubscription((1, 7)) == (1, 7)
    with pytest.raises(ValueError, match="core_radix is 0"):
        expand_radix((1, 1, 0))
