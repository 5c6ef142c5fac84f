"""Programs on the real engine: the recorder records the same resources, and errors are refused in the preview."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from engine import STACK, Engine, list_operations, select_changes
from offline import wire
from offline.recorder import ProgramRefused, load_program, record
from subjects import CLUSTER, TOY

Program = Callable[..., Engine]

OPTIONS = """
import pulumi
import pulumi_aws as aws

def tagging(word):
    def transform(given):
        if given.type_ != "aws:ec2/vpc:Vpc":
            return None
        tags = {"order": given.props.get("tags", {}).get("order", "") + word}
        opts = pulumi.ResourceOptions.merge(given.opts, pulumi.ResourceOptions(protect=True))
        return pulumi.ResourceTransformResult({**given.props, "tags": tags}, opts)
    return transform

class Group(pulumi.ComponentResource):
    def __init__(self, name, opts):
        super().__init__("test:index:Group", name, {}, opts)
        own = pulumi.ResourceOptions(parent=self, transforms=[tagging("own,")], ignore_changes=["tags"])
        vpc = aws.ec2.Vpc(f"{name}-vpc", cidr_block="10.0.0.0/16", opts=own)
        aws.ec2.Subnet(f"{name}-subnet", vpc_id=vpc.id, cidr_block="10.0.0.0/24", opts=pulumi.ResourceOptions(
            parent=self, aliases=[pulumi.Alias(name="old")], delete_before_replace=True, deleted_with=vpc))
        self.register_outputs({"vpc": vpc.id})

pulumi.runtime.register_resource_transform(tagging("stack"))
provider = aws.Provider("p", region="us-east-1")
options = pulumi.ResourceOptions(providers=[provider], transforms=[tagging("parent,")])
group = Group("g", options)
role = aws.iam.Role("role", assume_role_policy="{}", opts=pulumi.ResourceOptions(
    provider=provider, retain_on_delete=True, custom_timeouts=pulumi.CustomTimeouts(create="10m"), depends_on=[group]))
pulumi.export("role", role.arn)
"""


def check_recorder(engine: Engine, config: dict[str, Any], secrets: list[str], project: str, folder: str = "") -> None:
    """The graph of the recorder and the state of the engine have the same resources."""
    program = load_program(engine.project / folder)
    given = engine.folder / "cloud" / "invokes.json"
    answers = json.loads(given.read_text()) if given.exists() else {}
    graph = record(program, config=config, secret_config=secrets, project=project, stack=STACK, invokes=answers)
    state = engine.list_resources()
    (stack,) = (urn for urn in state if state[urn]["type"] == "pulumi:pulumi:Stack")
    defaults = {urn for urn in state if "::pulumi:providers:" in urn and "::default_" in urn}
    assert graph.keys() == state.keys() - {stack, *defaults}
    for urn, entry in graph.items():
        item = state[urn]
        assert item["parent"] == (entry.parent or stack)
        assert item.get("protect", False) == entry.protect, urn
        assert item.get("retainOnDelete", False) == entry.retain_on_delete
        assert sorted(item.get("dependencies", [])) == list(entry.dependencies)
        provider = item.get("provider", "").rsplit("::", 1)[0]
        assert entry.provider.rsplit("::", 1)[0] == ("" if provider in defaults else provider)
        assert sorted(item.get("ignoreChanges") or []) == sorted(entry.ignore_changes)
        assert (item.get("deletedWith") or "") == entry.deleted_with
        inputs = wire.read(item.get("inputs", {}))
        for name, value in entry.inputs.items():
            if isinstance(value, wire.Secret):
                assert isinstance(inputs[name], wire.Secret)
            elif (
                name not in entry.property_dependencies
                and entry.custom
                and not urn.split("::")[2].startswith("pulumi:")
            ):
                assert inputs[name] == value, f"{urn} {name}"
    exports = wire.read(state[stack].get("outputs", {}))
    assert graph.exports.keys() == exports.keys()


def test_the_recorder_agrees_for_the_toy(start: Callable[..., Engine]) -> None:
    engine = start(TOY)
    engine.up()
    config = {"nodes": 20, "joinToken": "x", "pulumi:disable-default-providers": ["*"]}
    check_recorder(engine, config, ["joinToken"], "toy")


def test_the_recorder_agrees_for_the_project_of_the_repository(start: Callable[..., Engine]) -> None:
    engine = start(CLUSTER)
    engine.up()
    check_recorder(engine, dict(CLUSTER.config), [], "supercloud", "stacks")


def test_the_recorder_agrees_for_options_and_transforms(program: Program) -> None:
    engine = program(OPTIONS, "aws")
    engine.up()
    vpc = next(item for item in engine.list_resources().values() if item["type"] == "aws:ec2/vpc:Vpc")
    assert vpc["inputs"]["tags"] == {"order": "own,parent,stack"}
    check_recorder(engine, {}, [], "small")


BAD = {
    "a nested key": (
        'aws.ec2.LaunchTemplate("l", block_device_mappings=[{"ebs": {"volume_sise": 3}}])',
        "blockDeviceMappings[0].ebs.volume_sise: there is no property 'volume_sise'; did you mean 'volumeSize'?",
    ),
    "a required input": (
        'aws.ec2.Subnet("s", vpc_id=pulumi.Output.from_input(None))',
        "vpcId: required, and not given",
    ),
    "a duplicate": ('aws.ec2.Vpc("v"); aws.ec2.Vpc("v")', "Duplicate resource URN"),
}


@pytest.mark.parametrize("line, message", BAD.values(), ids=BAD)
def test_both_reject_the_same_programs(program: Program, line: str, message: str) -> None:
    engine = program(f"import pulumi\nimport pulumi_aws as aws\naws.ec2.Vpc('fine')\n{line}\n", "aws")
    refused = engine.run("up", "--yes", code=None)
    assert refused.code == 1 and message in refused.text
    assert not engine.cloud.objects(), "refused in the preview"
    with pytest.raises(ProgramRefused) as recorded:
        record(load_program(engine.project))
    assert any(message in problem for problem in recorded.value.problems)


def test_both_reject_default_providers_if_they_are_disabled(program: Program) -> None:
    engine = program("import pulumi_aws as aws\naws.ec2.Vpc('v')\n", "aws")
    engine.configure({"pulumi:disable-default-providers[0]": "*"})
    refused = engine.run("preview", code=None)
    assert refused.code == 1 and "must use an explicit provider" in refused.text
    with pytest.raises(ProgramRefused, match="must use an explicit provider"):
        record(load_program(engine.project), config={"pulumi:disable-default-providers": ["*"]})


def test_a_lookup_is_answered_from_the_table_or_refused(program: Program) -> None:
    engine = program(
        "import pulumi\nimport pulumi_aws as aws\npulumi.export('a', aws.ec2.get_ami_output(owners=['self']).id)", "aws"
    )
    refused = engine.run("preview", code=None)
    assert refused.code == 1 and "no canned answer for aws:ec2/getAmi:getAmi" in refused.text
    (engine.folder / "cloud" / "invokes.json").write_text(json.dumps({"aws:ec2/getAmi:getAmi": {"id": "ami-7"}}))
    engine.up()
    assert engine.run("stack", "output", "a").out.strip() == "ami-7"


def test_a_resource_that_is_created_in_an_apply_is_found(program: Program) -> None:
    text = """
    import pulumi_aws as aws
    vpc = aws.ec2.Vpc("v")
    vpc.id.apply(lambda it: aws.ec2.Subnet("s", vpc_id=it))
    """
    engine = program(text, "aws")
    announced = engine.preview()["changeSummary"]
    assert engine.up() != select_changes(announced)
    aware, unaware = (record(load_program(engine.project), preview) for preview in (False, True))
    assert aware.keys() != unaware.keys()


def test_a_rename_with_an_alias_changes_no_resource(program: Program) -> None:
    engine = program("import pulumi_aws as aws\naws.s3.Bucket('old')\n", "aws")
    engine.up()
    before = engine.cloud.objects()
    main = engine.project / "__main__.py"
    main.write_text("import pulumi_aws as aws\naws.s3.Bucket('new')\n")
    assert set(list_operations(engine.preview()).values()) == {"create", "delete"}
    main.write_text(
        "import pulumi\nimport pulumi_aws as aws\n"
        "aws.s3.Bucket('new', opts=pulumi.ResourceOptions(aliases=[pulumi.Alias(name='old')]))\n"
    )
    assert select_changes(engine.up()) == {}
    assert engine.cloud.objects() == before
    main.write_text("import pulumi_aws as aws\naws.s3.Bucket('new')\n")
    engine.run("preview", "--expect-no-changes")


EVERYWHERE = """
import pulumi
import pulumi_aws as aws, pulumi_gcp as gcp, pulumi_azure_native as azure, pulumi_kubernetes as kubernetes
bucket = aws.s3.Bucket("data")
network = gcp.compute.Network("net", auto_create_subnetworks=False)
gcp.compute.Subnetwork("sub", network=network.id, ip_cidr_range="10.0.0.0/20", region="us-central1")
group = azure.resources.ResourceGroup("group", location="eastus")
azure.storage.StorageAccount("acc", resource_group_name=group.name, kind=azure.storage.Kind.STORAGE_V2,
                             sku={"name": azure.storage.SkuName.STANDARD_LRS})
kubernetes.core.v1.ConfigMap("map", metadata={"name": "map"}, data={"bucket": bucket.bucket})
"""


def test_one_test_server_serves_every_provider(program: Program) -> None:
    engine = program(EVERYWHERE, "aws", "gcp", "azure-native", "kubernetes")
    announced = engine.preview()["changeSummary"]
    assert engine.up() == select_changes(announced) == {"create": 7}, "six resources and the stack"
    engine.run("preview", "--refresh", "--expect-no-changes")
    (account,) = engine.cloud.objects("azure-native:storage:StorageAccount").values()
    (named,) = engine.cloud.objects("azure-native:resources:ResourceGroup").values()
    assert account["inputs"]["resourceGroupName"] == named["outputs"]["name"], "a name that only the provider knows"
    (mapped,) = engine.cloud.objects("kubernetes:core/v1:ConfigMap").values()
    assert mapped["inputs"]["data"]["bucket"].startswith("data-")
    engine.run("destroy", "--yes")
    assert not engine.cloud.objects()


def test_nothing_survives_from_the_preview_to_the_update(program: Program) -> None:
    text = """
    import pulumi
    import runs
    runs.COUNT.append(1)
    pulumi.export("runs", len(runs.COUNT))
    """
    engine = program(text)
    (engine.project / "runs.py").write_text("COUNT = []\n")
    engine.run("up", "--yes")
    assert engine.run("stack", "output", "runs").out.strip() == "1"


PART = """
from typing import Optional, TypedDict
import pulumi
import pulumi_aws as aws
from pulumi.provider.experimental import component_provider_host

class PartArgs(TypedDict):
    cidr: pulumi.Input[str]
    token: Optional[pulumi.Input[str]]

class Part(pulumi.ComponentResource):
    vpc: pulumi.Output[str]

    def __init__(self, name: str, args: PartArgs, opts: Optional[pulumi.ResourceOptions] = None):
        super().__init__("parts:index:Part", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        vpc = aws.ec2.Vpc(f"{name}-vpc", cidr_block=args["cidr"], tags={"token": args.get("token")}, opts=child)
        self.vpc = vpc.id
        self.register_outputs({"vpc": vpc.id})

component_provider_host([Part], "parts", version="0.1.0")
"""

CONSUMER = """
import pulumi

class Part(pulumi.ComponentResource):
    def __init__(self, name, props):
        super().__init__("parts:index:Part", name, {**props, "vpc": None}, None, True)

part = Part("p", {"cidr": "10.0.0.0/16", "token": pulumi.Output.secret("hush-hush-4711")})
"""


def test_a_component_in_a_separate_process(program: Program) -> None:
    engine = program(CONSUMER, "aws")
    package = engine.folder / "parts"
    package.mkdir()
    (package / "PulumiPlugin.yaml").write_text("name: parts\nruntime: python\n")
    (package / "__main__.py").write_text(PART)
    with (engine.project / "Pulumi.yaml").open("a") as project:
        project.write("plugins:\n  providers:\n    - {name: parts, path: ../parts}\n")
    engine.up()
    (vpc,) = (item for item in engine.list_resources().values() if item["type"] == "aws:ec2/vpc:Vpc")
    assert vpc["parent"].endswith("parts:index:Part::p")
    assert engine.cloud.only("aws:ec2/vpc:Vpc") == vpc["id"]
    assert "hush-hush-4711" not in engine.read_state_text()
    engine.run("preview", "--expect-no-changes")
