"""A lab with namespaces that have the rendered policies of tenants, and requests that these admit or refuse."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kube_lab import Lab
from samples import ROOT

sys.path.append(str(ROOT / "tests" / "targets" / "kubernetes"))

from kube_specs import VARIANTS, build_plan  # noqa: E402

from supercloud.jobs.engines.kubernetes.api import ApiClient, ApiStatusError, ClusterTransport  # noqa: E402
from supercloud.targets.schedulers.kubernetes import pod_security  # noqa: E402

Json = dict[str, Any]
SPACES = {
    "plain": build_plan(VARIANTS["gaudi"]),
    "pinned": build_plan(),
    "roce": build_plan(VARIANTS["roce"]),
    "host-way": build_plan(
        {
            "pools": [{"name": "mi", "machine": "mi355x-8gpu", "nodes": 16, "fabrics": ["compute"]}],
            "fabrics": [{"name": "compute", "kind": "roce", "shape": "rail-optimized", "switch": "nvidia-sn5600"}],
        }
    ),
}
"""Namespaces by the permissions of their tenants' pods: none, locked memory, the host's network."""
MAIN: Json = {"name": "main", "image": "registry.example.com/train:1"}
CLAIM: Json = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Pi"}}}
RAIL: Json = {"resources": {"limits": {"rdma/compute": "1", "nvidia.com/gpu": "8"}}}
QUIET: Json = {"securityContext": {"capabilities": {"add": ["IPC_LOCK"], "drop": ["NET_RAW"]}}}


@dataclass
class AdmissionLab:
    lab: Lab

    def connect_controller(self) -> ApiClient:
        """A client with the permissions of a controller: claims in all namespaces, and no quotas."""
        return ApiClient(ClusterTransport(config_file=self.lab.write_kubeconfig("controller", "default")))

    def get_refusal(
        self, space: str, spec: Json, kind: str = "Pod", asker: ApiClient | None = None, **metadata: Any
    ) -> str:
        """The reason why an object is refused; empty if it is admitted. ``asker``: the administrator by default."""
        body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "asked", **metadata}, "spec": spec}
        try:
            path = f"/api/v1/namespaces/{space}/{kind.lower()}s"
            (asker or self.lab.api).post(path, body, dryRun="All", fieldValidation="Strict")
        except ApiStatusError as error:
            return str(error)
        return ""


def build_pod(*containers: Json, **more: Any) -> Json:
    return {"containers": list(containers), "restartPolicy": "Never", **more}


def build_service(**more: Any) -> Json:
    return {"selector": {"app": "x"}, "ports": [{"port": 80}], **more}


@contextmanager
def start_admission_lab(folder: Path) -> Iterator[AdmissionLab]:
    """Start a lab, and create the namespaces with their policies."""
    with Lab(folder, people={"controller": "controllers"}) as lab:
        found = AdmissionLab(lab)
        lab.apply(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRole",
                "metadata": {"name": "claims"},
                "rules": [{"apiGroups": [""], "resources": ["persistentvolumeclaims"], "verbs": ["create"]}],
            },
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": "claims"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "claims"},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "controllers"}],
            },
        )
        for space, plan in SPACES.items():
            label = f"supercloud.dev/{space}"
            lab.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space, "labels": {label: "x"}}})
            for item in pod_security.build_objects(plan, label):
                item["metadata"]["name"] += f"-{space}"
                if "policyName" in item["spec"]:
                    item["spec"]["policyName"] += f"-{space}"
                lab.apply(item)
            lab.wait_until(lambda space=space: "hostPID" in found.get_refusal(space, build_pod(MAIN, hostPID=True)))  # type: ignore[misc]
            lab.wait_until(
                lambda space=space: (
                    "resource quotas"
                    in found.get_refusal(  # type: ignore[misc]
                        space, CLAIM, "PersistentVolumeClaim", found.connect_controller()
                    )
                )
            )
            lab.wait_until(
                lambda space=space: "NodePort" in found.get_refusal(space, build_service(type="NodePort"), "Service")  # type: ignore[misc]
            )
        lab.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "free"}})
        for name in ("nvidia", "habana"):  # as operators create them
            lab.apply(
                {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": name}, "handler": name}
            )
        yield found
