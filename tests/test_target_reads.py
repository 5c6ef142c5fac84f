"""Targets read the plan, not the spec or the catalog: what a rendered file needs is a field of the plan's model."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

import pytest
from samples import ROOT

TARGETS = ROOT / "supercloud" / "targets"
# fields of manifests of Kubernetes in rules of policies, not attributes in a template
_TEMPLATE_READ = re.compile(r"\b(plan|store|scheduler)\.spec\b")

# what gives access to facts that are not in the plan; models of facts are types of the plan's fields
_CATALOG_NAMES = {"Catalog", "load_default", "load_catalog"}
_READER = "catalog.reader"


def iter_spec_reads(tree: ast.Module) -> Iterator[int]:
    """Lines that read the attribute ``spec``, also by its name in a string."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr="spec") | ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant("spec"), *_]):
                yield node.lineno


def iter_catalog_reads(tree: ast.Module) -> Iterator[int]:
    """Lines that import, name or load a catalog or its reader, also by its name in a string."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found = {name.name for name in names}
            case ast.ImportFrom(module=module, names=names):
                found = {module or "", *(name.name for name in names), *(f"{module}.{name.name}" for name in names)}
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                found = {name.partition(":")[0]}
            case _:
                continue
        if found & _CATALOG_NAMES or any(name.endswith(_READER) for name in found):
            yield node.lineno


@pytest.mark.parametrize("find", [iter_spec_reads, iter_catalog_reads])
def test_no_module_of_a_target_reads_the_spec_or_the_catalog(find: Callable[[ast.Module], Iterator[int]]) -> None:
    files = sorted(TARGETS.rglob("*.py"))
    assert len(files) > 100
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in files
        for line in find(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not found, "extend supercloud/plan/model with what the target needs: " + ", ".join(found)


def test_no_template_reads_the_spec_of_a_plan() -> None:
    files = sorted((ROOT / "templates").rglob("*.j2"))
    assert len(files) > 50
    assert not [str(path.relative_to(ROOT)) for path in files if _TEMPLATE_READ.search(path.read_text())]


def test_a_read_of_the_spec_is_found() -> None:
    tree = ast.parse('first = plan.spec.pools\nsecond = getattr(plan, "spec")\nthird = build(spec=plan.pools)\n')
    assert sorted(iter_spec_reads(tree)) == [1, 2]


@pytest.mark.parametrize(
    "read",
    [
        "from ...catalog import Catalog as Facts",
        "from ...catalog.reader import KINDS",
        "from ...catalog import reader",
        "import supercloud.catalog.reader",
        "from ..plan.resolve import load_catalog",
        "supercloud.Catalog.load_default()",
        "import_module('supercloud.catalog.reader')",
    ],
)
def test_a_read_of_the_catalog_is_found(read: str) -> None:
    assert set(iter_catalog_reads(ast.parse(f"import supercloud\n{read}"))) == {2}
    assert not list(iter_catalog_reads(ast.parse("from ...catalog import SlurmRelease\nrelease = plan.release")))
