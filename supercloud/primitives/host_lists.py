"""Host names as an administrator lists them: Slurm's notation (``gpu[001-064]``, ``r[1-4]n[01-16]``), in the order of
the list, each name checked.

Source of the notation: slurm.conf(5), NodeName. :func:`nodes.expand` is for answers of schedulers: it sorts, and it
accepts any name.
"""

from __future__ import annotations

import re
from itertools import product

from ..errors import InputError

__all__ = ["MAX_HOST_NAME", "parse_host_list"]

# RFC 1123, 2.1, in lower case, which DNS does not distinguish and Kubernetes requires.
_HOST_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
# RFC 1035, 2.3.4: 63 characters, less the four of "bmc-" before the name of the management port.
MAX_HOST_NAME = 59
_ITEM = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_PART = re.compile(r"\s*([0-9]{1,15})\s*(?:-\s*([0-9]{1,15}))?\s*")


def parse_host_list(text: str, limit: int) -> list[str]:
    """All names of a list in Slurm's notation, in its order; the last bracket of a name counts fastest.

    Args:
        text: Names and ranges with commas between: ``gpu[001-032,041-072],athena``.
        limit: The maximum number of names, which is checked before they are listed.

    Raises:
        InputError: The text has another form, too many names, or one that is not a valid host name (RFC 1123).
    """
    items = _ITEM.findall(text)
    if not items or ",".join(items) != text:
        raise InputError(
            f"{text[:80]!r} is not a list of host names: brackets and commas do not match; write it as "
            "gpu[001-032,041-072],athena"
        )
    names: list[str] = []
    for item in items:
        numbers = [_list_numbers(inner, item, limit) for inner in re.findall(r"\[([^\]]*)\]", item)]
        count = 1
        for found in numbers:
            count *= len(found)
        if len(names) + count > limit:
            raise InputError(f"{text[:80]!r} has more than {limit:,} hosts")
        between = [piece.strip() for piece in re.split(r"\[[^\]]*\]", item)]
        for chosen in product(*numbers):
            names.append("".join(piece + digits for piece, digits in zip(between, [*chosen, ""], strict=True)))
    for name in names:
        _check_name(name)
    return names


def _list_numbers(text: str, item: str, limit: int) -> list[str]:
    """The numbers in a pair of brackets, as they are written in names."""
    found: list[str] = []
    for part in text.split(","):
        bounds = _PART.fullmatch(part)
        if bounds is None:
            raise InputError(f"{item[:80]!r}: {part[:40]!r} is not a number or a range such as 001-064")
        low, high = bounds[1], bounds[2] or bounds[1]
        if int(high) < int(low):
            raise InputError(f"{item[:80]!r}: the range {part[:40]} ends before it begins")
        if len(found) + int(high) - int(low) + 1 > limit:
            raise InputError(f"{item[:80]!r} has more than {limit:,} hosts")
        found += (f"{number:0{len(low)}d}" for number in range(int(low), int(high) + 1))
    return found


def _check_name(name: str) -> None:
    """Raise :class:`InputError` if a text is not a host name."""
    if not _HOST_NAME.fullmatch(name):
        raise InputError(
            f"{name[:80]!r} is not a host name: only lower-case letters, digits and inner dashes are allowed (RFC "
            "1123), without the domain"
        )
    if name.isdigit():
        raise InputError(f"{name[:80]!r} is not a host name: a number without a letter would be read as an address")
    if len(name) > MAX_HOST_NAME:
        raise InputError(f"{name[:80]!r} has {len(name)} characters: at most {MAX_HOST_NAME} are supported")
