"""Packages of Slurm: what they are called, which releases they exist for, and the user that they make."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .fact import CatalogEntry, CatalogModel

__all__ = ["SlurmPackageNames", "SlurmPackages"]

_Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9+.-]+$", max_length=80)]
"""Debian Policy, 5.6.1: characters of the name of a package."""
_Names = Annotated[tuple[_Name, ...], Field(min_length=1)]
_Release = Annotated[str, Field(pattern=r"^[0-9]{2}\.[0-9]{2}$")]
_Suite = Annotated[str, Field(pattern=r"^[a-z]+$", max_length=40)]


class SlurmPackageNames(CatalogModel):
    """Names of the packages with each part of Slurm; what they depend on comes with them."""

    client: _Names
    """Commands of users."""
    slurmctld: _Names
    slurmdbd: _Names
    slurmd: _Names
    slurmrestd: _Names
    sackd: _Names
    """The daemon that signs for the commands of hosts without another daemon, with auth/slurm."""
    pam_slurm_adopt: _Names
    jwt: tuple[_Name, ...] = ()
    """The plugin auth/jwt, where it has a package of its own."""


class SlurmPackages(CatalogEntry):
    """One family of packages."""

    names: SlurmPackageNames
    suites: dict[_Release, _Suite] = {}
    """Release of Slurm -> suite of the distribution that has it."""
    built_from: tuple[_Release, ...] = ()
    """Releases of Slurm whose source makes these packages; they are in no archive."""
    user: Annotated[int, Field(ge=1, le=65533)] | None = None
    """Number of the user and of the group ``slurm`` that the packages make; none where they make no user."""
