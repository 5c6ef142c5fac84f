"""All files of the bundle, and what each is made of."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from ....plan.model.plan import Plan
from ....primitives.bundle import Bundle, File
from .accounting import slurmdbd_settings
from .conf import Lines, Value, head
from .given import is_dynamic, release_of
from .gres import gres_lines
from .imex import imex_files
from .install import install_text
from .nccl import nccl_files
from .nodes import cloud_lines, joining_line, node_lines, node_set_lines
from .partitions import partition_lines
from .programs import programs
from .settings import JOB_CONTAINER, setting_lines
from .topology import default_locality, supported
from .topology_cloud import cloud_topology, grows
from .topology_conf import topology_conf_lines
from .topology_yaml import topology_yaml

__all__ = ["render"]


def render(plan: Plan) -> Bundle:
    """The whole configuration of a Slurm cluster."""
    lines = Lines(release_of(plan))
    files: dict[str, File | str] = {
        "slurm.conf": _file(plan, _slurm_conf(plan, lines)),
        "cgroup.conf": _file(plan, _cgroup_conf(lines)),
        **_job_container(plan, lines),
        **_gres(plan, lines),
        **_topology(plan, lines),
        **programs(plan),
        **nccl_files(plan),
        **imex_files(plan),
    }
    if plan.scheduler.database is not None:
        text = _file(plan, lines.settings("slurmdbd", slurmdbd_settings(plan)))
        files["slurmdbd.conf"] = File(text, secret=True)  # slurmdbd insists on it
    files["INSTALL.md"] = install_text(plan, [*files, "INSTALL.md"])
    if is_dynamic(plan):  # machines fetch what it lists, and believe nothing else
        files["SHA256SUMS"] = "".join(
            f"{hashlib.sha256(text.encode()).hexdigest()}  {path}\n" for path, text in Bundle(files).items()
        )
    return Bundle(files)


def _file(plan: Plan, lines: Iterable[str]) -> str:
    return "\n".join([head(plan.name), *lines]) + "\n"


def _slurm_conf(plan: Plan, lines: Lines) -> Iterator[str]:
    yield from setting_lines(plan, lines)
    yield from ("", "# nodes", *node_lines(plan, lines), *node_set_lines(plan, lines))
    yield from ("", "# partitions", *partition_lines(plan, lines))


def _cgroup_conf(lines: Lines) -> list[str]:
    return lines.settings("cgroup", {
        "ConstrainCores": True,
        "ConstrainDevices": True,
        "ConstrainRAMSpace": True,
        "ConstrainSwapSpace": False,
    })  # fmt: skip


def _job_container(plan: Plan, lines: Lines) -> dict[str, str]:
    """A job's own /tmp and /dev/shm; namespace/tmpfs of later releases reads the same file."""
    if not lines.release.abilities.container_tmp:
        return {}
    settings: dict[str, Value] = {"AutoBasePath": True, "BasePath": JOB_CONTAINER}
    return {"job_container.conf": _file(plan, lines.settings("job_container", settings))}


def _gres(plan: Plan, lines: Lines) -> dict[str, str]:
    """gres.conf; where nodes join by themselves, also what Slurm is told of them before, and they say when they join.

    The one gres.conf of the controller holds for both: 26.05 takes no node whose devices it does not find there.
    """
    every = [line for pool in plan.pools for line in gres_lines(pool, lines, str(pool.hosts), is_dynamic(plan))]
    found = {"gres.conf": every}
    if is_dynamic(plan):
        found["cloud-nodes.conf"] = list(cloud_lines(plan, lines))
        found |= {f"join-{pool.name}.conf": [joining_line(pool, plan, lines)] for pool in plan.pools}
    return {name: _file(plan, own) for name, own in found.items()}


def _topology(plan: Plan, lines: Lines) -> dict[str, str]:
    if grows(plan):
        return {"topology.yaml": _file(plan, cloud_topology(plan))}
    if release_of(plan).abilities.topology_yaml:
        return {"topology.yaml": _file(plan, topology_yaml(plan))} if len(supported(plan)) > 1 else {}
    found = list(topology_conf_lines(default_locality(plan), lines))
    return {"topology.conf": _file(plan, found)} if found else {}
