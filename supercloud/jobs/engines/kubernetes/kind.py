"""The interface of a kind of job objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ....spec import JobSpec
from ...placement.place import Placement
from ...placement.requests.kubernetes import KubernetesRequest
from ...store.status import Status
from .api import ApiClient

__all__ = ["JobKind"]

Json = dict[str, Any]


class JobKind(Protocol):
    """Jobs as objects of one resource of the API server."""

    queue: str
    """The queue whose jobs these are."""
    api_version: str
    """Their apiVersion."""

    def build_path(self, namespace: str) -> str:
        """The API path."""

    def build_object(self, job: JobSpec, placement: Placement, request: KubernetesRequest, key: str) -> Json:
        """The object of a job; for an array that of every task, except its name and index."""

    def is_waiting(self, resource: Json) -> bool:
        """Whether its queue has not admitted it."""

    def list_statuses(
        self, api: ApiClient, namespace: str, selector: str, created: Mapping[str, int]
    ) -> dict[str, Status]:
        """The statuses of all objects that a label selector matches, by name, without those of later jobs.

        ``created`` has for each name when the last object of its job was created: see :func:`.status.is_later`.
        """
