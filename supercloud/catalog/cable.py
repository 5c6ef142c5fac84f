"""Cables and transceivers: what they plug into, how fast, how far. A new product is one new file of data."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ..primitives.quantity import Length, Rate
from ..spec.base import Count, Text
from .fact import CatalogEntry

__all__ = ["Cable", "Medium", "Transceiver"]

Medium = Literal["dac", "acc", "copper", "aoc", "fibre"]
"""Passive and active direct-attach copper, twisted pairs, fibre with its plugs, fibre that needs transceivers."""


class Cable(CatalogEntry):
    """One kind of cable, in its lengths."""

    vendor: Text | None = None
    medium: Medium
    networks: tuple[Literal["infiniband", "ethernet"], ...]
    speed: Rate
    """Of one link."""
    lower: tuple[Rate, ...] = ()
    """Speeds it runs at besides, in ports of an older generation."""
    cages: tuple[Text, ...] = ()
    """Cages its plugs go into; none for fibre, whose ends go into transceivers."""
    links: Count = 1
    """Links it carries, from one cage to one other, or to as many as it has tails."""
    tails: Count = 1
    """Cages on the side of the machines: more than 1 where the links of one cage part ways."""
    tail_cages: tuple[Text, ...] = ()
    """Cages that those plugs go into."""
    split: Count = 1
    """Ends on the far side: 2 shares one port among two devices of half the speed."""
    optic: Text | None = None
    """Fibre: the optical interface it joins, as transceivers name it."""
    fibre: Literal["multimode", "single-mode"] | None = None
    reach: Length
    lengths: tuple[Length, ...] = ()
    """Lengths it is made in, shortest first; none where it is cut to measure."""
    part_numbers: dict[Text, Text] = Field(default_factory=dict)
    """By length, as far as they were sourced."""


class Transceiver(CatalogEntry):
    """A pluggable module that turns a cage's ports into optical ones."""

    vendor: Text | None = None
    cages: tuple[Text, ...]
    links: Count = 1
    """Links of one module: 2 for a twin-port one."""
    networks: tuple[Literal["infiniband", "ethernet"], ...]
    speed: Rate
    """Of one link."""
    optic: Text
    """Optical interface: only modules of the same one understand each other."""
    side: Literal["switch", "machine"] | None = None
    """Where its body fits: finned tops into switches, flat ones into machines; empty means both."""
    reach: Length
    part_number: Text | None = None
