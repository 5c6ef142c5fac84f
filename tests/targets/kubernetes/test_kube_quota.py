"""Quotas of the rendered queues: their sums, limits of tenants, whole nodes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from kube_specs import H100, read_quota, render_objects, select_kind

from supercloud.plan.build.kubernetes.quota import split_by_fractions


@settings(deadline=None)
@given(st.integers(0, 10_000), st.lists(st.integers(0, 100), min_size=1, max_size=20))
def test_shares_add_up(total: int, shares: list[int]) -> None:
    whole = sum(shares) or 1
    parts = split_by_fractions(total, [share / whole for share in shares])
    assert sum(parts) == (total if sum(shares) else 0)
    assert all(abs(part - total * share / whole) < 1 for part, share in zip(parts, shares, strict=True))


def test_tenants_get_whole_nodes() -> None:
    queues = select_kind(render_objects({"pools": [H100 | {"nodes": 127, "spares": 1}]}), "ClusterQueue")
    gpus = [read_quota(queues[name], "train", "nvidia.com/gpu") for name in ("llm", "vision")]
    assert gpus == [88 * 8, 38 * 8]
    assert [read_quota(queues[name], "train", "cpu") for name in ("llm", "vision")] == [88 * 224, 38 * 224]
    assert {name: item["spec"]["fairSharing"]["weight"] for name, item in queues.items()} == {
        "llm": "70",
        "vision": "30",
    }


def test_small_pools_are_shared_by_accelerator() -> None:
    tenants = [{"name": name} for name in ("a", "b", "c")]
    queues = select_kind(render_objects({"pools": [H100 | {"nodes": 2}], "tenants": tenants}), "ClusterQueue")
    assert sorted(read_quota(item, "train", "nvidia.com/gpu") or 0 for item in queues.values()) == [5, 5, 6]


def test_limits_apply_to_owned_and_borrowed_quota() -> None:
    tenants = [
        {"name": "a", "share": 50, "limits": {"accelerators": 64}},
        {"name": "b", "share": 25, "borrow": False},
        {"name": "c", "share": 25, "limits": {"nodes": 20, "submitted": 5, "max_time": "1 d"}},
    ]
    items = render_objects({"tenants": tenants})
    queues, cohort = select_kind(items, "ClusterQueue"), select_kind(items, "Cohort")["pod1"]
    assert read_quota(queues["a"], "train", "nvidia.com/gpu") == 64
    assert read_quota(queues["a"], "train", "nvidia.com/gpu", "borrowingLimit") == 0
    assert read_quota(queues["b"], "train", "nvidia.com/gpu", "borrowingLimit") == 0
    assert read_quota(queues["c"], "train", "nvidia.com/gpu", "borrowingLimit") == (20 - 16) * 8
    assert read_quota(cohort, "train", "nvidia.com/gpu") == (32 - 8) * 8, "what a limit keeps from a tenant is for all"
    hard = {name: item["spec"]["hard"] for name, item in select_kind(items, "ResourceQuota").items()}
    assert hard["a/tenant"] == {"requests.nvidia.com/gpu": "64"} and hard["c/tenant"]["count/jobs.batch"] == "5"
    assert "b/tenant" not in hard
    assert select_kind(items, "Namespace")["c"]["metadata"]["labels"]["supercloud.dev/longest-seconds"] == "86400"


def test_a_queue_accepts_only_jobs_of_its_namespace() -> None:
    items = render_objects()
    for name, queue in select_kind(items, "ClusterQueue").items():
        assert queue["spec"]["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": name}}
    assert set(select_kind(items, "LocalQueue")) == {"llm/llm", "vision/vision"}
