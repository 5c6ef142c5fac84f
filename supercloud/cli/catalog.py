"""``supercloud catalog``: what the world offers."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import InputError
from .options import JsonOption
from .output import format_columns, print_json, print_note, print_result

EPILOG = "Example: supercloud catalog machines dgx-h100 · next: name it in a spec"

_SYNONYMS = {
    "accelerators": ("gpu", "gpus", "tpus"),
    "machines": ("hosts", "instances", "instance-types", "nodes", "servers"),
    "locations": ("cities", "places", "sites"),
    "nics": ("adapters", "hcas"),
    "storage": ("filesystems",),
}
"""Kinds with what others call them."""


def catalog(
    kind: Annotated[str | None, typer.Argument(help="A kind of thing, such as machines.")] = None,
    name: Annotated[str | None, typer.Argument(help="One thing of that kind, or a pattern: 'p5*'.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the catalog's kinds, the things of a kind, or everything known of one thing with its sources."""
    from fnmatch import filter as matching

    from ..catalog import KINDS, Catalog, Machine

    facts = Catalog.load_default()
    if meant := next((ours for ours, others in _SYNONYMS.items() if kind in others), None):
        raise InputError(f"no kind of the catalog is called {kind!r}; write: supercloud catalog {meant}")
    if kind is None:
        counts = {item: len(facts.list_names(item)) for item in KINDS}
        if as_json:
            print_json(counts)
            return
        for line in format_columns((item, str(count)) for item, count in counts.items()):
            print_result(line)
        print_note("next: supercloud catalog machines")
    elif name is None or set(name) & set("*?["):
        things = [facts.get(kind, item) for item in matching(facts.list_names(kind), name or "*")]
        if not things:
            raise InputError(f"none of {len(facts.list_names(kind))} {kind} is called like {name!r}")
        if as_json:
            print_json([thing.model_dump(mode="json", exclude_unset=True) for thing in things])
            return
        holds = ((item.accelerators if isinstance(item, Machine) else None) for item in things)
        for line in format_columns(
            (item.name, item.title, f"{inside.count} × {inside.type}" if inside else "")
            for item, inside in zip(things, holds, strict=True)
        ):
            print_result(line)
        print_note(f"{len(things)} {kind} · next: supercloud catalog {kind} NAME")
    else:
        data = facts.get(kind, name).model_dump(mode="json", exclude_unset=True)
        if as_json:
            print_json(data)
            return
        import yaml

        print_result(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100).rstrip())
