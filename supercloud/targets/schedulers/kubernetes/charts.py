"""Upstream Helm charts: the values of each, computed from the plan, and the list with locked versions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ....catalog.kubernetes_parts import Chart
from ....plan.build.kubernetes.labels import list_weka_stores
from ....plan.build.kubernetes.names import POOL_LABEL, format_mount_label
from ....plan.build.kubernetes.networks import build_cluster_networks
from ....plan.build.storage.clients import list_client_pools, list_unreached_pools
from ....plan.model.plan import Plan
from . import accelerators, autoscaling, monitoring, problem_detector, queues, volcano
from .accessors import build_taints, require_kubernetes_plan
from .manifest import Object, format_yaml

__all__ = ["build_values_files", "build_kueue_values", "build_lock", "collect_namespaces", "build_values"]

_EFA_CHART = "aws-efa"


def build_values_files(plan: Plan) -> dict[str, Object]:
    """File -> the values of a chart; of one that the cluster already has, in another folder."""
    facts = require_kubernetes_plan(plan)
    found = {f"charts/{chart.name}.yaml": build_values(plan, chart) for chart in facts.installed_charts}
    return found | {f"omitted/{chart.name}.yaml": build_values(plan, chart) for chart in facts.omitted_charts}


def build_lock(plan: Plan) -> Object:
    """Build the list of all charts in the order of installation, with their repositories."""
    return {
        "charts": [
            {
                "name": chart.name,
                "repository": chart.repository,
                "chart": chart.chart,
                "version": chart.version,
                "namespace": chart.namespace,
                "values": f"charts/{chart.name}.yaml",
            }
            for chart in require_kubernetes_plan(plan).installed_charts
        ]
    }


def collect_namespaces(plan: Plan) -> dict[str, bool]:
    """Return the charts' namespaces, and whether their pods need the privileged level."""
    found: dict[str, bool] = {}
    for chart in require_kubernetes_plan(plan).installed_charts:
        if chart.namespace != "kube-system":
            found[chart.namespace] = found.get(chart.namespace, False) or chart.privileged
    return found


def build_values(plan: Plan, chart: Chart) -> Object:
    """Build the values of one chart; empty if its defaults are suitable."""
    return _VALUE_BUILDERS[chart.name](plan) if chart.name in _VALUE_BUILDERS else {}


def _build_cilium_values(plan: Plan) -> Object:
    """Addresses come from Kubernetes; kubeadm's configuration sets the size of a node's block."""
    networks = build_cluster_networks(plan)
    return {
        "ipam": {"mode": "kubernetes"},
        "kubeProxyReplacement": True,
        "k8sServiceHost": networks.endpoint,
        "k8sServicePort": 6443,
        "operator": {"replicas": min(2, len(plan.scheduler.controllers))},
    }


def _build_kueue_chart_values(plan: Plan) -> Object:
    kueue = require_kubernetes_plan(plan).kueue
    assert kueue is not None, "a plan whose Kueue release is unknown has an error finding"
    return {"enablePrometheus": True, **build_kueue_values(queues.build_configuration(plan, kueue))}


def build_kueue_values(configuration: Object) -> Object:
    """Build the values of Kueue's chart, with the configuration of its manager."""
    return {
        "controllerManager": {"replicas": 2},
        "managerConfig": {"controllerManagerConfigYaml": format_yaml(configuration)},
    }


def _build_volcano_values(plan: Plan) -> Object:
    """The chart takes the scheduler's configuration as text, that of the controllers as YAML."""
    found = {"scheduler_config_override": format_yaml(volcano.build_scheduler_configuration(plan))}
    discovery = volcano.build_discovery_configuration(plan)
    return {"custom": found | ({"controller_config_override": discovery} if discovery else {})}


def _build_efa_values(plan: Plan) -> Object:
    """Its pods run on the nodes of pools that have the adapters, whether or not the chart lists the instance type."""
    facts = require_kubernetes_plan(plan)
    plugins = {fabric.name: facts.find_port_plugin(fabric.kind) for fabric in plan.fabrics}
    served = {name for name, plugin in plugins.items() if plugin and plugin.chart == _EFA_CHART}
    pools = [pool for pool in plan.pools if served & set(pool.fabrics)]
    taints = {item["key"] for pool in pools for item in build_taints(plan, pool)}
    return {
        "tolerations": [{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in sorted(taints)],
        "supportedInstanceLabels": {"keys": [POOL_LABEL], "values": [pool.name for pool in pools]},
    }


def _build_network_operator_values(plan: Plan) -> Object:
    return {
        **accelerators.build_feature_discovery_values(plan, "network-operator"),
        "sriovNetworkOperator": {"enabled": True},
    }


def _build_weka_values(plan: Plan) -> Object:
    """Its pods mount file systems themselves and never become ready on other nodes, so that they are restricted to
    nodes that mount all file systems which only some nodes mount: the driver does not distinguish them.
    """
    stores = list_weka_stores(plan)
    pools = {pool.name: pool for index in stores for pool in list_client_pools(plan, index)}
    taints = {item["key"] for pool in pools.values() for item in build_taints(plan, pool)}
    tolerations = [{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in sorted(taints)]
    partly = [plan.storage[index].name for index in stores if list_unreached_pools(plan, index)]
    return {
        "nodeSelector": {format_mount_label(name): "true" for name in partly},
        "controllerPluginTolerations": tolerations,
        "nodePluginTolerations": tolerations,
    }


_VALUE_BUILDERS: Mapping[str, Callable[[Plan], dict[str, Any]]] = {
    "amd-gpu-operator": accelerators.build_amd_values,
    _EFA_CHART: _build_efa_values,
    "cert-manager": lambda plan: {"crds": {"enabled": True}},
    "cilium": _build_cilium_values,
    "cluster-autoscaler": autoscaling.build_values,
    "csi-wekafs": _build_weka_values,
    "gpu-operator": accelerators.build_nvidia_values,
    "kube-prometheus-stack": monitoring.build_values,
    "kueue": _build_kueue_chart_values,
    "network-operator": _build_network_operator_values,
    "neuron": accelerators.build_neuron_values,
    "node-problem-detector": problem_detector.build_values,
    "nvidia-dra-driver": accelerators.build_dra_values,
    "volcano": _build_volcano_values,
}
