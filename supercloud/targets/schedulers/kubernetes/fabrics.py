"""Fabrics: the network operator's policy, one network for each rail, address pools, and NCCL's settings for jobs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from ....plan.build.kubernetes.fabrics import (
    FabricAttachment,
    build_nccl_environment,
    compute_pod_blocks,
    count_addresses_per_node,
    find_pool_adapter,
    list_attachments,
)
from ....plan.build.kubernetes.names import (
    POOL_LABEL,
    format_attachment_name,
    format_namespace_name,
    format_settings_name,
)
from ....plan.build.network.nccl import find_collectives_file
from ....plan.model.plan import Plan, PoolPlan
from .accessors import build_taints, has_host_driver, list_tenant_names, require_kubernetes_plan
from .manifest import Object, build_object

__all__ = ["list_host_driver_pools", "build_objects", "build_rail_names"]

_IMAGE_REPOSITORY = "nvcr.io/nvidia/mellanox"
_MAX_SHARED_DEVICES = 63
_OPERATOR_MODES = ("host-device", "sr-iov", "shared")
_SRIOV, _NVIDIA, _IPAM = "sriovnetwork.openshift.io/v1", "mellanox.com/v1alpha1", "nv-ipam.nvidia.com/v1alpha1"


@dataclass(frozen=True)
class _PoolAttachment:
    pool: PoolPlan
    attachment: FabricAttachment


def build_objects(plan: Plan) -> list[Object]:
    """Build all objects for fabrics."""
    uses = [_PoolAttachment(pool, reach) for pool in plan.pools for reach in list_attachments(plan, pool)]
    found: list[Object] = []
    chart = require_kubernetes_plan(plan).find_chart("network-operator")
    ours = [use for use in uses if use.attachment.mode in _OPERATOR_MODES]
    if chart and ours:
        found.append(_build_cluster_policy(plan, ours))
        found += _build_networks(plan, ours, chart.namespace)
    found += _build_provider_networks(plan, [use for use in uses if use.attachment.mode == "provider-networks"])
    return [*found, *_build_nccl_settings(plan)]


def _build_image(plan: Plan, image: str) -> Object:
    chart = require_kubernetes_plan(plan).find_chart("network-operator")
    assert chart is not None
    version = chart.images["doca-driver" if image == "doca-driver" else "components"]
    return {"image": image, "repository": _IMAGE_REPOSITORY, "version": version}


def _build_cluster_policy(plan: Plan, uses: list[_PoolAttachment]) -> Object:
    """The operator has one policy for the whole cluster."""
    pools = sorted({use.pool.name for use in uses})
    taints = sorted({item["key"] for use in uses for item in build_taints(plan, use.pool)})
    ways = {use.attachment.mode for use in uses}
    terms = [{"matchExpressions": [{"key": POOL_LABEL, "operator": "In", "values": pools}]}]
    spec: Object = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}},
        "tolerations": [{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in taints],
    }
    if not has_host_driver(plan):
        spec["ofedDriver"] = {
            **_build_image(plan, "doca-driver"),
            "upgradePolicy": {
                "autoUpgrade": True,
                "maxParallelUpgrades": 1,
                "drain": {"enable": True, "force": True, "deleteEmptyDir": True, "timeoutSeconds": 300},
            },
        }
    if "shared" in ways:
        config = {
            "configList": _remove_duplicates(
                [_build_shared_resource(plan, use) for use in uses if use.attachment.mode == "shared"]
            )
        }
        spec["rdmaSharedDevicePlugin"] = {
            **_build_image(plan, "k8s-rdma-shared-dev-plugin"),
            "config": _format_json(config),
        }
    if "host-device" in ways:
        lists = [
            item for use in uses if use.attachment.mode == "host-device" for item in _build_device_resources(plan, use)
        ]
        spec["sriovDevicePlugin"] = {
            **_build_image(plan, "sriov-network-device-plugin"),
            "config": _format_json({"resourceList": _remove_duplicates(lists)}),
        }
    if ways & {"host-device", "sr-iov"}:
        spec["secondaryNetwork"] = {
            "cniPlugins": _build_image(plan, "plugins"),
            "multus": _build_image(plan, "multus-cni"),
        }
        spec["nvIpam"] = _build_image(plan, "nvidia-k8s-ipam")
    return build_object(_NVIDIA, "NicClusterPolicy", "nic-cluster-policy", spec=spec)


def _format_json(value: Object) -> str:
    return json.dumps(value, indent=2) + "\n"


def _remove_duplicates(items: list[Object]) -> list[Object]:
    """Remove duplicates, keeping the order: pools of one machine have the same devices."""
    return [item for index, item in enumerate(items) if item not in items[:index]]


def _build_selectors(plan: Plan, use: _PoolAttachment, rail: int | None = None) -> Object:
    """Select adapters by the rail's name if it is known, else by vendor, model and kind of link."""
    adapter = find_pool_adapter(use.pool, use.attachment.fabric)
    nic = require_kubernetes_plan(plan).nics.get(adapter.model) if adapter and adapter.model else None
    found: Object = {"vendors": [nic.vendor_id], "devices": [nic.device_id]} if nic else {}
    if use.attachment.has_named_ports and rail is not None:
        return {**found, "pfNames": [f"rail{rail}"]}
    return {**found, "linkTypes": ["infiniband" if use.attachment.fabric.kind == "infiniband" else "ether"]}


def _build_shared_resource(plan: Plan, use: _PoolAttachment) -> Object:
    picked = _build_selectors(plan, use)
    if "devices" in picked:
        picked["deviceIDs"] = picked.pop("devices")
    if use.attachment.has_named_ports:
        picked = {"ifNames": [f"rail{rail}" for rail in range(use.attachment.rails)]}
    return {"resourceName": use.attachment.fabric.name, "rdmaHcaMax": _MAX_SHARED_DEVICES, "selectors": picked}


def _build_device_resources(plan: Plan, use: _PoolAttachment) -> Iterator[Object]:
    rails = range(use.attachment.rails) if use.attachment.has_named_ports else (None,)
    for rail in rails:
        resource = use.attachment.shared_port_name if rail is None else use.attachment.format_network_name(rail)
        picked = {**_build_selectors(plan, use, rail), "isRdma": True}
        yield {"resourcePrefix": "nvidia.com", "resourceName": resource, "selectors": picked}


def _build_networks(plan: Plan, uses: list[_PoolAttachment], operator: str) -> Iterator[Object]:
    """A network and an address pool for each rail; both serve all pools on the fabric alike."""
    done: set[str] = set()
    for use in uses:
        reach = use.attachment
        if reach.mode == "shared":
            continue
        for rail in range(reach.rails if reach.has_named_ports else 1):
            name = reach.format_network_name(rail) if reach.has_named_ports else reach.shared_port_name
            if reach.mode == "sr-iov":
                yield _build_node_policy(plan, use, rail, operator)
            if name in done:
                continue
            done.add(name)
            blocks = compute_pod_blocks(plan, reach)
            ipam = ""
            if rail < len(blocks) and (block := blocks[rail]):
                ipam = _format_json({"type": "nv-ipam", "poolName": name})
                pools = [
                    other.pool.name
                    for other in uses
                    if (other.attachment.fabric.name, other.attachment.mode, other.attachment.has_named_ports)
                    == (reach.fabric.name, reach.mode, reach.has_named_ports)
                ]
                terms = [{"matchExpressions": [{"key": POOL_LABEL, "operator": "In", "values": pools}]}]
                yield build_object(
                    _IPAM,
                    "IPPool",
                    name,
                    operator,
                    spec={
                        "subnet": str(block),
                        "perNodeBlockSize": count_addresses_per_node(plan, reach),
                        "nodeSelector": {"nodeSelectorTerms": terms},
                    },
                )
            for tenant in list_tenant_names(plan):
                yield _build_network(reach, name, ipam, format_namespace_name(tenant), operator)


def _build_network(reach: FabricAttachment, name: str, ipam: str, namespace: str, operator: str) -> Object:
    """Build a network for the pods of one namespace; the operator creates its attachment."""
    spec: Object = {"networkNamespace": namespace, "resourceName": name, **({"ipam": ipam} if ipam else {})}
    if reach.mode == "host-device":
        return build_object(_NVIDIA, "HostDeviceNetwork", format_attachment_name(namespace, name), spec=spec)
    return build_object(
        _SRIOV, "SriovIBNetwork", format_attachment_name(namespace, name), operator, spec=spec | {"linkState": "enable"}
    )


def _build_node_policy(plan: Plan, use: _PoolAttachment, rail: int, operator: str) -> Object:
    name = use.attachment.format_network_name(rail)
    adapter = find_pool_adapter(use.pool, use.attachment.fabric)
    nic = require_kubernetes_plan(plan).nics.get(adapter.model) if adapter and adapter.model else None
    picked: Object = {"pfNames": [f"rail{rail}"]}
    if nic:
        picked = {"vendor": nic.vendor_id, "deviceID": nic.device_id, **picked}
    return build_object(
        _SRIOV,
        "SriovNetworkNodePolicy",
        f"{use.pool.name}-{name}",
        operator,
        spec={
            "deviceType": "netdevice",
            "linkType": "ib",
            "isRdma": True,
            "numVfs": use.attachment.port_functions,
            "priority": 90,
            "resourceName": name,
            "nicSelector": picked,
            "nodeSelector": {POOL_LABEL: use.pool.name},
        },
    )


def _build_provider_networks(plan: Plan, uses: list[_PoolAttachment]) -> Iterator[Object]:
    """The provider's own objects: a network for each adapter. RDMA has one VPC with a subnet for each, else each has
    its own.
    """
    service = require_kubernetes_plan(plan).service
    api = service.pod_networks if service else None
    if api is None:
        return
    done: set[str] = set()
    for use in uses:
        mode = "RDMA" if use.attachment.fabric.kind == "roce" else "NetDevice"
        for network in use.attachment.networks:
            if network in done:
                continue
            done.add(network)
            subnet = f"{plan.name}-{network}"
            vpc = f"{plan.name}-{use.attachment.fabric.name}" if mode == "RDMA" else subnet
            yield build_object(
                f"{api.group}/{api.version}",
                api.parameters,
                network,
                spec={"vpc": vpc, "vpcSubnet": subnet, "deviceMode": mode},
            )
            yield build_object(
                f"{api.group}/{api.version}",
                "Network",
                network,
                spec={
                    "type": "Device",
                    "parametersRef": {"group": api.group, "kind": api.parameters, "name": network},
                },
            )


def _build_nccl_settings(plan: Plan) -> Iterator[Object]:
    """Yield settings as variables (``envFrom``) and as the library's file in /etc, in every namespace that runs
    jobs.
    """
    for tenant in list_tenant_names(plan):
        for pool in plan.pools:
            if settings := build_nccl_environment(plan, pool):
                file = find_collectives_file(pool)
                text = "".join(f"{key}={value}\n" for key, value in settings.items())
                yield build_object(
                    "v1",
                    "ConfigMap",
                    format_settings_name(pool.name),
                    format_namespace_name(tenant),
                    data={**settings, **({file: text} if file else {})},
                )


def list_host_driver_pools(plan: Plan) -> list[PoolPlan]:
    """Return pools whose adapters the network operator allocates with the driver of the host."""
    if not (has_host_driver(plan) and require_kubernetes_plan(plan).find_chart("network-operator")):
        return []
    return [pool for pool in plan.pools if any(reach.mode in _OPERATOR_MODES for reach in list_attachments(plan, pool))]


def build_rail_names(plan: Plan) -> dict[str, list[tuple[str, str]]]:
    """Pool -> RDMA device and the new name of its interface, for pools whose rails are distinguished."""
    found: dict[str, list[tuple[str, str]]] = {}
    for pool in plan.pools:
        for reach in list_attachments(plan, pool):
            adapter = find_pool_adapter(pool, reach.fabric)
            if adapter and reach.has_named_ports and plan.site.kind == "onprem":
                found.setdefault(pool.name, [])
                found[pool.name] += [(device, f"rail{index}") for index, device in enumerate(adapter.devices)]
    return found
