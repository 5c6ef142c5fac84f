"""Recording a program: the engine's rules hold, everything it registers is checked, and nothing outlives a run."""

from __future__ import annotations

import base64
import gzip
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pulumi_aws as aws
import pytest
from offline import wire
from offline.graph import Graph
from offline.monitor import Unanswered
from offline.recorder import ProgramRefused, load_program, record

TOY = load_program(Path(__file__).parent.parent / "offline" / "toy")
CONFIG = {"nodes": 4, "joinToken": "hush-hush", "pulumi:disable-default-providers": ["*"]}
VPC = "aws:ec2/vpc:Vpc"


class Group(pulumi.ComponentResource):
    """A component with one network."""

    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None, child: Any = None):
        super().__init__("test:index:Group", name, {}, opts)
        options = pulumi.ResourceOptions.merge(pulumi.ResourceOptions(parent=self), child)
        self.vpc = aws.ec2.Vpc(f"{name}-vpc", cidr_block="10.0.0.0/16", opts=options)
        self.register_outputs({"vpc": self.vpc.id})


def record_toy(preview: bool = False, **config: Any) -> Graph:
    return record(TOY, preview, {**CONFIG, **config}, secret_config=["joinToken"], project="toy", stack="dev")


@pytest.mark.slow
def test_urns_are_those_of_the_engine() -> None:
    urns = set(record_toy())
    assert "urn:pulumi:dev::toy::pulumi:providers:aws::aws" in urns
    assert "urn:pulumi:dev::toy::toy:index:Cluster::c" in urns
    assert f"urn:pulumi:dev::toy::toy:index:Cluster${VPC}::c-vpc" in urns


@pytest.mark.slow
def test_a_preview_registers_the_same_resources_with_unknown_values() -> None:
    update, preview = record_toy(), record_toy(preview=True)
    assert update.keys() == preview.keys()
    fsx = "aws:fsx/lustreFileSystem:LustreFileSystem"
    assert isinstance(preview.one(fsx).inputs["subnetIds"], wire.Unknown)
    assert update.one(fsx).inputs["subnetIds"] == "c-us-east-1a-id"
    assert isinstance(preview.exports["dns"], wire.Unknown)
    assert update.exports["dns"] == "c-fsx-dnsName"


def test_an_entry_has_inputs_and_dependencies() -> None:
    graph = record_toy()
    group = graph.one("aws:autoscaling/group:Group")
    assert group.inputs["desiredCapacity"] == 4
    assert {urn.split("::")[-1] for urn in group.dependencies} == {"c-lt", "c-us-east-1a", "c-us-east-1b"}
    assert set(group.property_dependencies) == {"vpcZoneIdentifiers", "launchTemplate"}
    assert group.provider == "urn:pulumi:dev::toy::pulumi:providers:aws::aws::aws-id"
    assert graph[group.parent].type == "toy:index:Cluster"
    assert {entry.name for entry in graph.values() if entry.protect} == {"c-fsx", "c-data"}
    assert len(graph.children(group.parent)) == 9


def test_resource_options_are_recorded() -> None:
    def program() -> None:
        other = aws.ec2.Vpc("other", cidr_block="10.1.0.0/16")
        aws.ec2.Vpc(
            "vpc",
            cidr_block="10.0.0.0/16",
            opts=pulumi.ResourceOptions(
                retain_on_delete=True,
                ignore_changes=["tags"],
                replace_on_changes=["cidrBlock"],
                delete_before_replace=True,
                aliases=[pulumi.Alias(name="old")],
                custom_timeouts=pulumi.CustomTimeouts(create="2h"),
                additional_secret_outputs=["arn"],
                deleted_with=other,
                depends_on=[other],
            ),
        )

    entry = record(program).one(VPC, "vpc")
    assert (entry.retain_on_delete, entry.delete_before_replace) == (True, True)
    assert (entry.ignore_changes, entry.replace_on_changes) == (("tags",), ("cidrBlock",))
    assert entry.aliases == (f"urn:pulumi:stack::project::{VPC}::old",)
    assert entry.timeouts == {"create": "2h"}
    assert isinstance(entry.outputs["arn"], wire.Secret)
    assert entry.dependencies == (f"urn:pulumi:stack::project::{VPC}::other",)
    assert entry.deleted_with == entry.dependencies[0]


def test_all_errors_of_all_resources_are_reported_together() -> None:
    def program() -> None:
        aws.ec2.Vpc("twin", cidr_block="10.0.0.0/16")
        aws.ec2.Vpc("twin", cidr_block="10.0.0.0/16")
        aws.ec2.Subnet("s", vpc_id=pulumi.Output.from_input(3))
        aws.ec2.LaunchTemplate("l", block_device_mappings=[{"ebs": {"volume_sise": 3}}])

    with pytest.raises(ProgramRefused) as refused:
        record(program)
    duplicate, template, subnet = refused.value.problems
    assert duplicate.startswith(f"Duplicate resource URN 'urn:pulumi:stack::project::{VPC}::twin'")
    assert "'l': blockDeviceMappings[0].ebs.volume_sise: there is no property" in template
    assert "'s': vpcId: expected a string, got the number 3" in subnet


def test_default_providers_can_be_disabled() -> None:
    with pytest.raises(ProgramRefused, match="'aws' disabled.*'urn:pulumi.*g-vpc' must use an explicit provider"):
        record(lambda: Group("g") and None, config={"pulumi:disable-default-providers": ["aws"]})

    def explicit() -> None:
        provider = aws.Provider("p", region="us-east-1")
        Group("g", pulumi.ResourceOptions(providers=[provider]))
        pulumi.export(
            "zones", aws.get_availability_zones_output(opts=pulumi.InvokeOutputOptions(provider=provider)).names
        )

    def implicit() -> None:
        pulumi.export("zones", aws.get_availability_zones_output().names)

    answers = {"aws:index/getAvailabilityZones:getAvailabilityZones": {"names": ["us-east-1a"]}}
    forbidden = {"pulumi:disable-default-providers": ["*"]}
    graph = record(explicit, config=forbidden, invokes=answers)
    assert graph.one(VPC).provider.startswith("urn:pulumi:stack::project::pulumi:providers:aws::p::")
    assert graph.exports == {"zones": ["us-east-1a"]}
    with pytest.raises(Exception, match="must use an explicit provider"):
        record(implicit, config=forbidden, invokes=answers)


def test_transforms_run_for_the_resource_then_its_parents_then_the_stack() -> None:
    def build_transform(word: str) -> Callable[[pulumi.ResourceTransformArgs], pulumi.ResourceTransformResult | None]:
        def transform(given: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
            if given.type_ != VPC:
                return None
            order = given.props.get("tags", {}).get("order", "") + word
            options = pulumi.ResourceOptions.merge(given.opts, pulumi.ResourceOptions(protect=True))
            return pulumi.ResourceTransformResult({**given.props, "tags": {"order": order}}, options)

        return transform

    def program() -> None:
        pulumi.runtime.register_resource_transform(build_transform("stack"))
        parent = pulumi.ResourceOptions(transforms=[build_transform("parent,")])
        Group("g", parent, pulumi.ResourceOptions(transforms=[build_transform("own,")], ignore_changes=["tags"]))

    entry = record(program).one(VPC)
    assert entry.inputs["tags"] == {"order": "own,parent,stack"}
    assert entry.protect and entry.ignore_changes == ("tags",), "options of a transform are kept and added to"


def test_a_transform_is_checked_like_the_program() -> None:
    def program() -> None:
        pulumi.runtime.register_resource_transform(
            lambda given: pulumi.ResourceTransformResult({**given.props, "cidrBlok": "x"}, given.opts)
        )
        aws.ec2.Vpc("v")

    with pytest.raises(ProgramRefused, match="cidrBlok: there is no property 'cidrBlok'; did you mean 'cidrBlock'"):
        record(program)


def test_a_lookup_without_an_answer_is_rejected() -> None:
    def program() -> None:
        pulumi.export("ami", aws.ec2.get_ami_output(owners=["self"]).id)

    with pytest.raises(Unanswered, match="aws:ec2/getAmi:getAmi with {'owners': .'self'.}"):
        record(program)
    answers = {"aws:ec2/getAmi:getAmi": lambda given: {"id": f"ami-of-{given['owners'][0]}"}}
    assert record(program, invokes=answers).exports == {"ami": "ami-of-self"}


def test_an_existing_resource_is_read() -> None:
    def program() -> None:
        pulumi.export("arn", aws.ec2.Vpc.get("theirs", "vpc-1").arn)

    graph = record(program)
    assert (graph.one(VPC).external, graph.one(VPC).import_id) == (True, "vpc-1")
    assert graph.exports == {"arn": "theirs-arn"}


@pytest.mark.slow
def test_a_secret_in_plain_text_is_found() -> None:
    assert record_toy().plaintext("hush-hush") == []
    assert record_toy(preview=True).plaintext("hush-hush") == []

    def export_token() -> None:
        token = pulumi.Config().require("token")
        packed = base64.b64encode(gzip.compress(f"join {token}".encode(), mtime=0)).decode()
        aws.ec2.LaunchTemplate("packed", user_data=packed)
        aws.ec2.LaunchTemplate("kept", user_data=pulumi.Output.secret(packed))
        aws.ec2.Vpc("plain", tags={"token": f"is {token}"})
        pulumi.export("token", pulumi.Output.concat("x", token))

    found = record(export_token, config={"token": "hush-hush"}).plaintext("hush-hush")
    assert [(place.urn.split("::")[-1], place.path) for place in found] == [
        ("packed", "userData"),
        ("plain", "tags.token"),
        ("exports", "token"),
    ]


def test_an_output_cannot_be_converted_to_text() -> None:
    def program() -> None:
        vpc = aws.ec2.Vpc("v")
        aws.ec2.Vpc("w", tags={"peer": f"{vpc.id}"})

    before = dict(os.environ)
    with pytest.raises(Exception, match="Calling __str__ on an Output"):
        record(program)
    assert dict(os.environ) == before


def test_exceptions_of_a_program_are_raised() -> None:
    def program() -> None:
        aws.ec2.Vpc("v")
        raise ValueError("no nodes")

    async def raise_late() -> None:
        raise ValueError("no nodes")

    for failing in (program, raise_late):
        with pytest.raises(ValueError, match="no nodes"):
            record(failing)
    assert len(record(lambda: Group("g") and None)) == 2, "the next run is not disturbed"


@pytest.mark.slow
def test_runs_are_independent() -> None:
    threads = threading.active_count()

    def program() -> None:
        config = pulumi.Config()
        assert config.get("left") is None
        vpc = aws.ec2.Vpc(config.require("name"))
        pulumi.export("id", vpc.id)
        pulumi.runtime.config.set_config("project:left", "over")

    for number in range(200):
        graph = record(program, bool(number % 2), {"name": f"v{number}"}, project=f"project{number % 3}")
        assert [entry.name for entry in graph.values()] == [f"v{number}"]
    assert threading.active_count() <= threads  # one of an earlier test may end meanwhile
    assert pulumi.runtime.get_root_resource() is None


def test_log_messages_are_recorded() -> None:
    def program() -> None:
        vpc = aws.ec2.Vpc("v")
        pulumi.log.warn("two zones would be better", vpc)
        aws.s3.BucketV2("old")

    output = record(program).log
    assert "warning: two zones would be better" in output
    assert any("is deprecated" in line for line in output)
    assert record_toy().log == ()


@pytest.mark.slow
def test_late_lookup_failures_do_not_hide_the_first_error() -> None:
    late = threading.Event()

    def answer(given: Any) -> dict[str, Any]:
        assert late.wait(60)
        raise LookupError("too late to matter")

    def program() -> None:
        for number in range(6):
            output = aws.ec2.get_ami_output(owners=[f"late-{number}"])
            pulumi.export(f"ami-{number}", pulumi.Output.concat("x-", output.id))
        aws.ec2.Vpc("v", cidr_block="10.0.0.0/16").arn.apply(lambda _: late.set() or 1 / 0)

    for _ in range(10):
        late.clear()
        with pytest.raises(ZeroDivisionError):
            record(program, invokes={"aws:ec2/getAmi:getAmi": answer})
