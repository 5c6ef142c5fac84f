"""The files of every image, and the script that builds packages of Slurm."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterator

from ...catalog.provider import MachineImage
from ...catalog.slurm_packages import SlurmPackages
from ...plan.model.cloud import CloudPlan
from ...plan.model.plan import Plan
from ...primitives.bundle import Bundle, File
from ...primitives.templates import Quoted, has_template, render_template
from ...spec import SlurmScheduler
from ..header import format_header
from ..mount_clients import render_client_lines
from .inputs import PACKAGES_VARIABLE, find_tool, list_inputs, list_parts
from .tool_jobs import render_tool_jobs

__all__ = ["has_images", "render"]

_DAEMONS = ("slurmctld", "slurmdbd", "slurmd")
_FILES = ("image.pkr.hcl", "component.yaml")


def has_images(plan: Plan) -> bool:
    """Whether images of the plan can be built: a Slurm cluster on a cloud with templates for its provider."""
    if plan.cloud is None or plan.scheduler.kind != "slurm" or not _list_images(plan.cloud):
        return False
    return has_template(f"images/clouds/{plan.cloud.provider}.sh.j2")


def render(plan: Plan) -> Bundle:
    """Render the files of each image in use, and ``build-slurm.sh`` if its packages are built from the source."""
    assert plan.cloud is not None, "a plan without a cloud"
    release, family = _get_release(plan), plan.scheduler.built_packages
    files: dict[str, File | str] = {}
    if family is not None:
        text = render_template(
            "images/build-slurm.sh.j2",
            head=format_header(plan.name),
            release=release,
            packages=list(_iter_packages(plan, family)),
        )
        files["build-slurm.sh"] = File(text, executable=True)
    for image in _list_images(plan.cloud):
        files |= {f"{image.key}/{name}": file for name, file in _render_image(plan, plan.cloud, image).items()}
    files |= render_tool_jobs(plan, plan.cloud)
    return Bundle(files)


def _list_images(cloud: CloudPlan) -> list[MachineImage]:
    """Published images whose distribution and administrator are known."""
    return [image for image in cloud.published_images if image.distribution and image.release and image.user]


def _render_image(plan: Plan, cloud: CloudPlan, image: MachineImage) -> dict[str, File | str]:
    release, archive = _get_release(plan), plan.scheduler.archive_packages
    family = plan.scheduler.built_packages or plan.scheduler.packages
    has_archive = archive is not None and image.slurm == release
    parts = list_parts(cloud, image)
    inputs = list_inputs(parts, has_archive)
    values = {
        "head": format_header(plan.name),
        "name": f"{plan.name}-{image.key}",
        "provider": cloud.provider,
        "region": cloud.region,
        "image": image,
        "release": release,
        "inputs": inputs,
        "packages_variable": "" if has_archive else PACKAGES_VARIABLE,
    }
    script = render_template(
        "images/install.sh.j2",
        system=f"{image.distribution} {image.release}",
        parts=parts,
        daemons=[*_DAEMONS, "sackd" if _needs_signer(plan) else "munge"],
        packages=list(_iter_packages(plan, family)) if family else [],
        archive=list(_iter_packages(plan, archive)) if archive and has_archive else [],
        extra=[] if _needs_signer(plan) else ["munge"],
        tool=find_tool(cloud, image),
        clients=Quoted(shlex.quote("\n".join(render_client_lines(plan)))),
        **values,
    )
    values |= {"machine": _find_machine(cloud, image), "digest": hashlib.sha256(script.encode()).hexdigest()}
    documents = {name: render_template(f"images/clouds/{cloud.provider}-{name}.j2", **values) for name in _FILES}
    return {"install.sh": File(script, executable=True), **documents}


def _get_release(plan: Plan) -> str:
    assert plan.scheduler.release is not None, "a plan with errors"
    return plan.scheduler.release.name


def _needs_signer(plan: Plan) -> bool:
    """Whether Slurm signs messages itself, with a daemon on login hosts, and not MUNGE."""
    settings = plan.scheduler.settings
    return isinstance(settings, SlurmScheduler) and settings.auth == "slurm"


def _iter_packages(plan: Plan, family: SlurmPackages) -> Iterator[str]:
    """Packages of Slurm for machines of all roles, without duplicates."""
    names = family.names
    parts = (names.client, names.slurmctld, names.slurmdbd, names.slurmd, names.pam_slurm_adopt)
    signer = names.sackd if _needs_signer(plan) else ()
    yield from dict.fromkeys(name for part in (*parts, signer) for name in part)


def _find_machine(cloud: CloudPlan, image: MachineImage) -> str:
    """A machine of the image's architecture on which it can be built; empty if no host of the plan has one."""
    built = next((item.machine for item in cloud.image_builds if item.key == image.key), "")
    if built:
        return built
    keys = {item.key for item in cloud.published_images if item.arch == image.arch}
    return next((host.machine.name for host in cloud.hosts if host.image in keys), "")
