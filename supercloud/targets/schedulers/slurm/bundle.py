"""All files of the bundle and their contents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....plan.model.plan import Plan
from ....primitives.bundle import Bundle, File, render_sums
from ...header import format_header
from .accessors import has_dynamic_nodes, require_slurm_release
from .accounting import build_slurmdbd_settings
from .conf import ConfigWriter, Value
from .gres import render_gres_lines
from .imex import render_imex_files
from .install import render_install_guide
from .nccl import render_nccl_files
from .nodes import render_cloud_node_lines, render_join_line, render_node_lines, render_node_set_lines
from .partitions import render_partition_lines
from .programs import render_programs
from .settings import JOB_CONTAINER_DIRECTORY, render_setting_lines
from .topology import list_supported_localities, select_default_locality
from .topology_cloud import has_dynamic_topology, render_cloud_topology
from .topology_conf import render_topology_conf
from .topology_yaml import render_topology_yaml

__all__ = ["render"]


def render(plan: Plan) -> Bundle:
    """Render the complete configuration of a Slurm cluster."""
    lines = ConfigWriter(require_slurm_release(plan))
    files: dict[str, File | str] = {
        "slurm.conf": _render_file(plan, _render_slurm_conf(plan, lines)),
        "cgroup.conf": _render_file(plan, _render_cgroup_conf(lines)),
        **_render_job_container_conf(plan, lines),
        **_render_gres_files(plan, lines),
        **_render_topology_files(plan, lines),
        **render_programs(plan),
        **render_nccl_files(plan),
        **render_imex_files(plan),
    }
    if plan.scheduler.database is not None:
        text = _render_file(plan, lines.format_settings("slurmdbd", build_slurmdbd_settings(plan)))
        files["slurmdbd.conf"] = File(text, secret=True)  # slurmdbd requires restricted permissions
    files["INSTALL.md"] = render_install_guide(plan, [*files, "INSTALL.md"])
    if has_dynamic_nodes(plan):  # machines fetch only the files that it lists, and verify them
        files["SHA256SUMS"] = render_sums(files)
    return Bundle(files)


def _render_file(plan: Plan, lines: Iterable[str]) -> str:
    return "\n".join([format_header(plan.name), *lines]) + "\n"


def _render_slurm_conf(plan: Plan, writer: ConfigWriter) -> Iterator[str]:
    yield from render_setting_lines(plan, writer)
    yield from ("", "# nodes", *render_node_lines(plan, writer), *render_node_set_lines(plan, writer))
    yield from ("", "# partitions", *render_partition_lines(plan, writer))


def _render_cgroup_conf(writer: ConfigWriter) -> list[str]:
    return writer.format_settings(
        "cgroup",
        {
            "ConstrainCores": True,
            "ConstrainDevices": True,
            "ConstrainRAMSpace": True,
            "ConstrainSwapSpace": False,
        },
    )


def _render_job_container_conf(plan: Plan, writer: ConfigWriter) -> dict[str, str]:
    """Render the settings of private /tmp and /dev/shm; namespace/tmpfs of later releases reads the same file."""
    if not writer.release.abilities.container_tmp:
        return {}
    settings: dict[str, Value] = {"AutoBasePath": True, "BasePath": JOB_CONTAINER_DIRECTORY}
    return {"job_container.conf": _render_file(plan, writer.format_settings("job_container", settings))}


def _render_gres_files(plan: Plan, writer: ConfigWriter) -> dict[str, str]:
    """Render gres.conf; for dynamic nodes also the lines to create them with, and the lines with which they join.

    The controller's gres.conf applies to both: 26.05 rejects nodes whose devices it does not list.
    """
    every = [
        line
        for pool in plan.pools
        for line in render_gres_lines(pool, writer, str(pool.hosts), has_dynamic_nodes(plan))
    ]
    found = {"gres.conf": every}
    if has_dynamic_nodes(plan):
        found["cloud-nodes.conf"] = list(render_cloud_node_lines(plan, writer))
        found |= {f"join-{pool.name}.conf": [render_join_line(pool, plan, writer)] for pool in plan.pools}
    return {name: _render_file(plan, own) for name, own in found.items()}


def _render_topology_files(plan: Plan, writer: ConfigWriter) -> dict[str, str]:
    if has_dynamic_topology(plan):
        return {"topology.yaml": _render_file(plan, render_cloud_topology(plan))}
    if require_slurm_release(plan).abilities.topology_yaml:
        return (
            {"topology.yaml": _render_file(plan, render_topology_yaml(plan))}
            if len(list_supported_localities(plan)) > 1
            else {}
        )
    found = list(render_topology_conf(select_default_locality(plan), writer))
    return {"topology.conf": _render_file(plan, found)} if found else {}
