"""On-prem: kubeadm's configuration for a control plane that survives the loss of a host, sized by the number of nodes.

The bundle contains no secrets: hosts that join read the token from a file that the first host writes.
"""

from __future__ import annotations

from ....plan.build.kubernetes.names import MANAGED_BY_LABEL
from ....plan.build.kubernetes.networks import build_cluster_networks
from ....plan.model.plan import Plan, PoolPlan
from .accessors import (
    build_pool_labels,
    build_taints,
    require_control_plane,
    require_kubernetes_plan,
    require_kubernetes_spec,
)
from .manifest import Object, render_documents

__all__ = ["render_files", "select_patch_version"]

_API_GROUP = "kubeadm.k8s.io"
_API_PORT = 6443
DISCOVERY_FILE = "/etc/kubernetes/discovery.conf"


def select_patch_version(plan: Plan) -> str:
    """Return the patch release: that of the spec, or the catalog's for the minor release."""
    asked = require_kubernetes_spec(plan).version
    release = require_kubernetes_plan(plan).release
    assert release is not None
    return asked if asked.count(".") == 2 else release.patch


def render_files(plan: Plan) -> dict[str, str]:
    """Render the configuration of the first host, of further ones and of the nodes of each pool; the shared address."""
    release = require_kubernetes_plan(plan).release
    assert release is not None
    api = f"{_API_GROUP}/{release.abilities.kubeadm}"
    found = {
        "kubeadm-init.yaml": render_documents(
            plan.name,
            [
                _build_init_configuration(plan, api),
                _build_cluster_configuration(plan, api),
                _build_kubelet_configuration(plan),
            ],
        ),
        "kubeadm-join-control-plane.yaml": render_documents(plan.name, [_build_join_configuration(plan, api, None)]),
        "kube-vip.yaml": render_documents(plan.name, [_build_virtual_ip_pod(plan)]),
    }
    for pool in plan.pools:
        found[f"kubeadm-join-{pool.name}.yaml"] = render_documents(
            plan.name, [_build_join_configuration(plan, api, pool)]
        )
    return found


def _build_arguments(values: dict[str, str]) -> list[Object]:
    return [{"name": name, "value": value} for name, value in values.items()]


def _build_init_configuration(plan: Plan, api: str) -> Object:
    return {
        "apiVersion": api,
        "kind": "InitConfiguration",
        "localAPIEndpoint": {"advertiseAddress": plan.scheduler.controllers[0].address, "bindPort": _API_PORT},
        "nodeRegistration": {"name": plan.scheduler.controllers[0].name},
        "skipPhases": ["addon/kube-proxy"],
    }


def _build_cluster_configuration(plan: Plan, api: str) -> Object:
    networks = build_cluster_networks(plan)
    assert networks.pods and networks.services, "a plan without pod addresses has an error finding"
    own = require_control_plane(plan)
    limits = own.select_request_limits(plan.nodes)
    names = [name for host in plan.scheduler.controllers for name in (host.name, host.address)]
    return {
        "apiVersion": api,
        "kind": "ClusterConfiguration",
        "clusterName": plan.name,
        "kubernetesVersion": f"v{select_patch_version(plan)}",
        "controlPlaneEndpoint": f"{networks.endpoint}:{_API_PORT}",
        "networking": {
            "podSubnet": str(networks.pods),
            "serviceSubnet": str(networks.services),
            "dnsDomain": "cluster.local",
        },
        "apiServer": {
            "certSANs": [networks.endpoint, *names],
            "extraArgs": _build_arguments(
                {
                    "max-requests-inflight": str(limits.reads),
                    "max-mutating-requests-inflight": str(limits.writes),
                    "profiling": "false",
                    **_build_feature_gates(plan),
                }
            ),
        },
        "controllerManager": {
            "extraArgs": _build_arguments(
                {
                    "node-cidr-mask-size": str(networks.node_prefix),
                    "kube-api-qps": "100",
                    "kube-api-burst": "200",
                    "profiling": "false",
                }
            )
        },
        "scheduler": {
            "extraArgs": _build_arguments({"kube-api-qps": "200", "kube-api-burst": "400", "profiling": "false"})
        },
        "etcd": {
            "local": {
                "dataDir": "/var/lib/etcd",
                "extraArgs": _build_arguments(
                    {
                        "quota-backend-bytes": str(own.etcd_quota.floor("B")),
                        "auto-compaction-mode": "periodic",
                        "auto-compaction-retention": "5m",
                    }
                ),
            }
        },
    }


def _build_feature_gates(plan: Plan) -> dict[str, str]:
    """Build the feature gates that are disabled by default."""
    policies = require_kubernetes_plan(plan).mutating_policies
    if require_kubernetes_spec(plan).queue != "kueue" or policies is None or policies.gate is None:
        return {}
    return {
        "feature-gates": f"{policies.gate}=true",
        "runtime-config": f"admissionregistration.k8s.io/{policies.version}=true",
    }


def _build_kubelet_configuration(plan: Plan) -> Object:
    """Build the settings common to all kubelets; the join configuration has each pool's system reservation."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cgroupDriver": "systemd",
        "serverTLSBootstrap": False,
        "topologyManagerPolicy": "best-effort",
        "maxPods": 110,
    }


def _build_join_configuration(plan: Plan, api: str, pool: PoolPlan | None) -> Object:
    found: Object = {
        "apiVersion": api,
        "kind": "JoinConfiguration",
        "discovery": {"file": {"kubeConfigPath": DISCOVERY_FILE}},
    }
    if pool is None:
        # join-control-plane.sh fills in the key
        found["controlPlane"] = {"localAPIEndpoint": {"bindPort": _API_PORT}, "certificateKey": ""}
        return found
    labels = ",".join(f"{key}={value}" for key, value in build_pool_labels(plan, pool).items())
    args = {"node-labels": labels}
    if pool.reserved_cores or pool.reserved_memory.base:
        parts = [f"cpu={_count_reserved_threads(pool)}"] if pool.reserved_cores and pool.machine.cpu else []
        parts += [f"memory={pool.reserved_memory.ceil('MiB')}Mi"] if pool.reserved_memory.base else []
        args["system-reserved"] = ",".join(parts)
    found["nodeRegistration"] = {"kubeletExtraArgs": _build_arguments(args), "taints": build_taints(plan, pool)}
    return found


def _count_reserved_threads(pool: PoolPlan) -> int:
    assert pool.machine.cpu is not None
    return pool.reserved_cores * pool.machine.cpu.threads_per_core


def _build_virtual_ip_pod(plan: Plan) -> Object:
    """Build kube-vip as a static pod: the leading control-plane host has the shared address."""
    address = build_cluster_networks(plan).endpoint
    settings = {
        "vip_arp": "true",
        "port": str(_API_PORT),
        "cp_enable": "true",
        "cp_namespace": "kube-system",
        "vip_leaderelection": "true",
        "vip_leasename": "plndr-cp-lock",
        "vip_leaseduration": "5",
        "vip_renewdeadline": "3",
        "vip_retryperiod": "1",
        "address": address,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "kube-vip", "namespace": "kube-system", "labels": {MANAGED_BY_LABEL: "supercloud"}},
        "spec": {
            "hostNetwork": True,
            "hostAliases": [{"ip": "127.0.0.1", "hostnames": ["kubernetes"]}],
            "containers": [
                {
                    "name": "kube-vip",
                    "image": require_control_plane(plan).virtual_address,
                    "args": ["manager"],
                    "env": [{"name": key, "value": value} for key, value in settings.items()],
                    "securityContext": {"capabilities": {"drop": ["ALL"], "add": ["NET_ADMIN", "NET_RAW"]}},
                    "volumeMounts": [{"name": "kubeconfig", "mountPath": "/etc/kubernetes/admin.conf"}],
                }
            ],
            "volumes": [{"name": "kubeconfig", "hostPath": {"path": "/etc/kubernetes/admin.conf"}}],
        },
    }
