"""Declared numbers of spines that are not possible or are interpreted differently, and possible numbers."""

from __future__ import annotations

from collections.abc import Callable

from ....spec import Fabric
from ....topology import Fabric as Wiring
from ....topology import TopologyError
from ...model.problems import Problems

__all__ = ["TIERS_WITH_CORE", "check_spines", "select_spines"]

Build = Callable[[Fabric], Wiring]

# Number of candidates for the hint, each of which builds the fabric: those nearest to the declared number.
_MAX_TRIED_COUNTS = 16
TIERS_WITH_CORE = 3
"""Number of tiers of a fabric with core switches."""


def select_spines(wired: Build, fabric: Fabric, links: int) -> str:
    """The possible number of spines nearest to the declared one, if the declared number is the problem: one with no
    more tiers than the fabric has without it, and with ports for a number of further ``links`` on the topmost
    switches.
    """
    if fabric.spines is None:
        return ""
    try:
        usual = wired(fabric.model_copy(update={"spines": None}))
    except TopologyError as error:
        return error.hint
    declared = fabric.spines
    near = range(max(1, declared - _MAX_TRIED_COUNTS // 2), declared + _MAX_TRIED_COUNTS // 2 + 1)
    natural = usual.tiers[1].count // usual.planes if len(usual.tiers) > 1 else 1
    for spines in sorted({*near, natural}, key=lambda number: abs(number - declared)):
        try:
            found = wired(fabric.model_copy(update={"spines": spines}))
        except TopologyError:
            continue
        top = found.tiers[-1]
        if len(found.tiers) <= len(usual.tiers) and -(-links // top.count) <= top.radix - top.down:
            return f"set spines: {spines}, or omit it"
    return "omit spines"


def check_spines(wired: Build, fabric: Fabric, path: str, wiring: Wiring, links: int, problems: Problems) -> None:
    """Whether a declared number of spines is that of a pod under core switches which only this number requires.

    If ``tiers`` is declared, too, or if no number is possible without a core, this is as specified.
    """
    if fabric.spines is None or fabric.tiers is not None or len(wiring.tiers) != TIERS_WITH_CORE:
        return
    try:
        usual = wired(fabric.model_copy(update={"spines": None}))
    except TopologyError:
        return
    if len(usual.tiers) >= len(wiring.tiers):
        return
    leaf, spine, core = wiring.tiers
    without = sum(usual.switch_counts.values())
    problems.add_error(
        "fabric-tiers",
        f"{path}.spines",
        f"{fabric.spines} spine{'s' * (fabric.spines > 1)} cannot join the {leaf.count} leaves of {fabric.name}: this "
        f"requires {spine.count} spines in pods and {core.count} core switch{'es' * (core.count > 1)} above them, "
        f"{sum(wiring.switch_counts.values())} switches in total; without this number {without} in {len(usual.tiers)} "
        "tiers are sufficient",
        f"{select_spines(wired, fabric, links)}; if it is the number per pod, set tiers: {TIERS_WITH_CORE}",
    )
