"""Names of children: the component's name and a key of the plan, within the provider's limits.

Physical names are set by Pulumi's autonaming, so that a replacement can exist at the same time as the replaced
resource. It appends a dash and seven digits to the logical name, which must be short enough for that.
"""

from __future__ import annotations

from dataclasses import replace

from ...primitives.names import NameRule, build_bounded_name

__all__ = ["AUTONAME_LENGTH", "format_logical_name", "format_physical_name"]

AUTONAME_LENGTH = 8
"""Characters that Pulumi's autonaming appends."""


def format_logical_name(component: str, key: str, rule: NameRule | None = None) -> str:
    """``<component>-<key>``, shortened with a digest if the rule of its kind requires it for autonaming."""
    if rule is None:
        return f"{component}-{key}"
    return build_bounded_name([component, key], replace(rule, max=rule.max - AUTONAME_LENGTH))


def format_physical_name(component: str, key: str, rule: NameRule) -> str:
    """Format a physical name, for the few resources that are looked up by name; unique within an account and region."""
    return build_bounded_name([component, key], rule)
