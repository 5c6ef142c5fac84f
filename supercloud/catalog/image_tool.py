"""Tools that are built into machine images from their source."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..spec.base import Text
from .fact import CatalogEntry, EntryName

__all__ = ["ImageTool"]


class ImageTool(CatalogEntry):
    """One version of a tool, with the address and the digest of its source."""

    version: Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)*$")]
    accelerator: EntryName
    """Vendor of the accelerators that it tests, in lower case."""
    url: Annotated[str, Field(pattern=r"^https://[A-Za-z0-9._~/-]+$", max_length=300)]
    """Archive of the source."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    """Digest of the archive; absent if none is published: images then do not contain the tool."""
    folder: Annotated[Text, Field(pattern=r"^/[a-z0-9/_-]+$")]
    """Where images have its programs."""
    mpi: dict[EntryName, Annotated[Text, Field(pattern=r"^/[a-z0-9/_-]+$")]] = {}
    """Provider -> folder of the MPI that the installer of its fabric brings; others have that of the distribution."""
    program: EntryName
    """The program that the rendered job runs."""
    arguments: tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$", max_length=40)], ...] = ()
    """Arguments of the program in the rendered job."""
