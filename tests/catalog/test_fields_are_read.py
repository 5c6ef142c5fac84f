"""Every field of the catalog and of the spec has an effect: something outside its model reads it."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

import supercloud.catalog
import supercloud.spec

PACKAGE = Path(supercloud.catalog.__file__).parents[1]
# An attribute, or a name in a text, such as the one that getattr takes.
_USES = re.compile(r"""\.([a-z]\w*)|["'.]([a-z]\w*)["'.]""")
# Descriptions for users of ``supercloud catalog``; no decision depends on them.
DESCRIPTIVE = {
    "Accelerator": {"memory_bandwidth", "dense", "form_factor"},
    "Chassis": {"depth"},
    "Location": {"country"},
    "Rack": {"depth"},
    "ScaleUpLink": {"max_domain"},
    "Switch": {"depth"},
}


def _iter_models() -> Iterator[type[BaseModel]]:
    for package in (supercloud.catalog, supercloud.spec):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            for item in vars(importlib.import_module(module.name)).values():
                if isinstance(item, type) and issubclass(item, BaseModel) and item.__module__ == module.name:
                    yield item


def _read() -> set[str]:
    """Names that the package takes as attributes or by a text, and all words of the templates."""
    found: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        found.update(word for pair in _USES.findall(path.read_text()) for word in pair)
    for path in (PACKAGE.parent / "templates").rglob("*.j2"):
        found.update(re.findall(r"[a-z]\w*", path.read_text()))
    return found


@pytest.mark.slow
def test_every_field_is_read() -> None:
    read = _read()
    unread = {
        model.__name__: names
        for model in _iter_models()
        if (names := {name for name in model.__annotations__ if name in model.model_fields and name not in read})
    }
    assert unread == DESCRIPTIVE
