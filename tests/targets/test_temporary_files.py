"""Rendered files never write to a fixed name in /tmp, which another user could create first."""

from __future__ import annotations

import re

from samples import ROOT

# A directory that all users can write to, unless it is only read or mentioned.
NAMED = re.compile(r"/(var/)?tmp\b")
ALLOWED = ("df -P / /tmp ", "its private `/tmp` and")


def test_templates_have_no_fixed_names_in_tmp() -> None:
    found = []
    for path in sorted((ROOT / "templates").rglob("*.j2")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if NAMED.search(line) and not any(item in line for item in ALLOWED):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert found == []
