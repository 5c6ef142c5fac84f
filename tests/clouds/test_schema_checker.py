"""The checker reads the installed SDK of any provider, and reports all problems together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from offline import sdks, wire
from offline.checker import check
from offline.inventions import invent
from offline.provider import find_autonamed_input, list_replacing_inputs
from offline.schema import read_schema

GOOD: list[tuple[str, dict[str, Any]]] = [
    (
        "aws:ec2/launchTemplate:LaunchTemplate",
        {
            "imageId": "ami-1",
            "blockDeviceMappings": [{"deviceName": "/dev/sda1", "ebs": {"volumeSize": 200.0, "iops": wire.UNKNOWN}}],
            "tags": {"any": "key"},
            "userData": wire.Secret("aGk="),
            "networkInterfaces": wire.UNKNOWN,
        },
    ),
    ("aws:ec2/subnet:Subnet", {"vpcId": wire.Reference("urn:pulumi:a::b::aws:ec2/vpc:Vpc::v", "vpc-1")}),
    ("aws:lambda/function:Function", {"role": "r", "code": wire.File(wire.FILES[1], {"path": "a.zip"})}),
    (
        "gcp:compute/instanceTemplate:InstanceTemplate",
        {"machineType": "a3-megagpu-8g", "disks": [{"sourceImage": "i", "boot": True}], "name": None},
    ),
    (
        "azure-native:compute:VirtualMachineScaleSet",
        {"resourceGroupName": "g", "sku": {"name": "Standard_ND96isr_H100_v5", "capacity": 2}, "location": "eastus"},
    ),
    (
        "kubernetes:core/v1:ConfigMap",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a.conf": "x"}},
    ),
    ("pulumi:providers:aws", {"region": "us-east-1", "allowedAccountIds": '["123456789012"]', "version": "7.51.1"}),
]

BAD: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    (
        "aws:ec2/launchTemplate:LaunchTemplate",
        {"blockDeviceMappings": [{"ebs": {"volume_sise": 3}}, {"ebs": {"volume_size": "big"}}], "imageID": "a"},
        {
            "blockDeviceMappings[0].ebs.volume_sise": "did you mean 'volumeSize'?",
            "blockDeviceMappings[1].ebs.volume_size": "did you mean 'volumeSize'?",
            "imageID": "did you mean 'imageId'?",
        },
    ),
    ("aws:ec2/subnet:Subnet", {"cidrBlock": 10}, {"cidrBlock": "expected a string", "vpcId": "required"}),
    ("aws:ec2/subnet:Subnet", {"vpcId": None}, {"vpcId": "required"}),
    ("aws:ec2/subnet:Subnet", {"vpcId": "v", "enableDns64": "yes"}, {"enableDns64": "a boolean, got the string"}),
    ("aws:autoscaling/group:Group", {"minSize": 1.5, "maxSize": True}, {"minSize": "integer", "maxSize": "integer"}),
    ("aws:ec2/vpc:Vpc", {"tags": {"a": 1}}, {"tags['a']": "expected a string, got the number 1"}),
    ("aws:ec2/vpc:Vpc", {"tags": ["a"]}, {"tags": "expected a mapping, got a list"}),
    (
        "aws:ec2/launchTemplate:LaunchTemplate",
        {"blockDeviceMappings": {"ebs": {}}},
        {"blockDeviceMappings": "expected a list, got a mapping"},
    ),
    ("aws:lambda/function:Function", {"role": "r", "code": "a.zip"}, {"code": "an asset or an archive"}),
    ("kubernetes:core/v1:ConfigMap", {"kind": "ConfgMap"}, {"kind": "did you mean 'ConfigMap'?"}),
    (
        "gcp:compute/instanceTemplate:InstanceTemplate",
        {"machineType": "m", "disks": [{"sourceImage": wire.Secret(3)}]},
        {"disks[0].sourceImage": "expected a string, got a secret"},
    ),
    ("pulumi:providers:aws", {"defaultTags": '{"tags": 3}'}, {"defaultTags.tags": "expected a mapping"}),
    ("aws:ec2/vpcs:Vpcs", {}, {"": "has no type 'aws:ec2/vpcs:Vpcs'"}),
    ("acme:index:Rocket", {}, {"": "no SDK of package 'acme' is installed"}),
]


@pytest.mark.slow
@pytest.mark.parametrize("token, inputs", GOOD, ids=[token for token, _ in GOOD])
def test_valid_inputs_have_no_problems(token: str, inputs: dict[str, Any]) -> None:
    assert check(token, inputs) == []
    assert check(token, wire.build_struct(inputs)) == [], "the same as sent over the wire"


@pytest.mark.parametrize("token, inputs, problems", BAD, ids=[f"{token} {'+'.join(p)}" for token, _, p in BAD])
def test_every_problem_is_reported_with_its_path(token: str, inputs: dict[str, Any], problems: dict[str, str]) -> None:
    found = {problem.path: problem.message for problem in check(token, inputs)}
    assert found.keys() == problems.keys()
    for path, text in problems.items():
        assert text in found[path]


@pytest.mark.slow
def test_a_value_outside_an_open_list_is_a_warning() -> None:
    cluster = {"resourceGroupName": "g", "sku": {"name": "Base", "tier": "Standrad"}}
    (problem,) = check("azure-native:containerservice:ManagedCluster", cluster)
    assert (problem.path, problem.level) == ("sku.tier", "warning")
    assert "did you mean 'Standard'?" in problem.message


def test_a_secret_is_never_shown_in_a_message() -> None:
    inputs = {"metadata": wire.Secret({"nam": "hush"}), "immutable": wire.Secret("hush"), "kind": wire.Secret("hush")}
    problems = check("kubernetes:core/v1:Secret", inputs)
    assert {problem.path for problem in problems} == {"metadata.nam", "immutable", "kind"}
    assert not any("hush" in str(problem) for problem in problems)


def test_values_in_wrappers_are_checked() -> None:
    wrapped = {wire.SIGNATURE: wire.OUTPUT, "value": 3, "secret": True, "dependencies": []}
    (problem,) = check("aws:ec2/vpc:Vpc", {"cidrBlock": wrapped})
    assert problem.message == "expected a string, got a secret"
    assert check("aws:ec2/vpc:Vpc", {"cidrBlock": {wire.SIGNATURE: wire.OUTPUT}}) == [], "an unknown output"


def test_special_values_are_unchanged_by_encoding() -> None:
    values = {
        "secret": wire.Secret({"a": [1, wire.UNKNOWN]}),
        "unknown": wire.UNKNOWN,
        "other": wire.Reference("urn", "id"),
        "file": wire.File(wire.FILES[0], {"text": "x"}),
        "plain": [1, 2.5, True, None, "text"],
    }
    assert wire.read(wire.build_struct(values)) == values


def test_secret_inputs_and_outputs_are_known() -> None:
    assert "password" in read_schema("aws:rds/instance:Instance").secrets
    assert "sharedKeyBase64" not in read_schema("aws:ec2/vpc:Vpc").secrets
    assert read_schema("kubernetes:core/v1:Secret").secrets >= {"data", "stringData"}


def test_computed_outputs_follow_the_schema() -> None:
    made = invent(read_schema("aws:eks/cluster:Cluster"), {"roleArn": "r", "name": "mine"}, "c")
    assert made["arn"] == "c-arn"
    assert made["certificateAuthority"] == {"data": "c-certificateAuthority-data"}
    assert made["identities"][0]["oidcs"][0]["issuer"].startswith("c-identities")
    assert "name" not in made, "given"
    assert "tags" not in made, "optional, and not computed"
    assert made["tagsAll"] == {}


@pytest.mark.parametrize(
    "token, name",
    [
        ("aws:s3/bucket:Bucket", "bucket"),
        ("aws:iam/role:Role", "name"),
        ("aws:ec2/vpc:Vpc", None),
        ("gcp:compute/network:Network", "name"),
        ("azure-native:storage:StorageAccount", "accountName"),
        ("azure-native:compute:VirtualMachineScaleSet", "vmScaleSetName"),
        ("azure-native:containerservice:ManagedCluster", "resourceName"),
    ],
)
def test_the_input_with_an_automatic_name_is_found(token: str, name: str | None) -> None:
    assert find_autonamed_input(token) == name


def test_replacing_inputs_are_read_from_the_table_and_the_documentation() -> None:
    assert list_replacing_inputs("aws:ec2/vpc:Vpc") >= {"cidrBlock"}, "of the table"
    assert list_replacing_inputs("aws:eks/cluster:Cluster") >= {"bootstrapSelfManagedAddons"}, "of the documentation"
    assert "tags" not in list_replacing_inputs("aws:ec2/vpc:Vpc")


MODULE = '''
import pulumi
from typing import Any, Mapping, Optional, Sequence, Union
__all__ = ["RocketArgs", "Rocket"]

@pulumi.input_type
class StageArgs:
    def __init__(__self__, *, fuel: pulumi.Input[str], engine_count: pulumi.Input[Optional[int]] = None):
        pulumi.set(__self__, "fuel", fuel)

    @property
    @pulumi.getter
    def fuel(self) -> pulumi.Input[str]:
        return pulumi.get(self, "fuel")

    @property
    @pulumi.getter(name="engineCount")
    def engine_count(self) -> pulumi.Input[Optional[int]]:
        return pulumi.get(self, "engine_count")

@pulumi.input_type
class RocketArgs:
    def __init__(__self__, *, stages: pulumi.Input[Sequence[pulumi.Input["StageArgs"]]],
                 name: pulumi.Input[Optional[str]] = None):
        pulumi.set(__self__, "stages", stages)

    @property
    @pulumi.getter
    def stages(self) -> pulumi.Input[Sequence[pulumi.Input["StageArgs"]]]:
        return pulumi.get(self, "stages")

    @property
    @pulumi.getter
    def name(self) -> pulumi.Input[Optional[str]]:
        """Changing this forces a new resource."""
        return pulumi.get(self, "name")

class Rocket(pulumi.CustomResource):
    def _internal_init(__self__, resource_name, opts=None):
        pass

    @property
    @pulumi.getter
    def stages(self) -> pulumi.Output[Sequence[Any]]:
        return pulumi.get(self, "stages")

    @property
    @pulumi.getter
    def name(self) -> pulumi.Output[str]:
        return pulumi.get(self, "name")

    @property
    @pulumi.getter
    def orbit(self) -> pulumi.Output[str]:
        return pulumi.get(self, "orbit")
'''

PACKAGE = """
import importlib, pulumi
class Module(pulumi.runtime.ResourceModule):
    mod_info = {"pkg": "acme", "mod": "index", "fqn": "acme_sdk.rocket", "classes": {"acme:index:Rocket": "Rocket"}}
    def version(self):
        return None
    def construct(self, name, typ, urn):
        raise NotImplementedError
pulumi.runtime.register_resource_module("acme", "index", Module())
"""


def test_an_unknown_sdk_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "acme_sdk"
    folder.mkdir()
    (folder / "__init__.py").write_text(PACKAGE)
    (folder / "rocket.py").write_text(MODULE)
    (folder / "pulumi-plugin.json").write_text(json.dumps({"resource": True, "name": "acme", "version": "1.2.3"}))
    monkeypatch.syspath_prepend(tmp_path)
    sdks.list_installed.cache_clear()
    try:
        token = "acme:index:Rocket"
        assert check(token, {"stages": [{"fuel": "methane", "engineCount": 33}]}) == []
        problems = {str(problem) for problem in check(token, {"stages": [{"fule": "x"}]})}
        assert problems == {
            "stages[0].fuel: required, and not given",
            "stages[0].fule: there is no property 'fule'; did you mean 'fuel'?",
        }
        assert invent(read_schema(token), {"stages": []}, "r") == {"name": "r-name", "orbit": "r-orbit"}
        assert (find_autonamed_input(token), list_replacing_inputs(token)) == ("name", {"name"})
    finally:
        for cached in (sdks.list_installed, sdks.find_resource_class, read_schema, find_autonamed_input):
            cached.cache_clear()
