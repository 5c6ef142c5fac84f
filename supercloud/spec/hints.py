"""How something is written here that is written in another way elsewhere: fields, values, names and units."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from .base import MIG_PROFILE, NAME_PATTERN

__all__ = ["hint_for_field", "hint_for_mapping", "hint_for_pattern", "rewritten", "suggest_name"]

_ANY_NUMBER = "a number"
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,40}")
_CLOCK = re.compile(r"(?:(\d{1,3})-)?(\d{1,3}):(\d\d)(?::(\d\d))?")  # of Slurm: days-hours:minutes:seconds
_RANGE = re.compile(r"(\d{1,6})-(\d{1,6})(?:%\d+)?")
_MEASURED = re.compile(r"([0-9.]+) *([A-Za-z]+)")


@cache
def _known() -> Mapping[str, Any]:
    """The file of names, with a key for each of the names that stand together."""
    data = yaml.safe_load(files(__package__).joinpath("other-names.yaml").read_text())
    data["fields"] = {model: {name: text for names, text in hints.items()
                              for name in ([names] if names == _ANY_NUMBER else names.split())}
                      for model, hints in data["fields"].items()}  # fmt: skip
    data["units"] = {other: ours for ours, others in data["units"].items() for other in others}
    return data  # type: ignore[no-any-return]


def hint_for_field(key: str, value: object, models: Sequence[type[BaseModel]]) -> str:
    """What to write in place of a field that none of the models has; empty where nobody knows."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower().replace("-", "_").replace(".", "_")
    for model in models:
        hints = _known()["fields"].get(model.__name__, {})
        text = hints.get(name)
        if text is None and isinstance(value, int) and not isinstance(value, bool) and _PLAIN.fullmatch(key):
            text = hints.get(_ANY_NUMBER)
        if text is not None:
            return str(text).replace("%k", key).replace("%s", _plain(value))
    return ""


def _plain(value: object) -> str:
    text = str(getattr(value, "text", value))
    return text if isinstance(value, str | int | float) and _PLAIN.fullmatch(text) else "…"


def hint_for_mapping(value: object, models: Sequence[type[BaseModel]]) -> str:
    """How a single value is written as the mapping that one of the models wants; empty where nothing fits."""
    text = str(getattr(value, "text", value))
    if not isinstance(value, str | int | float) or isinstance(value, bool) or len(text) > 80:
        return ""
    for model in models:
        for pattern, form in _known()["shapes"].get(model.__name__, {}).items():
            if found := re.fullmatch(pattern, text):
                return f"write {found.expand(form)}"
        kind = model.model_fields.get("kind")
        if kind is not None and text in get_args(kind.annotation):
            needed = [
                f"{name}: …" for name, info in model.model_fields.items() if info.is_required() and name != "kind"
            ]
            return f"write {{{', '.join([f'kind: {text}', *needed])}}}"
    for model in models:
        for name in model.model_fields:
            if _PLAIN.fullmatch(text.lstrip("/")) and _takes(model, {name: value}):
                return f"write {{{name}: {text}}}"
    return ""


def _takes(model: type[BaseModel], data: Mapping[str, object]) -> bool:
    try:
        model.model_validate(data)
    except ValidationError:
        return False
    return True


def rewritten(value: object, wanted: str) -> Iterator[object]:
    """Other forms of a value that is not what was wanted (``a whole number`` …, or empty), the likeliest first."""
    if isinstance(value, str) and len(value) <= 80:
        if wanted == "true or false" and value.lower() in ("yes", "no", "on", "off", "y", "n"):
            yield value.lower() in ("yes", "on", "y")
        elif found := re.fullmatch(r"([0-9]{1,15})(?:\.0)?( *[A-Za-z]+)?", value):
            yield int(found[1])
        if found := _RANGE.fullmatch(value):
            yield int(found[2]) - int(found[1]) + 1
        if found := _CLOCK.fullmatch(value):
            days, hours, minutes = (int(part or 0) for part in found.groups()[:3])
            whole, rest = (days * 24 + hours), minutes
            yield f"{whole} h" if not rest else f"{whole * 60 + rest} min"
        if (found := _MEASURED.fullmatch(value)) and (unit := _known()["units"].get(found[2])):
            yield f"{found[1]} {unit}"
    if wanted == "a mapping" and isinstance(value, list) and value and all(_is_pair(item) for item in value):
        yield {item["name"]: item["value"] for item in value}
    elif wanted == "a mapping":
        pairs = [re.split(r"[=:]", item, maxsplit=1) for item in (value if isinstance(value, list) else [value])
                 if isinstance(item, str)]  # fmt: skip
        if pairs and all(len(pair) == 2 and all(map(_PLAIN.fullmatch, pair)) for pair in pairs):
            yield {key: int(text) if text.isascii() and text.isdigit() else text for key, text in pairs}


def _is_pair(item: object) -> bool:
    """Whether it is a variable as Kubernetes has it: a name and a value."""
    return (isinstance(item, Mapping) and set(item) == {"name", "value"}
            and all(isinstance(text, str) and _PLAIN.fullmatch(text) for text in item.values()))  # fmt: skip


def suggest_name(text: str) -> str:
    """The nearest text that is a name here; empty where none of its characters may be in one."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    return (f"n{words}" if words[:1].isdigit() else words)[:40].rstrip("-")


def suggest_via(text: str) -> str:
    """How a connection is written, where a host or an address of another form was."""
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


_PATTERNS: dict[str, tuple[str, Callable[[str], str]]] = {
    NAME_PATTERN: ("is not a name: lower-case letters, digits and inner dashes, starting with a letter", suggest_name),
    MIG_PROFILE: ("is not a MIG profile", lambda text: "1g.10gb"),
}


def add_pattern(pattern: str, problem: str, suggest: Callable[[str], str]) -> str:
    """The pattern, which errors put into words from now on: what a text that breaks it is not, and what to write."""
    _PATTERNS[pattern] = problem, suggest
    return pattern


def hint_for_pattern(pattern: str, text: str) -> tuple[str, str]:
    """In words what a text breaks, and what to write instead; both empty where the pattern has no words."""
    problem, suggest = _PATTERNS.get(pattern, ("", lambda text: ""))
    better = suggest(text) if len(text) <= 200 else ""
    return problem, f"write {better}" if better else ""
