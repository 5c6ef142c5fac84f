"""Documents that are constructed in Python: their problems are reported as those of a file are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from ..errors import MAX_SHOWN, Finding, SpecError
from ..primitives.counts import format_count
from .base import Model
from .explanations import format_value
from .problems import build_findings, find_duplicate_names

__all__ = ["DocumentModel", "validate_document"]

_M = TypeVar("_M", bound=BaseModel)


def validate_document(model: type[_M], data: Any) -> _M:
    """The document, for callers that locate its problems in a file; raises :class:`pydantic.ValidationError`."""
    valid: _M = model.__pydantic_validator__.validate_python(data)
    return valid


def _build_error(model: type[BaseModel], error: ValidationError, data: Any) -> SpecError:
    """All problems of a document, in the words of those of a file."""
    if not isinstance(data, Mapping):
        text = error.errors(include_url=False)[0]["msg"]
        problem = text if text.startswith("Invalid JSON") else f"{format_value(data)} is not a mapping"
        return SpecError(f"1 problem in {model.__name__}", [Finding("spec", "error", "", problem, "")])
    duplicates = islice(find_duplicate_names(data, model), MAX_SHOWN)
    findings = [finding for _, finding in (*duplicates, *build_findings(error, data, model))]
    if not findings:  # duplicate names among values that are models already
        findings = [Finding("spec", "error", "", item["msg"], "") for item in error.errors(include_url=False)]
    return SpecError(f"{format_count(len(findings), 'problem')} in {model.__name__}", findings)


if TYPE_CHECKING:  # type checkers use the fields as keyword arguments

    class DocumentModel(Model):
        """A spec, a job or a fleet: what a whole file contains."""

else:

    class _DocumentType(type(BaseModel)):
        """Only a direct call is affected: nested values and files are validated by Pydantic alone."""

        def __call__(cls, *args: Any, **fields: Any) -> Any:
            """Construct a document; raises :class:`supercloud.errors.SpecError` with all problems."""
            try:
                return super().__call__(*args, **fields)
            except ValidationError as error:
                raise _build_error(cls, error, fields) from None

    class DocumentModel(Model, metaclass=_DocumentType):
        """A spec, a job or a fleet: what a whole file contains."""

        @classmethod
        def model_validate(cls, obj: Any, **options: Any) -> Any:
            """Construct a document from the values of YAML; raises :class:`supercloud.errors.SpecError`."""
            try:
                return super().model_validate(obj, **options)
            except ValidationError as error:
                raise _build_error(cls, error, obj) from None

        @classmethod
        def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Any:
            """Construct a document from JSON; raises :class:`supercloud.errors.SpecError`."""
            try:
                return super().model_validate_json(json_data, **options)
            except ValidationError as error:
                raise _build_error(cls, error, _parse_json(json_data)) from None

    def _parse_json(text: str | bytes | bytearray) -> Any:
        """The values that problems refer to; None for text that is not JSON."""
        try:
            return json.loads(text)
        except ValueError:
            return None
