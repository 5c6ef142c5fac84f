"""The script that sets the lossless contract on a host's adapters, in the words of their maker's tool."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from ....catalog.adapter_qos import AdapterQos
from ....plan.model.network import Lossless, Underlay
from ....primitives.bundle import File
from ....primitives.templates import fill

__all__ = ["qos_files"]

_CLASSES = 8
# Values of the field of six bits (RFC 2474, 3).
_DSCPS = 64


def qos_files(tool: AdapterQos | None, underlay: Underlay, values: Mapping[str, Any]) -> dict[str, File | str]:
    """The unit that configures a host's links, and the script of the ``tool`` that it runs, where one is known."""
    files: dict[str, File | str] = {
        f"roce-{underlay.fabric}.service": fill(
            "roce/roce.service.j2",
            has_qos=tool is not None,
            driver_service=tool.driver_service if tool else None,
            **values,
        )
    }
    if tool:
        own = _values(tool, underlay.lossless)
        files["roce-qos.sh"] = File(fill("roce/roce-qos.sh.j2", **own, **values), executable=True)
    return files


def _values(tool: AdapterQos, contract: Lossless) -> dict[str, Any]:
    """What the commands of some tool need beside the contract: tables of all priorities or of all DSCPs."""
    dscps = [item for item in range(_DSCPS) if item not in (contract.dscp, contract.cnp_dscp)]
    return {
        "tool": tool.tool,
        "software": tool.software,
        "strict_limit": tool.strict_limit or 0,
        "flow": ",".join("1" if item == contract.priority else "0" for item in range(_CLASSES)),
        "kinds": ",".join("strict" if item == contract.cnp_priority else "ets" for item in range(_CLASSES)),
        "shares": ",".join(map(str, _shares(contract))),
        "other_priority": _others(contract)[0],
        "other_dscps": ",".join(_spans(dscps)),
    }


def _others(contract: Lossless) -> list[int]:
    """Priorities of neither data nor notifications."""
    return [item for item in range(_CLASSES) if item not in (contract.priority, contract.cnp_priority)]


def _shares(contract: Lossless) -> list[int]:
    """Percent of each traffic class: the data's, nothing for the strict one, the rest shared out evenly."""
    others = _others(contract)
    left = 100 - contract.weight
    found = [left // len(others) if item in others else 0 for item in range(_CLASSES)]
    found[contract.priority] = contract.weight
    found[others[0]] += 100 - sum(found)
    return found


def _spans(numbers: list[int]) -> list[str]:
    """Runs of consecutive numbers: 0-25, 27."""
    runs = [list(run) for _, run in groupby(numbers, key=lambda item: item - numbers.index(item))]
    return [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
