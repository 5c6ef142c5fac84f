"""Programs that the tests of clouds record, each once: the examples, the published definitions, and small ones."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from email import message_from_bytes
from functools import cache
from pathlib import Path
from typing import Any

import pulumi
import yaml
from answers import EXISTING
from offline.graph import Entry, Graph
from offline.recorder import record
from samples import EXAMPLES

from supercloud.pulumi import OUTPUTS, Cluster

HERE = Path(__file__).parent
CASES = {path.stem: path for path in sorted((HERE / "cases").glob("a*.yaml"))}
"""Definitions that their makers published, as specs."""
AWS = {path.parent.name: path for path in EXAMPLES if yaml.safe_load(path.read_text())["site"]["kind"] == "aws"}
"""Examples on AWS."""
SPECS = {**AWS, **CASES}
SLURM = [name for name, path in SPECS.items() if yaml.safe_load(path.read_text())["scheduler"]["kind"] == "slurm"]
NAME = "prod"
CLUSTER = "supercloud:index:Cluster"
KEPT = {
    "aws:ebs/volume:Volume",
    "aws:efs/fileSystem:FileSystem",
    "aws:fsx/lustreFileSystem:LustreFileSystem",
    "aws:fsx/openZfsFileSystem:OpenZfsFileSystem",
    "aws:rds/instance:Instance",
    "aws:s3/bucket:Bucket",
    "aws:secretsmanager/secret:Secret",
}
"""Types that hold state or data."""
SMALL: Mapping[str, Any] = {
    "name": "small",
    "site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"]},
    "scheduler": {"kind": "slurm", "version": "25.11"},
    "pools": [{"name": "cpu", "machine": "m6i.8xlarge", "nodes": 4}],
}


def build_program(name: str = NAME, opts: pulumi.ResourceOptions | None = None, **args: Any) -> Callable[[], None]:
    """A program with one cluster, which exports everything it gives."""

    def program() -> None:
        made = Cluster(name, args, opts)  # type: ignore[typeddict-item]
        for what in OUTPUTS:
            pulumi.export(what, getattr(made, what))

    return program


@cache
def record_spec(name: str, preview: bool = False) -> Graph:
    """What a spec of :data:`SPECS` registers."""
    return record(build_program(spec=str(SPECS[name])), preview, invokes=EXISTING)


def build_small_spec(**changes: Any) -> dict[str, Any]:
    """The small spec with other keys."""
    return {**SMALL, **changes}


def record_small_spec(**changes: Any) -> Graph:
    """What the small spec with other keys registers; the same keys are recorded once."""
    return _record_changes(json.dumps(changes, sort_keys=True))


@cache
def _record_changes(changes: str) -> Graph:
    return record(build_program(spec=build_small_spec(**json.loads(changes))), invokes=EXISTING)


def get_launch_template(found: Graph, key: str) -> dict[str, Any]:
    """Inputs of the launch template of a node group."""
    return dict(found.one("aws:ec2/launchTemplate:LaunchTemplate", f"{NAME}-{key}-launch").inputs)


def read_statements(entry: Entry, name: str = "policy") -> list[dict[str, Any]]:
    """The statements of a policy."""
    statements: list[dict[str, Any]] = json.loads(entry.inputs[name])["Statement"]
    return statements


def read_user_data(entry: Entry) -> str:
    """User data as a machine reads it."""
    return _decode_user_data(entry).decode()


def read_parts(entry: Entry) -> dict[str, tuple[str, str]]:
    """Parts of user data by file name: their type and text."""
    parts = message_from_bytes(_decode_user_data(entry)).walk()
    found = {part.get_filename(): (part.get_content_type(), part.get_payload(decode=True)) for part in parts}
    return {name: (kind, text.decode()) for name, (kind, text) in found.items() if name and isinstance(text, bytes)}


def _decode_user_data(entry: Entry) -> bytes:
    return base64.b64decode(entry.inputs.get("userData") or entry.inputs["userDataBase64"])


def shorten_urn(urn: str) -> str:
    """A URN without project, stack and component: ``aws:ec2/vpc:Vpc::prod-vpc``."""
    return urn.split("::", 2)[2].replace(f"{CLUSTER}$", "")
