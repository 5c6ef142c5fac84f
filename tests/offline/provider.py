"""A stand-in for any provider plugin: the installed SDK's schema decides what is right, a JSON file is the cloud.

Served under the name of any package, as a process that the engine starts (``pulumi-resource-aws``) or inside a test
(``PULUMI_DEBUG_PROVIDERS=aws:PORT``).
"""

from __future__ import annotations

import hashlib
import json
import signal
import sys
from collections.abc import Mapping
from concurrent import futures
from functools import cache
from pathlib import Path
from typing import Any

import grpc
import yaml
from google.protobuf import empty_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from . import sdks, wire
from .checker import check
from .cloud import Cloud, InUse
from .faults import Faults
from .inventions import invent
from .schema import read_schema
from .shapes import Scalar

DATA = Path(__file__).parent
MESSAGE_BYTES = 400 << 20


class Provider(provider_pb2_grpc.ResourceProviderServicer):
    """One package. ``invokes`` is a JSON file of canned answers: function token -> properties."""

    def __init__(self, package: str, cloud: Cloud, faults: Faults, invokes: Path):
        self.package, self.cloud, self.faults, self.invokes = package, cloud, faults, invokes

    # the engine's questions about the plugin

    def Handshake(self, request: Any, context: Any) -> Any:
        return provider_pb2.ProviderHandshakeResponse()

    def Attach(self, request: Any, context: Any) -> Any:
        return empty_pb2.Empty()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        return plugin_pb2.PluginInfo(version=sdks.get_version(self.package))

    def Cancel(self, request: Any, context: Any) -> Any:
        return empty_pb2.Empty()

    def CheckConfig(self, request: Any, context: Any) -> Any:
        return _build_check_response(sdks.PROVIDER + self.package, request.news)

    def DiffConfig(self, request: Any, context: Any) -> Any:
        return _build_diff_response(wire.read(request.olds), wire.read(request.news), frozenset())

    def Configure(self, request: Any, context: Any) -> Any:
        return provider_pb2.ConfigureResponse(supportsPreview=True)

    # resources

    def Check(self, request: Any, context: Any) -> Any:
        token, news = _parse_token(request.urn), wire.read(request.news)
        key = find_autonamed_input(token)
        if key and news.get(key) is None and news.get(f"{key}Prefix") is None:
            seed = hashlib.sha256(request.randomSeed).hexdigest()[:7]
            before = wire.read(request.olds).get(key)
            request.news.update({key: before or f"{request.urn.rsplit('::', 1)[1]}-{seed}"})
        return _build_check_response(token, request.news)

    def Diff(self, request: Any, context: Any) -> Any:
        olds = request.old_inputs if request.old_inputs.fields else request.olds
        return _build_diff_response(
            wire.read(olds), wire.read(request.news), list_replacing_inputs(_parse_token(request.urn))
        )

    def Create(self, request: Any, context: Any) -> Any:
        token, inputs = _parse_token(request.urn), wire.read(request.properties)
        name = request.urn.rsplit("::", 1)[1]
        if request.preview:
            unknown = dict.fromkeys(invent(read_schema(token), inputs, name), wire.UNKNOWN)
            return provider_pb2.CreateResponse(properties=wire.build_struct({**inputs, **unknown}))
        self._strike("create", request.urn, context)
        if any(isinstance(leaf, wire.Unknown) for _, leaf, _ in wire.walk(inputs)):
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "an input is unknown when it is needed")
        identifier, outputs = self.cloud.create(
            token, request.urn, inputs, lambda made: {**inputs, **invent(read_schema(token), inputs, made)}
        )
        return provider_pb2.CreateResponse(id=identifier, properties=wire.build_struct(outputs))

    def Read(self, request: Any, context: Any) -> Any:
        found = self.cloud.objects().get(request.id)
        if found is None:
            return provider_pb2.ReadResponse()
        return provider_pb2.ReadResponse(
            id=request.id, properties=wire.build_struct(found["outputs"]), inputs=wire.build_struct(found["inputs"])
        )

    def Update(self, request: Any, context: Any) -> Any:
        inputs = wire.read(request.news)
        outputs = {**wire.read(request.olds), **inputs}
        if not request.preview:
            self._strike("update", request.urn, context)
            if not self.cloud.update(request.id, inputs, outputs):
                context.abort(grpc.StatusCode.NOT_FOUND, f"{request.id} does not exist")
        return provider_pb2.UpdateResponse(properties=wire.build_struct(outputs))

    def Delete(self, request: Any, context: Any) -> Any:
        self._strike("delete", request.urn, context)
        try:
            self.cloud.delete(request.id, held=_parse_token(request.urn) in _read_table("held.yaml")["types"])
        except InUse as used:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(used))
        return empty_pb2.Empty()

    def Invoke(self, request: Any, context: Any) -> Any:
        answers = json.loads(self.invokes.read_text()) if self.invokes.exists() else {}
        if request.tok not in answers:
            context.abort(grpc.StatusCode.NOT_FOUND, f"no canned answer for {request.tok} in {self.invokes.name}")
        return provider_pb2.InvokeResponse(**{"return": wire.build_struct(answers[request.tok])})

    def _strike(self, operation: str, urn: str, context: Any) -> None:
        fault = self.faults.strike(operation, urn)
        if fault and fault.message:
            context.abort(grpc.StatusCode[fault.code], fault.message)


def _parse_token(urn: str) -> str:
    return urn.split("::")[2].rsplit("$", maxsplit=1)[-1]


def _build_check_response(token: str, news: Any) -> provider_pb2.CheckResponse:
    problems = [problem for problem in check(token, wire.read(news)) if problem.level == "error"]
    # no property: with a nested path in it, the engine prints a sentence with "value {<nil>}"
    return provider_pb2.CheckResponse(
        inputs=news, failures=[provider_pb2.CheckFailure(reason=str(problem)) for problem in problems]
    )


def _build_diff_response(
    old: Mapping[str, Any], new: Mapping[str, Any], replace: frozenset[str]
) -> provider_pb2.DiffResponse:
    changed = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
    kind = provider_pb2.DiffResponse.DIFF_SOME if changed else provider_pb2.DiffResponse.DIFF_NONE
    return provider_pb2.DiffResponse(changes=kind, diffs=changed, replaces=[k for k in changed if k in replace])


@cache
def _read_table(name: str) -> Mapping[str, Any]:
    content = yaml.safe_load((DATA / name).read_text())
    assert isinstance(content, dict)
    return content


def list_replacing_inputs(token: str) -> frozenset[str]:
    """Inputs whose change makes a new object: the table, and the SDK's documentation."""
    return frozenset(_read_table("replacements.yaml")["types"].get(token, ())) | read_schema(token).replacing


@cache
def find_autonamed_input(token: str) -> str | None:
    """The input that gets a name where the program gives none.

    The table first; then ``name``, where it may be left out and always has a value afterwards; then the one optional
    ``…Name`` that is an input only: the last part of an Azure resource's path, whose output is ``name``.
    """
    listed: str | None = _read_table("autonames.yaml")["types"].get(token)
    if listed:
        return listed
    found = read_schema(token)
    optional = [k for k, prop in found.inputs.items() if not prop.required and prop.shape == Scalar("string")]
    if "name" in found.outputs and found.outputs["name"].required:
        if "name" in optional:
            return "name"
        parts = [key for key in optional if key.endswith("Name") and key not in found.outputs]
        return parts[0] if len(parts) == 1 else None
    return None


def serve(provider: Provider) -> tuple[grpc.Server, int]:
    """A running server on a port of this machine."""
    options = [("grpc.max_receive_message_length", MESSAGE_BYTES), ("grpc.max_send_message_length", MESSAGE_BYTES)]
    server = grpc.server(futures.ThreadPoolExecutor(8), options=options)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(provider, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port


def main(package: str, folder: Path) -> None:
    """Serve as the engine expects of a plugin: print the port, and end when the engine does.

    The engine interrupts a plugin and waits five seconds for all of them, so an interrupt must end it at once. It holds
    our standard input: its end means that the engine died, and then running calls finish first, as a cloud's would.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # before the port is known: an engine may interrupt from then on
    server, port = serve(open_provider(package, folder))
    print(port, flush=True)
    sys.stdin.buffer.read()
    server.stop(grace=60).wait()


def open_provider(package: str, folder: Path) -> Provider:
    """A provider whose cloud, faults and canned answers are the files of a folder."""
    cloud, faults = Cloud(folder / "cloud.json"), Faults(folder / "faults.json")
    return Provider(package, cloud, faults, folder / "invokes.json")
