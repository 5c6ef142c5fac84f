"""Parts of an image, and the variables with what the catalog does not have."""

from __future__ import annotations

from dataclasses import dataclass

from ...catalog.image_tool import ImageTool
from ...catalog.provider import MachineImage
from ...plan.model.cloud import CloudPlan

__all__ = ["ALL_INPUTS", "PACKAGES_VARIABLE", "ImageInput", "find_tool", "list_inputs", "list_parts"]

PACKAGES_VARIABLE = "SLURM_PACKAGES"
"""The input that is a file."""


@dataclass(frozen=True)
class ImageInput:
    """A variable of the environment of ``install.sh``."""

    variable: str
    what: str
    part: str

    @property
    def parameter(self) -> str:
        """Its name where names have no underscores: ``SlurmPackages``."""
        return "".join(word.capitalize() for word in self.variable.split("_"))


ALL_INPUTS = (
    ImageInput("DRIVER_PACKAGES", "packages of the driver, if the published image has none", "driver"),
    ImageInput(
        "FABRIC_INSTALLER", "https address of the installer of the fabric, if the published image has none", "fabric"
    ),
    ImageInput("FABRIC_INSTALLER_SHA256", "SHA-256 digest of the installer of the fabric", "fabric"),
    ImageInput(PACKAGES_VARIABLE, "file packages.tar.gz that build-slurm.sh writes", "slurm"),
    ImageInput("MONITORING_PACKAGES", "packages of NVIDIA DCGM, if the published image has none", "monitoring"),
    ImageInput(
        "TESTS_SOURCE",
        "source of the tests of accelerators, if it is not that of the catalog; skip: not built",
        "tests",
    ),
    ImageInput("TESTS_SHA256", "SHA-256 digest of this source", "tests"),
    ImageInput("CUDA_HOME", "folder of the CUDA toolkit that builds the tests; none: /usr/local/cuda", "tests"),
    ImageInput(
        "CONTAINER_PACKAGES", "packages of enroot and pyxis, if jobs use containers; none: not installed", "containers"
    ),
)


def list_parts(cloud: CloudPlan, image: MachineImage) -> list[str]:
    """Parts of an image, in the order of their installation."""
    fabric = any(
        interface.kind != "interface"
        for group in cloud.groups
        if group.image == image.key
        for interface in group.interfaces
    )
    computes = any(group.image == image.key for group in cloud.groups)
    parts = {
        "driver": image.driver is not None,
        "fabric": fabric,
        "clients": bool(cloud.mount_clients),
        "slurm": True,
        "monitoring": image.accelerator == "nvidia",
        "tests": find_tool(cloud, image) is not None,
        "containers": computes,
    }
    return [name for name, present in parts.items() if present]


def find_tool(cloud: CloudPlan, image: MachineImage) -> ImageTool | None:
    """The tool that tests the accelerators of an image; None if none is known."""
    return next((tool for tool in cloud.image_tools if tool.accelerator == image.accelerator), None)


def list_inputs(parts: list[str], has_archive: bool) -> list[ImageInput]:
    """Inputs of these parts; ``has_archive``: the distribution has the release of Slurm."""
    return [item for item in ALL_INPUTS if item.part in parts and not (has_archive and item.part == "slurm")]
