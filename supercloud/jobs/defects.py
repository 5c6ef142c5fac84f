"""The error of an engine that fails in an unexpected way: other engines continue, and the user can report it."""

from __future__ import annotations

from ..errors import EngineConfigurationError
from ..primitives.responses import replace_surrogates

__all__ = ["build_defect_error"]


def build_defect_error(what: str, error: Exception) -> EngineConfigurationError:
    """The reportable error for an unexpected exception of an engine; ``what`` is its context."""
    defect = EngineConfigurationError(
        f"{what}: its engine failed with {type(error).__name__}: {replace_surrogates(str(error))[:300]}; "
        "please report it"
    )
    defect.__cause__ = error
    return defect
