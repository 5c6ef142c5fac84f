"""Code that is independent of clouds does not name one, nor its products: what belongs to a provider is data.

A new cloud then needs only the files that CONTRIBUTING.md names. Docstrings and comments may give examples.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest
from samples import ROOT

from supercloud.spec.site import SITE_KINDS

ROOMS = (
    *("facility", "jobs", "plan", "primitives", "topology"),
    *(
        "targets/boot",
        "targets/images",
        "targets/pictures",
        "targets/report",
        "targets/schedulers",
        "targets/site",
        "targets/storage",
    ),
)
PROVIDERS = {kind for kind in SITE_KINDS if kind != "onprem"}
PRODUCTS = {
    *("amazon", "amazonaws", "arn", "ebs", "ec2", "efa", "efs", "eks", "fsx", "s3", "secretsmanager", "ssm"),
    *("inferentia", "neuron", "trainium", "ultracluster", "ultraserver"),
    *("gce", "gcs", "gke", "google", "gvnic", "ici", "tcpx", "tpu", "tpus"),
    *("aks", "mana", "microsoft"),
}
EXCEPTIONS = {
    # charts of these names: a chart that needs values has a line there
    "targets/schedulers/kubernetes/accelerators.py": {"neuron"},
    "targets/schedulers/kubernetes/charts.py": {"aws", "efa", "neuron"},
    # the variable that clients of all object stores read
    "targets/schedulers/kubernetes/storage.py": {"aws"},
    # the name of a profile in SONiC's database, at any site
    "targets/site/dialects/sonic.py": {"azure"},
}
"""File -> words that are right there."""


def _iter_texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Identifiers and strings of a module with their lines; not strings that are statements, which document."""
    documentation = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str) and id(node) not in documentation:
                yield line, node.value
            continue
        for name in ("id", "attr", "arg", "name", "asname", "module"):
            text = getattr(node, name, None)
            if isinstance(text, str):
                yield line, text


def _split_words(text: str) -> set[str]:
    """Words of an identifier or a text in lower case: ``AwsSite`` and ``aws_site`` have the same."""
    return set(re.findall(r"[a-z0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text).lower()))


def find_providers(source: str) -> Iterator[tuple[int, str]]:
    """Lines and words of code that name a provider."""
    for line, text in _iter_texts(ast.parse(source)):
        yield from ((line, word) for word in sorted(_split_words(text) & (PROVIDERS | PRODUCTS)))


@pytest.mark.parametrize("room", ROOMS)
def test_no_code_names_a_provider(room: str) -> None:
    files = sorted((ROOT / "supercloud" / room).rglob("*.py"))
    assert files
    found = []
    for path in files:
        place = str(path.relative_to(ROOT / "supercloud"))
        allowed = EXCEPTIONS.get(place, set())
        named = list(find_providers(path.read_text(encoding="utf-8")))
        found += [
            f"supercloud/{place}:{line}: {word}: move it to the catalog" for line, word in named if word not in allowed
        ]
        unused = allowed - {word for _, word in named}
        assert not unused, f"{place} does not name {unused}"
    assert not found, "\n".join(found)


def test_no_template_names_a_provider() -> None:
    """But those with the functions of one."""
    files = [path for path in sorted((ROOT / "templates").rglob("*.j2")) if path.parent.name != "clouds"]
    assert files
    words = {str(path.relative_to(ROOT)): _split_words(path.read_text(encoding="utf-8")) for path in files}
    assert not {path: found for path, own in words.items() if (found := own & (PROVIDERS | PRODUCTS))}


def test_a_provider_is_found_in_names_and_strings_but_not_in_documentation() -> None:
    source = '"""For AWS."""\nfrom spec import AwsSite\nkind = "vpc.amazonaws.com/efa"  # EFA\n"""On GKE."""\n'
    assert list(find_providers(source)) == [(2, "aws"), (3, "amazonaws"), (3, "efa")]
    found = find_providers('f"{plan}-gcp"\nhas_gke_networks = lambda azure: azure.raws\n')
    assert sorted(found) == [(1, "gcp"), (2, "azure"), (2, "azure"), (2, "gke")]
