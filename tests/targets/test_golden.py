"""Everything that the examples render to, compared with what a person read and committed.

As the files were written by another process, this also finds output that depends on the order of a set.
"""

from __future__ import annotations

import difflib
import shutil
import subprocess
from functools import cache
from pathlib import Path

import golden_files
import pytest
from golden_files import GOLDEN, LINES_OF_DATA, Entry, Rendering
from samples import EXAMPLES, ROOT

# What a person reads in a review, the manifests with it.
MOST_LINES = 12_000
SHOWN_LINES = 60


@cache
def build_golden() -> dict[str, list[Entry]]:
    return golden_files.build_golden(golden_files.render_example(spec) for spec in EXAMPLES)


def explain(old: dict[str, str], new: dict[str, str], table: str) -> str:
    """The kinds of files that differ, and the text where it is kept."""
    shown: list[str] = []
    for path in sorted(old.keys() & new.keys()):
        if not path.endswith(golden_files.MANIFEST):
            shown += difflib.unified_diff(old[path].splitlines(), new[path].splitlines(), path, path, "", "", 1, "")
    more = [f"and {len(shown) - SHOWN_LINES} more lines"] if len(shown) > SHOWN_LINES else []
    advice = "`make golden` writes the golden files; read the change with `git diff tests/golden` and commit it"
    return "\n".join(["what the examples render to changed", table, *shown[:SHOWN_LINES], *more, advice])


@pytest.mark.slow
def test_examples_render_the_golden_files() -> None:
    golden = build_golden()
    new = golden_files.format_golden(golden)
    old = {path.relative_to(GOLDEN).as_posix(): path.read_text() for path in GOLDEN.rglob("*") if path.is_file()}
    if old != new:
        pytest.fail(explain(old, new, golden_files.compare(golden_files.read_golden(GOLDEN), golden)), pytrace=False)


def test_golden_files_are_few_enough_to_read() -> None:
    lines = sum(path.read_text().count("\n") for path in GOLDEN.rglob("*") if path.is_file())
    assert lines <= MOST_LINES


def test_each_kind_is_kept_once_or_is_a_copy_of_a_file_of_the_package() -> None:
    entries = [entry for rows in golden_files.read_golden(GOLDEN).values() for entry in rows]
    kept = [entry.kind for entry in entries if entry.text is not None]
    copies = {entry.kind: entry for entry in entries if entry.note.startswith("copy of ")}
    assert sorted([*kept, *copies]) == sorted({entry.kind for entry in entries})
    for entry in copies.values():
        source = golden_files.ROOT / entry.note.removeprefix("copy of ")
        assert golden_files.compute_digest(source.read_text()) == entry.digest


def test_names_are_marked_where_files_of_equal_form_differ() -> None:
    names = {"train", "in-band", "in-band-extra", "data"}
    marked = {
        "hosts/hosts": "hosts/hosts",
        "slurm/join-train.conf": "slurm/join-{train}.conf",
        "boot/user-data/train.sh": "boot/user-data/{train}.sh",
        "boot/user-data/trainer.sh": "boot/user-data/trainer.sh",
        "roce/in-band/leaf/in-band-leaf-001/frr.conf": "roce/{in-band}/leaf/{in-band}-leaf-{001}/frr.conf",
        "cabling/in-band-extra.csv": "cabling/{in-band-extra}.csv",
        "netbox/5-devices/data.yaml": "netbox/5-devices/{data}.yaml",
    }
    assert {path: golden_files.mark_names(path, names) for path in marked} == marked
    assert golden_files.mark_names("a/b-01.csv", ()) == "a/b-{01}.csv"


def test_the_smallest_example_shows_a_kind() -> None:
    long = "line\n" * (LINES_OF_DATA + 5)
    small = Rendering("b", 2, {"x/{p}.csv": long, "x/{q}.csv": "line\nother\n", "x/a.sh": long})
    large = Rendering("a", 9, {"x/{p}.csv": "line\n", "y/a.md": "1\n"})
    golden = golden_files.build_golden([large, small])
    kept = {(name, entry.path): entry.text for name, rows in golden.items() for entry in rows}
    assert kept == {
        ("a", "x/p.csv"): None,
        ("a", "y/a.md"): "1\n",
        ("b", "x/a.sh"): long,
        ("b", "x/p.csv"): "line\n" * LINES_OF_DATA + "[5 more lines]\n",
        ("b", "x/q.csv"): None,
    }
    notes = {entry.path: entry.note for rows in golden.values() for entry in rows}
    assert notes["x/q.csv"] == "+1 -204 lines to b"
    assert notes["x/p.csv"] == f"kept: the first {LINES_OF_DATA} lines"


def test_many_files_of_a_kind_have_one_row() -> None:
    rendering = Rendering("a", 1, {f"x/leaf-{{{number:03}}}.cfg": f"{number}\n" for number in range(40)})
    (entry,) = golden_files.build_golden([rendering])["a"]
    assert (entry.path, entry.files, entry.lines, entry.text) == ("x/leaf-000.cfg", 40, 40, "0\n")
    changed = Rendering("a", 1, {**rendering.texts, "x/leaf-{039}.cfg": "x\n"})
    assert golden_files.build_golden([changed])["a"][0].digest != entry.digest


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    many = {f"x/leaf-{{{number:03}}}.cfg": f"{number}\n" for number in range(40)}
    golden = golden_files.build_golden([Rendering("a", 1, {"b.sh": "b\n", **many}), Rendering("c", 2, {"b.sh": "c\n"})])
    golden_files.write_files(tmp_path / "golden", golden_files.format_golden(golden))
    assert golden_files.read_golden(tmp_path / "golden") == golden


def test_the_difference_is_shown_by_kind() -> None:
    old = golden_files.build_full([Rendering("a", 1, {"x/{p}.csv": "1\n2\n", "x/{q}.csv": "1\n", "gone.md": "1\n"})])
    new = golden_files.build_full([Rendering("a", 1, {"x/{p}.csv": "1\n3\n4\n", "x/{q}.csv": "1\n", "b.md": "1\n"})])
    table = [line.split() for line in golden_files.compare(old, new).splitlines()]
    assert ["x/*.csv", "1", "2", "0", "0", "+2", "-1", "+1"] in table
    assert ["new", "a/b.md"] in table
    assert ["gone", "a/gone.md"] in table
    assert golden_files.compare(old, old) == "no golden file differs\n"


def test_a_failure_shows_the_change_and_what_to_do(tmp_path: Path) -> None:
    message = explain({"a/slurm.conf": "Name=1\n"}, {"a/slurm.conf": "Name=2\n"}, "TABLE")
    for part in ("TABLE", "-Name=1", "+Name=2", "make golden", "git diff tests/golden"):
        assert part in message


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_a_revision_is_read_from_git() -> None:
    """The files of a commit are compared, not those of the folder: `make golden` twice shows the same."""
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-tree", "--name-only", "HEAD", "tests/golden/"], capture_output=True, text=True
    )
    assert golden_files.read_golden_revision("no-such-revision") == {}
    if listed.returncode == 0:  # a repository, and not only its files
        assert set(golden_files.read_golden_revision("HEAD")) <= {
            Path(line).name for line in listed.stdout.splitlines()
        }


def test_without_git_no_revision_has_golden_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(golden_files.shutil, "which", lambda name: None)
    assert golden_files.read_golden_revision("HEAD") == {}
