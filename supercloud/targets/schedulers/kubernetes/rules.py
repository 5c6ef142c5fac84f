"""Prometheus rules: those of the catalog whose metrics are available, driver errors by number, power by rack."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from ....plan.model.plan import Plan, PoolPlan
from ....primitives.quantity import Power
from .accessors import list_accelerator_pools, require_kubernetes_plan
from .manifest import Object

__all__ = ["build_rule_groups", "compute_power_limit"]

_GPU_RESOURCE = "nvidia.com/gpu"
_POWER_METRIC = "DCGM_FI_DEV_POWER_USAGE"
_XID_METRIC = "DCGM_EXP_XID_ERRORS_COUNT"
# Names of node labels in kube-state-metrics.
_POOL, _RACK = "label_supercloud_dev_pool", "label_supercloud_dev_rack"


def build_rule_groups(plan: Plan) -> list[Object]:
    """Build groups of rules in the format of Prometheus and its operator."""
    facts = require_kubernetes_plan(plan)
    found = [
        {
            "name": item.name,
            "rules": [
                _build_alert(rule.name, rule.expr, rule.wait, rule.severity, rule.summary, rule.description)
                for rule in item.alerts
            ],
        }
        for item in facts.alerts
    ]
    if plan.scheduler.xids:
        found.append({"name": "xid", "rules": list(_build_xid_alerts(plan))})
    if power := list(_build_power_alerts(plan)):
        found.append({"name": "power", "rules": power})
    return found


def _build_alert(
    name: str, expr: str, wait: str, severity: str, summary: str, description: str, **labels: str
) -> Object:
    return {
        "alert": name,
        "expr": expr,
        "for": wait,
        "labels": {"severity": severity, **labels},
        "annotations": {"summary": summary, "description": description},
    }


def _build_xid_alerts(plan: Plan) -> Iterator[Object]:
    """Yield one rule per error: the exporter counts each within its window, so that a later error hides no earlier one,
    and the alert ends after the window.
    """
    xids = plan.scheduler.xids
    assert xids is not None
    for item in xids.classes:
        for code in item.codes:
            yield _build_alert(
                f"GpuXid{code}",
                f'{_XID_METRIC}{{xid="{code}"}} > 0',
                "0m",
                item.severity,
                f"A GPU reported XID {code}",
                item.description,
                action=item.action,
            )


def compute_power_limit(plan: Plan, pool: PoolPlan) -> tuple[float, float] | None:
    """Return the power limit in watts of a rack, and the watts of a node without its accelerators; None if unknown."""
    tdp = pool.accelerator.tdp if pool.accelerator else None
    if plan.facility is None or pool.machine.power is None or tdp is None:
        return None
    limits = [group.power_limit for group in plan.facility.racks if group.pool == pool.name and group.power_limit]
    if not limits:
        return None
    return min(limit.to("W") for limit in limits), max(
        0.0, pool.machine.power.to("W") - pool.accelerators_per_node * tdp.to("W")
    )


def _build_power_alerts(plan: Plan) -> Iterator[Object]:
    """Yield alerts on the measured power of the accelerators, plus the maximum power of the rest of each node."""
    node = f'label_replace(sum by (Hostname) ({_POWER_METRIC}), "node", "$1", "Hostname", "(.+)")'
    for pool in list_accelerator_pools(plan, _GPU_RESOURCE):
        if bound := compute_power_limit(plan, pool):
            limit, rest = bound
            labels = f'kube_node_labels{{{_POOL}="{pool.name}"}}'
            yield _build_alert(
                f"RackPower{_to_camel_case(pool.name)}",
                f"sum by ({_RACK}) (({node} + {rest:g}) * on (node) group_left ({_RACK}) {labels}) > {limit:g}",
                "5m",
                "critical",
                f"A rack of pool {pool.name} draws more than its {Power.from_base(Fraction(limit))}",
                "Cap the power of its accelerators (nvidia-smi -pl), or drain one of its nodes.",
            )
    if (
        plan.facility
        and plan.facility.power_budget
        and plan.facility.node_power
        and list_accelerator_pools(plan, _GPU_RESOURCE)
    ):
        devices = sum(
            (pool.accelerator.tdp.to("W") * pool.accelerators)
            for pool in list_accelerator_pools(plan, _GPU_RESOURCE)
            if pool.accelerator and pool.accelerator.tdp
        )
        rest, budget = max(0.0, plan.facility.it_power.to("W") - devices), plan.facility.power_budget.to("W")
        yield _build_alert(
            "SitePower",
            f"sum({_POWER_METRIC}) + {rest:g} > {budget:g}",
            "5m",
            "critical",
            f"The site draws more than its {plan.facility.power_budget}",
            "Cap the power of accelerators, or stop queues.",
        )


def _to_camel_case(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("-"))
