"""The JSON Schemas of all user documents, generated from the models."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from ..errors import UnknownNameError
from .base import Model
from .cluster import ClusterSpec
from .field_docs import add_examples
from .fleet import FleetSpec
from .job import JobSpec

__all__ = ["DOCUMENTS", "build_schema", "format_schema"]

DOCUMENTS: dict[str, type[Model]] = {"cluster": ClusterSpec, "fleet": FleetSpec, "job": JobSpec}

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def build_schema(document: str, others: Collection[str] = ()) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a document: cluster, fleet or job.

    Raises :class:`UnknownNameError` for others; ``others`` are documents that the caller has besides these.
    """
    if document not in DOCUMENTS:
        raise UnknownNameError("document", document, [*DOCUMENTS, *others])
    return {"$schema": _DIALECT} | add_examples(DOCUMENTS[document].model_json_schema())


def format_schema(schema: dict[str, Any]) -> str:
    """A schema as text for the repository: sorted, indented, ending in a newline."""
    return json.dumps(schema, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
