"""No pipeline of a script ends in a program that stops reading early.

What still writes to it is ended by SIGPIPE, and with ``set -o pipefail`` the pipeline then fails, in some runs only.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from golden_files import render_example
from samples import EXAMPLES, ROOT

# Each of them closes its input at the first match or after a number of lines; grep also where its output is /dev/null.
_EARLY = re.compile(
    r"""(?<!\|)\|(?!\|)&?\s*(?:\\\n\s*)?(?:[A-Z_]+=\S*\s+|command\s+|sudo\s+)*(?:
        [ef]?grep\b[^|;)\n'"]*\s(?:-[a-zA-Z]*[qm]|--quiet|--silent|--max-count)
      | [ef]?grep\b[^|;)\n]*(?<![2&])>\s*/dev/null
      | [ef]?grep\b[^|;)\n]*&>\s*/dev/null
      | head\b(?!\()
      | read\b(?!\w)(?=\s)
      | sed\b[^'|;)\n]*\s(?:-n\s+)?\d+q\b
      | sed\b[^'|]*'[^']*(?<=['\s;{\d/$])q\s*[;}']
      | awk\b[^'|]*'[^']*\bexit\b
      | while\b(?:(?!\bdone\b).)*\b(?:break|return|exit)\b
    )""",
    re.VERBOSE | re.DOTALL,
)
# `sh -c` of its own without pipefail, of which the bytes that are asked for are what counts.
_ALLOWED = {"supercloud/jobs/engines/batch/spool.py": 'head -c "$3"'}


def find_early_readers(text: str) -> list[str]:
    return [found.group(0) for found in _EARLY.finditer(text)]


def list_scripts() -> list[Path]:
    templates = [path for path in (ROOT / "templates").rglob("*.j2") if path.suffixes[:1] not in ([".md"], [".html"])]
    return [
        *templates,
        *(ROOT / "templates").rglob("*.sh"),
        *(ROOT / "supercloud").rglob("*.sh"),
        *(ROOT / "supercloud/jobs").rglob("*.py"),
    ]


def test_no_program_of_a_pipeline_stops_reading_before_its_end() -> None:
    wrong = {}
    for path in list_scripts():
        name = path.relative_to(ROOT).as_posix()
        found = find_early_readers(path.read_text().replace(_ALLOWED.get(name, "\0"), ""))
        if found:
            wrong[name] = found
    assert not wrong, "read the answer into a variable first, then match it"


@pytest.mark.slow
@pytest.mark.parametrize("spec", EXAMPLES, ids=lambda path: path.parent.name)
def test_no_program_of_a_rendered_pipeline_stops_reading_before_its_end(spec: Path) -> None:
    texts = render_example(spec).texts
    scripts = {path: text for path, text in texts.items() if path.endswith((".sh", ".py", ".yaml"))}
    assert scripts
    found = {path: find_early_readers(text) for path, text in scripts.items() if "pipefail" in text}
    assert not {path: readers for path, readers in found.items() if readers}


@pytest.mark.parametrize(
    "line",
    [
        "sshd -T 2>/dev/null | grep -qix 'usepam yes'",
        "a | grep -v x -q y",
        "a | grep -F -m1 x",
        "a |\n    grep x >/dev/null",
        "a | LC_ALL=C grep -iq x",
        "a | head -n 1",
        "a | sed -n '/x/{p;q}'",
        "a | sed 3q",
        "a | sed '1q'",
        "a | read -r x",
        "a | awk '/x/ {\n print; exit }'",
        "a | while read -r b; do\n [ $b = c ] && break\ndone",
        "a | grep x &>/dev/null",
    ],
)
def test_programs_that_stop_early_are_found(line: str) -> None:
    assert find_early_readers(line)


@pytest.mark.parametrize(
    "line",
    [
        "a || grep -q x file",
        'grep -q x <<<"$answer"',
        "a | grep x 2>/dev/null",
        "a | grep . | sed -n 1p",
        "a | awk 'NR == 1' || exit 1",
        "a | while read -r b; do echo $b; done; break",
        "{{ head | comment }}",
    ],
)
def test_programs_that_read_to_the_end_are_not(line: str) -> None:
    assert not find_early_readers(line)
