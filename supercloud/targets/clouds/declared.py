"""The spec of a component, in any of its forms, with the existing resources that are passed in addition."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any

import pulumi

from ...errors import InputError
from ...spec import ClusterSpec
from ...spec.cluster import PASSED_IDENTIFIER
from ...spec.loader import LoadedSpec, load, loads
from .build_context import ExistingResources

__all__ = ["load_spec", "resolve_existing"]


def load_spec(spec: Any, existing: ExistingResources) -> ClusterSpec | LoadedSpec[ClusterSpec]:
    """Load the spec from a file's path, a mapping or a ``ClusterSpec``.

    Identifiers in ``existing`` replace those of the spec: plain text unchanged, Outputs as ``PASSED_IDENTIFIER``.
    Raises :class:`InputError` for anything that is not a spec.
    """
    if isinstance(spec, ClusterSpec):
        return _apply_existing(spec, existing)
    if isinstance(spec, (str, os.PathLike)):
        loaded = load(spec)
    elif isinstance(spec, Mapping):
        loaded = loads(_to_yaml(_to_plain(spec)))
    else:
        raise InputError(
            f"'spec' is {'missing' if spec is None else f'a {type(spec).__name__}'}; "
            "pass a file's path, a mapping or a ClusterSpec, none of them an output of a resource"
        )
    return LoadedSpec(_apply_existing(loaded.model, existing), loaded.document)


def _to_yaml(spec: Any) -> str:
    """Convert the mapping to YAML: JSON except for its escapes of characters beyond U+FFFF."""
    return re.sub(r"[^\x00-\x7f]", lambda char: f"\\U{ord(char[0]):08x}", json.dumps(spec, ensure_ascii=False))


def _to_plain(value: Any) -> Any:
    """Convert whole floats to integers: numbers from programs in other languages arrive as floats."""
    if isinstance(value, Mapping):
        return {str(key): _to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, pulumi.Output):
        raise InputError("'spec' holds an output of a resource; only network_id, subnet_ids, ssh_key and node_role may")
    return value


def _apply_existing(spec: ClusterSpec, existing: ExistingResources) -> ClusterSpec:
    network = spec.network
    if existing.network is not None:
        network = network.model_copy(update={"id": _to_identifier(existing.network)})
    if existing.subnets:
        network = network.model_copy(
            update={"subnets": tuple(map(_to_subnet_identifier, enumerate(existing.subnets, 1)))}
        )
    return spec if network is spec.network else spec.model_copy(update={"network": network})


def _to_identifier(value: pulumi.Input[str]) -> str:
    return value if isinstance(value, str) else PASSED_IDENTIFIER


def _to_subnet_identifier(subnet: tuple[int, pulumi.Input[str]]) -> str:
    number, value = subnet
    return value if isinstance(value, str) else f"{PASSED_IDENTIFIER}-{number}"


def resolve_existing(identifier: str, existing: ExistingResources) -> pulumi.Input[str]:
    """Return the identifier for a text of the plan: the value passed to the component, or the text itself."""
    if identifier == PASSED_IDENTIFIER and existing.network is not None:
        return existing.network
    number = identifier.removeprefix(f"{PASSED_IDENTIFIER}-")
    if number != identifier and number.isdigit():
        return existing.subnets[int(number) - 1]
    return identifier
