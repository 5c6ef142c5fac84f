"""Tenants are isolated: permissions, volumes, network policies, admission policies, addresses."""

from __future__ import annotations

import pytest
import yaml
from kube_specs import H100, VARIANTS, build_plan, list_bundle_objects, render_objects, select_kind

from supercloud.plan.build.kubernetes.networks import build_cluster_networks
from supercloud.targets import render
from supercloud.targets.schedulers.kubernetes.accessors import require_kubernetes_spec
from supercloud.targets.schedulers.kubernetes.tenants import BLOCKED_RANGES_ANNOTATION


@pytest.mark.slow
def test_permissions_are_limited_to_the_namespace() -> None:
    items = render_objects()
    for space, user in (("llm", "ada"), ("vision", "grace")):
        binding = select_kind(items, "RoleBinding")[f"{space}/tenant"]
        assert [item["name"] for item in binding["subjects"]] == [f"supercloud:{space}", user]
    role = select_kind(items, "ClusterRole")["supercloud-tenant"]
    may = {
        (group, name, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for name in rule["resources"]
        for verb in rule["verbs"]
    }
    assert ("batch", "jobs", "create") in may
    for group, name in (("", "persistentvolumeclaims"), ("", "resourcequotas"), ("kueue.x-k8s.io", "localqueues")):
        assert (group, name, "get") in may and (group, name, "create") not in may
    assert not {name for _, name, _ in may} & {"rolebindings", "networkpolicies", "namespaces", "nodes"}


def test_volumes_are_bound_to_their_tenant() -> None:
    items = render_objects()
    volumes = select_kind(items, "PersistentVolume")
    for space in ("llm", "vision"):
        volume = volumes[f"{space}-scratch"]["spec"]
        assert volume["claimRef"] == {"namespace": space, "name": "scratch"}
        assert volume["hostPath"]["path"] == f"/scratch/{space}"
        assert (
            select_kind(items, "PersistentVolumeClaim")[f"{space}/scratch"]["spec"]["volumeName"] == f"{space}-scratch"
        )


def test_volumes_of_a_cloud_have_placeholders() -> None:
    plan = build_plan(VARIANTS["aws"])
    items = list_bundle_objects(render(plan, "kubernetes"))
    volumes = select_kind(items, "PersistentVolume")
    assert volumes["llm-scratch"]["spec"]["csi"]["volumeAttributes"]["mountname"] == "unknown/llm"
    assert volumes["llm-home"]["spec"]["nfs"]["path"] == "/llm"
    assert "prefix llm/" in volumes["llm-data"]["spec"]["mountOptions"]
    assert set(select_kind(items, "PersistentVolumeClaim")) == {
        f"{space}/{name}" for space in ("llm", "vision") for name in ("scratch", "home", "data")
    }
    filled = select_kind(items, "ConfigMap")["default/storage-handles"]["data"]
    targets = yaml.safe_load(render(plan, "kubernetes")["storage/kustomization.yaml"])["replacements"]
    assert {f"data.[{name}]" for name in filled} == {item["source"]["fieldPath"] for item in targets}


def test_pods_reach_their_own_namespace_and_external_networks() -> None:
    policies = select_kind(render_objects(), "NetworkPolicy")
    assert {name.split("/")[1] for name in policies} == {"default-deny", "own-pods", "names", "outside"}
    [rule] = policies["llm/outside"]["spec"]["egress"]
    left_out = ["10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12"]
    assert rule["to"][0]["ipBlock"] == {"cidr": "0.0.0.0/0", "except": left_out}
    note = policies["llm/outside"]["metadata"]["annotations"][BLOCKED_RANGES_ANNOTATION]
    assert "100.64.0.0/10 (management, bmc, switch)" in note


@pytest.mark.parametrize("name", VARIANTS)
def test_admission_policies_apply_to_every_tenant(name: str) -> None:
    """Whatever the fabrics: no level of Pod Security restricts nodes, services, and volumes of other kinds."""
    plan = build_plan(VARIANTS[name])
    items = list_bundle_objects(render(plan, "kubernetes"))
    bound = {item["spec"]["policyName"] for item in select_kind(items, "ValidatingAdmissionPolicyBinding").values()}
    if plan.tenants:
        assert {"supercloud-tenant-pods", "supercloud-tenant-services"} <= bound
        if require_kubernetes_spec(plan).queue == "kueue":  # a pod of no job is one to a queue
            own = select_kind(items, "ValidatingAdmissionPolicy")["supercloud-tenant-bare-pods"]["spec"]["validations"]
            assert "supercloud-tenant-bare-pods" in bound
            assert ["priority-class" in own[0]["expression"], "activeDeadlineSeconds" in own[1]["expression"]] == [
                True
            ] * 2
            templates = {f"supercloud-tenant-{kind}-templates" for kind in ("job", "jobset", "leaderworkerset")}
            assert templates <= bound, "without a label Kueue takes the priority of the template"
        rules = select_kind(items, "ValidatingAdmissionPolicy")["supercloud-tenant-pods"]["spec"]["validations"]
        text = " ".join(rule["expression"] for rule in rules)
        fields = (
            "hostNetwork",
            "hostPort",
            "nodeName",
            "procMount",
            "seccompProfile",
            "appArmorProfile",
            "sysctls",
            "seLinuxOptions",
            "livenessProbe",
            "preStop",
            "hostProcess",
            "hostPID",
            "privileged",
        )
        assert not [field for field in fields if field not in text]
        assert "ephemeral)" not in text, "the controller would make claims that the role of tenants forbids"
        claims = select_kind(items, "ValidatingAdmissionPolicy")["supercloud-tenant-claims"]["spec"]["validations"]
        assert "supercloud-tenant-claims" in bound and "resource('resourcequotas')" in claims[0]["expression"]


def test_a_limit_of_zero_rails_does_not_give_the_hosts_network() -> None:
    policies = select_kind(
        list_bundle_objects(render(build_plan(VARIANTS["roce"]), "kubernetes")), "ValidatingAdmissionPolicy"
    )
    values = [
        rule["expression"]
        for rule in policies["supercloud-tenant-pods"]["spec"]["validations"]
        if "hostNetwork is allowed only for" in rule["message"]
    ]
    assert len(values) == 1 and "isGreaterThan(quantity('0'))" in values[0]


def test_networks_of_pods_and_services_do_not_overlap_with_others() -> None:
    plan = build_plan({"pools": [H100 | {"nodes": 4000}]})
    networks = build_cluster_networks(plan)
    assert networks.pods and networks.services
    assert networks.pods.num_addresses // 256 >= 2 * 4000
    taken = [plan.network.management, *(pool.addresses.block for pool in plan.pools)]
    taken += [subnet.block for subnet in plan.networks.subnets] if plan.networks else []
    assert not [block for block in taken if block.overlaps(networks.pods) or block.overlaps(networks.services)]
    assert not networks.pods.overlaps(networks.services)
