"""The stack of the repository for a new user: no configuration, wrong specs, a second stack, two clusters in one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from engine import Engine, select_changes
from samples import ROOT
from subjects import CLUSTER

SMALL = {
    "name": "small",
    "site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"]},
    "scheduler": {"kind": "slurm", "version": "25.11"},
    "pools": [{"name": "cpu", "machine": "m6i.8xlarge", "nodes": 4}],
}
RESERVED = {"kind": "reservation", "id": "cr-0123456789abcdef0", "zone": "us-east-1c"}
WRONG = {
    **SMALL,
    "pools": [{"name": "cpu", "machine": "m6i.8xlarge", "nodes": 4, "capacity": [RESERVED]}],
    "storage": [{"name": "home", "kind": "nfs", "product": "efs", "mount": "/opt"}],
    "tags": {"aws:mine": "1"},
}


@pytest.fixture
def engine(start: Callable[..., Engine]) -> Engine:
    """The project of the repository in a stack without configuration."""
    fresh = start(CLUSTER)
    for key in CLUSTER.config:
        fresh.run("config", "rm", key)
    return fresh


def write_spec(engine: Engine, spec: object, stack: str = "dev") -> None:
    """Write the spec as an object into the file of the stack."""
    file: Path = engine.project / "stacks" / f"Pulumi.{stack}.yaml"
    text = file.read_text() if file.exists() else "config:\n"
    kept = [line for line in text.splitlines() if "supercloud:spec:" not in line and not line.startswith("config:")]
    file.write_text("\n".join(["config:", f"  supercloud:spec: {json.dumps(spec)}", *kept, ""]))


def test_a_missing_configuration_is_an_error_with_the_command_to_set_it(engine: Engine) -> None:
    result = engine.run("preview", code=None)
    assert result.code and "pulumi config set supercloud:specFile" in result.text and "Traceback" not in result.text


def test_all_errors_are_shown_without_a_traceback(engine: Engine) -> None:
    write_spec(engine, WRONG)
    result = engine.run("preview", code=None)
    assert result.code and "Traceback" not in result.text
    for place in ("pools[0].capacity[0].zone", "storage[0].mount", "tags.aws:mine"):
        assert place in result.text
    assert engine.read_state().get("resources", []) == []


def test_a_spec_in_the_configuration_and_a_second_stack(engine: Engine) -> None:
    write_spec(engine, SMALL)
    first = engine.preview()
    engine.run("stack", "init", "second")
    write_spec(engine, {**SMALL, "name": "other"}, "second")
    second = engine.preview()
    assert first["changeSummary"] == second["changeSummary"] and first["changeSummary"]["create"] > 50
    assert {step["urn"].split("::")[0] for step in second["steps"]} == {"urn:pulumi:second"}


@pytest.mark.parametrize("example", ["10-aws-eks", "11-aws-ultraserver"])
def test_stacks_of_other_examples_match_their_previews(engine: Engine, example: str) -> None:
    engine.configure({"supercloud:specFile": str(ROOT / "examples" / example / "cluster.yaml")})
    # the bucket and the secret that example 11 names
    found = {"aws:s3/getBucket:getBucket": {"id": "b"}, "aws:secretsmanager/getSecret:getSecret": {"id": "s"}}
    (engine.folder / "cloud" / "invokes.json").write_text(json.dumps(found))
    announced = select_changes(engine.preview()["changeSummary"])
    assert engine.up() == announced and announced.keys() == {"create"}
    engine.run("preview", "--refresh", "--expect-no-changes")


def test_one_program_can_have_two_clusters(program: Callable[..., Engine]) -> None:
    engine = program(
        f"""
        import json
        from supercloud.pulumi import Cluster
        spec = json.loads('''{json.dumps(SMALL)}''')
        for name in ("blue", "green"):
            Cluster(name, {{"spec": spec, "protect": False}})
        """,
        "aws",
    )
    made = engine.up()
    names = [urn.rpartition("::")[2] for urn in engine.list_resources()]
    blue, green = ([item for item in names if item.startswith(name)] for name in ("blue", "green"))
    assert len(blue) == len(green) > 50 and made["create"] >= len(blue) + len(green)
    assert engine.preview()["changeSummary"].get("create") is None
    engine.run("destroy", "--yes", "--skip-preview")
