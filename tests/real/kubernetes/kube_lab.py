"""A complete cluster on loopback: a real control plane, Kueue, JobSet, LeaderWorkerSet, and nodes simulated by KWOK.

Closing it leaves nothing: every process is ended by its process ID, the folder is the caller's, and the data of etcd
is in memory.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import kube_control_plane
import kube_nodes
from kube_binaries import build_module
from kube_certificates import ADMIN, Certificates, format_token, make_certificates
from kube_managers import Managers, load_documents
from kube_nodes import Node
from kube_processes import Processes
from real.polling import wait_for

from supercloud.jobs.engines.kubernetes.api import ApiClient, ApiStatusError, ClusterTransport

Json = dict[str, Any]

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_HOOKS = "/apis/admissionregistration.k8s.io/v1"
_JOBS = (
    "/apis/jobset.x-k8s.io/v1alpha2/namespaces/{}/jobsets",
    "/apis/batch/v1/namespaces/{}/jobs",
    "/api/v1/namespaces/{}/pods",
)
_SYSTEM = ("kueue-system", "jobset-system", "lws-system")


class Lab:
    """Started by ``with``.

    ``nodes`` are ready after the start, ``kueue`` is the configuration of Kueue, ``people`` are users with their group
    in addition to the administrator.
    """

    def __init__(
        self,
        folder: Path,
        nodes: Iterable[Node] = (),
        kueue: Json | None = None,
        people: Mapping[str, str] | None = None,
    ):
        self.folder, self._nodes, self._kueue, self._people = folder, list(nodes), kueue, people or {}
        self.built = build_module()
        self.processes = Processes(self.built / "bin", folder)
        self.server, self.token = "", ADMIN
        self.kubeconfig = folder / "admin.kubeconfig"
        self._data = Path(tempfile.mkdtemp(prefix="supercloud-etcd-", dir="/dev/shm"))
        self._paths: dict[tuple[str, str], tuple[str, bool]] = {}

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Stop the cluster."""
        self.processes.stop()
        shutil.rmtree(self._data, ignore_errors=True)

    def _start(self) -> None:
        self.keys: Certificates = make_certificates(self.folder / "pki", self._people)
        self.server, self.kubeconfig = kube_control_plane.start(self.processes, self.keys, self._data / "data")
        self.api = ApiClient(ClusterTransport(config_file=self.kubeconfig))
        kube_nodes.start(self.processes, self.built / "manifests", self.keys, self.kubeconfig)
        managers = Managers(self.built / "manifests", self.processes, self.keys)
        for name in _SYSTEM:
            self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        self.define(managers.iter_resources())
        managers.start(self.kubeconfig, self._kueue)
        for item in managers.iter_webhooks():
            self._apply(item, f"{_HOOKS}/{item['kind'].lower()}s")
        self.add(self._nodes)

    # -- objects -----------------------------------------------------------------------------------------------------

    def apply(self, *items: Json) -> None:
        """Server-side apply that rejects unknown fields; also of custom resources, whose paths are looked up."""
        for item in items:
            path, namespaced = self._find_path(item["apiVersion"], item["kind"])
            space = item["metadata"].get("namespace", "default")
            version, _, plural = path.rpartition("/")
            self._apply(item, f"{version}/namespaces/{space}/{plural}" if namespaced else path)

    def _apply(self, item: Json, path: str) -> Json:
        return self.api.patch(
            f"{path}/{item['metadata']['name']}",
            item,
            "application/apply-patch+yaml",
            fieldManager="lab",
            force="true",
            fieldValidation="Strict",
        )

    def _find_path(self, version: str, kind: str) -> tuple[str, bool]:
        if (version, kind) not in self._paths:
            root = f"/apis/{version}" if "/" in version else f"/api/{version}"
            for found in self.api.get(root)["resources"]:
                if "/" not in found["name"]:
                    self._paths[version, found["kind"]] = (f"{root}/{found['name']}", found["namespaced"])
        return self._paths[version, kind]

    def load(self, *names: str) -> None:
        """Define custom resources of other projects, by their names in crds.txt."""
        for name in names:
            files = sorted((self.built / "manifests" / "crds" / name).glob("*.yaml"))
            assert files, f"crds.txt has no {name}"
            self.define(item for item in load_documents(*files) if item["kind"] == "CustomResourceDefinition")

    def define(self, items: Iterable[Json]) -> None:
        """Define custom resources, and wait until the server serves them."""
        with ThreadPoolExecutor(4) as threads:
            names = [item["metadata"]["name"] for item in threads.map(lambda item: self._apply(item, _CRDS), items)]
        for name in names:
            self.wait_until(
                lambda name=name: any(  # type: ignore[misc]
                    found["type"] == "Established" and found["status"] == "True"
                    for found in self.api.get(f"{_CRDS}/{name}").get("status", {}).get("conditions") or ()
                )
            )

    # -- nodes -------------------------------------------------------------------------------------------------------

    def add(self, nodes: Iterable[Node]) -> None:
        """Add nodes and wait until they are schedulable."""
        names = {node.name for node in nodes}
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda node: self.api.post("/api/v1/nodes", node.build_object()), nodes))
        self.wait_until(lambda: names <= set(self._iter_ready()))

    def _iter_ready(self) -> Iterator[str]:
        for node in self.api.iter_items("/api/v1/nodes"):
            ready = any(
                item["type"] == "Ready" and item["status"] == "True" for item in node["status"].get("conditions") or ()
            )
            new = any(taint["key"].startswith("node.kubernetes.io/") for taint in node["spec"].get("taints") or ())
            if ready and not new:
                yield node["metadata"]["name"]

    @contextmanager
    def lose_node(self, node: str) -> Iterator[None]:
        """Lose a node for a while: its pods are evicted."""
        broken = {"key": "broken", "value": "yes", "effect": "NoExecute"}
        self.api.patch(f"/api/v1/nodes/{node}", {"spec": {"taints": [broken]}})
        try:
            yield
        finally:
            self.api.patch(f"/api/v1/nodes/{node}", {"spec": {"taints": []}})

    # -- people ------------------------------------------------------------------------------------------------------

    def write_kubeconfig(self, person: str, namespace: str) -> Path:
        """Write the kubeconfig of one of ``people``."""
        path = self.folder / f"{person}.kubeconfig"
        return self.keys.write_kubeconfig(path, self.server, format_token(person), namespace)

    def clear(self, *namespaces: str) -> None:
        """Delete all jobs of namespaces, and wait until their pods are gone.

        Each kind separately: the garbage collector updates its list of kinds only every 30 s.
        """
        paths = [path.format(name) for name in namespaces for path in _JOBS]
        for path in paths:
            self.api.delete(path, {"propagationPolicy": "Background"})
        for path in paths:
            self.wait_until(lambda path=path: not list(self.api.iter_items(path)))  # type: ignore[misc]

    @staticmethod
    def wait_until(question: Callable[[], Any]) -> Any:
        """Wait until an answer is true, and return it; an error of the API server counts as false."""
        refused: list[ApiStatusError] = []

        def ask() -> Any:
            try:
                return question()
            except ApiStatusError as refusal:
                refused[:] = [refusal]
                return None

        return wait_for("the answer is true", ask, interval=0.05, show=lambda: refused or "an answer that is not true")
