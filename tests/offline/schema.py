"""The schema of one resource type, projected from the installed SDK when it is first asked for."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from . import sdks
from .shapes import Property, read_properties

SECRET_INPUT = re.compile(r'__props__\.__dict__\["(\w+)"\] = None if \1 is None else pulumi\.Output\.secret')
SECRET_OUTPUTS = re.compile(r"additional_secret_outputs=\[([^\]]*)\]")
REPLACES = re.compile(r"forces? (the )?(creation of )?(a )?(new|replacement|resource recreation)|force new", re.I)


@dataclass(frozen=True)
class Schema:
    """A resource type: properties by their names on the wire."""

    token: str
    inputs: Mapping[str, Property]
    outputs: Mapping[str, Property]
    secrets: frozenset[str]
    """Inputs and outputs that are secret whatever the program says."""

    @property
    def computed(self) -> Mapping[str, Property]:
        """What only the provider knows: outputs that are no inputs, and outputs that always have a value."""
        return {
            k: p for k, p in self.outputs.items() if k not in self.inputs or (p.required and not self.is_required(k))
        }

    @property
    def replacing(self) -> frozenset[str]:
        """Inputs whose documentation says that a change makes a new resource. Not all of them say so."""
        return frozenset(name for name, prop in self.inputs.items() if REPLACES.search(prop.doc))

    def is_required(self, name: str) -> bool:
        """Whether an input must be given."""
        return name in self.inputs and self.inputs[name].required


@cache
def read_schema(token: str) -> Schema:
    """The schema of a resource type (``aws:ec2/vpc:Vpc``) or of a provider (``pulumi:providers:aws``).

    Raises:
        sdks.Unknown: no installed SDK has it.
    """
    resource = sdks.find_resource_class(token)
    inputs = read_properties(sdks.find_inputs_class(resource))
    source = inspect.getsource(resource._internal_init)  # type: ignore[attr-defined]
    python_names = set(SECRET_INPUT.findall(source))
    listed = SECRET_OUTPUTS.search(source)
    secrets = {text.strip().strip("\"'") for text in listed[1].split(",")} if listed else set()
    secrets |= {_get_wire_name(resource, name) for name in python_names}
    return Schema(token, inputs, read_properties(resource), frozenset(secrets))


def _get_wire_name(resource: type, python_name: str) -> str:
    member = getattr(sdks.find_inputs_class(resource), python_name)
    return str(member.fget._pulumi_name)
