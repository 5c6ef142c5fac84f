"""Slurm releases: the keys of their parsers and their capabilities. A new release is one new data file."""

from __future__ import annotations

from typing import Literal

from ..spec.base import Flag, Text
from .fact import CatalogEntry, CatalogModel

__all__ = ["SlurmAbilities", "SlurmKeys", "SlurmRelease"]


class SlurmKeys(CatalogModel):
    """Keys that the parsers of a release accept, with the spelling of Slurm, which ignores case."""

    slurm: tuple[Text, ...]
    node: tuple[Text, ...]
    partition: tuple[Text, ...]
    nodeset: tuple[Text, ...]
    gres: tuple[Text, ...]
    cgroup: tuple[Text, ...]
    slurmdbd: tuple[Text, ...]
    job_container: tuple[Text, ...]
    """Keys of job_container.conf, read by job_container/tmpfs and by namespace/tmpfs after it."""
    topology: tuple[Text, ...]
    """Keys of topology.conf; topology.yaml has a separate schema."""


class SlurmAbilities(CatalogModel):
    """Capabilities of a release."""

    topologies: tuple[Literal["flat", "tree", "block", "3d_torus", "torus3d", "ring", "hypercube"], ...]
    """Topology plugins; ``3d_torus`` is the older one without a configuration file."""
    flat_plugin: Literal["none", "default", "flat"]
    """Name of the plugin ``topology/…`` without a structure."""
    topology_yaml: Flag
    """Whether topology.yaml is supported, which can contain several topologies."""
    block_sizes_key: Literal["BlockLevels", "BlockSizes"] | None = None
    short_blocks: Flag = False
    """Whether a block can have fewer nodes than the first size; otherwise the controller does not start."""
    block_rank: Flag = False
    """Whether TopologyParam=BlockAsNodeRank is supported."""
    auth: tuple[Literal["munge", "slurm", "jwt"], ...]
    autodetect: tuple[Text, ...]
    imex: Flag
    """Whether the plugin switch/nvidia_imex is supported."""
    container_tmp: Literal["JobContainerType=job_container/tmpfs", "NamespaceType=namespace/tmpfs"] | None = None
    """Option that gives each job a private /tmp; absent if the plugin is not reliable."""
    container_tmp_untried: Text | None = None
    """Another plugin with this feature by the manual of the release; not tested for this catalog, never rendered."""
    segments: Flag
    """Whether jobs can use --segment."""
    exclusive_key: Flag
    """Whether partitions support Exclusive= instead of OverSubscribe=EXCLUSIVE."""
    metrics: Literal["none", "public", "authenticated"]
    """MetricsType. ``public``: all users can read metrics, so slurmctld provides none if PrivateData is set;
    ``authenticated``: if PrivateData is set, only root, SlurmUser and MetricsAuthUsers can read them."""


class SlurmRelease(CatalogEntry):
    """One release series."""

    singular = "release of Slurm"
    keys: SlurmKeys
    lists: dict[Text, tuple[tuple[Text, ...], ...]]
    """Keys of slurm.conf whose value is a list of items, separated by commas, that apply together -> groups of items of
    which only one applies. Keys whose value is one of several modes, or a combination that only makes sense as a whole
    (PreemptMode, HealthCheckNodeState), are not among them."""
    abilities: SlurmAbilities
    upgrades_from: tuple[Text, ...] = ()
    """Oldest release whose state it can read; empty if unknown."""
