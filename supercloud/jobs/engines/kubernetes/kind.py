"""What the engine asks of a kind of objects."""

from __future__ import annotations

from typing import Any, Protocol

from ....spec import JobSpec
from ...placement.place import Placement
from ...placement.steps.pods import Pods
from ..submission import Status
from .api import Api

__all__ = ["Kind"]

Json = dict[str, Any]


class Kind(Protocol):
    """Jobs as objects of one resource of the API server."""

    queue: str
    """The queue whose jobs these are."""
    api: str
    """Their apiVersion."""

    def path(self, namespace: str) -> str:
        """Where they are."""

    def make(self, job: JobSpec, at: Placement, pods: Pods, key: str) -> Json:
        """The object of a job; of an array that of every task, but for its name and number."""

    def waits(self, there: Json) -> bool:
        """Whether its queue has not let it in."""

    def statuses(self, api: Api, namespace: str, selector: str) -> dict[str, Status]:
        """How all that a selector of labels selects are, by name."""
