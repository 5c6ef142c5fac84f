"""Files are short: a Python file or template that is longer than the limit has several subjects."""

from __future__ import annotations

import statistics
from pathlib import Path

from samples import ROOT

LONGEST = 400
MEDIAN = 120
FOLDERS = ("supercloud", "templates", "tests", "docs", "examples", "stacks", ".ci")
GENERATED = {"golden", "_generated", "__pycache__"}


def list_sources(*folders: str, root: Path = ROOT, suffixes: tuple[str, ...] = (".py", ".j2")) -> list[Path]:
    """Files of these folders that people write, found without git, which may be missing."""
    found = (path for folder in folders for path in (root / folder).rglob("*") if path.suffix in suffixes)
    return sorted(path for path in found if not GENERATED & {*path.relative_to(root).parts} and path.is_file())


def count_lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def find_long_files(paths: list[Path], root: Path = ROOT) -> list[str]:
    return [
        f"{path.relative_to(root)}: {lines} lines, the maximum is {LONGEST}: split it by subject"
        for path in paths
        if (lines := count_lines(path)) > LONGEST
    ]


def test_no_python_file_or_template_is_longer_than_the_limit() -> None:
    files = list_sources(*FOLDERS)
    assert {".py", ".j2"} == {path.suffix for path in files}
    found = find_long_files(files)
    assert not found, "\n".join(found)


def test_the_median_python_file_is_short() -> None:
    assert 0 < statistics.median(map(count_lines, list_sources("supercloud", "tests", suffixes=(".py",)))) <= MEDIAN


def test_a_long_file_is_found_and_a_generated_one_is_not(tmp_path: Path) -> None:
    for path, lines in (("a/long.j2", LONGEST + 1), ("a/short.py", LONGEST), ("a/golden/long.py", LONGEST + 1)):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x\n" * lines)
    found = find_long_files(list_sources("a", root=tmp_path), tmp_path)
    assert [line.partition(":")[0] for line in found] == ["a/long.j2"]
