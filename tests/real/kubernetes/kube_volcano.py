"""Volcano's controllers, scheduler and webhooks as processes outside the cluster; its resources are in the cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from kube_binaries import build_module
from kube_lab import Lab
from kube_managers import load_documents
from kube_processes import Processes, find_free_ports

Json = dict[str, Any]

_NAMESPACE, _SERVICE = "volcano-system", "volcano-admission-service"
# the default webhooks of the chart: path -> (group and version, resource, operations)
_HOOKS = {
    "/jobs/mutate": ("batch.volcano.sh/v1alpha1", "jobs", "CREATE"),
    "/jobs/validate": ("batch.volcano.sh/v1alpha1", "jobs", "CREATE UPDATE"),
    "/podgroups/validate": ("scheduling.volcano.sh/v1beta1", "podgroups", "CREATE"),
    "/queues/mutate": ("scheduling.volcano.sh/v1beta1", "queues", "CREATE"),
    "/queues/validate": ("scheduling.volcano.sh/v1beta1", "queues", "CREATE UPDATE DELETE"),
    "/hypernodes/validate": ("topology.volcano.sh/v1alpha1", "hypernodes", "CREATE UPDATE"),
}


class Volcano:
    """Volcano in a running lab; ``scheduler`` is the rendered configuration of the scheduler."""

    def __init__(self, lab: Lab, scheduler: str):
        self._lab = lab
        self.built = build_module("volcano")
        self.processes = Processes(self.built / "bin", lab.folder)
        self._scheduler = lab.folder / "volcano-scheduler.conf"
        self._scheduler.write_text(scheduler)

    def start(self) -> None:
        """Create the resources, then start the programs."""
        crds = sorted((self.built / "manifests" / "crds").glob("*.yaml"))
        self._lab.define(item for item in load_documents(*crds) if item)
        self._lab.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _NAMESPACE}})
        port, *health = find_free_ports(4)
        self._lab.apply(*self._iter_webhooks(port))
        keys = self._lab.keys.folder
        common = {"kubeconfig": self._lab.kubeconfig, "enable-healthz": "true"}
        addresses = dict(zip(("webhook-manager", "controller-manager", "scheduler"), health, strict=True))
        flags: dict[str, dict[str, object]] = {
            "webhook-manager": {
                "enabled-admission": ",".join(_HOOKS),
                "tls-cert-file": keys / "tls.crt",
                "port": port,
                "tls-private-key-file": keys / "tls.key",
                "ca-cert-file": keys / "ca.crt",
                "webhook-namespace": _NAMESPACE,
                "webhook-service-name": _SERVICE,
                "listen-address": "127.0.0.1",
            },
            "controller-manager": {"leader-elect": "false"},
            "scheduler": {"leader-elect": "false", "scheduler-conf": self._scheduler, "cache-dumper": "false"},
        }
        for name, more in flags.items():
            self.processes.start(name, {**common, **more, "healthz-address": f"127.0.0.1:{addresses[name]}"})
        for name, number in addresses.items():
            scheme = "https" if name == "webhook-manager" else "http"
            self.processes.wait_ready(name, f"{scheme}://127.0.0.1:{number}/healthz")
        # the scheduler creates the parent of all other queues
        self._lab.wait_until(lambda: self._lab.api.get("/apis/scheduling.volcano.sh/v1beta1/queues/root"))

    def _iter_webhooks(self, port: int) -> Iterator[Json]:
        for path, (api, resource, operations) in _HOOKS.items():
            group, _, version = api.partition("/")
            mutates = path.endswith("/mutate")
            rule = {
                "apiGroups": [group],
                "apiVersions": [version],
                "resources": [resource],
                "operations": operations.split(),
            }
            client = {"url": f"https://127.0.0.1:{port}{path}", "caBundle": self._lab.keys.bundle}
            yield {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": f"{'Mutating' if mutates else 'Validating'}WebhookConfiguration",
                "metadata": {"name": f"{_SERVICE}{path.replace('/', '-')}"},
                "webhooks": [
                    {
                        "name": f"{path.strip('/').replace('/', '-')}.volcano.sh",
                        "clientConfig": client,
                        "rules": [rule],
                        "admissionReviewVersions": ["v1"],
                        "sideEffects": "NoneOnDryRun",
                        "failurePolicy": "Fail",
                    }
                ],
            }

    def stop(self) -> None:
        """Stop it."""
        self.processes.stop()


def read_scheduler(bundle: Path) -> str:
    """Read the scheduler's configuration from a rendered bundle."""
    values = yaml.safe_load((bundle / "charts" / "volcano.yaml").read_text())
    return str(values["custom"]["scheduler_config_override"])
