"""Checks of the access to machines and to the control plane of a cloud."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from ....catalog import Catalog, Provider
from ....errors import Finding
from ....primitives.addresses import suggest_network
from ...model.cloud import CloudHost, CloudPlan
from ...model.plan import Plan
from .facts import iter_cloud_facts

__all__ = ["cloud_access", "cloud_principals"]


def cloud_access(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Access to public machines: not empty by mistake, and not open to everyone."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        public = [host for host in cloud.hosts if host.is_reached_from_outside]
        first = {text: index for index, text in reversed(list(enumerate(cloud.network.access)))}
        for index, text in enumerate(cloud.network.access):
            yield from _check_access_range(plan, text, provider, index, is_duplicate=first[text] < index)
        if plan.scheduler.kind == "kubernetes":
            yield from _check_control_plane(cloud)
        elif cloud.network.access and not public:
            yield Finding(
                "cloud-access",
                "warning",
                "network.access",
                "no machine has a public address",
                "set scheduler.login.public, or omit it",
            )
        yield from _check_public_machines(plan, cloud, public)


def cloud_principals(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Members of tenants that the cloud cannot identify, or that have no effect."""
    for index, tenant in enumerate(plan.spec.tenants):
        path = f"tenants[{index}].principals"
        if tenant.principals and (plan.cloud is None or plan.scheduler.kind != "kubernetes"):
            where = "under Slurm" if plan.scheduler.kind == "slurm" else "on-prem"
            yield Finding(
                "cloud-principals", "warning", path, f"identities of a cloud have no effect {where}", "omit it"
            )
            continue
        for _, provider, _ in iter_cloud_facts(plan, catalog):
            rule = provider.identifiers.get("principal")
            for number, text in enumerate(tenant.principals):
                if rule is not None and not re.fullmatch(rule, text):
                    yield Finding(
                        "cloud-principals",
                        "error",
                        f"{path}[{number}]",
                        f"{text!r} is not a role or user of {provider.name}",
                        "set the identifier of the role itself, not of a session of it",
                    )


def _check_access_range(
    plan: Plan, text: str, provider: Provider, index: int, *, is_duplicate: bool
) -> Iterator[Finding]:
    """A range of addresses that is invalid, duplicate, not supported, or the whole internet."""
    path = f"network.access[{index}]"
    try:
        net = ipaddress.ip_network(text)
    except ValueError as error:
        problem = f"{text!r} is not a valid range: {error}"
        yield Finding("cloud-access", "error", path, problem, suggest_network(text, "192.0.2.0/24"))
        return
    if is_duplicate:
        yield Finding("cloud-access", "error", path, f"duplicate range {text}", "list each range once")
    reason = provider.cannot.get("kubernetes:access-ipv6")
    if plan.scheduler.kind == "kubernetes" and net.version == 6 and reason:
        yield Finding("cloud-access", "error", path, f"{text} cannot be allowed: {reason}", "use IPv4 ranges")
    if net.prefixlen == 0:
        yield Finding(
            "cloud-access",
            "warning",
            path,
            "logins are open to the whole internet",
            "set the ranges of your offices or VPN",
        )


def _check_control_plane(cloud: CloudPlan) -> Iterator[Finding]:
    """Ranges for the API of the control plane: without effect in an isolated network, missing in another."""
    if cloud.network.access and cloud.network.is_isolated:
        yield Finding(
            "cloud-access",
            "warning",
            "network.access",
            "the API of the control plane is not reachable from outside of an isolated network",
            "omit it, or 'isolated'",
        )
    if not cloud.network.access and not cloud.network.is_isolated:
        yield Finding(
            "cloud-access",
            "warning",
            "network.access",
            "every address of the internet reaches the API of the control plane: only authentication protects it",
            "set ranges in network.access",
        )


def _check_public_machines(plan: Plan, cloud: CloudPlan, public: list[CloudHost]) -> Iterator[Finding]:
    """Machines that are declared public and are not, or whose addresses no range may reach."""
    scheduler = plan.spec.scheduler
    declared = (scheduler, getattr(scheduler, "login", None), getattr(scheduler, "system", None))
    if any(getattr(item, "public", False) for item in declared) and not public:
        yield Finding(
            "cloud-access",
            "error",
            "scheduler",
            f"machines cannot be public: {_explain_private_machines(plan, cloud)}",
            "omit 'public', or set a public subnet",
        )
    if public and not cloud.network.access:
        yield Finding(
            "cloud-access",
            "note",
            "network.access",
            f"no range is allowed to reach the public addresses of {', '.join(host.key for host in public)}",
            "set ranges in network.access, or use the provider's session service",
        )


def _explain_private_machines(plan: Plan, cloud: CloudPlan) -> str:
    if plan.scheduler.kind == "kubernetes":
        return "nodes of the managed Kubernetes are in private subnets"
    return "an isolated network has no public subnet" if cloud.network.is_isolated else "no subnet is public"
