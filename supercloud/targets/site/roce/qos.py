"""The script that configures lossless QoS on a host's adapters, with their vendor's tool."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from ....catalog.adapter_qos import AdapterQos
from ....plan.model.network import Underlay
from ....plan.model.qos import QosPolicy
from ....primitives.bundle import File
from ....primitives.templates import render_template

__all__ = ["render_qos_files"]

_TRAFFIC_CLASSES = 8
# Number of values of the 6-bit field (RFC 2474, 3).
_DSCP_VALUES = 64


def render_qos_files(tool: AdapterQos | None, underlay: Underlay, values: Mapping[str, Any]) -> dict[str, File | str]:
    """Render the unit that configures a host's links, and the script for the ``tool`` that it runs, if known."""
    files: dict[str, File | str] = {
        f"roce-{underlay.fabric}.service": render_template(
            "roce/roce.service.j2",
            has_qos=tool is not None,
            driver_service=tool.driver_service if tool else None,
            **values,
        )
    }
    if tool:
        own = _build_tool_values(tool, underlay.qos_policy)
        files["roce-qos.sh"] = File(render_template("roce/roce-qos.sh.j2", **own, **values), executable=True)
    return files


def _build_tool_values(tool: AdapterQos, qos_policy: QosPolicy) -> dict[str, Any]:
    """Build further values for a tool's commands: tables of all priorities or of all DSCPs."""
    dscps = [item for item in range(_DSCP_VALUES) if item not in (qos_policy.dscp, qos_policy.cnp_dscp)]
    return {
        "tool": tool.tool,
        "software": tool.software,
        "strict_limit": tool.strict_limit or 0,
        "flow": ",".join("1" if item == qos_policy.priority else "0" for item in range(_TRAFFIC_CLASSES)),
        "kinds": ",".join("strict" if item == qos_policy.cnp_priority else "ets" for item in range(_TRAFFIC_CLASSES)),
        "shares": ",".join(map(str, _compute_class_shares(qos_policy))),
        "other_priority": _list_other_priorities(qos_policy)[0],
        "other_dscps": ",".join(_format_ranges(dscps)),
    }


def _list_other_priorities(qos_policy: QosPolicy) -> list[int]:
    """Return the priorities of neither data nor notifications."""
    return [item for item in range(_TRAFFIC_CLASSES) if item not in (qos_policy.priority, qos_policy.cnp_priority)]


def _compute_class_shares(qos_policy: QosPolicy) -> list[int]:
    """Compute the percentage of each traffic class: data, none for the strict one, the rest evenly."""
    others = _list_other_priorities(qos_policy)
    left = 100 - qos_policy.weight
    found = [left // len(others) if item in others else 0 for item in range(_TRAFFIC_CLASSES)]
    found[qos_policy.priority] = qos_policy.weight
    found[others[0]] += 100 - sum(found)
    return found


def _format_ranges(numbers: list[int]) -> list[str]:
    """Format runs of consecutive numbers: 0-25, 27."""
    runs = [list(run) for _, run in groupby(numbers, key=lambda item: item - numbers.index(item))]
    return [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
