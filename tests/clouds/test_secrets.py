"""Secrets: none passes through the program, and what a user passes as one stays one."""

from __future__ import annotations

import re

import pulumi
import pytest
from offline import wire
from offline.recorder import record
from programs import SLURM, SPECS, build_program, build_small_spec, read_user_data, record_small_spec, record_spec

from supercloud.pulumi import Cluster

# a generated SDK warns of each deprecated class when its module is loaded, used or not
pytestmark = pytest.mark.filterwarnings("ignore:.* has been deprecated in favor of:DeprecationWarning")
VALUE = "hush-hush-4711"
SECRET = "aws:secretsmanager/secret:Secret"
_NAMED = re.compile(r"(?i)password|secretstring|secretbinary|privatekey|token$")


@pytest.mark.parametrize("name", SPECS)
def test_the_graph_has_no_value_of_a_secret(name: str) -> None:
    found = record_spec(name)
    assert not found.of_type("aws:secretsmanager/secretVersion:SecretVersion")
    assert not [entry for entry in found.values() if entry.type.startswith("random:")]
    for entry in found.values():
        for path, leaf, _ in wire.walk(entry.inputs):
            assert not _NAMED.search(path) or isinstance(leaf, bool), f"{entry.urn}: {path}"


@pytest.mark.parametrize("name", SLURM)
def test_secret_containers_are_empty_and_machines_get_their_names(name: str) -> None:
    found = record_spec(name)
    containers = found.of_type(SECRET)
    assert {"prod-secret-auth"} <= {entry.name for entry in containers}
    for entry in containers:
        assert set(entry.inputs) == {"description", "tags"}
    controller = next(
        entry for entry in found.values() if entry.name == "prod-ctl1" and "userDataBase64" in entry.inputs
    )
    assert "SECRET_AUTH='prod-secret-auth-arn'" in read_user_data(controller)


@pytest.mark.slow
@pytest.mark.parametrize("preview", [True, False])
def test_a_secret_argument_stays_secret(preview: bool) -> None:
    def program() -> None:
        made = Cluster(
            "prod",
            {
                "spec": build_small_spec(storage=[{"name": "home", "kind": "nfs", "product": "efs", "mount": "/home"}]),
                "network_id": pulumi.Output.secret(f"vpc-{VALUE}"),
                "subnet_ids": [pulumi.Output.secret(f"subnet-{VALUE}")],
                "ssh_key": pulumi.Output.secret(f"key-{VALUE}"),
                "node_role": pulumi.Output.secret(f"arn:aws:iam::1:role/{VALUE}"),
            },
        )
        pulumi.export("network", made.network)

    found = record(program, preview)
    assert not found.plaintext(VALUE)
    assert isinstance(found.exports["network"], wire.Secret)


@pytest.mark.slow
@pytest.mark.parametrize("key", ["aws:profile", "aws:secretKey", "aws:token"])
def test_a_secret_in_the_configuration_of_the_stack_stays_secret(key: str) -> None:
    found = record(build_program(spec=build_small_spec()), config={key: VALUE}, secret_config=[key])
    assert not found.plaintext(VALUE)
    own = found.one("pulumi:providers:aws").inputs[key.removeprefix("aws:")]
    assert isinstance(own, wire.Secret)


@pytest.mark.slow
def test_the_search_finds_values_in_plain_text() -> None:
    found = record_small_spec(tags={"owner": VALUE})
    assert len(found.plaintext(VALUE)) > 30
