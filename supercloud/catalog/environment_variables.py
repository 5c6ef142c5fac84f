"""Variables of the environment with which the commands and SDKs of clouds find accounts."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .fact import CatalogEntry

__all__ = ["EnvironmentVariables", "VariableName"]

VariableName = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$", max_length=80)]


class EnvironmentVariables(CatalogEntry):
    """Variables that commands and SDKs of a cloud read, named after it."""

    singular = "set of environment variables"
    paths: tuple[VariableName, ...] = ()
    """Variables with the path of a file or directory."""
    settings: tuple[VariableName, ...] = ()
    secrets: tuple[VariableName, ...] = ()
    """Variables with credentials."""
