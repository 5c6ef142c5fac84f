"""JobSets admitted by Kueue, queried together: a list of them, a list of their workloads, others only if needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ....spec import JobSpec
from ...placement.place import Placement
from ...placement.requests.kubernetes import KubernetesRequest
from ...store.status import Status
from .api import ApiClient, ApiStatusError
from .jobset import API_VERSION, build_jobset
from .status import build_status, has_failed, is_later, needs_pods

__all__ = ["JobSetKind", "list_workloads"]

Json = dict[str, Any]

_KUEUE_VERSIONS = ("v1beta2", "v1beta1")  # newest first; the fields read from a Workload are the same in both
_OWNER_LABEL = "kueue.x-k8s.io/job-uid"
_JOBSET_LABEL = "jobset.sigs.k8s.io/jobset-name"
_MAX_NAMES_PER_SELECTOR = 100  # names in one selector: a URL is limited to some thousand characters


class JobSetKind:
    """Jobs as JobSets."""

    queue = "kueue"
    api_version = API_VERSION

    def build_path(self, namespace: str) -> str:
        """The API path."""
        return f"/apis/{API_VERSION}/namespaces/{namespace}/jobsets"

    def build_object(self, job: JobSpec, placement: Placement, request: KubernetesRequest, key: str) -> Json:
        """The JobSet of a job."""
        return build_jobset(job, placement, request, key)

    def is_waiting(self, resource: Json) -> bool:
        """Whether it is suspended and none of its pods run."""
        running = any(item.get("active") for item in resource.get("status", {}).get("replicatedJobsStatus") or ())
        return (
            bool(resource["spec"].get("suspend")) and not running and not resource["metadata"].get("deletionTimestamp")
        )

    def list_statuses(
        self, api: ApiClient, namespace: str, selector: str, created: Mapping[str, int]
    ) -> dict[str, Status]:
        """Their statuses, by name."""
        sets = {
            item["metadata"]["name"]: item
            for item in api.iter_items(self.build_path(namespace), labelSelector=selector)
            if not is_later(item, created.get(item["metadata"]["name"], 0))
        }
        queued = {
            item["metadata"]["labels"].get(_OWNER_LABEL): item
            for selector in _build_selectors(_OWNER_LABEL, [item["metadata"]["uid"] for item in sets.values()])
            for item in list_workloads(api, f"namespaces/{namespace}/workloads", labelSelector=selector)
        }
        jobs = _list_by_label(
            api,
            f"/apis/batch/v1/namespaces/{namespace}/jobs",
            _JOBSET_LABEL,
            [name for name, item in sets.items() if has_failed(item)],
        )
        pods = _list_by_label(
            api,
            f"/api/v1/namespaces/{namespace}/pods",
            _JOBSET_LABEL,
            [name for name, item in sets.items() if needs_pods(item)],
        )
        return {
            name: build_status(item, queued.get(item["metadata"]["uid"]), jobs.get(name, []), pods.get(name, []))
            for name, item in sets.items()
        }


def _list_by_label(api: ApiClient, path: str, label: str, values: list[str]) -> dict[str, list[Json]]:
    """Objects whose label has one of these values, by value."""
    found: dict[str, list[Json]] = {}
    for selector in _build_selectors(label, values):
        for item in api.iter_items(path, labelSelector=selector):
            found.setdefault(item["metadata"]["labels"][label], []).append(item)
    return found


def _build_selectors(label: str, values: list[str]) -> Iterator[str]:
    for start in range(0, len(values), _MAX_NAMES_PER_SELECTOR):
        part = ",".join(values[start : start + _MAX_NAMES_PER_SELECTOR])
        yield f"{label} in ({part})"


def list_workloads(api: ApiClient, path: str, **query: str) -> Iterable[Json]:
    """Workloads of Kueue, in the newest version that it serves; raises an error (404) without Kueue."""
    for version in _KUEUE_VERSIONS:
        try:
            return list(api.iter_items(f"/apis/kueue.x-k8s.io/{version}/{path}", **query))
        except ApiStatusError as refusal:
            if refusal.code != 404 or version == _KUEUE_VERSIONS[-1]:
                raise
    return ()
