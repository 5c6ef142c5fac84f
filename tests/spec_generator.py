"""Specs made from the published JSON Schemas: valid ones, values at the bounds, wrong ones; the same for the same seed.

A new field of a model is generated as soon as it is in the schema. Only two things are added to what the schema says,
so that many specs get past the first checks: texts that name something of the catalog are taken from the catalog, and
names are taken from a few, so that references meet what they refer to.
"""

from __future__ import annotations

import copy
import functools
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from generator_values import AMOUNTS, COUNTS, KINDS_OF_FIELDS, NAMES, WRONG
from matching_text import make_matching_text

from supercloud.catalog import Catalog, Machine
from supercloud.catalog.reader import KINDS
from supercloud.spec.schema import build_schema

__all__ = ["Generator"]


@functools.cache
def _build_schema(document: str) -> Mapping[str, Any]:
    """A schema, made once: pydantic takes 0.2 s for it, ten times what a document takes."""
    return build_schema(document)


class Generator:
    """Documents of one schema (cluster, job or fleet), generated or made by changing one of ``seeds``.

    A change that ``is_valid`` refuses is reverted, most times: a document in which nothing is refused tries what
    comes after the checks of single values.
    """

    def __init__(
        self,
        document: str,
        seed: int,
        seeds: Sequence[Any] = (),
        catalog: Catalog | None = None,
        is_valid: Callable[[Any], bool] = lambda data: True,
    ):
        self.random = random.Random(f"{document}/{seed}")
        self.schema = _build_schema(document)
        self.definitions: dict[str, Any] = self.schema.get("$defs", {})
        self.seeds = seeds
        self.is_valid = is_valid
        self.names: Mapping[str, list[str]] = {}
        """What the document at hand declares, by the list that declares it."""
        self.machines: list[str] = []
        """Those that its site has."""
        self.catalog = catalog or Catalog()
        self.wrong = 0.0

    def document(self) -> Any:
        """A document: one in ten generated, the others a seed with one or a few changes, mostly to valid values."""
        chance = self.random
        if not self.seeds or chance.random() < 0.05:
            self.wrong = chance.choice((0.0, 0.0, 0.01, 0.1))
            return self.value(self.schema, "", 0)
        data = copy.deepcopy(chance.choice(self.seeds))
        for _ in range(chance.choice((1, 1, 2, 2, 3, 5, 8))):
            self.wrong = chance.choice((0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.05))
            self.names = _list_declared_names(data)
            self.machines = _list_site_machines(data, self.catalog)
            changed = copy.deepcopy(data)
            self._change(changed, chance.random() < 0.05)
            if chance.random() < 0.03 or self.is_valid(changed):
                data = changed
        return data

    # -- one value of a schema ---------------------------------------------------------------------------------------

    def value(self, schema: Mapping[str, Any], key: str, depth: int, index: int = 0) -> Any:
        """A value that the schema takes, now and then one that it does not; ``key`` is the field's name."""
        chance = self.random
        if chance.random() < self.wrong:
            return copy.deepcopy(chance.choice(WRONG))
        schema = self._resolve_reference(schema)
        branches = schema.get("anyOf") or schema.get("oneOf")
        if branches:
            some = [item for item in branches if item.get("type") != "null"]
            if len(some) < len(branches) and chance.random() < 0.05:
                return None
            return self.value(chance.choice(some), key, depth, index)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return chance.choice(schema["enum"])
        match schema.get("type"):
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, key, depth)
            case "integer":
                return self._integer(schema)
            case "number":
                return self._number(schema)
            case "boolean":
                return chance.random() < 0.5
            case "string":
                return self._text(schema, key, index)
        return None

    def _resolve_reference(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        while "$ref" in schema:
            schema = self.definitions[schema["$ref"].split("/")[-1]]
        return schema

    def _object(self, schema: Mapping[str, Any], depth: int, index: int = 0) -> dict[str, Any]:
        found: dict[str, Any] = {}
        required = set(schema.get("required", ()))
        for key, inner in schema.get("properties", {}).items():
            if key in required or self.random.random() < (0.3 if depth < 2 else 0.15):
                found[key] = self.value(inner, key, depth + 1, index)
        free = schema.get("additionalProperties") or next(iter(schema.get("patternProperties", {}).values()), None)
        if isinstance(free, Mapping):
            pattern = next(iter(schema.get("patternProperties", {})), None)
            names = schema.get("propertyNames", {})
            for _ in range(self.random.choice((0, 1, 1, 2))):
                key_schema = {"type": "string", **names} | ({"pattern": pattern} if pattern else {})
                found[str(self.value(key_schema, "", 9))] = self.value(free, "", depth + 1)
        if self.random.random() < self.wrong:
            found[self.random.choice(("naem", "nodes", "kind", "x" * 300, "ключ", "a.b", "a[0]", "\x1b[2J", ""))] = 1
        return found

    def _array(self, schema: Mapping[str, Any], key: str, depth: int) -> list[Any]:
        least = schema.get("minItems", 0)
        count = max(least, min(self.random.choice((0, 1, 1, 1, 2, 2, 3)), schema.get("maxItems", 9)))
        inner = schema.get("items")
        if inner is None:
            return [self.value(item, key, depth) for item in schema.get("prefixItems", ())]
        shape = self._resolve_reference(inner)
        if shape.get("type") == "object":
            return [self._object(shape, depth, number) for number in range(count)]
        return [self.value(inner, key, depth, number) for number in range(count)]

    def _integer(self, schema: Mapping[str, Any]) -> int:
        low, high = schema.get("minimum", 0), schema.get("maximum", 10**7)
        chance = self.random.random()
        if chance < 0.04:
            return int(self.random.choice((low, high, low + 1, high - 1)))
        if chance < 0.06:
            return self.random.randint(low, high)
        return int(min(max(self.random.choice(COUNTS), low), high))

    def _number(self, schema: Mapping[str, Any]) -> float:
        low, high = schema.get("minimum", 0), schema.get("maximum", 1e15)
        if self.random.random() < 0.2:
            return self.random.choice((low, high, low + 1e-9, float(self.random.choice(COUNTS))))
        return self.random.choice((0.1, 0.5, 0.8, 0.9, 1, 1.2, 14)) if high > 1 else self.random.random()

    def _text(self, schema: Mapping[str, Any], key: str, index: int) -> str:
        pattern = schema.get("pattern", "")
        units = re.search(r"\(([^()]*)\)\\s\*\$$", pattern)
        if units:
            return f"{self.random.choice(AMOUNTS)} {self.random.choice(units[1].split('|'))}"
        known = self._known(key)
        if known and self.random.random() < 0.97:
            return self.random.choice(known)
        if pattern.startswith(r"^\d+(\.\d+)"):
            return self.random.choice(
                [
                    *self.catalog.list_names("slurm"),
                    *self.catalog.list_names("kubernetes"),
                    *self.catalog.list_names("kueue"),
                ]
            )
        if pattern.startswith("^[a-z]([-a-z0-9]*") and self.random.random() < 0.95:
            return (
                NAMES[index % len(NAMES)] if key == "name" and self.random.random() < 0.9 else self.random.choice(NAMES)
            )
        if "0-9a-fA-F.:" in pattern and self.random.random() < 0.9:
            network = self.random.choice(("10.0.0.0", "10.64.0.0", "172.16.0.0", "192.168.0.0", "100.64.0.0", "fd00::"))
            return (
                f"{network}/{self.random.choice((0, 8, 10, 12, 16, 20, 24, 30, 32, 64))}" if "/" in pattern else network
            )
        text = make_matching_text(pattern, self.random) if pattern else self.random.choice(("a", "lz4", "", "x y", "é"))
        return text[: schema.get("maxLength", 4096)] or "a"

    def _known(self, key: str) -> list[str]:
        """Names of the document or of the catalog that a field of this name may have."""
        if declared := self.names.get(key) or self.names.get(f"{key}s"):
            return declared
        if key == "machine" and self.machines and self.random.random() < 0.8:
            return self.machines
        kind = KINDS_OF_FIELDS.get(key) or next((item for item in (f"{key}s", f"{key}es", key) if item in KINDS), None)
        return self.catalog.list_names(kind) if kind else []

    # -- changes of a document that is there ---------------------------------------------------------------------------

    def _change(self, data: Any, spoil: bool) -> None:
        places = list(self._places(data, self.schema))
        here, schema, of = self.random.choice(places)
        if isinstance(here, list):
            self._change_list(here, schema, of)
            return
        properties = schema.get("properties", {})
        key = self.random.choice(sorted(properties) or ["x"])
        if spoil:
            key = self.random.choice([*here, key, "naem"])
            here[key] = copy.deepcopy(self.random.choice(WRONG))
        elif key in here and self.random.random() < 0.25:
            del here[key]
        elif key in properties:
            here[key] = self.value(properties[key], key, 2)

    def _change_list(self, here: list[Any], schema: Mapping[str, Any], key: str) -> None:
        match self.random.choice(("add", "add", "twin", "drop")):
            case "add" if "items" in schema:
                shape = self._resolve_reference(schema["items"])
                new = self._object(shape, 2, len(here)) if shape.get("type") == "object" else self.value(shape, key, 2)
                here.append(new)
            case "twin" if here:
                here.append(self.random.choice(here))  # the same object: YAML writes an alias
            case "drop" if here:
                here.pop(self.random.randrange(len(here)))

    def _places(
        self, data: Any, schema: Mapping[str, Any], of: str = ""
    ) -> Iterator[tuple[Any, Mapping[str, Any], str]]:
        """Every mapping and list of a document, with the schema that it has there and the field that it is in."""
        schema = self._resolve_reference(schema)
        for branch in schema.get("anyOf") or schema.get("oneOf") or ():
            if self._fits(data, self._resolve_reference(branch)):
                yield from self._places(data, branch, of)
                return
        if isinstance(data, dict):
            yield data, schema, of
            for key, inner in data.items():
                if key in schema.get("properties", {}):
                    yield from self._places(inner, schema["properties"][key], key)
        elif isinstance(data, list):
            yield data, schema, of
            for item in data:
                yield from self._places(item, schema.get("items", {}), of)

    def _fits(self, data: Any, branch: Mapping[str, Any]) -> bool:
        if branch.get("type") != {dict: "object", list: "array"}.get(type(data)):
            return False
        kind = branch.get("properties", {}).get("kind", {}).get("const")
        return kind is None or (isinstance(data, dict) and data.get("kind") == kind)


def _list_declared_names(data: Any) -> dict[str, list[str]]:
    """Names in the lists of a document: pools, fabrics, tenants and so on."""
    if not isinstance(data, dict):
        return {}
    return {
        key: [item["name"] for item in value if isinstance(item, dict) and isinstance(item.get("name"), str)]
        for key, value in data.items()
        if isinstance(value, list)
    }


def _list_site_machines(data: Any, catalog: Catalog) -> list[str]:
    """Machines of the kind of site that a document has."""
    site = data.get("site") if isinstance(data, dict) else None
    kind = site.get("kind") if isinstance(site, dict) else None
    return _list_machines_by_site(catalog).get(str(kind), [])


@functools.cache
def _list_machines_by_site(catalog: Catalog) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in catalog.list_names("machines"):
        found.setdefault(catalog.get(Machine, name).provider, []).append(name)
    return found
