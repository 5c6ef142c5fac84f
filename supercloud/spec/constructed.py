"""Documents that are constructed in Python: their problems are reported as those of a file are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from ..errors import SpecError
from ..primitives.counts import format_count
from .base import Model
from .problems import build_findings

__all__ = ["DocumentModel"]

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
                findings = [finding for _, finding in build_findings(error, fields, cls)]
                raise SpecError(f"{format_count(len(findings), 'problem')} in {cls.__name__}", findings) from None

    class DocumentModel(Model, metaclass=_DocumentType):
        """A spec, a job or a fleet: what a whole file contains."""
