"""``supercloud catalog``: what the world offers."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import Json
from .output import columns, note, result, result_json

EPILOG = "Example: supercloud catalog machines dgx-h100 · next: name it in a spec"


def catalog(
    kind: Annotated[str | None, typer.Argument(help="A kind of thing, such as machines.")] = None,
    name: Annotated[str | None, typer.Argument(help="One thing of that kind.")] = None,
    as_json: Json = False,
) -> None:
    """List the catalog's kinds, the things of a kind, or everything known of one thing with its sources."""
    from ..catalog import KINDS, Catalog

    facts = Catalog.default()
    if kind is None:
        counts = {item: len(facts.names(item)) for item in KINDS}
        if as_json:
            result_json(counts)
            return
        for line in columns((item, str(count)) for item, count in counts.items()):
            result(line)
        note("next: supercloud catalog machines")
    elif name is None:
        things = [facts.get(kind, item) for item in facts.names(kind)]
        if as_json:
            result_json([thing.model_dump(mode="json", exclude_unset=True) for thing in things])
            return
        for line in columns((thing.name, thing.title) for thing in things):
            result(line)
        note(f"{len(things)} {kind} · next: supercloud catalog {kind} NAME")
    else:
        data = facts.get(kind, name).model_dump(mode="json", exclude_unset=True)
        if as_json:
            result_json(data)
            return
        import yaml

        result(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100).rstrip())
