"""The changes between two plans, and those that replace, rename or recable running parts."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ...spec.user import User
from ..model.cloud import CloudPlan
from ..model.plan import Plan
from ..model.users import UserPlan
from .cloud_impact import Impact, find_impact
from .document import build_document
from .impact_rules import classify_impact, find_release_impact
from .recabling import iter_moved_cables
from .renumbering import compute_moved_places, compute_renumbered

__all__ = ["Change", "Impact", "diff_plans"]

_PRESENT = "(present)"
"""Shown for an object that only one of the two plans has, and that has no name."""

# Fields of the published document that are derived from other listed values, or are not part of the cluster.
_IGNORED_PATHS = {"findings", "suppressed", "version", "localities"}


@dataclass(frozen=True)
class Change:
    """One difference: path, old and new value, and impact on a running cluster.

    The value of an object that only one plan has is the object as its spec declares it, a mapping; its name if no spec
    declares it.
    """

    path: str
    old: Any
    new: Any
    impact: Impact
    why: str = ""
    """Resources that are replaced or lost, or the number of devices or cables that change; then the values are None."""


def diff_plans(old: Plan, new: Plan) -> list[Change]:
    """List all differences between two plans, in the order of the published document; then declared values that the
    document does not have, equal parts with other numbers or positions, and the cables that move.

    Args:
        old: The plan as it is now.
        new: The plan as it would be.

    Raises:
        InputError: If one of them is not a plan.
    """
    changes: list[Change] = []
    _collect_changes("", build_document(old).model_dump(), build_document(new).model_dump(), changes)
    changes += _list_declared_changes(old, new, {change.path for change in changes})
    before, after = _index_declared_objects(old), _index_declared_objects(new)
    changes = [_add_declared_object(change, before, after) for change in changes]
    changes += [
        Change(item.path, None, None, "replaces", f"{item.moved} of {item.things} change")
        for item in compute_renumbered(old, new)
    ]
    changes += [
        Change(item.path, None, None, "recables", f"{item.moved} of {item.things} are at another position")
        for item in compute_moved_places(old, new)
    ]
    changes += [
        Change(
            f"fabrics[{item.fabric}].{item.kind}",
            None,
            None,
            "recables",
            f"{item.moved_count} of {item.cable_count} cables end at another port",
        )
        for item in iter_moved_cables(old, new)
    ]
    release = find_release_impact(old, new)
    return [
        replace(change, impact=release[0], why=release[1])
        if release and change.path == "scheduler.version"
        else _apply_provider_impact(change, new.cloud or old.cloud)
        for change in changes
    ]


def _list_declared_changes(old: Plan, new: Plan, known: Collection[str]) -> list[Change]:
    """Differences of the two specs that are not among the known paths of the published document.

    Rendered files also contain declared values that are not decisions of the plan, such as users and their keys.
    """
    found: list[Change] = []
    _collect_changes("", _build_declared_spec(old), _build_declared_spec(new), found)
    return [change for change in found if change.path not in known]


def _index_declared_objects(plan: Plan) -> dict[str, Any]:
    """The objects that a spec declares, without fields that it does not set, by their paths in a comparison."""
    return dict(_iter_objects("", _build_declared_spec(plan, exclude_unset=True)))


def _build_declared_spec(plan: Plan, exclude_unset: bool = False) -> dict[str, Any]:
    """What a spec declares, with the users of the file that it names instead of the name of the file."""
    spec = plan.spec.model_dump(mode="json", exclude_unset=exclude_unset)
    if isinstance(plan.spec.users, str):
        users = [_build_declared_user(user) for user in plan.users]
        spec["users"] = [user.model_dump(mode="json", exclude_defaults=exclude_unset) for user in users]
    return spec


def _build_declared_user(user: UserPlan) -> User:
    return User(
        name=user.name,
        uid=user.uid,
        keys=user.keys,
        gid=None if user.has_own_group else user.gid,
        shell=user.shell,
        administrator=user.is_administrator,
    )


def _iter_objects(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield path, value
        for key, inner in value.items():
            yield from _iter_objects(f"{path}.{key}" if path else key, inner)
    elif _has_keys(value):
        for item in value:
            yield from _iter_objects(f"{path}[{_get_item_key(item)}]", item)


def _add_declared_object(change: Change, before: dict[str, Any], after: dict[str, Any]) -> Change:
    """An addition or removal with the declared object: its name alone would hide what is added, such as a right."""
    if change.impact == "adds" and change.old is None:
        return replace(change, new=after.get(change.path, change.new))
    if change.impact == "removes" and change.new is None:
        return replace(change, old=before.get(change.path, change.old))
    return change


def _apply_provider_impact(change: Change, cloud: CloudPlan | None) -> Change:
    """Set the impact of a change from the provider's table, if it contains the change."""
    found = find_impact(cloud, change.path, change.old, change.new) if cloud else None
    return replace(change, impact=found[0], why=found[1]) if found else change


def _collect_changes(path: str, old: Any, new: Any, changes: list[Change]) -> None:
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            below = f"{path}.{key}" if path else key
            if below not in _IGNORED_PATHS:
                _collect_changes(below, old.get(key), new.get(key), changes)
    elif _has_keys(old) and _has_keys(new):
        _collect_item_changes(path, old, new, changes)
    else:
        changes.append(_describe_single(path, old, new))


def _collect_item_changes(path: str, old: list[Any], new: list[Any], changes: list[Change]) -> None:
    before, after = ({_get_item_key(item): item for item in items} for items in (old, new))
    for name in dict.fromkeys([*before, *after]):
        _collect_changes(f"{path}[{name}]", before.get(name), after.get(name), changes)
    orders = [name for name in before if name in after], [name for name in after if name in before]
    if orders[0] != orders[1]:
        changes.append(Change(path, *orders, "changes", "the order"))


def _describe_single(path: str, old: Any, new: Any) -> Change:
    """The change of a value; an object that one of the two plans lacks is shown by its key."""
    if isinstance(old, dict) and new is None:
        return Change(path, _get_item_key(old) or _PRESENT, None, "removes")
    if isinstance(new, dict) and old is None:
        return Change(path, None, _get_item_key(new) or _PRESENT, "adds")
    return Change(path, old, new, classify_impact(path, old, new))


def _has_keys(items: Any) -> bool:
    """Whether a value is a list of objects that can be told apart by their keys."""
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        return False
    keys = {_get_item_key(item) for item in items}
    return len(keys) == len(items) and None not in keys


def _get_item_key(item: Any) -> Any:
    """The key that identifies an item of a list, None if it has none: its name, what a group of racks contains, or the
    check that is suppressed.
    """
    return item.get("name", item.get("item")) or item.get("pool") or item.get("kind") or item.get("check")
