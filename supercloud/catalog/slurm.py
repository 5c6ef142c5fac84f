"""Slurm releases: the keys each knows and what it can do. A new release is one new file of data."""

from __future__ import annotations

from typing import Literal

from ..spec.base import Flag, Text
from .fact import CatalogEntry, CatalogModel

__all__ = ["SlurmAbilities", "SlurmKeys", "SlurmRelease"]


class SlurmKeys(CatalogModel):
    """Keys the parsers of a release know, spelt as Slurm spells them. Slurm compares them without regard to case."""

    slurm: tuple[Text, ...]
    node: tuple[Text, ...]
    partition: tuple[Text, ...]
    nodeset: tuple[Text, ...]
    gres: tuple[Text, ...]
    cgroup: tuple[Text, ...]
    slurmdbd: tuple[Text, ...]
    job_container: tuple[Text, ...]
    """Of job_container.conf, read by job_container/tmpfs and by namespace/tmpfs after it."""
    topology: tuple[Text, ...]
    """Of topology.conf; topology.yaml has a schema of its own."""


class SlurmAbilities(CatalogModel):
    """What a release can do."""

    topologies: tuple[Literal["flat", "tree", "block", "3d_torus", "torus3d", "ring", "hypercube"], ...]
    """Topology plugins; ``3d_torus`` is the old one without a file of its own."""
    flat_plugin: Literal["none", "default", "flat"]
    """What ``topology/…`` without structure is called."""
    topology_yaml: Flag
    """Whether topology.yaml is read, several topologies side by side with it."""
    block_sizes_key: Literal["BlockLevels", "BlockSizes"] | None = None
    short_blocks: Flag = False
    """Whether a block may have fewer nodes than the first size; elsewhere the controller does not start."""
    block_rank: Flag = False
    """TopologyParam=BlockAsNodeRank."""
    auth: tuple[Literal["munge", "slurm", "jwt"], ...]
    autodetect: tuple[Text, ...]
    imex: Flag
    """switch/nvidia_imex."""
    container_tmp: Literal["JobContainerType=job_container/tmpfs", "NamespaceType=namespace/tmpfs"] | None = None
    """What gives each job its own /tmp; none where the plugin cannot be relied on."""
    container_tmp_untried: Text | None = None
    """Another plugin that gives it, by the manual of the release; nobody ran it for this catalog. Never rendered."""
    segments: Flag
    """Whether jobs may ask for --segment."""
    exclusive_key: Flag
    """Whether partitions take Exclusive= instead of OverSubscribe=EXCLUSIVE."""
    metrics: Literal["none", "public", "authenticated"]
    """MetricsType. ``public``: everybody may read them, so slurmctld gives none where PrivateData is set;
    ``authenticated``: where PrivateData is set only root and SlurmUser read them (and MetricsAuthUsers)."""


class SlurmRelease(CatalogEntry):
    """One release series."""

    keys: SlurmKeys
    lists: dict[Text, tuple[tuple[Text, ...], ...]]
    """Keys of slurm.conf whose value is a list of items, separated by commas, that apply together -> groups of items of
    which only one applies. Keys whose value is one of several modes, or a combination that only makes sense as a whole
    (PreemptMode, HealthCheckNodeState), are not among them."""
    abilities: SlurmAbilities
    upgrades_from: tuple[Text, ...] = ()
    """Oldest release whose state it reads, where that is known."""
