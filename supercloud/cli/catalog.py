"""``supercloud catalog``: machines, accelerators, switches and other products."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from .options import JsonOption
from .output import format_columns, print_json, print_note, print_result

if TYPE_CHECKING:
    from ..catalog import Catalog

EPILOG = "Example: supercloud catalog machines dgx-h100 · next: use the name in a spec"

_SYNONYMS = {
    "accelerators": ("gpu", "gpus", "tpus"),
    "machines": ("hosts", "instances", "instance-types", "nodes", "servers"),
    "locations": ("cities", "places", "sites"),
    "nics": ("adapters", "hcas"),
    "storage": ("filesystems",),
}
"""Kinds, with the names that other tools use for them."""


def catalog(
    kind: Annotated[str | None, typer.Argument(help="Kind of entry, such as machines.")] = None,
    name: Annotated[str | None, typer.Argument(help="Name of an entry, or a pattern: 'p5*'.")] = None,
    overlay: Annotated[
        Path | None, typer.Option(help="Folder with entries of your own, as in `catalog` of a spec.", metavar="FOLDER")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the catalog's kinds, the entries of a kind, or all facts of one entry with their sources."""
    from ..catalog import Catalog

    facts = Catalog.load_default(*([overlay] if overlay else []))
    if meant := next((ours for ours, others in _SYNONYMS.items() if kind in others), None):
        raise InputError(f"unknown kind {kind!r}; use: supercloud catalog {meant}")
    if kind is None:
        _print_kinds(facts, as_json)
    elif name is None or set(name) & set("*?["):
        _print_entries(facts, kind, name, as_json)
    else:
        _print_entry(facts, kind, name, as_json)


def _print_kinds(facts: Catalog, as_json: bool) -> None:
    from ..catalog import KINDS

    counts = {item: len(facts.list_names(item)) for item in KINDS}
    if as_json:
        print_json(counts)
        return
    for line in format_columns((item, str(count)) for item, count in counts.items()):
        print_result(line)
    print_note("next: supercloud catalog machines")


def _print_entries(facts: Catalog, kind: str, pattern: str | None, as_json: bool) -> None:
    """Print the entries of a kind whose names match a pattern."""
    from fnmatch import filter as matching

    from ..catalog import Machine

    entries = [facts.get_entry(kind, item) for item in matching(facts.list_names(kind), pattern or "*")]
    if not entries:
        raise InputError(f"none of the {len(facts.list_names(kind))} {kind} matches {pattern!r}")
    if as_json:
        print_json([entry.model_dump(mode="json", exclude_unset=True) for entry in entries])
        return
    holds = ((item.accelerators if isinstance(item, Machine) else None) for item in entries)
    for line in format_columns(
        (item.name, item.title, f"{inside.count} × {inside.type}" if inside else "")
        for item, inside in zip(entries, holds, strict=True)
    ):
        print_result(line)
    print_note(f"{len(entries)} {kind} · next: supercloud catalog {kind} NAME")


def _print_entry(facts: Catalog, kind: str, name: str, as_json: bool) -> None:
    data = facts.get_entry(kind, name).model_dump(mode="json", exclude_unset=True)
    if as_json:
        print_json(data)
        return
    import yaml

    print_result(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100).rstrip())
