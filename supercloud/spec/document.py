"""YAML and JSON with places: every value knows the line it stood on, and every problem is said at once.

YAML is read by the rules of 1.2 as far as scalars go: ``yes`` is a word, ``1:30`` is a word, ``0777`` is a word. A
number keeps the text it was written with, so that ``22.10`` can be a release.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from ..errors import Finding, SpecError, nearest

__all__ = ["Document", "Place", "findings_of", "place_text", "read", "read_json", "read_yaml"]

Place = tuple[str | int, ...]

_MAX_BYTES = 16 * 2**20
_MAX_DEPTH = 64
_MAX_VALUES = 2_000_000
_INT = re.compile(r"[-+]?[0-9]{1,400}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,4})?")


class _WrittenFloat(float):
    """A number that remembers how it was written."""

    __slots__ = ("text",)
    text: str


class _WrittenInt(int):
    """A whole number that remembers how it was written."""

    text: str


@dataclass(frozen=True)
class Document:
    """What a file says, and where: ``lines`` maps each place to its line, counted from 1."""

    file: str
    data: Any
    lines: Mapping[Place, int] = field(repr=False)

    def line(self, place: Place) -> int:
        """The line of a place, or of the nearest thing around it."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)


def place_text(place: Place) -> str:
    """A place as people write it: ``pools[0].machine``."""
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def read(path: Path) -> Document:
    """Read a spec file by its suffix; anything but ``.json`` is YAML."""
    return read_json(path) if path.suffix == ".json" else read_yaml(path)


def _text_of(path: Path) -> str:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise SpecError(f"{path}: larger than {_MAX_BYTES // 2**20} MiB; that is no spec")
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror or error}") from None


def read_yaml(path: Path) -> Document:
    """Read a YAML file; raises :class:`SpecError` with line and column for what is no YAML."""
    return parse_yaml(_text_of(path), str(path))


def parse_yaml(text: str, file: str = "") -> Document:
    """Read YAML text."""
    try:
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 0
        problem = ", ".join(part for part in (error.context, error.problem) if part) or "this is no YAML"
        raise SpecError(
            f"{file or 'the text'} cannot be read",
            [Finding("yaml", "error", "", problem, "mend the syntax at this line", file, line)],
        ) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SpecError(f"{file or 'the text'} cannot be read: {first}") from None
    reader = _Reader(file)
    data = reader.value(node, (), 0) if node is not None else None
    if reader.findings:
        raise SpecError(f"{file or 'the text'}: {len(reader.findings)} problem(s)", reader.findings)
    return Document(file, data, reader.lines)


_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Reader:
    """Turns YAML nodes into plain values, keeping lines and collecting problems."""

    def __init__(self, file: str):
        self.file = file
        self.lines: dict[Place, int] = {}
        self.findings: list[Finding] = []
        self.count = 0

    def problem(self, node: yaml.Node, place: Place, text: str, hint: str) -> None:
        line = node.start_mark.line + 1
        self.findings.append(Finding("yaml", "error", place_text(place), text, hint, self.file, line))

    def value(self, node: yaml.Node, place: Place, depth: int) -> Any:
        self.count += 1  # aliases count each time they are used: a "billion laughs" ends here
        if depth > _MAX_DEPTH or self.count > _MAX_VALUES:
            raise SpecError(f"{self.file or 'the text'}: nested or repeated too deeply at {place_text(place)[:80]!r}")
        self.lines[place] = node.start_mark.line + 1
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node, place)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*place, index), depth + 1) for index, item in enumerate(node.value)]
        assert isinstance(node, yaml.MappingNode)
        return self.mapping(node, place, depth)

    def mapping(self, node: yaml.MappingNode, place: Place, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge" or getattr(key_node, "value", None) == "<<":
                for source in value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]:
                    value = self.value(source, place, depth + 1)
                    if isinstance(value, dict):
                        merged = value | merged
                    else:
                        self.problem(value_node, place, "'<<' merges mappings only", "give it an alias of a mapping")
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                self.problem(key_node, place, "a key is a word", "write 'key: value'")
                continue
            key = key_node.value
            if key in result:
                self.problem(key_node, (*place, key), f"{key!r} is there twice", "remove one of them")
            result[key] = self.value(value_node, (*place, key), depth + 1)
            self.lines[(*place, key)] = key_node.start_mark.line + 1
        return merged | result

    def scalar(self, node: yaml.ScalarNode, place: Place) -> Any:
        text: str = node.value
        if node.style in ("'", '"', "|", ">"):
            return text
        if node.tag not in _PLAIN_TAGS:
            self.problem(node, place, f"the tag {node.tag!r} is not understood", "write the value plainly")
            return None
        if text in ("", "~", "null", "Null", "NULL"):
            return None
        if text in ("true", "True", "TRUE"):
            return True
        if text in ("false", "False", "FALSE"):
            return False
        if _INT.fullmatch(text) and not (len(text.lstrip("+-")) > 1 and text.lstrip("+-")[0] == "0"):
            return _written(_WrittenInt(int(text)), text)
        if _FLOAT.fullmatch(text) and not text.isdigit():
            return _written(_WrittenFloat(text), text)
        return text


_PLAIN_TAGS = {
    f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "timestamp", "value", "merge")
}


def _written(number: Any, text: str) -> Any:
    number.text = text
    return number


def read_json(path: Path) -> Document:
    """Read a JSON file. Values come from the JSON parser, lines from reading the same text as YAML, its superset."""
    text = _text_of(path)
    try:
        data = json.loads(text, object_pairs_hook=_no_twins, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        problem = f"{error.msg}, column {error.colno}"
        raise SpecError(
            f"{path} cannot be read",
            [Finding("json", "error", "", problem, "mend the syntax at this line", str(path), error.lineno)],
        ) from None
    except (ValueError, RecursionError) as error:
        raise SpecError(f"{path} cannot be read: {error or 'nested too deeply'}") from None
    try:
        lines = parse_yaml(text.replace("\t", " "), str(path)).lines
    except SpecError:
        lines = {(): 1}  # an escape that YAML does not know: the values hold, only the lines are lost
    return Document(str(path), data, lines)


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"{next(key for key in keys if keys.count(key) > 1)!r} is there twice")
    return result


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


# -- what pydantic found, in the user's terms ----------------------------------------------------------------------


def findings_of(
    error: ValidationError, data: Any, model: type[BaseModel], check: str = "spec"
) -> Iterator[tuple[Place, Finding]]:
    """Every problem of a validation with its place in ``data``, value, reason and nearest name."""
    found = [(_real_place(item["loc"], data), item) for item in error.errors(include_url=False)]
    for place, item in found:
        inside = any(len(other) > len(place) and other[: len(place)] == place for other, _ in found)
        if inside and item["type"] == "too_short":
            continue  # a list whose items are all wrong counts as empty: the items say what is the matter
        problem, hint = _explain(item, place, data, model)
        yield place, Finding(check, "error", place_text(place), problem, hint)


def _real_place(location: tuple[str | int, ...], data: Any) -> Place:
    """Drop the parts of a pydantic location that name union members instead of places in the data."""
    place: list[str | int] = []
    here: Any = data
    for index, part in enumerate(location):
        last = index == len(location) - 1
        if isinstance(here, Mapping) and isinstance(part, str) and (part in here or last) and part != "[key]":
            place.append(part)
            here = here.get(part)
        elif isinstance(here, Sequence) and not isinstance(here, str) and isinstance(part, int) and part < len(here):
            place.append(part)
            here = here[part]
    return tuple(place)


def _shown(value: object) -> str:
    if hasattr(value, "text"):
        return str(value.text)
    text = json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict | list) else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"


_KIND_WORDS = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}
_BOUNDS = {
    "greater_than": ("gt", "is not more than", "take more"),
    "greater_than_equal": ("ge", "is less than", "take {} or more"),
    "less_than": ("lt", "is not less than", "take less"),
    "less_than_equal": ("le", "is more than", "take {} or less"),
    "string_too_short": ("min_length", "is shorter than", "take {} characters or more"),
    "string_too_long": ("max_length", "is longer than", "take {} characters or fewer"),
    "too_short": ("min_length", "has fewer items than", "give {} or more"),
    "too_long": ("max_length", "has more items than", "give {} or fewer"),
}


def _explain(item: Any, place: Place, data: Any, model: type[BaseModel]) -> tuple[str, str]:
    kind, value, context = item["type"], item["input"], item.get("ctx", {})
    if kind == "extra_forbidden":
        known = _fields_at(model, place[:-1], data)
        hint = nearest(str(place[-1]), known) if place else ""
        return f"there is no field {str(place[-1] if place else '')!r} here", hint
    if kind == "missing":
        return f"{str(place[-1] if place else item['loc'][-1])!r} is missing", "add it"
    if kind in ("literal_error", "union_tag_invalid", "enum"):
        expected = [
            part.strip().strip("'")
            for part in re.split(r", | or ", str(context.get("expected") or context.get("expected_tags") or ""))
        ]
        tag = context.get("tag", value)
        return f"{_shown(tag)} is not one of {', '.join(expected)}", nearest(str(tag), expected)
    if kind == "union_tag_not_found":
        return f"{str(context.get('discriminator', 'kind')).strip(chr(39))!r} is missing", "it says which one this is"
    if kind in _KIND_WORDS:
        return f"{_shown(value)} is not {_KIND_WORDS[kind]}", _remedy(_KIND_WORDS[kind], value, place, data, model)
    if kind in _BOUNDS:
        bound, words, cure = _BOUNDS[kind]
        return f"{_shown(value)} {words} {context[bound]:g}", cure.format(f"{context[bound]:g}")
    if kind == "string_pattern_mismatch":
        return f"{_shown(value)} does not match {context.get('pattern')}", ""
    if kind == "value_error":
        return str(context.get("error", item["msg"])), ""
    return f"{_shown(value)}: {item['msg'][:1].lower()}{item['msg'][1:]}", ""


def _remedy(wanted: str, value: object, place: Place, data: Any, model: type[BaseModel]) -> str:
    """How a value of another kind is written."""
    if wanted == "a text" and isinstance(value, int | float):
        return "put it in quotes"
    if wanted == "a list" and not isinstance(value, Mapping) and value is not None:
        return f"write [{', '.join(value.split()) if isinstance(value, str) else _shown(value)}]"
    if wanted == "a mapping" and (fields := _fields_at(model, place, data)):
        return f"its fields are {', '.join(fields)}"
    return ""


def _fields_at(model: type[BaseModel], place: Place, data: Any) -> list[str]:
    """Names of the fields a model has at a place, following unions by their discriminating ``kind``."""
    candidates: list[type[BaseModel]] = [model]
    here = data
    for part in place:
        here = _inside(here, part)
        if isinstance(part, int):
            continue
        fields = [candidate.model_fields[part] for candidate in candidates if part in candidate.model_fields]
        candidates = [inner for info in fields for inner in _models_in(info)]
    if isinstance(here, Mapping) and "kind" in here and len(candidates) > 1:
        tagged = [
            c
            for c in candidates
            if "kind" in c.model_fields and here["kind"] in get_args(c.model_fields["kind"].annotation)
        ]
        candidates = tagged or candidates
    return sorted({name for candidate in candidates for name in candidate.model_fields})


def _inside(value: Any, part: str | int) -> Any:
    try:
        return value[part]
    except (KeyError, IndexError, TypeError):
        return None


def _models_in(info: FieldInfo | Any) -> list[type[BaseModel]]:
    annotation = info.annotation if isinstance(info, FieldInfo) else info
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for argument in get_args(annotation) for found in _models_in(argument)]
