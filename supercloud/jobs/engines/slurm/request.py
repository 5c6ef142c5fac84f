"""What a placement requests of Slurm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....errors import EngineError
from ...placement.requests.slurm import SlurmRequest

if TYPE_CHECKING:
    from ...placement.answer import Placement

__all__ = ["get_slurm_request"]


def get_slurm_request(placement: Placement) -> SlurmRequest:
    """Its request; raises :class:`EngineError` if its cluster has another scheduler."""
    if placement.request is None:
        return SlurmRequest()
    if not isinstance(placement.request, SlurmRequest):
        raise EngineError(
            f"cluster {placement.cluster} is not planned for Slurm; set scheduler: {{kind: slurm, …}} "
            "in its spec, or use another engine"
        )
    return placement.request
