"""The Pulumi provider of the children: the user's, or a new one in the plan's region."""

from __future__ import annotations

import inspect
import json
import re
from typing import Any

import pulumi
import pulumi_aws as aws
from pulumi.runtime import is_config_secret

from ..build_context import BuildContext

__all__ = ["create_provider"]


def create_provider(context: BuildContext) -> pulumi.ProviderResource | None:
    """Create the provider; None if the user passed one, which children inherit.

    It has the settings of the stack's ``aws:`` configuration, but the region of the plan: the
    default provider's region may differ, and stacks may disable default providers.
    """
    if context.component.get_provider("aws:index:Provider") is not None:
        return None
    settings = _read_stack_settings() | {"region": context.cloud.region}
    options = pulumi.ResourceOptions(parent=context.component)
    return aws.Provider(f"{context.name}-aws", opts=options, **settings)


def _read_stack_settings() -> dict[str, Any]:
    """Settings of the stack's ``aws:`` configuration; secrets remain secrets."""
    config = pulumi.Config("aws")
    known = inspect.signature(aws.Provider._internal_init).parameters
    found: dict[str, Any] = {}
    for name in sorted(known.keys() - {"__self__", "resource_name", "opts"}):
        key = _to_camel_case(name)
        if is_config_secret(f"aws:{key}"):
            found[name] = config.require_secret(key).apply(_parse_setting)
        elif (value := config.get(key)) is not None:
            found[name] = _parse_setting(value)
    return found


def _parse_setting(value: str) -> Any:
    """Lists, mappings, Booleans and numbers are JSON in a configuration; everything else is text."""
    return json.loads(value) if re.match(r"\s*[\[{]|(true|false|\d+)$", value) else value


def _to_camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)
