"""Step: the container image of a job, which pods need."""

from __future__ import annotations

from ..context import PlacementContext
from ..refusal import StepRefusal
from .mounts import find_image_file

__all__ = ["check_image"]


_PLACEHOLDER = "REGISTRY/NAME:TAG"
"""Not a valid name of an image: a suggested change that is submitted as it is fails, and runs nothing else."""


def check_image(context: PlacementContext) -> StepRefusal | None:
    """Check that Kubernetes can pull the image of a job: pods are containers."""
    image = context.job.image
    if not image:
        reason = "the job has no image, and pods are containers"
    elif find_image_file(context.job) or image.startswith("./"):
        reason = f"image {image} is a file, and Kubernetes pulls images from a registry"
    else:
        return None
    return StepRefusal(reason, f"set image: {_PLACEHOLDER}", {"image": _PLACEHOLDER})
