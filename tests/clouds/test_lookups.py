"""Existing resources are looked up before anything of the cloud is registered: what is not there is one message."""

from __future__ import annotations

from typing import Any

import pytest
from answers import BUCKET, EXISTING, IMAGE, KEY_PAIR, PARAMETER, SECRET, answer_image
from offline.graph import Graph
from offline.monitor import Answers, Refused
from offline.recorder import record
from programs import NAME, build_small_spec

import supercloud as sc
from supercloud.pulumi import Cluster

# a generated SDK warns of each deprecated class when its module is loaded, used or not
pytestmark = pytest.mark.filterwarnings("ignore:.* has been deprecated in favor of:DeprecationWarning")
OWN = "ami-0123456789abcdef0"
LUSTRE = {"name": "fsx", "kind": "lustre", "capacity": "1200 GiB", "mount": "/fsx", "import_from": "s3://corpus/x"}
WEKA = {
    "name": "flash",
    "kind": "weka",
    "capacity": "100 TiB",
    "mount": "/flash",
    "options": {"install": "s3://corp-software/weka.sh", "install-token": "weka-token"},
}


def fail(message: str) -> Any:
    """An answer that is an error of the provider."""

    def answer(given: Any) -> Any:
        raise Refused(message)

    return answer


def build_site(image: Any) -> dict[str, Any]:
    return {"site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"], "images": {"slurm-cpu-x86": image}}}


def look_up(answers: Answers, ssh_key: str | None = None, **changes: Any) -> tuple[sc.InputError | None, Graph]:
    """The error of a component, and what was registered before it."""
    errors: list[sc.InputError] = []

    def program() -> None:
        try:
            Cluster(NAME, {"spec": build_small_spec(**changes), "ssh_key": ssh_key})
        except sc.InputError as error:
            errors.append(error)

    found = record(program, invokes={**EXISTING, **answers})
    return next(iter(errors), None), found


WRONG: list[tuple[str, dict[str, Any], dict[str, Any], tuple[str, str], str, str]] = [
    # (what, answers, changes of the spec, (check, path), words of the problem, words of the hint)
    (
        "an image that is not there",
        {IMAGE: fail("Your query returned no results. Please change your search criteria and try again.")},
        build_site(OWN),
        ("cloud-reference", "site.images.slurm-cpu-x86"),
        f"the image {OWN} does not exist in us-east-1, or this account cannot use it",
        "aws ec2 describe-images",
    ),
    (
        "an image of another architecture",
        {IMAGE: answer_image(architecture="arm64")},
        build_site(OWN),
        ("cloud-image-arch", "site.images.slurm-cpu-x86"),
        f"{OWN} is an image for aarch64; machines that use it are x86_64",
        "set an image for x86_64",
    ),
    (
        "a declared root device that is not the image's",
        {IMAGE: answer_image("/dev/xvda")},
        build_site({"id": OWN, "root": "/dev/sda1"}),
        ("cloud-image-root", "site.images.slurm-cpu-x86.root"),
        f"the root device of {OWN} is /dev/xvda, not /dev/sda1",
        f"set {{id: {OWN}, root: /dev/xvda}}",
    ),
    (
        "a root device that was guessed",
        {IMAGE: answer_image("/dev/xvda")},
        build_site(OWN),
        ("cloud-image-root", "site.images.slurm-cpu-x86.root"),
        "is /dev/xvda, not /dev/sda1",
        "root: /dev/xvda",
    ),
    (
        "a parameter that is not there",
        {PARAMETER: fail("couldn't find resource")},
        build_site("/images/mine"),
        ("cloud-reference", "site.images.slurm-cpu-x86"),
        "the image /images/mine does not exist",
        "name one that exists",
    ),
    (
        "a bucket of another region",
        {BUCKET: {"bucketRegion": "eu-west-1"}},
        {"storage": [LUSTRE]},
        ("cloud-identifier-region", "storage[0].import_from"),
        "the bucket corpus is in eu-west-1, the cluster in us-east-1",
        "use a bucket of us-east-1",
    ),
    (
        "a bucket that is not there",
        {BUCKET: fail("reading S3 Bucket (corpus): couldn't find resource")},
        {"storage": [LUSTRE]},
        ("cloud-reference", "storage[0].import_from"),
        "the bucket corpus does not exist",
        "aws s3 ls",
    ),
    (
        "a secret that is not there",
        {SECRET: fail("Secrets Manager can't find the specified secret: ResourceNotFoundException")},
        {"storage": [WEKA]},
        ("cloud-reference", "storage[0].options.install-token"),
        "the secret weka-token does not exist in us-east-1",
        "aws secretsmanager list-secrets",
    ),
    (
        "a reason that is not known",
        {SECRET: fail("the token of this session has expired")},
        {"storage": [WEKA]},
        ("cloud-reference", "storage[0].options.install-token"),
        "the secret weka-token cannot be looked up: ",
        "fix the reason",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("what, answers, changes, place, problem, hint", WRONG, ids=[row[0] for row in WRONG])
def test_what_does_not_exist_or_fit_is_one_message_and_no_resource(
    what: str, answers: dict[str, Any], changes: dict[str, Any], place: tuple[str, str], problem: str, hint: str
) -> None:
    error, found = look_up(answers, **changes)
    assert error is not None, what
    (finding,) = error.findings
    assert (finding.check, finding.path) == place
    assert problem in finding.problem and hint in finding.hint
    assert {entry.type for entry in found.values()} <= {"supercloud:index:Cluster", "pulumi:providers:aws"}


@pytest.mark.slow
def test_an_unknown_key_pair_is_reported_with_all_other_problems() -> None:
    error, _ = look_up(
        {KEY_PAIR: fail("no matching EC2 Key Pair found"), IMAGE: answer_image("/dev/xvda")}, "mine", **build_site(OWN)
    )
    assert error is not None
    assert [(item.check, item.path) for item in error.findings] == [
        ("cloud-image-root", "site.images.slurm-cpu-x86.root"),
        ("cloud-reference", "ssh_key"),
    ]
    assert "the key pair mine does not exist in us-east-1" in str(error)


@pytest.mark.slow
def test_a_lookup_that_is_denied_is_a_warning() -> None:
    denied = "api error UnauthorizedOperation: You are not authorized to perform this operation: ec2:DescribeImages"
    error, found = look_up({IMAGE: fail(denied)}, **build_site(OWN))
    assert error is None and len(found) > 30
    assert any(f"the image {OWN} cannot be checked" in message for message in found.log)


@pytest.mark.slow
def test_what_fits_is_created_and_only_that_is_looked_up() -> None:
    asked: list[Any] = []

    def answer(given: Any) -> Any:
        asked.append(given)
        return answer_image()

    error, found = look_up({IMAGE: answer}, **build_site(OWN))
    assert error is None and len(found) > 30
    assert [given["filters"] for given in asked] == [[{"name": "image-id", "values": [OWN]}]]
    asked.clear()
    assert look_up({IMAGE: answer})[0] is None and not asked, "published images are not looked up"
