"""Observability: values of the Prometheus stack, rules as objects of its operator, dashboards as ConfigMaps."""

from __future__ import annotations

from ....plan.build.kubernetes.labels import MACHINE
from ....plan.build.kubernetes.names import ACCELERATOR, POOL
from ....plan.model.plan import Plan
from . import dashboards, rules
from .given import facts_of
from .labels import RACK
from .manifest import Object, obj

__all__ = ["objects", "values"]


def _namespace(plan: Plan) -> str:
    chart = facts_of(plan).chart("kube-prometheus-stack")
    assert chart is not None, "it is always installed"
    return chart.namespace


def values(plan: Plan) -> Object:
    """Rules and monitors of every namespace count; nodes bring their labels along."""
    every = {f"{kind}SelectorNilUsesHelmValues": False for kind in ("rule", "serviceMonitor", "podMonitor", "probe")}
    return {
        "prometheus": {"prometheusSpec": {**every, "retention": "30d"}},
        "grafana": {"sidecar": {"dashboards": {
            "enabled": True, "label": "grafana_dashboard", "searchNamespace": "ALL",
        }}},
        "kube-state-metrics": {"metricLabelsAllowlist": [f"nodes=[{','.join((POOL, ACCELERATOR, MACHINE, RACK))}]"]},
        "prometheus-node-exporter": {
            "tolerations": [{"operator": "Exists"}],
            "prometheus": {"monitor": {"relabelings": [
                {"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "instance"},
            ]}},
        },
    }  # fmt: skip


def objects(plan: Plan) -> list[Object]:
    """Rules and dashboards."""
    namespace = _namespace(plan)
    found = [obj("monitoring.coreos.com/v1", "PrometheusRule", "supercloud", namespace,
                 spec={"groups": rules.groups(plan)})]  # fmt: skip
    for name, text in dashboards.dashboards(plan).items():
        found.append(
            obj("v1", "ConfigMap", f"dashboard-{name.removesuffix('.json')}", namespace,
                labels={"grafana_dashboard": "1"}, data={name: text})
        )  # fmt: skip
    return found
