"""The QoS settings of one fabric: the catalog's, with the user's changes."""

from __future__ import annotations

from ....catalog.roce_profile import EcnProfile, RoceProfile
from ....primitives.quantity import Rate
from ....spec import Fabric
from ....topology import Fabric as Wiring
from ...model.plan import FabricPlan
from ...model.qos import EcnThresholds, QosPolicy

__all__ = ["build_qos_policy"]


def build_qos_policy(declared: Fabric, profile: RoceProfile, fabric: FabricPlan, wiring: Wiring) -> QosPolicy:
    """QoS settings that switches and hosts of a fabric share. ECN thresholds scale with the speed of the ports."""
    qos = declared.qos
    asked = {"leaf": float(declared.oversubscription.leaf), "spine": float(declared.oversubscription.spine)}
    ecn = {
        tier.name: EcnThresholds(qos.ecn.min.to_whole("B"), qos.ecn.max.to_whole("B"), qos.ecn.probability)
        if qos.ecn
        else _scale_thresholds(profile.ecn_oversubscribed if asked.get(tier.name, 1) > 1 else profile.ecn, fabric.speed)
        for tier in wiring.tiers
    }
    return QosPolicy(
        dscp=profile.dscp if qos.dscp is None else qos.dscp,
        priority=profile.priority if qos.priority is None else qos.priority,
        cnp_dscp=profile.cnp_dscp if qos.cnp_dscp is None else qos.cnp_dscp,
        cnp_priority=profile.cnp_priority if qos.cnp_priority is None else qos.cnp_priority,
        udp_port=profile.udp_port,
        mtu=qos.mtu or profile.mtu,
        host_mtu=qos.host_mtu or profile.host_mtu,
        weight=profile.weight,
        ecn=ecn,
        detection=profile.watchdog_detection,
        restoration=profile.watchdog_restoration,
        poll=profile.watchdog_poll,
        cable=profile.cable,
        keepalive=profile.keepalive,
        hold=profile.hold,
    )


def _scale_thresholds(marking: EcnProfile, speed: Rate | None) -> EcnThresholds:
    """Round to whole kilobytes: not all dialects support bytes."""
    factor = speed.to("Gb/s") / marking.speed.to("Gb/s") if speed else 1.0
    low, high = (max(1, round(item.to("kB") * factor)) * 1000 for item in (marking.min, marking.max))
    return EcnThresholds(low, high, marking.probability)
