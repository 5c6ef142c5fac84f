"""Admission of tenants' pods and services by a real API server with the rendered policies.

The pods of the test data of the Pod Security Standards define the baseline: pods that fail there are refused here, and
pods that pass there are admitted, at any level of Pod Security of the namespace.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from admission_lab import CLAIM, MAIN, QUIET, RAIL, SPACES, AdmissionLab, build_pod, build_service, start_admission_lab
from kube_binaries import build_module

from supercloud.jobs.engines.kubernetes.api import ApiStatusError

Json = dict[str, Any]


@pytest.fixture(scope="module")
def admission(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AdmissionLab]:
    with start_admission_lab(tmp_path_factory.mktemp("admission")) as lab:
        yield lab


def _iter_samples(verdict: str) -> Iterator[Any]:
    for path in sorted((build_module() / "manifests" / "pod-security" / verdict).glob("*.yaml")):
        yield path.stem, yaml.safe_load(path.read_text())


@pytest.mark.parametrize("space", SPACES)
def test_pods_that_violate_the_baseline_are_rejected(admission: AdmissionLab, space: str) -> None:
    found = {
        name: admission.get_refusal(space, item["spec"], annotations=item["metadata"].get("annotations", {}))
        for name, item in _iter_samples("fail")
    }
    assert len(found) > 30
    assert all(found.values())
    by_others = {name for name, refusal in found.items() if "supercloud-tenant-pods" not in refusal}
    assert by_others <= {"procmount0", "procmount1"}, "the server requires a user namespace for it"


@pytest.mark.parametrize("space", SPACES)
def test_pods_that_meet_the_baseline_are_admitted(admission: AdmissionLab, space: str) -> None:
    found = {
        name: admission.get_refusal(space, item["spec"], annotations=item["metadata"].get("annotations", {}))
        for name, item in _iter_samples("pass")
    }
    assert len(found) > 10
    stricter = {name: refusal for name, refusal in found.items() if refusal}
    assert stricter.keys() == {"procmount1"}, "only Unmasked within a user namespace is refused in addition"
    assert "procMount must be Default" in stricter["procmount1"]


PROBE: Json = {"httpGet": {"host": "169.254.169.254", "port": 80}}
SOCKET: Json = {"tcpSocket": {"host": "10.0.0.1", "port": 22}}
PLACES = ("containers", "initContainers", "ephemeralContainers")
REFUSED: list[tuple[str, Json, str]] = [
    ("privileged", {"securityContext": {"privileged": True}}, "privileged containers"),
    ("capability", {"securityContext": {"capabilities": {"add": ["NET_RAW"]}}}, "capabilities that may be added"),
    ("proc", {"securityContext": {"procMount": "Unmasked"}}, "procMount"),
    ("seccomp", {"securityContext": {"seccompProfile": {"type": "Unconfined"}}}, "seccompProfile"),
    ("apparmor", {"securityContext": {"appArmorProfile": {"type": "Unconfined"}}}, "appArmorProfile"),
    ("selinux-type", {"securityContext": {"seLinuxOptions": {"type": "spc_t"}}}, "types of seLinuxOptions"),
    ("selinux-user", {"securityContext": {"seLinuxOptions": {"user": "sysadm_u"}}}, "user of seLinuxOptions"),
    ("selinux-role", {"securityContext": {"seLinuxOptions": {"role": "sysadm_r"}}}, "role of seLinuxOptions"),
    ("liveness", {"livenessProbe": PROBE}, "host of a probe"),
    ("readiness", {"readinessProbe": SOCKET}, "host of a probe"),
    ("startup", {"startupProbe": PROBE}, "host of a probe"),
    ("post-start", {"lifecycle": {"postStart": PROBE}}, "host of a probe"),
    ("pre-stop", {"lifecycle": {"preStop": SOCKET}}, "host of a probe"),
    ("host-port", {"ports": [{"containerPort": 80, "hostPort": 8080}]}, "hostPort"),
]


@pytest.mark.parametrize("place", PLACES)
def test_each_rule_applies_to_each_kind_of_container(admission: AdmissionLab, place: str) -> None:
    """Ephemeral containers are added to a running pod by a separate request."""
    admission.lab.apply(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "there", "namespace": "pinned"},
            "spec": build_pod(MAIN),
        }
    )
    wrong = {}
    for name, more, message in REFUSED:
        other = MAIN | {"name": "other"} | more
        if place == "containers":
            refusal = admission.get_refusal("pinned", build_pod(other, terminationGracePeriodSeconds=1))
        elif place == "initContainers":
            always = (
                {"restartPolicy": "Always"}
                if {"livenessProbe", "readinessProbe", "startupProbe", "lifecycle"} & {*more}
                else {}
            )
            refusal = admission.get_refusal("pinned", build_pod(MAIN, initContainers=[other | always]))
        elif {*more} <= {"securityContext"}:  # ephemeral containers have no probes, hooks and ports
            refusal = _try_debugger(admission, other)
        else:
            continue
        if message not in refusal:
            wrong[name] = refusal
    assert not wrong
    assert place != "ephemeralContainers" or not _try_debugger(admission, MAIN | {"name": "other"})


def _try_debugger(admission: AdmissionLab, container: Json) -> str:
    """The refusal of an ephemeral container for the pod ``there``; empty if it is admitted."""
    try:
        admission.lab.api.patch(
            "/api/v1/namespaces/pinned/pods/there/ephemeralcontainers",
            {"spec": {"ephemeralContainers": [container]}},
            "application/strategic-merge-patch+json",
            dryRun="All",
        )
    except ApiStatusError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "more, message",
    [
        ({"hostNetwork": True}, "hostNetwork"),
        ({"hostIPC": True}, "hostIPC"),
        ({"nodeName": "train-0001"}, "nodeName is reserved for the scheduler"),
        ({"volumes": [{"name": "v", "nfs": {"server": "10.0.0.9", "path": "/"}}]}, "volumes that may be used"),
        ({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}, "volumes that may be used"),
        (
            {
                "volumes": [
                    {
                        "name": "v",
                        "ephemeral": {
                            "volumeClaimTemplate": {
                                "spec": {
                                    "accessModes": ["ReadWriteOnce"],
                                    "resources": {"requests": {"storage": "1Pi"}},
                                }
                            }
                        },
                    }
                ]
            },
            "volumes that may be used",
        ),
        ({"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}}, "sysctls that may be set"),
        ({"securityContext": {"seccompProfile": {"type": "Unconfined"}}}, "seccompProfile"),
        ({"securityContext": {"appArmorProfile": {"type": "Unconfined"}}}, "appArmorProfile"),
        ({"securityContext": {"seLinuxOptions": {"role": "sysadm_r"}}}, "role of seLinuxOptions"),
    ],
)
def test_rules_for_the_spec_of_a_pod(admission: AdmissionLab, more: Json, message: str) -> None:
    for space in ("plain", "pinned"):
        assert message in admission.get_refusal(space, build_pod(MAIN, **more))


def test_memory_is_locked_only_where_a_fabric_needs_it(admission: AdmissionLab) -> None:
    locked = build_pod(MAIN | {"securityContext": {"capabilities": {"add": ["IPC_LOCK"]}}})
    assert "capabilities that may be added" in admission.get_refusal("plain", locked)
    assert not admission.get_refusal("pinned", locked) and not admission.get_refusal("roce", locked)


RAILED = MAIN | RAIL | QUIET
HELD = {"securityContext": {"capabilities": {"drop": ["ALL"]}}}


def _request_rails(rails: str) -> Json:
    """A container that requests this quantity of rails."""
    return RAILED | {"resources": {"limits": {"rdma/compute": rails, "nvidia.com/gpu": "8"}}}


@pytest.mark.parametrize(
    "spec, message",
    [
        (build_pod(RAILED, hostNetwork=True), ""),
        (build_pod(RAILED, MAIN | {"name": "log"} | HELD, hostNetwork=True), ""),
        (build_pod(RAILED | {"ports": [{"containerPort": 29500}]}, hostNetwork=True), ""),
        (build_pod(MAIN | QUIET, hostNetwork=True), "only for pods that request rdma/compute"),
        (
            build_pod(MAIN | QUIET | {"resources": {"limits": {"nvidia.com/gpu": "8"}}}, hostNetwork=True),
            "only for pods that",
        ),
        (build_pod(_request_rails("0"), hostNetwork=True), "only for pods that request rdma/compute"),
        (build_pod(_request_rails("0k"), hostNetwork=True), "only for pods that request rdma/compute"),
        (
            build_pod(_request_rails("0"), MAIN | {"name": "log"} | HELD, hostNetwork=True),
            "only for pods that request rdma/compute",
        ),
        (build_pod(_request_rails("1k"), hostNetwork=True), ""),
        (build_pod(_request_rails("0"), RAILED | {"name": "log"}, hostNetwork=True), ""),
        (build_pod(MAIN | RAIL, hostNetwork=True), "must drop the capability NET_RAW"),
        (build_pod(RAILED, MAIN | {"name": "log"}, hostNetwork=True), "must drop the capability NET_RAW"),
        (
            build_pod(RAILED, initContainers=[MAIN | {"name": "first"}], hostNetwork=True),
            "must drop the capability NET_RAW",
        ),
        (build_pod(RAILED | {"ports": [{"containerPort": 80, "hostPort": 80}]}), "hostPort is not allowed"),
        (build_pod(RAILED, hostNetwork=True, hostPID=True), "hostPID"),
        (build_pod(RAILED, hostNetwork=True, nodeName="cp1"), "nodeName"),
    ],
)
def test_only_pods_with_rails_may_use_the_network_of_the_host(
    admission: AdmissionLab, spec: Json, message: str
) -> None:
    refusal = admission.get_refusal("roce", spec)
    assert message in refusal if message else not refusal
    assert admission.get_refusal("pinned", spec), "no fabric of this namespace needs it"


def test_unnamed_rails_are_identified_by_accelerators(admission: AdmissionLab) -> None:
    asked = MAIN | QUIET | {"resources": {"limits": {"amd.com/gpu": "8"}}}
    assert not admission.get_refusal("host-way", build_pod(asked, hostNetwork=True))
    none = MAIN | QUIET | {"resources": {"limits": {"amd.com/gpu": "0"}}}
    assert "only for pods that request amd.com/gpu" in admission.get_refusal(
        "host-way", build_pod(none, hostNetwork=True)
    )
    assert "only for pods that request amd.com/gpu" in admission.get_refusal(
        "host-way", build_pod(MAIN | QUIET, hostNetwork=True)
    )


def test_a_runtime_class_gives_no_devices(admission: AdmissionLab) -> None:
    """NVIDIA's class lets a variable select all GPUs of the node; Gaudi's is for pods that request accelerators."""
    for asked in (MAIN, MAIN | RAIL):
        assert "runtimeClassName is not allowed" in admission.get_refusal(
            "pinned", build_pod(asked, runtimeClassName="nvidia")
        )
    gaudi = MAIN | {"resources": {"limits": {"habana.ai/gaudi": "1"}}}
    assert not admission.get_refusal("plain", build_pod(gaudi, runtimeClassName="habana"))
    for wrong in (build_pod(gaudi, runtimeClassName="nvidia"), build_pod(MAIN, runtimeClassName="habana")):
        assert "except habana for pods that request habana.ai/gaudi" in admission.get_refusal("plain", wrong)


def _request_gpus(name: str = "main", gpus: int = 0, **rails: int) -> Json:
    """A container that requests GPUs, and a number of each rail."""
    limits = {f"nvidia.com/compute-{rail}": str(number) for rail, number in rails.items()}
    return MAIN | {"name": name, "resources": {"limits": limits | {"nvidia.com/gpu": str(gpus)}}}


EVERY = {f"rail{rail}": 1 for rail in range(8)}


@pytest.mark.parametrize(
    "spec, admitted",
    [
        (build_pod(_request_gpus(gpus=8, **EVERY)), True),
        (build_pod(_request_gpus(gpus=8)), True),
        (build_pod(_request_gpus("first", gpus=4), _request_gpus("second", gpus=4, **EVERY)), True),
        (build_pod(_request_gpus(**EVERY)), False),
        (build_pod(_request_gpus(rail3=1)), False),
        (build_pod(_request_gpus(rail3=0)), True),
        (build_pod(_request_gpus(gpus=1, **EVERY)), False),
        (build_pod(_request_gpus("first", gpus=8, rail0=1), _request_gpus("second", rail0=1)), False),
        (build_pod(MAIN, initContainers=[_request_gpus("first", gpus=8, **EVERY)]), False),
        (build_pod(_request_gpus(gpus=8), initContainers=[_request_gpus("first", **EVERY)]), True),
    ],
)
def test_rails_require_the_accelerators_of_their_node(admission: AdmissionLab, spec: Json, admitted: bool) -> None:
    """No quota counts rails: a pod without GPUs could occupy the adapters of a whole node."""
    refusal = admission.get_refusal("pinned", spec)
    assert not refusal if admitted else "at most 1 of each per 8 accelerators" in refusal


def test_shares_of_ports_require_accelerators(admission: AdmissionLab) -> None:
    assert not admission.get_refusal(
        "roce", build_pod(MAIN | {"resources": {"limits": {"rdma/compute": 1, "nvidia.com/gpu": 1}}})
    )
    alone = build_pod(MAIN | {"resources": {"limits": {"rdma/compute": "1"}}})
    assert "rdma/compute: only for pods that request accelerators" in admission.get_refusal("roce", alone)


def test_controllers_create_no_claims_for_tenants(admission: AdmissionLab) -> None:
    """Not from templates in objects of a tenant; administrators can create claims, and everyone in other namespaces."""
    kind = "PersistentVolumeClaim"
    for space in SPACES:
        assert "resource quotas" in admission.get_refusal(space, CLAIM, kind, admission.connect_controller())
        assert not admission.get_refusal(space, CLAIM, kind)
    assert not admission.get_refusal("default", CLAIM, kind, admission.connect_controller())


@pytest.mark.parametrize(
    "more, message",
    [
        ({}, ""),
        ({"clusterIP": "None"}, ""),
        ({"type": "NodePort"}, "NodePort"),
        ({"type": "LoadBalancer"}, "LoadBalancer"),
        ({"externalIPs": ["10.0.0.1"]}, "externalIPs"),
    ],
)
def test_services_of_tenants_are_internal(admission: AdmissionLab, more: Json, message: str) -> None:
    for space in SPACES:
        refusal = admission.get_refusal(space, build_service(**more), "Service")
        assert message in refusal if message else not refusal


def test_older_objects_can_be_labelled_and_deleted(admission: AdmissionLab) -> None:
    """Changes of finalizers, labels and owners are not refused because of the spec with which the pod was admitted."""
    api, path = admission.lab.api, "/api/v1/namespaces/free/pods"
    bad = build_pod(MAIN | {"securityContext": {"privileged": True}})
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "old", "finalizers": ["example.com/x"]},
        "spec": bad,
    }
    api.post(path, body)
    api.patch("/api/v1/namespaces/free", {"metadata": {"labels": {"supercloud.dev/pinned": "x"}}})
    admission.lab.wait_until(lambda: "privileged" in admission.get_refusal("free", bad))
    api.patch(f"{path}/old", {"metadata": {"labels": {"a": "b"}}})
    api.patch(f"{path}/old", {"metadata": {"finalizers": None}})
    api.delete(f"{path}/old")
