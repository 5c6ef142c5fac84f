"""Names of RDMA devices on hosts: a rule of udev that keeps those of the kernel, and a check."""

from __future__ import annotations

from ....plan.build.fabric.rdma_devices import list_rdma_hosts
from ....plan.model.plan import Plan
from ....primitives.bundle import File
from ....primitives.templates import render_template

__all__ = ["render_rdma_files"]


def render_rdma_files(plan: Plan) -> dict[str, File | str]:
    """Render the rule and the check; nothing if no host has a device in the catalog."""
    groups = list_rdma_hosts(plan)
    files: dict[str, File | str] = {}
    if groups:
        text = render_template("hosts/rdma/check-devices.sh.j2", name=plan.name, groups=groups)
        files["rdma/check-devices.sh"] = File(text, executable=True)
    if any(group.has_kernel_names for group in groups):
        rule = render_template("hosts/rdma/naming.rules.j2", name=plan.name)
        files["rdma/60-rdma-persistent-naming.rules"] = rule
    return files
