"""Files of images: which there are, and that their readers accept them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import hcl2
import pytest
import yaml
from image_machines import build_plan, compute_digest

from supercloud.catalog.provider import MachineImage
from supercloud.primitives.templates import quote_hcl, render_template
from supercloud.targets import list_targets, render
from supercloud.targets.images.inputs import list_parts


def read_hcl(text: str) -> dict[str, Any]:
    found: dict[str, Any] = hcl2.loads(text)
    return found


def get_image(key: str) -> MachineImage:
    cloud = build_plan(arm=True).cloud
    assert cloud is not None
    return next(image for image in cloud.published_images if image.key == key)


def test_each_image_in_use_has_its_files() -> None:
    keys = ("slurm-cpu-arm", "slurm-cpu-x86", "slurm-nvidia-x86")
    names = ("component.yaml", "image.pkr.hcl", "install.sh")
    assert sorted(render(build_plan(arm=True), "images")) == [
        "build-slurm.sh",
        "nccl-tests/train.sh",
        *(f"{key}/{name}" for key in keys for name in names),
    ]


def test_parts_follow_from_the_image_and_its_machines() -> None:
    cloud = build_plan(arm=True).cloud
    assert cloud is not None
    parts = ["driver", "fabric", "clients", "slurm", "monitoring", "tests", "containers"]
    assert list_parts(cloud, get_image("slurm-nvidia-x86")) == parts
    assert list_parts(cloud, get_image("slurm-cpu-arm")) == ["clients", "slurm", "containers"]


def test_a_custom_image_is_built_from_the_published_one() -> None:
    own = build_plan(image="ami-0a1b2c3d4e5f60718")
    assert render(own, "images") == render(build_plan(), "images")


def test_packages_are_no_input_if_the_distribution_has_the_release() -> None:
    bundle = render(build_plan("23.11"), "images")
    assert "archive=(slurm-client slurmctld " in bundle["slurm-cpu-x86/install.sh"]
    assert not [path for path, text in bundle.items() if "SLURM_PACKAGES=/" in text]
    assert "archive=()" in render(build_plan(), "images")["slurm-cpu-x86/install.sh"]


def test_a_release_whose_source_has_no_packages_has_no_script_that_builds_them() -> None:
    assert "build-slurm.sh" not in render(build_plan("23.02"), "images")


def test_only_clouds_with_templates_have_the_target() -> None:
    plan = build_plan()
    assert plan.cloud is not None
    assert "images" in list_targets(plan)
    assert "images" not in list_targets(replace(plan, cloud=replace(plan.cloud, provider="gcp")))
    assert "images" not in list_targets(replace(plan, cloud=replace(plan.cloud, published_images=())))


@pytest.mark.parametrize("key", ["slurm-cpu-x86", "slurm-nvidia-x86"])
def test_packer_template_is_hcl_that_runs_the_script(key: str) -> None:
    found = read_hcl(render(build_plan(), "images")[f"{key}/image.pkr.hcl"])
    variables = {name.strip('"'): values for item in found["variable"] for name, values in item.items()}
    assert variables["instance_type"]["default"] == '"m6i.2xlarge"'
    assert "default" not in variables["slurm_packages"]
    source = found["source"][0]['"amazon-ebs"']['"image"']
    assert source["source_ami"] == "${data.amazon-parameterstore.base.value}"
    assert source["ssh_username"] == '"ubuntu"'
    assert get_image(key).reference in found["data"][0]['"amazon-parameterstore"']['"base"']["name"]
    build = found["build"][0]
    assert build["sources"] == ['"source.amazon-ebs.image"']
    shell = next(item['"shell"'] for item in build["provisioner"] if '"shell"' in item)
    assert shell["script"] == '"${path.root}/install.sh"'
    # every variable is declared, and every input of the script is set
    assert {name.upper() for name in variables} - {"REGION", "INSTANCE_TYPE"} == {
        line.strip('"').partition("=")[0] for line in shell["environment_vars"]
    }


def test_a_machine_without_a_host_of_its_architecture_is_asked_for() -> None:
    found = read_hcl(render(build_plan(arm=True), "images")["slurm-cpu-arm/image.pkr.hcl"])
    (machine,) = (values for item in found["variable"] for name, values in item.items() if name == '"instance_type"')
    assert "default" not in machine


@pytest.mark.parametrize("key", ["slurm-cpu-x86", "slurm-nvidia-x86"])
def test_component_has_phases_and_the_digest_of_the_script(key: str) -> None:
    bundle = render(build_plan(), "images")
    found = yaml.safe_load(bundle[f"{key}/component.yaml"])
    assert (found["name"], found["schemaVersion"]) == (f"trainer-{key}", 1.0)
    assert [phase["name"] for phase in found["phases"]] == ["build", "validate"]
    names = [name for item in found["parameters"] for name in item]
    assert all(item[name]["type"] == "string" for item in found["parameters"] for name in item)
    assert names[0] == "Folder"
    folder, download, install = found["phases"][0]["steps"]
    assert folder["inputs"]["commands"] == ["install -d -m 700 /root/supercloud"], "other users cannot write to it"
    assert [item["source"] for item in download["inputs"]] == [
        "s3://{{ Folder }}/install.sh",
        "{{ SlurmPackages }}",
    ]
    (script,) = install["inputs"]["commands"]
    assert compute_digest(bundle[f"{key}/install.sh"].encode()) in script
    assert all(f"{{{{ {name} }}}}" in script for name in names[1:] if name != "SlurmPackages")
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["23.11", "25.11"])
def test_scripts_pass_shellcheck(version: str, tmp_path: Path) -> None:
    bundle = render(build_plan(version, arm=True), "images")
    bundle.write(tmp_path / "images")
    scripts = sorted((tmp_path / "images").rglob("*.sh"))
    assert len(scripts) == 5
    for script in scripts:
        subprocess.run(["bash", "-n", script], check=True)
    shellcheck = Path(sys.executable).with_name("shellcheck")
    done = subprocess.run([shellcheck, "-x", "-S", "style", *scripts], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_a_string_of_hcl_is_no_expression() -> None:
    for text in ("${var.x}", '"; %{ if true }', "a\\b"):
        found = read_hcl(f"a = {quote_hcl(text)}\n")["a"]
        assert found == quote_hcl(text)
    assert quote_hcl("${var.x}") == '"$${var.x}"'


def test_a_template_of_hcl_rejects_values_that_are_not_quoted() -> None:
    image = get_image("slurm-cpu-x86").model_copy(update={"key": '"'})
    with pytest.raises(ValueError, match="use the filter hcl"):
        render_template(
            "images/clouds/aws-image.pkr.hcl.j2",
            **{"head": "", "image": image, "region": "", "machine": "", "inputs": [], "release": "", "name": ""},
            packages_variable="",
        )


def test_a_job_runs_the_tests_on_the_accelerators_of_a_pool(tmp_path: Path) -> None:
    text = render(build_plan(), "images")["nccl-tests/train.sh"]
    options = [line.removeprefix("#SBATCH ") for line in text.splitlines() if line.startswith("#SBATCH")]
    assert options == [
        "--job-name=nccl-tests",
        "--partition=train",
        "--nodes=2",
        "--ntasks-per-node=8",
        "--gpus-per-node=8",
        "--exclusive",
        "--time=00:30:00",
    ]
    mpirun = tmp_path / "opt/amazon/openmpi/bin/mpirun"
    tests = tmp_path / "opt/nccl-tests/all_reduce_perf"
    script = text.replace("/opt/", f"{tmp_path}/opt/")
    run = lambda: subprocess.run(  # noqa: E731
        ["bash"], input=script, env={"SLURM_NTASKS": "16", "PATH": "/usr/bin:/bin"}, capture_output=True, text=True
    )
    assert "all_reduce_perf is not installed: this node was not started from an image" in run().stderr
    for program in (mpirun, tests):
        program.parent.mkdir(parents=True)
        program.write_text('#!/bin/sh\necho "$@"\n')
        program.chmod(0o755)
    assert run().stdout == f"-np 16 -N 8 --bind-to none {tests} -b 8 -e 8G -f 2 -g 1\n"


def test_without_a_digest_images_do_not_contain_the_tests() -> None:
    plan = build_plan()
    assert plan.cloud is not None
    bundle = render(replace(plan, cloud=replace(plan.cloud, image_tools=())), "images")
    assert "nccl-tests/train.sh" not in bundle and "TESTS_SOURCE" not in bundle["slurm-nvidia-x86/install.sh"]
