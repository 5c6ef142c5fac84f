"""The demo prints what its page shows, and no link is dead: files, fragments, addresses."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
from generate import write_reference
from picture import PICTURE, render_picture
from samples import ROOT

from supercloud.spec.schema import DOCUMENTS

DEMO = ROOT / "docs/demo.md"
PAGES = sorted(
    path for path in ROOT.glob("**/*.md") if not {".venv", "out", "reference"} & set(path.relative_to(ROOT).parts)
)
GUIDES = [ROOT / "README.md"] + [page for page in PAGES if page.is_relative_to(ROOT / "docs")]
"""Pages with instructions for users."""


def run_demo() -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}  # as a new user has it
    env = kept | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}
    ran = subprocess.run(["sh", "examples/demo.sh"], cwd=ROOT, env=env, capture_output=True, text=True, timeout=900)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout.strip("\n")


def cut_between(text: str, begin: str, end: str) -> str:
    assert begin in text and end in text
    return text.split(begin, 1)[1].split(end, 1)[0]


@pytest.mark.exhaustive
@pytest.mark.slow
def test_the_demo_prints_what_its_page_shows(write_generated: bool) -> None:
    text, output = DEMO.read_text(), f"$ make demo\n\n{run_demo()}"
    block = f"\n```console\n{output}\n```\n"
    if write_generated:
        old = cut_between(text, "<!-- demo:begin -->", "<!-- demo:end -->")
        DEMO.write_text(text.replace(old, block, 1))
        text = DEMO.read_text()
    assert cut_between(text, "<!-- demo:begin -->", "<!-- demo:end -->") == block


def read_links(text: str) -> list[str]:
    """Targets of links, outside of code."""
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", re.sub(r"^> ?", "", text, flags=re.M), flags=re.S | re.M)
    return re.findall(r"\]\(([^)\s]+)[^)]*\)", text)


def list_fragments(text: str) -> set[str]:
    """Names that a link into a page may have: those of its headings, as GitHub and MyST form them, and targets."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)
    headings = re.findall(r"^#+ +(.+?) *$", text, re.M)
    slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r"^\(([^)\s]+)\)=$", text, re.M))


def find_dead_links(page: Path) -> list[str]:
    """Links of a page to files or fragments that do not exist, and external ones that are not valid addresses."""
    return [target for target in read_links(page.read_text()) if not is_link_valid(page, target)]


def is_link_valid(page: Path, target: str) -> bool:
    """Whether a link may be followed; nothing is looked up on the network."""
    if re.match(r"[a-z]+:", target):
        parts = urlsplit(target)
        return parts.scheme == "https" and re.fullmatch(r"([a-z0-9-]+\.)+[a-z]+", parts.netloc) is not None
    name, _, fragment = target.partition("#")
    file = page.parent / name if name else page
    if not file.exists():
        return False
    return not fragment or fragment in list_fragments(file.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_have_targets(page: Path) -> None:
    assert not find_dead_links(page)


@pytest.mark.slow
def test_links_of_the_generated_reference_have_targets(tmp_path: Path) -> None:
    write_reference(tmp_path)
    pages = sorted(tmp_path.glob("*.md"))
    assert len(pages) > 5
    assert {page.name: dead for page in pages if (dead := find_dead_links(page))} == {}


@pytest.mark.parametrize(
    "target, valid",
    [
        ("#heading-of-it", True),
        ("#a.target", True),
        ("#code", False),
        ("other.md", False),
        ("https://example.com/x#y", True),
        ("https:/example.com", False),
        ("https://example", False),
    ],
)
def test_a_dead_link_is_found(target: str, valid: bool, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"(a.target)=\n## Heading, of it\n\n```sh\n# code\n```\n[link]({target}) `[code](x)`\n")
    assert find_dead_links(page) == ([] if valid else [target])


@pytest.mark.slow
def test_the_picture_of_the_readme_is_that_of_the_report(write_generated: bool) -> None:
    drawn = render_picture()
    if write_generated:
        PICTURE.write_text(drawn)
    assert PICTURE.read_text() == drawn, "run: python docs/picture.py"
    assert str(PICTURE.relative_to(ROOT)) in (ROOT / "README.md").read_text()
    ElementTree.fromstring(drawn)
    defined = set(re.findall(r"--([\w-]+):", drawn))
    assert set(re.findall(r"var\(--([\w-]+)\)", drawn)) <= defined


@pytest.mark.slow
def test_every_command_has_an_example_and_the_next_command() -> None:
    from typer.testing import CliRunner

    from supercloud.cli import COMMANDS, app

    for verb in COMMANDS:
        shown = CliRunner().invoke(app, [verb, "--help"])
        flat = " ".join(shown.output.split())
        assert shown.exit_code == 0 and "Example: supercloud" in flat and "next:" in flat, verb


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_of_commands_is_run_or_marked_with_the_reason(page: Path) -> None:
    """``tests/test_pages.py`` runs the blocks of kind ``console``."""
    lines = page.read_text().splitlines()
    blocks = [
        number for number, line in enumerate(lines) if re.fullmatch(r" *```(\{code-block\} )?(sh|bash|shell)", line)
    ]
    unmarked = [
        number + 1 for number in blocks if not re.fullmatch(r" *<!-- not run: \S.* -->", lines[max(number - 1, 0)])
    ]
    assert not unmarked, "write them as console, or put <!-- not run: REASON --> above"


def test_the_index_links_to_every_page() -> None:
    """Generated pages by a role of Sphinx, since they are not in the repository."""
    index = ROOT / "docs/index.md"
    text, _, _ = index.read_text().partition("```{toctree}")
    linked = {(index.parent / target).resolve() for target in read_links(text)}
    pages = {page for page in GUIDES if page.is_relative_to(index.parent) and page.name != "index.md"}
    assert pages - linked == set()
    generated = {f"reference/{name}" for name in (*DOCUMENTS, "cli", "api", "checks", "catalog")}
    assert generated == set(re.findall(r"\{doc\}`[^<`]+<([^>`]+)>`", text))
