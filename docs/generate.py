"""Generate the reference from the code: fields of specs, the command line, checks and the catalog."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml
from generate_api import render_api

from supercloud.catalog import KINDS, Catalog
from supercloud.plan.checks import CHECKS, format_check_name
from supercloud.spec.explain import FieldDoc, FieldGroup, explain_field
from supercloud.spec.schema import DOCUMENTS

OTHER_FINDINGS = Path(__file__).with_name("findings.yaml")


def write_reference(folder: Path) -> None:
    """Write the generated pages; an unchanged page is not written, so that Sphinx skips it."""
    folder.mkdir(exist_ok=True)
    pages = {name: _render_document(name) for name in DOCUMENTS}
    pages |= {"cli": _render_commands(), "api": render_api(), "checks": _render_checks(), "catalog": _render_catalog()}
    for name, lines in pages.items():
        path, text = folder / f"{name}.md", "\n".join(lines) + "\n"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


# -- fields -----------------------------------------------------------------------------------------------------------


def _render_document(name: str) -> Iterator[str]:
    """Yield the page of one document: a section with a table for each field that has fields."""
    document = explain_field(name)
    yield f"# The {name} spec\n\n{document.description}\n"
    yield f"`supercloud explain {name}` prints the same on a terminal, `supercloud schema {name}` the JSON Schema."
    yield (
        "A *name* has lower-case letters, digits and inner dashes, and starts with a letter. A value with a unit is "
        "written as a number and one of the units, such as `120 kW`. Defaults in words are what holds without the "
        "field.\n"
    )
    yield from _render_groups(document, set())


def _render_groups(parent: FieldDoc, seen: set[str]) -> Iterator[str]:
    """Yield sections; ``seen`` has the paths with a section: forms of one field may share fields."""
    for group in parent.children:
        if parent.path not in DOCUMENTS:
            form = f", `{group.condition}`" if group.condition else ""
            yield f"({_build_anchor(parent, group)})=\n"
            yield f"## `{parent.path}`{form}\n\n{(form and group.description) or parent.description}\n"
        yield "| field | type | default | description |\n|---|---|---|---|"
        yield from (_render_field(item) for item in group.fields)
        yield ""
    for group in parent.children:
        for item in group.fields:
            if item.children and item.path not in seen:
                seen.add(item.path)
                yield from _render_groups(item, seen)


def _build_anchor(parent: FieldDoc, group: FieldGroup) -> str:
    form = group.condition.removeprefix("kind: ")
    path = parent.path if parent.path.partition(".")[0] in DOCUMENTS else f"cluster.{parent.path}"
    return path + (f".{form}" if form else "")


def _render_field(item: FieldDoc) -> str:
    name = f"`{item.name}`"
    if item.children:
        name = f"[{name}](#{_build_anchor(item, item.children[0])})"
    default = "required" if item.is_required else f"`{item.default}`" if item.default else item.absence
    unit = f" ({item.unit})" if item.unit else ""
    return _format_row(name, item.type + unit, default, f"{item.description} Example: `{item.example}`")


def _format_row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("<", "&lt;") for cell in cells) + " |"


# -- command line -----------------------------------------------------------------------------------------------------


def _render_commands() -> Iterator[str]:
    import typer.main

    from supercloud.cli import app

    group: Any = typer.main.get_command(app)
    yield f"# The command line\n\n{group.help}\n\nExit codes: 0 success, 1 the operation failed, 2 invalid input.\n"
    for name, command in group.commands.items():
        context = command.make_context(name, [], resilient_parsing=True)
        usage = " ".join(command.collect_usage_pieces(context))
        yield f"## `supercloud {name}`\n\n{inspect.cleandoc(command.help or '')}\n"
        yield f"```console\n$ supercloud {name} {usage}\n```\n"
        rows = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
        if rows:
            yield "| argument or option | description |\n|---|---|"
            for parameter in rows:
                is_option = parameter.param_type_name == "option"
                flags = _join_codes(parameter.opts) if is_option else ""
                yield _format_row(flags or f"`{parameter.name.upper()}`", getattr(parameter, "help", "") or "")
            yield ""
        if command.epilog:
            yield f"{command.epilog}\n"


# -- checks and catalog -----------------------------------------------------------------------------------------------


def _render_checks() -> Iterator[str]:
    yield "# Checks\n"
    yield (
        "`supercloud check` runs all checks on a plan. A finding shows its check in brackets; `suppress` in a cluster "
        "spec suppresses the findings of a check, with a reason.\n"
    )
    yield "| check | description |\n|---|---|"
    for check in sorted(CHECKS, key=format_check_name):
        yield _format_row(f"`{format_check_name(check)}`", _first_paragraph(inspect.getdoc(check) or ""))
    yield "\n## Other findings\n"
    yield (
        "Problems of a document, a plan or a job that are found elsewhere. They cannot be suppressed: fix them, or "
        "add the fact that is unknown.\n"
    )
    yield "| finding | description |\n|---|---|"
    for name, description in yaml.safe_load(OTHER_FINDINGS.read_text()).items():
        yield _format_row(f"`{name}`", description)


def _render_catalog() -> Iterator[str]:
    catalog = Catalog.load_default()
    yield "# The catalog\n"
    yield "Facts with their sources. `supercloud catalog KIND NAME` prints all facts of one entry.\n"
    for kind in KINDS:
        names = catalog.list_names(kind)
        yield f"## {kind}\n\n{_first_paragraph(inspect.getdoc(KINDS[kind]) or '')}\n"
        yield f"{_join_codes(names)}\n"


def _join_codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _first_paragraph(text: str) -> str:
    return " ".join(text.partition("\n\n")[0].split()).replace("``", "`")
