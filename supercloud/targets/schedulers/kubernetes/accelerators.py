"""Accelerators: values of the operators that bring drivers and plugins, and how accelerators are cut or shared."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ....catalog.kubernetes_parts import DeviceStack
from ....plan.build.kubernetes.names import POOL, channel_claim_of, domain_of, namespace_of
from ....plan.model.plan import Plan, PoolPlan
from .given import accelerated, claimed, classed, device_class_of, facts_of, has_host_driver, taints_of, tenant_names
from .manifest import Object, obj, yaml_text

__all__ = ["COUNTERS", "amd_values", "dra_values", "neuron_values", "nvidia_values", "objects"]

_NVIDIA, _AMD = "nvidia.com/gpu", "amd.com/gpu"
_MIG, _SHARING = "mig-parted", "device-plugin"
_UNPRIVILEGED = "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED"
COUNTERS = "dcgm-counters"
"""The ConfigMap with the metrics that the exporter gives."""


def _stack(plan: Plan, resource: str) -> DeviceStack:
    return facts_of(plan).stacks[resource]


def _brought(plan: Plan, resource: str) -> tuple[str, ...]:
    """Parts of the stack that the site's own images have."""
    return _stack(plan, resource).provided.get(plan.site.kind, ())


def nvidia_values(plan: Plan) -> Object:
    """Of the GPU operator.

    Devices come from the device plugin or the DRA driver only, through CDI: the operator then gives the plugin the
    strategies for it. The container toolkit must not read NVIDIA_VISIBLE_DEVICES, which any tenant can set to all GPUs
    of a node; the operator's own pods are privileged, and the toolkit still reads theirs.
    """
    pools = accelerated(plan, _NVIDIA)
    brought = _brought(plan, _NVIDIA)
    kinds = {fabric.kind for fabric in plan.fabrics for pool in pools if fabric.name in pool.fabrics}
    rdma = bool(kinds & {"infiniband", "roce"})
    stays = [{"key": item["key"], "operator": "Exists", "effect": item["effect"]}
             for item in (taints_of(plan, pools[0]) if pools else [])]  # fmt: skip
    found: Object = {
        "daemonsets": {"tolerations": stays},
        "driver": {
            "enabled": "driver" not in brought,
            "kernelModuleType": "auto",
            "rdma": {"enabled": rdma, "useHostMofed": has_host_driver(plan)},
            "upgradePolicy": {"autoUpgrade": True, "maxParallelUpgrades": 1, "maxUnavailable": "25%",
                              "drain": {"enable": False}},
        },
        "toolkit": {"enabled": False} if "toolkit" in brought
        else {"enabled": True, "env": [{"name": _UNPRIVILEGED, "value": "false"}]},
        "cdi": {"enabled": True},
        "gdrcopy": {"enabled": rdma and "driver" not in brought},
        "dcgm": {"enabled": True},
        "dcgmExporter": {
            "enabled": True,
            "config": {"name": COUNTERS},
            "env": [{"name": "DCGM_EXPORTER_COLLECTORS", "value": "/etc/dcgm-exporter/dcgm-metrics.csv"}],
            "serviceMonitor": {"enabled": True, "interval": "15s"},
        },
        "mig": {"strategy": "mixed" if any(pool.slicing and pool.slicing.mig for pool in pools) else "none"},
    }  # fmt: skip
    if path := _stack(plan, _NVIDIA).driver_path.get(plan.site.kind):
        found["hostPaths"] = {"driverInstallDir": path}
        found["toolkit"]["installDir"] = path
    if claimed(plan):
        return found | {"devicePlugin": {"enabled": False}}
    if "plugin" in brought:
        return found | {"devicePlugin": {"enabled": False}, "migManager": {"enabled": False}}
    if any(pool.slicing and pool.slicing.mig for pool in pools):
        found["migManager"] = {"enabled": True, "config": {"name": _MIG, "default": "all-disabled"}}
    if any(pool.slicing and pool.slicing.shards for pool in pools):
        found["devicePlugin"] = {"config": {"name": _SHARING, "default": "whole"}}
    return found


def amd_values(plan: Plan) -> Object:
    """Of AMD's operator: what it installs on nodes is said in DeviceConfigs of our own."""
    return {"crds": {"defaultCR": {"install": False}}}


def neuron_values(plan: Plan) -> Object:
    """Of Neuron's chart: its device plugin alone, for nodes' problems are watched by one detector for all."""
    return {"devicePlugin": {"enabled": True}, "npd": {"enabled": False}}


def dra_values(plan: Plan) -> Object:
    """Of NVIDIA's driver of dynamic resource allocation: domains of shared memory, and GPUs where claims hand them out.

    The chart refuses GPUs beside a device plugin unless it is told that there is none.
    """
    root = "/" if "driver" in _brought(plan, _NVIDIA) else "/run/nvidia/driver"
    gpus = claimed(plan)
    domains = any(pool.imex for pool in accelerated(plan, _NVIDIA))
    pools = [pool.name for pool in accelerated(plan, _NVIDIA) if gpus or pool.imex]
    terms = [{"matchExpressions": [{"key": POOL, "operator": "In", "values": pools}]}]
    return {
        "nvidiaDriverRoot": root,
        "gpuResourcesEnabledOverride": gpus,
        "resources": {"gpus": {"enabled": gpus}, "computeDomains": {"enabled": domains}},
        "kubeletPlugin": {
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
                                          {"nodeSelectorTerms": terms}}},
            "tolerations": [{"operator": "Exists"}],
        },
    }  # fmt: skip


def objects(plan: Plan) -> Iterator[Object]:
    """Ways to cut and to share, device classes, and a domain of shared memory for each tenant that may have one."""
    facts = facts_of(plan)
    if _NVIDIA in facts.stacks:
        pools = accelerated(plan, _NVIDIA)
        if "plugin" not in _brought(plan, _NVIDIA):
            yield from _cut(plan, pools)
            yield from _shared(plan, pools)
        yield obj("v1", "ConfigMap", COUNTERS, _namespace(plan), data={"dcgm-metrics.csv": _counters(plan)})
        yield from _domains(plan, pools)
    if _AMD in facts.stacks:
        yield from _amd(plan)
    yield from _classes(plan)


def _namespace(plan: Plan) -> str:
    chart = facts_of(plan).chart("gpu-operator")
    assert chart is not None, "GPUs come with their operator"
    return chart.namespace


def _cut(plan: Plan, pools: tuple[PoolPlan, ...]) -> Iterator[Object]:
    """MIG: a configuration for each pool, which its nodes ask for by label."""
    sliced = [pool for pool in pools if pool.slicing and pool.slicing.mig]
    if not sliced:
        return
    configs: dict[str, Any] = {"all-disabled": [{"devices": "all", "mig-enabled": False}]}
    for pool in sliced:
        assert pool.slicing is not None
        cut = pool.slicing.accelerators or pool.per_node
        devices: Any = "all" if cut >= pool.per_node else list(range(cut))
        configs[pool.name] = [{"devices": devices, "mig-enabled": True, "mig-devices": dict(pool.slicing.mig)}]
        if cut < pool.per_node:
            configs[pool.name].append({"devices": list(range(cut, pool.per_node)), "mig-enabled": False})
    text = yaml_text({"version": "v1", "mig-configs": configs})
    yield obj("v1", "ConfigMap", _MIG, _namespace(plan), data={"config.yaml": text})


def _shared(plan: Plan, pools: tuple[PoolPlan, ...]) -> Iterator[Object]:
    """Time-slicing: a configuration of the device plugin for each pool, which its nodes ask for by label."""
    shared = [pool for pool in pools if pool.slicing and pool.slicing.shards]
    if not shared:
        return
    data = {"whole": yaml_text({"version": "v1"})}
    for pool in shared:
        assert pool.slicing is not None
        data[pool.name] = yaml_text({"version": "v1", "sharing": {"timeSlicing": {
            "renameByDefault": False,
            "failRequestsGreaterThanOne": True,
            "resources": [{"name": _NVIDIA, "replicas": pool.slicing.shards}],
        }}})  # fmt: skip
    yield obj("v1", "ConfigMap", _SHARING, _namespace(plan), data=data)


def _counters(plan: Plan) -> str:
    """The exporter's file of metrics: all that rules and dashboards ask for."""
    metrics = facts_of(plan).metrics["dcgm"].metrics
    return "# field, type, help\n" + "".join(f"{item.name}, {item.type}, {item.help}\n" for item in metrics)


def _classes(plan: Plan) -> Iterator[Object]:
    """A device class for each pool whose devices can be claimed: whole accelerators of its kind."""
    release = facts_of(plan).release
    version = release.abilities.devices if release else None
    if version is None:
        return
    for resource, stack in facts_of(plan).stacks.items():
        for pool in classed(plan, resource):
            rule, name = _rule(stack, pool), device_class_of(pool)
            yield obj(f"resource.k8s.io/{version}", "DeviceClass", name,
                      spec={"selectors": [{"cel": {"expression": rule}}]})  # fmt: skip
            for tenant in tenant_names(plan) if claimed(plan) else ():
                ask = {"deviceClassName": name, "allocationMode": "ExactCount", "count": 1}
                yield obj(f"resource.k8s.io/{version}", "ResourceClaimTemplate", f"{pool.name}-device",
                          namespace_of(tenant),
                          spec={"spec": {"devices": {"requests": [{"name": "device", "exactly": ask}]}}})  # fmt: skip


def _rule(stack: DeviceStack, pool: PoolPlan) -> str:
    """The expression (CEL) that picks a pool's kind of accelerator: products are compared as a whole.

    A part of a name is not enough: L4 is in L40S, H200 in GH200.
    """
    assert pool.accelerator is not None
    attributes = f"device.attributes['{stack.driver}']"
    products = json.dumps(list(pool.accelerator.product_names))
    terms = [f"device.driver == '{stack.driver}'"]
    if stack.whole_rule:
        terms.append(f"{attributes}.{stack.whole_rule}")
    return " && ".join([*terms, f"{attributes}.{stack.product_attribute} in {products}"])


def _domains(plan: Plan, pools: tuple[PoolPlan, ...]) -> Iterator[Object]:
    """Where NVLink spans nodes: a domain for each tenant and pool. Pods that claim its channel share memory (IMEX)."""
    release = facts_of(plan).release
    if release is None or release.abilities.devices is None:
        return
    for pool in pools:
        for tenant in tenant_names(plan) if pool.imex else ():
            claim = channel_claim_of(pool.name)
            yield obj("resource.nvidia.com/v1beta1", "ComputeDomain", domain_of(pool.name), namespace_of(tenant), spec={
                "numNodes": 0, "channel": {"resourceClaimTemplate": {"name": claim}, "allocationMode": "Single"},
            })  # fmt: skip


def _amd(plan: Plan) -> Iterator[Object]:
    """AMD: which nodes get driver, plugin, labels and exporter."""
    chart = facts_of(plan).chart("amd-gpu-operator")
    assert chart is not None
    for pool in accelerated(plan, _AMD):
        stays = [{"key": item["key"], "operator": "Exists", "effect": item["effect"]}
                 for item in taints_of(plan, pool)]  # fmt: skip
        yield obj("amd.com/v1alpha1", "DeviceConfig", pool.name, chart.namespace, spec={
            "selector": {POOL: pool.name},
            "driver": {"enable": "driver" not in _brought(plan, _AMD)},
            "devicePlugin": {"enableNodeLabeller": True, "devicePluginTolerations": stays,
                             "nodeLabellerTolerations": stays},
            "metricsExporter": {"enable": True, "serviceType": "ClusterIP", "port": 5000, "tolerations": stays},
        })  # fmt: skip
