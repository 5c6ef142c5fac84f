"""How machines of a cloud show their internal disks."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from .fact import CatalogEntry, CatalogModel

__all__ = ["LocalDisks", "PreparedDisks"]


class PreparedDisks(CatalogModel):
    """A service of the provider's images that joins and mounts the disks before any program of the user's."""

    unit: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.@-]{1,64}$")]
    mount: Annotated[str, Field(pattern=r"^(/[A-Za-z0-9_.-]+)+$", max_length=255)]
    """Its mount point."""


class LocalDisks(CatalogEntry):
    """Internal disks of a provider's machines, by model or by the links that the image creates."""

    singular = "description of internal disks"
    model: Annotated[str, Field(pattern=r"^[A-Za-z0-9 ._-]{1,64}$")] | None = None
    """``/sys/block/*/device/model``, or its beginning."""
    links: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")] | None = None
    """Beginning of the names in ``/dev/disk/by-id``."""
    prepared: PreparedDisks | None = None
    """Absent if no image does that."""

    @model_validator(mode="after")
    def _check_one_way(self) -> LocalDisks:
        if (self.model is None) == (self.links is None):
            raise ValueError("disks are found either by 'model' or by 'links'")
        return self
