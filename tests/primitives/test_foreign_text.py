"""Text of other programs: its lines, numbers, JSON and host lists."""

from __future__ import annotations

import pytest

from supercloud.errors import InputError
from supercloud.primitives.foreign_text import shorten_text, split_lines
from supercloud.primitives.nodes import HostRange, expand
from supercloud.primitives.responses import MAX_UINT32, find_number, parse_json

DIGITS = "9" * 5000


@pytest.mark.parametrize(
    "text, lines",
    [
        ("", []),
        ("\n", [""]),
        ("a", ["a"]),
        ("a\n\nb\n", ["a", "", "b"]),
        ("a\r\nb\r", ["a", "b"]),
        ("a\r\r\nb", ["a\r", "b"]),
        ("a\x0bb\x0cc\x1cd\x1de\x1ef\x85g\u2028h\u2029i\rj\n", ["a\x0bb\x0cc\x1cd\x1de\x1ef\x85g\u2028h\u2029i\rj"]),
    ],
)
def test_only_line_feeds_end_lines(text: str, lines: list[str]) -> None:
    assert split_lines(text) == lines


def test_excerpts_have_a_maximum_length() -> None:
    assert shorten_text("a" * 80) == "a" * 80
    assert shorten_text("a" * 81) == "a" * 79 + "…"


def test_numbers_have_a_maximum() -> None:
    assert find_number(" 7\n") == 7 and find_number(str(MAX_UINT32)) == MAX_UINT32
    assert not [text for text in ("", "-1", "1.5", "²", "٣", str(2**32), DIGITS) if find_number(text) is not None]


@pytest.mark.parametrize(
    "text, message",
    [
        ("[" * 100_000, "nested too deeply"),
        (f"[{DIGITS}]", "a number of more than 4,300 digits"),
        ("[" + "1," * 4_000_000 + "1]", "more than 4,000,000 values"),
        ("{", "Expecting"),
    ],
    ids=range(4),
)
def test_json_has_bounds(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_json(text)


def test_hosts_with_many_digits_are_not_in_a_range() -> None:
    hosts = HostRange("a", 1, 12, 1)
    assert "a1" in hosts and "a12" in hosts
    assert not [name for name in (f"a{DIGITS}", "a" + "0" * 5000 + "1", "a01", "a13", "a") if name in hosts]
    assert "a0012" in HostRange("a", 1, 12, 4)
    with pytest.raises(InputError, match="is not a valid list of hosts") as found:
        expand(f"a{DIGITS}")
    assert len(str(found.value)) < 300
