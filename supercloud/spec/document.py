"""YAML and JSON with positions: every value has its line number, and all problems are reported at once.

Scalars follow YAML 1.2: ``yes``, ``1:30`` and ``0777`` are strings. A
number keeps its original text, so that ``22.10`` can be a release.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import yaml

from ..errors import MAX_SHOWN, Finding, SpecError
from ..primitives.counts import format_count
from ..primitives.files import FileReadError, read_text

__all__ = ["Document", "DocumentPath", "format_path", "read_document", "read_json", "read_yaml"]

DocumentPath = tuple[str | int, ...]

_MAX_DEPTH = 64
_MAX_VALUES = 400_000
"""Values of one file, with aliases counted wherever they are used: the largest supported cluster needs half of it."""
_INT = re.compile(r"[-+]?[0-9]{1,400}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,4})?")


class _WrittenFloat(float):
    """A number that keeps its original text."""

    __slots__ = ("text",)
    text: str


class _WrittenInt(int):
    """A whole number that keeps its original text."""

    text: str


@dataclass(frozen=True)
class Document:
    """The content of a file with positions: ``lines`` maps each path to its line, counted from 1."""

    file: str
    data: Any
    lines: Mapping[DocumentPath, int] = field(repr=False)
    duplicates: tuple[Finding, ...] = ()
    """Duplicate keys of one mapping: reported together with other problems
    (:meth:`require_unique_keys`)."""

    def require_unique_keys(self) -> Document:
        """The document, for callers without further checks; raises :class:`SpecError` for duplicate keys."""
        if self.duplicates:
            raise SpecError(
                f"{self.file or 'the text'}: {format_count(len(self.duplicates), 'problem')}", self.duplicates
            )
        return self

    def find_line(self, path: DocumentPath) -> int:
        """The line of a path, or of its nearest parent."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def format_path(path: DocumentPath) -> str:
    """A path in its usual notation: ``pools[0].machine``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


FIELD_NAME_PATTERN = re.compile(r"[A-Za-z_][\w-]{0,40}")
"""A key that looks like a field name: only such keys are shown of a file that may not be a spec."""


def format_key(key: str) -> str:
    """A key in quotes if it looks like the name of a field; otherwise it is not shown."""
    return repr(key) if FIELD_NAME_PATTERN.fullmatch(key) else "a key"


def read_document(path: Path) -> Document:
    """Read a spec file by its suffix; any suffix but ``.json`` is YAML."""
    return read_json(path) if path.suffix == ".json" else read_yaml(path)


def _read_text(path: Path) -> str:
    try:
        return read_text(path)
    except FileReadError as error:
        raise SpecError(f"{path}: {error}") from None


def read_yaml(path: Path) -> Document:
    """Read a YAML file; raises :class:`SpecError` with line and column if it is not valid YAML."""
    return parse_yaml(_read_text(path), str(path))


def parse_yaml(text: str, file: str = "") -> Document:
    """Read YAML text; raises :class:`SpecError` with the line of what is not YAML, or not supported."""
    try:
        node = _compose(text, file)
    except SpecError:
        raise
    except yaml.MarkedYAMLError as error:
        raise SpecError(f"{file or 'the text'} cannot be read", [_describe_syntax_error(error, text, file)]) from None
    except yaml.reader.ReaderError:
        raise SpecError(f"{file or 'the text'} cannot be read", [_describe_invalid_character(text, file)]) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SpecError(f"{file or 'the text'} cannot be read: {first}") from None
    reader = _NodeReader(file)
    data = reader.read_value(node, (), 0) if node is not None else None
    if found := reader.findings:
        if (hidden := len(found) - MAX_SHOWN) > 0:
            more = f"{format_count(hidden, 'more problem')}"
            found = [*found[:MAX_SHOWN], Finding("yaml", "error", "", more, "fix these first", file, 1)]
        raise SpecError(f"{file or 'the text'}: {format_count(len(reader.findings), 'problem')}", found)
    return Document(file, data, reader.lines, tuple(reader.duplicates[:MAX_SHOWN]))


def _describe_syntax_error(error: yaml.MarkedYAMLError, text: str, file: str) -> Finding:
    """The syntax error, its line, and its fix."""
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 0
    problem = ", ".join(part for part in (error.context, error.problem) if part) or "this is not valid YAML"
    if error.context_mark and error.context_mark.line + 1 != line:
        problem += f" (it starts at line {error.context_mark.line + 1})"
    lines = text.splitlines()
    beginning = re.match(r"[ \t]*", lines[line - 1] if 0 < line <= len(lines) else "")
    hint = "correct the syntax at this line"
    if error.problem == _SECOND_DOCUMENT:
        hint = "write each document to a separate file"
    elif beginning and "\t" in beginning[0]:
        problem, hint = "the line starts with a tab, but YAML is indented with spaces", "replace the tab with spaces"
    elif beginning and str(error.problem).startswith("did not find expected"):
        hint = _describe_indentation(len(beginning[0]), lines[: line - 1], "'-'" in str(error.problem))
    return Finding("yaml", "error", "", problem, hint, file, line)


def _describe_indentation(spaces: int, lines_before: Sequence[str], is_list: bool) -> str:
    """The levels of the lines above one that is at none of them, or is not an item of the list at its level."""
    levels: list[int] = []
    for text in lines_before:
        if text.strip() and not text.lstrip().startswith("#"):
            level = len(text) - len(text.lstrip(" "))
            levels = [*(item for item in levels if item < level), level]
    if is_list and spaces in levels:
        return f"begin it with '- ' as an item of the list above it, or indent it by less than {spaces} spaces"
    if spaces in levels:
        return "correct the syntax at this line"
    known = " or ".join(map(str, levels))
    return f"the line has {spaces} spaces before it; indent it by {known}, as the lines above it"


def _describe_invalid_character(text: str, file: str) -> Finding:
    """The character that is not allowed in YAML, and its line."""
    found = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if found is None:
        return Finding("yaml", "error", "", "it has a character that YAML does not allow", "remove it", file, 1)
    hint = "remove it, or write it as \\x and two digits in double quotes"
    if found[0] == "\0":
        hint = "it looks like UTF-16 or no text at all: save it as UTF-8, for example with iconv -f UTF-16 -t UTF-8"
    problem = f"the control character #x{ord(found[0]):04x} is not allowed in YAML"
    return Finding("yaml", "error", "", problem, hint, file, text.count("\n", 0, found.start()) + 1)


_SECOND_DOCUMENT = "a second document starts here; a file must contain one"
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Node:
    """A YAML value before conversion: a scalar's text, or the nodes inside (of a mapping key, value, key …)."""

    __slots__ = ("kind", "inner", "text", "line", "plain", "tag")

    def __init__(self, kind: str, line: int, text: str = "", plain: bool = False, tag: str | None = None):
        self.kind, self.line, self.text, self.plain, self.tag = kind, line, text, plain, tag
        self.inner: list[_Node] = []


def _compose(text: str, file: str) -> _Node | None:
    """The root of a document. Events are processed one by one: the composer of libyaml's binding recurses in C for each
    level of nesting, and thousands of levels crash the process.
    """
    root = _Node("document", 1)
    open_nodes: list[_Node] = [root]
    anchors: dict[str, _Node] = {}
    count = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if not isinstance(event, yaml.NodeEvent):
            if isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
                open_nodes.pop()
            continue
        node, mark = _build_node(event, anchors), _get_mark(event)
        if len(open_nodes) == 1 and root.inner:
            raise yaml.MarkedYAMLError(None, None, _SECOND_DOCUMENT, mark)
        count += 1
        if len(open_nodes) > _MAX_DEPTH + 2 or count > 2 * _MAX_VALUES:
            raise _build_size_error(f"{file or 'the text'}:{mark.line + 1}", count)
        open_nodes[-1].inner.append(node)
        if isinstance(event, yaml.AliasEvent):
            continue
        if event.anchor is not None:
            anchors[event.anchor] = node
        if node.kind != "scalar":
            open_nodes.append(node)
    return root.inner[0] if root.inner else None


def _get_mark(event: yaml.Event) -> yaml.Mark:
    return cast(yaml.Mark, event.start_mark)  # libyaml's binding has its own mark class with the same fields


def _build_node(event: yaml.NodeEvent, anchors: Mapping[str, _Node]) -> _Node:
    """The node that an event starts, or the one that an alias repeats."""
    line = _get_mark(event).line + 1
    if isinstance(event, yaml.ScalarEvent):
        return _Node("scalar", line, event.value, not event.style, event.tag)
    if isinstance(event, yaml.AliasEvent):
        node = anchors.get(event.anchor or "")
        if node is None:
            raise yaml.MarkedYAMLError(None, None, "an alias has no anchor before it", _get_mark(event))
        return node
    return _Node("sequence" if isinstance(event, yaml.SequenceStartEvent) else "mapping", line)


def _build_size_error(location: str, count: int) -> SpecError:
    if count > _MAX_VALUES:
        return SpecError(
            f"{location}: the file has more than {_MAX_VALUES:,} values here, or aliases repeat that many: "
            "remove some, or declare several clusters"
        )
    return SpecError(f"{location}: nested too deeply; the maximum is {_MAX_DEPTH} levels")


class _NodeReader:
    """Turns nodes into plain values, keeping lines and collecting problems."""

    def __init__(self, file: str):
        self.file = file
        self.lines: dict[DocumentPath, int] = {}
        self.findings: list[Finding] = []
        self.duplicates: list[Finding] = []
        self.count = 0

    def build_finding(self, node: _Node, path: DocumentPath, text: str, hint: str) -> Finding:
        """An error at the line of a node."""
        return Finding("yaml", "error", format_path(path), text, hint, self.file, node.line)

    def read_value(self, node: _Node, path: DocumentPath, depth: int) -> Any:
        """The value of a node; raises :class:`SpecError` if it is nested too deeply or too large."""
        if depth > _MAX_DEPTH:
            raise _build_size_error(f"{self.file or 'the text'}:{node.line}", self.count)
        self.count_values(1, node)  # aliases count each time they are used: this stops a "billion laughs" attack
        self.lines[path] = node.line
        if node.kind == "scalar":
            return self.read_scalar(node, path)
        if node.kind == "sequence":
            return [self.read_value(item, (*path, index), depth + 1) for index, item in enumerate(node.inner)]
        return self.read_mapping(node, path, depth)

    def count_values(self, count: int, node: _Node) -> None:
        """Count values; raises :class:`SpecError` at the line of a node if the file has too many."""
        self.count += count
        if self.count > _MAX_VALUES:
            raise _build_size_error(f"{self.file or 'the text'}:{node.line}", self.count)

    def read_mapping(self, node: _Node, path: DocumentPath, depth: int) -> dict[str, Any]:
        """A mapping with the keys of its merged mappings; a duplicate key is a problem, its last value is used."""
        result: dict[str, Any] = {}
        sources: list[dict[str, Any]] = []
        for key_node, value_node in zip(node.inner[::2], node.inner[1::2], strict=True):
            if key_node.kind == "scalar" and key_node.text == "<<":
                for source in value_node.inner if value_node.kind == "sequence" else [value_node]:
                    value = self.read_value(source, path, depth + 1)
                    if isinstance(value, dict):
                        self.count_values(len(value), source)  # they are copied into this mapping
                        sources.append(value)
                    else:
                        self.findings.append(
                            self.build_finding(
                                value_node, path, "'<<' merges mappings only", "use an alias of a mapping"
                            )
                        )
                continue
            if key_node.kind != "scalar":
                self.findings.append(self.build_finding(key_node, path, "a key must be a string", "write 'key: value'"))
                continue
            key = key_node.text
            if key in result:
                named = (*path, key) if FIELD_NAME_PATTERN.fullmatch(key) else path
                self.duplicates.append(
                    self.build_finding(key_node, named, f"duplicate key {format_key(key)}", "remove one of them")
                )
            result[key] = self.read_value(value_node, (*path, key), depth + 1)
            self.lines[(*path, key)] = key_node.line
        merged: dict[str, Any] = {}
        for source_value in reversed(sources):  # of equal keys the first source has priority
            merged.update(source_value)
        return merged | result

    def read_scalar(self, node: _Node, path: DocumentPath) -> Any:
        """A text, number, truth value or None, by the rules of YAML 1.2; numbers keep their text."""
        text = node.text
        if not node.plain:
            return text
        if node.tag is not None and node.tag not in _PLAIN_TAGS:
            self.findings.append(
                self.build_finding(
                    node, path, f"the tag {node.tag!r} is not supported", "write the value without a tag"
                )
            )
            return None
        if text in ("", "~", "null", "Null", "NULL"):
            return None
        if text in ("true", "True", "TRUE"):
            return True
        if text in ("false", "False", "FALSE"):
            return False
        if _INT.fullmatch(text) and not (len(text.lstrip("+-")) > 1 and text.lstrip("+-")[0] == "0"):
            return _remember_text(_WrittenInt(int(text)), text)
        if _FLOAT.fullmatch(text) and not text.isdigit():
            return _remember_text(_WrittenFloat(text), text)
        return text


_PLAIN_TAGS = {
    f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "timestamp", "value", "merge")
}


def _remember_text(number: Any, text: str) -> Any:
    number.text = text
    return number


def read_json(path: Path) -> Document:
    """Read a JSON file. Values come from the JSON parser, lines from reading the same text as YAML, its superset.

    Raises :class:`SpecError` with the line of what is not JSON.
    """
    text = _read_text(path)
    twice: list[str] = []
    try:
        data = json.loads(text, object_pairs_hook=_collect_pairs(twice), parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        problem = f"{error.msg}, column {error.colno}"
        raise SpecError(
            f"{path} cannot be read",
            [Finding("json", "error", "", problem, "correct the syntax at this line", str(path), error.lineno)],
        ) from None
    except (ValueError, RecursionError) as error:
        raise SpecError(f"{path} cannot be read: {error or 'nested too deeply'}") from None
    try:
        same = parse_yaml(text.replace("\t", " "), str(path))
    except SpecError:  # an escape that YAML does not support: the values are valid, only the lines are lost
        duplicates = [
            Finding(
                "json",
                "error",
                key if FIELD_NAME_PATTERN.fullmatch(key) else "",
                f"duplicate key {format_key(key)}",
                "remove one of them",
                str(path),
                1,
            )
            for key in twice
        ]
        return Document(str(path), data, {(): 1}, tuple(duplicates))
    return Document(str(path), data, same.lines, same.duplicates)


def _collect_pairs(twice: list[str]) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """Pairs of an object as a mapping; duplicate keys are added to ``twice``."""

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            twice.extend(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        return result

    return collect


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a valid JSON number")
