"""The generated reference is complete: findings that code can report, fields of documents."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import yaml
from generate import write_reference
from generate_api import SECTIONS, find_public
from pydantic import BaseModel
from samples import ROOT

import supercloud
from supercloud.errors import SupercloudError
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


def test_the_api_page_has_every_public_name_and_refers_to_the_fields_of_documents(tmp_path: Path) -> None:
    """Signatures of models were printed with ``FieldInfo(…)``."""
    write_reference(tmp_path)
    page = (tmp_path / "api.md").read_text()
    shown = re.findall(r"^\.\. (?:autoclass|autofunction|py:class):: supercloud\.([\w.]+)", page, re.M)
    assert set(supercloud.__all__) - set(shown) == set()
    assert sorted(set(shown)) == sorted(shown)
    for name in ("ClusterSpec", "FleetSpec", "JobSpec"):
        assert f".. py:class:: supercloud.{name}(**fields)" in page
    assert all(f"({document}.md)" in page for document in DOCUMENTS if document != "plan")
    assert "| `network_id` |" in page and "| `connection` |" in page


def _iter_public() -> Iterator[tuple[str, Any]]:
    """Public functions, and classes and their public methods; not models and errors, which have fields."""
    for name in (name for names in SECTIONS.values() for name in names):
        found: Any = find_public(name)
        if not inspect.isclass(found):
            yield name, found
        elif not issubclass(found, BaseModel | SupercloudError | Enum):
            yield name, found
            for key, member in vars(found).items():
                function = getattr(member, "__func__", member)
                if not key.startswith("_") and inspect.isfunction(function):
                    yield f"{name}.{key}", function


def test_public_functions_document_their_arguments_and_errors_in_one_convention() -> None:
    """``Args:`` and ``Raises:``, as the page shows them."""
    problems = []
    for name, found in _iter_public():
        text = inspect.getdoc(found) or ""
        described = set(re.findall(r"^    (\w+): ", text.partition("Args:\n")[2].partition("\n\n")[0], re.M))
        is_result = is_dataclass(found) or name in ("Job", "spec.loader.LoadedSpec", "jobs.executor.FunctionJob")
        parameters = set() if is_result else set(inspect.signature(found).parameters) - {"self", "cls"}
        if parameters != described:
            problems.append(f"{name}: {sorted(parameters ^ described)}")
        if re.search(r"[Rr]aises :class:", text):
            problems.append(f"{name}: errors are described in a sentence")
    assert problems == []


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
