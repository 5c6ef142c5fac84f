"""Folders that the operating system, the scheduler and other software of a node keep: nothing is mounted there."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import cast

from ....catalog import Catalog
from ....catalog.system_folders import SystemFolders

__all__ = ["normalize_mount", "is_reserved"]

# Top folders of the Filesystem Hierarchy Standard 3.0 that hold other things of a node, which stay visible below them.
_RESERVED_FOLDERS = ("/", "/media", "/opt", "/srv")
# Folders of the same standard and of the bundles that are kept with everything inside; those of other software are in
# the catalog. Jobs of Slurm have a /tmp of their own, which would hide what is mounted there.
_RESERVED_TREES = (
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt/slurm",
    "/opt/supercloud",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/snap",
    "/srv/supercloud",
    "/sys",
    "/tmp",
    "/usr",
    "/var",
)


def is_reserved(mount: str, catalog: Catalog) -> bool:
    """Whether a file system mounted there would hide a folder of the system, or of software that nodes may have."""
    place = PurePosixPath(normalize_mount(mount))
    if str(place) in _RESERVED_FOLDERS or any(place.is_relative_to(folder) for folder in _RESERVED_TREES):
        return True
    sets = (cast(SystemFolders, item) for item in catalog.iter_entries("system-folders"))
    kept = [folder for item in sets for folder in item.folders]
    return any(fnmatchcase(str(path), folder) for path in (place, *place.parents) for folder in kept)


def normalize_mount(mount: str) -> str:
    """The path without doubled slashes and without one at its end."""
    return "/" + "/".join(part for part in mount.split("/") if part)
