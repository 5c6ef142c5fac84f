"""The objects of NVIDIA's driver for dynamic resource allocation: a channel on every node that shares memory, its
class, and the template by which pods of a ComputeDomain claim one.
"""

from __future__ import annotations

from typing import Any

from kube_lab import Lab

from supercloud.plan.build.kubernetes.names import format_channel_claim_name, format_namespace_name
from supercloud.plan.model.plan import Plan

Json = dict[str, Any]

_API = "resource.k8s.io/v1"
_DRIVER = "compute-domain.nvidia.com"
_CLASS = "compute-domain-default-channel.nvidia.com"


def give_channels(lab: Lab, plan: Plan) -> None:
    """Create them for the pools of a plan whose nodes share memory."""
    pools = [pool for pool in plan.pools if pool.has_imex]
    if not pools:
        return
    rule = f"device.driver == '{_DRIVER}' && device.attributes['{_DRIVER}'].type == 'channel'"
    lab.apply(
        {
            "apiVersion": _API,
            "kind": "DeviceClass",
            "metadata": {"name": _CLASS},
            "spec": {"selectors": [{"cel": {"expression": rule}}]},
        }
    )
    requests = [{"name": "channel", "exactly": {"deviceClassName": _CLASS}}]
    for pool in pools:
        for tenant in plan.tenants:
            lab.apply(
                {
                    "apiVersion": _API,
                    "kind": "ResourceClaimTemplate",
                    "metadata": {
                        "name": format_channel_claim_name(pool.name),
                        "namespace": format_namespace_name(tenant.name),
                    },
                    "spec": {"spec": {"devices": {"requests": requests}}},
                }
            )
        lab.apply(*(_build_slice(host) for host in pool.hosts))


def _build_slice(host: str) -> Json:
    device = {"name": "channel-0", "attributes": {"type": {"string": "channel"}, "id": {"int": 0}}}
    return {
        "apiVersion": _API,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{host}-channels"},
        "spec": {
            "driver": _DRIVER,
            "nodeName": host,
            "devices": [device],
            "pool": {"name": host, "generation": 1, "resourceSliceCount": 1},
        },
    }
