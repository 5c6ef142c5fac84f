"""Every field of the spec has an effect: something outside of ``spec/`` reads it.

Reads are found in two ways: by name in the source, for the fields of all documents, and while clusters are planned, so
that a field is not taken for another one with its name. ``tests/catalog/test_fields_are_read.py`` includes the catalog.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import sys
from collections.abc import Iterator

import pytest
from samples import EXAMPLES, ROOT

import supercloud.spec
from supercloud.plan.resolve import resolve
from supercloud.spec.base import Model
from supercloud.spec.loader import load, loads
from supercloud.targets import render

PACKAGE = ROOT / "supercloud"
_OPTION = "the plan takes all fields of a site that it does not know as options of the cloud"
# Read by getattr, as several models or fields of one type have them.
READ_BY_NAME = {"in_band", "kms_key", "max_run", "metadata_hops", "permissions_boundary"}
READ_ELSEWHERE = {
    **{("AwsSite", name): _OPTION for name in ("kms_key", "metadata_hops", "permissions_boundary", "policies")},
    ("AwsSite", "key_pair"): "a reference of the plan, and an option of the cloud",
    ("AwsSite", "images"): "through the properties of the model that read both of its forms",
    ("AwsSite", "image_inputs"): "only with images: build",
    ("HostAddresses", "addresses"): "through the function that expands them",
}
"""Fields of clusters that planning does not read."""


def list_models() -> list[type[Model]]:
    """The models of the package, not the classes that they have in common."""
    for module in pkgutil.iter_modules(supercloud.spec.__path__, "supercloud.spec."):
        importlib.import_module(module.name)

    def iter_below(model: type[Model]) -> Iterator[type[Model]]:
        for item in model.__subclasses__():
            yield item
            yield from iter_below(item)

    found = {item for item in iter_below(Model) if item.__module__.startswith("supercloud.spec.")}
    return sorted(found, key=lambda item: (item.__module__, item.__name__))


def list_reads(source: str) -> set[str]:
    """Names of attributes that a module reads."""
    nodes = ast.walk(ast.parse(source))
    return {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)}


@pytest.mark.slow
def test_the_name_of_every_field_is_read_outside_of_the_models() -> None:
    files = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] != "spec"]
    assert len(files) > 500
    read = {name for path in files for name in list_reads(path.read_text(encoding="utf-8"))}
    fields = {name for model in list_models() for name in model.model_fields}
    assert len(fields) > 300
    assert fields - read == READ_BY_NAME


@pytest.mark.slow
def test_planning_reads_every_field_of_the_models_of_the_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    fields = {model: set(model.model_fields) for model in list_models()}
    read: dict[type[Model], set[str]] = {}
    usual = Model.__getattribute__

    def track(self: Model, name: str) -> object:
        if name in fields.get(type(self), ()):
            reader = sys._getframe(1).f_globals.get("__name__", "")
            if not reader.startswith(("supercloud.spec", "pydantic")):
                read.setdefault(type(self), set()).add(name)
        return usual(self, name)

    plans = [load(path) for path in EXAMPLES]
    cooled = (ROOT / "examples/03-nvl72/cluster.yaml").read_text()
    plans.append(loads(cooled.replace("supply: 32 °C}", "supply: 32 °C, cdu: coolit-chx2000}")))
    monkeypatch.setattr(Model, "__getattribute__", track)
    for spec in plans:
        plan = resolve(spec)
        if plan.name == "superpod":
            render(plan, "slurm")  # partitions are adopted as they are declared
    assert len(read) > 30
    unread = {(model.__name__, name) for model, names in read.items() for name in fields[model] - names}
    assert unread == set(READ_ELSEWHERE)


def test_a_name_that_is_only_written_is_not_read() -> None:
    assert list_reads("def f(a):\n    a.b = a.c\n    return g(d=a)") == {"c"}
