"""A resource monitor in the process of the test: what the engine would accept, it records; what not, it notes.

Unlike Pulumi's own mocks it makes the engine's URNs, refuses duplicates, runs transforms, knows exports and providers,
and answers with the outputs of the provider's schema.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime import mocks
from pulumi.runtime.proto import alias_pb2, callback_pb2, resource_pb2

from . import sdks, wire
from .checker import check
from .graph import Entry
from .inventions import invent
from .schema import read_schema
from .transforms import apply_transforms, call

STACK = "pulumi:pulumi:Stack"
BUILT_IN = "pulumi:pulumi:"
Answers = Mapping[str, Mapping[str, Any] | Callable[[Mapping[str, Any]], Mapping[str, Any]]]


class Unanswered(LookupError):
    """The program asks a cloud something that the test has no answer for."""


class Refused(grpc.RpcError):
    """What the engine refuses immediately, in the form in which a program gets it."""

    def __init__(self, message: str):
        super().__init__(message)
        self.message = message

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNKNOWN

    def details(self) -> str:
        return self.message


class Monitor(mocks.MockMonitor):
    """One stack's monitor. Errors of resources are collected, so that one run reports all of them."""

    def __init__(self, project: str, stack: str, preview: bool, invokes: Answers, no_defaults: frozenset[str]):
        super().__init__(mocks=None)  # type: ignore[arg-type]  # it would ask them for outputs; the schema has those
        self.project, self.stack, self.preview = project, stack, preview
        self.invokes = invokes
        self.no_defaults = no_defaults
        self.entries: dict[str, Entry] = {}
        self.exports: dict[str, Any] = {}
        self.errors: list[str] = []
        self.warnings: list[str] = []
        self.transforms: dict[str, list[callback_pb2.Callback]] = {}
        self.stack_transforms: list[callback_pb2.Callback] = []
        self.invoke_transforms: list[callback_pb2.Callback] = []
        self.lock = threading.RLock()

    def urn(self, parent: str, token: str, name: str) -> str:
        """As the engine makes it: the stack is not part of a qualified type."""
        chain = parent.split("::")[2] if parent else ""
        qualified = token if chain in ("", STACK) else f"{chain}${token}"
        return f"urn:pulumi:{self.stack}::{self.project}::{qualified}::{name}"

    # what a program asks

    def RegisterResource(self, request: Any) -> Any:
        request = apply_transforms(request, self._list_transforms(request))
        urn = self.urn(request.parent, request.type, request.name)
        if request.type == STACK:
            return resource_pb2.RegisterResourceResponse(urn=urn)
        if request.remote:
            raise Refused(f"{urn}: a component of another process cannot be recorded")
        inputs = wire.read(request.object)
        identifier, outputs = self._create(request, inputs) if request.custom else ("", {})
        entry = Entry(
            urn=urn,
            type=request.type,
            name=request.name,
            parent="" if request.parent.split("::")[2:3] == [STACK] else request.parent,
            custom=request.custom,
            inputs=inputs,
            dependencies=tuple(sorted(set(request.dependencies))),
            property_dependencies={k: tuple(sorted(v.urns)) for k, v in request.propertyDependencies.items() if v.urns},
            provider=request.provider,
            providers=dict(request.providers),
            protect=request.protect,
            retain_on_delete=request.retainOnDelete,
            aliases=tuple(self._alias(alias, request) for alias in request.aliases) + tuple(request.aliasURNs),
            ignore_changes=tuple(request.ignoreChanges),
            replace_on_changes=tuple(request.replaceOnChanges),
            delete_before_replace=request.deleteBeforeReplace if request.deleteBeforeReplaceDefined else None,
            additional_secret_outputs=tuple(request.additionalSecretOutputs),
            import_id=request.importId,
            deleted_with=request.deletedWith,
            timeouts={k: v for k in ("create", "update", "delete") if (v := getattr(request.customTimeouts, k))},
            outputs=outputs,
            position=f"{request.sourcePosition.uri}#{request.sourcePosition.line}"
            if request.sourcePosition.uri
            else "",
        )
        with self.lock:
            self.transforms[urn] = list(request.transforms)
            self._add(entry, request.version)
        return resource_pb2.RegisterResourceResponse(urn=urn, id=identifier, object=wire.build_struct(outputs))

    def ReadResource(self, request: Any) -> Any:
        urn = self.urn(request.parent, request.type, request.name)
        inputs = wire.read(request.properties)
        outputs = self._outputs(request, inputs)
        entry = Entry(
            urn=urn,
            type=request.type,
            name=request.name,
            parent=request.parent,
            inputs=inputs,
            provider=request.provider,
            import_id=request.id,
            external=True,
            outputs=outputs,
        )
        with self.lock:
            self._add(entry, request.version, checked=False)
        return resource_pb2.ReadResourceResponse(urn=urn, properties=wire.build_struct(outputs))

    def RegisterResourceOutputs(self, request: Any) -> Any:
        outputs = wire.read(request.outputs)
        with self.lock:
            if request.urn in self.entries:
                self.entries[request.urn] = _replace(self.entries[request.urn], outputs=outputs)
            else:
                self.exports = outputs
        return empty_pb2.Empty()

    def Invoke(self, request: Any) -> Any:
        arguments = request.args
        for callback in self.invoke_transforms:
            asked = resource_pb2.TransformInvokeRequest(token=request.tok, args=arguments)
            answered = call(callback, asked.SerializeToString())
            arguments = resource_pb2.TransformInvokeResponse.FromString(answered).args
        given = wire.strip_marks(wire.read(arguments))
        if request.tok == "pulumi:pulumi:getResource":
            entry = self.entries[given["urn"]]
            found: Mapping[str, Any] = {"urn": entry.urn, "id": f"{entry.name}-id", "state": entry.outputs}
            return resource_pb2.ResourceInvokeResponse(**{"return": wire.build_struct(found)})
        package = sdks.get_package(request.tok)
        if not request.provider and self._explicit_only(package):
            raise Refused(f"Default provider for '{package}' disabled. '{request.tok}' must use an explicit provider.")
        if request.tok not in self.invokes:
            raise Unanswered(f"no canned answer for {request.tok} with {given}: give one in invokes=")
        answer = self.invokes[request.tok]
        return resource_pb2.ResourceInvokeResponse(
            **{"return": wire.build_struct(answer(given) if callable(answer) else answer)}
        )

    def Call(self, request: Any) -> Any:
        raise Unanswered(f"methods of resources are not recorded: {request.tok}")

    def RegisterStackTransform(self, request: Any) -> Any:
        self.stack_transforms.append(request)
        return empty_pb2.Empty()

    def RegisterStackInvokeTransform(self, request: Any) -> Any:
        self.invoke_transforms.append(request)
        return empty_pb2.Empty()

    # how it is answered

    def _list_transforms(self, request: Any) -> Iterator[callback_pb2.Callback]:
        yield from request.transforms
        parent = request.parent
        while parent in self.entries:
            yield from self.transforms[parent]
            parent = self.entries[parent].parent
        yield from self.stack_transforms

    def _add(self, entry: Entry, version: str, checked: bool = True) -> None:
        if entry.urn in self.entries:
            self.errors.append(f"Duplicate resource URN '{entry.urn}'; try giving it a unique name")
        self.entries[entry.urn] = entry
        if not entry.custom or entry.type.startswith(BUILT_IN):
            return
        package = sdks.get_package(entry.type)
        if not entry.provider and not entry.type.startswith(sdks.PROVIDER) and self._explicit_only(package):
            self.errors.append(
                f"Default provider for '{package}' disabled. '{entry.urn}' must use an explicit provider."
            )
        for problem in check(entry.type, entry.inputs) if checked else ():
            noted = self.errors if problem.level == "error" else self.warnings
            noted.append(f"{entry.type} resource '{entry.name}': {problem}")

    def _explicit_only(self, package: str) -> bool:
        return bool({"*", package} & self.no_defaults)

    def _create(self, request: Any, inputs: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        identifier = "" if self.preview else request.importId or f"{request.name}-id"
        outputs = self._outputs(request, inputs)
        for name in request.additionalSecretOutputs:
            if name in outputs and not isinstance(outputs[name], wire.Secret):
                outputs[name] = wire.Secret(outputs[name])
        return identifier, outputs

    def _outputs(self, request: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
        try:
            invented = invent(read_schema(request.type), inputs, request.name)
        except sdks.Unknown:  # the check reports it, with the name of the resource
            invented = {}
        if self.preview:
            invented = dict.fromkeys(invented, wire.UNKNOWN)
        return {**{name: _resolve_references(value) for name, value in inputs.items()}, **invented}

    def _alias(self, alias: alias_pb2.Alias, request: Any) -> str:
        if alias.urn:
            return alias.urn
        spec = alias.spec
        parent = "" if spec.noParent else spec.parentUrn or request.parent
        urn = self.urn(parent, spec.type or request.type, spec.name or request.name)
        _, _, rest = urn.partition(f"{self.stack}::{self.project}::")
        return f"urn:pulumi:{spec.stack or self.stack}::{spec.project or self.project}::{rest}"


def _resolve_references(value: Any) -> Any:
    """A provider that does not know references gets the resource's id."""
    match value:
        case wire.Reference():
            return value.id
        case wire.Secret():
            return wire.Secret(_resolve_references(value.value))
        case Mapping():
            return {name: _resolve_references(item) for name, item in value.items()}
        case list():
            return [_resolve_references(item) for item in value]
    return value


def _replace(entry: Entry, **changes: Any) -> Entry:
    return Entry(**{**vars(entry), **changes})


def list_disabled_defaults(config: Mapping[str, str]) -> frozenset[str]:
    """Packages whose default provider the stack's configuration forbids (``*``: all)."""
    return frozenset(json.loads(config.get("pulumi:disable-default-providers", "[]")))
