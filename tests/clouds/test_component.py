"""The component, whatever the cloud: from specs and existing resources to a protected, named graph of children."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pulumi
import pulumi_aws as aws
import pytest
import yaml
from answers import EXISTING
from offline.recorder import load_program, record
from offline.wire import Unknown
from programs import AWS, CLUSTER, KEPT, NAME, SPECS, build_program, build_small_spec, record_small_spec, record_spec
from pulumi.provider.experimental.component import ComponentProvider
from samples import EXAMPLES, ROOT

import supercloud as sc
from supercloud.pulumi import OUTPUTS, Cluster
from supercloud.spec.fleet import Connection
from supercloud.spec.loader import LoadedSpec
from supercloud.targets.clouds.build_context import ExistingResources
from supercloud.targets.clouds.declared import load_spec

# a generated SDK warns of each deprecated class when its module is loaded, used or not
pytestmark = pytest.mark.filterwarnings("ignore:.* has been deprecated in favor of:DeprecationWarning")
PROVIDER = "pulumi:providers:aws"
NO_DEFAULTS = {"pulumi:disable-default-providers": ["*"]}


@pytest.mark.slow
@pytest.mark.parametrize("name", SPECS)
def test_preview_and_update_register_the_same_resources_with_valid_inputs(name: str) -> None:
    update, preview = (
        record_spec(name),
        record_spec(name, preview=True),
    )  # refuses what the provider's schema does not know
    assert set(update) == set(preview)
    assert not update.warnings and not preview.warnings
    assert isinstance(preview.exports["network"], Unknown) or preview.exports["network"]


@pytest.mark.slow
@pytest.mark.parametrize("name", AWS)
def test_recording_is_deterministic(name: str) -> None:
    first = {urn: entry.inputs for urn, entry in record_spec(name).items()}
    again = record(build_program(spec=str(AWS[name])), invokes=EXISTING)
    assert {urn: entry.inputs for urn, entry in again.items()} == first


@pytest.mark.parametrize("name", SPECS)
def test_children_are_parented_and_carry_the_components_name(name: str) -> None:
    found = record_spec(name)
    component = found.one(CLUSTER)
    children = [entry for entry in found.values() if entry.urn != component.urn]
    assert len(children) > 30
    assert {entry.parent for entry in children} == {component.urn}
    assert all(entry.name.startswith(f"{NAME}-") for entry in children)
    assert not any(re.search(r"-\d+$", entry.name) for entry in children if entry.type == "aws:ec2/subnet:Subnet")


@pytest.mark.slow
def test_a_spec_is_a_file_a_mapping_or_a_model(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(json.dumps(build_small_spec()))
    graphs = [record(build_program(spec=spec)) for spec in (path, str(path), build_small_spec(), sc.load(path).model)]
    inputs = [{urn: entry.inputs for urn, entry in found.items()} for found in graphs]
    assert inputs[0] == inputs[1] == inputs[2] == inputs[3]


def test_all_errors_are_reported_before_resources_are_registered() -> None:
    errors: list[sc.InputError] = []

    def program() -> None:
        spec = build_small_spec(
            pools=[{"name": "a", "machine": "p5.48xlarg", "nodes": 4}, {"name": "b", "machine": "m6i", "nodes": 1}]
        )
        try:
            Cluster(NAME, {"spec": spec})
        except sc.InputError as error:
            errors.append(error)

    assert not len(record(program))
    assert {finding.path for finding in errors[0].findings} >= {"pools[0].machine", "pools[1].machine"}
    assert "did you mean" in str(errors[0]) and "p5.48xlarge" in str(errors[0])


@pytest.mark.parametrize(
    "spec, words",
    [
        (None, "'spec' is missing"),
        (7, "'spec' is a int"),
        ({"name": "x", "pools": []}, " problems in"),
        (str(EXAMPLES[0]), "is on-prem"),
    ],
)
def test_an_invalid_spec_is_rejected(spec: Any, words: str) -> None:
    with pytest.raises(sc.InputError, match=re.escape(words)):
        record(build_program(spec=spec))


@pytest.mark.parametrize(
    "name, words",
    [("", "it is empty"), ("a'b, c", "rejects it as a tag"), ("größe €", "'€'"), ("n" * 300, "314 characters")],
)
def test_a_name_that_is_not_a_valid_tag_is_rejected(name: str, words: str) -> None:
    messages: list[str] = []

    def program() -> None:
        with pytest.raises(sc.InputError, match="cannot be created under the name") as error:
            Cluster(name, {"spec": build_small_spec()})
        messages.append(str(error.value))

    assert not len(record(program)) and words in messages[0]


@pytest.mark.parametrize(
    "args, words",
    [
        ({"admin": {}}, "unknown argument 'admin' of a cluster: did you mean admins"),
        ({"subnet_ids": "subnet-1"}, "'subnet_ids' is a str, not a list"),
        ({"protect": "no"}, "'protect' is a str, not a boolean"),
        ({"notify": ["ops@example.com", "ops@example.com"]}, "is a duplicate"),
        ({"notify": ["ops"]}, "'ops' is not a mail address"),
    ],
)
def test_an_unknown_argument_is_rejected(args: dict[str, Any], words: str) -> None:
    with pytest.raises(sc.InputError, match=re.escape(words)):
        record(build_program(spec=build_small_spec(), **args))


def test_arguments_must_be_a_mapping() -> None:
    with pytest.raises(sc.InputError, match="are a ClusterSpec, not a mapping"):
        record(lambda: Cluster(NAME, sc.ClusterSpec.model_validate(build_small_spec())))  # type: ignore[arg-type, return-value]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["My_Cluster", "größe.1", "two words"])
def test_a_name_in_another_alphabet_is_valid(name: str) -> None:
    spec = build_small_spec(storage=[{"name": "s", "kind": "lustre", "capacity": "1200 GiB", "mount": "/s"}])
    found = record(build_program(name, spec=spec))
    assert {entry.inputs["tags"]["supercloud:cluster"] for entry in found.of_type("aws:ec2/vpc:Vpc")} == {
        f"project/stack/{name}"
    }
    (logs,) = (
        entry.inputs["namePrefix"]
        for entry in found.of_type("aws:cloudwatch/logGroup:LogGroup")
        if "namePrefix" in entry.inputs
    )
    assert re.fullmatch(r"/aws/fsx/[A-Za-z0-9_/.#-]+-", logs)


def test_texts_of_a_mapping_are_not_changed() -> None:
    reason = "caf\u00e9 \\ud83d \\ \U0001f389"
    found = load_spec(build_small_spec(suppress=[{"check": "cloud-image", "reason": reason}]), ExistingResources())
    assert isinstance(found, LoadedSpec) and found.model.suppress[0].reason == reason


def test_an_output_inside_the_spec_is_refused() -> None:
    def program() -> None:
        Cluster(NAME, {"spec": build_small_spec(name=pulumi.Output.from_input("later"))})

    with pytest.raises(sc.InputError, match="holds an output"):
        record(program)


@pytest.mark.parametrize("name", SPECS)
def test_state_and_storage_are_protected_and_retained(name: str) -> None:
    for entry in record_spec(name).values():
        if entry.type in KEPT:
            assert entry.protect and entry.retain_on_delete, entry.urn
        elif entry.retain_on_delete:
            assert entry.type.startswith("aws:s3/bucket") or entry.name.endswith("-servers"), entry.urn


@pytest.mark.slow
def test_protection_can_be_disabled() -> None:
    found = record(build_program(spec=build_small_spec(), protect=False))
    assert set(found) == set(record_small_spec())
    assert not any(entry.protect or entry.retain_on_delete for entry in found.values())


@pytest.mark.slow
def test_existing_resources_can_be_outputs_of_other_resources() -> None:
    def program() -> None:
        vpc = aws.ec2.Vpc("mine", cidr_block="10.9.0.0/16")
        subnet = aws.ec2.Subnet("mine", vpc_id=vpc.id, cidr_block="10.9.0.0/17")
        key = aws.ec2.KeyPair("mine", public_key="ssh-ed25519 AAAA")
        role = aws.iam.Role("mine", assume_role_policy="{}")
        Cluster(
            NAME,
            {
                "spec": build_small_spec(),
                "network_id": vpc.id,
                "subnet_ids": [subnet.id],
                "ssh_key": key.key_name,
                "node_role": role.arn,
            },
        )

    update, preview = record(program), record(program, preview=True)
    assert set(update) == set(preview)
    assert [entry.name for entry in update.of_type("aws:ec2/vpc:Vpc")] == ["mine"]
    assert update.one("aws:ec2/instance:Instance", f"{NAME}-ctl1").inputs["subnetId"] == "mine-id"
    assert update.one("aws:ec2/instance:Instance", f"{NAME}-ctl1").inputs["keyName"] == "mine-keyName"
    assert update.one("aws:iam/instanceProfile:InstanceProfile", f"{NAME}-node-profile").inputs["role"] == "mine-arn"
    assert {entry.inputs["vpcId"] for entry in update.of_type("aws:ec2/securityGroup:SecurityGroup")} == {"mine-id"}


@pytest.mark.slow
def test_one_stack_can_have_two_clusters() -> None:
    def program() -> None:
        for name in ("blue", "green"):
            Cluster(name, {"spec": build_small_spec()})

    both = record(program)
    blue, green = (
        sorted((entry.type, entry.name.removeprefix(name)) for entry in both.values() if entry.name.startswith(name))
        for name in ("blue", "green")
    )
    assert blue == green and len(both) == 2 * len(blue)


@pytest.mark.slow
def test_children_use_the_providers_that_are_passed() -> None:
    def program() -> None:
        mine = aws.Provider("mine", region="us-east-1")
        Cluster(NAME, {"spec": build_small_spec()}, pulumi.ResourceOptions(providers=[mine]))

    found = record(program, config=NO_DEFAULTS)
    providers = {entry.provider for entry in found.values() if entry.custom and entry.type != PROVIDER}
    assert providers == {"urn:pulumi:stack::project::pulumi:providers:aws::mine::mine-id"}
    assert len(found.of_type(PROVIDER)) == 1


@pytest.mark.slow
def test_the_default_provider_has_the_region_of_the_plan_and_the_settings_of_the_stack() -> None:
    settings = {
        "aws:profile": "research",
        "aws:region": "eu-west-1",
        "aws:maxRetries": "4",
        "aws:assumeRoles": [{"roleArn": "arn:aws:iam::1:role/deploy"}],
    }
    own = record(build_program(spec=build_small_spec()), config={**NO_DEFAULTS, **settings}).one(PROVIDER)
    assert own.inputs["region"] == "us-east-1" and own.inputs["profile"] == "research"
    assert "deploy" in str(own.inputs["assumeRoles"])


@pytest.mark.slow
def test_transforms_reach_every_child() -> None:
    def add_boundary(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
        if args.type_ != "aws:iam/role:Role":
            return None
        return pulumi.ResourceTransformResult({**args.props, "permissionsBoundary": "arn:edge"}, args.opts)

    found = record(build_program(opts=pulumi.ResourceOptions(transforms=[add_boundary]), spec=build_small_spec()))
    roles = found.of_type("aws:iam/role:Role")
    assert roles and all(role.inputs["permissionsBoundary"] == "arn:edge" for role in roles)


@pytest.mark.slow
def test_more_nodes_add_no_resources() -> None:
    def list_resources(nodes: int) -> set[str]:
        pool = {"name": "train", "machine": "p5.48xlarge", "nodes": nodes, "initial": 0, "fabrics": ["compute"]}
        network = {"cidr": "10.0.0.0/16", "cidrs": ["10.1.0.0/16"]}
        spec = build_small_spec(pools=[pool], fabrics=[{"name": "compute", "kind": "efa"}], network=network)
        return set(record(build_program(spec=spec)))

    assert list_resources(12_500) == list_resources(4)


@pytest.mark.slow
def test_twelve_thousand_nodes_need_fewer_than_500_resources() -> None:
    pools = [
        {"name": f"train-{number}", "machine": "p5.48xlarge", "nodes": 962, "initial": 0, "fabrics": ["compute"]}
        for number in range(13)
    ]
    network = {"cidr": "10.0.0.0/16", "cidrs": ["10.1.0.0/16"]}
    spec = build_small_spec(pools=pools, fabrics=[{"name": "compute", "kind": "efa"}], network=network)
    found = record(build_program(spec=spec))
    groups = found.of_type("aws:autoscaling/group:Group")
    assert sum(group.inputs["maxSize"] for group in groups) > 12_500
    assert len(found) <= 500


def test_outputs_have_the_connection() -> None:
    slurm, kubernetes = record_spec("09-aws-slurm").exports, record_spec("10-aws-eks").exports
    assert Connection.model_validate(slurm["connection"]).engine == "slurm"
    assert Connection.model_validate(kubernetes["connection"]).context == "block"
    assert kubernetes["commands"]["kubeconfig"].startswith("aws eks update-kubeconfig --region us-west-2 --alias block")
    assert slurm["commands"]["login"] == f"ssh USER@{slurm['hosts']['login1']}"
    assert slurm["mounts"]["scratch"].endswith("@tcp:/prod-scratch-mountName /fsx")
    assert set(slurm["buckets"]) == {"data", "state"}
    assert slurm["network"]["id"] == "prod-vpc-id"


def test_outputs_have_the_handles_that_the_kubernetes_bundle_needs() -> None:
    plan = sc.resolve(sc.load(AWS["10-aws-eks"]))
    handles = next(yaml.safe_load_all(sc.render(plan, "kubernetes")["storage/handles.yaml"]))
    given = record_spec("10-aws-eks").exports["handles"]
    assert set(handles["data"]) == set(given)
    assert given["scratch.handle"] == "prod-scratch-id" and given["data.bucketName"] == "prod-bucket-data-bucket"


def test_the_component_registers_its_outputs() -> None:
    found = record_spec("09-aws-slurm")
    assert found.one(CLUSTER).outputs == found.exports


@pytest.mark.slow
def test_the_component_has_a_schema_for_other_languages() -> None:
    host = ComponentProvider([Cluster], "supercloud", version="0.1.0")
    known = json.loads(host.schema or "")["resources"][CLUSTER]
    assert known["requiredInputs"] == ["spec"]
    assert {"networkId", "subnetIds", "nodeRole", "protect"} <= set(known["inputProperties"])
    assert set(known["properties"]) == set(OUTPUTS)
    spec = json.loads(json.dumps(build_small_spec()), parse_int=float)  # as numbers come over the wire

    found = record(lambda: host.construct(NAME, CLUSTER, {"spec": spec, "protect": False}) and None)
    assert set(found) == set(record_small_spec())
    assert not any(entry.protect for entry in found.values())


def test_only_the_folder_of_a_cloud_names_its_provider() -> None:
    folder = ROOT / "supercloud" / "targets" / "clouds"
    ours = [*folder.glob("*.py"), ROOT / "supercloud" / "pulumi.py", ROOT / "stacks" / "__main__.py"]
    named = {
        path.name: [line for line in path.read_text().splitlines() if re.search("(?i)aws|amazon|ec2|eks", line)]
        for path in ours
    }
    assert {name: lines for name, lines in named.items() if lines} == {
        "__init__.py": ['    "aws": "supercloud.targets.clouds.aws:build",']
    }


@pytest.mark.slow
def test_the_stack_is_configured_by_a_file_or_a_spec(tmp_path: Path) -> None:
    program = load_program(ROOT / "stacks")
    by_file = record(
        program, config={"specFile": "examples/10-aws-eks/cluster.yaml", "name": NAME}, project="supercloud"
    )
    by_spec = record(program, config={"spec": build_small_spec()}, project="supercloud")
    assert {entry.name for entry in by_file.values()} == {entry.name for entry in record_spec("10-aws-eks").values()}
    assert set(by_spec.exports) == set(OUTPUTS)


@pytest.mark.slow
def test_a_stack_passes_existing_resources_to_the_component() -> None:
    config = {
        "specFile": "examples/10-aws-eks/cluster.yaml",
        "notify": ["ops@example.com"],
        "sshKey": "mine",
        "admins": {"ops": "arn:aws:iam::1:role/ops"},
        "nodeRole": "arn:aws:iam::1:role/nodes",
    }
    found = record(load_program(ROOT / "stacks"), config=config, project="supercloud", invokes=EXISTING)
    assert found.one("aws:eks/accessEntry:AccessEntry").inputs["principalArn"] == "arn:aws:iam::1:role/ops"
    assert found.one("aws:sns/topicSubscription:TopicSubscription").inputs["endpoint"] == "ops@example.com"
    assert {entry.inputs["nodeRoleArn"] for entry in found.of_type("aws:eks/nodeGroup:NodeGroup")} == {
        "arn:aws:iam::1:role/nodes"
    }
    keys = {entry.inputs.get("keyName") for entry in found.of_type("aws:ec2/launchTemplate:LaunchTemplate")}
    assert keys == {"mine"}


@pytest.mark.parametrize(
    "config, words",
    [
        ({}, "no cluster is specified: pulumi config set supercloud:specFile"),
        ({"spec": build_small_spec(), "specFile": "examples/09-aws-slurm/cluster.yaml"}, "are both set"),
        ({"spec": "cluster.yaml"}, "specify its file"),
        ({"specFile": "examples/none.yaml"}, "file not found"),
        ({"spec": build_small_spec(), "notify": "ops@example.com"}, "supercloud:notify is not a list"),
        ({"spec": build_small_spec(), "admins": ["arn:aws:iam::1:role/ops"]}, "supercloud:admins is not a dict"),
        ({"specFile": "examples/01-minimal/cluster.yaml"}, "is on-prem"),
    ],
)
def test_an_invalid_configuration_of_a_stack_is_rejected_with_a_message(config: dict[str, Any], words: str) -> None:
    with pytest.raises(pulumi.RunError, match=re.escape(words)):
        record(load_program(ROOT / "stacks"), config=config, project="supercloud")


@pytest.mark.slow
def test_a_stack_shows_every_finding_and_no_traceback() -> None:
    reserved = {"kind": "reservation", "id": "cr-0123456789abcdef0", "zone": "us-east-1c"}
    wrong = build_small_spec(
        pools=[{"name": "cpu", "machine": "m6i.8xlarge", "nodes": 4, "capacity": [reserved]}],
        storage=[{"name": "home", "kind": "nfs", "product": "efs", "mount": "/opt"}],
        tags={"aws:mine": "1"},
    )
    with pytest.raises(pulumi.RunError) as raised:
        record(load_program(ROOT / "stacks"), config={"spec": wrong}, project="supercloud")
    for place in ("pools[0].capacity[0].zone", "storage[0].mount", "tags.aws:mine"):
        assert place in str(raised.value)
    assert "Traceback" not in str(raised.value)
