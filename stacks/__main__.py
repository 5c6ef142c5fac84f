"""The stack of one cluster: its spec from the stack's configuration, its access as the stack's outputs."""

from pathlib import Path
from typing import Any

import pulumi

from supercloud import InputError
from supercloud.pulumi import OUTPUTS, Cluster, ClusterArgs

HINT = "pulumi config set supercloud:specFile FILE (relative to Pulumi.yaml), or write the spec under supercloud:spec"


def spec_of(config: pulumi.Config) -> Any:
    """The path of the spec's file, relative to the project, or the spec itself."""
    file = config.get("specFile")
    try:
        spec = config.get_object("spec")
    except pulumi.ConfigTypeError:
        raise InputError(f"supercloud:spec is a text, not a spec; say which file has it: {HINT}") from None
    if file and spec:
        raise InputError("supercloud:specFile and supercloud:spec are both set: which one? pulumi config rm the other")
    if not file and not spec:
        raise InputError(f"nobody says which cluster: {HINT}")
    return spec or Path(__file__).parent.parent / file


def structure_of(config: pulumi.Config, key: str, kind: type) -> Any:
    """A list or a mapping of the configuration; None where there is none."""
    try:
        found = config.get_object(key)
    except pulumi.ConfigTypeError:
        found = config.get(key)
    if found is not None and not isinstance(found, kind):
        part = f"{key}[0]" if kind is list else f"{key}.NAME"
        raise InputError(f"supercloud:{key} is no {kind.__name__}; pulumi config set --path 'supercloud:{part}' VALUE")
    return found


def arguments_of(config: pulumi.Config) -> ClusterArgs:
    """What the cluster is made of."""
    return {
        "spec": spec_of(config),
        "ssh_key": config.get("sshKey"),
        "node_role": config.get("nodeRole"),
        "admins": structure_of(config, "admins", dict),
        "notify": structure_of(config, "notify", list),
        "protect": config.get_bool("protect"),
    }


config = pulumi.Config("supercloud")
try:
    cluster = Cluster(config.get("name") or "cluster", arguments_of(config))
except InputError as error:
    raise pulumi.RunError(str(error)) from None  # all findings, and no traceback
for output in OUTPUTS:
    pulumi.export(output, getattr(cluster, output))
