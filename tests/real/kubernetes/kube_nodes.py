"""Nodes that KWOK simulates, and the behavior of their pods, which depends on the words of their command.

``sleep N`` runs N seconds, ``exit N`` ends with that code, ``echo …`` prints; any other command completes at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kube_certificates import Certificates
from kube_processes import Processes, find_free_ports

Json = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
_GPU_NODE = {"cpu": "224", "memory": "2Ti", "nvidia.com/gpu": "8"}
_WORDS = '.spec.containers[0].command + (.spec.containers[0].args // []) | join(" ")'
_STAGES = ("node/fast/node-initialize", "node/heartbeat-with-lease/node-heartbeat-with-lease", "pod/fast/pod-ready")
# As with a kubelet: a running pod that is deleted is first ended by a signal, then removed.
_DELETED = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-ended}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: Exists}
    - {key: .status.phase, operator: NotIn, values: [Succeeded, Failed]}
  next:
    statusTemplate: |
      {{ $now := Now }}
      phase: Failed
      containerStatuses:
      {{ range .spec.containers }}
      - image: {{ .image | Quote }}
        name: {{ .name | Quote }}
        ready: false
        restartCount: 0
        started: false
        state:
          terminated: {exitCode: 143, reason: Error, startedAt: {{ $now | Quote }}, finishedAt: {{ $now | Quote }}}
      {{ end }}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-delete}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: Exists}
    - {key: .status.phase, operator: In, values: [Succeeded, Failed]}
  next: {delete: true}
"""
_COMPLETE = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-complete}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
    - {key: .status.phase, operator: In, values: [Running]}
    - {key: '.metadata.ownerReferences.[].kind', operator: In, values: [Job]}
  delay:
    durationMilliseconds: 200
    durationFrom:
      expressionFrom: 'WORDS | capture("sleep (?<s>[0-9]+)").s + "s"'
  next:
    statusTemplate: |
      {{ $now := Now }}
      {{ $main := index .spec.containers 0 }}
      {{ $words := printf "%s %s" (join " " $main.command) (join " " $main.args) }}
      {{ $code := regexFind "exit [0-9]+" $words | trimPrefix "exit " | default "0" }}
      phase: {{ if eq $code "0" }}Succeeded{{ else }}Failed{{ end }}
      containerStatuses:
      {{ range .spec.containers }}
      - image: {{ .image | Quote }}
        name: {{ .name | Quote }}
        ready: false
        restartCount: 0
        started: false
        state:
          terminated:
            exitCode: {{ $code }}
            reason: {{ if eq $code "0" }}Completed{{ else }}Error{{ end }}
            startedAt: {{ $now | Quote }}
            finishedAt: {{ $now | Quote }}
      {{ end }}
""".replace("WORDS", _WORDS)
_LOGS = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterLogs
metadata: {name: all}
spec:
  logs: [{logsFile: FILE, follow: false}]
"""


@dataclass(frozen=True)
class Node:
    """A node to simulate."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Mapping[str, str]] = ()
    allocatable: Mapping[str, str] = field(default_factory=lambda: _GPU_NODE)

    def build_object(self) -> Json:
        """Build the object of the API."""
        has = {"pods": "110", "ephemeral-storage": "10Ti", **self.allocatable}
        labels = {HOSTNAME: self.name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", **self.labels}
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
            "spec": {"taints": [dict(taint) for taint in self.taints]} if self.taints else {},
            "status": {"allocatable": has, "capacity": has},
        }


def start(processes: Processes, manifests: Path, keys: Certificates, kubeconfig: Path) -> None:
    """Start KWOK."""
    folder = processes.folder
    log = folder / "pod.log"
    log.write_text("2026-01-01T00:00:00.000000000Z stdout F hello\n2026-01-01T00:00:01.000000000Z stdout F loss 2.5\n")
    stages = [(manifests / f"kwok/stage/{name}.yaml").read_text() for name in _STAGES]
    (folder / "stages.yaml").write_text("\n---\n".join([*stages, _DELETED, _COMPLETE, _LOGS.replace("FILE", str(log))]))
    (port,) = find_free_ports(1)
    processes.start(
        "kwok",
        {
            "kubeconfig": kubeconfig,
            "manage-all-nodes": "true",
            "config": folder / "stages.yaml",
            "node-lease-duration-seconds": 40,
            "server-address": f"127.0.0.1:{port}",
            "node-ip": "127.0.0.1",
            "node-port": port,
            "cidr": "10.201.0.0/16",
            "tls-cert-file": keys.folder / "tls.crt",
            "tls-private-key-file": keys.folder / "tls.key",
        },
    )
