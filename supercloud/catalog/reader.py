"""Read the catalog: one directory per kind, one file per entry, overlays on top.

``Catalog.get(Machine, "dgx-h100")`` reads one file only, so a plan reads only the entries that it uses. An
overlay directory has the same layout: a new file adds an entry, a file of an existing name overrides the fields it sets
(a field set to null is removed). To add a kind: a folder, a model, a line in ``KINDS``.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from ..errors import CatalogError, UnknownNameError
from ..spec.document import read_yaml
from ..spec.problems import build_findings
from .accelerator import Accelerator
from .adapter_qos import AdapterQos
from .cable import Cable, Transceiver
from .electrical import Pdu, PowerShelf, Ups
from .environment_variables import EnvironmentVariables
from .fact import CatalogEntry
from .image_tool import ImageTool
from .kubernetes import ControlPlane, KubernetesRelease, KueueRelease, VolcanoRelease
from .kubernetes_parts import (
    AlertSet,
    Chart,
    DeviceStack,
    MetricSet,
    Nic,
    NodeTopology,
    PlatformRanges,
    VolumeDriver,
    XidTable,
)
from .kubernetes_service import KubernetesService
from .local_disks import LocalDisks
from .machine import Machine
from .metadata_service import MetadataService
from .mount_client import MountClient
from .network_os import NetworkOs
from .price import Prices
from .provider import Provider
from .rack import CoolingMethod, Location, Rack
from .region import Region
from .reliability import FailureRate
from .roce_profile import RoceProfile
from .slurm import SlurmRelease
from .slurm_packages import SlurmPackages
from .storage import StorageProduct, StorageTiers
from .storage_service import StorageService
from .switch import Switch
from .system_accounts import SystemAccounts
from .system_folders import SystemFolders
from .thermal import Cdu, Coolant, HeatRejection, ThermalClass

__all__ = ["KINDS", "OVERLAY_VARIABLE", "Catalog"]

KINDS: dict[str, type[CatalogEntry]] = {
    "accelerators": Accelerator,
    "adapter-qos": AdapterQos,
    "alerts": AlertSet,
    "cables": Cable,
    "cdus": Cdu,
    "charts": Chart,
    "coolants": Coolant,
    "control-planes": ControlPlane,
    "cooling": CoolingMethod,
    "device-stacks": DeviceStack,
    "environment-variables": EnvironmentVariables,
    "failure-rates": FailureRate,
    "heat-rejection": HeatRejection,
    "image-tools": ImageTool,
    "kubernetes": KubernetesRelease,
    "kubernetes-services": KubernetesService,
    "kueue": KueueRelease,
    "local-disks": LocalDisks,
    "locations": Location,
    "machines": Machine,
    "metadata-services": MetadataService,
    "metrics": MetricSet,
    "mount-clients": MountClient,
    "network-systems": NetworkOs,
    "nics": Nic,
    "node-topologies": NodeTopology,
    "pdus": Pdu,
    "platform-ranges": PlatformRanges,
    "power-shelves": PowerShelf,
    "prices": Prices,
    "providers": Provider,
    "racks": Rack,
    "regions": Region,
    "roce-profiles": RoceProfile,
    "slurm": SlurmRelease,
    "slurm-packages": SlurmPackages,
    "storage": StorageProduct,
    "storage-services": StorageService,
    "storage-tiers": StorageTiers,
    "switches": Switch,
    "system-accounts": SystemAccounts,
    "system-folders": SystemFolders,
    "thermal-classes": ThermalClass,
    "ups": Ups,
    "transceivers": Transceiver,
    "volcano": VolcanoRelease,
    "volume-drivers": VolumeDriver,
    "xids": XidTable,
}

_KIND_OF_MODEL = {model: kind for kind, model in KINDS.items()}

OVERLAY_VARIABLE = "SUPERCLOUD_CATALOG"

_DATA_DIRECTORY = Path(__file__).with_name("data")
_E = TypeVar("_E", bound=CatalogEntry)


@cache
def _list_file_names(folder: Path) -> frozenset[str]:
    return frozenset(path.stem for path in folder.glob("*.yaml")) if folder.is_dir() else frozenset()


def _require_overlay(overlay: Path) -> None:
    """Raise :class:`CatalogError` for a directory with other subdirectories than those of kinds.

    A spec may come from another user and refer to any directory: of its contents only names similar to a kind are
    shown.
    """
    try:
        if not overlay.is_dir():
            raise CatalogError(f"the catalog overlay {str(overlay)!r} is not a directory")
        strange = sorted(item.name for item in overlay.iterdir() if item.name not in KINDS and item.is_dir())
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        if isinstance(error, CatalogError):
            raise
        problem = getattr(error, "strerror", None) or "this is not a valid path"
        raise CatalogError(f"the catalog overlay {str(overlay)!r} cannot be read: {problem}") from None
    if strange:
        raise CatalogError(f"{overlay}: {_describe_unknown_kinds(strange)}; kinds are {', '.join(KINDS)}")


def _describe_unknown_kinds(names: Sequence[str]) -> str:
    """Names similar to a kind, and the number of the others."""
    shown = [name for name in names if difflib.get_close_matches(name[:80].lower(), KINDS, cutoff=0.7)][:_MAX_SHOWN]
    others = len(names) - len(shown)
    directories = f"director{'ies' if others > 1 else 'y'}"
    if not shown:
        return f"{others} {directories} {'are' if others > 1 else 'is'} not of a known kind"
    more = [f"{others} other {directories}"] if others else []
    return f"unknown kind {', '.join([*map(repr, shown), *more])}"


_ABOUT_THE_ENTRY = ("name", "title", "source", "unverified", "conflicts", "notes")
_MAX_SHOWN = 5  # directories of an overlay that a message lists


class Catalog:
    """The catalog with overlays in order: a later directory overrides earlier ones.

    Args:
        overlays: Directories with the layout of the catalog.

    Raises:
        CatalogError: If an overlay is not a directory, or has directories of unknown kinds.
    """

    def __init__(self, overlays: Sequence[Path] = ()):
        for overlay in overlays:
            _require_overlay(overlay)
        self._layers = (_DATA_DIRECTORY, *overlays)
        self._read: dict[tuple[str, str], CatalogEntry] = {}

    @classmethod
    def load_default(cls, *overlays: Path) -> Catalog:
        """The shipped catalog, with the directories of SUPERCLOUD_CATALOG and then ``overlays`` on top.

        Args:
            overlays: Further directories, the last of which has precedence.

        Raises:
            CatalogError: If an overlay is not valid.
        """
        named = os.environ.get(OVERLAY_VARIABLE, "")
        return cls([*(Path(part) for part in named.split(os.pathsep) if part), *overlays])

    def list_names(self, kind: str) -> list[str]:
        """Names of all entries of a kind, sorted.

        Args:
            kind: Name of the kind, such as ``machines``.

        Raises:
            UnknownNameError: For an unknown kind.
        """
        if kind not in KINDS:
            raise UnknownNameError("kind of catalog entry", kind, KINDS)
        return sorted({name for layer in self._layers for name in _list_file_names(layer / kind)})

    def get(self, model: type[_E], name: str) -> _E:
        """One entry of the kind whose entries have this class, such as ``get(Machine, "dgx-h100")``.

        Args:
            model: The class of the entry.
            name: Name of the entry.

        Raises:
            UnknownNameError: For an unknown name; with the nearest names.
            CatalogError: If the entry is not valid.
        """
        entry = self.get_entry(_KIND_OF_MODEL[model], name)
        assert isinstance(entry, model)
        return entry

    def get_entry(self, kind: str, name: str) -> CatalogEntry:
        """One entry of a kind by the kind's name, for code that handles all kinds.

        Args:
            kind: Name of the kind, such as ``machines``.
            name: Name of the entry.

        Raises:
            UnknownNameError: For an unknown kind or name; with the nearest names.
            CatalogError: If the entry is not valid.
        """
        found = self._read.get((kind, name))
        if found is None:
            found = self._read[kind, name] = self._load(kind, name)
        return found

    def iter_entries(self, model: type[_E]) -> Iterator[_E]:
        """All entries of the kind whose entries have this class, sorted by name.

        Args:
            model: The class of the entries.

        Raises:
            CatalogError: If an entry is not valid.
        """
        return (self.get(model, name) for name in self.list_names(_KIND_OF_MODEL[model]))

    def get_slurm_release(self, release: str) -> SlurmRelease:
        """A Slurm release series by its name, such as 22.05; a patch release finds its series.

        Args:
            release: The series or a release of it.

        Raises:
            UnknownNameError: If the catalog does not have the series.
        """
        return self.get(SlurmRelease, ".".join(release.split(".")[:2]))

    def _load(self, kind: str, name: str) -> CatalogEntry:
        known = self.list_names(kind)
        if name not in known:
            raise UnknownNameError(KINDS[kind].singular or kind.removesuffix("s"), name, known)
        found = tuple(
            path for path in (layer / kind / f"{name}.yaml" for layer in self._layers) if os.path.lexists(path)
        )
        return _read_shipped(kind, found) if found == (_DATA_DIRECTORY / kind / f"{name}.yaml",) else _read(kind, found)


def _read(kind: str, paths: tuple[Path, ...]) -> CatalogEntry:
    """The entry of a file and its overlays. Raises :class:`CatalogError` if it is not valid."""
    name = paths[0].stem
    data: dict[str, Any] = {}
    lines: dict[tuple[str | int, ...], tuple[str, int]] = {}
    for path in paths:
        document = read_yaml(path).require_unique_keys()
        if not isinstance(document.data, Mapping):
            raise CatalogError(f"{path}: a catalog file must be a mapping")
        data = _merge_overlay(data, document.data) | _merge_sources(data, document.data)
        lines |= {place: (str(path), line) for place, line in document.lines.items()}
    try:
        fact = KINDS[kind].model_validate(data)
    except ValidationError as error:
        findings = [
            finding.with_location(*lines.get(place, lines.get((), ("", 0))))
            for place, finding in build_findings(error, data, KINDS[kind], check="catalog")
        ]
        raise CatalogError(f"{kind}/{name}: invalid catalog entry", findings) from None
    if fact.name != name:
        raise CatalogError(f"{kind}/{name}.yaml has the name {fact.name!r}; name and file name must be equal")
    return fact


# files of the package do not change while a program runs, which may plan many clusters
_read_shipped = cache(_read)


def _merge_sources(base: Mapping[str, Any], overlay: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an entry that tell where its values come from, after an overlay: its sources come before those of
    the entry, and without sources the fields that it sets are unverified.
    """
    if not base:
        return {}
    sources, earlier = overlay.get("source"), base.get("source")
    if isinstance(sources, list) and isinstance(earlier, list):
        return {"source": [*sources, *(item for item in earlier if item not in sources)]}
    unverified = overlay.get("unverified", base.get("unverified", ()))
    if sources or not isinstance(unverified, Iterable):
        return {}  # the model reports what is wrong
    changed = [key for key, value in overlay.items() if value is not None and key not in _ABOUT_THE_ENTRY]
    return {"unverified": [*unverified, *(key for key in changed if key not in unverified)]} if changed else {}


def _merge_overlay(base: Mapping[str, Any], overlay: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in overlay.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
            merged[key] = _merge_overlay(merged[key], value)
        else:
            merged[key] = value
    return merged
