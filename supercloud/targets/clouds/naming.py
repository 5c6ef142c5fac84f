"""Names of children: the component's name and a key of the plan, within what the provider takes.

Physical names are left to Pulumi's autonaming, so that a replacement can exist beside what it replaces. It appends a
dash and seven digits to the name in the graph, for which that name must leave room.
"""

from __future__ import annotations

from dataclasses import replace

from ...primitives.names import NameRule, build_bounded_name

__all__ = ["AUTONAME_LENGTH", "format_logical_name", "format_physical_name"]

AUTONAME_LENGTH = 8
"""Characters that Pulumi's autonaming appends."""


def format_logical_name(component: str, key: str, rule: NameRule | None = None) -> str:
    """``<component>-<key>``, shortened with a digest where the rule of its kind leaves no room for autonaming."""
    if rule is None:
        return f"{component}-{key}"
    return build_bounded_name([component, key], replace(rule, max=rule.max - AUTONAME_LENGTH))


def format_physical_name(component: str, key: str, rule: NameRule) -> str:
    """A name at the provider, for the few things that are looked up by name; unique within an account and region."""
    return build_bounded_name([component, key], rule)
