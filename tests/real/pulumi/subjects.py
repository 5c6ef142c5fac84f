"""The projects that run on the real engine, and the changes that tests make in each.

A project is copied to the folder of the test. Its changes are edits of the configuration or of a spec, as by a user.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

from engine import Engine
from samples import ROOT

SECRET = "hush-hush-4711"

Change = Callable[[Engine], None]


@dataclass(frozen=True)
class Subject:
    """A project with one stack."""

    name: str
    packages: tuple[str, ...]
    copy: Callable[[Path], None]
    """Copies the project to an empty folder."""
    config: Mapping[str, str]
    grow: Change
    """A change that requires no new object."""
    grown: frozenset[str]
    """Types of the resources that it updates."""
    move: Change
    """A change that replaces objects without state."""
    moved: frozenset[str]
    """Types of the resources that it replaces."""
    uproot: Change
    """A change that would replace protected state."""
    release: Change
    """Allows the loss of state: afterwards nothing is protected or retained."""
    slow: str
    """A type of which one object is created, slowly and with state."""
    secrets: Mapping[str, str] = field(default_factory=dict)
    """Secret configuration; each value is :data:`SECRET`."""
    answers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """What the provider answers to calls of its functions."""

    def install(self, folder: Path) -> Path:
        """Install the project and the answers of its provider; return its folder."""
        (folder / "cloud").mkdir(exist_ok=True)
        (folder / "cloud" / "invokes.json").write_text(json.dumps(self.answers))
        project = folder / "project"
        project.mkdir()
        self.copy(project)
        return project


def edit(file: str, old: str, new: str) -> Change:
    """A change that replaces a text in a file of the project."""

    def change(engine: Engine) -> None:
        path = engine.project / file
        text = path.read_text()
        assert old in text, f"{file} has no {old!r}"
        path.write_text(text.replace(old, new))

    return change


def unprotect(engine: Engine) -> None:
    """Remove the protection of all resources in the state of the stack."""
    engine.run("state", "unprotect", "--all", "--yes")


def write_program(folder: Path, text: str) -> Path:
    """Write a project whose program is this text."""
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text("name: small\nruntime: python\n")
    (folder / "__main__.py").write_text(dedent(text))
    return folder


def _copy_toy(project: Path) -> None:
    shutil.copytree(ROOT / "tests" / "offline" / "toy", project, dirs_exist_ok=True)


TOY = Subject(
    name="toy",
    packages=("aws",),
    copy=_copy_toy,
    config={"toy:nodes": "20", "pulumi:disable-default-providers[0]": "*"},
    secrets={"toy:joinToken": SECRET},
    grow=lambda engine: engine.configure({"toy:nodes": "40"}),
    grown=frozenset({"aws:autoscaling/group:Group"}),
    move=lambda engine: engine.configure({"toy:template": "another"}),
    moved=frozenset({"aws:ec2/launchTemplate:LaunchTemplate"}),
    uproot=lambda engine: engine.configure({"toy:cidr": "10.9.0.0/16"}),
    release=unprotect,
    slow="aws:fsx/lustreFileSystem:LustreFileSystem",
)

IMAGE = "ami-0123456789abcdef0"
EXAMPLE = "examples/09-aws-slurm/cluster.yaml"


def _copy_repository(project: Path) -> None:
    """Copy the project of the repository; the image of controllers is set, so that a test can change it."""
    shutil.copy(ROOT / "Pulumi.yaml", project)
    shutil.copytree(ROOT / "stacks", project / "stacks")
    shutil.copytree((ROOT / EXAMPLE).parent, (project / EXAMPLE).parent)
    spec = project / EXAMPLE
    fixed = f"zones: [us-east-1a], images: {{slurm-cpu-x86: {IMAGE}}}"
    spec.write_text(spec.read_text().replace("zones: [us-east-1a]", fixed))


def _release_protection(engine: Engine) -> None:
    engine.configure({"supercloud:protect": "false"})
    engine.up()


CLUSTER = Subject(
    name="cluster",
    packages=("aws",),
    copy=_copy_repository,
    config={"supercloud:specFile": EXAMPLE, "supercloud:name": "trainer"},
    grow=edit(EXAMPLE, "nodes: 8\n", "nodes: 16\n"),
    grown=frozenset(
        {
            "aws:autoscaling/group:Group",
            "aws:s3/bucketObjectv2:BucketObjectv2",
        }
    ),
    move=edit(EXAMPLE, IMAGE, "ami-0fedcba9876543210"),
    moved=frozenset({"aws:ec2/instance:Instance", "aws:ec2/volumeAttachment:VolumeAttachment"}),
    uproot=edit(EXAMPLE, "10.0.0.0/16", "10.9.0.0/16"),
    release=_release_protection,
    slow="aws:fsx/lustreFileSystem:LustreFileSystem",
    answers={"aws:ec2/getAmi:getAmi": {"id": IMAGE, "architecture": "x86_64", "rootDeviceName": "/dev/sda1"}},
)

SUBJECTS = (TOY, CLUSTER)
