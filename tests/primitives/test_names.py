from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supercloud.errors import InputError
from supercloud.primitives.names import NameRule, build_bounded_name

BUCKET = NameRule(
    max=63,
    min=3,
    characters="a-z0-9.-",
    starts="a-z0-9",
    ends="a-z0-9",
    refused=("xn--",),
    refused_end=("-s3alias",),
    refused_all=r"\d+\.\d+\.\d+\.\d+|.*\.\..*",
)
LABEL = NameRule(max=20, characters="a-z0-9-", starts="a-z", ends="a-z0-9", doubled=False)
ANY = st.text(alphabet=string.printable + "äß€", max_size=80)


def test_short_names_are_unchanged() -> None:
    assert build_bounded_name(["trainer", "train-block"], BUCKET) == "trainer-train-block"


def test_long_names_keep_their_end_and_get_a_digest() -> None:
    name = build_bounded_name(["a-very-long-cluster-name", "scratch"], LABEL)
    assert (
        len(name) <= 20
        and name.startswith("ame-scratch-")
        and name == build_bounded_name(["a-very-long-cluster-name", "scratch"], LABEL)
    )


@pytest.mark.slow
@pytest.mark.parametrize("rule", [BUCKET, LABEL], ids=["bucket", "label"])
@given(parts=st.lists(ANY, min_size=1, max_size=4))
def test_names_are_valid_for_any_parts(rule: NameRule, parts: list[str]) -> None:
    name = build_bounded_name(parts, rule)
    assert rule.find_problem(name) == "" and name == build_bounded_name(parts, rule)


@pytest.mark.slow
@given(st.lists(ANY, min_size=1, max_size=3), st.lists(ANY, min_size=1, max_size=3))
def test_different_parts_have_different_names(one: list[str], two: list[str]) -> None:
    same = "-".join(one) == "-".join(two)
    assert (build_bounded_name(one, LABEL) == build_bounded_name(two, LABEL)) <= (one == two or same)


@pytest.mark.parametrize(
    "name, word",
    [
        ("ab", "2 characters"),
        ("a" * 64, "64 characters"),
        ("My_Bucket", "'M', '_'"),
        ("-abc", "starts with '-'"),
        ("abc-", "ends with '-'"),
        ("xn--abc", "xn--"),
        ("abc-s3alias", "-s3alias"),
        ("10.0.0.1", "reserved pattern"),
        ("a..b", "reserved pattern"),
    ],
)
def test_invalid_names_are_rejected_with_the_reason(name: str, word: str) -> None:
    assert word in BUCKET.find_problem(name)


def test_a_rule_without_space_for_a_name_is_an_error() -> None:
    with pytest.raises(InputError, match="no valid name for"):
        build_bounded_name(["abcdefgh"], NameRule(max=5))
