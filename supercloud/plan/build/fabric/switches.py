"""The switches of a fabric: those of each tier, looked up in the catalog and compared with its kind."""

from __future__ import annotations

from ....catalog import Catalog, Switch
from ....errors import UnknownNameError
from ....spec import Fabric
from ...model.problems import Problems

__all__ = ["SWITCH_KINDS", "find_switches"]

SWITCH_KINDS = {"infiniband": "infiniband", "roce": "ethernet", "ethernet": "ethernet"}
"""Kind of a fabric -> kind of its switches."""


def find_switches(fabric: Fabric, path: str, catalog: Catalog, problems: Problems) -> tuple[Switch, ...] | None:
    """Leaf, spine and core switch; None with a problem if one is unknown, or of another kind."""
    if fabric.switches:
        of = fabric.switches
        names = {
            "switches.leaf": of.leaf,
            "switches.spine": of.spine or of.leaf,
            "switches.core": of.core or of.spine or of.leaf,
        }
    elif fabric.switch:
        names = {"switch": fabric.switch, "": fabric.switch, " ": fabric.switch}
    else:
        problems.add_error(
            "fabric-switch",
            path,
            "'switch' is required for on-prem fabrics",
            "set one of: supercloud catalog switches",
        )
        return None
    found: list[Switch] = []
    for key, name in names.items():
        try:
            switch = catalog.get(Switch, name)
        except UnknownNameError as error:
            if key.strip():
                problems.add_unknown_name(f"{path}.{key}", error)
            continue
        if switch.kind != SWITCH_KINDS.get(fabric.kind):
            if key.strip():
                problems.add_error(
                    "fabric-switch",
                    f"{path}.{key}",
                    f"{switch.name} is a switch for {switch.kind}, the fabric is {fabric.kind}",
                    "use another switch or kind",
                )
            continue
        found.append(switch)
    return tuple(found) if len(found) == len(names) else None
