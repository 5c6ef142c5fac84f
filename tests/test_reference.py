"""The generated reference is complete: findings that code can report, fields of documents."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import yaml
from generate import write_reference
from samples import ROOT

from supercloud.plan.checks import CHECKS, format_check_name
from supercloud.spec.schema import DOCUMENTS

_REPORTERS = ("Finding", "add_error")


def test_every_finding_that_code_can_report_is_documented_once() -> None:
    checks = {format_check_name(check) for check in CHECKS}
    others = set(yaml.safe_load((ROOT / "docs/findings.yaml").read_text()))
    reported = {name for path in (ROOT / "supercloud").rglob("*.py") for name in _find_names(path.read_text())}
    assert len(reported) > 200
    assert reported - checks == others, "describe it in docs/findings.yaml"
    assert not checks & others


def test_every_check_reports_a_finding_with_its_name() -> None:
    """The name in the documentation is the one that ``suppress`` takes: the code of checks contains it."""
    sources = [path.read_text() for path in (ROOT / "supercloud/plan/checks").rglob("*.py")]
    texts = {node.value for source in sources for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)}
    assert not sorted({format_check_name(check) for check in CHECKS} - texts)


def test_every_warning_and_note_of_a_plan_can_be_suppressed() -> None:
    """Only names of checks can be, so that a check reports others as errors only."""
    checks = {format_check_name(check) for check in CHECKS} | {"suppress-unused"}
    files = (ROOT / "supercloud/plan").rglob("*.py")
    mild = {name for path in files for name in _find_names(path.read_text(), frozenset({"warning", "note"}))}
    assert len(mild) > 50
    assert mild <= checks


def test_every_finding_that_code_can_report_occurs_in_a_test() -> None:
    checks = {format_check_name(check) for check in CHECKS}
    reported = {name for path in (ROOT / "supercloud").rglob("*.py") for name in _find_names(path.read_text())}
    files = (ROOT / "tests").rglob("*.py")
    tested = {name for path in files for name in re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)*", path.read_text())}
    assert not sorted(name for name in checks | reported if name not in tested), "add a test that it is reported"


def test_the_api_page_refers_to_the_fields_of_documents(tmp_path: Path) -> None:
    """Signatures of models were printed with ``FieldInfo(…)``."""
    write_reference(tmp_path)
    page = (tmp_path / "api.md").read_text()
    for document, model in DOCUMENTS.items():
        assert f"{model.__qualname__}(**fields)\n   :no-members:" in page and f"({document}.md)" in page


def _find_names(source: str, levels: frozenset[str] = frozenset()) -> Iterator[str]:
    """Names of findings: the constants that the first argument may be; only those of some levels, if given."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and node.args:
            function = node.func
            name = getattr(function, "id", getattr(function, "attr", ""))
            first = node.args[0]
            values = (first.body, first.orelse) if isinstance(first, ast.IfExp) else (first,)
            level = getattr(node.args[1], "value", "") if len(node.args) > 1 else ""
            if name in _REPORTERS and (not levels or level in levels):
                yield from (item.value for item in values if isinstance(item, ast.Constant))
