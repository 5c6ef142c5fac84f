"""Labels and taints of on-prem nodes: a table of ranges, and a job that keeps nodes as the table says.

A line is a range of hosts with the labels they have in common, so the table grows with groups, not with nodes. A cloud
labels the nodes of a group itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....plan.build.kubernetes.names import level_label, topology_of
from ....plan.model.plan import Plan, PoolPlan
from ....primitives.nodes import HostRange
from ....primitives.templates import fill
from .given import own_of, pool_labels, taints_of
from .manifest import Object, obj

__all__ = ["NAMESPACE", "objects", "table"]

NAMESPACE = "supercloud-system"
_NAME = "node-labels"
# A ConfigMap holds 1 MiB; a part of the table stays well below it.
_PART = 700_000
RACK = "supercloud.dev/rack"


def table(plan: Plan) -> list[str]:
    """Lines of: prefix, first and last number, width, then labels (``key=value``) and taints (``key=value:effect``)."""
    lines = []
    for pool in plan.pools:
        facts = [f"{key}={value}" for key, value in pool_labels(plan, pool).items()]
        facts += [f"{item['key']}={item['value']}:{item['effect']}" for item in taints_of(plan, pool)]
        lines.append(_line(pool.hosts, facts))
    lines += _levels(plan)
    lines += [_line(hosts, [f"{RACK}={rack}"]) for hosts, rack in _racks(plan)]
    return lines


def _line(hosts: HostRange, facts: list[str]) -> str:
    return " ".join([hosts.prefix, str(hosts.first), str(hosts.last), str(hosts.width), *facts])


def _levels(plan: Plan) -> Iterator[str]:
    """Every group of every level of the pools' topologies, once."""
    seen: set[str] = set()
    for topology in (topology_of(plan, pool) for pool in plan.pools):
        for level in topology.levels:
            for group in level.groups:
                for hosts in group.hosts.ranges:
                    line = _line(hosts, [f"{level_label(level.name)}={group.name}"])
                    if line not in seen:
                        seen.add(line)
                        yield line


def _racks(plan: Plan) -> Iterator[tuple[HostRange, str]]:
    pools = {pool.name: pool for pool in plan.pools}
    for rack in plan.layout.racks if plan.layout else ():
        for item in rack.items:
            if item.what == "node" and item.of in pools:
                yield _part(pools[item.of], item.first, item.count), rack.name


def _part(pool: PoolPlan, first: int, count: int) -> HostRange:
    return pool.hosts.part(first, first + count)


def objects(plan: Plan) -> list[Object]:
    """The table in ConfigMaps, the script, its rights, and the job that runs it every five minutes."""
    parts = _parts(table(plan))
    names = [f"{_NAME}-{index}" for index in range(len(parts))]
    sources = [{"configMap": {"name": name}} for name in (*names, f"{_NAME}-script")]
    return [
        obj("v1", "Namespace", NAMESPACE, labels={"pod-security.kubernetes.io/enforce": "restricted"}),
        obj("v1", "ServiceAccount", _NAME, NAMESPACE),
        obj("rbac.authorization.k8s.io/v1", "ClusterRole", f"supercloud-{_NAME}", rules=[
            {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "patch"]},
        ]),
        obj("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", f"supercloud-{_NAME}",
            roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"supercloud-{_NAME}"},
            subjects=[{"kind": "ServiceAccount", "name": _NAME, "namespace": NAMESPACE}]),
        *(obj("v1", "ConfigMap", name, NAMESPACE, data={f"{name}.txt": part})
          for name, part in zip(names, parts, strict=True)),
        obj("v1", "ConfigMap", f"{_NAME}-script", NAMESPACE,
            data={"label_nodes.py": fill("kubernetes/label_nodes.py")}),
        obj("batch/v1", "CronJob", _NAME, NAMESPACE, spec={
            "schedule": "*/5 * * * *",
            "concurrencyPolicy": "Forbid",
            "successfulJobsHistoryLimit": 1,
            "failedJobsHistoryLimit": 1,
            "jobTemplate": {"spec": {"backoffLimit": 1, "template": {"spec": _pod(own_of(plan).python, sources)}}},
        }),
    ]  # fmt: skip


def _parts(lines: list[str]) -> list[str]:
    parts = [""]
    for line in lines:
        if len(parts[-1]) + len(line) > _PART:
            parts.append("")
        parts[-1] += line + "\n"
    return parts


def _pod(image: str, sources: list[Object]) -> Object:
    """It runs on the control plane: the nodes it labels may not take it yet."""
    return {
        "serviceAccountName": _NAME,
        "restartPolicy": "Never",
        "priorityClassName": "system-cluster-critical",
        "nodeSelector": {"node-role.kubernetes.io/control-plane": ""},
        "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}],
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65534, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{
            "name": "label",
            "image": image,
            "command": ["python3", "/etc/node-labels/label_nodes.py", "/etc/node-labels"],
            "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
            "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                "capabilities": {"drop": ["ALL"]}},
            "volumeMounts": [{"name": "table", "mountPath": "/etc/node-labels", "readOnly": True}],
        }],
        "volumes": [{"name": "table", "projected": {"sources": sources}}],
    }  # fmt: skip
