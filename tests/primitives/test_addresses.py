from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supercloud.errors import InputError
from supercloud.primitives.addresses import AddressRun, allocate_blocks

pytestmark = pytest.mark.slow


@given(st.dictionaries(st.text("abc", min_size=1, max_size=4), st.integers(0, 20_000), min_size=1, max_size=8))
def test_blocks_fit_their_hosts_and_do_not_overlap(needs: dict[str, int]) -> None:
    blocks = allocate_blocks("10.0.0.0/8", needs)
    assert list(blocks) == list(needs)
    ordered = sorted(blocks.values())
    assert all(not a.overlaps(b) for a, b in zip(ordered, ordered[1:], strict=False))
    for name, count in needs.items():
        if count:
            run = AddressRun(blocks[name], 0, count)
            assert all(ipaddress.ip_address(run[index]) in blocks[name] for index in (0, count // 2, count - 1))
            assert run[count - 1].split(".")[-1] not in ("0", "255")


@given(st.integers(0, 3000), st.integers(1, 3000))
def test_the_text_of_a_run_names_each_address_once(start: int, count: int) -> None:
    block = allocate_blocks("10.0.0.0/8", {"a": 6000})["a"]
    run = AddressRun(block, start, count)
    named = []
    for piece in str(run).split(","):
        head, _, tail = piece.rpartition(".")
        low, _, high = tail.strip("[]").partition("-")
        named += [f"{head}.{number}" for number in range(int(low), int(high or low) + 1)]
    assert named == [run[index] for index in range(count)]
    assert len(set(named)) == count


def test_growth_does_not_renumber() -> None:
    small = allocate_blocks("10.0.0.0/8", {"m": 250, "a": 127, "b": 300})
    large = allocate_blocks("10.0.0.0/8", {"m": 250, "a": 9000, "b": 300})
    assert small == large


def test_a_network_that_is_too_small_is_reported_with_both_numbers() -> None:
    with pytest.raises(InputError, match=r"10.0.0.0/24 has 256 addresses.*a 256, b 256"):
        allocate_blocks("10.0.0.0/24", {"a": 10, "b": 10})
    with pytest.raises(InputError, match="not a valid network"):
        allocate_blocks("10.0.0.1/8", {"a": 1})
    with pytest.raises(InputError, match="IPv4"):
        allocate_blocks("fd00::/64", {"a": 1})
