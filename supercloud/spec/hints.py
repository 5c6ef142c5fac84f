"""Translations of the notation of other systems: fields, values, names and units."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, get_args

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from ..errors import NEAREST, SpecError, suggest_nearest
from ..primitives.quantity import Quantity
from .base import MIG_PROFILE, NAME_PATTERN, RELEASE_PATTERN
from .document import parse_yaml

__all__ = [
    "find_field_hint",
    "find_mapping_hint",
    "find_pattern_hint",
    "is_valid",
    "list_models",
    "iter_rewrites",
    "suggest_count",
    "suggest_name",
    "suggest_times",
]

LOGIN_PROBLEM = (
    "is not a login name: lower-case letters, digits, dots, dashes and underscores, starting with a letter or an "
    "underscore"
)
_ANY_NUMBER = "a number"
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,40}")
_DAYS = re.compile(r"([0-9]{1,4})-([0-9]{1,4})(?::([0-9]{1,4})(?::([0-9]{1,4}))?)?")
"""A Slurm time that starts with days: days-hours, days-hours:minutes or days-hours:minutes:seconds."""
_CLOCK = re.compile(r"(?:([0-9]{1,4}):)?([0-9]{1,6})(?::([0-9]{1,4}))")
"""A Slurm time without days: minutes:seconds or hours:minutes:seconds; a number alone is minutes."""
_NUMBER = re.compile(r"[0-9]{1,7}")
_CUT = re.compile(r", |; | for | or | and |$")
"""Where the suggested text may end and its explanation start."""
_RANGE = re.compile(r"(\d{1,6})-(\d{1,6})(?:%\d+)?")
_QUANTITY = re.compile(r"([0-9.]+) *([A-Za-z]+)")
_MEASURE = re.compile(r"([0-9.]{1,20}|[0-9]{1,3}(?:,[0-9]{3}){1,4})\s*([A-Za-z][A-Za-z0-9/]*)")
"""The same in other notation: with separators of thousands, other spaces, or a unit of another system."""
_COUNT = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?|[0-9]{1,3}(?:,[0-9]{3}){1,4}) *([A-Za-z]{0,20})")
"""A number, with or without separators of thousands, and what it counts."""


@cache
def _load_hints() -> Mapping[str, Any]:
    """The file of names, with a key for each name of a group."""
    data = yaml.safe_load(files(__package__).joinpath("other-names.yaml").read_text())
    data["fields"] = {
        model: {
            name: text for names, text in hints.items() for name in ([names] if names == _ANY_NUMBER else names.split())
        }
        for model, hints in data["fields"].items()
    }
    units: dict[str, list[str]] = {}
    for ours, others in data["units"].items():
        for other in others:
            units.setdefault(other, []).append(ours)
    data["units"] = units
    return data  # type: ignore[no-any-return]


def find_field_hint(key: str, value: object, models: Sequence[type[BaseModel]], siblings: Container[str] = ()) -> str:
    """The field to use instead of an unknown one; empty if there is none.

    ``siblings`` are the other fields of its mapping.
    """
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower().replace("-", "_").replace(".", "_")
    for model in models:
        hints = _load_hints()["fields"].get(model.__name__, {})
        text = hints.get(name)
        if text is None and isinstance(value, int) and not isinstance(value, bool) and _PLAIN.fullmatch(key):
            text = hints.get(_ANY_NUMBER) if _is_free_name(key, model, siblings) else None
        if text is not None:
            return _fill_hint(str(text).replace("%k", key), value, model)
    return ""


def _is_free_name(key: str, model: type[BaseModel], siblings: Container[str]) -> bool:
    """Whether a key may be the name of something, such as a type of accelerator: it is not a misspelt field,
    and not next to fields that specify what it would.
    """
    fields = model.model_fields  # few, while there may be hundreds of thousands of siblings
    return not any(name in siblings for name in fields) and not suggest_nearest(key, fields).startswith(NEAREST)


def _fill_hint(text: str, value: object, model: type[BaseModel]) -> str:
    """A hint with the value, in a form that its field accepts; otherwise with a placeholder."""
    if "%s" not in text:
        return text
    field = re.match(r"write (\w+):", text)
    for other in (value, *iter_rewrites(value, "a whole number", field[1] if field else "")):
        plain = _format_plain(other)
        if plain and _is_valid_hint(model, text.replace("%s", plain)):
            times = suggest_times(value) if isinstance(other, str) and other != value else ""
            return text.replace("%s", times.removeprefix("write ") or plain)
    inner = list_models(model.model_fields[field[1]]) if field and field[1] in model.model_fields else []
    if field and (better := find_mapping_hint(value, inner)):
        return f"write {field[1]}: {better.removeprefix('write ')}"
    for example, shown in (("1", "N"), ("1 h", "N h"), ("a", "NAME")):
        if _is_valid_hint(model, text.replace("%s", example)):
            return text.replace("%s", shown)
    return text.replace("%s", "…")


def _format_plain(value: object) -> str:
    """A word, a number or a quantity as text; empty for anything else."""
    text = str(getattr(value, "text", value))
    is_plain = _PLAIN.fullmatch(text) or _QUANTITY.fullmatch(text)
    return text if isinstance(value, str | int | float) and is_plain else ""


def _is_valid_hint(model: type[BaseModel], hint: str) -> bool:
    """Whether a model accepts the fields that a hint suggests."""
    advised = hint.removeprefix("write ")
    for cut in _CUT.finditer(advised):
        try:
            fields = parse_yaml(advised[: cut.start()]).data
        except SpecError:
            continue
        if isinstance(fields, Mapping) and all(
            name in model.model_fields and is_valid(model.model_fields[name], each) for name, each in fields.items()
        ):
            return True
    return False


def is_valid(info: FieldInfo, value: object) -> bool:
    """Whether a field accepts a value."""
    wanted: Any = info.annotation
    if info.metadata:
        wanted = Annotated[(wanted, *info.metadata)]
    try:
        TypeAdapter(wanted).validate_python(value)
    except ValidationError:
        return False
    return True


def list_models(info: FieldInfo | Any) -> list[type[BaseModel]]:
    """The models whose documents a field, or a type, may hold."""
    annotation = info.annotation if isinstance(info, FieldInfo) else info
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for argument in get_args(annotation) for found in list_models(argument)]


def find_mapping_hint(value: object, models: Sequence[type[BaseModel]]) -> str:
    """A single value rewritten as the mapping that one of the models requires; empty if none fits."""
    text = str(getattr(value, "text", value))
    if not isinstance(value, str | int | float) or isinstance(value, bool) or len(text) > 80:
        return ""
    for model in models:
        form = _find_shape(model, text) or _build_kind_form(model, text)
        if form:
            return f"write {form}"
    for model in models:
        for name in model.model_fields:
            form = f"{{{name}: {text}}}"
            if (
                _PLAIN.fullmatch(text.lstrip("/"))
                and _is_accepted(model, {name: value})
                and _is_valid_hint(model, form)
            ):
                return f"write {form}"
    return ""


def _find_shape(model: type[BaseModel], text: str) -> str:
    """The mapping for a value in the notation of another system; empty if the notation is unknown."""
    for pattern, form in _load_hints()["shapes"].get(model.__name__, {}).items():
        if (found := re.fullmatch(pattern, text)) and _is_valid_form(model, found.expand(form)):
            return found.expand(form)
    return ""


def _build_kind_form(model: type[BaseModel], text: str) -> str:
    """The mapping with the required fields of a model whose ``kind`` is the value; empty if it is not."""
    kind = model.model_fields.get("kind")
    if kind is None or text not in get_args(kind.annotation):
        return ""
    needed = [f"{name}: …" for name, info in model.model_fields.items() if info.is_required() and name != "kind"]
    return f"{{{', '.join([f'kind: {text}', *needed])}}}"


def _is_valid_form(model: type[BaseModel], form: str) -> bool:
    """Whether a model accepts a form, with a number in place of ``N``."""
    return _is_valid_hint(model, re.sub(r"\bN\b", "1", form))


def _is_accepted(model: type[BaseModel], data: Mapping[str, object]) -> bool:
    try:
        model.model_validate(data)
    except ValidationError:
        return False
    return True


def iter_rewrites(value: object, expected: str, field: str = "") -> Iterator[object]:
    """Other forms of a value of the wrong type (``a whole number`` …, or empty) for a field, the most likely first."""
    if isinstance(value, str) and len(value) <= 80:
        yield from _rewrite_text(value, expected, field)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield from _iter_times(str(value))
    if expected == "a mapping":
        mapping = _build_mapping(value if isinstance(value, list) else [value])
        if mapping:
            yield mapping


def _rewrite_text(value: str, expected: str, field: str) -> Iterator[object]:
    """A text as the truth value, number, time or quantity that it probably is."""
    if expected == "true or false" and value.lower() in ("yes", "no", "on", "off", "y", "n"):
        yield value.lower() in ("yes", "on", "y")
    elif (number := _parse_count(value, field)) is not None:
        yield number
    if (found := _RANGE.fullmatch(value)) and field in _load_hints()["index_ranges"]:
        yield int(found[2]) - int(found[1]) + 1
    yield from _iter_times(value)
    if found := _MEASURE.fullmatch(value):
        yield from (f"{found[1].replace(',', '')} {unit}" for unit in (found[2], *_iter_units(found[2])))


def _iter_units(word: str) -> Iterator[str]:
    """The units that a unit of another system means; then those with the same letters, if they are equal."""
    yield from _load_hints()["units"].get(word, ())
    for dimension in Quantity.__subclasses__():
        same = {unit: factor for unit, factor in dimension.units.items() if unit.lower() == word.lower()}
        if len(set(same.values())) == 1:
            yield next(iter(same))


def _parse_count(text: str, field: str) -> int | None:
    """A whole number with separators of thousands, a letter that multiplies it, or the word for what a field counts;
    None for others.
    """
    found = _COUNT.fullmatch(text)
    if found is None:
        return None
    number, word = Fraction(found[1].replace(",", "")), found[2]
    if word in _load_hints()["multiples"]:
        number *= _load_hints()["multiples"][word]
    elif word and _pluralize(word) not in (_pluralize(field), *_load_hints()["counted"].get(field, ())):
        return None
    return int(number) if number.denominator == 1 else None


def _pluralize(word: str) -> str:
    return f"{word.lower().removesuffix('s')}s"


def suggest_count(text: str, infos: Sequence[FieldInfo]) -> str:
    """For a text in a field for whole numbers that is not one: what to write; empty if it contains no number."""
    if (found := _RANGE.fullmatch(text)) and all(is_valid(info, int(end)) for info in infos for end in found.groups()):
        return f"write one number, {found[1]} or {found[2]}"
    if (found := _COUNT.fullmatch(text)) and found[2]:
        return f"{found[2]} is not what this field counts: convert it, and write a number without a unit"
    return ""


def _build_mapping(items: Sequence[Any]) -> dict[object, object]:
    """A mapping of items with a name and a value, or of texts ``NAME=VALUE`` and ``NAME: VALUE``; empty if there are
    others.
    """
    if items and all(_is_pair(item) for item in items):
        return {item["name"]: item["value"] for item in items}
    pairs = [re.split(r"[=:]", item, maxsplit=1) for item in items if isinstance(item, str)]
    if not all(len(pair) == 2 and all(map(_PLAIN.fullmatch, pair)) for pair in pairs):
        return {}
    return {key: int(text) if text.isascii() and text.isdigit() else text for key, text in pairs}


def _iter_times(text: str) -> Iterator[str]:
    """A Slurm time, in the largest unit with a whole number."""
    if found := _DAYS.fullmatch(text):
        days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    elif found := _CLOCK.fullmatch(text):
        days, (hours, minutes, seconds) = 0, (int(part or 0) for part in found.groups())
    elif _NUMBER.fullmatch(text):
        days, hours, minutes, seconds = 0, 0, int(text), 0
    else:
        return
    yield _format_time(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def suggest_times(value: object) -> str:
    """A number without a unit as a time in minutes, as for Slurm, and in seconds, as for most others; empty for other
    values and for 0.
    """
    text = str(value)
    if not _NUMBER.fullmatch(text) or int(text) == 0:
        return ""
    return f"write {_format_time(60 * int(text))} ({text} minutes, as in Slurm), or {_format_time(int(text))} (seconds)"


def _format_time(seconds: int) -> str:
    """In the largest unit with a whole number."""
    unit, size = next((unit, size) for unit, size in (("h", 3600), ("min", 60), ("s", 1)) if seconds % size == 0)
    return f"{seconds // size} {unit}"


def _is_pair(value: object) -> bool:
    """Whether it is a Kubernetes variable: a name and a value."""
    return (
        isinstance(value, Mapping)
        and set(value) == {"name", "value"}
        and all(isinstance(text, str) and _PLAIN.fullmatch(text) for text in value.values())
    )


def suggest_name(text: str) -> str:
    """The nearest valid name; empty if none of the characters is allowed in a name."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    return (f"n{words}" if words[:1].isdigit() else words)[:40].rstrip("-")


def suggest_connection(text: str) -> str:
    """A connection in valid notation, for a host or an address in another form."""
    for field, prefix in (("stack", ""), ("context", "engine: kubernetes, ")):
        if name := re.fullmatch(rf"{field}:(\w[\w./@:-]*)", text):
            return f"connect: {{{prefix}{field}: {name[1]}}}"
    found = re.fullmatch(r"(?:([a-z0-9+]+)://)?((?:[A-Za-z0-9._-]+@)?[A-Za-z0-9._-]+)(:\d+)?(/.*)?", text)
    if found is None:
        return ""
    scheme, host, port, path = (part or "" for part in found.groups())
    if scheme == "ssh":
        return f"ssh:{host}{port}"
    service = f"https://{host.rpartition('@')[2]}{port or ':PORT'}"
    if scheme or path.strip("/"):
        return f"ssh:HOST or {service}"
    return f"ssh:{host}{port} for a login node, or {service} for slurmrestd"


def _suggest_release(text: str) -> str:
    """The release inside a text with a prefix or quotes of another kind; empty if it contains none."""
    found = re.search(r"(?<![0-9.])[0-9]{1,4}(\.[0-9]{1,4}){0,2}(?![0-9.])", text, re.ASCII)
    return found[0] if found else ""


_PATTERNS: dict[str, tuple[str, Callable[[str], str]]] = {
    NAME_PATTERN: ("is not a name: lower-case letters, digits and inner dashes, starting with a letter", suggest_name),
    RELEASE_PATTERN: ("is not a release: numbers separated by dots", _suggest_release),
    MIG_PROFILE: ("is not a MIG profile", lambda text: "1g.10gb"),
}


def register_pattern(pattern: str, problem: str, suggest: Callable[[str], str]) -> str:
    """The pattern, registered with the problem that errors report and a suggested value."""
    _PATTERNS[pattern] = problem, suggest
    return pattern


def find_pattern_hint(pattern: str, text: str) -> tuple[str, str]:
    """The problem of a text and a suggested value; both empty if the pattern is not registered."""
    problem, suggest = _PATTERNS.get(pattern, ("", lambda text: ""))
    better = suggest(text) if len(text) <= 200 else ""
    return problem, f"write {better}" if better else ""
