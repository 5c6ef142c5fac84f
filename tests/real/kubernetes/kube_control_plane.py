"""etcd, the API server, the controller manager and the scheduler on loopback: no kubelet, no privileges."""

from __future__ import annotations

from pathlib import Path

from kube_certificates import ADMIN, Certificates
from kube_processes import Processes, find_free_ports

# controllers that need a cloud, a network or a kubelet
_OFF = (
    "node-ipam-controller",
    "node-route-controller",
    "cloud-node-lifecycle-controller",
    "service-lb-controller",
    "persistentvolume-attach-detach-controller",
    "horizontal-pod-autoscaler-controller",
    "bootstrap-signer-controller",
    "token-cleaner-controller",
)
# the default limits delay bursts
_FAST = {"kube-api-qps": 500, "kube-api-burst": 1000, "leader-elect": "false"}


def start(processes: Processes, keys: Certificates, data: Path) -> tuple[str, Path]:
    """Start all programs; return the address of the API server and the administrator's kubeconfig."""
    client, peer, api, manager, scheduler = find_free_ports(5)
    store, other = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
    processes.start(
        "etcd",
        {
            "data-dir": data,
            "unsafe-no-fsync": "true",
            "log-level": "warn",
            "listen-client-urls": store,
            "advertise-client-urls": store,
            "listen-peer-urls": other,
            "initial-advertise-peer-urls": other,
            "initial-cluster": f"default={other}",
        },
    )
    server = f"https://127.0.0.1:{api}"
    processes.start(
        "kube-apiserver",
        {
            "etcd-servers": store,
            "bind-address": "127.0.0.1",
            "advertise-address": "127.0.0.1",
            "secure-port": api,
            "endpoint-reconciler-type": "none",  # endpoints on loopback are not allowed
            "service-cluster-ip-range": "10.96.0.0/16",
            "authorization-mode": "RBAC",
            "token-auth-file": keys.folder / "tokens.csv",
            "client-ca-file": keys.folder / "ca.crt",
            "tls-cert-file": keys.folder / "tls.crt",
            "tls-private-key-file": keys.folder / "tls.key",
            "cert-dir": processes.folder,
            "allow-privileged": "true",
            "profiling": "false",
            "service-account-issuer": server,
            "service-account-key-file": keys.folder / "sa.pub",
            "service-account-signing-key-file": keys.folder / "sa.key",
            "kubelet-preferred-address-types": "InternalIP",
            "max-requests-inflight": 800,
            "max-mutating-requests-inflight": 400,
            # as in the rendered kubeadm file for older releases
            "runtime-config": "admissionregistration.k8s.io/v1beta1=true",
        },
    )
    processes.wait_ready("kube-apiserver", f"{server}/readyz", ADMIN)
    kubeconfig = keys.write_kubeconfig(processes.folder / "admin.kubeconfig", server, ADMIN)
    who = {
        "kubeconfig": kubeconfig,
        "authentication-kubeconfig": kubeconfig,
        "authorization-kubeconfig": kubeconfig,
        "authentication-skip-lookup": "true",
        "bind-address": "127.0.0.1",
        **_FAST,
    }
    processes.start(
        "kube-controller-manager",
        {
            **who,
            "secure-port": manager,
            "cert-dir": processes.folder / "manager",
            "service-account-private-key-file": keys.folder / "sa.key",
            "root-ca-file": keys.folder / "ca.crt",
            "use-service-account-credentials": "false",
            "concurrent-job-syncs": 20,
            "controllers": ",".join(["*", *(f"-{name}" for name in _OFF)]),
        },
    )
    processes.start("kube-scheduler", {**who, "secure-port": scheduler, "cert-dir": processes.folder / "scheduler"})
    return server, kubeconfig
