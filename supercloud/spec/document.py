"""YAML and JSON with places: every value knows the line it stood on, and every problem is said at once.

YAML is read by the rules of 1.2 as far as scalars go: ``yes`` is a word, ``1:30`` is a word, ``0777`` is a word. A
number keeps the text it was written with, so that ``22.10`` can be a release.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from ..errors import Finding, SpecError, nearest
from ..primitives.files import FileProblem, read_text
from .base import NAME_PATTERN, TwiceNamed

__all__ = ["Document", "Place", "findings_of", "place_text", "read", "read_json", "read_yaml"]

Place = tuple[str | int, ...]

_MAX_DEPTH = 64
_MAX_VALUES = 400_000
"""Of one file, aliases counted wherever they are used: the largest cluster that the language has needs half of it."""
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
    twice: tuple[Finding, ...] = ()
    """Keys that stand in one mapping more than once: said beside whatever else is wrong (:meth:`checked`)."""

    def checked(self) -> Document:
        """The document, for readers that look for nothing else; raises :class:`SpecError` for keys that occur twice."""
        if self.twice:
            raise SpecError(f"{self.file or 'the text'}: {len(self.twice)} problem(s)", self.twice)
        return self

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
        return read_text(path)
    except FileProblem as error:
        raise SpecError(f"{path}: {error}") from None


def read_yaml(path: Path) -> Document:
    """Read a YAML file; raises :class:`SpecError` with line and column for what is no YAML."""
    return parse_yaml(_text_of(path), str(path))


def parse_yaml(text: str, file: str = "") -> Document:
    """Read YAML text."""
    try:
        node = _compose(text, file)
    except SpecError:
        raise
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
    return Document(file, data, reader.lines, tuple(reader.twice[:_MOST]))


_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Node:
    """A value of YAML before it is read: a scalar's text, or the nodes inside (of a mapping key, value, key …)."""

    __slots__ = ("kind", "inner", "text", "line", "plain", "tag")

    def __init__(self, kind: str, line: int, text: str = "", plain: bool = False, tag: str | None = None):
        self.kind, self.line, self.text, self.plain, self.tag = kind, line, text, plain, tag
        self.inner: list[_Node] = []


def _compose(text: str, file: str) -> _Node | None:
    """The root of a document. Events are taken one by one: the composer of libyaml's binding recurses in C for each
    level of nesting, and thousands of levels end the process."""
    root = _Node("document", 1)
    open_nodes: list[_Node] = [root]
    anchors: dict[str, _Node] = {}
    count = 0
    for event in yaml.parse(text, Loader=_LOADER):
        mark = cast(yaml.Mark, event.start_mark)  # libyaml's binding has marks of its own, of the same form
        line = mark.line + 1
        if isinstance(event, yaml.ScalarEvent):
            node = _Node("scalar", line, event.value, not event.style, event.tag)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors:
                raise yaml.MarkedYAMLError(None, None, "an alias has no anchor before it", mark)
            node = anchors[event.anchor]
        elif isinstance(event, yaml.SequenceStartEvent):
            node = _Node("sequence", line)
        elif isinstance(event, yaml.MappingStartEvent):
            node = _Node("mapping", line)
        else:
            if isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
                open_nodes.pop()
            continue
        if len(open_nodes) == 1 and root.inner:
            raise yaml.MarkedYAMLError(None, None, "a second document begins here; a file has one", mark)
        count += 1
        if len(open_nodes) > _MAX_DEPTH + 2 or count > 2 * _MAX_VALUES:
            raise _too_much(f"{file or 'the text'}:{line}", count)
        open_nodes[-1].inner.append(node)
        if not isinstance(event, yaml.AliasEvent):
            if event.anchor is not None:
                anchors[event.anchor] = node
            if node.kind != "scalar":
                open_nodes.append(node)
    return root.inner[0] if root.inner else None


def _too_much(where: str, count: int) -> SpecError:
    if count > _MAX_VALUES:
        return SpecError(f"{where}: here the file has more than {_MAX_VALUES:,} values, or aliases repeat so many: "
                         "leave some out, or declare several clusters")  # fmt: skip
    return SpecError(f"{where}: nested too deeply; no spec needs more than {_MAX_DEPTH} levels")


class _Reader:
    """Turns nodes into plain values, keeping lines and collecting problems."""

    def __init__(self, file: str):
        self.file = file
        self.lines: dict[Place, int] = {}
        self.findings: list[Finding] = []
        self.twice: list[Finding] = []
        self.count = 0

    def problem(self, node: _Node, place: Place, text: str, hint: str) -> Finding:
        return Finding("yaml", "error", place_text(place), text, hint, self.file, node.line)

    def value(self, node: _Node, place: Place, depth: int) -> Any:
        self.count += 1  # aliases count each time they are used: a "billion laughs" ends here
        if depth > _MAX_DEPTH or self.count > _MAX_VALUES:
            raise _too_much(f"{self.file or 'the text'}:{node.line}", self.count)
        self.lines[place] = node.line
        if node.kind == "scalar":
            return self.scalar(node, place)
        if node.kind == "sequence":
            return [self.value(item, (*place, index), depth + 1) for index, item in enumerate(node.inner)]
        return self.mapping(node, place, depth)

    def mapping(self, node: _Node, place: Place, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in zip(node.inner[::2], node.inner[1::2], strict=True):
            if key_node.kind == "scalar" and key_node.text == "<<":
                for source in value_node.inner if value_node.kind == "sequence" else [value_node]:
                    value = self.value(source, place, depth + 1)
                    if isinstance(value, dict):
                        merged = value | merged
                    else:
                        self.findings.append(
                            self.problem(
                                value_node, place, "'<<' merges mappings only", "give it an alias of a mapping"
                            )
                        )
                continue
            if key_node.kind != "scalar":
                self.findings.append(self.problem(key_node, place, "a key is a word", "write 'key: value'"))
                continue
            key = key_node.text
            if key in result:
                named = (*place, key) if _FIELD_NAME.fullmatch(key) else place
                self.twice.append(
                    self.problem(key_node, named, f"{_key_text(key)} is there twice", "remove one of them")
                )
            result[key] = self.value(value_node, (*place, key), depth + 1)
            self.lines[(*place, key)] = key_node.line
        return merged | result

    def scalar(self, node: _Node, place: Place) -> Any:
        text = node.text
        if not node.plain:
            return text
        if node.tag is not None and node.tag not in _PLAIN_TAGS:
            self.findings.append(
                self.problem(node, place, f"the tag {node.tag!r} is not understood", "write the value plainly")
            )
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
    twice: list[str] = []
    try:
        data = json.loads(text, object_pairs_hook=_pairs(twice), parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        problem = f"{error.msg}, column {error.colno}"
        raise SpecError(
            f"{path} cannot be read",
            [Finding("json", "error", "", problem, "mend the syntax at this line", str(path), error.lineno)],
        ) from None
    except (ValueError, RecursionError) as error:
        raise SpecError(f"{path} cannot be read: {error or 'nested too deeply'}") from None
    try:
        same = parse_yaml(text.replace("\t", " "), str(path))
    except SpecError:  # an escape that YAML does not know: the values hold, only the lines are lost
        said = [Finding("json", "error", key if _FIELD_NAME.fullmatch(key) else "", f"{_key_text(key)} is there twice",
                        "remove one of them", str(path), 1) for key in twice]  # fmt: skip
        return Document(str(path), data, {(): 1}, tuple(said))
    return Document(str(path), data, same.lines, same.twice)


def _pairs(twice: list[str]) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """Pairs of an object as a mapping; keys that are there more than once are added to ``twice``."""

    def found(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            twice.extend(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        return result

    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


# -- what pydantic found, in the user's terms ----------------------------------------------------------------------


_MOST = 200
"""Problems of one document that are said one by one: nobody reads more before the first are corrected."""


_LOOKED_AT = 10_000
"""Problems whose places are looked for: to find and sort those of 400,000 unknown keys would take seconds."""


def findings_of(
    error: ValidationError,
    data: Any,
    model: type[BaseModel],
    check: str = "spec",
    line: Callable[[Place], int] = lambda place: 0,
) -> Iterator[tuple[Place, Finding]]:
    """Every problem of a validation with its place in ``data``, value, reason and nearest name.

    In the order of ``line``. Of more than a few hundred only the first are said, and how many there are besides; of
    very many the first are found as the model met them. A file may be another than was meant, such as one that only
    its owner may see: where it has no field of the model at all, keys that do not look like names of fields are not
    shown.
    """
    found = [(_real_place(item["loc"], data), item) for item in error.errors(include_url=False)[:_LOOKED_AT]]
    found.sort(key=lambda pair: line(pair[0]))
    around = {place[:depth] for place, _ in found for depth in range(len(place))}
    is_meant = not isinstance(data, Mapping) or any(name in data for name in _names_of(model))
    said = 0
    for place, item in found:
        if place in around and item["type"] == "too_short":
            continue  # a list whose items are all wrong counts as empty: the items say what is the matter
        if isinstance(item.get("ctx", {}).get("error"), TwiceNamed):
            continue  # said with its line by whoever has the document (twice_named)
        if said == _MOST:
            yield (), Finding(check, "error", "", f"{error.error_count() - said} more problems", "correct these first")
            return
        said += 1
        if not (is_meant or all(isinstance(part, int) or _FIELD_NAME.fullmatch(part) for part in place)):
            yield place, Finding(check, "error", "", "the key at this line is not a field", "")
            continue
        problem, hint = _explain(item, place, data, model)
        yield place, Finding(check, "error", place_text(place), problem, hint)


_FIELD_NAME = re.compile(r"[A-Za-z_][\w-]{0,40}")
"""A key that looks like the name of a field: what is shown of a file of which it is not known that it is a spec."""


def _key_text(key: str) -> str:
    return repr(key) if _FIELD_NAME.fullmatch(key) else "a key"


def _names_of(model: type[BaseModel]) -> Iterator[str]:
    """Names under which a model takes fields."""
    for name, info in model.model_fields.items():
        yield info.alias or name


def twice_named(data: Any, model: type[BaseModel]) -> Iterator[tuple[Place, Finding]]:
    """Things of one list that have the same name, wherever the model names the items of a list: the later ones.

    This needs no valid document, so that it is said beside whatever else is wrong.
    """
    if not isinstance(data, Mapping):
        return
    for name in model.model_fields:
        inner = data.get(name)
        for item in _models_in(model.model_fields[name]) if isinstance(inner, list | Mapping) else ():
            if isinstance(inner, Mapping):
                if _may_be(inner, item):
                    yield from (((name, *place), found) for place, found in twice_named(inner, item))
                continue
            first: dict[str, int] = {}
            for index, each in enumerate(inner or ()):
                if not isinstance(each, Mapping) or not _may_be(each, item):
                    continue
                yield from (((name, index, *place), found) for place, found in twice_named(each, item))
                called = each.get("name")
                if not isinstance(called, str) or not _is_named(item):
                    continue
                if called in first:
                    yield (name, index, "name"), Finding(
                        "spec", "error", "", f"{_shown(called)} is there twice, first as {name}[{first[called]}]",
                        "names are unique: rename or remove one of them")  # fmt: skip
                first.setdefault(called, index)


def _is_named(model: type[BaseModel]) -> bool:
    """Whether things of a model are told apart by their names (and not by something else, as secrets are)."""
    info = model.model_fields.get("name")
    return info is not None and any(getattr(item, "pattern", None) == NAME_PATTERN for item in info.metadata)


def _may_be(data: Mapping[str, Any], model: type[BaseModel]) -> bool:
    """Whether a mapping is meant to be of a model, by its ``kind`` where the model has one."""
    info = model.model_fields.get("kind")
    return info is None or not get_args(info.annotation) or data.get("kind") in get_args(info.annotation)


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
        # what a mapping or a list holds is not shown: the file may be another than was meant, such as one of secrets
        is_one = "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else _shown(value)
        return f"{is_one} is not {_KIND_WORDS[kind]}", _remedy(_KIND_WORDS[kind], value, place, data, model)
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
    if wanted == "a list" and value is not None:
        return _as_list(value, _infos_at(model, place, data))
    if wanted == "a mapping" and (fields := _fields_at(model, place, data)):
        return f"its fields are {', '.join(fields)}"
    return ""


def _as_list(value: object, infos: Sequence[FieldInfo]) -> str:
    """How the list that a field wants is written, with the value in it where that makes one that it takes."""
    words: list[object] = [*value.split()] if isinstance(value, str) else [value]
    models = [item for info in infos for item in _models_in(info)]
    named = [{"name": str(word)} for word in words]
    for items in (words, [_shown(word) for word in words], named if models and isinstance(value, str) else []):
        if items and any(_is_valid(info, items) for info in infos):
            return f"write [{', '.join(_flow(item) for item in items)}]"
    if models:
        needed = [name for name, info in models[0].model_fields.items() if info.is_required()]
        if needed:
            return f"write a list of mappings: [{{{', '.join(f'{name}: …' for name in needed)}}}]"
        return f"write a list of mappings with the fields {', '.join(sorted(models[0].model_fields))}"
    return f"write [{', '.join(_flow(item) for item in words)}]"  # what is wrong with the item is said then


def _is_valid(info: FieldInfo, value: object) -> bool:
    wanted: Any = info.annotation
    if info.metadata:
        wanted = Annotated[(wanted, *info.metadata)]
    try:
        TypeAdapter(wanted).validate_python(value)
    except ValidationError:
        return False
    return True


def _flow(value: object) -> str:
    """A value as it stands in a list of YAML, in quotes where it would not be read as a text without them."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_flow(item)}' for key, item in value.items())}}}"
    if not isinstance(value, str):
        return _shown(value)
    try:
        plain = yaml.safe_load(f"[{value}]") == [value] and parse_yaml(value).data == value
    except (yaml.YAMLError, SpecError):
        plain = False
    return value if plain else json.dumps(value, ensure_ascii=False)


def _infos_at(model: type[BaseModel], place: Place, data: Any) -> list[FieldInfo]:
    """What the models that may stand around a place say of its field; nothing for the items of a list."""
    if not place or not isinstance(place[-1], str):
        return []
    return [around.model_fields[place[-1]] for around in _models_at(model, place[:-1], data)
            if place[-1] in around.model_fields]  # fmt: skip


def _fields_at(model: type[BaseModel], place: Place, data: Any) -> list[str]:
    """Names of the fields a model has at a place."""
    return sorted({name for candidate in _models_at(model, place, data) for name in candidate.model_fields})


def _models_at(model: type[BaseModel], place: Place, data: Any) -> list[type[BaseModel]]:
    """The models that may stand at a place, following unions by their discriminating ``kind``."""
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
    return candidates


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
