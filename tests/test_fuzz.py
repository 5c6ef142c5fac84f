"""Specs made from the examples by spoiling them: each ends in a plan or in findings, never otherwise.

2,000 of them in the suite; ``--hypothesis-profile=search`` tries ten times as many, and others each time.
"""

from __future__ import annotations

import copy
import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from samples import EXAMPLES

from supercloud.catalog import Catalog
from supercloud.errors import SupercloudError
from supercloud.plan.publish.document import build_document
from supercloud.plan.publish.summary import build_rows
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load
from supercloud.targets import list_targets, render

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

SEEDS = [yaml.safe_load(path.read_text()) for path in EXAMPLES]
OVERLAY = next(path.parent / "catalog" for path in EXAMPLES if (path.parent / "catalog").is_dir())
CATALOG = Catalog([OVERLAY])
MANY = 20_000 if settings.get_current_profile_name() == "search" else 2_000
PARTS = 5  # so that workers share them
LIGHT = ("slurm", "storage")

NASTY = [
    None,
    True,
    0,
    1,
    -1,
    2,
    7,
    10**6,
    10**9,
    10**30,
    -(10**18),
    0.5,
    1e308,
    float("nan"),
    float("inf"),
    "",
    " ",
    "a" * 5000,
    "ü",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢",
    "\u202eevil",
    "a\x00b",
    "a\nb",
    "$(reboot)",
    "{{ 7*7 }}",
    "{% raw %}",
    "../../etc/passwd",
    "/",
    "train",
    "compute",
    "1e999 W",
    "-5 kW",
    "0 W",
    "9999999999 PiB",
    "2 PiB",
    "120 kW",
    "32 °C",
    "1 ms",
    "9" * 60 + " d",
    "400 Gb/s",
    "1 b/s",
    "dgx-gb200",
    "dgx-h100",
    "management-server",
    "mi300x-8gpu",
    "nvidia-qm9700",
    "nvidia-sn5600",
    "nvidia-q3200-ra",
    "slurm",
    "kubernetes",
    "22.05",
    "26.05",
    "1.35",
    "99.99",
    "onprem",
    "aws",
    "torus",
    "clos",
    "fat-tree",
    "block",
    "torus3d",
    "2N",
    [],
    [[]],
    {},
    {"kind": "x"},
    ["train"],
    [1, 2, 3],
    [{}],
]
KEYS = [
    "name",
    "kind",
    "nodes",
    "spares",
    "slicing",
    "mig",
    "shards",
    "dims",
    "tiers",
    "rails",
    "planes",
    "su",
    "leaf_down",
    "leaf_up",
    "pod",
    "oversubscription",
    "version",
    "accounting",
    "controllers",
    "extra",
    "naem",
    "options",
    "topology",
    "partitions",
    "limits",
    "share",
    "reserve",
    "imex",
    "hostname",
    "rack",
    "weights",
    "x" * 300,
    "ключ",
]


def iter_places(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield here
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from iter_places(inner, (*here, key))


KINDS = ["drop", "replace", "add", "twin", "move", "rename", *["like"] * 12]
WORDS = [
    "dgx-gb200",
    "dgx-h100",
    "dgx-b300",
    "cpu-6740e",
    "mi300x-8gpu",
    "gaudi3-8",
    "nvidia-qm9700",
    "nvidia-sn5600",
    "nvidia-q3400-ra",
    "infiniband",
    "roce",
    "torus",
    "clos",
    "fat-tree",
    "rail-optimized",
    "22.05",
    "23.11",
    "24.05",
    "26.05",
    "block",
    "tree",
    "compute",
    "mesh",
    "train",
    "torus",
    "low",
    "high",
    "air",
    "immersion",
    "best",
    "good",
    "nfs",
    "object",
    "orv3-44ou",
    "paris",
    "1 W",
    "90 kW",
    "5 MW",
    "400 Gb/s",
    "200 Gb/s",
    "3 TiB",
    "45 °C",
    "2 h",
    "2N",
    "munge",
    "slurm",
    "power-budget",
    "/scratch",
]


def draw_like(draw: st.DrawFn, value: Any) -> Any:
    """Another value of the same kind: what reaches the decisions behind the spec's shape."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return draw(st.sampled_from([0, 1, 2, 3, 7, 8, 17, 18, 31, 64, 100, 999, 4096, 20_000]))
    return draw(st.sampled_from(WORDS)) if isinstance(value, str) else copy.deepcopy(draw(st.sampled_from(NASTY)))


def get_at(value: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        value = value[key]
    return value


@st.composite
def draw_spoilt_spec(draw: st.DrawFn) -> dict[str, Any]:
    spec = copy.deepcopy(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 4))):
        everywhere = [place for place in iter_places(spec) if place]
        if not everywhere:
            break
        place = draw(st.sampled_from(everywhere))
        parent, key = get_at(spec, place[:-1]), place[-1]
        match draw(st.sampled_from(KINDS)):
            case "drop":
                del parent[key]
            case "replace":
                parent[key] = copy.deepcopy(draw(st.sampled_from(NASTY)))
            case "like" if not isinstance(parent[key], dict | list):
                parent[key] = draw_like(draw, parent[key])
            case "add":
                target = get_at(spec, draw(st.sampled_from([(), *everywhere])))
                if isinstance(target, dict):
                    target[draw(st.sampled_from(KEYS))] = copy.deepcopy(draw(st.sampled_from(NASTY)))
            case "twin":
                if isinstance(parent, list):
                    parent.append(copy.deepcopy(parent[key]))
            case "move":
                parent[key] = copy.deepcopy(get_at(spec, draw(st.sampled_from(everywhere))))
            case "rename":
                if isinstance(parent, dict):
                    parent[draw(st.sampled_from(KEYS))] = parent.pop(key)
    return spec


@contextmanager
def limit_time(seconds: int, what: object) -> Iterator[None]:
    def raise_late(*_: object) -> None:
        raise AssertionError(f"hangs: {what}")

    # of the processor: how busy the machine is proves nothing
    old = signal.signal(signal.SIGPROF, raise_late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old)


def get_outcome(path: Path) -> int:
    """The exit code that ``supercloud render`` would have; anything else than 0 or 2 is a bug."""
    try:
        plan = resolve(load(path), CATALOG)
        build_document(plan).model_dump_json()
        build_rows(plan)
        if plan.errors:
            return 2
        for target in list_targets(plan):
            # files of one line per link or switch: of small clusters, and of every tenth spec only
            if target in LIGHT or (plan.nodes <= 200 and crc32(path.read_bytes()) % 10 == 0):
                render(plan, target)
    except SupercloudError as error:
        return error.exit_code
    return 0


@pytest.mark.parametrize("part", range(PARTS))
@settings(max_examples=MANY // PARTS, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(spec=draw_spoilt_spec(), as_json=st.booleans())
def test_any_spec_is_planned_or_has_findings(
    tmp_path_factory: Any, part: int, spec: dict[str, Any], as_json: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / f"spec{part}.{'json' if as_json else 'yaml'}"
    text = json.dumps(spec) if as_json else yaml.dump(spec, Dumper=yaml.CSafeDumper, allow_unicode=True)
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    with limit_time(20, text[:2000]):
        assert get_outcome(path) in (0, 2)


@settings(max_examples=1000, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(seed=st.sampled_from(EXAMPLES), data=st.data())
def test_damaged_text_is_read_or_refused(tmp_path_factory: Any, seed: Path, data: st.DataObject) -> None:
    text = bytearray(seed.read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        index = data.draw(st.integers(0, len(text) - 1))
        match data.draw(st.sampled_from(["cut", "byte", "copy"])):
            case "cut":
                del text[index : index + data.draw(st.integers(1, 30))]
            case "byte":
                text[index] = data.draw(st.integers(0, 255))
            case "copy":
                text[index:index] = text[index : index + 40]
        if not text:
            break
    path = tmp_path_factory.getbasetemp() / "torn.yaml"
    path.write_bytes(bytes(text))
    with limit_time(20, bytes(text)):
        assert get_outcome(path) in (0, 2)
