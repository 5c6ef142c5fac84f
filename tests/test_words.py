"""The texts that users and maintainers read: comments, docstrings, messages, templates, pages."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
from forbidden_phrases import FORBIDDEN

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("supercloud", "templates", "docs", "examples", "stacks")
PAGES = (
    *("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"),
    *("Makefile", "pyproject.toml", "Pulumi.yaml"),
)
TEXT = {".md", ".yaml", ".j2", ".sh", ".html", ".css", ".js", ".txt"}
_PYTHON_TEXT = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}


def _iter_texts(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a file with the numbers of their lines: of Python, comments and strings only."""
    source = path.read_text(encoding="utf-8")
    if path.name == "CONTRIBUTING.md":
        source = _omit_examples(source)
    if path.suffix != ".py":
        yield 1, source
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in _PYTHON_TEXT:
            is_fstring = re.match(r"[rR]?[fF]", token.string)  # one token with its expressions before Python 3.12
            yield token.start[0], re.sub(r"\{[^{}\n]*\}", "{}", token.string) if is_fstring else token.string


def _omit_examples(page: str) -> str:
    """The page without the words that it tells not to write: the last column of the table of words, and quoted ones."""
    before, header, after = page.partition("| word | meaning | do not write |\n")
    table, blank, after = after.partition("\n\n")
    cells = [line.rsplit("|", 2)[0] for line in table.split("\n")]
    return before + header + "\n".join(cells) + blank + re.sub(r'"[^"\n]*"', '""', after)


def _find_forbidden(path: Path) -> list[str]:
    found = []
    for first, text in _iter_texts(path):
        for pattern, instead in FORBIDDEN.items():
            for match in re.finditer(pattern, text, re.IGNORECASE):
                line = first + text.count("\n", 0, match.start())
                found.append(f"{path.relative_to(ROOT)}:{line}: {match.group(0)!r}; write: {instead}")
    return found


def _list_files() -> list[Path]:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    kept = [path for path in files if path.suffix in TEXT | {".py"} and "_generated" not in path.parts]
    return sorted(kept) + [ROOT / page for page in PAGES]


@pytest.mark.parametrize("folder", [*FOLDERS, "pages"])
def test_no_text_has_a_forbidden_phrase(folder: str) -> None:
    files = [
        path
        for path in _list_files()
        if path.relative_to(ROOT).parts[0] == folder or folder == "pages" and path.parent == ROOT
    ]
    assert files
    found = [line for path in files for line in _find_forbidden(path)]
    assert not found, "\n".join(found)


def test_a_forbidden_phrase_is_found_in_strings_and_comments_but_not_in_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    page = tmp_path / "page.py"
    page.write_text('mended = 1  # mended\ntext = f"{mended} is there twice"\n', encoding="utf-8")
    assert [line.split(";")[0] for line in _find_forbidden(page)] == [
        "page.py:1: 'mended'",
        "page.py:2: 'is there twice'",
    ]


@pytest.mark.parametrize("name", ["Makefile", "pyproject.toml", "Pulumi.yaml"])
def test_files_of_the_root_are_searched_whole(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ROOT / name in _list_files()
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / name).write_text("# one\n# files are written anew\n", encoding="utf-8")
    assert [line.split(";")[0] for line in _find_forbidden(tmp_path / name)] == [f"{name}:2: 'anew'"]
