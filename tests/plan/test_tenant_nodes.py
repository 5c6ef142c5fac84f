"""Nodes that an InfiniBand partition gives to a tenant run the jobs of that tenant only: in Slurm, in Kueue and where
jobs are placed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from supercloud.catalog import Catalog
from supercloud.errors import Finding
from supercloud.jobs.placement.answer import Placement, Refusal
from supercloud.jobs.placement.place import place, why_not
from supercloud.plan.build.fabric.partitions import has_isolated_tenants
from supercloud.plan.build.kubernetes.quota import compute_tenant_quotas
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec import ClusterSpec, JobSpec
from supercloud.targets import render

APART = [{"tenant": "alpha", "hosts": "pa-[0001-0004]"}, {"tenant": "beta", "hosts": "pb-[0001-0003]"}]
KUEUE = {"kind": "kubernetes", "version": "1.34"}


def build_plan(partitions: list[dict[str, Any]] = APART, **changes: Any) -> Plan:
    fabric = {"name": "compute", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm9700"}
    pools = [
        {"name": name, "machine": "dgx-h100", "nodes": nodes, "fabrics": ["compute"]}
        for name, nodes in (("pa", 4), ("pb", 3), ("all", 2))
    ]
    spec = {
        "name": "parts",
        "site": {"kind": "onprem", "location": "stockholm"},
        "pools": pools,
        "scheduler": {"kind": "slurm", "version": "25.11"},
        "fabrics": [fabric | {"partitions": partitions, "m_key": "/etc/opensm/mkey"}],
        "tenants": [{"name": "alpha", "share": 60}, {"name": "beta", "share": 40}],
    }
    return resolve(ClusterSpec.model_validate(spec | changes))


def list_findings(plan: Plan) -> list[Finding]:
    return [item for item in plan.findings if item.check == "subnet-tenants"]


def build_partitioned_plan(*partitions: dict[str, Any], **more: Any) -> Plan:
    return build_plan(**more, scheduler={"kind": "slurm", "version": "25.11", "partitions": list(partitions)})


def test_partitions_allow_the_tenants_of_their_nodes() -> None:
    plan = build_plan()
    assert {item.name: (item.accounts, item.default) for item in plan.scheduler.partitions} == {
        "pa": (("alpha",), False),
        "pb": (("beta",), False),
        "all": ((), True),
    }
    assert not list_findings(plan)


def test_slurm_conf_has_the_accounts_of_partitions() -> None:
    plan = replace(build_plan(), findings=())  # that GUIDs are not known forbids files of the subnet manager only
    text = render(plan, "slurm").files["slurm.conf"].text
    lines = {line.split()[0].partition("=")[2]: line for line in text.splitlines() if line.startswith("PartitionName=")}
    assert "AllowAccounts=alpha" in lines["pa"] and "AllowAccounts=beta" in lines["pb"]
    assert "AllowAccounts" not in lines["all"] and "Default=YES" in lines["all"]


@pytest.mark.parametrize(
    "partitions",
    [
        [],  # no tenant is isolated
        [{"tenant": "alpha"}, {"tenant": "beta"}],
        [{"tenant": "alpha", "hosts": "pa-[0001-0002]"}, {"tenant": "beta", "hosts": "pa-[0003-0004]"}],  # of several
        [{"tenant": "alpha", "hosts": "pa-[0001-0003]"}],  # and of no particular tenant
    ],
)
def test_pools_without_a_tenant_are_for_all(partitions: list[dict[str, Any]]) -> None:
    plan = build_plan(partitions)
    assert plan.scheduler.partitions[0].accounts == () and plan.scheduler.partitions[0].default


def test_a_tenant_without_hosts_can_use_all_nodes() -> None:
    plan = build_plan([*APART, {"tenant": "ops"}], tenants=[{"name": name} for name in ("alpha", "beta", "ops")])
    assert [item.accounts for item in plan.scheduler.partitions] == [("alpha", "ops"), ("beta", "ops"), ()]


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", [{"kind": "slurm", "version": "25.11"}, KUEUE])
def test_a_partition_without_hosts_beside_one_with_hosts_isolates_no_tenant(scheduler: dict[str, Any]) -> None:
    """Its key is on the ports of all tenants, whatever reads who has which nodes. What is advised keeps them apart."""
    mixed = [APART[0], {"tenant": "beta"}]
    (found,) = (item for item in build_plan(mixed, scheduler=scheduler).findings if item.check == "subnet-isolation")
    assert (found.level, found.path) == ("warning", "fabrics[0].partitions[1]")
    assert "beta has no hosts" in found.problem and "the nodes of alpha reach all others with it" in found.problem
    hosts = "all-[0001-0002],pb-[0001-0003]"
    assert found.hint.startswith(f"set hosts: {hosts}; then set guids")  # which alpha lacks as well
    assert has_isolated_tenants(build_plan([APART[0], {"tenant": "beta", "hosts": hosts}]).spec.fabrics[0])
    several = [
        item.hint for item in build_plan([*mixed, {"tenant": "ops"}]).findings if item.check == "subnet-isolation"
    ]
    assert len(several) == 2 and "a part of the nodes that belong to no tenant" in several[0]


@pytest.mark.parametrize("partitions", [APART, [{"tenant": "alpha"}, {"tenant": "beta"}]])
def test_partitions_that_all_have_hosts_or_none_have_no_finding(partitions: list[dict[str, Any]]) -> None:
    assert not any(item.check == "subnet-isolation" for item in build_plan(partitions).findings)


def test_without_tenants_partitions_have_no_accounts() -> None:
    assert [item.accounts for item in build_plan(tenants=[]).scheduler.partitions] == [(), (), ()]


@pytest.mark.slow
def test_a_declared_partition_that_allows_other_tenants_is_reported() -> None:
    (found,) = list_findings(build_partitioned_plan({"name": "fast", "pools": ["pa"]}))
    assert (found.level, found.path) == ("warning", "scheduler.partitions[0]")
    assert "the Slurm partition fast allows jobs of beta on 4 nodes of alpha (pa-[0001-0004])" in found.problem
    assert found.hint == "set accounts: [alpha] there"
    assert not list_findings(build_partitioned_plan({"name": "fast", "pools": ["pa"], "accounts": ["alpha"]}))
    assert not list_findings(build_partitioned_plan({"name": "free", "pools": ["all"]}))
    (both,) = list_findings(build_partitioned_plan({"name": "fast", "pools": ["pa", "all"]}))
    assert both.hint.startswith("declare a separate pool for these nodes")
    (part,) = list_findings(build_plan([{"tenant": "alpha", "hosts": "pa-[0001-0003]"}]))
    assert part.path == "pools" and "3 nodes of alpha (pa-[0001-0003])" in part.problem


def test_an_unknown_pool_of_a_partition_is_one_finding() -> None:
    plan = build_partitioned_plan({"name": "fast", "pools": ["pa", "team-b"]})
    assert [item.path for item in plan.errors if "team-b" in item.problem] == ["scheduler.partitions[0].pools[1]"]


def test_nodes_of_several_tenants_in_one_partition_are_reported() -> None:
    """They cannot communicate, and a job on another tenant's node has its P_Key."""
    plan = build_partitioned_plan({"name": "mixed", "pools": ["pa", "pb"]})
    found = [item.check for item in plan.findings if item.check in ("subnet-tenants", "subnet-jobs")]
    assert sorted(found) == ["subnet-jobs", "subnet-tenants"]
    (leak,) = list_findings(plan)
    assert "has nodes of alpha, beta, and allows jobs of alpha, beta on all of them" in leak.problem
    assert "has its P_Key on compute" in leak.problem and leak.hint.startswith("declare a separate pool for the nodes")


def test_tenants_in_one_pool_are_reported() -> None:
    """The how-to had this form, and nothing kept a tenant's jobs off the other's nodes."""
    parts = [{"tenant": "alpha", "hosts": "pa-[0001-0002]"}, {"tenant": "beta", "hosts": "pa-[0003-0004]"}]
    (leak,) = list_findings(build_plan(parts))
    assert leak.path == "pools" and "the Slurm partition pa has nodes of alpha, beta" in leak.problem


@pytest.mark.parametrize("scheduler", [{"kind": "slurm", "version": "25.11"}, KUEUE])
def test_jobs_are_placed_on_nodes_of_their_tenant(scheduler: dict[str, Any]) -> None:
    plan, facts = build_plan(scheduler=scheduler), Catalog.load_default()
    one = {"name": "job", "command": ["true"], "image": "a/b:1", "accelerators": {"count": 8}}
    beta = JobSpec.model_validate(one | {"accelerators": {"count": 24}, "tenant": "beta"})
    at, refused = place(beta, plan, facts), why_not(beta, plan, facts)["pa"]
    assert isinstance(at, Placement) and at.pool == "pb"
    assert isinstance(refused, Refusal) and "tenant alpha" in refused.reason
    nobody = place(JobSpec.model_validate(one), plan, facts)
    assert isinstance(nobody, Placement) and nobody.pool == "all"


def test_queues_have_no_quota_of_nodes_of_other_tenants() -> None:
    plan = build_plan(scheduler=KUEUE)
    shares = {
        name: [(own.nominal["nvidia.com/gpu"], own.borrowing_limit.get("nvidia.com/gpu")) for own in pools]
        for name, pools in compute_tenant_quotas(plan).items()
    }
    assert shares == {"alpha": [(32, None), (0, 0), (8, None)], "beta": [(0, 0), (24, None), (8, None)]}
    assert not list_findings(plan)


def test_volcano_queues_without_node_binding_are_reported() -> None:
    found = list_findings(build_plan(scheduler=KUEUE | {"queue": "volcano"}))
    assert [item.path for item in found] == ["pools[0]", "pools[1]"] and "kueue" in found[0].hint
