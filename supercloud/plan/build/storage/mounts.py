"""Folders that the operating system and the scheduler of a node keep for themselves: nothing is mounted there."""

from __future__ import annotations

from pathlib import PurePosixPath

__all__ = ["normalize_mount", "is_reserved"]

# Top folders of the Filesystem Hierarchy Standard 3.0 that hold other things of a node, which stay visible below them.
_RESERVED_FOLDERS = ("/", "/media", "/opt", "/srv")
# Folders of the same standard, of container runtimes, of the bundles, and (by their installation guides) of the NVIDIA
# network driver and WEKA's client, that are kept with everything inside. Jobs of Slurm have a /tmp of their own, which
# would hide what is mounted there.
_RESERVED_TREES = (
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt/cni",
    "/opt/containerd",
    "/opt/mellanox",
    "/opt/slurm",
    "/opt/supercloud",
    "/opt/weka",
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


def is_reserved(mount: str) -> bool:
    """Whether a file system mounted there would hide a folder of the system."""
    place = PurePosixPath(normalize_mount(mount))
    return str(place) in _RESERVED_FOLDERS or any(place.is_relative_to(folder) for folder in _RESERVED_TREES)


def normalize_mount(mount: str) -> str:
    """The path without doubled slashes and without one at its end."""
    return "/" + "/".join(part for part in mount.split("/") if part)
