"""Private names: known before anything exists, so that nodes find the controller whoever it is today."""

from __future__ import annotations

import pulumi
from pulumi_aws import route53

from ..work import Work
from .network import Network

__all__ = ["record", "zone_of"]

_SECONDS = 30
"""Time to live: how long nodes look for a controller that was replaced."""


def zone_of(work: Work, network: Network) -> route53.Zone:
    """The private zone of the cluster's domain."""
    return route53.Zone(
        work.child("zone"),
        name=work.plan.network.domain,
        comment=f"Machines of {work.plan.name}",
        vpcs=[{"vpc_id": network.id}],
        force_destroy=True,  # names that a controller added itself go with it
        tags=work.tags("zone"),
        opts=work.options(ignore_changes=["vpcs"]),  # other networks may be joined to it by hand
    )


def record(work: Work, zone: route53.Zone, host: str, value: pulumi.Input[str], kind: str = "A") -> None:
    """``host`` in the cluster's domain."""
    route53.Record(
        work.child(f"name-{host}"),
        zone_id=zone.zone_id,
        name=f"{host}.{work.plan.network.domain}",
        type=kind,
        ttl=_SECONDS,
        records=[value],
        opts=work.options(),
    )
