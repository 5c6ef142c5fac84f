"""Objects in, YAML out: the only YAML writer of this target. Objects are plain dictionaries; keys keep their order.

Block style throughout; a string that YAML could parse as another type is quoted as JSON, which YAML accepts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ....plan.build.kubernetes.names import MANAGED_BY_LABEL, MANAGER_NAME
from ...header import format_header

__all__ = ["Object", "render_documents", "render_kustomization", "build_object", "format_yaml"]

Object = dict[str, Any]

_PLAIN_SCALAR = re.compile(r"[A-Za-z_/][A-Za-z0-9_./@+()-]*(?:[ :=,][A-Za-z0-9_./@+()-]+)*\Z")
# Words that YAML 1.1 or 1.2 parsers read as a Boolean or as null.
_RESERVED_WORDS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null"])
# Characters that JSON does not escape but YAML requires escaped.
_ESCAPED_CHARACTERS = re.compile("[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")
_BLOCK_SCALAR_TEXT = re.compile(r"[^\x00-\x08\x0b-\x1f\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]*\Z")


def build_object(
    api: str,
    kind: str,
    name: str,
    namespace: str | None = None,
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **fields: Any,
) -> Object:
    """Build an object with its metadata; ``fields`` are the further fields (``spec=``, ``data=``, ``rules=`` …)."""
    metadata: Object = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    metadata["labels"] = {MANAGED_BY_LABEL: MANAGER_NAME, **(labels or {})}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **fields}


def render_documents(plan_name: str, objects: Iterable[Any]) -> str:
    """A file of one or more objects."""
    return f"{format_header(plan_name)}\n" + "---\n".join(map(format_yaml, objects))


def render_kustomization(plan_name: str, resources: Sequence[str], replacements: Sequence[Object] = ()) -> str:
    """Render the kustomization.yaml of a folder, for kustomize, kubectl and GitOps controllers."""
    found: Object = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list(resources),
    }
    if replacements:
        found["replacements"] = list(replacements)
    return render_documents(plan_name, [found])


def format_yaml(value: Any) -> str:
    """Format any tree of mappings, sequences, strings, numbers, Booleans and None as YAML.

    >>> print(format_yaml({"a": [1, {"b": "yes"}], "c": {}}), end="")
    a:
      - 1
      - b: "yes"
    c: {}
    """
    return "\n".join(_iter_lines(value, "")) + "\n"


def _iter_lines(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _iter_entry_lines(f"{indent}{_format_scalar(str(key))}:", item, indent)
    elif isinstance(value, list | tuple) and value:
        for item in value:
            if isinstance(item, Mapping | list | tuple) and item:
                inner = list(_iter_lines(item, indent + "  "))
                yield f"{indent}- {inner[0][len(indent) + 2 :]}"
                yield from inner[1:]
            else:
                yield from _iter_entry_lines(f"{indent}-", item, indent)
    else:
        yield f"{indent}{_format_scalar(value)}"


def _iter_entry_lines(start: str, value: Any, indent: str) -> Iterator[str]:
    """Yield a key or a dash with its value on the same line or below."""
    if isinstance(value, Mapping | list | tuple) and value:
        yield start
        yield from _iter_lines(value, indent + "  ")
    elif isinstance(value, str) and _is_block_scalar(value):
        yield f"{start} |" + ("" if value.endswith("\n") else "-")
        yield from (f"{indent}  {line}" if line else "" for line in value.removesuffix("\n").split("\n"))
    else:
        yield f"{start} {_format_scalar(value)}"


def _is_block_scalar(text: str) -> bool:
    """Whether a multi-line string can be a block scalar."""
    return (
        "\n" in text.rstrip("\n")
        and _BLOCK_SCALAR_TEXT.match(text) is not None
        and text[0] not in " \n\t"
        and not text.endswith("\n\n")
        and all(line == line.rstrip() for line in text.split("\n"))
    )


def _format_scalar(value: Any) -> str:
    if isinstance(value, str):
        plain = _PLAIN_SCALAR.match(value) and value.lower() not in _RESERVED_WORDS and not value.endswith((":", " "))
        return value if plain else _quote(value)
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, list | tuple):
        return "[]"
    text = json.dumps(value)
    # YAML 1.1 parsers do not accept an exponent in a number without a decimal point
    return text.replace("e", ".0e") if isinstance(value, float) and "e" in text and "." not in text else text


def _quote(text: str) -> str:
    return _ESCAPED_CHARACTERS.sub(lambda found: f"\\u{ord(found.group()):04x}", json.dumps(text, ensure_ascii=False))
