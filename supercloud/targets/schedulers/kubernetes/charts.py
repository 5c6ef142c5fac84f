"""What upstream ships as Helm charts: the values of each, made from the plan, and the list with locked versions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ....catalog.kubernetes_parts import Chart
from ....plan.build.kubernetes.labels import weka_stores
from ....plan.build.kubernetes.names import POOL, mount_label
from ....plan.build.kubernetes.networks import cluster_networks
from ....plan.build.storage.clients import client_pools, unreached_pools
from ....plan.model.plan import Plan
from . import accelerators, monitoring, problem_detector, queues, volcano
from .given import facts_of, taints_of
from .manifest import Object, yaml_text

__all__ = ["files", "kueue_values", "lock", "namespaces", "values"]


def files(plan: Plan) -> dict[str, Object]:
    """chart -> its values."""
    return {chart.name: values(plan, chart) for chart in facts_of(plan).charts}


def lock(plan: Plan) -> Object:
    """All charts in the order of installation, with where they come from."""
    return {"charts": [
        {"name": chart.name, "repository": chart.repository, "chart": chart.chart, "version": chart.version,
         "namespace": chart.namespace, "values": f"charts/{chart.name}.yaml"}
        for chart in facts_of(plan).charts
    ]}  # fmt: skip


def namespaces(plan: Plan) -> dict[str, bool]:
    """Namespaces the charts live in, and whether their pods need the privileged level."""
    found: dict[str, bool] = {}
    for chart in facts_of(plan).charts:
        if chart.namespace != "kube-system":
            found[chart.namespace] = found.get(chart.namespace, False) or chart.privileged
    return found


def values(plan: Plan, chart: Chart) -> Object:
    """The values of one chart; empty where its own defaults are right."""
    return _VALUES[chart.name](plan) if chart.name in _VALUES else {}


def _cilium(plan: Plan) -> Object:
    """Addresses come from Kubernetes, which kubeadm told how large a node's block is."""
    networks = cluster_networks(plan)
    return {
        "ipam": {"mode": "kubernetes"},
        "kubeProxyReplacement": True,
        "k8sServiceHost": networks.endpoint,
        "k8sServicePort": 6443,
        "operator": {"replicas": min(2, len(plan.scheduler.controllers))},
    }


def _kueue(plan: Plan) -> Object:
    kueue = facts_of(plan).kueue
    assert kueue is not None, "a plan whose Kueue release is unknown has an error finding"
    return {"enablePrometheus": True, **kueue_values(queues.configuration(plan, kueue))}


def kueue_values(configuration: Object) -> Object:
    """Of Kueue's chart, with a configuration of its manager."""
    return {
        "controllerManager": {"replicas": 2},
        "managerConfig": {"controllerManagerConfigYaml": yaml_text(configuration)},
    }


def _volcano(plan: Plan) -> Object:
    """The chart takes the scheduler's configuration as text, the controllers' as it is."""
    found = {"scheduler_config_override": yaml_text(volcano.scheduler_configuration(plan))}
    discovery = volcano.discovery(plan)
    return {"custom": found | ({"controller_config_override": discovery} if discovery else {})}


def _efa(plan: Plan) -> Object:
    """Its pods run on the nodes of pools that have the adapters, whether or not the chart knows the instance type."""
    efa = {fabric.name for fabric in plan.fabrics if fabric.kind == "efa"}
    pools = [pool for pool in plan.pools if efa & set(pool.fabrics)]
    taints = {item["key"] for pool in pools for item in taints_of(plan, pool)}
    return {
        "tolerations": [{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in sorted(taints)],
        "supportedInstanceLabels": {"keys": [POOL], "values": [pool.name for pool in pools]},
    }


def _network_operator(plan: Plan) -> Object:
    """Node feature discovery comes with the GPU operator where there is one."""
    return {"nfd": {"enabled": "gpu-operator" not in {chart.name for chart in facts_of(plan).charts}},
            "sriovNetworkOperator": {"enabled": True}}  # fmt: skip


def _weka(plan: Plan) -> Object:
    """Its pods mount file systems themselves, and never get ready elsewhere, so they keep to nodes that mount what not
    all do: with several, to those of all, as the driver does not tell them apart."""
    stores = weka_stores(plan)
    pools = {pool.name: pool for index in stores for pool in client_pools(plan, index)}
    taints = {item["key"] for pool in pools.values() for item in taints_of(plan, pool)}
    tolerations = [{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in sorted(taints)]
    partly = [plan.storage[index].name for index in stores if unreached_pools(plan, index)]
    return {
        "nodeSelector": {mount_label(name): "true" for name in partly},
        "controllerPluginTolerations": tolerations,
        "nodePluginTolerations": tolerations,
    }


_VALUES: Mapping[str, Callable[[Plan], dict[str, Any]]] = {
    "amd-gpu-operator": accelerators.amd_values,
    "aws-efa": _efa,
    "cert-manager": lambda plan: {"crds": {"enabled": True}},
    "cilium": _cilium,
    "csi-wekafs": _weka,
    "gpu-operator": accelerators.nvidia_values,
    "kube-prometheus-stack": monitoring.values,
    "kueue": _kueue,
    "network-operator": _network_operator,
    "neuron": accelerators.neuron_values,
    "node-problem-detector": problem_detector.values,
    "nvidia-dra-driver": accelerators.dra_values,
    "volcano": _volcano,
}
