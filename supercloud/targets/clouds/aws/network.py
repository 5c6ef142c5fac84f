"""The network: a VPC of our own with subnets, routes and gateways, or the user's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_aws import ec2

from ....plan.model.cloud import SubnetPlan
from ..declared import passed
from ..work import Work

__all__ = ["EVERYWHERE", "Network", "network_of"]

EVERYWHERE = "0.0.0.0/0"
_BALANCERS = {True: "kubernetes.io/role/elb", False: "kubernetes.io/role/internal-elb"}
"""Tags by which Kubernetes finds subnets for load balancers, by whether the subnet is public."""


@dataclass(frozen=True)
class Network:
    """What exists of the network."""

    id: pulumi.Input[str]
    subnets: Mapping[str, pulumi.Input[str]]
    routes: tuple[pulumi.Output[str], ...] = ()
    """Route tables of ours, which gateway endpoints join; none in the user's network."""
    vpc: ec2.Vpc | None = None
    ready: tuple[pulumi.Resource, ...] = ()
    """What has to be there before a machine reaches anything."""

    def among(self, keys: tuple[str, ...]) -> list[pulumi.Input[str]]:
        """Identifiers of subnets by key."""
        return [self.subnets[key] for key in keys]


def network_of(work: Work) -> Network:
    """The VPC and its subnets by key, with ways to the internet unless the network is closed."""
    plan = work.cloud.network
    if plan.existing is not None:
        network_id = passed(plan.existing, work.given)
        subnets = {item.key: _subnet(work, item, network_id, ()) for item in plan.subnets}
        return Network(network_id, subnets)
    vpc = ec2.Vpc(
        work.child("vpc"),
        cidr_block=plan.cidrs[0],
        enable_dns_support=True,
        enable_dns_hostnames=True,
        tags=work.tags("vpc"),
        opts=work.options(),
    )
    further = tuple(
        ec2.VpcIpv4CidrBlockAssociation(
            work.child(f"cidr-{cidr.replace('/', '-')}"), vpc_id=vpc.id, cidr_block=cidr, opts=work.options()
        )
        for cidr in plan.cidrs[1:]
    )
    subnets = {item.key: _subnet(work, item, vpc.id, further) for item in plan.subnets}
    way_out = not plan.closed and any(item.public for item in plan.subnets)
    ways = _Ways(work, vpc, subnets)
    if way_out:
        ways.open()
    else:
        ways.table("private", list(plan.subnets))  # without a way out; gateway endpoints join it
    return Network(vpc.id, subnets, tuple(ways.tables), vpc, tuple(ways.ready))


def _subnet(
    work: Work, plan: SubnetPlan, network: pulumi.Input[str], further: tuple[pulumi.Resource, ...]
) -> pulumi.Input[str]:
    if plan.existing is not None:
        return passed(plan.existing, work.given)
    balancers = {_BALANCERS[plan.public]: "1"} if work.plan.scheduler.kind == "kubernetes" else {}
    return ec2.Subnet(
        work.child(plan.key),
        vpc_id=network,
        cidr_block=plan.cidr,
        availability_zone=plan.zone,
        map_public_ip_on_launch=False,  # what needs an address of the internet asks for one itself
        tags=work.tags(plan.key) | balancers,
        opts=work.options(depends_on=list(further)),
    ).id


class _Ways:
    """Routes of a network of ours, as they are made."""

    def __init__(self, work: Work, vpc: ec2.Vpc, subnets: Mapping[str, pulumi.Input[str]]):
        self.work, self.vpc, self.subnets = work, vpc, subnets
        self.tables: list[pulumi.Output[str]] = []
        self.ready: list[pulumi.Resource] = []

    def open(self) -> None:
        """Public subnets through an internet gateway, private ones through a NAT gateway of their zone or the first."""
        public = [item for item in self.work.cloud.network.subnets if item.public]
        private = [item for item in self.work.cloud.network.subnets if not item.public]
        gateway = ec2.InternetGateway(
            self.work.child("internet"), vpc_id=self.vpc.id, tags=self.work.tags("internet"), opts=self.work.options()
        )
        self.route("public-internet", self.table("public", public), gateway_id=gateway.id)
        zones = {item.zone: item for item in reversed(public)}
        for zone in sorted(zones, key=str):
            served = [other for other in private if zones.get(other.zone, public[0]) is zones[zone]]
            if served:
                self.translated(zones[zone], served, gateway)

    def translated(self, public: SubnetPlan, served: list[SubnetPlan], gateway: ec2.InternetGateway) -> None:
        """Private subnets behind a NAT gateway in a public one."""
        work, key = self.work, f"nat-{public.zone}"
        address = ec2.Eip(work.child(f"{key}-address"), domain="vpc", tags=work.tags(key), opts=work.options())
        nat = ec2.NatGateway(
            work.child(key),
            subnet_id=self.subnets[public.key],
            allocation_id=address.id,
            tags=work.tags(key),
            opts=work.options(depends_on=[gateway]),
        )
        name = f"private-{public.zone}"
        self.route(f"{name}-internet", self.table(name, served), nat_gateway_id=nat.id)

    def route(self, key: str, table: ec2.RouteTable, **through: pulumi.Input[str]) -> None:
        """Everything that is not in the network goes this way."""
        made = ec2.Route(
            self.work.child(key),
            route_table_id=table.id,
            destination_cidr_block=EVERYWHERE,
            gateway_id=through.get("gateway_id"),
            nat_gateway_id=through.get("nat_gateway_id"),
            opts=self.work.options(),
        )
        self.ready.append(made)

    def table(self, key: str, members: list[SubnetPlan]) -> ec2.RouteTable:
        """A route table that subnets share."""
        work = self.work
        table = ec2.RouteTable(
            work.child(f"{key}-routes"), vpc_id=self.vpc.id, tags=work.tags(f"{key}-routes"), opts=work.options()
        )
        self.tables.append(table.id)
        for member in members:
            joined = ec2.RouteTableAssociation(
                work.child(f"{member.key}-routes-joined"),
                route_table_id=table.id,
                subnet_id=self.subnets[member.key],
                opts=work.options(),
            )
            self.ready.append(joined)
        return table
