"""A cluster of a spec: the rendered bundle is applied to a lab whose nodes have the names and sizes of the plan."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from kube_channels import give_channels
from kube_lab import Lab
from kube_managers import load_documents
from kube_nodes import Node
from kube_volcano import Volcano, read_scheduler

import supercloud as sc
from supercloud.jobs.engines.kubernetes.kinds import KINDS
from supercloud.jobs.reconcile import reconcile
from supercloud.jobs.store.records import JobRecord
from supercloud.jobs.store.store import Store
from supercloud.plan.build.kubernetes.fabrics import list_attachments
from supercloud.plan.model.plan import Plan, PoolPlan
from supercloud.spec.scheduler import KubernetesScheduler

Json = dict[str, Any]

SPEC = """\
name: pod
site: {kind: onprem, location: stockholm}
scheduler: {kind: kubernetes, version: "1.36"}
pools:
  - {name: train, machine: dgx-h100, nodes: 64, fabrics: [compute]}
  - {name: nvl, machine: dgx-gb200, nodes: 36, fabrics: [domains]}
fabrics:
  - {name: compute, kind: infiniband, shape: rail-optimized, switch: nvidia-qm9700}
  - {name: domains, kind: infiniband, shape: rail-optimized, switch: nvidia-qm9700}
storage:
  - {name: scratch, kind: lustre, capacity: 2 PiB, tier: best, mount: /scratch}
tenants:
  - {name: llm, share: 30, priority: high}
  - {name: vision, share: 70, priority: high}
"""
_APPLIED = ("nodes", "tenants", "queues")  # the other folders are for charts that the lab does not install


class World:
    """One spec, rendered and applied. ``with`` starts its lab."""

    def __init__(self, text: str, folder: Path, people: Mapping[str, str] | None = None):
        self.folder = folder
        self.spec = folder / "cluster.yaml"
        self.spec.write_text(text)
        self.plan = sc.resolve(sc.load(self.spec))
        assert not self.plan.errors, self.plan.errors
        sc.render(self.plan, "kubernetes").write(folder / "bundle")
        self.bundle = folder / "bundle"
        scheduler = self.plan.scheduler.settings
        assert isinstance(scheduler, KubernetesScheduler)
        self.kind = next(kind for kind in KINDS.values() if kind.queue == scheduler.queue)
        self._volcano: Volcano | None = None
        nodes = [
            Node(host, allocatable=_list_resources(self.plan, pool)) for pool in self.plan.pools for host in pool.hosts
        ]
        (folder / "lab").mkdir()
        self.lab = Lab(folder / "lab", nodes, self._read_kueue(), people)

    def _read_kueue(self) -> Json:
        """The configuration of Kueue in the bundle; empty if Volcano is the queue."""
        path = self.bundle / "charts" / "kueue.yaml"
        if not path.exists():
            return {}
        values = yaml.safe_load(path.read_text())
        document: Json = yaml.safe_load(values["managerConfig"]["controllerManagerConfigYaml"])
        return {"namespace": "kueue-system"} | document

    def __enter__(self) -> World:
        self.lab.__enter__()
        try:
            if self.kind.queue == "volcano":
                self._volcano = Volcano(self.lab, read_scheduler(self.bundle))
                self._volcano.start()
            self.apply()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: Any) -> None:
        if self._volcano:
            self._volcano.stop()
        self.lab.close()

    def apply(self) -> None:
        """Apply what install.sh applies after the charts, and run the labeling job once."""
        for folder in _APPLIED:
            self.lab.apply(*self._iter_objects(folder))
        give_channels(self.lab, self.plan)
        for tenant in self.plan.tenants:
            self.lab.wait_until(lambda name=tenant.name: self._is_active(name))  # type: ignore[misc]
        self._label()

    def _iter_objects(self, folder: str) -> Iterator[Json]:
        """Objects in the order of the kustomization, without CronJobs, which need kubelets."""
        listed = yaml.safe_load((self.bundle / folder / "kustomization.yaml").read_text())["resources"]
        for item in load_documents(*(self.bundle / folder / name for name in listed)):
            if item["kind"] != "CronJob":
                yield item

    def _is_active(self, queue: str) -> bool:
        if self.kind.queue == "volcano":
            state = self.lab.api.get(f"/apis/scheduling.volcano.sh/v1beta1/queues/{queue}").get("status", {})
            return bool(state.get("state") == "Open")
        found = self.lab.api.get(f"/apis/kueue.x-k8s.io/v1beta2/clusterqueues/{queue}")
        return any(
            item["type"] == "Active" and item["status"] == "True"
            for item in found.get("status", {}).get("conditions") or ()
        )

    def _label(self) -> None:
        """Run the rendered script with the rendered table, as administrator."""
        table = self.folder / "table"
        table.mkdir(exist_ok=True)
        for item in load_documents(self.bundle / "nodes" / "labels.yaml"):
            if item["kind"] == "ConfigMap":
                for name, text in item["data"].items():
                    (table / name).write_text(text)
        where = {
            "KUBE_SERVER": self.lab.server,
            "KUBE_TOKEN": self.lab.token,
            "KUBE_CA": str(self.lab.keys.folder / "ca.crt"),
        }
        subprocess.run(
            [sys.executable, table / "label_nodes.py", table],
            check=True,
            env={**os.environ, **where},
            capture_output=True,
            timeout=120,
        )

    # -- the product -------------------------------------------------------------------------------------------------

    def run_supercloud(self, *words: str, check: bool = True, kubeconfig: Path | None = None) -> str:
        """Run the command line with the state folder of this cluster; return its output."""
        env = {
            **os.environ,
            "KUBECONFIG": str(kubeconfig or self.lab.kubeconfig),
            "SUPERCLOUD_STATE": str(self.folder / "state"),
        }
        done = subprocess.run(
            [sys.executable, "-m", "supercloud", *words], env=env, capture_output=True, text=True, timeout=180
        )
        assert not check or done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout.strip() if check else done.stdout + done.stderr

    def submit(self, kubeconfig: Path | None = None, **job: Any) -> int:
        """Submit a job with these fields; return its number."""
        return int(
            self.run_supercloud(
                "submit",
                str(self.write_job(**job)),
                "--on",
                str(self.spec),
                "--engine",
                "kubernetes",
                kubeconfig=kubeconfig,
            )
        )

    def write_job(self, **fields: Any) -> Path:
        """Write a job file."""
        path = self.folder / f"{fields.get('name', 'job')}.yaml"
        defaults = {
            "name": "job",
            "image": "registry.example.com/train:1",
            "command": ["sleep", "600"],
            "tenant": "llm",
        }
        path.write_text(yaml.safe_dump(defaults | fields))
        return path

    def get_record(self, number: int) -> JobRecord:
        """The record of a job in the store, updated from the cluster as by ``supercloud jobs``."""
        with Store(self.folder / "state") as store:
            problems = reconcile(store, [number])
            assert not problems, problems
            return store.get(number)

    def get_row(self, number: int) -> Json:
        """The row of a job in ``supercloud jobs``."""
        rows: list[Json] = json.loads(self.run_supercloud("jobs", "--json", "--limit", "1000"))
        return next(row for row in rows if row["id"] == number)

    def wait_state(self, number: int, state: str, attempt: int = 0) -> JobRecord:
        """Wait until a job is in a state, in this attempt or a later one; return its record."""

        def look() -> JobRecord | None:
            found = self.get_record(number)
            return found if found.state == state and found.attempt >= attempt else None

        reached: JobRecord = self.lab.wait_until(look)
        return reached

    def get_object(self, number: int) -> Json:
        """The JobSet or Volcano job of a job."""
        key = self.get_record(number).key
        plural = self.kind.build_path("").rpartition("/")[2]
        for item in self.lab.api.iter_items(f"/apis/{self.kind.api_version}/{plural}"):
            if item["metadata"]["annotations"].get("supercloud.dev/key") == key:
                return item
        raise AssertionError(f"job {number} has no object")

    def wait_hosts(self, number: int) -> list[str]:
        """Wait until all pods of a job are on nodes; return the nodes."""
        body = self.get_object(number)
        space, name = body["metadata"]["namespace"], body["metadata"]["name"]
        spec = body["spec"]
        count = spec.get("minAvailable") or spec["replicatedJobs"][0]["template"]["spec"]["parallelism"]

        def look() -> list[str] | None:
            pods = self.lab.api.iter_items(
                f"/api/v1/namespaces/{space}/pods", labelSelector=f"supercloud.dev/object={name}"
            )
            found = sorted(
                pod["spec"]["nodeName"]
                for pod in pods
                if pod["spec"].get("nodeName") and not pod["metadata"].get("deletionTimestamp")
            )
            return found if len(found) == count else None

        return list(self.lab.wait_until(look))

    def count_groups(self, level: str, hosts: list[str]) -> dict[str, int]:
        """Groups of a level with the number of these hosts in each, by the labels of the nodes in the cluster."""
        found: dict[str, int] = {}
        for host in hosts:
            labels = self.lab.api.get(f"/api/v1/nodes/{host}")["metadata"]["labels"]
            group = labels[f"topology.supercloud.dev/{level}"]
            found[group] = found.get(group, 0) + 1
        return found

    def clear(self) -> None:
        """Delete the jobs of all tenants."""
        spaces = [tenant.name for tenant in self.plan.tenants]
        if self.kind.queue == "volcano":
            for space in spaces:
                self.lab.api.delete(self.kind.build_path(space), {"propagationPolicy": "Background"})
        self.lab.clear(*spaces)


def _list_resources(plan: Plan, pool: PoolPlan) -> dict[str, str]:
    """The resources that the kubelet of a node of a pool reports, with the ports that device plugins find."""
    cpu, memory = pool.machine.cpu, pool.machine.memory
    has = {"cpu": str(cpu.threads if cpu else 8), "memory": f"{int(memory.base) if memory else 2**36}"}
    if pool.accelerator and pool.accelerator.kubernetes:
        has[pool.accelerator.kubernetes] = str(pool.accelerators_per_node)
    ports = (reach.resources for reach in list_attachments(plan, pool))
    return has | {name: str(number) for found in ports for name, number in found.items()}
