"""Targets read the plan, not the spec: what a rendered file needs is a field of the plan's model."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from samples import ROOT

TARGETS = ROOT / "supercloud" / "targets"
# fields of manifests of Kubernetes in rules of policies, not attributes in a template
_TEMPLATE_READ = re.compile(r"\b(plan|store|scheduler)\.spec\b")


def iter_spec_reads(tree: ast.Module) -> Iterator[int]:
    """Lines that read the attribute ``spec``, also by its name in a string."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr="spec") | ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant("spec"), *_]):
                yield node.lineno


def test_no_module_of_a_target_reads_the_spec_of_a_plan() -> None:
    files = sorted(TARGETS.rglob("*.py"))
    assert len(files) > 100
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in files
        for line in iter_spec_reads(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not found, "extend supercloud/plan/model with what the target needs: " + ", ".join(found)


def test_no_template_reads_the_spec_of_a_plan() -> None:
    files = sorted((ROOT / "templates").rglob("*.j2"))
    assert len(files) > 50
    assert not [str(path.relative_to(ROOT)) for path in files if _TEMPLATE_READ.search(path.read_text())]


def test_a_read_of_the_spec_is_found() -> None:
    tree = ast.parse('first = plan.spec.pools\nsecond = getattr(plan, "spec")\nthird = build(spec=plan.pools)\n')
    assert sorted(iter_spec_reads(tree)) == [1, 2]
