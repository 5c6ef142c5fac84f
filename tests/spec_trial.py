"""One generated spec, from its text on: what the suite does for a few and ``tests/fuzz.py`` for many."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import yaml
from hostile_text import make_hostile_text
from outcome import is_small, try_file
from pydantic import ValidationError
from samples import EXAMPLES
from spec_generator import Generator

from supercloud.catalog import Catalog
from supercloud.errors import SupercloudError
from supercloud.plan.model.plan import Plan
from supercloud.spec import ClusterSpec

__all__ = ["CATALOG", "generate", "try_spec", "write"]

_ALL = [(path.parent.name, yaml.safe_load(path.read_text())) for path in EXAMPLES]
_SMALL = [data for name, data in _ALL if name[:2] not in ("02", "03", "04", "05")]
SEEDS = [data for _, data in _ALL] + 3 * _SMALL  # those that are rendered completely are selected more often
CATALOG = Catalog([path.parent / "catalog" for path in EXAMPLES if (path.parent / "catalog").is_dir()])

_LIGHT = ("slurm", "storage", "kubernetes", "boot", "hosts")
"""Targets that have no line for each link or port."""
_MOST = ("slurm", "kubernetes")
"""Of which every plan has one."""


def is_valid(data: Any) -> bool:
    """Whether the language accepts a cluster spec."""
    try:
        ClusterSpec.model_validate(data)
    except (ValidationError, SupercloudError):
        return False
    return True


def generate(number: int) -> Any:
    """The cluster spec of a number; always the same."""
    return Generator("cluster", number, SEEDS, CATALOG, is_valid).document()


def write(data: Any, path: Path, chance: random.Random) -> Path:
    """The document as a file: JSON or YAML, now and then with what no serializer writes."""
    as_json = chance.random() < 0.5
    text = json.dumps(data) if as_json else yaml.dump(data, Dumper=yaml.CSafeDumper, allow_unicode=True)
    if chance.random() < 0.02:
        text = make_hostile_text(text, chance)
    path = path.with_suffix(".json" if as_json else ".yaml")
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    return path


def try_spec(number: int, folder: Path) -> str:
    """What becomes of the spec of a number (``outcome``): some of its targets are rendered, large ones seldom."""
    chance = random.Random(number)
    path = write(generate(number), folder / "spec", chance)
    wanted = {chance.choice(_LIGHT), chance.choice(_LIGHT), *_MOST}
    heavy, shells = chance.random() < 0.05, chance.random() < 0.02

    def is_wanted(plan: Plan, target: str) -> bool:
        return is_small(plan) and (heavy or target in wanted)

    return try_file(path, CATALOG, is_wanted, shells)
