from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from supercloud.catalog import Catalog
from supercloud.catalog.reliability import FailureRate
from supercloud.jobs.placement.checkpointing import (
    compute_checkpoint_interval,
    compute_daly_interval,
    compute_mean_time_to_failure,
    compute_waste,
    compute_write_time,
    compute_young_interval,
)
from supercloud.jobs.placement.place import Placement, place
from supercloud.plan.model.plan import Plan
from supercloud.spec import JobSpec

CATALOG = Catalog.load_default()
HOUR = 3600.0


def read_failure_rate(name: str) -> float:
    fact = CATALOG.get(FailureRate, name)
    assert isinstance(fact, FailureRate)
    return fact.per_node_day


@pytest.mark.parametrize("nodes, hours", [(128, 28.8), (512, 7.2), (2048, 1.80), (16384, 0.23)])
def test_the_mean_time_to_failure_follows_the_rates(nodes: int, hours: float) -> None:
    assert compute_mean_time_to_failure(nodes, read_failure_rate("meta-rsc-1")) / HOUR == pytest.approx(hours, abs=0.05)


def test_the_rate_of_llama_3_gives_its_mean_time() -> None:
    assert compute_mean_time_to_failure(2048, read_failure_rate("llama-3-405b")) / HOUR == pytest.approx(
        3.09, abs=0.005
    )
    assert pytest.approx(read_failure_rate("llama-3-405b"), rel=1e-3) == 419 / 54 / 2048


@pytest.mark.parametrize(
    "cost, hours, first, higher",
    [
        (60, 3.09, 1155, 1116),
        (300, 3.09, 2583, 2387),
        (30, 2.75, 771, 751),
    ],
)
def test_the_optimal_interval_follows_young_and_daly(cost: float, hours: float, first: int, higher: int) -> None:
    assert round(compute_young_interval(cost, hours * HOUR)) == first
    assert round(compute_daly_interval(cost, hours * HOUR)) == higher
    best = compute_waste(cost, higher, hours * HOUR, 0)
    assert best < compute_waste(cost, higher * 2, hours * HOUR, 0) and best < compute_waste(
        cost, higher / 2, hours * HOUR, 0
    )


def test_checkpoints_longer_than_the_time_to_failure_are_continuous() -> None:
    assert compute_daly_interval(100, 50) == 50


@pytest.mark.parametrize(
    "checkpoint, seconds",
    [
        ({"size": "625 GB"}, 2.0),
        ({"size": "500 GB", "write": "30 s"}, 30.0),
        ({}, None),
    ],
)
def test_the_size_of_a_checkpoint_follows_the_model(
    job: Callable[..., JobSpec], plan: Plan, checkpoint: dict[str, Any], seconds: float | None
) -> None:
    """The plan's scratch writes 312.5 GB/s: the best tier for five units."""
    asked = job(accelerators={"count": 8}, checkpoint={"path": "/scratch/a"} | checkpoint)
    assert compute_write_time(asked, plan) == seconds
    assert compute_write_time(job(checkpoint={"path": "/scratchy/a", "size": "1 GB"}), plan) is None


def test_the_interval_is_proposed(job: Callable[..., JobSpec], plan: Plan) -> None:
    where = {"path": "/scratch/a", "write": "60 s"}
    at = place(job(accelerators={"count": 992, "type": "h100"}, checkpoint=where), plan, CATALOG)
    assert isinstance(at, Placement)
    assert at.checkpoint_every == round(compute_daly_interval(60, compute_mean_time_to_failure(124, 6.5e-3)))
    own = job(accelerators={"count": 992, "type": "h100"}, checkpoint=where | {"every": "1 h"})
    assert compute_checkpoint_interval(own, plan, 124, CATALOG, "meta-rsc-1") is None
    sized = job(accelerators={"count": 8}, checkpoint={"path": "/scratch/a"}, model={"parameters": 70e9})
    assert compute_write_time(sized, plan) == pytest.approx(0.98e12 / 312.5e9)


@pytest.mark.parametrize(
    "model, saved",
    [
        ({}, 14),
        ({"optimizer": "adam-8bit"}, 8),
        ({"optimizer": "momentum"}, 10),
        ({"optimizer": "none"}, 2),
        ({"precision": "fp32"}, 12),
    ],
)
def test_a_checkpoint_has_weights_and_optimizer_states(
    job: Callable[..., JobSpec], plan: Plan, model: dict[str, str], saved: int
) -> None:
    asked = job(accelerators={"count": 8}, checkpoint={"path": "/scratch/a"}, model={"parameters": 70e9, **model})
    assert compute_write_time(asked, plan) == pytest.approx(70e9 * saved / 312.5e9)
