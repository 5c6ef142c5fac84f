"""Checks of a plan: small named functions in a registry.

A check is a generator ``def some_name(plan, catalog) -> Iterator[Finding]``; the name of the function with dashes is
the name that findings carry and ``suppress:`` uses. To add one, write it in the file of its subject and add it to
``CHECKS``. Checks only read: nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from ...catalog import Catalog
from ...errors import Finding, suggest_nearest
from ..model.plan import Plan, SuppressedFinding
from ..model.problems import OTHER_NAMES
from . import (
    adapters,
    bonds,
    cabling,
    cloud,
    cooling,
    fabric,
    given_addresses,
    hosts,
    kubernetes,
    kubernetes_storage,
    leaf_pairs,
    network_names,
    networks,
    optics,
    oversubscription,
    pods,
    pool_networks,
    power,
    racks,
    sharing,
    slurm,
    slurm_cloud,
    spanning_tree,
    sparse_leaves,
    storage,
    storage_cores,
    storage_interfaces,
    storage_networks,
    storage_router,
    subnet,
    subnet_managers,
    switch_managers,
    tenant_hosts,
    users,
    weather,
)

__all__ = ["CHECKS", "Check", "format_check_name", "run_checks"]

Check = Callable[[Plan, Catalog], Iterator[Finding]]

CHECKS: tuple[Check, ...] = (
    *adapters.CHECKS,
    *cabling.CHECKS,
    *cloud.CHECKS,
    *cooling.CHECKS,
    *given_addresses.CHECKS,
    *weather.CHECKS,
    *power.CHECKS,
    *racks.CHECKS,
    fabric.fabric_port_assumed,
    fabric.fabric_rack_management,
    fabric.fabric_rails_disjoint,
    fabric.fabric_speed,
    fabric.fabric_spines,
    fabric.fabric_core_spines,
    fabric.fabric_split_domain,
    fabric.fabric_torus,
    fabric.fabric_unused,
    fabric.fabric_uplinks_unused,
    *pods.CHECKS,
    *pool_networks.CHECKS,
    *network_names.CHECKS,
    *networks.CHECKS,
    *optics.CHECKS,
    *oversubscription.CHECKS,
    *spanning_tree.CHECKS,
    *sparse_leaves.CHECKS,
    *bonds.CHECKS,
    *hosts.CHECKS,
    sharing.mig_profile,
    sharing.slicing_support,
    sharing.tenant_accounting,
    sharing.tenant_limits,
    *storage.CHECKS,
    *storage_cores.CHECKS,
    *storage_interfaces.CHECKS,
    *storage_networks.CHECKS,
    *storage_router.CHECKS,
    *subnet.CHECKS,
    *subnet_managers.CHECKS,
    *switch_managers.CHECKS,
    tenant_hosts.subnet_tenants,
    *slurm.CHECKS,
    *slurm_cloud.CHECKS,
    *users.CHECKS,
    *kubernetes.CHECKS,
    *kubernetes_storage.CHECKS,
    *leaf_pairs.CHECKS,
)


def format_check_name(check: Check) -> str:
    """The name findings of a check carry."""
    return check.__name__.replace("_", "-")


def run_checks(plan: Plan, catalog: Catalog) -> Plan:
    """The plan with the findings of all checks; suppressed ones are listed separately.

    Checks do not run on a plan that lacks what an error of resolution names: their numbers would be wrong.
    """
    is_partial = _is_partial(plan)
    found = list(plan.findings)
    if not is_partial:
        found += [finding for check in CHECKS for finding in check(plan, catalog)]
    names = {format_check_name(check) for check in CHECKS}
    kept, suppressed = [], []
    used: set[int] = set()
    for finding in found:
        index = _find_suppression(plan, finding) if finding.check in names else None
        if index is None:
            kept.append(finding)
        else:
            used.add(index)
            suppressed.append(SuppressedFinding(finding, plan.spec.suppress[index].reason))
    for index, item in enumerate(plan.spec.suppress):
        path = f"suppress[{index}]"
        if item.check not in names:
            kept.append(_build_unknown_check(f"{path}.check", item.check, names))
        elif index not in used and not is_partial:
            kept.append(
                Finding(
                    "suppress-unused",
                    "note",
                    path,
                    f"no finding of {item.check} to suppress",
                    "remove the entry",
                )
            )
    order = {"error": 0, "warning": 1, "note": 2}
    kept.sort(key=lambda finding: order[finding.level])
    return replace(plan, findings=tuple(dict.fromkeys(kept)), suppressed=tuple(suppressed))


def _is_partial(plan: Plan) -> bool:
    """Whether the plan lacks what an error of resolution names: counts, power and hints would be wrong without it."""
    declared = plan.spec
    unknown = [finding.path for finding in plan.findings if finding.check == "unknown-name"]
    is_missing = (
        len(plan.pools) < len(declared.pools)
        or len(plan.fabrics) < len(declared.fabrics)
        or len(plan.storage) < len(declared.storage)
    )
    # an unknown cable or license hides nothing; a pool of an unknown machine has no nodes, or is on no fabric
    return bool(unknown) and (is_missing or any(path.startswith("pools[") for path in unknown))


def _build_unknown_check(path: str, name: str, names: Collection[str]) -> Finding:
    """The finding for an entry of ``suppress`` that names no check."""
    if name in OTHER_NAMES:
        return Finding(
            "suppress-unknown",
            "error",
            path,
            f"{name!r} is not a check: findings of resolution cannot be suppressed",
            "remove the entry, and fix the finding",
        )
    return Finding("suppress-unknown", "error", path, f"unknown check {name!r}", suggest_nearest(name, names))


def _find_suppression(plan: Plan, finding: Finding) -> int | None:
    return next(
        (
            index
            for index, item in enumerate(plan.spec.suppress)
            if item.check == finding.check and item.path in (None, finding.path)
        ),
        None,
    )
