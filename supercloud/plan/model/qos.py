"""The lossless quality-of-service policy of RoCE networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...primitives.quantity import Duration, Length

__all__ = ["EcnThresholds", "QosPolicy"]


@dataclass(frozen=True, slots=True)
class EcnThresholds:
    """ECN thresholds of a port, in bytes."""

    min: int
    max: int
    probability: int


@dataclass(frozen=True, slots=True)
class QosPolicy:
    """The QoS settings that every switch and host of a fabric uses."""

    dscp: int
    priority: int
    cnp_dscp: int
    cnp_priority: int
    udp_port: int
    mtu: int
    host_mtu: int
    weight: int
    ecn: Mapping[str, EcnThresholds]
    """Tier -> thresholds."""
    detection: Duration
    restoration: Duration
    poll: Duration
    cable: Length
    keepalive: Duration
    hold: Duration
