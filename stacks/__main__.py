"""The stack of one cluster: its configuration has the spec, its outputs are those of the cluster."""

from pathlib import Path
from typing import Any

import pulumi

from supercloud import InputError
from supercloud.pulumi import OUTPUTS, Cluster, ClusterArgs

HINT = "pulumi config set supercloud:specFile FILE (relative to Pulumi.yaml), or write the spec under supercloud:spec"


def get_spec(config: pulumi.Config) -> Any:
    """Return the path of the spec's file, or the spec itself."""
    file = config.get("specFile")
    try:
        spec = config.get_object("spec")
    except pulumi.ConfigTypeError:
        raise InputError(f"supercloud:spec is a string, not a spec; specify its file: {HINT}") from None
    if file and spec:
        raise InputError("supercloud:specFile and supercloud:spec are both set; remove one with pulumi config rm")
    if not file and not spec:
        raise InputError(f"no cluster is specified: {HINT}")
    return spec or Path(__file__).parent.parent / file


def get_structure(config: pulumi.Config, key: str, kind: type) -> Any:
    """Return a list or a mapping of the configuration; None if it is not set."""
    try:
        found = config.get_object(key)
    except pulumi.ConfigTypeError:
        found = config.get(key)
    if found is not None and not isinstance(found, kind):
        part = f"{key}[0]" if kind is list else f"{key}.NAME"
        raise InputError(
            f"supercloud:{key} is not a {kind.__name__}; pulumi config set --path 'supercloud:{part}' VALUE"
        )
    return found


def build_arguments(config: pulumi.Config) -> ClusterArgs:
    """Build the arguments of the cluster."""
    return {
        "spec": get_spec(config),
        "ssh_key": config.get("sshKey"),
        "node_role": config.get("nodeRole"),
        "admins": get_structure(config, "admins", dict),
        "notify": get_structure(config, "notify", list),
        "protect": config.get_bool("protect"),
    }


config = pulumi.Config("supercloud")
try:
    cluster = Cluster(config.get("name") or "cluster", build_arguments(config))
except InputError as error:
    raise pulumi.RunError(str(error)) from None  # all findings, without a traceback
for output in OUTPUTS:
    pulumi.export(output, getattr(cluster, output))
