"""Observability: values of the Prometheus stack, rules as objects of its operator, dashboards as ConfigMaps."""

from __future__ import annotations

from ....plan.build.kubernetes.labels import MACHINE_LABEL
from ....plan.build.kubernetes.names import ACCELERATOR_LABEL, POOL_LABEL
from ....plan.model.plan import Plan
from . import dashboards, rules
from .accessors import require_kubernetes_plan
from .labels import RACK_LABEL
from .manifest import Object, build_object

__all__ = ["build_objects", "build_values"]


def _get_namespace(plan: Plan) -> str:
    chart = require_kubernetes_plan(plan).find_chart("kube-prometheus-stack")
    assert chart is not None, "the chart is always installed"
    return chart.namespace


def build_values(plan: Plan) -> Object:
    """Build the values: rules and monitors of all namespaces are used, and node labels are exported."""
    every = {f"{kind}SelectorNilUsesHelmValues": False for kind in ("rule", "serviceMonitor", "podMonitor", "probe")}
    # kube-proxy is not installed on-prem, the others listen on the loopback address there, and clouds have all of their
    # own: without targets, the chart's alerts on them would always fire
    absent = {f"kube{name}": {"enabled": False} for name in ("ControllerManager", "Etcd", "Proxy", "Scheduler")}
    return {
        **absent,
        "prometheus": {"prometheusSpec": {**every, "retention": "30d"}},
        "grafana": {
            "sidecar": {
                "dashboards": {
                    "enabled": True,
                    "label": "grafana_dashboard",
                    # not all: a sidecar fetches what the keys of any ConfigMap name, and tenants write their own
                    "searchNamespace": _get_namespace(plan),
                },
                "datasources": {"searchNamespace": _get_namespace(plan)},
            }
        },
        "kube-state-metrics": {
            "metricLabelsAllowlist": [f"nodes=[{','.join((POOL_LABEL, ACCELERATOR_LABEL, MACHINE_LABEL, RACK_LABEL))}]"]
        },
        "prometheus-node-exporter": {
            "tolerations": [{"operator": "Exists"}],
            "prometheus": {
                "monitor": {
                    "relabelings": [
                        {"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "instance"},
                    ]
                }
            },
        },
    }


def build_objects(plan: Plan) -> list[Object]:
    """Rules and dashboards."""
    namespace = _get_namespace(plan)
    found = [
        build_object(
            "monitoring.coreos.com/v1",
            "PrometheusRule",
            "supercloud",
            namespace,
            spec={"groups": rules.build_rule_groups(plan)},
        )
    ]
    for name, text in dashboards.render_dashboards(plan).items():
        found.append(
            build_object(
                "v1",
                "ConfigMap",
                f"dashboard-{name.removesuffix('.json')}",
                namespace,
                labels={"grafana_dashboard": "1"},
                data={name: text},
            )
        )
    return found
