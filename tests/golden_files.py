"""Golden files: what the examples render to, small enough that a person reads every change of it.

``tests/golden/<example>/MANIFEST`` lists all files of an example: digest, number of lines, path, and how much the file
differs from the one of its kind that is kept. Names of the example's own things are in braces; a path with ``*`` for
each pair of braces is the file's kind. The text of each kind is kept once, from the smallest example that has it; not
that of files that are copied from the package.

    python tests/golden_files.py write [--base REVISION]    write them, and show by kind what differs from a revision
    python tests/golden_files.py full FOLDER                write every file of every example
    python tests/golden_files.py compare FOLDER FOLDER      show by kind how two such folders differ
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from samples import EXAMPLES, ROOT

from supercloud._version import __version__
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load
from supercloud.targets import list_targets, render
from supercloud.targets.installation import render_order

GOLDEN = ROOT / "tests" / "golden"
MANIFEST = "MANIFEST"
# Programs and documents are written by hand and read to their end; of tables and data the beginning shows the form.
IN_FULL = (".sh", ".py", ".md", ".conf")
LINES_OF_DATA = 200
# An example with more files of one kind has one row for all of them.
ROWS_OF_A_KIND = 32
SHOWN_PATHS = 30

_ROW = re.compile(
    r"(?P<digest>[0-9a-f]{12}) +(?P<lines>\d+)  (?P<marked>\S+)(?: and (?P<more>\d+) more)?(?:  +(?P<note>\S.*))?"
)


@dataclass(frozen=True)
class Entry:
    """One row of a manifest: a file, or all files of a kind of which there are many."""

    marked: str
    """The path, with the names of the example's own things in braces."""
    digest: str
    lines: int
    files: int = 1
    text: str | None = None
    """What is kept of it; None if another file, or the source of a copy, shows this kind."""
    note: str = ""

    @property
    def path(self) -> str:
        """The path in the example's output; of many files, of the first."""
        return self.marked.replace("{", "").replace("}", "")

    @property
    def kind(self) -> str:
        """Equal for files of equal form."""
        return re.sub(r"\{[^}]*\}", "*", self.marked)

    def format_row(self) -> str:
        """The row of the manifest."""
        many = f" and {self.files - 1} more" if self.files > 1 else ""
        return f"{self.digest} {self.lines:6}  {self.marked + many:<56}  {self.note}".rstrip()


@dataclass(frozen=True)
class Rendering:
    """Everything that one example renders to."""

    example: str
    nodes: int
    texts: Mapping[str, str]
    """Path with the names in braces -> text, sorted by path."""


def render_example(spec: Path) -> Rendering:
    """Render all targets of an example. The version is taken out, as a release changes no golden file."""
    plan = resolve(load(spec))
    texts = dict(render_order(plan))
    for target in list_targets(plan):
        texts |= {f"{target}/{path}": text for path, text in render(plan, target).items()}
    names = list_names(plan)
    return Rendering(
        spec.parent.name,
        plan.nodes,
        {
            mark_names(path, names): texts[path].replace(f"supercloud {__version__}", "supercloud VERSION")
            for path in sorted(texts)
        },
    )


def list_names(plan: Plan) -> set[str]:
    """Names that the spec gives, or that a product has: paths with them differ between files of equal form."""
    scheduler, networks, cloud = plan.scheduler, plan.networks, plan.cloud
    hosts = (*scheduler.controllers, *((scheduler.database,) if scheduler.database else ()))
    named = (*hosts, *plan.fabrics, *plan.pools, *plan.storage, *plan.tenants, *plan.servers)
    machines = (*(pool.machine for pool in plan.pools), *(group.machine for group in plan.servers))
    switches = (tier.switch for fabric in plan.fabrics for tier in fabric.tiers)
    names = {item.name for item in (*named, *machines, *switches)}
    names |= {run.name for run in networks.machines} if networks else set()
    if cloud is None:
        return names
    names |= {group.key for group in cloud.groups} | {host.key for host in cloud.hosts}
    return names | {image.key for image in cloud.published_images}


def mark_names(path: str, names: Iterable[str]) -> str:
    """Put braces around names at the beginning of a folder, and at both ends of a file, and around last numbers.

    A name at the end of a folder is left: ``user-data`` is not of a storage that is called ``data``.
    """
    choice = "|".join(re.escape(name) for name in sorted(names, key=lambda name: (-len(name), name)))
    *folders, file = path.split("/")
    first = rf"^(?:{choice})(?=$|[-.])" if choice else r"(?!)"
    last = rf"(?<=-)(?:{choice}|\d+)(?=$|\.)" if choice else r"(?<=-)\d+(?=$|\.)"
    marked = [re.sub(rf"{first}|(?<=-)\d+$", r"{\g<0>}", folder) for folder in folders]
    return "/".join([*marked, re.sub(f"{first}|{last}", r"{\g<0>}", file)])


def compute_digest(text: str) -> str:
    """12 digits of SHA-256: enough without an adversary who searches for two texts with one digest."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def count_changes(old: str, new: str) -> tuple[int, int]:
    """Lines that came and lines that went; a line that only moved is neither."""
    before, after = Counter(old.splitlines()), Counter(new.splitlines())
    return (after - before).total(), (before - after).total()


def shorten(path: str, text: str) -> str:
    """What is kept of a file that shows its kind."""
    lines = text.splitlines(keepends=True)
    if path.endswith(IN_FULL) or len(lines) <= LINES_OF_DATA:
        return text
    return "".join(lines[:LINES_OF_DATA]) + f"[{len(lines) - LINES_OF_DATA} more lines]\n"


def build_golden(renderings: Iterable[Rendering]) -> dict[str, list[Entry]]:
    """The rows of each example's manifest, with the texts that are kept."""
    ordered = sorted(renderings, key=lambda item: (item.nodes, item.example))
    shown: dict[str, tuple[str, str]] = {}
    for rendering in ordered:
        for marked in rendering.texts:
            shown.setdefault(Entry(marked, "", 0).kind, (rendering.example, marked))
    texts = {item.example: item.texts for item in ordered}
    golden: dict[str, list[Entry]] = {}
    for rendering in ordered:
        groups: dict[str, list[str]] = defaultdict(list)
        for marked in rendering.texts:
            groups[Entry(marked, "", 0).kind].append(marked)
        entries = []
        for kind, group in groups.items():
            example, model = shown[kind]
            for part in [group] if len(group) > ROWS_OF_A_KIND else [[marked] for marked in group]:
                entries.append(_build_entry(rendering, part, (example, model, texts[example][model])))
        golden[rendering.example] = sorted(entries, key=lambda entry: entry.path)
    return dict(sorted(golden.items()))


def _build_entry(rendering: Rendering, group: list[str], model: tuple[str, str, str]) -> Entry:
    example, shown, model_text = model
    texts = [rendering.texts[marked] for marked in group]
    whole = texts[0] if len(group) == 1 else "".join(f"{path}\n{text}" for path, text in zip(group, texts, strict=True))
    lines = sum(text.count("\n") for text in texts)
    entry = Entry(group[0], compute_digest(whole), lines, len(group))
    if (rendering.example, group[0]) != (example, shown):
        more, fewer = count_changes(model_text, texts[0])
        note = f"+{more} -{fewer} lines to {example}" if more or fewer else f"as in {example}"
        return Entry(entry.marked, entry.digest, entry.lines, entry.files, None, note)
    if source := _list_sources().get(compute_digest(texts[0])):
        return Entry(entry.marked, entry.digest, entry.lines, entry.files, None, f"copy of {source}")
    text = shorten(entry.path, texts[0])
    note = "kept" if text == texts[0] else f"kept: the first {LINES_OF_DATA} lines"
    return Entry(entry.marked, entry.digest, entry.lines, entry.files, text, note)


@cache
def _list_sources() -> dict[str, str]:
    """Digest -> path of the package's files that are rendered unchanged: their text is reviewed where it is."""
    files = (path for path in (ROOT / "supercloud").rglob("*") if path.suffix in IN_FULL and path.stat().st_size)
    return {compute_digest(path.read_text()): path.relative_to(ROOT).as_posix() for path in sorted(files)}


def format_golden(golden: Mapping[str, list[Entry]]) -> dict[str, str]:
    """Path below the folder of golden files -> text."""
    files = {}
    for example, entries in golden.items():
        count, lines = sum(entry.files for entry in entries), sum(entry.lines for entry in entries)
        head = f"# {count} files, {lines} lines; `make golden` writes this: digest, lines, file, text of its kind\n"
        files[f"{example}/{MANIFEST}"] = head + "".join(entry.format_row() + "\n" for entry in entries)
        files |= {f"{example}/{entry.path}": entry.text for entry in entries if entry.text is not None}
    return files


def read_golden(folder: Path) -> dict[str, list[Entry]]:
    """What ``format_golden`` made; examples without a manifest are left out."""
    golden = {}
    for manifest in sorted(folder.glob(f"*/{MANIFEST}")):
        entries = []
        for line in manifest.read_text().splitlines():
            if row := _ROW.fullmatch(line):
                entry = Entry(row["marked"], row["digest"], int(row["lines"]), int(row["more"] or 0) + 1, None)
                file = manifest.parent / entry.path
                text = file.read_text() if file.is_file() else None
                entries.append(Entry(entry.marked, entry.digest, entry.lines, entry.files, text, row["note"] or ""))
        golden[manifest.parent.name] = entries
    return golden


def read_golden_revision(revision: str) -> dict[str, list[Entry]]:
    """The golden files of a commit; empty without git or a repository, or if the commit has none with manifests."""
    command = ["git", "-C", str(ROOT), "archive", revision, GOLDEN.relative_to(ROOT).as_posix()]
    archive = subprocess.run(command, capture_output=True) if shutil.which("git") else None
    if archive is None or archive.returncode:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["tar", "-xC", folder], input=archive.stdout, check=True
        )  # tarfile of Python 3.11.2 has no filters
        return read_golden(Path(folder) / GOLDEN.relative_to(ROOT))


def compare(old: Mapping[str, list[Entry]], new: Mapping[str, list[Entry]]) -> str:
    """A table: of each kind the files that changed, came and went, with the lines of the texts that both sides have."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    came_and_went = []
    for example in sorted({*old, *new}):
        before = {entry.path: entry for entry in old.get(example, [])}
        after = {entry.path: entry for entry in new.get(example, [])}
        for path in sorted({*before, *after}):
            was, now = before.get(path), after.get(path)
            either = now or was
            assert either is not None
            row = rows[either.kind]
            row["files"] += either.files
            row["lines"] += (now.lines if now else 0) - (was.lines if was else 0)
            if was is None or now is None:
                row["new" if was is None else "gone"] += either.files
                came_and_went.append(f"{'new ' if was is None else 'gone'}  {example}/{path}")
            elif was.digest != now.digest:
                row["changed"] += now.files
                if was.text is not None and now.text is not None:
                    more, fewer = count_changes(was.text, now.text)
                    row["+"] += more
                    row["-"] += fewer
    differing = {kind: row for kind, row in sorted(rows.items()) if row["changed"] + row["new"] + row["gone"]}
    if not differing:
        return "no golden file differs\n"
    width = max(len(kind) for kind in differing)
    table = [f"{'kind':<{width}}  changed   of   new  gone  kept text  lines in all"]
    for kind, row in [*differing.items(), ("all", _add_rows(differing.values()))]:
        kept = f"+{row['+']} -{row['-']}" if row["+"] or row["-"] else ""
        counts = f"{row['changed']:7} {row['files']:4} {row['new']:5} {row['gone']:5}"
        table.append(f"{kind:<{width}}  {counts}  {kept:>9}  {row['lines']:+12}")
    rest = len(came_and_went) - SHOWN_PATHS
    return "\n".join([*table, *came_and_went[:SHOWN_PATHS], *([f"and {rest} more"] if rest > 0 else [])]) + "\n"


def _add_rows(rows: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for row in rows:
        total.update(row)
    return total


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Replace a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def build_full(renderings: Iterable[Rendering]) -> dict[str, list[Entry]]:
    """As ``build_golden``, with every file in full and one row per file."""
    return {
        item.example: [
            Entry(marked, compute_digest(text), text.count("\n"), 1, text) for marked, text in item.texts.items()
        ]
        for item in renderings
    }


def main(words: list[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("write").add_argument("--base", default="HEAD", help="compare with this revision (default: HEAD)")
    verbs.add_parser("full").add_argument("folder", type=Path, help="a folder that does not exist yet")
    verbs.add_parser("compare").add_argument("folders", type=Path, nargs=2)
    given = parser.parse_args(words)
    if given.verb == "compare":
        old, new = (read_golden(folder) for folder in given.folders)
        print(compare(old, new), end="")
        return 0
    if given.verb == "full":
        if given.folder.exists():
            parser.error(f"{given.folder} exists: give a new folder")
        write_files(given.folder, format_golden(build_full(render_example(spec) for spec in EXAMPLES)))
        return 0
    golden = build_golden(render_example(spec) for spec in EXAMPLES)
    write_files(GOLDEN, format_golden(golden))
    base = read_golden_revision(given.base)
    if base:
        print(f"compared with {given.base}:\n{compare(base, read_golden(GOLDEN))}", end="")
    else:
        print(f"{given.base} has no golden files with a {MANIFEST}, or this is not a git checkout: nothing compared")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
