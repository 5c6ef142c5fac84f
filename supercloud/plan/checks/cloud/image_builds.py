"""Checks of images that are built together with the cluster: what they need, and how long it takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ....catalog import Catalog
from ....catalog.image_tool import ImageTool
from ....errors import Finding
from ...model.plan import Plan
from .facts import iter_cloud_facts

__all__ = ["CHECKS"]

_PACKAGES: Final = "SLURM_PACKAGES"


def cloud_image_build(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Images that are built before machines start: the time that it takes, and reasons for which it cannot succeed."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        site = plan.spec.site
        if site.kind == "onprem" or not site.builds_images:
            continue
        reason = _find_reason(plan)
        if provider.image_build is None:
            reason = f"{provider.name} has no service for it that this project uses"
        if reason:
            yield Finding(
                "cloud-image-build",
                "error",
                "site.images",
                f"images cannot be built with the cluster: {reason}",
                "omit it, or set images that you have built (supercloud render --target images)",
            )
            continue
        assert provider.image_build is not None
        keys = ", ".join(f"{item.key} on {item.machine}" for item in cloud.image_builds)
        yield Finding(
            "cloud-image-build",
            "note",
            "site.images",
            f"{provider.image_build.service} builds {len(cloud.image_builds)} images before any machine starts "
            f"({keys}), each in up to {provider.image_build.longest}; a change of their software builds them again",
            "set the identifiers of the built images to create clusters without building",
        )


def _find_reason(plan: Plan) -> str:
    """Why images cannot be built; empty if they can."""
    assert plan.cloud is not None
    if plan.scheduler.kind != "slurm":
        return f"images of {plan.scheduler.title} are the provider's"
    if plan.cloud.network.is_isolated:
        return "an isolated network has no sources of packages"
    return ""


def cloud_image_packages(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Images that are built without packages of the cluster's Slurm release."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        site = plan.spec.site
        if site.kind == "onprem" or not site.builds_images or plan.scheduler.kind != "slurm":
            continue
        release = plan.scheduler.version
        lacking = [item.key for item in cloud.published_images if item.slurm != release]
        source = site.image_inputs.get(_PACKAGES, "")
        if lacking and not source.startswith(f"{provider.object_scheme}://"):
            yield Finding(
                "cloud-image-packages",
                "error",
                f"site.image_inputs.{_PACKAGES}",
                f"{source or 'it is not set'}: the archives of {', '.join(lacking)} do not have Slurm {release}",
                f"set it to the {provider.object_scheme}:// address of packages.tar.gz, which build-slurm.sh of "
                "'supercloud render --target images' writes; or set scheduler.version to a release of the archives",
            )


def cloud_image_tools(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Tests of accelerators that images do not contain, as the digest of their source is unknown."""
    for cloud, _, _ in iter_cloud_facts(plan, catalog):
        vendors = {image.accelerator for image in cloud.published_images} if plan.scheduler.kind == "slurm" else set()
        for tool in catalog.iter_entries(ImageTool):
            if tool.accelerator in vendors and tool.sha256 is None:
                yield Finding(
                    "cloud-image-tools",
                    "note",
                    "site.images",
                    f"images of the target 'images' do not contain {tool.title} {tool.version}: the catalog has no "
                    f"digest of {tool.url}",
                    f"add sha256 to image-tools/{tool.name}.yaml of an overlay of the catalog",
                )


CHECKS = (cloud_image_build, cloud_image_packages, cloud_image_tools)
