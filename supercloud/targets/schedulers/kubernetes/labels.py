"""Labels and taints of on-prem nodes: a table of ranges, and a job that applies the table to nodes.

A line is a range of hosts with their common labels, so that the table grows with groups, not with nodes. Clouds label
the nodes of a group themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....plan.build.kubernetes.names import build_topology, format_level_label
from ....plan.model.plan import Plan, PoolPlan
from ....primitives.nodes import HostRange
from ....primitives.templates import render_template
from .accessors import build_pool_labels, build_taints, require_control_plane
from .manifest import Object, build_object

__all__ = ["NAMESPACE", "build_objects", "build_label_table"]

NAMESPACE = "supercloud-system"
_RESOURCE_NAME = "node-labels"
# A ConfigMap is limited to 1 MiB; each part of the table is well below it.
_MAX_PART_LENGTH = 700_000
RACK_LABEL = "supercloud.dev/rack"


def build_label_table(plan: Plan) -> list[str]:
    """Lines of: prefix, first and last number, width, then labels (``key=value``) and taints (``key=value:effect``)."""
    lines = []
    for pool in plan.pools:
        facts = [f"{key}={value}" for key, value in build_pool_labels(plan, pool).items()]
        facts += [f"{item['key']}={item['value']}:{item['effect']}" for item in build_taints(plan, pool)]
        lines += _format_lines(pool.hosts, facts)
    lines += _iter_level_lines(plan)
    for hosts, rack in _iter_rack_ranges(plan):
        lines += _format_lines(hosts, [f"{RACK_LABEL}={rack}"])
    return lines


def _format_lines(hosts: HostRange, facts: list[str]) -> list[str]:
    return [" ".join([run.prefix, str(run.first), str(run.last), str(run.width), *facts]) for run in hosts.list_runs()]


def _iter_level_lines(plan: Plan) -> Iterator[str]:
    """Every group of every level of the pools' topologies, once."""
    seen: set[str] = set()
    for topology in (build_topology(plan, pool) for pool in plan.pools):
        for level in topology.levels:
            for group in level.groups:
                for hosts in group.hosts.ranges:
                    lines = _format_lines(hosts, [f"{format_level_label(level.name)}={group.name}"])
                    yield from (line for line in lines if line not in seen)
                    seen.update(lines)


def _iter_rack_ranges(plan: Plan) -> Iterator[tuple[HostRange, str]]:
    pools = {pool.name: pool for pool in plan.pools}
    for rack in plan.layout.racks if plan.layout else ():
        for item in rack.items:
            if item.kind == "node" and item.group in pools:
                yield _slice_hosts(pools[item.group], item.first, item.count), rack.name


def _slice_hosts(pool: PoolPlan, first: int, count: int) -> HostRange:
    return pool.hosts.slice(first, first + count)


def build_objects(plan: Plan) -> list[Object]:
    """Build the table in ConfigMaps, the script, its role, and the job that runs it every five minutes."""
    parts = _split_table(build_label_table(plan))
    names = [f"{_RESOURCE_NAME}-{index}" for index in range(len(parts))]
    sources = [{"configMap": {"name": name}} for name in (*names, f"{_RESOURCE_NAME}-script")]
    return [
        build_object("v1", "Namespace", NAMESPACE, labels={"pod-security.kubernetes.io/enforce": "restricted"}),
        build_object("v1", "ServiceAccount", _RESOURCE_NAME, NAMESPACE),
        build_object(
            "rbac.authorization.k8s.io/v1",
            "ClusterRole",
            f"supercloud-{_RESOURCE_NAME}",
            rules=[
                {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "patch"]},
            ],
        ),
        build_object(
            "rbac.authorization.k8s.io/v1",
            "ClusterRoleBinding",
            f"supercloud-{_RESOURCE_NAME}",
            roleRef={
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": f"supercloud-{_RESOURCE_NAME}",
            },
            subjects=[{"kind": "ServiceAccount", "name": _RESOURCE_NAME, "namespace": NAMESPACE}],
        ),
        *(
            build_object("v1", "ConfigMap", name, NAMESPACE, data={f"{name}.txt": part})
            for name, part in zip(names, parts, strict=True)
        ),
        build_object(
            "v1",
            "ConfigMap",
            f"{_RESOURCE_NAME}-script",
            NAMESPACE,
            data={"label_nodes.py": render_template("kubernetes/label_nodes.py")},
        ),
        build_object(
            "batch/v1",
            "CronJob",
            _RESOURCE_NAME,
            NAMESPACE,
            spec={
                "schedule": "*/5 * * * *",
                "concurrencyPolicy": "Forbid",
                "successfulJobsHistoryLimit": 1,
                "failedJobsHistoryLimit": 1,
                "jobTemplate": {
                    "spec": {
                        "backoffLimit": 1,
                        "template": {"spec": _build_pod_spec(require_control_plane(plan).python, sources)},
                    }
                },
            },
        ),
    ]


def _split_table(lines: list[str]) -> list[str]:
    parts = [""]
    for line in lines:
        if len(parts[-1]) + len(line) > _MAX_PART_LENGTH:
            parts.append("")
        parts[-1] += line + "\n"
    return parts


def _build_pod_spec(image: str, sources: list[Object]) -> Object:
    """Build the pod, which runs on the control plane: the nodes to label may not accept it yet."""
    return {
        "serviceAccountName": _RESOURCE_NAME,
        "restartPolicy": "Never",
        "priorityClassName": "system-cluster-critical",
        "nodeSelector": {"node-role.kubernetes.io/control-plane": ""},
        "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}],
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65534, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "label",
                "image": image,
                "command": ["python3", "/etc/node-labels/label_nodes.py", "/etc/node-labels"],
                "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
                "volumeMounts": [{"name": "table", "mountPath": "/etc/node-labels", "readOnly": True}],
            }
        ],
        "volumes": [{"name": "table", "projected": {"sources": sources}}],
    }
