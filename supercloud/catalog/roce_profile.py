"""Profiles of lossless Ethernet: settings that must be equal on all switches and hosts of a fabric."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..primitives.quantity import Duration, Length, Rate, Size
from ..spec.base import Count, IntegerRange, Natural
from .fact import CatalogEntry, CatalogModel

__all__ = ["RoceProfile", "EcnProfile"]


class EcnProfile(CatalogModel):
    """ECN thresholds for a port of a reference speed: where marking starts, and where it is most probable."""

    speed: Rate
    """Reference speed; the thresholds scale with the speed of the port."""
    min: Size
    max: Size
    probability: Annotated[int, IntegerRange(1, 100)]
    """Marking probability at ``max``, in percent."""


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
    """Share of the bandwidth of a port for RDMA data when all queues are full, in percent."""
    ecn: EcnProfile
    ecn_oversubscribed: EcnProfile
    """ECN thresholds of tiers that are oversubscribed by design, whose queues fill in normal operation."""
    watchdog_detection: Duration
    watchdog_restoration: Duration
    watchdog_poll: Duration
    cable: Length
    """Cable length for which the headroom of lossless buffers is computed."""
    keepalive: Duration
    hold: Duration
    asn_first: Annotated[int, Field(ge=1, le=4294967295)]
    asn_last: Annotated[int, Field(ge=1, le=4294967295)]
