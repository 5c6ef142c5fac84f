"""On-prem: kubeadm's configuration for a control plane that survives a host, sized by the number of nodes.

The bundle has no secret: hosts that join read the token out of a file that the first host writes.
"""

from __future__ import annotations

from ....plan.build.kubernetes.names import MANAGED_BY
from ....plan.build.kubernetes.networks import cluster_networks
from ....plan.model.plan import Plan, PoolPlan
from .given import declared_of, facts_of, own_of, pool_labels, taints_of
from .manifest import Object, documents

__all__ = ["files", "version_of"]

_API = "kubeadm.k8s.io"
_PORT = 6443
DISCOVERY = "/etc/kubernetes/discovery.conf"


def version_of(plan: Plan) -> str:
    """The patch release: the spec's, or the catalog's of the series."""
    asked = declared_of(plan).version
    release = facts_of(plan).release
    assert release is not None
    return asked if asked.count(".") == 2 else release.patch


def files(plan: Plan) -> dict[str, str]:
    """Configuration of the first host, of further ones, and of the nodes of each pool; the address they share."""
    release = facts_of(plan).release
    assert release is not None
    api = f"{_API}/{release.abilities.kubeadm}"
    found = {
        "kubeadm-init.yaml": documents(plan.name, [_init(plan, api), _cluster(plan, api), _kubelet(plan)]),
        "kubeadm-join-control-plane.yaml": documents(plan.name, [_join(plan, api, None)]),
        "kube-vip.yaml": documents(plan.name, [_vip(plan)]),
    }
    for pool in plan.pools:
        found[f"kubeadm-join-{pool.name}.yaml"] = documents(plan.name, [_join(plan, api, pool)])
    return found


def _args(values: dict[str, str]) -> list[Object]:
    return [{"name": name, "value": value} for name, value in values.items()]


def _init(plan: Plan, api: str) -> Object:
    return {
        "apiVersion": api,
        "kind": "InitConfiguration",
        "localAPIEndpoint": {"advertiseAddress": plan.scheduler.controllers[0].address, "bindPort": _PORT},
        "nodeRegistration": {"name": plan.scheduler.controllers[0].name},
        "skipPhases": ["addon/kube-proxy"],
    }


def _cluster(plan: Plan, api: str) -> Object:
    networks = cluster_networks(plan)
    assert networks.pods and networks.services, "a plan without room for pods has an error finding"
    own = own_of(plan)
    limits = own.requests(plan.nodes)
    names = [name for host in plan.scheduler.controllers for name in (host.name, host.address)]
    return {
        "apiVersion": api,
        "kind": "ClusterConfiguration",
        "clusterName": plan.name,
        "kubernetesVersion": f"v{version_of(plan)}",
        "controlPlaneEndpoint": f"{networks.endpoint}:{_PORT}",
        "networking": {
            "podSubnet": str(networks.pods), "serviceSubnet": str(networks.services), "dnsDomain": "cluster.local",
        },
        "apiServer": {
            "certSANs": [networks.endpoint, *names],
            "extraArgs": _args({
                "max-requests-inflight": str(limits.reads),
                "max-mutating-requests-inflight": str(limits.writes),
                "profiling": "false",
                **_gates(plan),
            }),
        },
        "controllerManager": {"extraArgs": _args({
            "node-cidr-mask-size": str(networks.node_prefix),
            "kube-api-qps": "100",
            "kube-api-burst": "200",
            "profiling": "false",
        })},
        "scheduler": {"extraArgs": _args({"kube-api-qps": "200", "kube-api-burst": "400", "profiling": "false"})},
        "etcd": {"local": {"dataDir": "/var/lib/etcd", "extraArgs": _args({
            "quota-backend-bytes": str(own.etcd_quota.floor("B")),
            "auto-compaction-mode": "periodic",
            "auto-compaction-retention": "5m",
        })}},
    }  # fmt: skip


def _gates(plan: Plan) -> dict[str, str]:
    """What the API server is told to serve that it has but does not serve by itself."""
    policies = facts_of(plan).changing_policies
    if declared_of(plan).queue != "kueue" or policies is None or policies.gate is None:
        return {}
    return {"feature-gates": f"{policies.gate}=true",
            "runtime-config": f"admissionregistration.k8s.io/{policies.version}=true"}  # fmt: skip


def _kubelet(plan: Plan) -> Object:
    """What all kubelets have in common; what pools keep for the system is said where they join."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cgroupDriver": "systemd",
        "serverTLSBootstrap": False,
        "topologyManagerPolicy": "best-effort",
        "maxPods": 110,
    }


def _join(plan: Plan, api: str, pool: PoolPlan | None) -> Object:
    found: Object = {
        "apiVersion": api,
        "kind": "JoinConfiguration",
        "discovery": {"file": {"kubeConfigPath": DISCOVERY}},
    }
    if pool is None:
        found["controlPlane"] = {"localAPIEndpoint": {"bindPort": _PORT}}
        return found
    labels = ",".join(f"{key}={value}" for key, value in pool_labels(plan, pool).items())
    args = {"node-labels": labels}
    if pool.reserved_cores or pool.reserved_memory.base:
        parts = [f"cpu={_threads(pool)}"] if pool.reserved_cores and pool.machine.cpu else []
        parts += [f"memory={pool.reserved_memory.ceil('MiB')}Mi"] if pool.reserved_memory.base else []
        args["system-reserved"] = ",".join(parts)
    found["nodeRegistration"] = {"kubeletExtraArgs": _args(args), "taints": taints_of(plan, pool)}
    return found


def _threads(pool: PoolPlan) -> int:
    assert pool.machine.cpu is not None
    return pool.reserved_cores * pool.machine.cpu.threads_per_core


def _vip(plan: Plan) -> Object:
    """kube-vip as a static pod: whichever control-plane host leads answers at the shared address."""
    address = cluster_networks(plan).endpoint
    settings = {
        "vip_arp": "true", "port": str(_PORT), "cp_enable": "true", "cp_namespace": "kube-system",
        "vip_leaderelection": "true", "vip_leasename": "plndr-cp-lock", "vip_leaseduration": "5",
        "vip_renewdeadline": "3", "vip_retryperiod": "1", "address": address,
    }  # fmt: skip
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "kube-vip", "namespace": "kube-system", "labels": {MANAGED_BY: "supercloud"}},
        "spec": {
            "hostNetwork": True,
            "hostAliases": [{"ip": "127.0.0.1", "hostnames": ["kubernetes"]}],
            "containers": [{
                "name": "kube-vip",
                "image": own_of(plan).virtual_address,
                "args": ["manager"],
                "env": [{"name": key, "value": value} for key, value in settings.items()],
                "securityContext": {"capabilities": {"drop": ["ALL"], "add": ["NET_ADMIN", "NET_RAW"]}},
                "volumeMounts": [{"name": "kubeconfig", "mountPath": "/etc/kubernetes/admin.conf"}],
            }],
            "volumes": [{"name": "kubeconfig", "hostPath": {"path": "/etc/kubernetes/admin.conf"}}],
        },
    }  # fmt: skip
