"""The spec a component is given, in any of its forms, with the existing things that are passed beside it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any

import pulumi

from ...errors import InputError
from ...spec import ClusterSpec
from ...spec.cluster import PASSED
from ...spec.loader import Loaded, load, loads
from .work import Given

__all__ = ["declared", "passed"]


def declared(spec: Any, given: Given) -> ClusterSpec | Loaded[ClusterSpec]:
    """The spec from a file's path, a mapping or itself.

    Existing things of ``given`` take the place of the spec's: plain text as it is, Outputs as ``PASSED``. Raises
    :class:`InputError` for anything that is no spec.
    """
    if isinstance(spec, ClusterSpec):
        return _amended(spec, given)
    if isinstance(spec, (str, os.PathLike)):
        loaded = load(spec)
    elif isinstance(spec, Mapping):
        loaded = loads(_text_of(_plain(spec)))
    else:
        raise InputError(
            f"'spec' is {'missing' if spec is None else f'a {type(spec).__name__}'}; "
            "pass a file's path, a mapping or a ClusterSpec, none of them an output of a resource"
        )
    return Loaded(_amended(loaded.model, given), loaded.document)


def _text_of(spec: Any) -> str:
    """The mapping as YAML, which is JSON but for its escapes of characters beyond U+FFFF."""
    return re.sub(r"[^\x00-\x7f]", lambda char: f"\\U{ord(char[0]):08x}", json.dumps(spec, ensure_ascii=False))


def _plain(value: Any) -> Any:
    """Numbers that came over the wire of another language are floats: whole ones become whole again."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, pulumi.Output):
        raise InputError("'spec' holds an output of a resource; only network_id, subnet_ids, ssh_key and node_role may")
    return value


def _amended(spec: ClusterSpec, given: Given) -> ClusterSpec:
    network = spec.network
    if given.network is not None:
        network = network.model_copy(update={"id": _text(given.network)})
    if given.subnets:
        network = network.model_copy(update={"subnets": tuple(map(_numbered, enumerate(given.subnets, 1)))})
    return spec if network is spec.network else spec.model_copy(update={"network": network})


def _text(value: pulumi.Input[str]) -> str:
    return value if isinstance(value, str) else PASSED


def _numbered(subnet: tuple[int, pulumi.Input[str]]) -> str:
    number, value = subnet
    return value if isinstance(value, str) else f"{PASSED}-{number}"


def passed(known: str, given: Given) -> pulumi.Input[str]:
    """The identifier behind a text of the plan: what was passed to the component, or the text itself."""
    if known == PASSED and given.network is not None:
        return given.network
    number = known.removeprefix(f"{PASSED}-")
    if number != known and number.isdigit():
        return given.subnets[int(number) - 1]
    return known
