"""Accelerators: memory, peak rates, power, scale-up links, and their names in operating systems and schedulers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..primitives.quantity import Operations, Power, Rate, Size
from ..spec.base import MIG_PROFILE, Count, Natural, Text
from .fact import CatalogEntry, CatalogModel, EntryName, LabelKey

__all__ = ["Accelerator", "DeviceFiles", "MigProfile", "ScaleUpLink"]


class ScaleUpLink(CatalogModel):
    """The network inside a server or rack that joins several accelerators into one domain."""

    kind: Text
    """Name of the technology, such as NVLink5, Infinity Fabric or ICI."""
    bandwidth: Rate | None = None
    """Per accelerator, sum of both directions."""
    max_domain: Count | None = None
    """Accelerators in the largest domain."""
    wiring: Literal["switched", "mesh", "torus-2d", "torus-3d", "bridge"] | None = None


class MigProfile(CatalogModel):
    """A profile by which an accelerator is partitioned into isolated instances."""

    profile: Annotated[str, Field(pattern=MIG_PROFILE, max_length=32)]
    memory: Size
    max_instances: Count


class DeviceFiles(CatalogModel):
    """Device files in the operating system: ``path`` and a number from ``first`` in steps of ``step``."""

    path: Annotated[str, Field(pattern=r"^/dev/[A-Za-z0-9/_-]+$")]
    first: Natural = 0
    step: Count = 1
    """Numbers that the driver reserves for each accelerator: the first for its device, the others for partitions."""

    def compute_number(self, index: int) -> int:
        """The number in the name of the device of accelerator ``index``, counted from 0."""
        return self.first + index * self.step

    def format_range(self, count: int) -> str:
        """The device files of ``count`` accelerators as text: the first and the last."""
        numbers = dict.fromkeys((self.compute_number(0), self.compute_number(count - 1)))
        return " to ".join(f"{self.path}{number}" for number in numbers)


class Accelerator(CatalogEntry):
    """One kind of accelerator."""

    vendor: Text
    aliases: tuple[EntryName, ...] = ()
    """Short names that jobs can request, such as ``h100``."""
    product_names: tuple[Text, ...] = ()
    """The product as its driver reports it (``nvidia-smi``), in all known forms."""
    succeeds: tuple[EntryName, ...] = ()
    """Accelerators that this one can replace if a job requests them with ``>=``: the edges of a partial order."""
    memory: Size | None = None
    memory_reported: Size | None = None
    """Memory as the driver reports it; used to check whether a job fits."""
    memory_bandwidth: Rate | None = None
    dense: dict[
        Literal[
            "fp64", "fp64_tensor", "fp64_matrix", "fp32", "tf32", "bf16", "fp16", "fp8", "fp6", "fp4", "int8", "int4"
        ],
        Operations,
    ] = {}
    """Peak rate per number format without structured sparsity."""
    tdp: Power | None = None
    scale_up: ScaleUpLink | None = None
    mig: tuple[MigProfile, ...] = ()
    form_factor: Text | None = None
    cooling: tuple[Literal["air", "direct-liquid", "immersion", "provider"], ...] = ()
    gres: Annotated[str, Field(pattern=r"^[a-z0-9_]+$")] | None = None
    """Type in Slurm's gres (``gpu:h100``)."""
    autodetect: Literal["nvml", "rsmi", "oneapi", "nrt"] | None = None
    """Value of AutoDetect in Slurm's gres.conf."""
    devices: DeviceFiles | None = None
    kubernetes: LabelKey | None = None
    """Resource name in Kubernetes (``nvidia.com/gpu``)."""
    visible_env: Text | None = None
    """Environment variable that restricts a process to some of the accelerators."""
