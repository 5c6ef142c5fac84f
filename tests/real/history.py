"""Results of the tests on real components on this machine: durations, passed tests, tests that passed when repeated.

A file in the cache folder has one line of JSON per test and run. It is the source of the tests that ``make test-real``
does not repeat, of the table of durations, and of the list of flaky tests:

    python tests/real/history.py table [SINCE]  the durations of the last run of each test (since this second of the
                                                epoch), in Markdown
    python tests/real/history.py flaky [RUNS]   the tests that needed a second attempt in the last runs (20)
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
import time
from collections import defaultdict
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

__all__ = ["Outcome", "append", "compute_digest", "list_passed", "read", "read_durations"]

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FILE = Path(os.environ.get("SUPERCLOUD_CACHE") or Path.home() / ".cache" / "supercloud") / "real-tests.jsonl"
KEPT_DAYS = 7
"""How long a result is valid: packages of distributions change without a change of the project."""
LINES_KEPT = 20_000
WHOLE_PROJECT = ("newcomer",)
"""Parts that also run the other tests of the project."""


@dataclass(frozen=True)
class Outcome:
    """The result of one test."""

    run: str
    """The process that ran it: start time and process ID."""
    when: float
    """Seconds since 1970."""
    part: str
    test: str
    inputs: str
    passed: bool
    seconds: float
    first_error: str = ""
    """The output of the first attempt if there was a second one."""


def append(outcomes: list[Outcome]) -> None:
    """Add outcomes to the file."""
    FILE.parent.mkdir(parents=True, exist_ok=True)
    with FILE.open("a") as file:
        file.writelines(json.dumps(asdict(item)) + "\n" for item in outcomes)


def read() -> list[Outcome]:
    """All stored outcomes, oldest first; lines of another format are skipped."""
    if not FILE.exists():
        return []
    lines = FILE.read_text().splitlines()
    if len(lines) > LINES_KEPT:
        lines = lines[-LINES_KEPT // 2 :]
        FILE.write_text("\n".join(lines) + "\n")
    found = []
    for line in lines:
        try:
            found.append(Outcome(**json.loads(line)))
        except (TypeError, ValueError):
            continue
    return found


def list_passed(inputs: str) -> set[str]:
    """The tests whose last result with these inputs is a pass, not older than ``KEPT_DAYS``."""
    since = time.time() - KEPT_DAYS * 86_400
    last = {item.test: item for item in read() if item.inputs == inputs and item.when > since}
    return {name for name, item in last.items() if item.passed}


@cache
def compute_digest(part: str) -> str:
    """A digest of everything that the result of a part depends on: files of the project, Python, packages, the system.

    Documents, golden files, benchmarks, other parts and tests that the part does not run are not included.
    """
    own = "".join(path.read_text(errors="replace") for path in sorted((HERE / part).rglob("*")) if path.suffix == ".py")
    digest = hashlib.sha256()
    for name in _list_files():
        if part in WHOLE_PROJECT or _is_input(part, name, own):
            digest.update(f"{name}\0".encode() + hashlib.sha256((ROOT / name).read_bytes()).digest())
    packages = sorted(f"{item.name} {item.version}" for item in metadata.distributions())
    system = [platform.python_version(), platform.machine(), platform.release(), platform.freedesktop_os_release()]
    digest.update(json.dumps([packages, system], default=str).encode())
    return digest.hexdigest()[:16]


@cache
def _list_files() -> list[str]:
    """The project's files without generated folders, sorted."""
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [
            name for name in folders if not name.startswith(".") and name not in ("out", "dist", "__pycache__")
        ]
        found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names]
    return sorted(found)


def _is_input(part: str, name: str, own: str) -> bool:
    path = Path(name)
    if path.parts[:2] == ("tests", "real"):
        return len(path.parts) == 3 or path.parts[2] in (part, "machines") or f"real.{path.parts[2]}." in own
    if path.parts[0] == "tests":
        is_test = path.name.startswith("test_")
        return path.parts[1] not in ("golden", "bench") and (not is_test or path.name in own)
    return path.suffix != ".md" and path.parts[0] not in ("docs",)


def format_table(since: float = 0) -> str:
    """The durations of the last result of each test, by part and file; none that ended before ``since`` (1970)."""
    last = {item.test: item for item in read() if item.when >= since}
    files: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for item in last.values():
        files[item.part, item.test.split("::")[0]].append(item)
    rows = ["| part | file | tests | passed | seconds |", "|---|---|---:|---:|---:|"]
    for (part, file), items in sorted(files.items()):
        passed, seconds = sum(item.passed for item in items), sum(item.seconds for item in items)
        rows.append(f"| {part} | {Path(file).name} | {len(items)} | {passed} | {seconds:.0f} |")
    whole = list(last.values())
    rows.append(f"| all | | {len(whole)} | {sum(i.passed for i in whole)} | {sum(i.seconds for i in whole):.0f} |")
    return "\n".join(rows)


def read_durations() -> dict[tuple[str, str], float]:
    """Seconds by part and file of tests, from the table of the last whole run; empty without one."""
    table = HERE / "RESULTS.md"
    rows = [line.strip("| ").split(" | ") for line in table.read_text().splitlines()] if table.exists() else []
    return {(row[0], row[1]): float(row[4]) for row in rows if len(row) == 5 and row[1].endswith(".py")}


def format_flaky(runs: int) -> str:
    """Tests that passed only at the second attempt, or failed, in the last runs; the most frequent first."""
    outcomes = read()
    recent = set(list(dict.fromkeys(item.run for item in outcomes))[-runs:])
    times: dict[str, list[Outcome]] = defaultdict(list)
    for item in outcomes:
        if item.run in recent:
            times[item.test].append(item)
    bad = {name: [item for item in items if item.first_error or not item.passed] for name, items in times.items()}
    rows = [f"{len(bad[name])} of {len(times[name])}  {name}" for name in times if bad[name]]
    return "\n".join(sorted(rows, key=lambda row: -int(row.split()[0]))) or "none"


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["table"]
    number = float(wanted[1]) if len(wanted) > 1 else None
    print(format_table(number or 0) if wanted[0] == "table" else format_flaky(int(number or 20)))
