"""Kueue, JobSet and LeaderWorkerSet as processes outside the cluster, with resources and webhooks in the cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from kube_certificates import Certificates
from kube_processes import Processes, find_free_ports

Json = dict[str, Any]

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_OWN = ("kube-system", "kueue-system", "jobset-system", "lws-system")
# as their kustomizations add it: the webhooks for pods get only pods of their own
_PODS_OF = {"jobset": "jobset.sigs.k8s.io/jobset-name", "lws": "leaderworkerset.sigs.k8s.io/name"}
_RESOURCES = {"kueue": "components/crd/bases", "jobset": "components/crd/bases", "lws": "crd/bases"}
_WEBHOOKS = {"kueue": "components/webhook", "jobset": "components/webhook", "lws": "webhook"}
_FRAMEWORKS = ["batch/job", "jobset.x-k8s.io/jobset", "leaderworkerset.x-k8s.io/leaderworkerset", "pod"]


def load_documents(*paths: Path) -> Iterator[Json]:
    """All objects in files."""
    for path in paths:
        yield from (item for item in yaml.load_all(path.read_text(), _LOADER) if item)


class Managers:
    """The three managers; the configuration of Kueue can be that of a rendered bundle."""

    def __init__(self, manifests: Path, processes: Processes, keys: Certificates):
        self._manifests, self._processes, self._keys = manifests, processes, keys
        ports = iter(find_free_ports(9))
        self._ports = {
            name: {"webhook": next(ports), "health": next(ports), "metrics": next(ports)} for name in _RESOURCES
        }

    def iter_resources(self) -> Iterator[Json]:
        """Custom resource definitions; those of Kueue with several versions are converted by its webhook."""
        patches = (self._manifests / "kueue/components/crd/patches").glob("webhook_in_*.yaml")
        converted = {item["metadata"]["name"] for item in load_documents(*patches)} - {"resourceflavors.kueue.x-k8s.io"}
        for name, folder in _RESOURCES.items():
            for item in load_documents(*sorted((self._manifests / name / folder).glob("*.yaml"))):
                if item["kind"] != "CustomResourceDefinition":
                    continue
                if item["metadata"]["name"] in converted:
                    convert = {
                        "conversionReviewVersions": ["v1"],
                        "clientConfig": self._build_client("kueue", "/convert"),
                    }
                    item["spec"]["conversion"] = {"strategy": "Webhook", "webhook": convert}
                yield item

    def iter_webhooks(self) -> Iterator[Json]:
        """Webhook configurations with the addresses of the processes."""
        for name, folder in _WEBHOOKS.items():
            for item in load_documents(self._manifests / name / folder / "manifests.yaml"):
                item["metadata"]["name"] = f"{name}-{item['metadata']['name']}"
                for hook in item["webhooks"]:
                    hook["clientConfig"] = self._build_client(name, hook["clientConfig"]["service"]["path"])
                    if name in _PODS_OF and hook["name"] in ("mpod.kb.io", "vpod.kb.io"):
                        hook["objectSelector"] = {"matchExpressions": [{"key": _PODS_OF[name], "operator": "Exists"}]}
                    groups = {group for rule in hook["rules"] for group in rule["apiGroups"]}
                    if name == "kueue" and groups != {"kueue.x-k8s.io"}:
                        others = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": list(_OWN)}
                        hook["namespaceSelector"] = {"matchExpressions": [others]}
                yield item

    def start(self, kubeconfig: Path, kueue: Json | None = None) -> None:
        """Start them; ``kueue`` is the configuration of Kueue in addition to the settings of the lab."""
        folder = self._processes.folder
        ours = {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "kind": "Configuration",
            "namespace": "kueue-system",
            "integrations": {"frameworks": _FRAMEWORKS},
        } | (kueue or {})
        gates = {"VisibilityOnDemand": False} | ours.get("featureGates", {})
        self._write("kueue", ours | {"featureGates": gates}, f"127.0.0.1:{self._ports['kueue']['metrics']}", 1000)
        for name in ("jobset", "lws"):
            api = f"config.{name}.x-k8s.io/v1alpha1"
            self._write(name, {"apiVersion": api, "kind": "Configuration"}, "0", 500)
        for name in _RESOURCES:
            self._processes.start(
                name, {"config": folder / f"{name}.yaml", "kubeconfig": kubeconfig}, {"KUBECONFIG": str(kubeconfig)}
            )
        for name, ports in self._ports.items():
            self._processes.wait_ready(name, f"http://127.0.0.1:{ports['health']}/readyz")

    def _write(self, name: str, config: Json, metrics: str, rate: int) -> None:
        ports = self._ports[name]
        text = yaml.safe_dump(
            config
            | {
                "health": {"healthProbeBindAddress": f"127.0.0.1:{ports['health']}"},
                "metrics": {"bindAddress": metrics},
                "webhook": {"host": "127.0.0.1", "port": ports["webhook"], "certDir": str(self._keys.folder)},
                "leaderElection": {"leaderElect": False},
                "internalCertManagement": {"enable": False},
                "clientConnection": {"qps": rate, "burst": 2 * rate},
            }
        )
        (self._processes.folder / f"{name}.yaml").write_text(text)

    def _build_client(self, name: str, path: str) -> Json:
        return {"url": f"https://127.0.0.1:{self._ports[name]['webhook']}{path}", "caBundle": self._keys.bundle}
