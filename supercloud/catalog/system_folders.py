"""Folders that software of a vendor keeps for itself on a node, so that nothing is mounted there."""

from __future__ import annotations

from ..spec.base import Text
from .fact import CatalogEntry

__all__ = ["SystemFolders"]


class SystemFolders(CatalogEntry):
    """What the packages of one piece of software bring outside of the folders of the operating system."""

    folders: tuple[Text, ...]
    """Each with everything inside; ``*`` stands for a release in a name."""
