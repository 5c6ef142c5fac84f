"""EC2 Image Builder: images with the software of the cluster, from which its machines start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi
import yaml
from pulumi_aws import imagebuilder, s3

from ....plan.model.cloud import ImageBuild
from ....primitives.bundle import Bundle
from ..build_context import BuildContext
from .iam import allow, create_instance_profile, create_role, escape_wildcards
from .launch import VOLUME_TYPE
from .network import Network
from .security import SecurityGroups

__all__ = ["build_images"]

_POLICIES = ("EC2InstanceProfileForImageBuilder", "AmazonSSMManagedInstanceCore")
"""Policies of instances that build images: docs.aws.amazon.com/imagebuilder, "Prerequisites"."""
_VERSION = "1.0.0"
"""Version of components and recipes: each change makes new ones, with another name."""
_PACKAGES = "SLURM_PACKAGES"
_SCHEME = "s3://"


def build_images(
    context: BuildContext,
    files: Bundle,
    state: s3.Bucket,
    network: Network,
    groups: SecurityGroups,
) -> Mapping[str, pulumi.Output[str]]:
    """Build the images of the plan, and return their identifiers by key.

    Args:
        context: The component.
        files: The bundle ``images``.
        state: The bucket from which build instances read the installation script.
        network: Build instances are in its first subnet for nodes.
        groups: They are in the security group of the cluster.
    """
    builds = context.cloud.image_builds
    if not builds:
        return {}
    profile, policies = _create_profile(context, builds, state)
    infrastructures: dict[str, imagebuilder.InfrastructureConfiguration] = {}
    subnet = context.cloud.groups[0].subnets[0] if context.cloud.groups else next(iter(network.subnets))
    for machine in sorted({item.machine for item in builds}):
        infrastructures[machine] = imagebuilder.InfrastructureConfiguration(
            context.name_child(f"images-{machine}", "image-build"),
            instance_profile_name=profile,
            instance_types=[machine],
            subnet_id=network.subnets[subnet],
            security_group_ids=[groups.cluster.id],
            instance_metadata_options=imagebuilder.InfrastructureConfigurationInstanceMetadataOptionsArgs(
                http_tokens="required", http_put_response_hop_limit=1
            ),
            terminate_instance_on_failure=True,
            resource_tags=context.build_tags(),
            tags=context.build_tags(f"images-{machine}"),
            opts=context.build_options(),
        )
    ready = [*policies, *network.dependencies]
    return {
        item.key: _build_image(context, item, files, state, infrastructures[item.machine], ready) for item in builds
    }


def _create_profile(
    context: BuildContext, builds: Sequence[ImageBuild], state: s3.Bucket
) -> tuple[pulumi.Output[str], Sequence[pulumi.Resource]]:
    """Create the instance profile of build instances: they read the scripts, and the packages of Slurm."""
    objects: list[pulumi.Input[str]] = [pulumi.Output.concat(state.arn, "/images/*")]
    sources = {item.inputs[_PACKAGES] for item in builds if _PACKAGES in item.inputs}
    objects += [
        f"arn:{context.cloud.partition}:s3:::{escape_wildcards(source.removeprefix(_SCHEME))}"
        for source in sorted(sources)
    ]
    role = create_role(context, "images", "ec2.amazonaws.com", [allow(["s3:GetObject"], objects)], _POLICIES)
    return create_instance_profile(context, "images", role.name).name, role.policies


def _build_image(
    context: BuildContext,
    build: ImageBuild,
    files: Bundle,
    state: s3.Bucket,
    infrastructure: imagebuilder.InfrastructureConfiguration,
    ready: Sequence[pulumi.Resource],
) -> pulumi.Output[str]:
    """Build one image with the rendered component, whose document has the digest of the script."""
    key, folder = f"image-{build.key}", f"images/{build.key}"
    tags = context.build_tags(key)
    script = s3.BucketObjectv2(
        context.name_child(f"{key}-script"),
        bucket=state.bucket,
        key=f"{folder}/install.sh",
        content=str(files[f"{build.key}/install.sh"]),
        opts=context.build_options(),
    )
    document = str(files[f"{build.key}/component.yaml"])
    component = imagebuilder.Component(
        context.name_child(key, "image-build"),
        data=document,
        platform="Linux",
        version=_VERSION,
        tags=tags,
        opts=context.build_options(),
    )
    recipe = imagebuilder.ImageRecipe(
        context.name_child(key, "image-build"),
        parent_image=_format_parent(context, build.key),
        version=_VERSION,
        components=[
            imagebuilder.ImageRecipeComponentArgs(
                component_arn=component.arn, parameters=_build_parameters(build, document, state, folder)
            )
        ],
        block_device_mappings=[
            imagebuilder.ImageRecipeBlockDeviceMappingArgs(
                device_name=build.root,
                ebs=imagebuilder.ImageRecipeBlockDeviceMappingEbsArgs(
                    volume_type=VOLUME_TYPE,
                    volume_size=build.disk.ceil("GiB"),
                    delete_on_termination="true",
                ),
            )
        ],
        ami_tags={name: value for name, value in tags.items() if name != "Name"},
        tags=tags,
        opts=context.build_options(),
    )
    imagebuilder.ImagePipeline(  # without a schedule: for images with newer packages, started by hand
        context.name_child(key, "image-build"),
        image_recipe_arn=recipe.arn,
        infrastructure_configuration_arn=infrastructure.arn,
        tags=tags,
        opts=context.build_options(depends_on=[script]),
    )
    image = imagebuilder.Image(
        context.name_child(key),
        image_recipe_arn=recipe.arn,
        infrastructure_configuration_arn=infrastructure.arn,
        tags=tags,
        opts=context.build_options(depends_on=[script, *ready]),
    )
    return image.output_resources.apply(_get_identifier)


def _get_identifier(resources: Sequence[imagebuilder.outputs.ImageOutputResource]) -> str:
    """The identifier of the machine image among what a build has created."""
    return next(str(image.image) for item in resources for image in item.amis or ())


def _format_parent(context: BuildContext, key: str) -> str:
    """The published image, by its parameter."""
    reference = context.cloud.images[key]
    return f"ssm:{reference}" if reference.startswith("/") else reference


def _build_parameters(
    build: ImageBuild, document: str, state: s3.Bucket, folder: str
) -> list[imagebuilder.ImageRecipeComponentParameterArgs]:
    """The parameters that the document declares, from the declared inputs; others keep their defaults."""
    names = {name for item in yaml.safe_load(document)["parameters"] for name in item}
    values: dict[str, pulumi.Input[str]] = {"Folder": pulumi.Output.concat(state.bucket, f"/{folder}")}
    for variable, value in build.inputs.items():
        values["".join(word.capitalize() for word in variable.split("_"))] = value
    return [
        imagebuilder.ImageRecipeComponentParameterArgs(name=name, value=value)
        for name, value in sorted(values.items())
        if name in names
    ]
