"""Private endpoints: services reached without the internet, through routes (gateway) or addresses (interface)."""

from __future__ import annotations

from pulumi_aws import ec2

from ..work import BuildContext
from .network import Network
from .security import SecurityGroups, allow_prefix_list

__all__ = ["create_endpoints"]


_DUAL_TYPE_SERVICES = ("s3",)
"""Services with endpoints of both kinds. EC2 takes the names of one with an interface for callers from outside only,
which wants a gateway beside it, unless it is told not to."""


def create_endpoints(context: BuildContext, network: Network, security_groups: SecurityGroups) -> None:
    """Every endpoint of the plan. A gateway joins our route tables: the user's network has none of them."""
    for service, kind in sorted(context.cloud.network.endpoints.items()):
        if kind == "gateway":
            _create_gateway_endpoint(context, network, security_groups, service)
        elif security_groups.endpoints is not None:
            _create_interface_endpoint(context, network, security_groups.endpoints, service)


def _create_gateway_endpoint(
    context: BuildContext, network: Network, security_groups: SecurityGroups, service: str
) -> None:
    endpoint = ec2.VpcEndpoint(
        context.name_child(f"endpoint-{service}"),
        vpc_id=network.id,
        service_name=_format_service_name(context, service),
        vpc_endpoint_type="Gateway",
        route_table_ids=list(network.route_table_ids),
        tags=context.build_tags(f"endpoint-{service}"),
        opts=context.build_options(),
    )
    if context.cloud.network.is_isolated:
        allow_prefix_list(context, f"endpoint-{service}", security_groups.cluster, endpoint.prefix_list_id)


def _create_interface_endpoint(
    context: BuildContext, network: Network, security_group: ec2.SecurityGroup, service: str
) -> None:
    seen: set[str | None] = set()
    one_a_zone = []  # an endpoint takes one subnet of a zone; those of the control plane have no room for it
    for subnet in context.cloud.network.subnets:
        if subnet.purpose == "nodes" and (subnet.zone is None or subnet.zone not in seen):
            seen.add(subnet.zone)
            one_a_zone.append(network.subnets[subnet.key])
    ec2.VpcEndpoint(
        context.name_child(f"endpoint-{service}"),
        vpc_id=network.id,
        service_name=_format_service_name(context, service),
        vpc_endpoint_type="Interface",
        private_dns_enabled=True,
        dns_options={"private_dns_only_for_inbound_resolver_endpoint": False}
        if service in _DUAL_TYPE_SERVICES
        else None,
        subnet_ids=one_a_zone,
        security_group_ids=[security_group.id],
        tags=context.build_tags(f"endpoint-{service}"),
        opts=context.build_options(),
    )


def _format_service_name(context: BuildContext, service: str) -> str:
    return f"com.amazonaws.{context.cloud.region}.{service}"
