"""What changes between two plans, and what of it replaces, renames or recables things that run."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from string import digits
from typing import Any

from ..model.cloud import CloudPlan
from ..model.plan import Plan
from .cloud_impact import Impact, judged_impact
from .document import document
from .recabling import compute_moved_cables
from .renumbering import compute_moved_places, compute_renumbered

__all__ = ["Change", "Impact", "diff"]

# Changing these means new machines, new names, or a network built again (jobs lose their connections where the key of
# their partition changes); everything else is changed in place.
_REPLACING = {
    "machine",
    "hosts",
    "address",
    "addresses",
    "cidr",
    "domain",
    "shape",
    "switch_models",
    "site",
    "kind",
    "name",
    "planes",
    "rails",
    "capacity_bytes",
    "as_first",
    "as_step",
    "per_leaf",
    "cidrs",
    "first",
    "per_port",
    "pkey",
    "pods",
    "services",
    "endpoint",
}
# Derived from other things that are listed themselves, or not part of the cluster.
_SILENT = {"findings", "suppressed", "version", "localities", "features"}


@dataclass(frozen=True)
class Change:
    """One difference: where, from what, to what, and what it does to a running cluster."""

    path: str
    old: Any
    new: Any
    impact: Impact
    why: str = ""
    """What is made again or lost, where the catalog says so."""


def diff(old: Plan, new: Plan) -> list[Change]:
    """All differences between two plans, in the order of the published document; then what has other numbers or places
    though it stays, and the cables that move."""
    changes: list[Change] = []
    _walk("", document(old).model_dump(), document(new).model_dump(), changes)
    changes += [
        Change(item.path, item.things, f"{item.moved} of them change", "replaces")
        for item in compute_renumbered(old, new)
    ]
    changes += [
        Change(item.path, item.things, f"{item.moved} of them stand elsewhere", "recables")
        for item in compute_moved_places(old, new)
    ]
    changes += [
        Change(f"fabrics[{item.fabric}].{item.what}", item.cables, f"{item.moved} of them end elsewhere", "recables")
        for item in compute_moved_cables(old, new)
    ]
    return [_judged(change, new.cloud or old.cloud) for change in changes]


def _judged(change: Change, cloud: CloudPlan | None) -> Change:
    """The change as the provider's own table sees it, where it is about a cloud site and in the table."""
    found = judged_impact(cloud, change.path, change.old, change.new) if cloud else None
    return replace(change, impact=found[0], why=found[1]) if found else change


def _walk(path: str, old: Any, new: Any, changes: list[Change]) -> None:
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            if key not in _SILENT:
                _walk(f"{path}.{key}" if path else key, old.get(key), new.get(key), changes)
        return
    if _named(old) and _named(new):
        before, after = ({_key(item): item for item in items} for items in (old, new))
        for name in dict.fromkeys([*before, *after]):
            _walk(f"{path}[{name}]", before.get(name), after.get(name), changes)
        return
    if old is None or new is None:
        whole = isinstance(old if new is None else new, dict)
        impact: Impact = ("removes" if new is None else "adds") if whole else "changes"
        shown = _key(old) if whole and old else old, _key(new) if whole and new else new
        changes.append(Change(path, *shown, impact))
        return
    changes.append(Change(path, old, new, _impact(path, old, new)))


def _named(items: Any) -> bool:
    return isinstance(items, list) and all(isinstance(item, dict) and _key(item) is not None for item in items)


def _key(item: Any) -> Any:
    """What tells one of a list from the others."""
    return item.get("name", item.get("what"))


def _impact(path: str, old: Any, new: Any) -> Impact:
    field = path.rpartition(".")[2]
    if field in ("hosts", "addresses") and isinstance(old, str) and isinstance(new, str):
        return "changes" if _only_longer(old, new) else "replaces"
    if field == "capacity_bytes":
        return "changes" if new > old else "replaces"
    if path.startswith("facility"):
        return "changes"
    return "replaces" if field in _REPLACING else "changes"


def _only_longer(old: str, new: str) -> bool:
    """Whether one list of hosts or addresses continues the other: nothing that exists is renamed."""
    before, after = _ranges(old), _ranges(new)
    both = min(len(before), len(after))
    if not both or before[: both - 1] != after[: both - 1] or before[both - 1][:2] != after[both - 1][:2]:
        return False
    shorter, longer = (before, after) if len(before) < len(after) else (after, before)
    return len(shorter) == len(longer) or shorter[-1][2] <= longer[both - 1][2]


def _ranges(text: str) -> list[tuple[str, str, int]]:
    """What stands before the number, the first number as it is written, and the last, of each range of a list."""
    found: list[tuple[str, str, int]] = []
    for name, inner in re.findall(r"([^,\[]+)(?:\[([^\]]*)\])?", text):
        prefix = name if inner else name.rstrip(digits)
        for part in (inner or name[len(prefix) :]).split(","):
            first, _, last = part.partition("-")
            if not first.isdigit() or not (last or first).isdigit():
                return []
            found.append((prefix, first, int(last or first)))
    return found
