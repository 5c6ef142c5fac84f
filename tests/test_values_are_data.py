"""A text of a spec or of an overlay stays a text in every file: no shell, no YAML reader, no browser runs it.

Texts are planted in every field that the JSON Schemas of the documents and of the catalog's kinds know, so that a new
field is tried as soon as it is there.
"""

from __future__ import annotations

import copy
import csv
import io
import json
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from pydantic import ValidationError
from samples import EXAMPLES, ROOT

from supercloud.catalog import Catalog
from supercloud.catalog.fact import CatalogEntry
from supercloud.catalog.reader import KINDS
from supercloud.errors import SupercloudError
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.primitives.bundle import Bundle
from supercloud.primitives.templates import Quoted, quote_shell, quote_yaml, render_template
from supercloud.spec import ClusterSpec
from supercloud.spec.schema import DOCUMENTS
from supercloud.targets import list_targets, render
from supercloud.targets.report import render_report

MARK = "canary"
PLANTED = (
    "x$(canary)`canary`';canary;'\";canary;\"</script><canary/>&,: |{{canary}}",
    "https://x/$(canary)`canary`';canary;'\"",
    "/x$(canary)`canary`';canary;'",
    "x;canary|canary",
    "$(canary)",
)
CODE = {"job.script", "job.command[]", "job.env.*"}
"""What a user wants to have run: a program's text, its arguments and its environment."""
LINE_BREAKS = ("a\nb", "a\rb", "a\x00b", "a\x1bb", "a\x85b", "a\u2028b")

Path_ = tuple[str, ...]


# -- places of texts in a schema -------------------------------------------------------------------------------------


def iter_texts(
    schema: Mapping[str, Any], definitions: Mapping[str, Any], here: Path_ = (), over: frozenset[str] = frozenset()
) -> Iterator[tuple[Path_, Mapping[str, Any]]]:
    """Every text field of a schema, with its definition; ``[]`` is any item, ``*`` any key."""
    if "$ref" in schema:
        name = schema["$ref"].split("/")[-1]
        if name not in over:
            yield from iter_texts(definitions[name], definitions, here, over | {name})
        return
    for branch in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from iter_texts(branch, definitions, here, over)
    if schema.get("type") == "string" and "enum" not in schema and "const" not in schema:
        yield here, schema
    for key, inner in schema.get("properties", {}).items():
        yield from iter_texts(inner, definitions, (*here, key), over)
    free = [schema["additionalProperties"]] if isinstance(schema.get("additionalProperties"), Mapping) else []
    for inner in (*free, *schema.get("patternProperties", {}).values()):
        yield from iter_texts(inner, definitions, (*here, "*"), over)
    for inner in (
        *([schema["items"]] if isinstance(schema.get("items"), Mapping) else ()),
        *schema.get("prefixItems", ()),
    ):
        yield from iter_texts(inner, definitions, (*here, "[]"), over)


NEEDED = {("keys",)}
"""What a release of Slurm knows: without these nothing can be rendered for it."""


def list_fields(model: type[Any]) -> list[tuple[Path_, str]]:
    """Places of texts of a model, each with the first planted text that its pattern takes."""
    schema = model.model_json_schema()
    found: dict[Path_, str] = {}
    for place, about in iter_texts(schema, schema.get("$defs", {})):
        value = next((item for item in PLANTED if takes(about, item)), None)
        if value is not None and place != ("name",) and place[:1] not in NEEDED:
            found.setdefault(place, value)
    return list(found.items())


def takes(about: Mapping[str, Any], value: str) -> bool:
    return bool(re.search(about.get("pattern", ""), value)) and len(value) <= about.get("maxLength", 10**6)


@pytest.mark.parametrize("name", [*DOCUMENTS, *KINDS])
def test_no_text_has_a_line_break_or_a_control_character(name: str) -> None:
    schema = ({**DOCUMENTS, **KINDS})[name].model_json_schema()
    for place, about in iter_texts(schema, schema.get("$defs", {})):
        shown = ".".join((name, *place)).replace(".[]", "[]")
        if shown not in CODE:
            assert not [value for value in LINE_BREAKS if takes(about, value)], f"{shown} has no pattern: use Text"


# -- planting --------------------------------------------------------------------------------------------------------


def plant_text(data: Any, place: Path_, value: str, every: bool = True) -> bool:
    """Put a text at every place of this kind in a document, or at the first one; whether there is one."""
    found = any if not every else lambda items: any(list(items))
    key, rest = place[0], place[1:]
    if key == "[]":
        if not isinstance(data, list):
            return False
        if rest:
            return found(plant_text(item, rest, value, every) for item in data)
        data[:] = [value if isinstance(item, str) else item for item in data] or [value]
        return True
    if not isinstance(data, dict):
        return False
    keys = [key] if key != "*" else list(data)
    if rest:
        return found(plant_text(data[item], rest, value, every) for item in keys if item in data)
    if key == "*":
        data.update(dict.fromkeys(keys, value) or {"k": value})
    else:
        data[key] = value
    return True


def select_survivors(
    groups: Sequence[Any], holds: Callable[[list[Any]], bool], kept: list[Any] | None = None
) -> list[Any]:
    """As many of the groups as can be planted together: halves of what does not hold are tried by themselves."""
    kept = [] if kept is None else kept
    if groups and holds([*kept, *groups]):
        kept += groups
    elif len(groups) > 1:
        select_survivors(groups[: len(groups) // 2], holds, kept)
        select_survivors(groups[len(groups) // 2 :], holds, kept)
    return kept


def select_planted(places: Sequence[tuple[Any, ...]], holds: Callable[[list[Any]], bool]) -> list[Any]:
    """What can be planted at every place of its kind, or else at the first one."""
    kept = select_survivors([(*item, True) for item in places], holds)
    return select_survivors([(*item, False) for item in places if (*item, True) not in kept], holds, kept)


class PlantedCatalog(Catalog):
    """The catalog with texts planted in the entries that a plan has read."""

    def plant(self, groups: Sequence[tuple[str, Path_, str, bool]], sources: Mapping[tuple[str, str], Any]) -> None:
        self._read: dict[tuple[str, str], CatalogEntry] = {}
        for (kind, name), source in sources.items():
            mine = [(place, value, every) for of, place, value, every in groups if of == kind]
            data = copy.deepcopy(source)
            planted = [plant_text(data, *item) for item in mine]  # all of them, before any is asked for
            if any(planted):
                self._read[kind, name] = KINDS[kind].model_validate(data)


def try_resolve(spec: Any, catalog: Catalog) -> Plan | None:
    try:
        plan = resolve(ClusterSpec.model_validate(spec), catalog)
    except (ValidationError, SupercloudError):
        return None
    return None if plan.errors else plan


def list_overlays() -> list[Path]:
    return [path.parent / "catalog" for path in EXAMPLES if (path.parent / "catalog").is_dir()]


SMALL = [path for path in EXAMPLES if path.parent.name[:2] not in ("02", "03", "04", "05")]
NETWORKS = next(path for path in EXAMPLES if path.parent.name.startswith("05"))
"""The example with services on all kinds of fabrics: one unit of its nodes has the same files."""


def read_small(example: Path) -> Any:
    spec = yaml.safe_load(example.read_text())
    if example == NETWORKS:
        spec["pools"][0]["nodes"] = 31
    return spec


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("example", [*SMALL, NETWORKS], ids=lambda path: path.parent.name)
def test_texts_planted_in_a_spec_are_quoted(example: Path) -> None:
    base, catalog = read_small(example), Catalog(list_overlays())

    def plant_each(places: list[tuple[Path_, str, bool]]) -> Any:
        spec = copy.deepcopy(base)
        for item in places:
            plant_text(spec, *item)
        return spec

    found = [item for item in list_fields(ClusterSpec) if plant_text(copy.deepcopy(base), *item)]
    kept = select_planted(found, lambda places: try_resolve(plant_each(places), catalog) is not None)
    assert kept, "nothing was planted"
    products = ("fabrics", "[]", "services", "[]", "product")
    assert any(place == products and every for place, _, every in kept) or example != NETWORKS
    plan = try_resolve(plant_each(kept), catalog)
    assert plan is not None
    check_plan(plan)


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("example", SMALL, ids=lambda path: path.parent.name)
def test_texts_planted_in_the_catalog_are_quoted(example: Path) -> None:
    spec, catalog = yaml.safe_load(example.read_text()), PlantedCatalog(list_overlays())
    assert try_resolve(spec, catalog) is not None
    sources: dict[tuple[str, str], Any] = {}
    for kind, name in list(catalog._read):
        files = [layer / kind / f"{name}.yaml" for layer in catalog._layers]
        sources[kind, name] = yaml.safe_load([file for file in files if file.is_file()][-1].read_text())
    groups = [
        (kind, *item)
        for kind in {kind for kind, _ in sources}
        for item in list_fields(KINDS[kind])
        if any(plant_text(copy.deepcopy(source), *item) for (of, _), source in sources.items() if of == kind)
    ]

    def holds(some: list[Any]) -> bool:
        try:
            catalog.plant(some, sources)
        except ValidationError:
            return False
        return try_resolve(spec, catalog) is not None

    kept = select_planted(sorted(groups), holds)
    assert kept, "nothing was planted"
    assert holds(kept)
    plan = try_resolve(spec, catalog)
    assert plan is not None
    check_plan(plan)


# -- what is in the files ----------------------------------------------------------------------------------------------


def check_plan(plan: Plan) -> None:
    for target in list_targets(plan):
        check_bundle(render(plan, target))
    check_page(render_report(plan))


def check_bundle(bundle: Bundle) -> None:
    scripts = [text for text in bundle.values() if text.startswith("#!") and MARK in text]
    for text in scripts:
        done = subprocess.run(["bash", "-O", "extglob", "-n"], input=text.encode(), capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
    for name, text in bundle.items():
        assert MARK not in name or re.fullmatch(r"([a-z0-9-]+/)*[a-z0-9-]+\.[a-z]+", name), "a slug, or nothing of it"
        if MARK in text:
            check_file(name, text)


def check_file(name: str, text: str) -> None:
    suffix = PurePosixPath(name).suffix
    if text.startswith("#!") or suffix == ".sh":
        check_shell(name, text)
    elif suffix in (".json", ".yaml", ".yml"):
        loaded = [json.loads(text)] if suffix == ".json" else list(yaml.safe_load_all(text))
        for scalar in iter_scalars(loaded):
            if scalar.startswith("#!"):
                check_shell(name, scalar)
            else:
                check_text(name, scalar)
    elif suffix == ".csv":
        list(csv.reader(io.StringIO(text), strict=True))
        check_text(name, text)
    elif suffix in (".svg", ".xml"):
        assert not [item.tag for item in ElementTree.fromstring(text).iter() if MARK in str(item.tag)], name
    else:
        check_text(name, text)
        for block in re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S):
            check_shell(name, block)


def iter_scalars(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from iter_scalars(key)
            yield from iter_scalars(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from iter_scalars(inner)
    elif isinstance(value, str) and MARK in value:
        yield value


def check_text(name: str, text: str) -> None:
    """Planted texts are there as a whole, in plain or as JSON and CSV write them."""
    for line in text.splitlines():
        rest = line
        for value in PLANTED:
            for form in (value, json.dumps(value)[1:-1], value.replace('"', '""'), value.lower()):
                rest = rest.replace(form, "")
        rest = re.sub(rf"(?<![^\s,])[a-z0-9-]*{MARK}[a-z0-9-]*(?![^\s,])", "", rest)  # a slug made of one
        assert MARK not in rest, f"{name}: {rest[:200]}"


def check_shell(name: str, text: str) -> None:
    """In a script they are in single quotes or in a comment."""
    for line in text.splitlines():
        assert MARK not in strip_quoted(line), f"{name}: {line[:300]}"


def strip_quoted(line: str) -> str:
    """What the shell reads as code of a line: without comments and text in single quotes."""
    code, state, at = "", "", 0
    while at < len(line):
        letter = line[at]
        if state == "'":
            state = "" if letter == "'" else state
        elif letter == "\\":
            code += line[at : at + 2]
            at += 1
        elif letter == "'" and not state:
            state = "'"
        elif letter == '"':
            state = "" if state else '"'
        elif letter == "#" and not state and (not code or code[-1].isspace()):
            break
        elif not (state == '"' and line[at - 1 : at + 2] == '"\'"'):  # the quote that shlex writes: '"'"'
            code += letter
        at += 1
    return code


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags += [tag, *(name for name, _ in attrs)]


def check_page(text: str) -> None:
    reader = _Tags()
    reader.feed(text)
    assert not [tag for tag in reader.tags if MARK in tag]


# -- the filters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [*PLANTED, "", "a b", "-n", "$x", "~", "*", "ü", "a'b\"c"])
def test_a_shell_reads_a_quoted_word_unchanged(value: str) -> None:
    done = subprocess.run(["bash", "-c", f"printf %s {quote_shell(value)}"], capture_output=True, text=True, check=True)
    assert done.stdout == value


@pytest.mark.parametrize("value", [*PLANTED, "", "on", "null", "0x10", "1:30", "22.10", "- a", "UFM, HA pair", "train"])
def test_yaml_reads_a_quoted_scalar_unchanged(value: str) -> None:
    assert yaml.safe_load(f"{{a: {quote_yaml(value)}}}") == {"a": value}


def test_a_script_template_rejects_values_that_are_not_quoted() -> None:
    with pytest.raises(ValueError, match="use the filter"):
        render_template("boot/user-data.sh.j2", head="", environment="$(id)", cloud="", metadata="")
    assert "$(id)" in render_template(
        "boot/user-data.sh.j2", head="", environment=Quoted("$(id)"), cloud="", metadata=""
    )


@pytest.mark.parametrize("template", sorted((ROOT / "templates").rglob("*.sh.j2")), ids=lambda path: path.name)
def test_a_comment_of_a_script_stays_on_its_line(template: Path) -> None:
    for line in re.sub(r"{% raw %}.*?{% endraw %}", "", template.read_text(), flags=re.S).splitlines():
        assert "{{ head }}" not in line
