"""Parameters of an API call from a table of resource types and from what a resource declares."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

_REFERENCE = re.compile(r"\$([A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*)")
_MISSING = object()


class UnmappedInput(Exception):
    """An input of a resource has no parameter in the API, and the table does not say what becomes of it."""


class Values:
    """What ``$NAME`` stands for: an input of the resource, its ID or outputs, or a value of the account.

    ``transforms``: names that are followed by the name of an input, as ``$bytes.contentBase64``.
    """

    def __init__(self, values: Mapping[str, Any]):
        self.values = dict(values)
        self.transforms: dict[str, Callable[[Any], Any]] = {
            "bytes": base64.b64decode,
            "decoded": lambda text: base64.b64decode(text).decode(errors="surrogateescape"),
            "joined": ",".join,
            "pairs": lambda tags: [{"Key": key, "Value": value} for key, value in tags.items()],
            "unconditional": drop_conditional_statements,
            "dimensionPairs": lambda found: [{"Name": key, "Value": value} for key, value in found.items()],
        }

    def fill(self, template: Any) -> Any:
        """The template with values in the place of references; entries without a value are left out."""
        found = self._fill(template)
        return None if found is _MISSING else found

    def has(self, name: str) -> bool:
        """Whether there is a value, and it is not empty."""
        return self._find(name.split(".")) not in (_MISSING, None, [], {})

    def _fill(self, template: Any) -> Any:
        if isinstance(template, Mapping):
            entries = {key: self._fill(value) for key, value in template.items()}
            kept = {key: value for key, value in entries.items() if value is not _MISSING}
            return kept if kept or not template else _MISSING
        if isinstance(template, list):
            items = [item for item in map(self._fill, template) if item is not _MISSING and not _is_bare(item)]
            return items if items or not template else _MISSING
        if not isinstance(template, str) or "$" not in template:
            return template
        whole = _REFERENCE.fullmatch(template)
        if whole:
            return self._find(whole[1].split("."))
        return _REFERENCE.sub(lambda match: self._show(match[1]), template)

    def _show(self, name: str) -> str:
        found = self._find(name.split("."))
        return name if found is _MISSING else str(found)

    def _find(self, path: list[str]) -> Any:
        if path[0] in self.transforms and len(path) > 1:
            found = self._find(path[1:])
            return found if found in (_MISSING, None) else self.transforms[path[0]](found)
        found: Any = self.values
        for place, name in enumerate(path):
            if isinstance(found, list) and name.isdigit():
                found = found[int(name)] if int(name) < len(found) else _MISSING
            elif isinstance(found, list):  # the rest of the path is the key that each item gets
                return [{name: item} for item in found]
            elif isinstance(found, Mapping):
                found = found.get(name, _MISSING)
            else:
                found = _MISSING
            if found is None or found is _MISSING:
                return _MISSING
            if place == len(path) - 1:
                return found
        return found


def drop_conditional_statements(policy: str) -> str:
    """A policy without the statements that have a condition."""
    found = json.loads(policy)
    return json.dumps({**found, "Statement": [item for item in found["Statement"] if "Condition" not in item]})


def _is_bare(item: Any) -> bool:
    """A description without what it describes: the other references of the entry have no value."""
    return isinstance(item, Mapping) and set(item) in ({"Description"}, {"DeviceIndex"})


def build_parameters(shape: Any, inputs: Any, rename: Mapping[str, str], path: str = "") -> Any:
    """Inputs as the parameters of a botocore shape: names match whatever their capitals.

    Raises UnmappedInput with the path of an input that has no parameter.
    """
    if shape.type_name == "structure" and isinstance(inputs, Mapping):
        members = {name.lower(): name for name in shape.members}
        found = {}
        for key, value in inputs.items():
            if value is None:
                continue
            name = members.get(rename.get(key, key).lower())
            if name is None:
                raise UnmappedInput(f"{path}{key} has no parameter in {shape.name} ({', '.join(shape.members)})")
            found[name] = build_parameters(shape.members[name], value, rename, f"{path}{key}.")
        return found
    if shape.type_name == "list":
        if isinstance(inputs, Mapping) and {"Key", "Value"} <= set(getattr(shape.member, "members", ())):
            return [{"Key": key, "Value": value} for key, value in inputs.items()]
        items = inputs if isinstance(inputs, list) else [inputs]
        return [build_parameters(shape.member, item, rename, path) for item in items]
    return _convert(shape.type_name, inputs)


def _convert(type_name: str, value: Any) -> Any:
    """A scalar in the type of the API: the provider's schema has some numbers and switches as strings."""
    if type_name == "boolean" and isinstance(value, str):
        return value == "true"
    if type_name in ("integer", "long") and isinstance(value, str):
        return int(value)
    if type_name == "string" and isinstance(value, bool):
        return json.dumps(value)
    if type_name == "string":
        return str(value)
    return value
