"""Every list and every mapping with free keys of a document that users write has a bound in its JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from supercloud.spec.schema import DOCUMENTS, build_schema


def find_unbounded(schema: Any, path: str = "") -> Iterator[str]:
    """Paths of the lists and free mappings of a schema without a maximum."""
    if isinstance(schema, list):
        for index, item in enumerate(schema):
            yield from find_unbounded(item, f"{path}/{index}")
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "array" and "maxItems" not in schema:
        yield path
    is_free = schema.get("additionalProperties", True) is not False
    if schema.get("type") == "object" and is_free and "maxProperties" not in schema:
        yield path
    for key, item in schema.items():
        if key not in ("default", "examples"):
            yield from find_unbounded(item, f"{path}/{key}")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_list_and_free_mapping_has_a_maximum(document: str) -> None:
    assert list(find_unbounded(build_schema(document))) == [], "add Field(max_length=MAX_…) of spec/base.py"


@pytest.mark.parametrize(
    "schema, found",
    [
        ({"type": "array", "items": {"type": "string"}}, [""]),
        ({"anyOf": [{"type": "array", "maxItems": 3}, {"type": "object"}]}, ["/anyOf/1"]),
        ({"type": "object", "additionalProperties": {"type": "array"}, "maxProperties": 1}, ["/additionalProperties"]),
        ({"type": "object", "additionalProperties": False, "properties": {"a": {"type": "array"}}}, ["/properties/a"]),
    ],
)
def test_what_has_no_maximum_is_found(schema: Any, found: list[str]) -> None:
    assert list(find_unbounded(schema)) == found
