"""The stack of one cluster: its spec from the stack's configuration, its access as the stack's outputs."""

from pathlib import Path
from typing import Any

import pulumi

from supercloud import InputError
from supercloud.pulumi import OUTPUTS, Cluster

HINT = "pulumi config set specFile FILE (relative to Pulumi.yaml), or write the spec itself under supercloud:spec"


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


config = pulumi.Config("supercloud")
try:
    cluster = Cluster(config.get("name") or "cluster", {"spec": spec_of(config), "protect": config.get_bool("protect")})
except InputError as error:
    raise pulumi.RunError(str(error)) from None  # all findings, and no traceback
for output in OUTPUTS:
    pulumi.export(output, getattr(cluster, output))
