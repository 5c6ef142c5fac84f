"""What the engine asks of a kind of objects."""

from __future__ import annotations

from typing import Any, Protocol

from ....spec import JobSpec
from ...placement.place import Placement
from ...placement.steps.pods import PodRequirements
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
        """Where they are."""

    def build_object(self, job: JobSpec, placement: Placement, pods: PodRequirements, key: str) -> Json:
        """The object of a job; of an array that of every task, but for its name and number."""

    def is_waiting(self, resource: Json) -> bool:
        """Whether its queue has not let it in."""

    def list_statuses(self, api: ApiClient, namespace: str, selector: str) -> dict[str, Status]:
        """How all that a selector of labels selects are, by name."""
