"""Folders of a node that belong to the operating system, the scheduler and other software: not valid as mount
points.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from ....catalog import Catalog
from ....catalog.system_folders import SystemFolders

__all__ = ["normalize_mount", "is_reserved"]

# Top folders of the Filesystem Hierarchy Standard 3.0 with other content of a node, which remains visible below them.
_RESERVED_FOLDERS = ("/", "/media", "/opt", "/srv")
# Folders of the same standard and of the bundles, reserved with all of their content; those of other software are in
# the catalog. Slurm jobs have a private /tmp, which would hide a file system mounted there.
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
    sets = catalog.iter_entries(SystemFolders)
    kept = [folder for item in sets for folder in item.folders]
    return any(fnmatchcase(str(path), folder) for path in (place, *place.parents) for folder in kept)


def normalize_mount(mount: str) -> str:
    """Normalize a path: no repeated and no trailing slashes."""
    return "/" + "/".join(part for part in mount.split("/") if part)
