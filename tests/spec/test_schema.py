from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from samples import EXAMPLES, ROOT

from supercloud.errors import SpecError
from supercloud.plan.publish.document import build_document, build_plan_schema
from supercloud.plan.resolve import resolve
from supercloud.spec import schema as schemas
from supercloud.spec.loader import load, loads

pytestmark = pytest.mark.slow

COMMITTED = Path(schemas.__file__).with_name("schemas")
ALL = {name: (lambda name=name: schemas.build_schema(name)) for name in schemas.DOCUMENTS} | {"plan": build_plan_schema}


@pytest.mark.parametrize("name", sorted(ALL))
def test_committed_schemas_are_current(name: str, write_generated: bool) -> None:
    text = schemas.format_schema(ALL[name]())
    file = COMMITTED / f"{name}.schema.json"
    if write_generated:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    assert file.read_text() == text, "run: make schemas"
    jsonschema.Draft202012Validator.check_schema(json.loads(text))


@pytest.mark.parametrize("name", ALL)
def test_every_field_of_a_schema_is_described(name: str) -> None:
    schema = ALL[name]()
    parts = {"": schema, **schema.get("$defs", {})}
    fields = {
        f"{part}.{key}": value
        for part, content in parts.items()
        for key, value in content.get("properties", {}).items()
    }
    assert len(fields) > 30
    assert not [place for place, value in fields.items() if not value.get("description")]


@pytest.mark.parametrize(
    "path", sorted((ROOT / "examples").glob("*/*.yaml")), ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_examples_are_valid_with_a_standard_validator(path: Path) -> None:
    kind = "job" if path.stem.startswith("job") else "fleet" if path.stem.startswith("fleet") else "cluster"
    data = yaml.safe_load(path.read_text())
    jsonschema.Draft202012Validator(schemas.build_schema(kind)).validate(data)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_plans_match_their_schema(path: Path) -> None:
    data = build_document(resolve(load(path))).model_dump(mode="json")
    jsonschema.Draft202012Validator(build_plan_schema()).validate(data)


def test_the_schema_rejects_what_the_model_rejects() -> None:
    validator = jsonschema.Draft202012Validator(schemas.build_schema("cluster"))
    good = yaml.safe_load(EXAMPLES[0].read_text())
    assert validator.is_valid(good)
    for spoilt in ({"nam": "x"}, {"name": "Bad Name"}, {"pools": []}, {"site": {"kind": "moon"}}):
        assert not validator.is_valid(good | spoilt)


@pytest.mark.parametrize("name", sorted(ALL))
def test_bounds_have_the_names_that_validators_know(name: str) -> None:
    def find(value: object, path: str) -> list[str]:
        if isinstance(value, list):
            return [at for index, item in enumerate(value) for at in find(item, f"{path}[{index}]")]
        if not isinstance(value, dict):
            return []
        here = [f"{path}.{key}" for key in value if key in ("ge", "gt", "le", "lt", "multiple_of", "min_length")]
        return here + [at for key, item in value.items() for at in find(item, f"{path}.{key}")]

    assert find(ALL[name](), name) == []


_SPEC = """
name: pod1
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: VERSION}
pools: [{name: train, machine: dgx-h100, nodes: NODES}]
network: {vlans: {in-band: VLAN}}
fabrics: [{name: compute, kind: infiniband, shape: rail-optimized, switch: nvidia-qm9700, FABRIC}]
"""
_GOOD = {"VERSION": '"25.11"', "NODES": "16", "VLAN": "12", "FABRIC": "planes: 1"}


@pytest.mark.parametrize(
    "field, text, good",
    [
        ("NODES", "1", True),
        ("NODES", "1000.0", True),
        ("NODES", "131072", True),
        ("NODES", "0", False),
        ("NODES", "-5", False),
        ("NODES", "131073", False),
        ("NODES", "1.5", False),
        ("NODES", "sixteen", False),
        ("NODES", "true", False),
        ("VERSION", "25.11", True),
        ("VERSION", "new", False),
        ("VERSION", "-1", False),
        ("VERSION", "[1]", False),
        ("VLAN", "4093", True),
        ("VLAN", "4094", False),
        ("VLAN", "0", False),
        ("FABRIC", "tiers: 3", True),
        ("FABRIC", "tiers: 4", False),
        ("FABRIC", "leaf_down: 0", False),
        ("FABRIC", "manager: {links: 2}", True),
        ("FABRIC", "manager: {links: -2}", False),
        ("FABRIC", "services: [{name: s, count: 1, links: 0}]", False),
        ("FABRIC", "partitions: [{tenant: a, pkey: 32767}]", False),
    ],
)
def test_a_standard_validator_accepts_what_the_loader_accepts(field: str, text: str, good: bool) -> None:
    document = _SPEC
    for name, value in (_GOOD | {field: text}).items():
        document = document.replace(name, value)
    try:
        loads(document)
        taken = True
    except SpecError:
        taken = False
    assert taken is good
    validator = jsonschema.Draft202012Validator(schemas.build_schema("cluster"))
    assert validator.is_valid(yaml.safe_load(document)) is good
