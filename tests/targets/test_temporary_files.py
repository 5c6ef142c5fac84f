"""Nothing that is rendered writes to a name in /tmp that others can take first."""

from __future__ import annotations

import re

from samples import ROOT

# A place that everybody may write to, unless it is only looked at.
NAMED = re.compile(r"/(var/)?tmp\b")
LOOKED_AT = ("df -P / /tmp ", "its own `/tmp` and")


def test_no_template_names_a_file_in_tmp() -> None:
    found = []
    for path in sorted((ROOT / "templates").rglob("*.j2")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if NAMED.search(line) and not any(item in line for item in LOOKED_AT):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert found == []
