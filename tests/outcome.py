"""What becomes of a spec: a plan whose files are whole, or findings; anything else is a bug and raised."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

import yaml

from supercloud.catalog import Catalog
from supercloud.errors import SupercloudError
from supercloud.plan.model.plan import Plan
from supercloud.plan.publish.document import build_document
from supercloud.plan.publish.summary import build_rows
from supercloud.plan.resolve import resolve
from supercloud.primitives.bundle import Bundle
from supercloud.spec.loader import load
from supercloud.targets import list_targets, render

__all__ = ["LateRefusal", "is_small", "try_file", "parse_files"]

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class LateRefusal(AssertionError):
    """``check`` had nothing against a spec and ``render`` refused it."""


def is_small(plan: Plan) -> bool:
    """Whether files with a line for each link or switch are rendered quickly."""
    switches = sum(tier.count for fabric in plan.fabrics for tier in fabric.tiers) if plan.fabrics else 0
    return plan.nodes <= 200 and switches <= 200


def try_file(path: Path, catalog: Catalog, wanted: Callable[[Plan, str], bool], shells: bool = False) -> str:
    """``refused``, ``planned`` (nothing was wanted of it) or ``rendered``.

    ``wanted`` chooses the targets that are rendered; ``shells`` also has scripts read by bash.
    """
    try:
        plan = resolve(load(path), catalog)
    except SupercloudError as error:
        assert error.exit_code == 2, error
        return "refused"
    build_document(plan).model_dump_json()
    build_rows(plan)
    if plan.errors:
        return "refused"
    targets = [target for target in list_targets(plan) if wanted(plan, target)]
    for target in targets:
        try:
            bundle = render(plan, target)
        except SupercloudError as error:
            raise LateRefusal(f"{target}: {error}") from error
        parse_files(bundle, shells)
    return "rendered" if targets else "planned"


_WHOLE: set[int] = set()
"""Texts that were parsed: many files are the same for many specs."""


def parse_files(bundle: Bundle, shells: bool = False) -> None:
    """Raises if a file does not match its name."""
    for name, text in bundle.items():
        mark = hash((PurePosixPath(name).suffix, shells, text))
        if mark in _WHOLE:
            continue
        try:
            _parse(name, text, shells)
            _WHOLE.add(mark)
        except Exception as error:
            raise AssertionError(f"{name} does not parse: {error}") from error


def _parse(name: str, text: str, shells: bool) -> None:
    text.encode()
    match PurePosixPath(name).suffix:
        case ".json":
            json.loads(text)
        case ".yaml" | ".yml":
            list(yaml.load_all(text, Loader=_LOADER))
        case ".csv":
            widths = {len(row) for row in csv.reader(io.StringIO(text), strict=True)}
            assert len(widths) <= 1, f"rows of {sorted(widths)} columns"
        case ".svg" | ".xml":
            ElementTree.fromstring(text)
        case ".sh" if shells:
            done = subprocess.run(
                ["bash", "-O", "extglob", "-n"], input=text.encode(), capture_output=True, check=False
            )
            assert done.returncode == 0, done.stderr.decode()
