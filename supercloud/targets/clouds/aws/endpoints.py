"""Private endpoints: services reached without the internet, through routes (gateway) or addresses (interface)."""

from __future__ import annotations

from pulumi_aws import ec2

from ..work import Work
from .network import Network
from .security import Walls, to_prefixes

__all__ = ["endpoints_of"]


_BOTH = ("s3",)
"""Services with endpoints of both kinds. EC2 takes the names of one with an interface for callers from outside only,
which wants a gateway beside it, unless it is told not to."""


def endpoints_of(work: Work, network: Network, walls: Walls) -> None:
    """Every endpoint of the plan. A gateway joins our route tables: the user's network has none of them."""
    for service, kind in sorted(work.cloud.network.endpoints.items()):
        if kind == "gateway":
            _gateway(work, network, walls, service)
        elif walls.endpoints is not None:
            _interface(work, network, walls.endpoints, service)


def _gateway(work: Work, network: Network, walls: Walls, service: str) -> None:
    endpoint = ec2.VpcEndpoint(
        work.child(f"endpoint-{service}"),
        vpc_id=network.id,
        service_name=_service(work, service),
        vpc_endpoint_type="Gateway",
        route_table_ids=list(network.routes),
        tags=work.tags(f"endpoint-{service}"),
        opts=work.options(),
    )
    if work.cloud.network.closed:
        to_prefixes(work, f"endpoint-{service}", walls.cluster, endpoint.prefix_list_id)


def _interface(work: Work, network: Network, walls: ec2.SecurityGroup, service: str) -> None:
    seen: set[str | None] = set()
    one_a_zone = []  # an endpoint takes one subnet of a zone; those of the control plane have no room for it
    for subnet in work.cloud.network.subnets:
        if subnet.purpose == "nodes" and (subnet.zone is None or subnet.zone not in seen):
            seen.add(subnet.zone)
            one_a_zone.append(network.subnets[subnet.key])
    ec2.VpcEndpoint(
        work.child(f"endpoint-{service}"),
        vpc_id=network.id,
        service_name=_service(work, service),
        vpc_endpoint_type="Interface",
        private_dns_enabled=True,
        dns_options={"private_dns_only_for_inbound_resolver_endpoint": False} if service in _BOTH else None,
        subnet_ids=one_a_zone,
        security_group_ids=[walls.id],
        tags=work.tags(f"endpoint-{service}"),
        opts=work.options(),
    )


def _service(work: Work, service: str) -> str:
    return f"com.amazonaws.{work.cloud.region}.{service}"
