from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supercloud.errors import InputError
from supercloud.primitives.nodes import HostRange, HostSet, expand, fold


@pytest.mark.slow
@given(st.integers(1, 300), st.integers(0, 200), st.integers(1, 5))
def test_a_range_lists_its_hosts(count: int, first: int, width: int) -> None:
    hosts = HostRange("gpu-", first, first + count - 1, width)
    names = list(hosts)
    assert len(hosts) == len(names) == count
    if width >= len(str(first + count)):
        assert expand(str(hosts)) == names
        assert fold(names) == str(hosts)


@pytest.mark.slow
@given(st.lists(st.integers(1, 40), min_size=1, max_size=4), st.data())
def test_slices_of_host_sets_have_their_hosts(sizes: list[int], data: st.DataObject) -> None:
    whole = HostSet(tuple(HostRange(f"p{i}-", 1, size, 4) for i, size in enumerate(sizes)))
    names = list(whole)
    start = data.draw(st.integers(0, len(names)))
    stop = data.draw(st.integers(start, len(names)))
    part = whole.slice(start, stop)
    assert list(part) == names[start:stop]
    assert list(whole.slice(0, start) + whole.slice(start, len(whole))) == names


def test_out_of_range_is_refused() -> None:
    with pytest.raises(IndexError):
        HostRange("a", 1, 3, 1).slice(2, 5)


def test_an_invalid_host_list_is_rejected() -> None:
    with pytest.raises(InputError, match="not a valid list of hosts"):
        expand("a[1-")


@pytest.mark.parametrize("text", ["@all", "a,@x:y", "@@x", "@*", "*", "a[1-3]&b", "$(id)", "+ß"])
def test_no_group_of_this_machine_is_looked_up(text: str) -> None:
    with pytest.raises(InputError, match="not a valid list of hosts"):
        expand(text)


@pytest.mark.parametrize(
    "text", ["a-[1-100001]", "a[1-9999999999999999]", "a[1-1000]b[1-1000]", "a-[1-60000],b-[1-60000]"]
)
def test_too_many_hosts_are_rejected_before_they_are_listed(text: str) -> None:
    with pytest.raises(InputError, match="more than 100,000 hosts"):
        expand(text)


def test_ranges_with_steps_and_numbers_of_another_width_are_listed() -> None:
    assert set(expand("a-[001-003,9],b,c[0-4/2]")) == {"a-001", "a-002", "a-003", "a-9", "b", "c0", "c2", "c4"}
