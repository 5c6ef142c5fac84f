"""Packages of Slurm: names, releases, and the user that they create."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .fact import CatalogEntry, CatalogModel

__all__ = ["SlurmPackageNames", "SlurmPackages"]

_Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9+.-]+$", max_length=80)]
"""Characters of package names: Debian Policy 5.6.1."""
_Names = Annotated[tuple[_Name, ...], Field(min_length=1)]
_Release = Annotated[str, Field(pattern=r"^[0-9]{2}\.[0-9]{2}$")]
_Suite = Annotated[str, Field(pattern=r"^[a-z]+$", max_length=40)]
_Component = Annotated[str, Field(pattern=r"^[a-z][a-z-]*$", max_length=40)]


class SlurmPackageNames(CatalogModel):
    """Names of the packages of each part of Slurm, without dependencies."""

    client: _Names
    """Packages with the user commands."""
    slurmctld: _Names
    slurmdbd: _Names
    slurmd: _Names
    slurmrestd: _Names
    sackd: _Names
    """The daemon that signs for the commands of hosts without another daemon, with auth/slurm."""
    pam_slurm_adopt: _Names
    jwt: tuple[_Name, ...] = ()
    """The plugin auth/jwt, if it has a separate package."""
    nvml: tuple[_Name, ...] = ()
    """The plugin gpu/nvml, which detects MIG instances, if it has a separate package."""
    nvml_component: _Component | None = None
    """The component of the archive that has it, if it is not ``main``."""


class SlurmPackages(CatalogEntry):
    """One family of packages."""

    singular = "family of Slurm packages"
    names: SlurmPackageNames
    suites: dict[_Release, _Suite] = {}
    """Release of Slurm -> suite of the distribution that contains it."""
    unreleased: tuple[_Suite, ...] = ()
    """Those of the suites that the distribution has not released."""
    built_from: tuple[_Release, ...] = ()
    """Releases of Slurm whose source builds these packages, which are in no archive."""
    user: Annotated[int, Field(ge=1, le=65533)] | None = None
    """UID and GID of the user ``slurm`` that the packages create; absent if they create none."""

    def list_released(self) -> list[str]:
        """Releases of Slurm in suites that the distribution has released, in order."""
        return sorted(release for release, suite in self.suites.items() if suite not in self.unreleased)
