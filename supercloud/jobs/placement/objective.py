"""The objective of placement: one sum over price, carbon, wait, topology and fragmentation, weighted by the user.

Every term is between 0 and 1, so that weights are comparable. Price and carbon are fractions of those of the most
expensive and highest-carbon candidate; wait is a fraction of wait plus run time; topology and fragmentation are 0 in
the best possible case. An unknown value counts as the worst known one. Sums that differ by less than one in a hundred
count as equal: the next criteria then decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...plan.model.plan import Plan, PoolPlan
from ...primitives.quantity import Price
from ...spec import JobSpec
from ...spec.fleet import FleetPolicy
from ..fleet.domains import DomainAllocation, Domains

__all__ = [
    "ObjectiveTerms",
    "compute_accelerator_energy",
    "compute_carbon",
    "compute_energy",
    "compute_fragmentation",
    "compute_hourly_price",
    "compute_scores",
    "compute_topology_penalty",
    "build_weights",
]

_HOUR = 3600.0


@dataclass(frozen=True)
class ObjectiveTerms:
    """The terms of a candidate, in their units."""

    cost: float | None
    """USD until the time limit, including data transfer."""
    carbon: float | None
    wait: float | None
    """Seconds."""
    run_time: float
    """Seconds; an hour if the job has no time limit."""
    topology: float
    fragmentation: float


def build_weights(job: JobSpec, policy: FleetPolicy) -> Mapping[str, float]:
    """The weight of each term: by default 1 for the minimized one, a quarter for wait, 0 for others."""
    minimize = job.place.minimize or policy.minimize
    weights: dict[str, float] = {"cost": 0.0, "carbon": 0.0, "wait": 0.25, "topology": 0.0, "fragmentation": 0.0}
    weights[minimize] = 1.0
    if job.place.carbon == "prefer-low":
        weights["carbon"] = max(weights["carbon"], 0.5)
    weights.update({str(name): weight for name, weight in (*policy.weights.items(), *job.weights.items())})
    return weights


def compute_scores(terms: Sequence[ObjectiveTerms], weights: Mapping[str, float]) -> list[float]:
    """The weighted sum for each candidate."""
    cost = max((term.cost for term in terms if term.cost is not None), default=0.0) or 1.0
    carbon = max((term.carbon for term in terms if term.carbon is not None), default=0.0) or 1.0
    is_unknown = {
        "cost": all(term.cost is None for term in terms),
        "carbon": all(term.carbon is None for term in terms),
    }
    sums = []
    for term in terms:
        wait = 1.0 if term.wait is None else term.wait / (term.wait + term.run_time)
        sums.append(
            weights["cost"] * (0.0 if is_unknown["cost"] else 1.0 if term.cost is None else term.cost / cost)
            + weights["carbon"]
            * (0.0 if is_unknown["carbon"] else 1.0 if term.carbon is None else term.carbon / carbon)
            + weights["wait"] * wait
            + weights["topology"] * term.topology
            + weights["fragmentation"] * term.fragmentation
        )
    return sums


def compute_hourly_price(plan: Plan, pool: PoolPlan, prices: Mapping[str, Price]) -> float | None:
    """USD per node and hour: the price in the fleet, else that of the cloud in the plan, else the cost of its energy;
    None if all are unknown.
    """
    price = prices.get(pool.name)
    if price is not None:
        return price.to("USD/h")
    if plan.cloud is not None:
        instance = plan.cloud.cost.node_prices.get(pool.name)
        return None if instance is None else instance.to("USD")
    energy = plan.facility.energy_plan if plan.facility else None
    watts = _compute_node_power(pool)
    if energy is None or energy.price is None or watts is None:
        return None
    return energy.price.to("USD/kWh") * watts / 1000 * _get_pue(plan)


def compute_energy(plan: Plan, pool: PoolPlan, nodes: int, seconds: float) -> float | None:
    """Energy in kWh of ``nodes`` nodes at full power, including the overhead of the building (PUE)."""
    watts = _compute_node_power(pool)
    return None if watts is None else watts / 1000 * nodes * seconds / _HOUR * _get_pue(plan)


def compute_accelerator_energy(pool: PoolPlan, nodes: int, seconds: float) -> float | None:
    """Energy in kWh of the accelerators alone, at their TDP: a lower bound for nodes of unknown power."""
    tdp = pool.accelerator.tdp if pool.accelerator else None
    return None if tdp is None else tdp.to("kW") * pool.accelerators_per_node * nodes * seconds / _HOUR


def compute_carbon(plan: Plan, energy: float | None, begin: float, seconds: float) -> float | None:
    """Grams of CO2e of energy drawn evenly from ``begin`` (seconds since 1970) on: hourly if such data are known."""
    if energy is None:
        return None
    supply = plan.facility.energy_plan if plan.facility else None
    if supply and len(supply.carbon_by_hour) == 24:
        return energy * _compute_hourly_mean(supply.carbon_by_hour, begin / _HOUR, max(seconds, 1.0) / _HOUR)
    place = plan.site.location
    intensity = (supply.carbon if supply else None) or (place.carbon if place else None)
    return energy * intensity.to("g/kWh") if intensity else None


def _compute_hourly_mean(day: Sequence[float], begin: float, hours: float) -> float:
    """Mean of a profile that repeats every 24 hours over a span; time beyond whole days is computed hour by hour."""
    days, rest = divmod(hours, 24.0)
    total, at, left = sum(day) * days, begin % 24.0, rest
    while left > 1e-9:
        step = min(left, 1.0 - at % 1.0)
        total += day[int(at) % 24] * step
        at, left = at + step, left - step
    return total / hours


def compute_topology_penalty(domains: Domains, allocation: DomainAllocation, nodes: int) -> float:
    """0 inside one innermost domain, towards 1 the further out and the more scattered the job is placed."""
    if nodes < 2 or allocation.level == 0:
        return 0.0
    scattered = (len(allocation.parts) - 1) / max(1, len(domains.levels[0]))
    return (allocation.level + scattered) / len(domains.levels)


def compute_fragmentation(allocation: DomainAllocation, nodes: int, per_node: int, units: int) -> float:
    """Half the idle share of its nodes, half the share left free in the domains that it fragments."""
    idle = 1 - per_node / units if units and per_node else 0.0
    return 0.5 * idle + 0.5 * allocation.leftover_nodes / (allocation.leftover_nodes + nodes)


def _compute_node_power(pool: PoolPlan) -> float | None:
    """Maximum power of a node: measured, as its part of a rack product, or of its accelerators only."""
    machine = pool.machine
    if machine.power is not None:
        return machine.power.to("W")
    if machine.rack is not None and machine.rack.power is not None:
        return machine.rack.power.to("W") / machine.rack.nodes
    return machine.power_floor.to("W") if machine.power_floor is not None else None


def _get_pue(plan: Plan) -> float:
    return (plan.spec.facility.pue if plan.spec.facility else None) or 1.0
