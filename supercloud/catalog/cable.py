"""Cables and transceivers: their cages, speeds and reach. A new product is one new data file."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ..primitives.quantity import Length, Rate
from ..spec.base import Count, Text
from .fact import CatalogEntry

__all__ = ["Cable", "Medium", "Transceiver"]

Medium = Literal["dac", "acc", "copper", "aoc", "fiber"]
"""Passive and active direct-attach copper, twisted pair, active optical cable, fiber for transceivers."""


class Cable(CatalogEntry):
    """One kind of cable in all its lengths."""

    vendor: Text | None = None
    medium: Medium
    networks: tuple[Literal["infiniband", "ethernet"], ...]
    speed: Rate
    """Speed of one link."""
    lower: tuple[Rate, ...] = ()
    """Lower speeds that it supports, for ports of an older generation."""
    cages: tuple[Text, ...] = ()
    """Cages that its plugs fit; empty for fiber, which connects transceivers."""
    sides: tuple[Literal["switch", "machine"], ...] = ()
    """Devices at its two ends: finned-top plugs fit the cages of switches, flat-top plugs those of machines. Empty if
    the plugs fit both, and for fiber."""
    links: Count = 1
    """Number of links, from one cage to one other cage, or to as many as it has tails."""
    tails: Count = 1
    """Cages on the machine side; more than 1 for breakout cables."""
    tail_cages: tuple[Text, ...] = ()
    """Cages that the plugs of the tails fit."""
    split: Count = 1
    """Ends on the far side; 2 splits one port between two devices of half the speed."""
    optic: Text | None = None
    """Fiber only: the optical interface, named as in transceiver entries."""
    fiber: Literal["multimode", "single-mode"] | None = None
    reach: Length
    lengths: tuple[Length, ...] = ()
    """Available lengths, shortest first; empty if it is cut to length."""
    part_numbers: dict[Text, Text] = Field(default_factory=dict)
    """Length -> part number, where a source is known."""


class Transceiver(CatalogEntry):
    """A pluggable optical module for a cage."""

    vendor: Text | None = None
    cages: tuple[Text, ...]
    links: Count = 1
    """Links of one module: 2 for a twin-port one."""
    networks: tuple[Literal["infiniband", "ethernet"], ...]
    speed: Rate
    """Speed of one link."""
    optic: Text
    """Optical interface; both ends of a link need the same one."""
    side: Literal["switch", "machine"] | None = None
    """Where the module fits: finned-top modules in switches, flat-top modules in machines; absent: both."""
    reach: Length
    part_number: Text | None = None
