"""A stand-in for the AWS provider whose objects are created in an emulated AWS, through the API's own client.

Run as a plugin: ``python aws_provider.py FOLDER``; ``FOLDER/endpoint`` has the address of the emulator. Only real
answers become outputs: a program that uses one that AWS would not give it fails.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import grpc
import jmespath
import yaml
from botocore.exceptions import BotoCoreError, ClientError
from google.protobuf import empty_pb2
from offline import wire
from offline.cloud import Cloud
from offline.faults import Faults
from offline.provider import Provider, serve
from pulumi.runtime.proto import provider_pb2
from real.aws.account_lookups import LOOKUPS
from real.aws.api_parameters import UnmappedInput, Values, build_parameters
from real.polling import wait_for

ACCOUNT = "123456789012"
TABLE = Path(__file__).resolve().parent / "resources.yaml"


@dataclass(frozen=True)
class Row:
    """How one type is created, updated and deleted; ``resources.yaml`` describes the keys."""

    call: str
    id: str
    rename: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    inside: str = ""
    tags: str = ""
    regional: str = ""
    generated: str = ""
    outputs: Mapping[str, Any] = field(default_factory=dict)
    lacking: Mapping[str, Any] = field(default_factory=dict)
    then: tuple[Mapping[str, Any], ...] = ()
    wait: Mapping[str, Any] = field(default_factory=dict)
    update: tuple[Mapping[str, Any], ...] = ()
    delete: tuple[Mapping[str, Any], ...] = ()


@cache
def load_table() -> tuple[Mapping[str, Row], Mapping[str, Any]]:
    """The rows by type, and the types that the emulator does not have."""
    content = yaml.safe_load(TABLE.read_text())
    return {token: Row(**row) for token, row in content["types"].items()}, content["missing"]


class Account:
    """One account and region of the emulator."""

    def __init__(self, endpoint: str, region: str):
        self.endpoint, self.region = endpoint, region
        self.calls: list[str] = []

    @cache  # noqa: B019 - one account per process
    def get_client(self, service: str) -> Any:
        """The client of a service."""
        return boto3.client(
            service,
            region_name=self.region,
            endpoint_url=self.endpoint,
            aws_access_key_id="administrator",
            aws_secret_access_key="of-the-emulator",
        )

    def call(self, operation: str, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Call ``SERVICE.OPERATION``."""
        service, name = operation.split(".")
        found: Mapping[str, Any] = getattr(self.get_client(service), name)(**parameters)
        return found

    def run_steps(self, steps: Iterable[Mapping[str, Any]], values: Mapping[str, Any]) -> None:
        """Make the calls of a row one after another; what a call finds is a value of those after it."""
        known = Values(values)
        for step in steps:
            if "if" not in step or known.has(step["if"]):
                response = self.call(step["call"], known.fill(step["values"]))
                known.values |= {name: jmespath.search(path, response) for name, path in step.get("find", {}).items()}

    def get_shape(self, operation: str) -> Any:
        """The shape of the parameters of an operation."""
        service, name = operation.split(".")
        client = self.get_client(service)
        return client.meta.service_model.operation_model(client.meta.method_to_api_mapping[name]).input_shape

    def get_values(self) -> dict[str, Any]:
        """What every template may refer to."""
        names = ("ec2", "autoscaling", "logs")
        arns = {name: f"arn:aws:{name}:{self.region}:{ACCOUNT}" for name in names}
        return {"account": ACCOUNT, "region": self.region, "arn": arns}


class AwsProvider(Provider):
    """Creates, updates and deletes by the rows of ``resources.yaml``."""

    def __init__(self, folder: Path):
        super().__init__("aws", Cloud(folder / "cloud.json"), Faults(folder / "faults.json"), folder / "invokes.json")
        self.endpoint, self.account = (folder / "endpoint").read_text().strip(), Account("", "")

    def Configure(self, request: Any, context: Any) -> Any:
        inputs = wire.read(request.args)
        self.account = Account(self.endpoint, inputs.get("region", "us-east-1"))
        return super().Configure(request, context)

    def Create(self, request: Any, context: Any) -> Any:
        token, inputs = _get_token(request.urn), _clean(wire.read(request.properties))
        rows, missing = load_table()
        if request.preview or token in missing:
            return super().Create(request, context)
        try:
            made = Creation(self.account, rows[token], {**inputs, "token": request.urn.rsplit("::", 1)[1]})
            identifier, outputs = made.run(inputs)
        except KeyError:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, f"{TABLE.name} has no row for {token}")
        except (UnmappedInput, ClientError, BotoCoreError, AssertionError) as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"{token}: {type(error).__name__}: {error}")
        found = {**inputs, **outputs}
        self.cloud.record(identifier, token, request.urn, inputs, found)
        return provider_pb2.CreateResponse(id=identifier, properties=wire.build_struct(found))

    def Invoke(self, request: Any, context: Any) -> Any:
        if request.tok not in LOOKUPS:
            return super().Invoke(request, context)
        try:
            found = LOOKUPS[request.tok](self.account, wire.strip_marks(wire.read(request.args)))
        except (ClientError, LookupError) as error:  # as the provider words them
            context.abort(grpc.StatusCode.UNKNOWN, f"invocation of {request.tok} returned an error: {error}")
        return provider_pb2.InvokeResponse(**{"return": wire.build_struct(found)})

    def Update(self, request: Any, context: Any) -> Any:
        token, inputs = _get_token(request.urn), _clean(wire.read(request.news))
        rows, missing = load_table()
        if request.preview or token in missing:
            return super().Update(request, context)
        row, outputs = rows[token], _clean(wire.read(request.olds))
        if not row.update:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, f"{TABLE.name} has no update of {token}")
        try:
            changed = Creation(self.account, row, {**outputs, **inputs, "id": request.id}).update(inputs)
        except (UnmappedInput, ClientError, BotoCoreError) as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"{token}: {error}")
        found = {**outputs, **inputs, **changed}
        self.cloud.update(request.id, inputs, found)
        return provider_pb2.UpdateResponse(properties=wire.build_struct(found))

    def Delete(self, request: Any, context: Any) -> Any:
        token = _get_token(request.urn)
        rows, missing = load_table()
        if token in missing:
            return super().Delete(request, context)
        values = {**self.account.get_values(), **_clean(wire.read(request.properties)), "id": request.id}
        try:
            self.account.run_steps(rows[token].delete, values)
        except ClientError as error:
            if "NotFound" not in error.response["Error"]["Code"]:
                context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"{token} {request.id}: {error}")
        self.cloud.delete(request.id)
        return empty_pb2.Empty()


class Creation:
    """The calls that create or update one resource."""

    def __init__(self, account: Account, row: Row, values: Mapping[str, Any]):
        self.account, self.row = account, row
        self.values = {**account.get_values(), **values}

    def run(self, inputs: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """The ID and the outputs of a new object."""
        row, inputs = self.row, self._name(inputs)
        response = self.account.call(row.call, self._build(row.call, inputs, with_tags=True))
        self.values["id"] = identifier = self._extract(row.id, response)
        found = {name: self._extract(path, response) for name, path in row.outputs.items()}
        outputs = {**row.lacking, **{name: value for name, value in found.items() if value is not None}}
        self.values |= outputs
        self.account.run_steps(row.then, self.values)
        if row.wait:
            self._wait(row.wait)
        return str(identifier), outputs

    def _name(self, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """The inputs with a unique name where the provider generates it."""
        key = "name" if "namePrefix" in inputs else self.row.generated
        if not key or key in inputs:
            return inputs
        self.values[key] = f"{inputs.get('namePrefix', self.values['token'] + '-')}{time.time_ns():020d}"
        return {**{name: value for name, value in inputs.items() if name != "namePrefix"}, key: self.values[key]}

    def update(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs that an update changes."""
        found: dict[str, Any] = {}
        for step in self.row.update:
            parameters = Values(self.values).fill(step["values"]) or {}
            if step.get("inputs"):
                parameters = self._build(step["call"], inputs, with_tags=False)
            if step.get("template"):
                parameters |= {self.row.inside: self._build(self.row.call, inputs, with_tags=False)[self.row.inside]}
            response = self.account.call(step["call"], parameters)
            found |= {name: self._extract(path, response) for name, path in step.get("outputs", {}).items()}
        return found

    def _build(self, operation: str, inputs: Mapping[str, Any], with_tags: bool) -> dict[str, Any]:
        row, shape = self.row, self.account.get_shape(operation)
        plain = {name: value for name, value in inputs.items() if name not in (*row.ignore, *row.later, "tags")}
        if row.inside:
            inner = {name: value for name, value in plain.items() if name not in row.outside}
            outer = {name: value for name, value in plain.items() if name in row.outside}
            found = build_parameters(shape, outer, row.rename)
            found[row.inside] = build_parameters(shape.members[row.inside], inner, row.rename)
        else:
            found = build_parameters(shape, plain, row.rename)
        found |= Values(self.values).fill(dict(row.values)) or {}
        if row.regional and self.account.region != "us-east-1":
            outer_name, inner_name = row.regional.split(".")
            found[outer_name] = {inner_name: self.account.region}
        return found | (self._build_tags(shape, inputs) if with_tags else {})

    def _build_tags(self, shape: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
        tags = inputs.get("tags")
        if not tags or self.row.tags == "none":
            return {}
        if self.row.tags.startswith("specification "):
            kind, pairs = self.row.tags.split()[1], [{"Key": key, "Value": value} for key, value in tags.items()]
            return {"TagSpecifications": [{"ResourceType": kind, "Tags": pairs}]}
        return dict(build_parameters(shape, {self.row.tags or "tags": tags}, self.row.rename))

    def _wait(self, wait: Mapping[str, Any]) -> None:
        parameters = Values(self.values).fill(wait["values"])

        def is_reached() -> bool:
            return bool(jmespath.search(wait["until"], self.account.call(wait["call"], parameters)))

        wait_for(f"{wait['call']} {parameters}: {wait['until']}", is_reached, interval=0.2)

    def _extract(self, path: Any, response: Mapping[str, Any]) -> Any:
        if isinstance(path, Mapping):
            return {name: self._extract(inner, response) for name, inner in path.items()}
        return Values(self.values).fill(path) if "$" in path else jmespath.search(path, response)


def _get_token(urn: str) -> str:
    return urn.split("::")[2].rsplit("$", maxsplit=1)[-1]


def _clean(value: Any) -> Any:
    """Plain values: secrets as what they contain, without what is not set."""
    if isinstance(value, wire.Secret):
        return _clean(value.value)
    if isinstance(value, Mapping):
        return {key: _clean(item) for key, item in value.items() if item is not None and not key.startswith("__")}
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return value


def main(folder: Path) -> None:
    """Serve until the engine ends, as :func:`offline.provider.main`."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    server, port = serve(AwsProvider(folder))
    print(port, flush=True)
    sys.stdin.buffer.read()
    server.stop(grace=60).wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
