"""Client software of network file systems: what a machine needs before it can mount one, by distribution."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from .fact import CatalogEntry, CatalogModel

__all__ = ["ClientPackages", "MountClient", "PackageRepository"]

_Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9._+-]{1,64}$")]
_Url = Annotated[str, Field(pattern=r"^https://[A-Za-z0-9./_-]+$", max_length=255)]


class PackageRepository(CatalogModel):
    """A repository of packages besides those of the distribution; machines accept the signatures of its key only."""

    url: _Url
    suite: _Word
    component: _Word
    key: _Url
    """Address of the public key."""


class ClientPackages(CatalogModel):
    """Packages of a distribution."""

    distribution: _Word
    """``ID`` of os-release."""
    version: _Word | None = None
    """``VERSION_ID`` of os-release; absent if all versions have the packages."""
    packages: Annotated[tuple[Annotated[str, Field(pattern=r"^[a-z0-9.+{}-]{1,96}$")], ...], Field(min_length=1)]
    """Names; ``{kernel}`` is the release of the running kernel."""
    repository: PackageRepository | None = None
    """Absent if the distribution has them."""


class MountClient(CatalogEntry):
    """The client of one kind of file system."""

    types: Annotated[tuple[_Word, ...], Field(min_length=1)]
    """Types of ``mount -t``."""
    program: _Word | None = None
    """Program whose presence shows that it is installed."""
    module: _Word | None = None
    """Or: kernel module that can then be loaded."""
    distributions: tuple[ClientPackages, ...]

    @model_validator(mode="after")
    def _check_one_sign(self) -> MountClient:
        if (self.program is None) == (self.module is None):
            raise ValueError("a client is recognized either by 'program' or by 'module'")
        return self
