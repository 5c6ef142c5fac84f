from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from samples import EXAMPLES, ROOT

from supercloud.plan.document import document, plan_schema
from supercloud.plan.resolve import resolve
from supercloud.spec import schema as schemas
from supercloud.spec.loader import load

COMMITTED = Path(schemas.__file__).with_name("schemas")
ALL = {name: (lambda name=name: schemas.schema_of(name)) for name in schemas.DOCUMENTS} | {"plan": plan_schema}


@pytest.mark.parametrize("name", sorted(ALL))
def test_committed_schema_is_current(name: str, write_generated: bool) -> None:
    text = schemas.schema_text(ALL[name]())
    file = COMMITTED / f"{name}.schema.json"
    if write_generated:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    assert file.read_text() == text, "run: make schemas"
    jsonschema.Draft202012Validator.check_schema(json.loads(text))


@pytest.mark.parametrize(
    "path", sorted((ROOT / "examples").glob("*/*.yaml")), ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_examples_validate_with_a_stock_validator(path: Path) -> None:
    kind = "job" if path.stem.startswith("job") else "fleet" if path.stem.startswith("fleet") else "cluster"
    data = yaml.safe_load(path.read_text())
    jsonschema.Draft202012Validator(schemas.schema_of(kind)).validate(data)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_plans_follow_their_schema(path: Path) -> None:
    data = document(resolve(load(path))).model_dump(mode="json")
    jsonschema.Draft202012Validator(plan_schema()).validate(data)


def test_the_schema_refuses_what_the_model_refuses() -> None:
    validator = jsonschema.Draft202012Validator(schemas.schema_of("cluster"))
    good = yaml.safe_load(EXAMPLES[0].read_text())
    assert validator.is_valid(good)
    for spoilt in ({"nam": "x"}, {"name": "Bad Name"}, {"pools": []}, {"site": {"kind": "moon"}}):
        assert not validator.is_valid(good | spoilt)
