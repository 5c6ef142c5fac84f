"""Fabrics: the network operator's policy, one network for each rail, address pools, and NCCL's settings for jobs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from ....plan.build.fabric.nccl import collectives_file
from ....plan.build.kubernetes.fabrics import Reach, adapter_of, addresses_per_node, nccl_of, pod_blocks, reaches
from ....plan.build.kubernetes.names import POOL, attachment_of, namespace_of, settings_of
from ....plan.model.plan import Plan, PoolPlan
from .given import facts_of, has_host_driver, taints_of, tenant_names
from .manifest import Object, obj

__all__ = ["host_driven", "objects", "rail_names"]

_REPOSITORY = "nvcr.io/nvidia/mellanox"
_SHARES = 63
_OPERATED = ("host-device", "sr-iov", "shared")
_SRIOV, _NVIDIA, _IPAM = "sriovnetwork.openshift.io/v1", "mellanox.com/v1alpha1", "nv-ipam.nvidia.com/v1alpha1"


@dataclass(frozen=True)
class _Use:
    pool: PoolPlan
    reach: Reach


def objects(plan: Plan) -> list[Object]:
    """Everything about fabrics that a cluster is told."""
    uses = [_Use(pool, reach) for pool in plan.pools for reach in reaches(plan, pool)]
    found: list[Object] = []
    chart = facts_of(plan).chart("network-operator")
    ours = [use for use in uses if use.reach.way in _OPERATED]
    if chart and ours:
        found.append(_policy(plan, ours))
        found += _networks(plan, ours, chart.namespace)
    found += _gke(plan, [use for use in uses if use.reach.way == "gke"])
    return [*found, *_nccl(plan)]


def _image(plan: Plan, image: str) -> Object:
    chart = facts_of(plan).chart("network-operator")
    assert chart is not None
    version = chart.images["doca-driver" if image == "doca-driver" else "components"]
    return {"image": image, "repository": _REPOSITORY, "version": version}


def _policy(plan: Plan, uses: list[_Use]) -> Object:
    """The operator has one policy for the whole cluster."""
    pools = sorted({use.pool.name for use in uses})
    taints = sorted({item["key"] for use in uses for item in taints_of(plan, use.pool)})
    ways = {use.reach.way for use in uses}
    terms = [{"matchExpressions": [{"key": POOL, "operator": "In", "values": pools}]}]
    spec: Object = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}},
        "tolerations": [{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in taints],
    }
    if not has_host_driver(plan):
        spec["ofedDriver"] = {
            **_image(plan, "doca-driver"),
            "upgradePolicy": {"autoUpgrade": True, "maxParallelUpgrades": 1,
                              "drain": {"enable": True, "force": True, "deleteEmptyDir": True, "timeoutSeconds": 300}},
        }  # fmt: skip
    if "shared" in ways:
        config = {"configList": _once([_shared(plan, use) for use in uses if use.reach.way == "shared"])}
        spec["rdmaSharedDevicePlugin"] = {**_image(plan, "k8s-rdma-shared-dev-plugin"), "config": _json(config)}
    if "host-device" in ways:
        lists = [item for use in uses if use.reach.way == "host-device" for item in _devices(plan, use)]
        spec["sriovDevicePlugin"] = {
            **_image(plan, "sriov-network-device-plugin"), "config": _json({"resourceList": _once(lists)}),
        }  # fmt: skip
    if ways & {"host-device", "sr-iov"}:
        spec["secondaryNetwork"] = {"cniPlugins": _image(plan, "plugins"), "multus": _image(plan, "multus-cni")}
        spec["nvIpam"] = _image(plan, "nvidia-k8s-ipam")
    return obj(_NVIDIA, "NicClusterPolicy", "nic-cluster-policy", spec=spec)


def _json(value: Object) -> str:
    return json.dumps(value, indent=2) + "\n"


def _once(items: list[Object]) -> list[Object]:
    """Without repeats, in order: pools of one machine have the same devices."""
    return [item for index, item in enumerate(items) if item not in items[:index]]


def _selectors(plan: Plan, use: _Use, rail: int | None = None) -> Object:
    """Which adapters: by the rail's name where it is known, else by vendor, model and kind of link."""
    adapter = adapter_of(use.pool, use.reach.fabric)
    nic = facts_of(plan).nics.get(adapter.model) if adapter and adapter.model else None
    found: Object = {"vendors": [nic.vendor_id], "devices": [nic.device_id]} if nic else {}
    if use.reach.named and rail is not None:
        return {**found, "pfNames": [f"rail{rail}"]}
    return {**found, "linkTypes": ["infiniband" if use.reach.fabric.kind == "infiniband" else "ether"]}


def _shared(plan: Plan, use: _Use) -> Object:
    picked = _selectors(plan, use)
    if "devices" in picked:
        picked["deviceIDs"] = picked.pop("devices")
    if use.reach.named:
        picked = {"ifNames": [f"rail{rail}" for rail in range(use.reach.rails)]}
    return {"resourceName": use.reach.fabric.name, "rdmaHcaMax": _SHARES, "selectors": picked}


def _devices(plan: Plan, use: _Use) -> Iterator[Object]:
    rails = range(use.reach.rails) if use.reach.named else (None,)
    for rail in rails:
        resource = use.reach.ports if rail is None else use.reach.network(rail)
        picked = {**_selectors(plan, use, rail), "isRdma": True}
        yield {"resourcePrefix": "nvidia.com", "resourceName": resource, "selectors": picked}


def _networks(plan: Plan, uses: list[_Use], operator: str) -> Iterator[Object]:
    """A network and an address pool for each rail; both serve all pools on the fabric alike."""
    done: set[str] = set()
    for use in uses:
        reach = use.reach
        if reach.way == "shared":
            continue
        for rail in range(reach.rails if reach.named else 1):
            name = reach.network(rail) if reach.named else reach.ports
            if reach.way == "sr-iov":
                yield _node_policy(plan, use, rail, operator)
            if name in done:
                continue
            done.add(name)
            blocks = pod_blocks(plan, reach)
            ipam = ""
            if rail < len(blocks) and (block := blocks[rail]):
                ipam = _json({"type": "nv-ipam", "poolName": name})
                pools = [
                    other.pool.name
                    for other in uses
                    if (other.reach.fabric.name, other.reach.way, other.reach.named)
                    == (reach.fabric.name, reach.way, reach.named)
                ]
                terms = [{"matchExpressions": [{"key": POOL, "operator": "In", "values": pools}]}]
                yield obj(_IPAM, "IPPool", name, operator, spec={
                    "subnet": str(block),
                    "perNodeBlockSize": addresses_per_node(plan, reach),
                    "nodeSelector": {"nodeSelectorTerms": terms},
                })  # fmt: skip
            for tenant in tenant_names(plan):
                yield _network(reach, name, ipam, namespace_of(tenant), operator)


def _network(reach: Reach, name: str, ipam: str, namespace: str, operator: str) -> Object:
    """A network as pods of one namespace name it; the operator makes the attachment of it."""
    spec: Object = {"networkNamespace": namespace, "resourceName": name, **({"ipam": ipam} if ipam else {})}
    if reach.way == "host-device":
        return obj(_NVIDIA, "HostDeviceNetwork", attachment_of(namespace, name), spec=spec)
    return obj(_SRIOV, "SriovIBNetwork", attachment_of(namespace, name), operator, spec=spec | {"linkState": "enable"})


def _node_policy(plan: Plan, use: _Use, rail: int, operator: str) -> Object:
    name = use.reach.network(rail)
    adapter = adapter_of(use.pool, use.reach.fabric)
    nic = facts_of(plan).nics.get(adapter.model) if adapter and adapter.model else None
    picked: Object = {"pfNames": [f"rail{rail}"]}
    if nic:
        picked = {"vendor": nic.vendor_id, "deviceID": nic.device_id, **picked}
    return obj(_SRIOV, "SriovNetworkNodePolicy", f"{use.pool.name}-{name}", operator, spec={
        "deviceType": "netdevice",
        "linkType": "ib",
        "isRdma": True,
        "numVfs": use.reach.functions,
        "priority": 90,
        "resourceName": name,
        "nicSelector": picked,
        "nodeSelector": {POOL: use.pool.name},
    })  # fmt: skip


def _gke(plan: Plan, uses: list[_Use]) -> Iterator[Object]:
    """GKE's own objects: a network for each adapter. RDMA has one VPC with a subnet for each, else each has its own."""
    done: set[str] = set()
    for use in uses:
        mode = "RDMA" if use.reach.fabric.kind == "roce" else "NetDevice"
        for network in use.reach.networks:
            if network in done:
                continue
            done.add(network)
            subnet = f"{plan.name}-{network}"
            vpc = f"{plan.name}-{use.reach.fabric.name}" if mode == "RDMA" else subnet
            yield obj("networking.gke.io/v1", "GKENetworkParamSet", network,
                      spec={"vpc": vpc, "vpcSubnet": subnet, "deviceMode": mode})  # fmt: skip
            yield obj("networking.gke.io/v1", "Network", network, spec={
                "type": "Device",
                "parametersRef": {"group": "networking.gke.io", "kind": "GKENetworkParamSet", "name": network},
            })  # fmt: skip


def _nccl(plan: Plan) -> Iterator[Object]:
    """Settings as variables (``envFrom``) and as the library's file in /etc, in every namespace that runs jobs."""
    for tenant in tenant_names(plan):
        for pool in plan.pools:
            if settings := nccl_of(plan, pool):
                file = collectives_file(pool)
                text = "".join(f"{key}={value}\n" for key, value in settings.items())
                yield obj("v1", "ConfigMap", settings_of(pool.name), namespace_of(tenant),
                          data={**settings, **({file: text} if file else {})})  # fmt: skip


def host_driven(plan: Plan) -> list[PoolPlan]:
    """Pools whose adapters the network operator hands out with the driver of the host."""
    if not (has_host_driver(plan) and facts_of(plan).chart("network-operator")):
        return []
    return [pool for pool in plan.pools if any(reach.way in _OPERATED for reach in reaches(plan, pool))]


def rail_names(plan: Plan) -> dict[str, list[tuple[str, str]]]:
    """pool -> RDMA device and the name its interface gets, for pools whose rails are told apart."""
    found: dict[str, list[tuple[str, str]]] = {}
    for pool in plan.pools:
        for reach in reaches(plan, pool):
            adapter = adapter_of(pool, reach.fabric)
            if adapter and reach.named and plan.site.kind == "onprem":
                found.setdefault(pool.name, [])
                found[pool.name] += [(device, f"rail{index}") for index, device in enumerate(adapter.devices)]
    return found
