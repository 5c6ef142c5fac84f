"""Admission rules that restrict a tenant's pods to the devices that are counted for them.

A runtime class can provide devices without the device plugin. Ports of fabrics have no separate quota: they are tied to
the accelerators of their node, in proportion to the accelerators that a job requests.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from ....plan.build.kubernetes.fabrics import list_attachments
from ....plan.build.kubernetes.quota import CPU, MEMORY, compute_node_resources
from ....plan.model.plan import Plan
from .accessors import has_device_claims, require_kubernetes_plan
from .baseline import format_cel_list
from .manifest import Object

__all__ = ["Ports", "format_request_rule", "list_accelerator_ports", "build_rules", "build_variables"]

_WHOLE = ("host-device", "provider-plugin")
"""Kinds of attachment with which a port belongs to one pod at a time."""


@dataclass(frozen=True)
class Ports:
    """A resource name of ports, for all pools that have it."""

    name: str
    devices: frozenset[str]
    """Resource names of the accelerators of the same nodes."""
    share: Fraction | None
    """Maximum ports per accelerator; None if ports are shared, or accelerators are partitioned or shared."""


def format_request_rule(names: list[str]) -> str:
    """Return an expression: some container requests one of these resources; a limit of zero grants none."""
    some = f"k in {format_cel_list(names)} && quantity(string(m[k])).isGreaterThan(quantity('0'))"
    return f"variables.containers.exists(c, [c.?resources.?limits.orValue({{}})].exists(m, m.exists(k, {some})))"


def build_variables(plan: Plan) -> list[Object]:
    """Return the variables of the rules, in addition to those of the baseline."""
    devices = sorted({name for ports in list_accelerator_ports(plan) for name in ports.devices})
    if not devices:
        return []
    return [{"name": "accelerators", "expression": _format_sum("variables.pod.containers", devices)}]


def build_rules(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield each rule with the message of its violation."""
    classes = {
        stack.runtime_class: name for name, stack in require_kubernetes_plan(plan).stacks.items() if stack.runtime_class
    }
    given = "variables.pod.?runtimeClassName.orValue('')"
    allowed = [
        f"({given} == '{name}' && {format_request_rule([resource])})" for name, resource in sorted(classes.items())
    ]
    only = "".join(f", except {name} for pods that request {resource}" for name, resource in sorted(classes.items()))
    yield (
        " || ".join([f"{given} == ''", *allowed]),
        f"runtimeClassName is not allowed{only}: devices are provided by the resources that a pod requests",
    )
    # claims specify their devices in another object
    claims = "variables.pod.?resourceClaims.orValue([]).size() > 0 || " if has_device_claims(plan) else ""
    for share, names in _group_by_share(plan).items():
        if share is None:
            yield (
                f"{claims}!{format_request_rule(names)} || variables.accelerators > 0",
                f"{_format_names(names)}: only for pods that request accelerators",
            )
        else:
            asked = _format_sum("variables.containers", ["r"], quoted=False)
            yield (
                f"{claims}{format_cel_list(names)}.all(r, {asked} * {share.denominator} <= "
                f"variables.accelerators * {share.numerator})",
                f"{_format_names(names)}: at most {share.numerator} of each per {share.denominator} accelerators "
                "of the pod, over all containers and initContainers",
            )


def _format_sum(containers: str, names: list[str], quoted: bool = True) -> str:
    """Return an expression: the sum of these resources over the containers."""
    keys = [f"'{name}'" if quoted else name for name in names]
    each = " + ".join(f"quantity(string(c.?resources.?limits[?{key}].orValue('0'))).asInteger()" for key in keys)
    return f"{containers}.map(c, {each}).sum()"


def _format_names(names: list[str]) -> str:
    return f"{names[0]} to {names[-1]}" if len(names) > 2 else ", ".join(names)


def _group_by_share(plan: Plan) -> dict[Fraction | None, list[str]]:
    """Resource names of ports by their share."""
    found: dict[Fraction | None, list[str]] = {}
    for ports in list_accelerator_ports(plan):
        found.setdefault(ports.share, []).append(ports.name)
    return found


def list_accelerator_ports(plan: Plan) -> list[Ports]:
    """Return ports that are on nodes with accelerators in every pool that has them: other ports are for any pod."""
    found: dict[str, Ports | None] = {}
    for pool in plan.pools:
        devices = frozenset(compute_node_resources(pool)) - {CPU, MEMORY}
        for reach in list_attachments(plan, pool):
            whole = reach.mode in _WHOLE and pool.slicing is None
            for name, number in reach.resources.items():
                own = (
                    Ports(name, devices, Fraction(number, pool.accelerators_per_node) if whole else None)
                    if devices
                    else None
                )
                found[name] = _combine_ports(found[name], own) if name in found else own
    return [item for item in found.values() if item]


def _combine_ports(one: Ports | None, other: Ports | None) -> Ports | None:
    """Combine the same ports of two pools: the less restrictive of both."""
    if one is None or other is None:
        return None
    share = max(one.share, other.share) if one.share and other.share else None
    return Ports(one.name, one.devices | other.devices, share)
