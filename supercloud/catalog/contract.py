"""Contracts of lossless Ethernet: what every switch and every host of a fabric must say alike."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..primitives.quantity import Duration, Length, Rate, Size
from ..spec.base import Count, IntegerRange, Natural
from .fact import CatalogEntry, CatalogModel

__all__ = ["RoceProfile", "EcnProfile"]


class EcnProfile(CatalogModel):
    """Where ECN begins to mark and where it marks at its highest probability, for a port of a speed."""

    speed: Rate
    """The thresholds grow with the speed of the port."""
    min: Size
    max: Size
    probability: Annotated[int, IntegerRange(1, 100)]
    """Percent at ``max``."""


class RoceProfile(CatalogEntry):
    """DSCP, priorities, PFC, ECN, MTU and routing of a RoCE fabric."""

    dscp: Natural
    priority: Natural
    """Priority, traffic class and queue of RDMA data; the only lossless one."""
    cnp_dscp: Natural
    cnp_priority: Natural
    udp_port: Count
    mtu: Count
    host_mtu: Count
    weight: Count
    """Percent of a port that RDMA data gets when all queues are full."""
    ecn: EcnProfile
    ecn_oversubscribed: EcnProfile
    """For tiers that are oversubscribed on purpose: their queues fill by design."""
    watchdog_detection: Duration
    watchdog_restoration: Duration
    watchdog_poll: Duration
    cable: Length
    """For the headroom of lossless buffers."""
    keepalive: Duration
    hold: Duration
    asn_first: Annotated[int, Field(ge=1, le=4294967295)]
    asn_last: Annotated[int, Field(ge=1, le=4294967295)]
