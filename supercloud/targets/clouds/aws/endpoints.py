"""Private endpoints: access to services without the internet, by routes (gateway) or addresses (interface)."""

from __future__ import annotations

from pulumi_aws import ec2

from ..build_context import BuildContext
from .network import Network
from .security import SecurityGroups, allow_prefix_list

__all__ = ["create_endpoints"]


_DUAL_TYPE_SERVICES = ("s3",)
"""Services with endpoints of both kinds. By default EC2 resolves the names of an interface endpoint for callers outside
the VPC only, which requires a gateway endpoint too."""


def create_endpoints(context: BuildContext, network: Network, security_groups: SecurityGroups) -> None:
    """Create every endpoint of the plan. Gateways use the route tables of a created network; the user's network has
    none.
    """
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
    one_a_zone = []  # an endpoint uses one subnet per zone; those of the control plane are too small
    for subnet in context.cloud.network.subnets:
        if subnet.purpose == "nodes" and not subnet.is_local and (subnet.zone is None or subnet.zone not in seen):
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
