"""The network: a new VPC with subnets, routes and gateways, or the user's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_aws import ec2

from ....plan.model.cloud import SubnetPlan
from ..build_context import BuildContext
from ..declared import resolve_existing

__all__ = ["ANY_ADDRESS", "Network", "create_network"]

ANY_ADDRESS = "0.0.0.0/0"
_LOAD_BALANCER_TAGS = {True: "kubernetes.io/role/elb", False: "kubernetes.io/role/internal-elb"}
"""Tags by which Kubernetes finds subnets for load balancers, by whether the subnet is public."""


@dataclass(frozen=True)
class Network:
    """The created or existing network."""

    id: pulumi.Input[str]
    subnets: Mapping[str, pulumi.Input[str]]
    route_table_ids: tuple[pulumi.Output[str], ...] = ()
    """Created route tables, which gateway endpoints use; none in the user's network."""
    vpc: ec2.Vpc | None = None
    dependencies: tuple[pulumi.Resource, ...] = ()
    """Resources that machines need for network access."""

    def select_subnet_ids(self, keys: tuple[str, ...]) -> list[pulumi.Input[str]]:
        """Return the identifiers of subnets by key."""
        return [self.subnets[key] for key in keys]


def create_network(context: BuildContext) -> Network:
    """Create the VPC and its subnets by key, with routes to the internet unless the network is isolated."""
    plan = context.cloud.network
    if plan.existing is not None:
        network_id = resolve_existing(plan.existing, context.existing)
        subnets = {item.key: _create_subnet(context, item, network_id, ()) for item in plan.subnets}
        return Network(network_id, subnets)
    vpc = ec2.Vpc(
        context.name_child("vpc"),
        cidr_block=plan.cidrs[0],
        enable_dns_support=True,
        enable_dns_hostnames=True,
        tags=context.build_tags("vpc"),
        opts=context.build_options(),
    )
    further = tuple(
        ec2.VpcIpv4CidrBlockAssociation(
            context.name_child(f"cidr-{cidr.replace('/', '-')}"),
            vpc_id=vpc.id,
            cidr_block=cidr,
            opts=context.build_options(),
        )
        for cidr in plan.cidrs[1:]
    )
    subnets = {item.key: _create_subnet(context, item, vpc.id, further) for item in plan.subnets}
    way_out = not plan.is_isolated and any(item.is_public for item in plan.subnets)
    ways = _RouteBuilder(context, vpc, subnets)
    if way_out:
        ways.create_internet_routes()
    else:
        ways.create_route_table("private", list(plan.subnets))  # without a default route; gateway endpoints use it
    return Network(vpc.id, subnets, tuple(ways.table_ids), vpc, tuple(ways.dependencies))


def _create_subnet(
    context: BuildContext, subnet: SubnetPlan, network: pulumi.Input[str], extra_cidrs: tuple[pulumi.Resource, ...]
) -> pulumi.Input[str]:
    if subnet.existing is not None:
        return resolve_existing(subnet.existing, context.existing)
    balancers = {_LOAD_BALANCER_TAGS[subnet.is_public]: "1"} if context.plan.scheduler.kind == "kubernetes" else {}
    return ec2.Subnet(
        context.name_child(subnet.key),
        vpc_id=network,
        cidr_block=subnet.cidr,
        availability_zone=subnet.zone,
        map_public_ip_on_launch=False,  # machines that need a public address request it explicitly
        tags=context.build_tags(subnet.key) | balancers,
        opts=context.build_options(depends_on=list(extra_cidrs)),
    ).id


class _RouteBuilder:
    """Creates the routes of a new network."""

    def __init__(self, context: BuildContext, vpc: ec2.Vpc, subnets: Mapping[str, pulumi.Input[str]]):
        self.work, self.vpc, self.subnets = context, vpc, subnets
        self.table_ids: list[pulumi.Output[str]] = []
        self.dependencies: list[pulumi.Resource] = []

    def create_internet_routes(self) -> None:
        """Route public subnets through an internet gateway, private ones through the NAT gateway of their zone or the
        first.
        """
        public = [item for item in self.work.cloud.network.subnets if item.is_public]
        private = [item for item in self.work.cloud.network.subnets if not item.is_public]
        gateway = ec2.InternetGateway(
            self.work.name_child("internet"),
            vpc_id=self.vpc.id,
            tags=self.work.build_tags("internet"),
            opts=self.work.build_options(),
        )
        self.create_default_route("public-internet", self.create_route_table("public", public), gateway_id=gateway.id)
        zones = {item.zone: item for item in reversed(public)}
        for zone in sorted(zones, key=str):
            served = [other for other in private if zones.get(other.zone, public[0]) is zones[zone]]
            if served:
                self.create_nat_routes(zones[zone], served, gateway)

    def create_nat_routes(self, public: SubnetPlan, subnets: list[SubnetPlan], gateway: ec2.InternetGateway) -> None:
        """Route private subnets through a NAT gateway in a public one."""
        work, key = self.work, f"nat-{public.zone}"
        address = ec2.Eip(
            work.name_child(f"{key}-address"), domain="vpc", tags=work.build_tags(key), opts=work.build_options()
        )
        nat = ec2.NatGateway(
            work.name_child(key),
            subnet_id=self.subnets[public.key],
            allocation_id=address.id,
            tags=work.build_tags(key),
            opts=work.build_options(depends_on=[gateway]),
        )
        name = f"private-{public.zone}"
        self.create_default_route(f"{name}-internet", self.create_route_table(name, subnets), nat_gateway_id=nat.id)

    def create_default_route(self, key: str, table: ec2.RouteTable, **targets: pulumi.Input[str]) -> None:
        """Create the default route."""
        made = ec2.Route(
            self.work.name_child(key),
            route_table_id=table.id,
            destination_cidr_block=ANY_ADDRESS,
            gateway_id=targets.get("gateway_id"),
            nat_gateway_id=targets.get("nat_gateway_id"),
            opts=self.work.build_options(),
        )
        self.dependencies.append(made)

    def create_route_table(self, key: str, members: list[SubnetPlan]) -> ec2.RouteTable:
        """Create a route table that subnets share."""
        work = self.work
        table = ec2.RouteTable(
            work.name_child(f"{key}-routes"),
            vpc_id=self.vpc.id,
            tags=work.build_tags(f"{key}-routes"),
            opts=work.build_options(),
        )
        self.table_ids.append(table.id)
        for member in members:
            association = ec2.RouteTableAssociation(
                work.name_child(f"{member.key}-routes-association"),
                route_table_id=table.id,
                subnet_id=self.subnets[member.key],
                opts=work.build_options(aliases=[work.build_alias(f"{member.key}-routes-joined")]),
            )
            self.dependencies.append(association)
        return table
