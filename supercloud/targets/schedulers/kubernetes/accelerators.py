"""Accelerators: values of the operators that install drivers and plugins, and how accelerators are partitioned or
shared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ....catalog.kubernetes_parts import DeviceStack
from ....plan.build.kubernetes.names import (
    POOL_LABEL,
    format_channel_claim_name,
    format_compute_domain_name,
    format_namespace_name,
)
from ....plan.model.plan import Plan, PoolPlan
from .accessors import (
    build_taints,
    format_device_class,
    has_device_claims,
    has_host_driver,
    list_accelerator_pools,
    list_device_class_pools,
    list_tenant_names,
    require_kubernetes_plan,
)
from .manifest import Object, build_object, format_yaml

__all__ = [
    "COUNTERS_CONFIG_MAP",
    "build_amd_values",
    "build_dra_values",
    "build_feature_discovery_values",
    "build_neuron_values",
    "build_nvidia_values",
    "build_objects",
]

_NVIDIA, _AMD = "nvidia.com/gpu", "amd.com/gpu"
_MIG, _SHARING = "mig-parted", "device-plugin"
_UNPRIVILEGED = "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED"
# Charts that include node feature discovery, in the order of preference -> the key of their values that installs it.
_FEATURE_DISCOVERY_KEYS = {
    "gpu-operator": "nfd",
    "amd-gpu-operator": "node-feature-discovery",
    "network-operator": "nfd",
}
COUNTERS_CONFIG_MAP = "dcgm-counters"
"""The ConfigMap with the metrics of the exporter."""


def _get_device_stack(plan: Plan, resource: str) -> DeviceStack:
    return require_kubernetes_plan(plan).stacks[resource]


def _list_provided_parts(plan: Plan, resource: str) -> tuple[str, ...]:
    """Return the parts of the stack that the site's own images include."""
    return _get_device_stack(plan, resource).provided.get(plan.site.kind, ())


def build_nvidia_values(plan: Plan) -> Object:
    """Build the values of the GPU operator.

    Devices come from the device plugin or the DRA driver only, through CDI: the operator then gives the plugin the
    strategies for it. The container toolkit must not read NVIDIA_VISIBLE_DEVICES, which any tenant can set to all GPUs
    of a node; the operator's own pods are privileged, and the toolkit still reads theirs.
    """
    pools = list_accelerator_pools(plan, _NVIDIA)
    provided = _list_provided_parts(plan, _NVIDIA)
    kinds = {fabric.kind for fabric in plan.fabrics for pool in pools if fabric.name in pool.fabrics}
    rdma = bool(kinds & {"infiniband", "roce"})
    found: Object = {
        "daemonsets": {"tolerations": _build_tolerations(plan, pools[0]) if pools else []},
        "driver": {
            "enabled": "driver" not in provided,
            "kernelModuleType": "auto",
            "rdma": {"enabled": rdma, "useHostMofed": has_host_driver(plan)},
            "upgradePolicy": {
                "autoUpgrade": True,
                "maxParallelUpgrades": 1,
                "maxUnavailable": "25%",
                "drain": {"enable": False},
            },
        },
        "toolkit": {"enabled": False}
        if "toolkit" in provided
        else {"enabled": True, "env": [{"name": _UNPRIVILEGED, "value": "false"}]},
        "cdi": {"enabled": True},
        "gdrcopy": {"enabled": rdma and "driver" not in provided},
        "dcgm": {"enabled": True},
        "dcgmExporter": {
            "enabled": True,
            "config": {"name": COUNTERS_CONFIG_MAP},
            "env": [{"name": "DCGM_EXPORTER_COLLECTORS", "value": "/etc/dcgm-exporter/dcgm-metrics.csv"}],
            "serviceMonitor": {"enabled": True, "interval": "15s"},
        },
        "mig": {"strategy": "mixed" if _list_mig_pools(pools) else "none"},
        **build_feature_discovery_values(plan, "gpu-operator"),
    }
    if path := _get_device_stack(plan, _NVIDIA).driver_path.get(plan.site.kind):
        found["hostPaths"] = {"driverInstallDir": path}
        found["toolkit"]["installDir"] = path
    return found | _build_plugin_values(plan, pools, provided)


def _build_plugin_values(plan: Plan, pools: tuple[PoolPlan, ...], provided: tuple[str, ...]) -> Object:
    """Build the values of the device plugin and of the MIG manager that labels its configurations."""
    if has_device_claims(plan):
        return {"devicePlugin": {"enabled": False}}
    if "plugin" in provided:
        return {"devicePlugin": {"enabled": False}, "migManager": {"enabled": False}}
    found: Object = {}
    if _list_mig_pools(pools):
        found["migManager"] = {"enabled": True, "config": {"name": _MIG, "default": "all-disabled"}}
    if any(pool.slicing and pool.slicing.shards for pool in pools):
        found["devicePlugin"] = {"config": {"name": _SHARING, "default": "whole"}}
    return found


def _list_mig_pools(pools: tuple[PoolPlan, ...]) -> list[PoolPlan]:
    return [pool for pool in pools if pool.slicing and pool.slicing.mig]


def _build_tolerations(plan: Plan, pool: PoolPlan) -> list[Object]:
    """Build tolerations of the taints of a pool's nodes, whatever their values are."""
    return [{"key": item["key"], "operator": "Exists", "effect": item["effect"]} for item in build_taints(plan, pool)]


def build_amd_values(plan: Plan) -> Object:
    """Build the values of AMD's operator: separate DeviceConfigs specify what it installs on nodes."""
    return {"crds": {"defaultCR": {"install": False}}, **build_feature_discovery_values(plan, "amd-gpu-operator")}


def build_feature_discovery_values(plan: Plan, name: str) -> Object:
    """Build the values of a chart that includes node feature discovery: one chart installs it, for all nodes.

    Two would overwrite each other's labels, and nodes whose taints its workers do not tolerate would get none.
    """
    installed = {chart.name for chart in require_kubernetes_plan(plan).charts}
    enabled = next(chart for chart in _FEATURE_DISCOVERY_KEYS if chart in installed) == name
    switch = {_FEATURE_DISCOVERY_KEYS[name]: {"enabled": enabled}}
    worker = {"node-feature-discovery": {"worker": {"tolerations": [{"operator": "Exists"}]}}} if enabled else {}
    return {key: worker.get(key, {}) | switch.get(key, {}) for key in sorted({*switch, *worker})}


def build_neuron_values(plan: Plan) -> Object:
    """Build the values of Neuron's chart: only its device plugin, as one problem detector watches all nodes."""
    return {"devicePlugin": {"enabled": True}, "npd": {"enabled": False}}


def build_dra_values(plan: Plan) -> Object:
    """Build the values of NVIDIA's DRA driver: compute domains, and GPUs if they are allocated by claims.

    The chart rejects GPUs in addition to a device plugin unless its values state that there is none.
    """
    root = "/" if "driver" in _list_provided_parts(plan, _NVIDIA) else "/run/nvidia/driver"
    gpus = has_device_claims(plan)
    domains = any(pool.has_imex for pool in list_accelerator_pools(plan, _NVIDIA))
    pools = [pool.name for pool in list_accelerator_pools(plan, _NVIDIA) if gpus or pool.has_imex]
    terms = [{"matchExpressions": [{"key": POOL_LABEL, "operator": "In", "values": pools}]}]
    return {
        "nvidiaDriverRoot": root,
        "gpuResourcesEnabledOverride": gpus,
        "resources": {"gpus": {"enabled": gpus}, "computeDomains": {"enabled": domains}},
        "kubeletPlugin": {
            "affinity": {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
            },
            "tolerations": [{"operator": "Exists"}],
        },
    }


def build_objects(plan: Plan) -> Iterator[Object]:
    """Yield partitioning and sharing configurations, device classes, and a compute domain for each tenant that may
    have one.
    """
    facts = require_kubernetes_plan(plan)
    if _NVIDIA in facts.stacks:
        pools = list_accelerator_pools(plan, _NVIDIA)
        if "plugin" not in _list_provided_parts(plan, _NVIDIA):
            yield from _build_mig_config(plan, pools)
            yield from _build_time_slicing_config(plan, pools)
        yield build_object(
            "v1",
            "ConfigMap",
            COUNTERS_CONFIG_MAP,
            _get_operator_namespace(plan),
            data={"dcgm-metrics.csv": _render_counters(plan)},
        )
        yield from _build_compute_domains(plan, pools)
    if _AMD in facts.stacks:
        yield from _build_amd_configs(plan)
    yield from _build_device_classes(plan)


def _get_operator_namespace(plan: Plan) -> str:
    chart = require_kubernetes_plan(plan).find_chart("gpu-operator")
    assert chart is not None, "GPUs require their operator"
    return chart.namespace


def _build_mig_config(plan: Plan, pools: tuple[PoolPlan, ...]) -> Iterator[Object]:
    """MIG: a configuration for each pool, which its nodes select by label."""
    sliced = _list_mig_pools(pools)
    if not sliced:
        return
    configs: dict[str, Any] = {"all-disabled": [{"devices": "all", "mig-enabled": False}]}
    for pool in sliced:
        assert pool.slicing is not None
        cut = pool.slicing.accelerators or pool.accelerators_per_node
        devices: Any = "all" if cut >= pool.accelerators_per_node else list(range(cut))
        configs[pool.name] = [{"devices": devices, "mig-enabled": True, "mig-devices": dict(pool.slicing.mig)}]
        if cut < pool.accelerators_per_node:
            configs[pool.name].append({"devices": list(range(cut, pool.accelerators_per_node)), "mig-enabled": False})
    text = format_yaml({"version": "v1", "mig-configs": configs})
    yield build_object("v1", "ConfigMap", _MIG, _get_operator_namespace(plan), data={"config.yaml": text})


def _build_time_slicing_config(plan: Plan, pools: tuple[PoolPlan, ...]) -> Iterator[Object]:
    """Time-slicing: a configuration of the device plugin for each pool, which its nodes select by label."""
    shared = [pool for pool in pools if pool.slicing and pool.slicing.shards]
    if not shared:
        return
    data = {"whole": format_yaml({"version": "v1"})}
    for pool in shared:
        assert pool.slicing is not None
        data[pool.name] = format_yaml(
            {
                "version": "v1",
                "sharing": {
                    "timeSlicing": {
                        "renameByDefault": False,
                        "failRequestsGreaterThanOne": True,
                        "resources": [{"name": _NVIDIA, "replicas": pool.slicing.shards}],
                    }
                },
            }
        )
    yield build_object("v1", "ConfigMap", _SHARING, _get_operator_namespace(plan), data=data)


def _render_counters(plan: Plan) -> str:
    """Render the exporter's list of metrics: all that rules and dashboards query."""
    metrics = require_kubernetes_plan(plan).metrics["dcgm"].metrics
    return "# field, type, help\n" + "".join(f"{item.name}, {item.type}, {item.help}\n" for item in metrics)


def _build_device_classes(plan: Plan) -> Iterator[Object]:
    """A device class for each pool whose devices can be claimed: whole accelerators of its kind."""
    release = require_kubernetes_plan(plan).release
    version = release.abilities.devices if release else None
    if version is None:
        return
    for resource, stack in require_kubernetes_plan(plan).stacks.items():
        for pool in list_device_class_pools(plan, resource):
            rule, name = _build_device_selector(stack, pool), format_device_class(pool)
            yield build_object(
                f"resource.k8s.io/{version}", "DeviceClass", name, spec={"selectors": [{"cel": {"expression": rule}}]}
            )
            for tenant in list_tenant_names(plan) if has_device_claims(plan) else ():
                ask = {"deviceClassName": name, "allocationMode": "ExactCount", "count": 1}
                yield build_object(
                    f"resource.k8s.io/{version}",
                    "ResourceClaimTemplate",
                    f"{pool.name}-device",
                    format_namespace_name(tenant),
                    spec={"spec": {"devices": {"requests": [{"name": "device", "exactly": ask}]}}},
                )


def _build_device_selector(stack: DeviceStack, pool: PoolPlan) -> str:
    """Build the CEL expression that selects a pool's kind of accelerator: complete product names are compared.

    A substring is not enough: L4 is in L40S, H200 in GH200.
    """
    assert pool.accelerator is not None
    attributes = f"device.attributes['{stack.driver}']"
    products = json.dumps(list(pool.accelerator.product_names))
    terms = [f"device.driver == '{stack.driver}'"]
    if stack.whole_rule:
        terms.append(f"{attributes}.{stack.whole_rule}")
    return " && ".join([*terms, f"{attributes}.{stack.product_attribute} in {products}"])


def _build_compute_domains(plan: Plan, pools: tuple[PoolPlan, ...]) -> Iterator[Object]:
    """Multi-node NVLink: a compute domain for each tenant and pool. Pods that claim its channel share memory (IMEX)."""
    release = require_kubernetes_plan(plan).release
    if release is None or release.abilities.devices is None:
        return
    for pool in pools:
        for tenant in list_tenant_names(plan) if pool.has_imex else ():
            claim = format_channel_claim_name(pool.name)
            yield build_object(
                "resource.nvidia.com/v1beta1",
                "ComputeDomain",
                format_compute_domain_name(pool.name),
                format_namespace_name(tenant),
                spec={
                    "numNodes": 0,
                    "channel": {"resourceClaimTemplate": {"name": claim}, "allocationMode": "Single"},
                },
            )


def _build_amd_configs(plan: Plan) -> Iterator[Object]:
    """AMD: which nodes get plugin, labels and exporter.

    Hosts have the driver: the operator installs one only from an image in a registry of the administrator.
    """
    chart = require_kubernetes_plan(plan).find_chart("amd-gpu-operator")
    assert chart is not None
    for pool in list_accelerator_pools(plan, _AMD):
        tolerations = _build_tolerations(plan, pool)
        yield build_object(
            "amd.com/v1alpha1",
            "DeviceConfig",
            pool.name,
            chart.namespace,
            spec={
                "selector": {POOL_LABEL: pool.name},
                "driver": {"enable": False},
                "devicePlugin": {
                    "enableNodeLabeller": True,
                    "devicePluginTolerations": tolerations,
                    "nodeLabellerTolerations": tolerations,
                },
                "metricsExporter": {
                    "enable": True,
                    "serviceType": "ClusterIP",
                    "port": 5000,
                    "prometheus": {"serviceMonitor": {"enable": True, "interval": "15s"}},
                    "tolerations": tolerations,
                },
            },
        )
