"""The bundles of machines: common programs with the user data of each group and host, and tables of the cluster."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path

from ...plan.model.plan import Plan
from ...primitives.bundle import Bundle, File, render_sums
from ...primitives.templates import Quoted, render_template
from ..header import format_header
from ..mount_clients import render_client_lines
from .environment import build_environments
from .tables import (
    render_disk_lines,
    render_fabric_lines,
    render_key_recipient_lines,
    render_metadata_lines,
    render_mount_lines,
    render_scaler_settings,
    render_script_lines,
)

__all__ = ["render_boot_bundle", "render", "render_settings"]

_SOURCED_SCRIPTS = ("steps.sh", "install.sh")
_SCALER = Path(__file__).parent / "scaler"
"""A package of ours that goes to the controller as it stands."""
_PROGRAMS = (
    "boot.sh",
    *_SOURCED_SCRIPTS,
    "keys.py",
    "credentials.sh",
    "slurmd.sh",
    "update.sh",
    "resume.sh",
    "suspend.sh",
    "resume-fail.sh",
)


def render(plan: Plan) -> Bundle:
    """Render the bundle for the plan's cloud."""
    assert plan.cloud is not None, "a plan without a cloud"
    return render_boot_bundle(plan, render_template(f"boot/clouds/{plan.cloud.provider}.sh.j2"))


def render_boot_bundle(plan: Plan, provider_functions: str) -> Bundle:
    """Render the bundle with a provider's functions as shell text; ``templates/boot/clouds`` has those of each
    cloud.
    """
    assert plan.cloud is not None, "a plan without a cloud"
    head = format_header(plan.name)
    cloud = f"# shellcheck shell=bash\n{head}\n{provider_functions.strip()}\n"
    files: dict[str, File | str] = {
        name: File(
            render_template(f"boot/{name}.j2", head=head, scheme=plan.cloud.object_scheme),
            executable=name not in _SOURCED_SCRIPTS,
        )
        for name in _PROGRAMS
    }
    files[f"clouds/{plan.cloud.provider}.sh"] = cloud
    metadata = render_template(
        "boot/metadata.sh.j2", head=head, services=Quoted(shlex.quote("\n".join(render_metadata_lines(plan))))
    )
    files["metadata.sh"] = File(metadata, executable=True)
    files |= {f"scaler/{path.name}": path.read_text(encoding="utf-8") for path in sorted(_SCALER.glob("*.py"))}
    files["SHA256SUMS"] = sums = render_sums(files)
    for key, environment in build_environments(plan).items():
        text = "\n".join([*environment, f"DIGEST={hashlib.sha256(sums.encode()).hexdigest()}"])
        files[f"user-data/{key}.sh"] = File(
            render_template(
                "boot/user-data.sh.j2",
                head=head,
                environment=Quoted(text),
                cloud=Quoted(cloud.strip()),
                metadata=Quoted(metadata.strip()),
            ),
            executable=True,
        )
    return Bundle(files)


def render_settings(plan: Plan) -> Bundle:
    """Render the tables of a cluster: groups of the scaler, recipients of the key, file systems, disks.

    They are not part of the boot bundle, whose digest is in the user data: a change of a group would replace machines.
    """
    head = format_header(plan.name)
    files = {
        "scale.json": render_scaler_settings(plan, head),
        "members.txt": "\n".join([head, *render_key_recipient_lines(plan)]) + "\n",
        "mounts.txt": "\n".join([head, *render_mount_lines(plan)]) + "\n",
        "clients.txt": "\n".join([head, *render_client_lines(plan)]) + "\n",
        "disks.txt": "\n".join([head, *render_disk_lines(plan)]) + "\n",
        "scripts.txt": "\n".join([head, *render_script_lines(plan)]) + "\n",
        "fabrics.txt": "\n".join([head, *render_fabric_lines(plan)]) + "\n",
    }
    return Bundle({**files, "SHA256SUMS": render_sums(files)})
