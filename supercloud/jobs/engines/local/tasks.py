"""The environment of a task on this machine."""

from __future__ import annotations

from pathlib import Path

from ...runtime.epochs import compute_previous_epoch
from ..secrets import read_secrets
from .queue import Task

__all__ = ["build_task_environment"]


def build_task_environment(task: Task, rank: int) -> dict[str, str]:
    """The job's variables, the task's rank, and the accelerators it may use."""
    settings = task.submission.settings
    nodes, per_node = int(task.get_number("nodes")), int(task.get_number("tasks_per_node"))
    node, local = divmod(rank, per_node)
    env = {
        "LOCAL_RANK": str(local),
        "LOCAL_WORLD_SIZE": str(per_node),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(settings["port"]),
        "NNODES": str(nodes),
        "NODE_RANK": str(node),
        "RANK": str(rank),
        "WORLD_SIZE": str(nodes * per_node),
    }
    env |= task.submission.env
    epoch = compute_previous_epoch(task.submission.key) + task.attempt
    env |= {"SUPERCLOUD_EPOCH": str(epoch), "SUPERCLOUD_NODE_RANK": str(node)}
    if task.array_index is not None:
        env |= {
            "MASTER_PORT": str(int(settings["port"]) + task.array_index % 500),
            "SUPERCLOUD_ARRAY_INDEX": str(task.array_index),
        }
    if wanted := str(settings.get("secrets") or ""):
        # read here, never written; the agent may have been started with another folder than that of the submitter
        folder = Path(str(settings["secrets_folder"])) if "secrets_folder" in settings else None
        env |= read_secrets(dict(item.split("=", 1) for item in wanted.split()), folder)
    if name := str(settings.get("visible_env") or ""):
        env[name] = ",".join(map(str, _select_visible_accelerators(task, node, nodes)))
    return env


def _select_visible_accelerators(task: Task, node: int, nodes: int) -> list[int]:
    """Accelerators of one of the job's simulated nodes.

    Simulated ones are numbered per node, as on real nodes. Real ones are divided among the nodes.
    """
    if not task.slots:
        return []
    wanted = int(task.get_number("accelerators_per_node"))
    if task.is_simulated:
        size = int(task.get_number("node_accelerators"))
        mine = {slot % size for slot in task.slots[node * wanted : (node + 1) * wanted]}
        return sorted(mine) if len(mine) == wanted else list(range(wanted))
    share = max(1, len(task.slots) // nodes)
    first = node * share % len(task.slots)
    return list(task.slots[first : first + share])
