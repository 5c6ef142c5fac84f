"""The schemas of schemas.yaml as JSON Schemas, and the errors of an object."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

_FILE = Path(__file__).with_name("schemas.yaml")
_WORDS: dict[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "number": {"type": "integer"},
    "flag": {"type": "boolean"},
    "any": {"type": "object", "additionalProperties": {"type": "string"}},
    "free": {},
}


@cache
def _read() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return found


def list_kinds() -> set[tuple[str, str]]:
    """(apiVersion, kind) of everything that has a schema here."""
    return {tuple(name.split()) for name in _read()["kinds"]}  # type: ignore[misc]


def _build_schema(schema: Any) -> dict[str, Any]:
    if isinstance(schema, str):
        return _WORDS[schema] if schema in _WORDS else _build_schema(_read()["definitions"][schema])
    if "enum" in schema:
        return {"enum": schema["enum"]}
    if "of" in schema:
        return {"type": "array", "items": _build_schema(schema["of"])}
    return {
        "type": "object",
        "properties": {name.rstrip("!"): _build_schema(inner) for name, inner in schema.items()},
        "required": [name.rstrip("!") for name in schema if name.endswith("!")],
        "additionalProperties": False,
    }


@cache
def _build_validator(name: str) -> Draft202012Validator:
    metadata = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "pattern": r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", "maxLength": 253},
            "namespace": {"type": "string"},
            "labels": _WORDS["any"],
            "annotations": _WORDS["any"],
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    return Draft202012Validator(
        {
            "type": "object",
            "properties": {
                "apiVersion": {},
                "kind": {},
                "metadata": metadata,
                "spec": _build_schema(_read()["kinds"][name]),
            },
            "required": ["apiVersion", "kind", "metadata", "spec"],
            "additionalProperties": False,
        }
    )


def list_errors(item: dict[str, Any]) -> list[str]:
    """What is wrong with an object that has a schema."""
    errors = _build_validator(f"{item['apiVersion']} {item['kind']}").iter_errors(item)
    return [f"{item['kind']} {item['metadata']['name']}: {error.json_path}: {error.message}" for error in errors]
