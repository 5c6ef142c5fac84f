"""Host names in Slurm's notation, and the ranges that they are folded to."""

from __future__ import annotations

import pytest

from supercloud.errors import InputError
from supercloud.primitives.host_lists import parse_host_list
from supercloud.primitives.nodes import HostFinder, HostRange, expand, fold_runs


@pytest.mark.parametrize(
    "text, first, last, count, folded",
    [
        ("gpu[001-064]", "gpu001", "gpu064", 64, "gpu[001-064]"),
        ("n[8-11,20]", "n8", "n20", 5, "n[8-11,20]"),
        ("r[1-2]n[09-10],athena", "r1n09", "athena", 5, "r1n[09-10],r2n[09-10],athena"),
        ("zeus,hera,gpu[90-91]", "zeus", "gpu91", 4, "zeus,hera,gpu[90-91]"),
        ("b[1-2]a,rack-[3,1]", "b1a", "rack-1", 4, "b1a,b2a,rack-[3,1]"),
        ("h[0099-0101]", "h0099", "h0101", 3, "h[0099-0101]"),
        ("h[98-101]", "h98", "h101", 4, "h[98-101]"),
    ],
)
def test_names_keep_their_order_and_are_folded(text: str, first: str, last: str, count: int, folded: str) -> None:
    names = parse_host_list(text, 1000)
    assert (names[0], names[-1], len(names)) == (first, last, count)
    hosts = HostRange.from_names("train", names)
    assert str(hosts) == folded and list(hosts) == names and len(hosts) == count
    assert parse_host_list(str(hosts), 1000) == names
    assert sorted(expand(str(hosts))) == sorted(names)
    assert [hosts.find_index(name) for name in names] == list(range(count))
    assert [hosts.get_name(index) for index in range(count)] == names
    assert [name for run in hosts.list_runs() for name in run] == names
    for start in range(count):
        part = hosts.slice(start, count)
        assert list(part) == names[start:] and part.find_index(names[start]) == 0
        assert (names[start - 1] in part) is (start == 0)


@pytest.mark.parametrize(
    "text, reason",
    [
        ("gpu[001-064", "brackets and commas do not match"),
        ("gpu001,,gpu002", "brackets and commas do not match"),
        ("", "brackets and commas do not match"),
        ("gpu[64-1]", "the range 64-1 ends before it begins"),
        ("gpu[a-c]", "'a-c' is not a number or a range"),
        ("gpu[]", "'' is not a number or a range"),
        ("GPU[1-2]", "'GPU1' is not a host name"),
        ("gpu_[1-2]", "'gpu_1' is not a host name"),
        ("gpu1.example.com", "without the domain"),
        ("-gpu", "'-gpu' is not a host name"),
        ("[1-4]", "'1' is not a host name: a number without a letter"),
        ("g" * 60, "has 60 characters: at most 59"),
        ("a[1-999]b[1-999]", "more than 1,000 hosts"),
        ("a[1-999999999]", "more than 1,000 hosts"),
        ("a[1-600],b[1-600]", "more than 1,000 hosts"),
        ("a[1-999]b[1-999]," + "c" * 99, "'a[1-999]b[1-999]," + "c" * 63 + "' has more than"),  # 80 characters of it
    ],
)
def test_wrong_lists_are_rejected_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(InputError) as error:
        parse_host_list(text, 1000)
    assert reason in str(error.value)


def test_management_names_have_a_prefix() -> None:
    hosts = HostRange.from_names("train", ["gpu1", "gpu2", "zeus"]).with_prefix("bmc-")
    assert str(hosts) == "bmc-gpu[1-2],bmc-zeus"


def test_hosts_are_found_in_several_ranges() -> None:
    given = HostRange.from_names("old", ["n1", "n2", "new-0003"])
    finder = HostFinder({"old": given, "new": HostRange("new-", 1, 2, 4)})
    assert [finder.find(name) for name in ("n2", "new-0003", "new-0002", "new-2", "old/1", "x")] == [
        ("old", 1),
        ("old", 2),
        ("new", 1),
        None,
        None,
        None,
    ]


def test_common_hosts_are_the_first_that_both_have() -> None:
    old = HostRange.from_names("train", ["n1", "n2", "n4"])
    assert old.count_common(HostRange.from_names("train", ["n1", "n2", "n4", "n5"])) == 3
    assert old.count_common(HostRange.from_names("train", ["n1", "n3", "n4"])) == 1
    assert HostRange("n-", 1, 4, 4).count_common(HostRange.from_names("n", ["n-0001", "n-0002"])) == 2


def test_runs_have_numbers_of_equal_form() -> None:
    assert [str(run) for run in fold_runs(["a9", "a10", "a011", "b", "c1234567890123456"])] == [
        "a[9-10]",
        "a011",
        "b",
        "c1234567890123456",
    ]
