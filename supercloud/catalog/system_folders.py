"""Folders that are reserved for software on nodes, so that nothing is mounted there."""

from __future__ import annotations

from ..spec.base import Text
from .fact import CatalogEntry

__all__ = ["SystemFolders"]


class SystemFolders(CatalogEntry):
    """Folders that one software's packages install outside of the operating system's folders."""

    singular = "set of folders"
    folders: tuple[Text, ...]
    """Folders including their contents; ``*`` replaces a release in a name."""
