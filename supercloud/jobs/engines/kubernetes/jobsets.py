"""JobSets that Kueue lets in, asked for together: a list of them, one of their workloads, more only where it helps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ....spec import JobSpec
from ...placement.place import Placement
from ...placement.steps.pods import Pods
from ..submission import Status
from .api import Api, Refusal
from .jobset import API, jobset
from .status import ended_badly, needs_pods, status_of

__all__ = ["JobSets", "workloads"]

Json = dict[str, Any]

_VERSIONS = ("v1beta2", "v1beta1")  # newest first; what is read of a Workload is the same in both
_OWNER = "kueue.x-k8s.io/job-uid"
_SET = "jobset.sigs.k8s.io/jobset-name"
_AT_ONCE = 100  # names in one selector: an address has room for some thousand letters


class JobSets:
    """Jobs as JobSets."""

    queue = "kueue"
    api = API

    def path(self, namespace: str) -> str:
        """Where they are."""
        return f"/apis/{API}/namespaces/{namespace}/jobsets"

    def make(self, job: JobSpec, at: Placement, pods: Pods, key: str) -> Json:
        """The JobSet of a job."""
        return jobset(job, at, pods, key)

    def waits(self, there: Json) -> bool:
        """Whether it is suspended and nothing of it runs."""
        running = any(item.get("active") for item in there.get("status", {}).get("replicatedJobsStatus") or ())
        return bool(there["spec"].get("suspend")) and not running and not there["metadata"].get("deletionTimestamp")

    def statuses(self, api: Api, namespace: str, selector: str) -> dict[str, Status]:
        """How they are, by name."""
        sets = {item["metadata"]["name"]: item for item in api.pages(self.path(namespace), labelSelector=selector)}
        queued = {
            item["metadata"]["labels"].get(_OWNER): item
            for selector in _selectors(_OWNER, [item["metadata"]["uid"] for item in sets.values()])
            for item in workloads(api, f"namespaces/{namespace}/workloads", labelSelector=selector)
        }
        jobs = _by(api, f"/apis/batch/v1/namespaces/{namespace}/jobs", _SET,
                   [name for name, item in sets.items() if ended_badly(item)])  # fmt: skip
        pods = _by(api, f"/api/v1/namespaces/{namespace}/pods", _SET,
                   [name for name, item in sets.items() if needs_pods(item)])  # fmt: skip
        return {
            name: status_of(item, queued.get(item["metadata"]["uid"]), jobs.get(name, []), pods.get(name, []))
            for name, item in sets.items()
        }


def _by(api: Api, path: str, label: str, values: list[str]) -> dict[str, list[Json]]:
    """Objects whose label has one of these values, by value."""
    found: dict[str, list[Json]] = {}
    for selector in _selectors(label, values):
        for item in api.pages(path, labelSelector=selector):
            found.setdefault(item["metadata"]["labels"][label], []).append(item)
    return found


def _selectors(label: str, values: list[str]) -> Iterator[str]:
    for start in range(0, len(values), _AT_ONCE):
        part = ",".join(values[start : start + _AT_ONCE])
        yield f"{label} in ({part})"


def workloads(api: Api, path: str, **query: str) -> Iterable[Json]:
    """Workloads of Kueue, in the newest version that its release serves; a refusal (404) where there is no Kueue."""
    for version in _VERSIONS:
        try:
            return list(api.pages(f"/apis/kueue.x-k8s.io/{version}/{path}", **query))
        except Refusal as refusal:
            if refusal.code != 404 or version == _VERSIONS[-1]:
                raise
    return ()
