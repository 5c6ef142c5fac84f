"""``site.images: build``: EC2 Image Builder builds the images, and the machines of the cluster start from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from offline.graph import Graph
from programs import NAME, build_small_spec, get_launch_template, record_small_spec

import supercloud as sc
from supercloud.spec.site import ImageInputName
from supercloud.targets import render
from supercloud.targets.images.inputs import ALL_INPUTS

# a generated SDK warns of each deprecated class when its module is loaded, used or not
pytestmark = pytest.mark.filterwarnings("ignore:.* has been deprecated in favor of:DeprecationWarning")
KEY = "slurm-cpu-x86"
PACKAGES = "s3://corp-software/slurm/packages.tar.gz"


def build_site(**inputs: str) -> dict[str, Any]:
    site = {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"], "images": "build", "image_inputs": inputs}
    return {"site": site}


def record_build() -> Graph:
    return record_small_spec(**build_site(SLURM_PACKAGES=PACKAGES))


def list_findings(**changes: Any) -> dict[str, tuple[str, str, str]]:
    """Findings about built images: level, path and problem."""
    plan = sc.resolve(sc.ClusterSpec.model_validate(build_small_spec(**changes)))
    return {item.check: (item.level, item.path, item.problem) for item in plan.findings if "image" in item.check}


@pytest.mark.slow
def test_machines_start_from_the_built_image() -> None:
    found = record_build()
    image = found.one("aws:imagebuilder/image:Image", f"{NAME}-image-{KEY}")
    built = image.outputs["outputResources"][0]["amis"][0]["image"]
    assert get_launch_template(found, "cpu-on-demand")["imageId"] == built
    host = found.one("aws:ec2/instance:Instance", f"{NAME}-ctl1")
    assert host.inputs["ami"] == built and "launchTemplate" not in host.inputs
    assert image.urn in host.property_dependencies["ami"]


@pytest.mark.slow
def test_the_recipe_runs_the_rendered_component_on_the_published_image() -> None:
    found = record_build()
    plan = sc.resolve(sc.ClusterSpec.model_validate(build_small_spec(**build_site(SLURM_PACKAGES=PACKAGES))))
    files = render(plan, "images")
    component = found.one("aws:imagebuilder/component:Component").inputs
    assert component["data"] == files[f"{KEY}/component.yaml"] and len(component["data"]) < 16_000
    recipe = found.one("aws:imagebuilder/imageRecipe:ImageRecipe").inputs
    assert recipe["parentImage"] == (
        "ssm:/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id"
    )
    (used,) = recipe["components"]
    declared = {
        name: values for item in yaml.safe_load(component["data"])["parameters"] for name, values in item.items()
    }
    given = {item["name"]: item["value"] for item in used["parameters"]}
    assert given["SlurmPackages"] == PACKAGES and given["Folder"].endswith(f"/images/{KEY}")
    assert {name for name, values in declared.items() if "default" not in values} <= given.keys() <= declared.keys()
    script = found.one("aws:s3/bucketObjectv2:BucketObjectv2", f"{NAME}-image-{KEY}-script").inputs
    assert script["key"] == f"images/{KEY}/install.sh" and script["content"] == files[f"{KEY}/install.sh"]
    (disk,) = recipe["blockDeviceMappings"]
    assert disk["deviceName"] == "/dev/sda1" and disk["ebs"]["volumeSize"] == 200


@pytest.mark.slow
def test_build_instances_have_no_more_than_they_need() -> None:
    found = record_build()
    place = found.one("aws:imagebuilder/infrastructureConfiguration:InfrastructureConfiguration").inputs
    assert place["instanceMetadataOptions"] == {"httpTokens": "required", "httpPutResponseHopLimit": 1}
    assert place["instanceTypes"] == ["m6i.2xlarge"] and place["terminateInstanceOnFailure"] is True
    policy = json.loads(found.one("aws:iam/rolePolicy:RolePolicy", f"{NAME}-images-policy").inputs["policy"])
    (statement,) = policy["Statement"]
    assert statement["Action"] == ["s3:GetObject"]
    own, packages = statement["Resource"]
    assert own.endswith("/images/*") and packages == "arn:aws:s3:::corp-software/slurm/packages.tar.gz"


@pytest.mark.slow
def test_the_image_is_built_after_what_its_instance_reads() -> None:
    found = record_build()
    image = found.one("aws:imagebuilder/image:Image")
    types = {urn.split("::")[2].rsplit("$", 1)[-1] for urn in image.dependencies}
    assert {"aws:s3/bucketObjectv2:BucketObjectv2", "aws:iam/rolePolicy:RolePolicy"} <= types
    pipeline = found.one("aws:imagebuilder/imagePipeline:ImagePipeline")
    assert "schedule" not in pipeline.inputs, "it would build images that nothing uses"


def test_the_time_of_the_build_is_reported_before_it_begins() -> None:
    level, path, problem = list_findings(**build_site(SLURM_PACKAGES=PACKAGES))["cloud-image-build"]
    assert (level, path) == ("note", "site.images")
    assert "EC2 Image Builder builds 1 images before any machine starts (slurm-cpu-x86 on m6i.2xlarge)" in problem
    assert "each in up to 1 h" in problem


def test_packages_of_a_release_that_archives_lack_are_required() -> None:
    for inputs in ({}, {"SLURM_PACKAGES": "packages.tar.gz"}):
        level, path, problem = list_findings(**build_site(**inputs))["cloud-image-packages"]
        assert (level, path) == ("error", "site.image_inputs.SLURM_PACKAGES")
        assert "do not have Slurm 25.11" in problem
    own = {"scheduler": {"kind": "slurm", "version": "23.11"}}
    assert "cloud-image-packages" not in list_findings(**build_site(), **own)


def test_a_tool_without_a_digest_is_reported_and_not_built(tmp_path: Path) -> None:
    gpus = {"pools": [{"name": "train", "machine": "p5.48xlarge", "nodes": 2}]}
    assert "cloud-image-tools" not in list_findings(**gpus)
    (tmp_path / "image-tools").mkdir()
    (tmp_path / "image-tools/nccl-tests.yaml").write_text("name: nccl-tests\nsha256: null\n")
    level, path, problem = list_findings(**gpus, catalog=str(tmp_path))["cloud-image-tools"]
    assert (level, path) == ("note", "site.images") and "the catalog has no digest of https://" in problem
    plan = sc.resolve(sc.ClusterSpec.model_validate(build_small_spec(**gpus, catalog=str(tmp_path))))
    assert plan.cloud is not None and not plan.cloud.image_tools


@pytest.mark.parametrize(
    "changes, word",
    [
        ({"scheduler": {"kind": "kubernetes", "version": "1.35"}}, "images of Kubernetes"),
        ({"network": {"isolated": True}}, "an isolated network has no sources"),
    ],
)
def test_images_that_cannot_be_built_are_an_error(changes: dict[str, Any], word: str) -> None:
    level, _, problem = list_findings(**build_site(SLURM_PACKAGES=PACKAGES), **changes)["cloud-image-build"]
    assert level == "error" and word in problem


def test_inputs_of_the_spec_are_those_of_the_script() -> None:
    assert set(get_args(ImageInputName)) == {item.variable for item in ALL_INPUTS}


@pytest.mark.parametrize("value", ["a'; reboot; '", "a\nb", "$(id)", ""])
def test_an_input_cannot_be_code(value: str) -> None:
    with pytest.raises(ValueError, match="image_inputs"):
        sc.ClusterSpec.model_validate(build_small_spec(**build_site(DRIVER_PACKAGES=value)))
