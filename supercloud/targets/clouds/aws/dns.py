"""Private DNS names: known in advance, so that nodes find the controller also after it is replaced."""

from __future__ import annotations

import pulumi
from pulumi_aws import route53

from ..build_context import BuildContext
from .network import Network

__all__ = ["create_record", "create_zone"]

_RECORD_TTL_SECONDS = 30
"""Time to live: how long nodes use the address of a replaced controller."""


def create_zone(context: BuildContext, network: Network) -> pulumi.Input[str]:
    """Return the identifier of the user's private zone, or of a new one of the cluster's domain."""
    if context.cloud.network.existing_zone is not None:
        return context.cloud.network.existing_zone
    zone = route53.Zone(
        context.name_child("zone"),
        name=context.plan.network.domain,
        comment=f"Machines of {context.plan.name}",
        vpcs=[{"vpc_id": network.id}],
        force_destroy=True,  # also deletes records that a controller added
        tags=context.build_tags("zone"),
        opts=context.build_options(ignore_changes=["vpcs"]),  # further VPCs may be associated manually
    )
    return zone.zone_id


def create_record(
    context: BuildContext, zone: pulumi.Input[str], host: str, value: pulumi.Input[str], record_type: str = "A"
) -> None:
    """Create the record of ``host`` in the cluster's domain."""
    route53.Record(
        context.name_child(f"name-{host}"),
        zone_id=zone,
        name=f"{host}.{context.plan.network.domain}",
        type=record_type,
        ttl=_RECORD_TTL_SECONDS,
        records=[value],
        opts=context.build_options(),
    )
