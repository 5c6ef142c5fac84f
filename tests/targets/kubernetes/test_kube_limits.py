"""A tenant's limits are for all its pools together: queues hold them, and admit nothing that a quota then refuses."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kube_specs import build_plan, list_bundle_objects, select_kind

from supercloud.catalog import Catalog
from supercloud.catalog.kubernetes import ControlPlane
from supercloud.jobs.placement.place import Placement, Refusal, why_not
from supercloud.plan.build.kubernetes.quota import (
    CPU,
    compute_max_resources,
    compute_node_resources,
    compute_pool_capacity,
    compute_tenant_quotas,
)
from supercloud.plan.model.plan import Plan, TenantPlan
from supercloud.spec import JobSpec
from supercloud.spec.tenant import TenantLimits
from supercloud.targets import render

H100 = {"name": "train", "machine": "dgx-h100", "nodes": 64}
POOLS: list[dict[str, Any]] = [
    H100,
    H100 | {"name": "dev", "nodes": 4},
    {"name": "mi", "machine": "mi300x-8gpu", "nodes": 16},
    H100 | {"name": "shared", "nodes": 3, "slicing": {"shards": 4}},
    {"name": "cut", "machine": "dgx-h100", "nodes": 8, "slicing": {"mig": {"1g.10gb": 7}, "accelerators": 4}},
]
QUEUES = ["kueue", "volcano"]


@cache
def build_several_pools() -> Plan:
    return build_plan({"pools": POOLS, "fabrics": [], "storage": [], "facility": None})


LIMIT = st.none() | st.integers(0, 700)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 70), min_size=5, max_size=5),
    count=st.integers(1, 5),
    most=LIMIT,
    nodes=LIMIT,
    share=st.integers(0, 90),
    borrow=st.booleans(),
    alone=st.booleans(),
)
def test_limits_of_a_tenant_apply_across_pools(
    sizes: list[int], count: int, most: int | None, nodes: int | None, share: int, borrow: bool, alone: bool
) -> None:
    plan = build_several_pools()
    pools = [replace(pool, nodes=size, spares=0) for pool, size in zip(plan.pools, sizes, strict=True)][-count:]
    if alone:
        pools[0] = replace(pools[0], tenants=("other",))
    limits = TenantLimits(accelerators=most, nodes=nodes)
    limited = TenantPlan("limited", share, share / (share + 10), "normal", (), limits, borrow)
    other = TenantPlan("other", 10, 10 / (share + 10), "normal", (), TenantLimits(), True)
    plan = replace(plan, pools=tuple(pools), tenants=(limited, other))
    shares = compute_tenant_quotas(plan)
    own_parts = list(zip(pools, shares["limited"], strict=True))
    counted = [
        (own, compute_pool_capacity(pool)[name], name)
        for pool, own in own_parts
        if pool.accelerator and (name := pool.accelerator.kubernetes) in own.nominal and name
    ]
    if most is not None:
        given_out = sum(own.nominal[name] + own.borrowing_limit[name] for own, _, name in counted)
        assert given_out <= most
        if borrow and nodes is None and not alone:
            assert given_out == min(most, sum(capacity for _, capacity, _ in counted)), "given out in full"
    if nodes is not None:
        taken = (
            -(-(own.nominal[CPU] + own.borrowing_limit[CPU]) // compute_node_resources(pool)[CPU])
            for pool, own in own_parts
        )
        assert sum(taken) <= nodes
    for pool, *parts in zip(pools, *shares.values(), strict=True):
        for name, capacity in compute_pool_capacity(pool).items():
            assert all(own.nominal[name] >= 0 and own.borrowing_limit.get(name, 0) >= 0 for own in parts)
            assert sum(own.nominal[name] for own in parts) <= capacity, name


@pytest.mark.parametrize("queue", QUEUES)
@pytest.mark.parametrize("most", [1, 12, 64, 500])
def test_queues_admit_no_more_than_the_quota_of_the_namespace(queue: str, most: int) -> None:
    tenants = [{"name": "a", "share": 60, "limits": {"accelerators": most}}, {"name": "b", "share": 40}]
    scheduler = {"kind": "kubernetes", "version": "1.36", "queue": queue}
    items = list_bundle_objects(
        render(
            build_plan(
                {
                    "pools": POOLS[:2],
                    "fabrics": [],
                    "storage": [],
                    "facility": None,
                    "tenants": tenants,
                    "scheduler": scheduler,
                }
            ),
            "kubernetes",
        )
    )
    hard = int(select_kind(items, "ResourceQuota")["a/tenant"]["spec"]["hard"]["requests.nvidia.com/gpu"])
    if queue == "kueue":
        [group] = select_kind(items, "ClusterQueue")["a"]["spec"]["resourceGroups"]
        found = [
            item for flavor in group["flavors"] for item in flavor["resources"] if item["name"] == "nvidia.com/gpu"
        ]
        admitted = sum(int(item["nominalQuota"]) + int(item["borrowingLimit"]) for item in found)
    else:
        spec = select_kind(items, "Queue")["a"]["spec"]
        assert int(spec["deserved"]["nvidia.com/gpu"]) <= int(spec["capability"]["nvidia.com/gpu"])
        admitted = int(spec["capability"]["nvidia.com/gpu"])
    assert admitted == most <= hard


def test_a_limit_that_is_divided_among_pools_is_reported() -> None:
    changes: dict[str, Any] = {
        "pools": POOLS[:2],
        "fabrics": [],
        "storage": [],
        "facility": None,
        "tenants": [{"name": "a", "limits": {"accelerators": 64}}],
    }
    [finding] = [item for item in build_plan(changes).findings if item.check == "kubernetes-tenant-limits"]
    assert (finding.level, finding.path) == ("note", "tenants[0].limits.accelerators")
    assert "64 of 512 on train, 0 of 32 on dev" in finding.problem
    volcano = {"scheduler": {"kind": "kubernetes", "version": "1.36", "queue": "volcano"}}
    for one in ({"pools": POOLS[:1]}, volcano, {"tenants": [{"name": "a", "limits": {"accelerators": 600}}]}):
        found = build_plan(changes | one).findings
        assert not [item for item in found if item.check == "kubernetes-tenant-limits"], one


LARGE: dict[str, Any] = {
    "pools": POOLS[:2],
    "fabrics": [],
    "storage": [],
    "facility": None,
    "tenants": [{"name": "a", "limits": {"accelerators": 64}}, {"name": "b"}],
}


def place_job(changes: dict[str, Any], count: int, pool: str, tenant: str = "a") -> Placement | Refusal:
    asked = {"name": "j", "command": ["true"], "accelerators": {"count": count}, "tenant": tenant, "image": "r/i:t"}
    return why_not(JobSpec.model_validate(asked), build_plan(LARGE | changes), Catalog.load_default())[pool]


@pytest.mark.slow
def test_a_job_that_the_queue_of_its_tenant_never_admits_is_refused() -> None:
    refusal = place_job({}, 32, "dev")
    assert isinstance(refusal, Refusal)
    assert "needs 32 nvidia.com/gpu" in refusal.reason and "tenant a admits at most" in refusal.reason
    most = refusal.change["accelerators.count"] if refusal.change else 0
    assert isinstance(most, int) and (not most or isinstance(place_job({}, most, "dev"), Placement))
    assert isinstance(place_job({}, 32, "train"), Placement) and isinstance(place_job({}, 32, "dev", "b"), Placement)
    for suggestion in (
        {"tenants": [{"name": "a", "limits": {"accelerators": 544}}, {"name": "b"}]},
        {"pools": [POOLS[0] | {"name": "dev", "nodes": 68}]},
        {"scheduler": {"kind": "kubernetes", "version": "1.36", "queue": "volcano"}},
    ):
        assert isinstance(place_job(suggestion, 32, "dev"), Placement), f"the note names it: {suggestion}"
    own = {"tenants": [{"name": "a", "share": 1, "borrow": False}, {"name": "b", "share": 3}]}
    for queue, least in (("kueue", 136), ("volcano", 144)):
        alone = place_job(
            own | {"scheduler": {"kind": "kubernetes", "version": "1.36", "queue": queue}}, least, "train"
        )
        assert isinstance(alone, Refusal) and "raise share of the tenant" in alone.suggestion, queue
        assert alone.change and "at most" in alone.reason


@pytest.mark.slow
@pytest.mark.parametrize("queue", QUEUES)
def test_placed_jobs_are_within_the_quota_of_queues(queue: str) -> None:
    """The placement and the bundle count alike: one accelerator more than the queue admits is refused."""
    changes = LARGE | {"scheduler": {"kind": "kubernetes", "version": "1.36", "queue": queue}}
    items = list_bundle_objects(render(build_plan(changes), "kubernetes"))
    if queue == "kueue":
        [group] = select_kind(items, "ClusterQueue")["a"]["spec"]["resourceGroups"]
        [quota] = [
            item
            for flavor in group["flavors"]
            if flavor["name"] == "train"
            for item in flavor["resources"]
            if item["name"] == "nvidia.com/gpu"
        ]
        most = int(quota["nominalQuota"]) + int(quota["borrowingLimit"])
    else:
        most = int(select_kind(items, "Queue")["a"]["spec"]["capability"]["nvidia.com/gpu"])
    more = {"tenants": [{"name": "a", "limits": {"accelerators": 64}}, {"name": "b"}]}
    assert isinstance(place_job(changes | more, most // 8 * 8, "train"), Placement)
    assert isinstance(place_job(changes | more, most // 8 * 8 + 8, "train"), Refusal)


def test_a_tenant_without_access_to_one_pool_is_not_bound_in_the_others() -> None:
    plan = build_plan(LARGE | {"tenants": [{"name": "a"}, {"name": "b"}]})
    first, second = plan.pools
    shares = compute_tenant_quotas(replace(plan, pools=(replace(first, tenants=("b",)), second)))
    assert compute_max_resources(shares["a"]) == {} == compute_max_resources(shares["b"])
    assert compute_max_resources(shares["a"][:1]).get("nvidia.com/gpu") == 0


@pytest.mark.parametrize(
    "nodes, reads, writes", [(1, 400, 200), (500, 400, 200), (501, 1500, 500), (3000, 1500, 500), (3001, 3000, 1000)]
)
def test_request_limits_follow_the_size_of_the_cluster(nodes: int, reads: int, writes: int) -> None:
    limits = Catalog.load_default().get(ControlPlane, "kubeadm").select_request_limits(nodes)
    assert (limits.reads, limits.writes) == (reads, writes)
